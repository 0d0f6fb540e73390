"""Stores, in memory and in files: what of them is Python's. What a file promises, the engine's own tests hold."""

from __future__ import annotations

import copy
import datetime
import errno
import gc
import json
import multiprocessing
import os
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import CONFORMANCE, in_threads, raw


def filled() -> twindex.Store:
    store = twindex.Store()
    store.table("users", keys="bytes", values="bytes").update({b"ada": b"1815", b"": b""})
    store.table("log", "sorted", keys="int", values="json").update({2: [None], -1: {"é": "x"}})
    return store


def contents(store: twindex.Store) -> dict[str, dict[bytes, bytes]]:
    return {
        name: dict(store.table(name, index, keys="bytes", values="bytes")) for name, index in store.tables()
    }


def test_memory_limit_is_a_memory_error_and_can_be_lifted() -> None:
    store = twindex.Store(memory_limit=4_000_000)
    table = raw("sorted", store)
    table[b"small"] = b"1"
    calls: list[Callable[[], object]] = [
        lambda: table.insert(b"big", bytes(8_000_000)),
        lambda: table.alter(b"small", lambda _: bytes(8_000_000)),
        lambda: table.setdefault(b"big", bytes(8_000_000)),
    ]
    for call in calls:
        with pytest.raises(MemoryError, match="4000000") as raised:
            call()
        assert type(raised.value) is twindex.MemoryLimitError
    batch = store.batch()
    batch.upsert(table, b"small", b"2")
    batch.insert(table, b"big", bytes(8_000_000))
    with pytest.raises(MemoryError):
        batch.commit()
    assert dict(table.items()) == {b"small": b"1"}
    store.memory_limit = None
    assert store.memory_limit is None
    assert table.insert(b"big", bytes(8_000_000))


def test_store_is_loaded_from_any_bytes_and_any_path(tmp_path: Path) -> None:
    path, dump = tmp_path / "é.twx", filled().dump()
    filled().save(path)
    sources: list[Any] = [dump, bytearray(dump), memoryview(dump), path, str(path)]
    for source in sources:
        assert contents(twindex.Store.load(source)) == contents(filled())


def test_closed_store_refuses_every_use() -> None:
    store = filled()
    log = store.table("log", "sorted", keys="int", values="json")
    cursor, scan, view = log.cursor(), log.scan(), log.items()
    assert not store.closed
    with store as same:
        assert same is store
    assert store.closed
    store.close()
    uses: list[Callable[[], object]] = [
        lambda: store.memory,
        lambda: store.memory_limit,
        lambda: setattr(store, "memory_limit", 1),
        lambda: store.save("never.twx"),
        store.__enter__,
        lambda: log.memory,
        lambda: list(reversed(log)),
        lambda: log.update({3: 4}),
        lambda: log.pop(2, None),
        lambda: log.setdefault(2, 1),
        lambda: log.alter(2, lambda _: twindex.KEEP),
        log.popitem,
        lambda: list(view),
        lambda: log == {},
        lambda: cursor.scan_asc_next_many(0),
        lambda: next(scan),
    ]
    for use in uses:
        with pytest.raises(twindex.ClosedError, match="closed"):
            use()
    assert (log.name, log.index) == ("log", "sorted")
    assert repr(store) == "<twindex.Store: closed>"
    assert repr(log) == '<twindex.Table "log": sorted, int keys, json values, closed>'
    with pytest.raises(ZeroDivisionError), twindex.Store() as store:
        raise ZeroDivisionError
    assert store.closed


def test_repr_says_what_an_object_is() -> None:
    store = filled()
    assert repr(store) == f"<twindex.Store: 2 tables, {store.memory} bytes>"
    log = store.table("log", "sorted")
    assert repr(log) == '<twindex.Table "log": sorted, int keys, json values, 2 pairs>'
    assert repr(log.cursor()) == '<twindex.Cursor of "log">'
    kinds = ["pairs", "keys", "values", "pairs"]
    scans: list[object] = [log.scan(), iter(log), iter(log.values()), iter(log.items())]
    assert list(map(repr, scans)) == [f"<twindex.Scan of {kind}>" for kind in kinds]


TABLE = raw("sorted")
HANDLES = [twindex.Store(), TABLE, TABLE.cursor(), TABLE.scan(), twindex.Store().batch()]


@pytest.mark.parametrize("handle", HANDLES, ids=lambda handle: type(handle).__name__)
def test_handles_are_not_copied_but_can_be_referred_to_weakly(handle: object) -> None:
    copies: list[Callable[[], object]] = [lambda: copy.copy(handle), lambda: copy.deepcopy(handle)]
    copies += [lambda p=p: pickle.dumps(handle, p) for p in range(pickle.HIGHEST_PROTOCOL + 1)]  # type: ignore[misc]
    for copying in copies:
        with pytest.raises(TypeError, match=f"a {type(handle).__name__} .*cannot be pickled or copied"):
            copying()
    assert weakref.ref(handle)() is handle


@pytest.mark.parametrize("kind", [twindex.Table, twindex.Cursor, twindex.Scan, twindex.Batch])
def test_only_stores_are_constructed(kind: Any) -> None:
    with pytest.raises(TypeError, match="cannot create"):
        kind()


def test_version_and_limits_are_those_of_the_engine() -> None:
    assert twindex.__version__ == version("twindex")
    limits = (twindex.MAX_KEY_BYTES, twindex.MAX_VALUE_BYTES, twindex.MAX_NAME_BYTES)
    assert limits == (65_535, 2**32 - 1, 255)
    assert twindex.MAX_NAME_BYTES == twindex._codecs._MAX_NAME_BYTES


class Owner:
    """Holds what holds it."""


def hold_listener(owner: Any) -> None:
    owner.gone = lambda *_: owner
    owner.cache = twindex.Cache(maxsize=1, on_evict=owner.gone)
    owner.cache.update({1: 1, 2: 2})
    owner.scan = iter(owner.cache)


def hold_codec(owner: Any) -> None:
    codec: twindex.Codec[Any] = twindex.Codec("c", lambda value: owner and value, bytes)
    owner.store = twindex.Store()
    owner.table = owner.store.table("t", "sorted", keys=codec, values=codec)
    owner.scan, owner.cursor, owner.items = owner.table.scan(), owner.table.cursor(), owner.table.items()


@pytest.mark.parametrize("hold", [hold_listener, hold_codec])
def test_objects_in_a_cycle_with_a_store_or_a_cache_are_freed(hold: Callable[[Any], None]) -> None:
    owner = Owner()
    hold(owner)
    freed = weakref.ref(owner)
    del owner
    gc.collect()
    assert freed() is None


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
                with pytest.raises(PermissionError, match="read-only") as raised:
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
