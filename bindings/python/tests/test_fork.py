"""What a child of `fork` may do with what its parent made: of a store nothing, and that is an error, not a crash. A cache is empty."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import twindex
import twindex.aio
from support import raw, repeated

if sys.platform == "win32":
    pytest.skip("there is no fork", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def in_child(body: Callable[[], None]) -> None:
    """Runs it in a child, and fails where it does."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            body()
        except BaseException:  # noqa: BLE001
            os.write(writer, traceback.format_exc().encode())
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0, report


def test_every_use_in_a_child_is_an_error(path: Path) -> None:
    store = twindex.open(path)
    table = store.table("t", "sorted", keys="int", values="int")
    table.update({key: key for key in range(1000)})
    cursor, scan, view, changes = table.cursor(), table.scan(), table.items(), store.changes()
    then, tx, watch = store.snapshot(), store.transaction(), table.watch()
    seen, mine = then.table(table), tx.table(table)
    seen_by_scan = seen.scan()
    assert next(scan) == cursor.scan_asc_next() == (0, 0)

    def child() -> None:
        uses: list[Callable[[], object]] = [
            store.tables,
            store.dump,
            lambda: store.table("t"),
            lambda: store.memory,
            store.__enter__,
            lambda: len(table),
            lambda: table[1],
            lambda: table.insert(1, 1),
            lambda: table.select_many([1]),
            lambda: table.upsert_many([(1, 1)]),
            lambda: list(view),
            cursor.scan_asc_next,
            lambda: next(scan),
            lambda: next(changes),
            watch.poll,
            lambda: next(watch),
            table.watch,
            store.snapshot,
            store.transaction,
            lambda: store.transaction(repr),
            lambda: then.table(table),
            lambda: seen[1],
            lambda: seen.select_many([1]),
            lambda: next(seen_by_scan),
            lambda: tx.table(table),
            lambda: mine[1],
            lambda: mine.upsert(1, 2),
            tx.commit,
        ]
        for use in uses:
            with pytest.raises(twindex.ForkedError, match="forked"):
                use()
        with pytest.raises(twindex.ForkedError):
            tx.__exit__(None, None, None)
        then.close()
        tx.close()
        assert not store.closed
        own = twindex.Store()
        raw(store=own)[b"a"] = b"1"

        def grandchild() -> None:
            with pytest.raises(twindex.ForkedError):
                own.table("t")

        in_child(grandchild)
        assert raw(store=own)[b"a"] == b"1"
        store.close()
        with pytest.raises(twindex.ClosedError):
            store.tables()

    in_child(child)
    assert list(scan) == [(key, key) for key in range(1, 1000)]
    assert (len(seen), mine[1]) == (1000, 1)
    assert len(table) == 1000
    store.close()


def test_what_was_inherited_goes_quietly_while_other_threads_wrote() -> None:
    """The child has no such threads: to drop a table that one of them held a lock of would take for ever."""
    store = twindex.Store()
    handles = [raw("sorted", store), store.table("h", keys="bytes", values="bytes")]
    done = threading.Event()

    def write(table: twindex.Table[bytes, bytes]) -> None:
        pairs = [(b"%d" % number, bytes(100)) for number in range(2000)]
        while not done.is_set():
            table.upsert_many(pairs)
            table.clear()

    writers = [threading.Thread(target=write, args=[table]) for table in handles]
    for writer in writers:
        writer.start()

    def child() -> None:
        nonlocal store, handles, writers
        del store, handles, writers
        gc.collect()

    try:
        for _ in range(10):
            in_child(child)
    finally:
        done.set()
        for writer in writers:
            writer.join()


def test_child_waits_for_no_transaction_that_another_thread_uses() -> None:
    store = twindex.Store()
    store.table("t", "sorted", keys="int", values="int").update((key, key) for key in range(5000))
    tx = store.transaction()

    def child() -> None:
        assert (tx.closed, repr(tx)) == (False, "<twindex.Transaction>")
        tx.close()
        assert tx.__exit__(KeyError, KeyError(), None) is None  # type: ignore[func-returns-value]
        # One of its own store is not within it.
        assert twindex.Store().transaction(lambda own: own.closed) is False

    with repeated(tx.table("t").scan):
        for _ in range(10):
            time.sleep(0.002)
            in_child(child)


def test_child_saves_what_it_made_while_the_parent_was_saving(tmp_path: Path) -> None:
    """Saving was under a lock of the process, which the child inherited locked: it waited for ever."""
    cache = twindex.Cache(max_entries=200_000, keys="int", values="bytes")
    cache.update(dict.fromkeys(range(100_000), bytes(200)))

    def child() -> None:
        own = twindex.Cache(max_entries=10)
        own["a"] = 1
        own.save(tmp_path / "child.twx")
        assert twindex.Cache.load(tmp_path / "child.twx")["a"] == 1

    with repeated(partial(cache.save, tmp_path / "parent.twx")):
        deadline = time.monotonic() + 60
        while not (tmp_path / "parent.twx.twindex-temporary").exists():
            assert time.monotonic() < deadline, "nothing is being saved"
        in_child(child)


@twindex.cached(max_entries=10)
def parent_of(number: int) -> tuple[int, int]:
    return number, os.getpid()


def test_cache_is_empty_and_of_use_in_a_child_whatever_the_parent_was_doing() -> None:
    told: list[object] = []
    cache = twindex.Cache(max_entries=10, ttl=60, on_evict=lambda *gone: told.append(gone))
    cache.update({number: number for number in range(10)})
    scan, own = iter(cache), parent_of(1)

    def check() -> None:
        with pytest.raises(twindex.ForkedError):
            list(scan)
        assert (len(cache), dict(cache), cache.max_entries, cache.default_ttl) == (0, {}, 10, 60)
        told.clear()
        for number in range(11):
            assert cache.get_or_compute(number, lambda number=number: -number) == -number  # type: ignore[misc]
        assert (len(cache), len(told)) == (10, 1)
        assert parent_of(1) != own
        assert parent_of(1) == parent_of(1)
        assert cache.popitem()
        in_child(check_grandchild)

    def check_grandchild() -> None:
        assert len(cache) == 0
        cache["a"] = 1
        assert cache.popitem() == ("a", 1)

    def fork() -> str:
        in_child(check)
        return "computed"

    with repeated(lambda: cache.upsert_many([(number % 10, number) for number in range(2000)])):
        for _ in range(5):
            in_child(check)
    # The child returns from the computation that its parent leads.
    assert cache.get_or_compute("fork", fork) == cache["fork"] == "computed"
    assert parent_of(1) == own


def test_feed_of_aio_that_was_being_read_at_the_fork_goes_on_in_the_child(path: Path) -> None:
    """The child waited for good for the lock of the parent's thread, and for its read."""
    reached, gate = threading.Event(), threading.Event()

    def begin() -> twindex.Changes:
        reached.set()
        gate.wait()
        return twindex.changes(path)

    def first() -> str:
        return asyncio.run(changes.poll()).changes[0].kind  # type: ignore[union-attr]

    def check() -> None:
        gate.set()
        assert first() == "create"

    twindex.open(path).table("t")
    changes, kinds = twindex.aio.Changes(begin, None), list[str]()
    reader = threading.Thread(target=lambda: kinds.append(first()))
    reader.start()
    reached.wait()
    in_child(check)
    gate.set()
    reader.join()
    assert kinds == ["create"]
