"""The changes of feeds and watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a table. Applying it twice is harmless."""

    kind: Literal["put", "delete", "create", "drop", "clear", "lost"]
    table: str
    key: Any = None
    """Of "put" and "delete"."""
    value: Any = None
    """Of "put"."""
    index: Literal["hash", "sorted"] | None = None
    """Of "create"."""
    codecs: tuple[str, str] | None = None
    """Of "create": of keys and of values."""
    count: int | None = None
    """Of "lost", only from a `Watch`: how many changes are missing here, because it was full."""
    expires: float | None = None
    """Of "put": when the pair expires, as `time.time()` counts, or None."""


class ChangeSet(NamedTuple):
    """Changes that were made together. After a crash the file has all of them or none."""

    position: str
    """The position after them, to continue from."""
    changes: list[Change]
