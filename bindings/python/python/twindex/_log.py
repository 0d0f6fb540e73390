"""What happens in the background, in the program's log."""

import atexit
import logging
from typing import Literal

from ._twindex import _end_telling

#: As a library's, it is silent until the program configures `logging`.
_logger = logging.getLogger("twindex")
_logger.addHandler(logging.NullHandler())

# Before `logging` itself ends, which was imported before.
atexit.register(_end_telling)


def tell(level: Literal["warning", "error"], message: str, event: str, path: str) -> None:
    """Logs what happened to a file, which the record has as `path`, and as `event` the kind of it."""
    log = _logger.error if level == "error" else _logger.warning
    log("%s", message, extra={"event": event, "path": path})
