"""Stores: tables, memory, dumps and files, closing, and what a store is not."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex


def filled() -> twindex.Store:
    store = twindex.Store()
    store.table("users", keys="bytes", values="bytes").update({b"ada": b"1815", b"": b""})
    store.table("log", "sorted", keys="int", values="json").update({2: [None], -1: {"é": "x"}})
    store.table("empty", "sorted", keys="bytes", values="bytes")
    return store


def contents(store: twindex.Store) -> dict[tuple[str, str], dict[bytes, bytes]]:
    return {
        (name, index): dict(store.table(name, index, keys="bytes", values="bytes").items())
        for name, index in store.tables()
    }


def test_a_table_is_one_under_all_its_handles() -> None:
    store = twindex.Store()
    store.table("users", keys="bytes", values="bytes")[b"ada"] = b"1815"
    assert store.table("users", index="hash", keys="bytes", values="bytes")[b"ada"] == b"1815"
    assert (
        store.table("users", keys="bytes", values="bytes").name,
        store.table("users", keys="bytes", values="bytes").index,
    ) == ("users", "hash")


def test_dropped_tables() -> None:
    store = filled()
    users = store.table("users", keys="bytes", values="bytes")
    assert store.drop_table("users")
    assert not store.drop_table("users")
    assert users.select(b"ada") is None
    with pytest.raises(twindex.TableDroppedError, match="users"):
        users.insert(b"ada", b"")
    assert len(store.table("users", "sorted", keys="bytes", values="bytes")) == 0


def test_the_memory_limit() -> None:
    store = twindex.Store(memory_limit=4_000_000)
    assert store.memory_limit == 4_000_000
    table = store.table("t", "sorted", keys="bytes", values="bytes")
    table[b"small"] = b"1"
    for call in (
        lambda: table.insert(b"big", bytes(8_000_000)),
        lambda: table.alter(b"small", lambda _: bytes(8_000_000)),
        lambda: table.setdefault(b"big", bytes(8_000_000)),
    ):
        with pytest.raises(MemoryError, match="4000000") as raised:
            call()
        assert type(raised.value) is twindex.MemoryLimitError
    assert dict(table.items()) == {b"small": b"1"}
    store.memory_limit = None
    assert store.memory_limit is None
    assert table.insert(b"big", bytes(8_000_000))


@pytest.mark.parametrize("source", [bytes, bytearray, memoryview])
def test_a_dump_is_loaded_from_any_bytes(source: Callable[[bytes], Any]) -> None:
    store = filled()
    assert contents(twindex.Store.load(source(store.dump()))) == contents(store)


@pytest.mark.parametrize("path_of", [str, Path])
def test_a_file_is_loaded_from_any_path(tmp_path: Path, path_of: Callable[[Path], Any]) -> None:
    store, path = filled(), path_of(tmp_path / "é.twx")
    store.save(path)
    store.table("users", keys="bytes", values="bytes")[b"more"] = b"1"
    store.save(path)
    assert contents(twindex.Store.load(path)) == contents(store)
    assert [file.name for file in tmp_path.iterdir()] == ["é.twx"]


def test_closing() -> None:
    store = filled()
    log = store.table("log", "sorted", keys="int", values="json")
    cursor, scan, view = log.cursor(), log.scan(), log.items()
    assert not store.closed
    with store as same:
        assert same is store
    assert store.closed
    store.close()
    uses: list[Callable[[], object]] = [
        store.tables,
        store.dump,
        lambda: store.table("log", keys="bytes", values="bytes"),
        lambda: store.memory,
        lambda: store.memory_limit,
        lambda: setattr(store, "memory_limit", 1),
        lambda: store.drop_table("log"),
        lambda: store.save("never.twx"),
        store.__enter__,
        lambda: log.memory,
        lambda: len(log),
        lambda: log[2],
        lambda: 2 in log,
        lambda: list(log),
        lambda: list(reversed(log)),
        lambda: log.replace(3, 4),
        lambda: log.update({3: 4}),
        lambda: log.pop(2, None),
        lambda: log.setdefault(2, 1),
        log.popitem,
        log.clear,
        log.cursor,
        log.scan,
        lambda: log.select_many([]),
        lambda: log.insert_many([]),
        lambda: list(view),
        lambda: log == {},
        cursor.scan_asc_next,
        cursor.scan_desc_next,
        lambda: cursor.scan_asc_next_many(0),
        lambda: next(scan),
    ]
    for use in uses:
        with pytest.raises(twindex.ClosedError, match="closed"):
            use()
    assert (log.name, log.index) == ("log", "sorted")
    assert repr(store) == "<twindex.Store: closed>"
    assert repr(log) == '<twindex.Table "log": sorted, int keys, json values, closed>'


def test_a_context_manager_lets_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), twindex.Store() as store:
        raise ZeroDivisionError
    assert store.closed


def test_repr() -> None:
    store = filled()
    assert repr(store) == f"<twindex.Store: 3 tables, {store.memory} bytes>"
    log = store.table("log", "sorted")
    assert repr(log) == '<twindex.Table "log": sorted, int keys, json values, 2 pairs>'
    assert repr(log.cursor()) == '<twindex.Cursor of "log">'
    kinds = ["pairs", "keys", "values", "pairs"]
    scans: list[object] = [log.scan(), iter(log), iter(log.values()), iter(log.items())]
    assert list(map(repr, scans)) == [f"<twindex.Scan of {kind}>" for kind in kinds]


def handles() -> list[object]:
    table = twindex.Store().table("t", "sorted", keys="bytes", values="bytes")
    store = twindex.Store()
    return [store, table, table.cursor(), table.scan(), store.batch()]


@pytest.mark.parametrize("handle", handles(), ids=lambda handle: type(handle).__name__)
@pytest.mark.parametrize(
    "copying",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda it, p=p: pickle.dumps(it, p) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
    ],
)
def test_handles_are_not_copied_or_pickled(handle: object, copying: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=f"a {type(handle).__name__} .*cannot be pickled or copied"):
        copying(handle)


@pytest.mark.parametrize("handle", handles(), ids=lambda handle: type(handle).__name__)
def test_handles_can_be_referred_to_weakly(handle: object) -> None:
    assert weakref.ref(handle)() is handle


@pytest.mark.parametrize("kind", [twindex.Table, twindex.Cursor, twindex.Scan, twindex.Batch])
def test_only_stores_are_constructed(kind: Any) -> None:
    with pytest.raises(TypeError, match="cannot create"):
        kind()


def test_version() -> None:
    from importlib.metadata import version

    assert twindex.__version__ == version("twindex")


def test_limits() -> None:
    assert (twindex.MAX_KEY_BYTES, twindex.MAX_VALUE_BYTES, twindex.MAX_NAME_BYTES) == (
        65_535,
        2**32 - 1,
        255,
    )
    assert twindex.MAX_NAME_BYTES == twindex._codecs._MAX_NAME_BYTES
    table = twindex.Store().table("n" * 255, keys="bytes", values="bytes")
    assert table.insert(bytes(65_535), b"")


class Owner:
    """Holds what holds it."""


def hold_listener(owner: Any) -> None:
    owner.gone = lambda *_: owner
    owner.cache = twindex.Cache(maxsize=1, on_evict=owner.gone)
    owner.cache.update({1: 1, 2: 2})


def hold_listener_of_store(owner: Any) -> None:
    owner.store = twindex.Store()
    owner.cache = owner.store.cache("c", maxsize=1, on_evict=lambda *_: owner)
    owner.scan = iter(owner.cache)


def hold_codec(owner: Any) -> None:
    codec: twindex.Codec[Any] = twindex.Codec("c", lambda value: owner and value, bytes)
    owner.store = twindex.Store()
    owner.table = owner.store.table("t", "sorted", keys=codec, values=codec)
    owner.scan, owner.cursor, owner.items = owner.table.scan(), owner.table.cursor(), owner.table.items()


def hold_computation(owner: Any) -> None:
    owner.cache = twindex.Cache(maxsize=1)
    owner.cache._flights[b"a"] = owner


@pytest.mark.parametrize("hold", [hold_listener, hold_listener_of_store, hold_codec, hold_computation])
def test_objects_in_a_cycle_with_a_store_are_freed(hold: Callable[[Any], None]) -> None:
    owner = Owner()
    hold(owner)
    freed = weakref.ref(owner)
    del owner
    gc.collect()
    assert freed() is None


def test_listener_outlives_the_handle_that_brought_it() -> None:
    gone: list[object] = []
    store = twindex.Store()
    store.cache("c", maxsize=1, on_evict=lambda *pair: gone.append(pair))
    gc.collect()
    store.cache("c").update({"a": "1", "b": "2"})
    assert len(gone) == 1


@pytest.mark.parametrize("verb", ["compact", "save", "close"])
def test_progress_function_that_waits_for_its_own_work_raises(verb: str, tmp_path: Path) -> None:
    program = f"""
import sys, time, twindex
store = twindex.open(sys.argv[1])
store.table("t").update((str(number), "v" * 100) for number in range(200_000))
def progress(told):
    called.append(told)
    store.{verb}()
called = []
try:
    store.compact(progress=progress)
except RuntimeError as error:
    # The last call comes once the work is done, and may do all.
    assert len(called) == 1 and "progress function cannot" in str(error)
else:
    assert len(called) <= 1, called
"""
    # So small a store may take less time than the function is called after.
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "app.twx")], check=True, timeout=60)


def test_long_comparisons_let_other_threads_run() -> None:
    table: twindex.Table[int, int] = twindex.Store().table("t", keys="int", values="int")
    pairs = dict.fromkeys(range(300_000), 1)
    table.update(pairs)
    turns, done = [], threading.Event()

    def count() -> None:
        while not done.is_set():
            turns.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        begun = time.monotonic()
        assert table == pairs
        took = time.monotonic() - begun
    finally:
        done.set()
        thread.join()
    # Without turns there is one at most, before the comparison or behind it.
    assert len([turn for turn in turns if begun < turn < begun + took]) >= 5
