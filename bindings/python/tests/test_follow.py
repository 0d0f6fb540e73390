"""Stores that keep up with the process that writes their file."""

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import twindex

WRITER = """
import sys, twindex
store = twindex.open(sys.argv[1])
users = store.table("users")
users.upsert("ada", "2")
store.compact()
with store.batch() as batch:
    batch.upsert(users, "bob", "3")
    batch.upsert(users, "eve", "3")
"""


def write_elsewhere(path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITER, str(path)], check=True, timeout=60)


def test_a_follower_shows_what_another_process_wrote(tmp_path: Path) -> None:
    path = tmp_path / "app.twx"
    with twindex.open(path) as store:
        store.table("users")["ada"] = "1"
        assert store.refresh() == 0
    with twindex.open(path, read_only=True) as copy:
        users = copy.table("users")
        write_elsewhere(path)
        assert users.select("ada") == "1"
        assert copy.stats()["behind_bytes"] > 0
        assert copy.refresh() > 0
        assert dict(users) == {"ada": "2", "bob": "3", "eve": "3"}
        assert copy.stats()["behind_bytes"] == 0
        with pytest.raises(twindex.ReadOnlyError):
            users["ada"] = "4"


def test_a_follower_keeps_up_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "app.twx"
    with twindex.open(path) as store:
        store.table("users")["ada"] = "1"
    with twindex.open(path, read_only=True) as copy:
        copy.follow()
        users = copy.table("users")
        write_elsewhere(path)
        end = time.monotonic() + 60
        while len(users) < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert copy.stats()["follow_error"] is None


def test_a_store_in_memory_follows_nothing() -> None:
    with pytest.raises(twindex.NoFileError):
        twindex.Store().refresh()


def test_a_follower_that_is_closed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "app.twx"
    with twindex.open(path) as store:
        store.table("users")
        copy = twindex.open(path, read_only=True)
        copy.follow()
        users = copy.table("users")
        copy.close()
        for use in (copy.refresh, copy.follow, copy.stats, lambda: copy.position, lambda: users.get("a")):
            with pytest.raises(twindex.ClosedError):
                use()
        with pytest.raises(twindex.ReadOnlyError), twindex.open(path, read_only=True) as other:
            other.flush()


def test_threads_close_stores_and_feeds_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "app.twx"
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
    with twindex.open(path) as again:
        assert dict(again.table("t", values="int")) == {"one": 2999, "two": 2999}
