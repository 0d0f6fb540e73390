"""Ctrl-C, and whatever else a signal's handler raises, ends a long call soon."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import twindex

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such signals")

# How many seconds of the processor's time may go by until a signal is heeded: so the test holds on a busy machine too.
SOON = 0.2
# And how many a call takes at least, so that one that does not heed signals is found.
LONG = 0.3

Call = Callable[[], object]


class InterruptError(Exception):
    pass


def few() -> Any:
    """A table in which a few pairs are asked for very often."""
    table: Any = twindex.Store().table("t", keys="bytes", values="int")
    table[b"a"] = 1
    return table


def store_of(count: int) -> twindex.Store:
    store = twindex.Store()
    store.table("t", "sorted", keys="int", values="int").update(zip(range(count), range(count), strict=True))
    return store


@lru_cache(maxsize=3)
def shared(count: int) -> twindex.Store:
    """A store that no call changes: a large one takes seconds to make."""
    return store_of(count)


def full(count: int) -> Any:
    return shared(count).table("t", "sorted")


def empty() -> Any:
    return store_of(0).table("t", "sorted")


def of_keys(count: int, call: Callable[[Any, list[bytes]], object]) -> Call:
    table, keys = few(), [b"a", b"x"] * (count // 2)
    return lambda: call(table, keys)


def of_groups(verb: str, count: int, *group: object) -> Call:
    table, groups = few(), [(b"a", *group)] * count
    return lambda: getattr(table, verb)(groups)


def of_a_dict(count: int) -> Call:
    table, pairs = empty(), dict.fromkeys(range(count), 1)
    return lambda: table.update(pairs)


def equal(count: int, other: Callable[[int], Any]) -> Call:
    one, two = full(count), other(count)
    return lambda: one == two


def of(made: Any, read: Callable[[Any], object]) -> Call:
    return lambda: read(made)


def reads(count: int, read: Callable[[Any], object]) -> Call:
    return of(full(count), read)


@cache
def file_of(count: int) -> str:
    """A file that has so many pairs."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "app.twx"
    shared(count).save(path)
    KEPT.append(folder)
    return str(path)


KEPT: list[TemporaryDirectory[str]] = []


def of_file(count: int, read: Callable[[str], object]) -> Call:
    return of(file_of(count), read)


def recovers(count: int) -> Call:
    path, numbers = file_of(count), iter(range(1_000_000))
    return lambda: twindex.recover(path, f"{file_of(0)}.recovered{count}.{next(numbers)}")


@lru_cache(maxsize=3)
def cache_of(count: int) -> twindex.Cache[int, int]:
    made = twindex.Cache(max_entries=2 * count + 1, keys="int", values="int")
    made.update(zip(range(count), range(count), strict=True))
    return made


def load_cache(source: Any) -> object:
    return twindex.Cache.load(source, keys="int", values="int")


def file_of_cache(count: int) -> str:
    path = file_of(0) + f".cache{count}"
    cache_of(count).save(path)
    return path


CALLS: dict[str, Callable[[int], Call]] = {
    "select_many": lambda count: of_keys(count, lambda table, keys: table.select_many(keys)),
    "contains_many of an iterator": lambda count: of_keys(
        count, lambda table, keys: table.contains_many(iter(keys))
    ),
    "upsert_many": lambda count: of_groups("upsert_many", count, 1),
    "delete_range": lambda count: lambda: store_of(count).table("t").delete_range(),
    "increment_many": lambda count: of_groups("increment_many", count, 0),
    "compare_and_swap_many": lambda count: of_groups("compare_and_swap_many", count, 1, 1),
    "update by a dict": of_a_dict,
    "update by a table": lambda count: reads(count, lambda table: empty().update(table)),
    "equal tables": lambda count: equal(count, lambda count: store_of(count).table("t", "sorted")),
    "a table and a dict": lambda count: equal(count, lambda count: {key: key for key in range(count)}),
    "pairs": lambda count: reads(count, lambda table: list(table.items())),
    "a scan": lambda count: reads(count, lambda table: list(table.scan(reverse=True))),
    "a scan in a transaction": lambda count: of(
        shared(count), lambda store: store.transaction(lambda tx: list(tx.table("t").scan()))
    ),
    "steps": lambda count: reads(count, lambda table: table.cursor().scan_asc_next_many(count)),
    "a value that is nowhere": lambda count: reads(count, lambda table: -1 in table.values()),
    "dump": lambda count: shared(count).dump,
    "load": lambda count: of(shared(count).dump(), twindex.Store.load),
    "load from a file": lambda count: of_file(count, twindex.Store.load),
    "open": lambda count: of_file(count, lambda path: twindex.open(path, read_only=True).close()),
    "check": lambda count: of_file(count, twindex.check),
    "recover": recovers,
    "save": lambda count: of(shared(count), lambda store: store.save(file_of(0) + f".{count}")),
    "dump of a cache": lambda count: cache_of(count).dump,
    "load of a cache": lambda count: of(cache_of(count).dump(), load_cache),
    "load of a cache from a file": lambda count: of(file_of_cache(count), load_cache),
}


@contextlib.contextmanager
def signals(first: float, interval: float, handle: Callable[[], None]) -> Iterator[None]:
    """Has `handle` called after so much time of the processor's, then again after each interval."""
    before = signal.signal(signal.SIGPROF, lambda *_: handle())
    # What Python's collector does meanwhile nobody can interrupt.
    gc.disable()
    signal.setitimer(signal.ITIMER_PROF, first, interval)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


@pytest.mark.parametrize("name", CALLS)
def test_long_call_heeds_signals_within_a_fifth_of_a_second(name: str) -> None:
    """Calls over millions of items, and `==` of two tables, heeded Ctrl-C only after seconds, when they were done."""
    moments: list[float] = []

    def timed(call: Call) -> float:
        moments[:] = [time.process_time()]
        with signals(0.005, 0.005, lambda: moments.append(time.process_time())):
            call()
            moments.append(time.process_time())
        return moments[-1] - moments[0]

    count = 250_000
    while (whole := timed(call := CALLS[name](count))) < LONG:
        count *= 2 ** max(1, round(log2(LONG / max(whole, 0.01))))
    # On a machine that others use too, the processor's time may double for a moment: one good run of three will do.
    longest = LONG
    for _ in range(3):
        longest = min(longest, max(after - before for before, after in pairwise(moments)))
        if longest < SOON:
            break
        timed(call)
    assert longest < SOON, f"{name} of {count} heeded no signal for {longest:.3f} of {whole:.3f} s"

    def interrupt() -> None:
        moments.append(time.process_time())
        raise InterruptError

    # Now and then a call takes much less than it did the first time.
    for share in (2, 4, 8):
        with signals(whole / share, 0, interrupt):
            try:
                call()
            except InterruptError:
                ended = time.process_time()
                break
    else:
        pytest.fail("nothing was raised")
    # What had been made until then is freed by now.
    assert ended - moments[-1] < SOON


def test_interrupt_ends_the_wait_for_another_threads_computation() -> None:
    cache, begun, go_on = twindex.Cache(max_entries=10), threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        return int(go_on.wait(60))

    def interrupt(*_: object) -> None:
        raise InterruptError

    thread = threading.Thread(target=lambda: cache.get_or_compute("a", slow))
    thread.start()
    assert begun.wait(60)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        with pytest.raises(InterruptError):
            cache.get_or_compute("a", lambda: 2)
    finally:
        signal.signal(signal.SIGALRM, before)
        go_on.set()
        thread.join(60)
    assert cache["a"] == 1
