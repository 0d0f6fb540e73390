"""Threads, and callbacks that use the table that called them."""

from __future__ import annotations

import gc
import operator
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import Index, in_threads, raw, repeated

THREADS = 4


@pytest.fixture(autouse=True)
def _switch_threads_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def numbers(index: Index) -> twindex.Table[int, int]:
    return twindex.Store().table("numbers", index, keys="int", values="int")


def test_every_pair_of_a_batch_has_one_winner(numbers: twindex.Table[int, int]) -> None:
    def work(_: int) -> int:
        won = 0
        for start in range(0, 5000, 500):
            keys = range(start, start + 500)
            won += sum(numbers.insert_many([(key, key) for key in keys]))
            assert numbers.select_many(keys) == list(keys)
            assert all(numbers.contains_many(keys))
            numbers.increment_many([(-1, 1)] * 100)
        return won

    assert sum(in_threads(THREADS, work)) == 5000
    assert numbers[-1] == THREADS * 10 * 100


@pytest.mark.parametrize(
    "add",
    [
        lambda numbers: numbers.increment(7),
        lambda numbers: numbers.alter(7, lambda value: (value or 0) + 1),
    ],
)
def test_sums_of_threads_are_whole(numbers: twindex.Table[int, int], add: Callable[[Any], object]) -> None:
    in_threads(THREADS, lambda _: [add(numbers) for _ in range(500)])
    assert numbers[7] == THREADS * 500


def test_pop_and_setdefault_give_each_pair_to_one(numbers: twindex.Table[int, int]) -> None:
    owners = in_threads(THREADS, lambda thread: [numbers.setdefault(key, thread) for key in range(500)])
    assert owners == [owners[0]] * THREADS
    popped = in_threads(THREADS, lambda _: sum(numbers.pop(key, None) is not None for key in range(500)))
    assert sum(popped) == 500
    numbers.update({key: key for key in range(500)})

    def drain(_: int) -> list[int]:
        taken = []
        while True:
            try:
                taken.append(numbers.popitem()[0])
            except KeyError:
                return taken

    assert sorted(chain(*in_threads(THREADS, drain))) == list(range(500))


def test_threads_that_share_a_cursor_or_a_scan_get_each_pair_once() -> None:
    table = twindex.Store().table("t", "sorted", keys="int", values="int")
    table.update({key: -key for key in range(4000)})
    cursor, scan = table.cursor(), table.scan()

    def work(thread: int) -> list[tuple[int, int]]:
        if thread % 2:
            return list(chain(*iter(lambda: cursor.scan_asc_next_many(7), [])))
        return [pair for pair in iter(cursor.scan_asc_next, None) if pair is not None]

    for share in (work, lambda _: list(scan)):
        assert sorted(chain(*in_threads(THREADS, share))) == [(key, -key) for key in range(4000)]


def another_runs_during(call: Callable[[], Any]) -> bool:
    """Whether another thread runs during such calls, within half a minute. `call` is made of native code alone, and so is what reads
    the clock before and after it: the interpreter changes threads between them only where the call lets go of it.
    """
    until = time.monotonic() + 30
    while time.monotonic() < until:
        begin, ran = threading.Lock(), list[float]()

        def run(begin: threading.Lock = begin, ran: list[float] = ran) -> None:
            with begin:
                ran.append(time.monotonic())

        begin.acquire()
        thread = threading.Thread(target=run)
        thread.start()
        begin.release()
        before, _, after = map(operator.call, (time.monotonic, call, time.monotonic))
        thread.join()
        if before < ran[0] < after:
            return True
    return False


PAIRS = [(b"%06d" % number, b"v" * 100) for number in range(20_000)]


@pytest.mark.parametrize(
    "call",
    [
        lambda _, table: partial(table.upsert_many, PAIRS),
        lambda _, table: partial(dict, table),
        lambda _, table: partial(operator.eq, table, dict(PAIRS)),
        lambda store, _: store.stats,
        lambda store, _: store.tables,
    ],
)
def test_other_threads_run_during_a_long_call(call: Callable[[Any, Any], Callable[[], object]]) -> None:
    store = twindex.Store()
    table = raw("sorted", store)
    table.upsert_many(PAIRS)
    assert another_runs_during(call(store, table))


def test_other_threads_run_while_a_single_write_waits(path: Path) -> None:
    """A writer that is too far ahead of the disk or of a compaction waits for it."""
    store = twindex.open(path)
    table, value = raw(store=store), bytes(50_000)
    # By itself a slow thread may never be ahead.
    with repeated(partial(table.upsert, b"other", bytes(1 << 20))):
        assert another_runs_during(partial(table.upsert, b"key", value))
    store.close()


def test_buffers_may_change_during_a_batch() -> None:
    table = raw()
    key = bytearray(b"a" * 64)

    def change() -> None:
        key[:] = b"b" * 64
        key[:] = b"a" * 64
        key.append(0)
        key.pop()

    with repeated(change):
        for _ in range(200):
            table.upsert_many([(key, key)] * 20)
    assert all(found == value for found, value in table.items())
    assert {len(found) for found in table} <= {64, 65}


def test_functions_of_alter_and_arguments_may_use_the_table(numbers: twindex.Table[int, int]) -> None:
    def change(_: int | None) -> int:
        numbers.insert(1, 10)
        numbers.delete(2)
        return numbers.increment(3) + len(numbers)

    assert numbers.alter(0, change)
    assert dict(numbers) == {0: 3, 1: 10, 3: 1}
    numbers.clear()

    def pairs() -> Iterator[tuple[int, int]]:
        for number in range(3):
            yield number, len(numbers)
            numbers.upsert(100 + number, 0)

    assert numbers.insert_many(pairs()) == [True, True, True]
    assert numbers.select_many([0, 1, 2]) == [0, 1, 2]


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
    with pytest.raises(ZeroDivisionError):
        numbers.alter(7, lambda value: (value or 0) // 0)
    assert numbers[7] == 201


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


def test_read_of_a_store_that_is_closed_meanwhile_does_not_find_a_pair_absent() -> None:
    keys = range(2000)
    reads: list[Callable[[Any], object]] = [
        lambda table: all(key in table for key in keys),
        lambda table: None not in map(table.get, keys),
        lambda table: None not in table.select_many(keys),
        lambda table: all(table.contains_many(keys)),
        lambda table: table.first() and table.peekitem(),
        lambda table: len(list(table)) == len(keys),
        lambda table: len(table.cursor().scan_asc_next_many(5000)) == len(keys),
    ]
    for _ in range(20):
        store = twindex.Store()
        table = store.table("t", "sorted", keys="int", values="int")
        table.update(zip(keys, keys, strict=True))

        def work(thread: int, store: twindex.Store = store, table: Any = table) -> None:
            if thread == len(reads):
                time.sleep(0.001)
                store.close()
                return
            while True:
                assert reads[thread](table), f"read {thread} found too little"

        outcomes = in_threads(len(reads) + 1, partial(outcome_of, work))
        assert set(outcomes) == {None, "TWINDEX_CLOSED"}, outcomes


def outcome_of(work: Callable[[int], None], thread: int) -> str | None:
    try:
        work(thread)
    except twindex.Error as error:
        return error.code
    return None


def test_no_python_code_runs_while_a_scan_reads_a_pair_that_is_no_text() -> None:
    """What ran then and used the scan, as another thread, met a panic."""
    store = twindex.Store()
    table, met = store.table("t"), list[BaseException]()
    store.table("t", values="bytes").update({str(number): b"\xff" for number in range(50)})
    scan = table._iterate_values()

    def reenter(_frame: object, event: str, _argument: object) -> None:
        if event == "call":
            read()

    def read() -> None:
        try:
            next(scan)
        except BaseException as error:  # noqa: BLE001
            met.append(error)

    read()
    sys.setprofile(reenter)
    try:
        read()
    finally:
        sys.setprofile(None)
    assert {type(error) for error in met} == {twindex.EncodingError}, met


def test_store_may_be_closed_while_others_work() -> None:
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

        assert set(in_threads(THREADS, work)) <= {"TWINDEX_CLOSED", "TWINDEX_TABLE_DROPPED"}
        assert store.closed
    with twindex.Store() as store, pytest.raises(twindex.ClosedError):
        raw(store=store).alter(b"key", lambda _: (store.close(), b"new")[1])  # type: ignore[func-returns-value]
