"""Reports about files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Progress(NamedTuple):
    """How far a long call has come: the pairs, and the bytes of the file, that it read or wrote."""

    pairs: int
    bytes: int


class Place(NamedTuple):
    """A part of a file: where it starts, and how long it is."""

    offset: int
    bytes: int


class Damage(NamedTuple):
    """A part of a file that is not what was written there."""

    offset: int
    bytes: int
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """What is in a file, as `twindex.check` found it."""

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
    """What is damaged, from the start of the file to its end."""
    torn: Place | None
    """What a power cut left unfinished: no damage."""


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """A table that was saved, and how many of its pairs."""

    name: str
    index: Literal["hash", "sorted"]
    pairs: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What `twindex.recover` saved, and what it was saved from."""

    report: Report
    tables: list[RecoveredTable]
