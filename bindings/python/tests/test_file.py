"""Stores in files: what of them crosses into Python. What the file itself promises, the engine's own tests hold."""

from __future__ import annotations

import copy
import datetime
import errno
import json
import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import CONFORMANCE, in_threads, raw

GOLDEN = CONFORMANCE / "golden" / "version-1-python.twx"


def test_golden_file_has_what_python_writes(path: Path) -> None:
    """Node, the modules for WebAssembly and the tool read it without naming codecs, and find the lines beside it."""
    lines = [
        json.loads(line) for line in GOLDEN.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
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
            for store in (twindex.open(file, read_only=True) for file in (path, GOLDEN))
        )
        assert one == other
        assert len(one) == 2


def test_store_shows_its_file_and_its_figures(path: Path) -> None:
    with twindex.open(path) as store:
        assert (store.path, store.durability, store.read_only, store.torn) == (path, "everysec", False, None)
        assert repr(store).startswith(f'<twindex.Store in "{path}", everysec: 0 tables, ')
        raw(store=store)[b"a"] = b"1"
        store.flush()
        stats = store.stats()
        assert (stats["tables"], stats["pairs"], stats["unsynced_bytes"]) == (1, 1, 0)
        assert min(stats["log_bytes"], stats["syncs"]) > 0
        assert isinstance(stats["last_sync"], datetime.datetime)
        assert (stats["unsynced_for"], stats["log_error"]) == (None, None)
        store.compact()
        assert store.stats()["compactions"] == 1
    assert (store.path, store.durability) == (path, "everysec")
    assert repr(store) == f'<twindex.Store in "{path}", everysec: closed>'
    memory = twindex.Store()
    assert (memory.path, memory.durability, memory.read_only, memory.torn) == (None, "none", False, None)
    memory.flush()


def test_errors_of_files_are_those_of_python(path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: twindex.open(path, existing=True),
        lambda: twindex.open(path, read_only=True),
        lambda: twindex.open(path.parent / "none" / "app.twx"),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError, match=r"app\.twx") as missing:
            call()
        assert missing.value.errno == errno.ENOENT
    with twindex.open(path) as store:
        raw(store=store)[b"a"] = b"1"
        with pytest.raises(twindex.InUseError, match=f"{os.getpid()}"):
            twindex.open(path)
        with twindex.open(path, read_only=True) as reader:
            table = raw(store=reader)
            writes: list[Callable[[], object]] = [
                lambda: table.insert(b"b", b""),
                lambda: table.upsert_many([(b"b", b"")]),
                table.clear,
                lambda: reader.table("new"),
                lambda: reader.drop_table("t"),
                reader.save,
            ]
            for write in writes:
                with pytest.raises(PermissionError, match="reading alone") as raised:
                    write()
                assert type(raised.value) is twindex.ReadOnlyError


@pytest.mark.parametrize("in_file", [False, True])
def test_batch_is_done_at_its_end_or_not_at_all(path: Path, in_file: bool) -> None:
    store = twindex.open(path) if in_file else twindex.Store()
    accounts = store.table("accounts", values="int")
    log = store.table("log", "sorted", keys="int", values="json")
    with store.batch() as batch:
        batch.insert(accounts, "ada", 100)
        batch.expect(accounts, "ada", None)
        batch.increment(accounts, "bob")
        batch.increment(accounts, "bob", -8)
        batch.insert(log, 1, ["opened", 2])
        assert (len(batch), len(accounts), len(log)) == (4, 0, 0)
        assert repr(batch) == "<twindex.Batch: 4 writes>"
    assert (dict(accounts), dict(log)) == ({"ada": 100, "bob": -7}, {1: ["opened", 2]})
    batch = store.batch()
    batch.replace(accounts, "carol", 1)
    batch.delete(log, 1)
    batch.upsert(accounts, "bob", 0)
    assert batch.commit() == [False, True, True]
    assert repr(batch) == "<twindex.Batch: ended>"
    for use in (batch.commit, lambda: batch.insert(accounts, "x", 1), batch.__enter__, lambda: len(batch)):
        with pytest.raises(twindex.ClosedError, match="ended"):
            use()
    left: list[tuple[type[Exception], Callable[[twindex.Batch], object]]] = [
        (ZeroDivisionError, lambda _: 1 // 0),
        (twindex.UnexpectedError, lambda batch: batch.expect(accounts, "ada", 99)),
        (twindex.NotAnIntegerError, lambda batch: batch.increment(store.table("names"), "ada")),
        (twindex.ArgumentTypeError, lambda batch: batch.expect(accounts, "ada", "99")),  # type: ignore[misc]
    ]
    store.table("names")["ada"] = "Ada"
    for error, add in left:
        with pytest.raises(error), store.batch() as batch:  # noqa: PT012
            batch.upsert(accounts, "ada", 1)
            add(batch)
    assert dict(accounts) == {"ada": 100, "bob": 0}
    store.close()


def test_other_threads_run_while_one_waits_for_the_disk(path: Path) -> None:
    """With the interpreter held over each sync, as many writers would take as many syncs one after another."""
    with twindex.open(path, durability="always") as store:
        table = store.table("t", keys="int", values="int")
        before = store.stats()["syncs"]

        def write(thread: int) -> None:
            for number in range(50):
                table[thread * 1000 + number] = number

        in_threads(8, write)
        assert len(table) == 400
        assert store.stats()["syncs"] - before < 400


def test_unused_store_lets_go_of_its_file(path: Path) -> None:
    store = twindex.open(path)
    table = raw(store=store)
    table[b"a"] = b"1"
    del store, table
    with twindex.open(path) as again:
        assert raw(store=again)[b"a"] == b"1"


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


def test_path_may_be_bytes(path: Path) -> None:
    with twindex.open(os.fsencode(path)) as store:
        raw(store=store)[b"a"] = b"1"
        store.save(os.fsencode(path.with_name("copy.twx")))
    assert len(raw(store=twindex.Store.load(path.with_name("copy.twx")))) == 1
