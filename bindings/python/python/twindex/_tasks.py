"""Computations of a cache by coroutine functions."""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from ._twindex import _Computation
from .errors import CircleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from ._twindex import Cache, _Waiter

T = TypeVar("T")
V = TypeVar("V")

CIRCLE = "a computation waits for itself: it needs its own value"

# How often a task looks whether the loop of the task that it waits for was closed, in seconds.
_OFTEN = 0.5

# The computation that a task belongs to, which computes what, and what the tasks of each computation wait for. A loop that
# nobody holds any more takes its tasks along, so that another one computes.
_own: ContextVar[asyncio.Task[Any] | None] = ContextVar("_own", default=None)
_computing: WeakValueDictionary[tuple[int, bytes], asyncio.Task[Any]] = WeakValueDictionary()
_leads: WeakKeyDictionary[asyncio.Task[Any], _Computation] = WeakKeyDictionary()
_awaited: WeakKeyDictionary[asyncio.Task[Any], list[ref[asyncio.Task[Any]]]] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_computing.clear)
    os.register_at_fork(after_in_child=_awaited.clear)


async def get_or_compute(
    cache: Cache[Any, V], name: bytes, compute: Callable[[], Awaitable[V]], ttl: float | timedelta | None
) -> V:
    """What `aio.get_or_compute` does once the key was not found: `name` is the key as the cache has it.

    A computation goes on when a task that waits for it is cancelled.
    """
    key = (id(cache), name)
    while True:
        begun = cache._begin(name, ttl)
        if isinstance(begun, bytes):
            return cache._show(begun)
        if isinstance(begun, _Computation):
            task = asyncio.ensure_future(_compute(cache, begun, compute))
            _computing[key] = task
            _leads[task] = begun
            task.add_done_callback(lambda done: _end(key, done))
            return cache._show(await _await(task, partial(asyncio.shield, task)))
        stored = await _await(_computing.get(key), partial(_landed, begun, key))
        if stored is not None:
            return cache._show(stored)


async def _await(task: asyncio.Task[Any] | None, wait: Callable[[], Awaitable[T]]) -> T:
    """Awaits what a task makes, unless that waits for this one. No task is known of what other threads compute."""
    own = _own.get()
    if own is None or own.done() or task is None:
        return await wait()
    if _leads_to(task, own):
        raise CircleError(CIRCLE)
    others, awaited = _awaited.setdefault(own, []), ref(task)
    others.append(awaited)
    # A task that waits does not keep it alive.
    del task
    try:
        return await wait()
    finally:
        others.remove(awaited)
        if not others:
            _awaited.pop(own, None)


def _leads_to(task: asyncio.Task[Any], own: asyncio.Task[Any]) -> bool:
    """Whether a task waits for another, itself or by others. Each is visited once: many ways may lead to it."""
    seen, rest = set[asyncio.Task[Any]](), [task]
    while rest:
        one = rest.pop()
        if one is own:
            return True
        if one not in seen:
            seen.add(one)
            rest.extend(filter(None, (awaited() for awaited in _awaited.get(one, ()))))
    return False


def give_up_closed(key: tuple[int, bytes]) -> None:
    """Ends a computation whose loop was closed: it cannot go on, and one of those that wait computes."""
    task = _computing.get(key)
    if task is not None and not task.done() and task.get_loop().is_closed():
        _leads[task].fail(asyncio.CancelledError())


def _is_elsewhere(key: tuple[int, bytes], loop: asyncio.AbstractEventLoop) -> bool:
    """Whether another loop computes it."""
    task = _computing.get(key)
    return task is not None and task.get_loop() is not loop


async def _landed(waiter: _Waiter, key: tuple[int, bytes]) -> bytes | None:
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    waiter.then(lambda: loop.call_soon_threadsafe(end))
    while _is_elsewhere(key, loop) and not ended.done():
        give_up_closed(key)
        await asyncio.wait([ended], timeout=_OFTEN)
    await ended
    return waiter.outcome()


async def _compute(
    cache: Cache[Any, V], computation: _Computation, compute: Callable[[], Awaitable[V]]
) -> bytes:
    # The tasks that the function makes, as `asyncio.gather` does, inherit it.
    _own.set(asyncio.current_task())
    try:
        # An eager task begins before anybody knows of it.
        await asyncio.sleep(0)
        value = await compute()
    except BaseException as error:
        computation.fail(error)
        raise
    return computation.end(cache, value)


def _end(key: tuple[int, bytes], task: asyncio.Task[bytes]) -> None:
    # Another one may have its place, as the key was deleted.
    if _computing.get(key) is task:
        del _computing[key]
    # Whether or not anybody still waits for it, the error was seen.
    if not task.cancelled():
        task.exception()
