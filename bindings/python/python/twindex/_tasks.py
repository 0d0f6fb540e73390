"""Computations of a cache by coroutine functions."""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ._twindex import _Computation
from .errors import CircleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from ._twindex import Cache, _Waiter

T = TypeVar("T")
V = TypeVar("V")

CIRCLE = "a computation waits for itself: it asks for a value that is computed from its own"

# The computation that a task belongs to, which computes what, and what the tasks of each computation wait for.
_own: ContextVar[asyncio.Task[Any] | None] = ContextVar("_own", default=None)
_computing: dict[tuple[int, bytes], asyncio.Task[Any]] = {}
_awaited: dict[asyncio.Task[Any], list[asyncio.Task[Any]]] = {}
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
            task.add_done_callback(lambda done: _end(key, done))
            return cache._show(await _await(task, partial(asyncio.shield, task)))
        stored = await _await(_computing.get(key), partial(_landed, begun))
        if stored is not None:
            return cache._show(stored)


async def _await(task: asyncio.Task[Any] | None, wait: Callable[[], Awaitable[T]]) -> T:
    """Awaits what a task makes, unless that waits for this one. No task is known of what other threads compute."""
    own = _own.get()
    if own is None or own.done() or task is None:
        return await wait()
    if _leads_to(task, own):
        raise CircleError(CIRCLE)
    others = _awaited.setdefault(own, [])
    others.append(task)
    try:
        return await wait()
    finally:
        others.remove(task)
        if not others:
            _awaited.pop(own, None)


def _leads_to(task: asyncio.Task[Any], own: asyncio.Task[Any]) -> bool:
    """Whether a task waits for another, itself or by others."""
    return task is own or any(_leads_to(awaited, own) for awaited in _awaited.get(task, ()))


async def _landed(waiter: _Waiter) -> bytes | None:
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    waiter.then(lambda: loop.call_soon_threadsafe(end))
    await ended
    return waiter.outcome()


async def _compute(
    cache: Cache[Any, V], computation: _Computation, compute: Callable[[], Awaitable[V]]
) -> bytes:
    # The tasks that the function makes, as `asyncio.gather` does, inherit it.
    _own.set(asyncio.current_task())
    try:
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
