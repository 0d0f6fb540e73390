"""Stores that keep up with the process that writes their file."""

import subprocess
import sys
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
