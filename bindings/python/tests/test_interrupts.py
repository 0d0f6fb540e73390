"""Ctrl-C, and whatever else a signal's handler raises, ends a long call soon."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

import twindex

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such signals")


class InterruptError(Exception):
    pass


@pytest.fixture
def numbers() -> twindex.Table[str, int]:
    return twindex.Store().table("t", values="int")


CALLS: dict[str, Callable[[Any, int], object]] = {
    "select_many": lambda table, count: table.select_many(["a"] * count),
    "contains_many": lambda table, count: table.contains_many(["a"] * count),
    "delete_many": lambda table, count: table.delete_many(["a"] * count),
    "upsert_many": lambda table, count: table.upsert_many([("a", 1)] * count),
    "increment_many": lambda table, count: table.increment_many([("a", 1)] * count),
    "compare_and_swap_many": lambda table, count: table.compare_and_swap_many([("a", 1, 1)] * count),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_ends_soon(name: str, numbers: Any) -> None:
    """Calls over millions of keys heeded Ctrl-C only after seconds, when they were done."""

    def timed(count: int) -> float:
        numbers["a"] = 1
        begun = time.perf_counter()
        CALLS[name](numbers, count)
        return time.perf_counter() - begun

    def interrupt(*_: object) -> None:
        raise InterruptError

    count = 250_000
    while (whole := timed(count)) < 0.6:
        count *= 2
    count *= 4
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, whole / 2)
        begun = time.perf_counter()
        with pytest.raises(InterruptError):
            CALLS[name](numbers, count)
        # All of it takes four times as long as it did above, and more where the machine is busy.
        assert time.perf_counter() - begun < 2 * whole
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    numbers["a"] = 2
    assert numbers["a"] == 2
