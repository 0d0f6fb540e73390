"""Copies a store to another file and stays in step with it.

python replica.py SOURCE.twx COPY.twx [--once]

It can be stopped at any time, and goes on where it was: how far it is stands in the copy, and changes with it. The copy is a store
like any other, which others may follow or read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import twindex

#: The copy's own table, which says how far it is.
PLACE = "replica"


def seen_as_bytes(store: twindex.Store, change: twindex.Change) -> Any:
    """The table of a change, as bytes whatever its codecs."""
    index = dict(store.tables())[change.table]
    return store.table(change.table, index, keys="bytes", values="bytes")


def create(store: twindex.Store, change: twindex.Change) -> None:
    """Creates a table with the index and the codecs of the source's."""
    codecs: dict[str, Any] = {}
    for what, name in zip(("keys", "values"), change.codecs or (), strict=True):
        known = name in ("bytes", "str", "int", "tuple", "json", "msgpack", "pickle")
        # One of the user's own: the copy need not understand it.
        codecs[what] = name if known else twindex.Codec(name, bytes, bytes)
    store.table(change.table, change.index or "hash", **codecs)


def apply(store: twindex.Store, batch: twindex.ChangeSet) -> None:
    """Does what a batch of changes did. What is done twice changes nothing more."""
    together = store.batch()
    for change in batch.changes:
        if change.kind == "create":
            store.drop_table(change.table)
            create(store, change)
        elif change.kind == "drop":
            store.drop_table(change.table)
        elif change.kind == "clear":
            seen_as_bytes(store, change).clear()
        elif change.kind == "put":
            together.upsert(seen_as_bytes(store, change), change.key, change.value)
        else:
            together.delete(seen_as_bytes(store, change), change.key)
    together.upsert(store.table(PLACE), "position", batch.position)
    together.commit()


def begin(source: Path, target: Path) -> twindex.Store:
    """Copies all that is there."""
    with twindex.open(source, read_only=True) as store:
        store.save(target)
        position = store.position
    copy = twindex.open(target)
    copy.table(PLACE)["position"] = position
    return copy


def follow(source: Path, target: Path) -> tuple[twindex.Store, twindex.Changes]:
    """The copy, and the changes that are not in it yet."""
    copy = twindex.open(target)
    position = copy.table(PLACE).get("position")
    try:
        if position is not None:
            return copy, twindex.changes(source, position, raw=True)
    except twindex.PositionGoneError:
        print("the source was compacted since: all of it is copied again", file=sys.stderr)
    copy.close()
    copy = begin(source, target)
    return copy, twindex.changes(source, copy.table(PLACE)["position"], raw=True)


def main(arguments: list[str]) -> int:
    """Runs the program."""
    once = "--once" in arguments
    paths = [Path(argument) for argument in arguments if argument != "--once"]
    if len(paths) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    copy, changes = follow(*paths)
    with copy:
        while batch := changes.poll() if once else changes.wait():
            apply(copy, batch)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
