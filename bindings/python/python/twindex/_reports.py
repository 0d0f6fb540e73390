"""Reports about files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Progress(NamedTuple):
    """The progress of a long call: pairs and bytes of the file, done so far."""

    pairs: int
    bytes: int


class Place(NamedTuple):
    """A part of a file: its offset and its length."""

    offset: int
    bytes: int


class Damage(NamedTuple):
    """A damaged part of a file."""

    offset: int
    bytes: int
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a file, from `twindex.check`."""

    version: int
    """The version of the format."""
    bytes: int
    dump_bytes: int
    log_bytes: int
    records: int
    """Records in the dump and in the log."""
    dump_pairs: int
    operations: int
    """Operations in the log."""
    damage: list[Damage]
    """The damaged places, in order."""
    torn: Place | None
    """The incomplete last write that a crash left. It is not damage."""


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """A saved table, and the number of its saved pairs."""

    name: str
    index: Literal["hash", "sorted"]
    pairs: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """The tables that `twindex.recover` saved, and a report of the damaged file."""

    report: Report
    tables: list[RecoveredTable]
