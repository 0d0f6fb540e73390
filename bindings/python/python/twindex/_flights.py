"""One computation at a time for each key of a cache."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from ._twindex import Cache, _Computation

V = TypeVar("V")

CIRCLE = "the function of get_or_compute asked for the key that it computes"

# What each thread waits for.
_awaited: dict[int, _Flight] = {}
# The computation that a task belongs to, and what the tasks of each computation wait for.
_own_task: ContextVar[asyncio.Task[Any] | None] = ContextVar("_own_task", default=None)
_awaited_by_task: dict[asyncio.Task[Any], list[asyncio.Task[Any]]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_awaited.clear)
    os.register_at_fork(after_in_child=_awaited_by_task.clear)

# A waiter looks this often whether an interrupt kept the other from waking it.
_LOOK_SECONDS = 1.0


class _Flight:
    """What one thread computes and others wait for."""

    __slots__ = ("computation", "done", "error", "greenlet", "landed", "stored", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.greenlet = _greenlet()
        self.landed = threading.Event()
        self.done = False
        self.computation: _Computation | None = None
        self.stored: bytes | None = None
        self.error: Exception | None = None

    def stands(self) -> bool:
        return self.computation is None or self.computation.stands() or self.done


def _greenlet() -> object:
    """The greenlet that runs, where the program has any."""
    module = sys.modules.get("greenlet")
    return None if module is None else module.getcurrent()


def get_or_compute(
    cache: Cache[Any, V], name: bytes, compute: Callable[[], V], ttl: float | timedelta | None
) -> V:
    """What `Cache.get_or_compute` does once the key was not found: `name` is the key as the cache has it."""
    flights = cache._flights
    while True:
        flight = _Flight()
        # An interrupt may come after any call, so the flight can only be known to others within the `try`.
        try:
            other = flights.setdefault(name, flight)
            if other is flight:
                return _fly(cache, flight, name, compute, ttl)
        finally:
            flight.done = True
            flight.landed.set()
        if not other.stands():
            # The key was deleted meanwhile, so what the other computes may be of old data.
            _remove(flights, name, other)
            continue
        if other.thread == flight.thread and other.greenlet is not flight.greenlet:
            # This thread cannot wait for itself: the other greenlet goes on once this one lets it.
            return cache._show(cache._store(name, compute(), ttl, cache._begin(name)))
        _wait(other, flight.thread)
        if other.error is not None:
            raise other.error
        if other.stored is not None:
            return cache._show(other.stored)
        # It was interrupted, which is no answer for this thread.
        _remove(flights, name, other)
        stored = cache._peek_stored(name)
        if stored is not None:
            return cache._show(stored)


def _wait(flight: _Flight, thread: int) -> None:
    try:
        # Before it looks whether the other waits for it, or both could miss each other.
        _awaited[thread] = flight
        next_flight: _Flight | None = flight
        while next_flight is not None and not next_flight.done:
            if next_flight.thread == thread:
                raise RuntimeError(CIRCLE)
            next_flight = _awaited.get(next_flight.thread)
        while not flight.landed.wait(_LOOK_SECONDS) and not flight.done:
            pass
    finally:
        _awaited.pop(thread, None)


def _fly(
    cache: Cache[Any, V],
    flight: _Flight,
    name: bytes,
    compute: Callable[[], V],
    ttl: float | timedelta | None,
) -> V:
    try:
        flight.computation = computation = cache._begin(name)
        # Another thread may have landed between the look-up and this flight.
        stored = cache._peek_stored(name)
        if stored is None:
            stored = cache._store(name, compute(), ttl, computation)
        flight.stored = stored
    except Exception as error:
        flight.error = error
        raise
    finally:
        _remove(cache._flights, name, flight)
        if flight.computation is not None:
            flight.computation.end()
    return cache._show(stored)


async def get_or_compute_async(
    cache: Cache[Any, V],
    name: bytes,
    compute: Callable[[], Awaitable[V]],
    ttl: float | timedelta | None,
) -> V:
    """The same for a coroutine function, whose computation goes on when a task that waits for it is cancelled."""
    flights = cache._flights
    key = (asyncio.get_running_loop(), name)
    task, computation = flights.get(key, (None, None))
    if task is None or not computation.stands():
        computation = cache._begin(name)
        task = asyncio.ensure_future(_compute(cache, name, compute, ttl, computation))
        flights[key] = flight = (task, computation)
        task.add_done_callback(lambda done: _land(flights, key, flight, done))
    own = _own_task.get()
    if own is None or own.done():
        return cache._show(await asyncio.shield(task))
    if _leads_to(task, own):
        raise RuntimeError(CIRCLE)
    awaited = _awaited_by_task.setdefault(own, [])
    awaited.append(task)
    try:
        return cache._show(await asyncio.shield(task))
    finally:
        awaited.remove(task)
        if not awaited:
            _awaited_by_task.pop(own, None)


def _leads_to(task: asyncio.Task[Any], own: asyncio.Task[Any]) -> bool:
    """Whether a task waits for another, itself or by others."""
    return task is own or any(_leads_to(awaited, own) for awaited in _awaited_by_task.get(task, ()))


async def _compute(
    cache: Cache[Any, V],
    name: bytes,
    compute: Callable[[], Awaitable[V]],
    ttl: float | timedelta | None,
    computation: _Computation,
) -> bytes:
    # The tasks that the function makes, as `asyncio.gather` does, inherit it.
    _own_task.set(asyncio.current_task())
    return cache._store(name, await compute(), ttl, computation)


def _remove(flights: dict[Any, Any], key: object, flight: object) -> None:
    # Another one may have its place, as the key was deleted.
    if flights.get(key) is flight:
        flights.pop(key, None)


def _land(flights: dict[Any, Any], key: object, flight: Any, task: asyncio.Future[bytes]) -> None:
    _remove(flights, key, flight)
    flight[1].end()
    # Whether or not anybody still waits for it, the error was seen.
    if not task.cancelled():
        task.exception()
