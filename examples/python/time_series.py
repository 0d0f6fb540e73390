"""Keeps measurements of sensors in one file, and answers for windows of time.

python time_series.py FILE add < LINES       lines of: sensor, seconds since 1970, value
python time_series.py FILE window SENSOR FROM TO [STEP]
python time_series.py FILE forget BEFORE
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import twindex

#: Of sensor and moment, in seconds since 1970, to what was measured.
Series = twindex.Table[tuple[Any, ...], Any]

#: So many measurements are written at once.
AT_ONCE = 1000


@dataclass(frozen=True)
class Window:
    """What was measured from one moment on, up to the next."""

    start: float
    count: int
    least: float
    mean: float
    greatest: float


def series(store: twindex.Store) -> Series:
    """The measurements, by sensor and time: those of one sensor lie together, in the order of time."""
    return store.table("series", index="sorted", keys="tuple", values="msgpack")


def add(store: twindex.Store, lines: Iterable[str]) -> int:
    """Adds measurements, a thousand at a time; how many."""
    count = 0
    lines = iter(lines)
    while some := list(islice(lines, AT_ONCE)):
        parts = [line.split() for line in some if line.strip()]
        series(store).update([((sensor, float(when)), float(value)) for sensor, when, value in parts])
        store.table("sensors", values="int").increment_many([(part[0], 1) for part in parts])
        count += len(parts)
    return count


def windows(store: twindex.Store, sensor: str, start: float, end: float, step: float) -> Iterator[Window]:
    """The windows that have measurements, from one moment up to another; each lasts `step` seconds."""
    found = series(store).scan(gte=(sensor, start), lt=(sensor, end))
    for number, pairs in groupby(found, key=lambda pair: (pair[0][1] - start) // step):
        values = [value for _, value in pairs]
        mean = sum(values) / len(values)
        yield Window(start + number * step, len(values), min(values), mean, max(values))


def last(store: twindex.Store, sensor: str) -> tuple[float, float] | None:
    """When a sensor measured last, and what."""
    for (_, when), value in series(store).scan(prefix=(sensor,), reverse=True, limit=1):
        return when, value
    return None


def forget(store: twindex.Store, before: float) -> int:
    """Removes what is older, and gives its room in the file back; how many."""
    table = series(store)
    count = sum(table.delete_range(gte=(sensor,), lt=(sensor, before)) for sensor in store.table("sensors"))
    store.compact()
    return count


def main(arguments: list[str]) -> int:
    """Does what the first words ask for."""
    match arguments:
        case [file, "add"]:
            with twindex.open(file) as store:
                print(f"{add(store, sys.stdin)} added, {len(series(store))} in all")
        case [file, "window", sensor, start, end, *step] if Path(file).exists():
            seconds = float(step[0]) if step else float(end) - float(start)
            with twindex.open(file, read_only=True) as store:
                for one in windows(store, sensor, float(start), float(end), seconds):
                    figures = f"{one.least:10.3f} {one.mean:10.3f} {one.greatest:10.3f}"
                    print(f"{one.start:14.3f} {one.count:8} {figures}")
                print("last:", *(last(store, sensor) or ["never"]))
        case [file, "forget", before] if Path(file).exists():
            with twindex.open(file) as store:
                print(f"{forget(store, float(before))} forgotten, {len(series(store))} left")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
