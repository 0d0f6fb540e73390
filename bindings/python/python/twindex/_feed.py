"""What a feed and a watch give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Change:
    """What came of a change of a table. To do it again changes nothing."""

    kind: Literal["put", "delete", "create", "drop", "clear", "lost"]
    table: str
    key: Any = None
    """Of "put" and "delete", as the table's codec shows it."""
    value: Any = None
    """Of "put"."""
    index: Literal["hash", "sorted"] | None = None
    """Of "create"."""
    codecs: tuple[str, str] | None = None
    """Of "create": those of keys and of values."""
    count: int | None = None
    """Of "lost", which a `Watch` gives: how many changes are missing here, since it was full."""
    expires: float | None = None
    """Of "put" to a table whose pairs expire: when this one does, as `time.time()` counts, if it does."""


class ChangeSet(NamedTuple):
    """Changes that were made together: all of them, or none after a crash."""

    position: str
    """Behind them: where to go on."""
    changes: list[Change]
