from typing import Any

__version__: str

def connect(url: str, options: dict[str, Any], awaits: bool, then: Any) -> Any: ...
