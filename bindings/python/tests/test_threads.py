"""Threads, and callbacks that use the table that called them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Literal

import pytest

import twindex

THREADS = 4
#: Far longer than any of these takes: past it, threads wait for each other.
DEADLOCK_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _switch_threads_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], object]) -> list[Any]:
    """Runs `work` in all threads at once and returns their results."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> object:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(run, number) for number in range(THREADS)]
        return [future.result(DEADLOCK_SECONDS) for future in futures]


@pytest.fixture(params=["hash", "sorted"])
def numbers(request: pytest.FixtureRequest) -> twindex.Table[int, int]:
    index: Literal["hash", "sorted"] = request.param
    return twindex.Store().table("numbers", index, keys="int", values="int")


def test_batches(numbers: twindex.Table[int, int]) -> None:
    def work(thread: int) -> int:
        won = 0
        for start in range(0, 5000, 500):
            keys = range(start, start + 500)
            won += sum(numbers.insert_many([(key, key) for key in keys]))
            assert numbers.select_many(keys) == list(keys)
            assert all(numbers.contains_many(keys))
            numbers.increment_many([(-1, 1)] * 100)
        del thread
        return won

    assert sum(in_threads(work)) == 5000
    assert numbers[-1] == THREADS * 10 * 100


def test_increments_one_by_one(numbers: twindex.Table[int, int]) -> None:
    def work(_: int) -> None:
        for _ in range(2000):
            numbers.increment(7)

    in_threads(work)
    assert numbers[7] == THREADS * 2000


def test_alter_is_atomic(numbers: twindex.Table[int, int]) -> None:
    def work(_: int) -> None:
        for _ in range(500):
            assert numbers.alter(7, lambda value: (value or 0) + 1)

    in_threads(work)
    assert numbers[7] == THREADS * 500


def test_pop_and_setdefault_give_each_pair_to_one(numbers: twindex.Table[int, int]) -> None:
    owners = in_threads(lambda thread: [numbers.setdefault(key, thread) for key in range(500)])
    assert owners == [owners[0]] * THREADS
    popped = in_threads(lambda _: sum(numbers.pop(key, None) is not None for key in range(500)))
    assert sum(popped) == 500
    numbers.update({key: key for key in range(500)})

    def drain(_: int) -> list[int]:
        taken = []
        while True:
            try:
                taken.append(numbers.popitem()[0])
            except KeyError:
                return taken

    assert sorted(chain(*in_threads(drain))) == list(range(500))


def test_one_cursor_for_all_threads() -> None:
    table = twindex.Store().table("t", "sorted", keys="int", values="int")
    table.update({key: -key for key in range(4000)})
    cursor = table.cursor()

    def work(thread: int) -> list[tuple[int, int]]:
        if thread % 2:
            return list(chain(*iter(lambda: cursor.scan_asc_next_many(7), [])))
        return [pair for pair in iter(cursor.scan_asc_next, None) if pair is not None]

    assert sorted(chain(*in_threads(work))) == [(key, -key) for key in range(4000)]


def test_one_scan_for_all_threads() -> None:
    table = twindex.Store().table("t", "sorted", keys="int", values="int")
    table.update({key: -key for key in range(4000)})
    scan = table.scan()
    assert sorted(chain(*in_threads(lambda _: list(scan)))) == [(key, -key) for key in range(4000)]


@pytest.mark.parametrize(
    "call", [lambda table, pairs: table.upsert_many(pairs), lambda table, _: dict(table)]
)
def test_other_threads_run_during_a_long_call(call: Callable[[Any, Any], object]) -> None:
    """No thread is made to give up the interpreter here, so another one runs only where the call lets go of it."""
    table = twindex.Store().table("t", "sorted", keys="bytes", values="bytes")
    pairs = [(b"%06d" % number, b"v" * 100) for number in range(20_000)]
    table.upsert_many(pairs)
    begin, ran = threading.Lock(), threading.Event()

    def run() -> None:
        with begin:
            ran.set()

    begin.acquire()
    thread = threading.Thread(target=run)
    thread.start()
    sys.setswitchinterval(1000)
    begin.release()
    # More than one: the system may let the other thread wait.
    for _ in range(100):
        call(table, pairs)
        if ran.is_set():
            break
    assert ran.is_set()
    thread.join()


def test_buffers_may_change_during_a_batch() -> None:
    table = twindex.Store().table("t", keys="bytes", values="bytes")
    key = bytearray(b"a" * 64)
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            key[:] = b"b" * 64
            key[:] = b"a" * 64
            key.append(0)
            key.pop()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200):
            table.upsert_many([(key, key)] * 20)
    finally:
        done.set()
        thread.join(DEADLOCK_SECONDS)
    assert all(found == value for found, value in table.items())
    assert {len(found) for found in table} <= {64, 65}


def test_alter_may_use_its_own_table(numbers: twindex.Table[int, int]) -> None:
    def change(_: int | None) -> int:
        numbers.insert(1, 10)
        numbers.delete(2)
        return numbers.increment(3) + len(numbers)

    assert numbers.alter(0, change)
    assert dict(numbers) == {0: 3, 1: 10, 3: 1}


def test_alter_is_called_again_after_a_write_in_between(numbers: twindex.Table[int, int]) -> None:
    seen = []

    def change(value: int | None) -> int:
        seen.append(value)
        if len(seen) < 3:
            numbers[7] = len(seen) * 100
        return (value or 0) + 1

    assert numbers.alter(7, change)
    assert seen == [None, 100, 200]
    assert numbers[7] == 201


def test_an_exception_in_alter_changes_nothing(numbers: twindex.Table[int, int]) -> None:
    numbers[7] = 1
    with pytest.raises(ZeroDivisionError):
        numbers.alter(7, lambda value: (value or 0) // 0)
    assert numbers[7] == 1
    numbers[7] = 2


def test_alter_may_close_the_store() -> None:
    store = twindex.Store()
    table = store.table("t", keys="bytes", values="bytes")

    def change(value: bytes | None) -> bytes:
        store.close()
        return value or b"new"

    with pytest.raises(twindex.ClosedError):
        table.alter(b"key", change)


def test_arguments_may_use_the_table_while_they_are_read(numbers: twindex.Table[int, int]) -> None:
    def pairs() -> Iterator[tuple[int, int]]:
        for number in range(3):
            yield number, len(numbers)
            numbers.upsert(100 + number, 0)

    assert numbers.insert_many(pairs()) == [True, True, True]
    assert numbers.select_many([0, 1, 2]) == [0, 1, 2]


def test_finalizers_may_use_the_table(numbers: twindex.Table[int, int]) -> None:
    class Finalized:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            numbers.increment(-1)
            list(scan)
            numbers.clear()

    numbers.update({key: key for key in range(100)})
    scan = iter(numbers.items())
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for key in range(200):
            Finalized()
            numbers.upsert(key, key)
            next(scan, None)
            numbers.select_many([key])
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(numbers) == 0


def test_closing_while_others_work() -> None:
    for _ in range(20):
        store = twindex.Store()
        table = store.table("t", "sorted", keys="int", values="int")

        def work(thread: int, store: twindex.Store = store, table: Any = table) -> str:
            try:
                for key in range(10_000):
                    table.upsert(key, thread)
                    table.select_many(range(20))
                    sum(1 for _ in table.scan(limit=20))
                    if thread == 0 and key == 50:
                        store.close()
            except (twindex.ClosedError, twindex.TableDroppedError) as error:
                return error.code
            return "finished"

        assert set(in_threads(work)) <= {"TWINDEX_CLOSED", "TWINDEX_TABLE_DROPPED"}
        assert store.closed
