"""Stores in files: durability, batches, locks, damage, pickles, and what a killed process leaves."""

from __future__ import annotations

import copy
import datetime
import errno
import json
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

import twindex

Durability: TypeAlias = Literal["none", "everysec", "always"]
ALL: list[Durability] = ["none", "everysec", "always"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.twx"


GOLDEN = Path(__file__).parents[3] / "conformance" / "golden"


def test_golden_files_are_read() -> None:
    """They were written by Rust, and are those that the tests of Node and of the modules for WebAssembly read."""
    for dump in (GOLDEN / "version-1-dump.twx", GOLDEN / "version-1-log.twx"):
        is_log = dump.name.endswith("-log.twx")
        for store in (twindex.open(dump, read_only=True), twindex.Store.load(dump.read_bytes())):
            users = store.table("users", keys="bytes", values="bytes")
            assert users.select(b"ada") == (b"1852" if is_log else b"1815")
            assert users.select(b"\xff\x00\x80") == b""
            log = store.table("log é", "sorted", keys="bytes", values="bytes")
            assert (len(log), log.select(b"k" * 1000)) == (302, b"v" * 70_000)
            assert len(store.tables()) == (45 if is_log else 5)
            settings = store.table("settings", "sorted", keys="bytes", values="bytes")
            assert settings[b"system/a folder/key199/type"] == b"v" * 12
            years: twindex.Table[Any, Any] = store.table("years", "sorted")
            assert years.codecs == ("int", "json")
            assert list(years.items()) == [(-7, "before"), (1815, {"name": "Ada"})]


def test_the_golden_file_of_python_has_what_python_writes(path: Path) -> None:
    """Node, the modules for WebAssembly and the tool read it without naming codecs, and find the lines beside it."""
    golden = GOLDEN / "version-1-python.twx"
    lines = [
        json.loads(line) for line in golden.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    ]
    written: Any = twindex.open(path)
    for line in lines:
        if "index" in line:
            table = written.table(line["table"], line["index"], keys=line["keys"], values=line["values"])
        else:
            table[tuple(line["key"]) if table.codecs[0] == "tuple" else line["key"]] = line["value"]
    written.close()
    ways: list[dict[str, Any]] = [{}, {"keys": "bytes", "values": "bytes"}]
    for codecs in ways:
        one, other = (
            {
                name: ((table := store.table(name, index, **codecs)).codecs, dict(table))
                for name, index in store.tables()
            }
            for store in (twindex.open(file, read_only=True) for file in (path, golden))
        )
        assert one == other
        assert len(one) == 2


@pytest.mark.parametrize("durability", ALL)
def test_what_was_written_is_there_again(path: Path, durability: Durability) -> None:
    with twindex.open(path, durability=durability) as store:
        users = store.table("users", keys="bytes", values="bytes")
        log = store.table("log", "sorted", keys="int", values="json")
        users.update({b"ada": b"1815", b"bob": b"1900"})
        assert users.insert(b"carol", b"2000")
        assert users.replace(b"carol", b"2001")
        assert users.delete(b"bob")
        assert log.insert_many([(2, [2]), (1, [1])]) == [True, True]
        assert log.compare_and_swap(1, [1], [3])
        assert log.alter(2, lambda found: [*(found or []), 4])
        assert store.table("hits", keys="str", values="int").increment("/", 5) == 5
        assert log.pop(1) == [3]
        assert log.popitem() == (2, [2, 4])
        log[7] = "seven"
    assert store.closed
    with twindex.open(path, durability=durability, existing=True) as store:
        assert store.tables() == [("hits", "hash"), ("log", "sorted"), ("users", "hash")]
        assert dict(store.table("users", keys="bytes", values="bytes")) == {
            b"ada": b"1815",
            b"carol": b"2001",
        }
        assert dict(store.table("log", "sorted", keys="int", values="json")) == {7: "seven"}
        assert store.table("hits", values="int", keys="bytes")[b"/"] == 5
        store.drop_table("hits")
        store.table("users", keys="bytes", values="bytes").clear()
    with twindex.open(str(path), read_only=True) as store:
        assert store.tables() == [("log", "sorted"), ("users", "hash")]
        assert len(store.table("users", keys="bytes", values="bytes")) == 0


def test_properties(path: Path) -> None:
    with twindex.open(path) as store:
        assert (store.path, store.durability, store.read_only, store.torn) == (path, "everysec", False, None)
        assert repr(store).startswith(f'<twindex.Store in "{path}", everysec: 0 tables, ')
        store.table("t", keys="bytes", values="bytes")[b"a"] = b"1"
        store.flush()
        stats = store.stats()
        assert (stats["tables"], stats["pairs"], stats["unsynced_bytes"]) == (1, 1, 0)
        assert stats["log_bytes"] > 0
        assert stats["syncs"] > 0
        assert isinstance(stats["last_sync"], datetime.datetime)
        assert stats["unsynced_for"] is None
        assert stats["log_error"] is None
        store.compact()
        assert store.stats()["compactions"] == 1
        assert store.stats()["log_bytes"] < stats["log_bytes"]
    assert (store.path, store.durability) == (path, "everysec")
    assert repr(store) == f'<twindex.Store in "{path}", everysec: closed>'
    memory = twindex.Store()
    assert (memory.path, memory.durability, memory.read_only, memory.torn) == (None, "none", False, None)
    memory.flush()


def test_one_writer_a_file(path: Path) -> None:
    with twindex.open(path) as store:
        store.table("t", keys="bytes", values="bytes")[b"a"] = b"1"
        with pytest.raises(twindex.InUseError, match=f"{os.getpid()}"):
            twindex.open(path)
        with twindex.open(path, read_only=True) as reader:
            assert reader.read_only
            table = reader.table("t", keys="bytes", values="bytes")
            assert table[b"a"] == b"1"
            for write in (
                lambda: table.insert(b"b", b""),
                lambda: table.upsert_many([(b"b", b"")]),
                lambda: table.clear(),
                lambda: reader.table("new", keys="bytes", values="bytes"),
                lambda: reader.drop_table("t"),
                lambda: reader.save(),
            ):
                with pytest.raises(PermissionError, match="reading alone") as raised:
                    write()
                assert type(raised.value) is twindex.ReadOnlyError
            assert dict(table) == {b"a": b"1"}
    twindex.open(path).close()


def test_missing_files(path: Path) -> None:
    calls: list[Callable[[], twindex.Store]] = [
        lambda: twindex.open(path, existing=True),
        lambda: twindex.open(path, read_only=True),
    ]
    for call in calls:
        with pytest.raises(twindex.IoError, match=r"app\.twx") as raised:
            call()
        assert raised.value.errno == errno.ENOENT
    with pytest.raises(twindex.IoError) as raised:
        twindex.open(path / "none" / "app.twx")
    assert raised.value.errno in {errno.ENOENT, errno.ENOTDIR}


@pytest.mark.parametrize("durability", ALL)
def test_batches(path: Path, durability: Durability) -> None:
    with twindex.open(path, durability=durability) as store:
        accounts = store.table("accounts", keys="str", values="int")
        log = store.table("log", "sorted", keys="int", values="json")
        with store.batch() as batch:
            batch.insert(accounts, "ada", 100)
            batch.upsert(accounts, "bob", 0)
            batch.insert(log, 1, ["opened", 2])
            assert len(batch) == 3
            assert len(accounts) == len(log) == 0
            assert repr(batch) == "<twindex.Batch: 3 writes>"
        assert dict(accounts.items()) == {"ada": 100, "bob": 0}
        batch = store.batch()
        batch.replace(accounts, "ada", 90)
        batch.replace(accounts, "carol", 1)
        batch.delete(accounts, "bob")
        assert batch.commit() == [True, False, True]
        assert repr(batch) == "<twindex.Batch: ended>"
        for use in (
            batch.commit,
            lambda: batch.insert(accounts, "x", 1),
            batch.__enter__,
            lambda: len(batch),
        ):
            with pytest.raises(twindex.ClosedError, match="ended"):
                use()

        def give_up() -> None:
            with store.batch() as given_up:
                given_up.upsert(accounts, "ada", 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            give_up()
    with twindex.open(path) as store:
        assert dict(store.table("accounts", keys="str", values="int")) == {"ada": 90}


@pytest.mark.parametrize("in_file", [False, True])
def test_a_batch_is_done_only_if_what_it_expects_is_so(path: Path, in_file: bool) -> None:
    store = twindex.open(path) if in_file else twindex.Store()
    accounts = store.table("accounts", values="int")
    names = store.table("names", "sorted")
    with store.batch() as batch:
        batch.expect(accounts, "ada", None)
        batch.insert(accounts, "ada", 100)
        batch.increment(accounts, "bob")
        batch.increment(accounts, "bob", -8)
        batch.expect(names, "ada", names.select("ada"))
        batch.upsert(names, "ada", "Ada")
        assert len(batch) == 4
    assert dict(accounts) == {"ada": 100, "bob": -7}
    batch = store.batch()
    batch.expect(names, "ada", "Ada")
    batch.expect(accounts, "ada", 99)
    batch.delete(names, "ada")
    with pytest.raises(twindex.UnexpectedError, match=r'"ada" of table "accounts" .*expectation 1'):
        batch.commit()
    batch = store.batch()
    with pytest.raises(twindex.ArgumentTypeError):
        batch.expect(accounts, "ada", "99")  # type: ignore[misc]
    batch.increment(names, "ada")
    with pytest.raises(twindex.NotAnIntegerError):
        batch.commit()
    assert dict(accounts) == {"ada": 100, "bob": -7}
    assert dict(names) == {"ada": "Ada"}
    store.close()


def test_a_batch_that_fails_changes_nothing() -> None:
    store = twindex.Store(memory_limit=4_000_000)
    table = store.table("t", keys="bytes", values="bytes")
    table[b"a"] = b"1"
    batch = store.batch()
    batch.upsert(table, b"a", b"2")
    batch.insert(table, b"b", bytes(8_000_000))
    with pytest.raises(twindex.MemoryLimitError):
        batch.commit()
    assert dict(table) == {b"a": b"1"}


def test_other_threads_run_while_one_waits_for_the_disk(path: Path) -> None:
    """With the interpreter held over each sync, as many writers would take as many syncs one after another."""
    with twindex.open(path, durability="always") as store:
        table = store.table("t", keys="int", values="int")
        before = store.stats()["syncs"]
        barrier = threading.Barrier(8)

        def write(thread: int) -> None:
            barrier.wait()
            for number in range(50):
                table[thread * 1000 + number] = number

        threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(table) == 400
        assert store.stats()["syncs"] - before < 400


def test_a_store_that_is_let_go_lets_go_of_its_file(path: Path) -> None:
    store = twindex.open(path)
    table: Any = store.table("t", keys="bytes", values="bytes")
    table[b"a"] = b"1"
    del store, table
    with twindex.open(path) as again:
        assert again.table("t", keys="bytes", values="bytes")[b"a"] == b"1"


def test_pickles_name_the_file(path: Path) -> None:
    with twindex.open(path, durability="always", memory_limit=10_000_000) as store:
        table = store.table("t", "sorted", keys="tuple", values="json")
        table["a", 1] = [1]
        pickled = pickle.dumps((store, table))
        same, same_table = pickle.loads(pickled)
        assert same is store
        assert copy.copy(store) is store
        assert copy.deepcopy(table) == table
        assert same_table["a", 1] == [1]
    again, table = pickle.loads(pickled)
    assert (again.path, again.durability, again.memory_limit) == (path, "always", 10_000_000)
    assert table["a", 1] == [1]
    again.close()
    path.unlink()
    with pytest.raises(twindex.IoError, match=r"app\.twx"):
        pickle.loads(pickled)


def read(table: twindex.Table[str, int], key: str) -> int:
    """What another process does with a table that it is given."""
    return table[key]


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_other_processes_read_by_way_of_a_pickle(path: Path, start: str) -> None:
    with twindex.open(path) as store:
        store.table("t", keys="str", values="int").update(a=1, b=2)
    with twindex.open(path, read_only=True) as store:
        table = store.table("t", keys="str", values="int")
        context = multiprocessing.get_context(start)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(read, [table] * 8, "abababab")) == [1, 2] * 4


def test_a_path_may_be_bytes(path: Path) -> None:
    """As `open` of Python takes one."""
    with twindex.open(os.fsencode(path)) as store:
        store.table("t", keys="bytes", values="bytes")[b"a"] = b"1"
        store.save(os.fsencode(path.with_name("copy.twx")))
    assert len(twindex.Store.load(path.with_name("copy.twx")).table("t", keys="bytes", values="bytes")) == 1
