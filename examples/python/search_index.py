"""Keeps a full-text index of a store's notes in SQLite, by the feed of its changes.

python search_index.py NOTES.twx INDEX.sqlite [WORDS ...]

Brings the index up to date, and lists the notes in which the words are; without words it stays up to date until it is stopped. The
store's writer goes on meanwhile, in its own process.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import twindex


class Index:
    """The notes, and the position up to which they are in it: both change in one transaction."""

    def __init__(self, notes: Path, index: Path) -> None:
        self.notes = notes
        self.db = sqlite3.connect(index)
        self.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(name UNINDEXED, text)")
        self.db.execute("CREATE TABLE IF NOT EXISTS place (position TEXT)")

    @property
    def position(self) -> str | None:
        """How far it is, or None for a new one."""
        row = self.db.execute("SELECT position FROM place").fetchone()
        return None if row is None else str(row[0])

    def changes(self) -> twindex.Changes:
        """The changes that are not in it yet."""
        try:
            if self.position is not None:
                return twindex.changes(self.notes, self.position)
        except twindex.PositionGoneError:
            print("the store was compacted since: all of it is read again", file=sys.stderr)
        return self.begin()

    def begin(self) -> twindex.Changes:
        """Indexes all that is there; the changes since."""
        with twindex.open(self.notes, read_only=True) as store, self.db:
            self.db.execute("DELETE FROM notes")
            if ("notes", "hash") in store.tables():
                self.db.executemany("INSERT INTO notes VALUES (?, ?)", store.table("notes").items())
            self.reach(store.position)
            return twindex.changes(self.notes, store.position)

    def reach(self, position: str) -> None:
        """Notes how far it is."""
        self.db.execute("DELETE FROM place")
        self.db.execute("INSERT INTO place VALUES (?)", (position,))

    def apply(self, batch: twindex.ChangeSet) -> None:
        """Does what a batch of changes did, all of it or nothing."""
        with self.db:
            for change in batch.changes:
                if change.table == "notes":
                    self.change(change)
            self.reach(batch.position)

    def change(self, change: twindex.Change) -> None:
        """Does what one change did."""
        if change.kind in ("put", "delete"):
            self.db.execute("DELETE FROM notes WHERE name = ?", (change.key,))
        else:
            self.db.execute("DELETE FROM notes")
        if change.kind == "put":
            self.db.execute("INSERT INTO notes VALUES (?, ?)", (change.key, change.value))

    def find(self, words: str) -> list[str]:
        """The names of the notes with these words, the best first."""
        found = self.db.execute("SELECT name FROM notes WHERE notes MATCH ? ORDER BY rank", (words,))
        return [name for (name,) in found]


def main(arguments: list[str]) -> int:
    """Runs the program."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    notes, index, *words = arguments
    kept = Index(Path(notes), Path(index))
    changes = kept.changes()
    while batch := changes.poll():
        kept.apply(batch)
    if words:
        print("\n".join(kept.find(" ".join(words))))
        return 0
    while batch := changes.wait():
        kept.apply(batch)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
