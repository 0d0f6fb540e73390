"""Stores: what of them is Python's, such as dumps as bytes, closing, references and what a store is not."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import raw


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


@pytest.mark.parametrize("source", [bytes, bytearray, memoryview])
def test_dump_is_loaded_from_any_bytes(source: Callable[[bytes], Any]) -> None:
    assert contents(twindex.Store.load(source(filled().dump()))) == contents(filled())


@pytest.mark.parametrize("path_of", [str, Path])
def test_file_is_loaded_from_any_path(tmp_path: Path, path_of: Callable[[Path], Any]) -> None:
    path = path_of(tmp_path / "é.twx")
    filled().save(path)
    assert contents(twindex.Store.load(path)) == contents(filled())


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
        store.tables,
        store.dump,
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
