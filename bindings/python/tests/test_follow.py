"""Stores that keep up with the process that writes their file."""

import random
import threading
import time
from pathlib import Path

import pytest

import twindex
from support import output_of

WRITER = """
import sys, twindex
store = twindex.open(sys.argv[1])
users = store.table("users")
users.upsert("ada", "2")
store.compact()
with store.batch() as batch:
    batch.upsert(users, "bob", "3")
    batch.upsert(users, "eve", sys.argv[2])
"""


def test_follower_shows_what_another_process_wrote(path: Path) -> None:
    with twindex.open(path) as store:
        store.table("users")["ada"] = "1"
        assert store.refresh() == 0
    with twindex.open(path, read_only=True) as copy:
        users = copy.table("users")
        output_of(WRITER, path, "3")
        assert users.select("ada") == "1"
        assert copy.stats()["behind_bytes"] > 0
        assert copy.refresh() > 0
        assert dict(users) == {"ada": "2", "bob": "3", "eve": "3"}
        assert copy.stats()["behind_bytes"] == 0
        with pytest.raises(twindex.ReadOnlyError):
            users["ada"] = "4"
        copy.follow()
        output_of(WRITER, path, "4")
        end = time.monotonic() + 60
        while users["eve"] != "4":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert copy.stats()["follow_error"] is None
        with pytest.raises(twindex.ReadOnlyError):
            copy.flush()
    for use in (copy.refresh, copy.follow, copy.stats, lambda: copy.position, lambda: users.get("a")):
        with pytest.raises(twindex.ClosedError):
            use()


def test_threads_close_stores_and_feeds_in_the_middle(path: Path) -> None:
    store = twindex.open(path)
    table = store.table("t", values="int")
    table["one"] = 0
    ended = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not ended.is_set():
            copy = twindex.open(path, read_only=True)
            copy.follow()
            try:
                changes = copy.changes()
            except twindex.PositionGoneError:
                # A compaction came in between.
                continue
            closing = threading.Timer(0.01, random.choice([copy.close, changes.close]))
            closing.start()
            try:
                for batch in changes:
                    values = [change.value for change in batch.changes]
                    if len(values) != 2 or values[0] != values[1]:
                        wrong.append(batch)
                    copy.refresh()
                    copy.stats()
                copy.close()
            except (twindex.ClosedError, twindex.PositionGoneError):
                # A compaction may also come in between before the first batch.
                pass
            closing.join()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(3000):
        with store.batch() as batch:
            batch.upsert(table, "one", number)
            batch.upsert(table, "two", number)
        if number % 1000 == 0:
            store.compact()
    ended.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    assert wrong == []
    store.close()
