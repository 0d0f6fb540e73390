"""For asyncio: a cache's `get_or_compute`, transactions, and tables in a Valkey or Redis Cluster by the package `twindex-cluster`.

>>> import twindex.aio
>>> async def main() -> None:
...     async with await twindex.aio.connect("redis://localhost:7000") as store:
...         users = await store.table("users")
...         await users.insert("ada", "1815")
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from . import _tasks, _transactions
from ._connect import cluster
from .errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from ._twindex import Cache, Store, Transaction

__all__ = ["connect", "get_or_compute", "transaction"]

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
_ABSENT: Any = object()


async def get_or_compute(
    cache: Cache[K, V],
    key: K,
    compute: Callable[[], Awaitable[V]],
    /,
    *,
    ttl: float | timedelta | None = None,
) -> V:
    """The key's value, or else the one that the coroutine function `compute` returns, which is written to the cache.

    Of all tasks and threads that ask for the same key, one computes, and the others wait for it: see `Cache.get_or_compute`.
    It runs in a task of its own, and goes on when a task that waits for it is cancelled.

    >>> import asyncio, twindex, twindex.aio
    >>> async def main(cache):
    ...     async def read():
    ...         return "read from the network"
    ...     return await twindex.aio.get_or_compute(cache, "/", read, ttl=60)
    >>> asyncio.run(main(twindex.Cache(max_entries=100)))
    'read from the network'
    """
    found: V = cache.get(key, _ABSENT)
    if found is not _ABSENT:
        return found
    return await _tasks.get_or_compute(cache, cache._name(key), compute, ttl)


async def transaction(store: Store, function: Callable[[Transaction], Awaitable[T]], /) -> T:
    """`Store.transaction` with a coroutine function: it is called again after a conflict.

    Nothing is locked while it runs: other tasks and threads go on, and write. With durability "always" the commit waits in
    another thread. A commit that has begun is awaited to its end: a task that is cancelled meanwhile raises `CancelledError`
    only if nothing was written. Else it returns the value, and its next `await` that waits raises the error.

    >>> import asyncio, twindex, twindex.aio
    >>> store = twindex.Store()
    >>> accounts = store.table("accounts", values="int")
    >>> async def pay(tx):
    ...     await asyncio.sleep(0)
    ...     return tx.table(accounts).increment("ada", 30)
    >>> asyncio.run(twindex.aio.transaction(store, pay))
    30
    """
    for _ in range(_transactions.RUNS):
        running = store.transaction()
        try:
            with running:
                value = await function(running)
                if store.durability == "always" and not running.closed:
                    await _commit(running)
                return value
        except Exception:
            if not running._has_conflict:
                raise
        await asyncio.sleep(0)
    raise ConflictError(_transactions.CONFLICT)


async def _commit(running: Transaction) -> None:
    """Commits in another thread, and leaves it only once that is done."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    # A cancel that waits from another commit is raised here, where nothing was written.
    await asyncio.sleep(0)
    # Not by a task: a loop that ends would cancel it.
    commit = loop.run_in_executor(None, running.commit)
    cancel: asyncio.CancelledError | None = None
    while not commit.done():
        try:
            await asyncio.wait([commit])
        except asyncio.CancelledError as error:
            cancel = error
    if cancel is not None and task is not None:
        if isinstance(commit.exception(), ConflictError):
            raise cancel
        loop.call_soon(_cancel_again, task, task.cancelling(), cancel)
    commit.result()


def _cancel_again(task: asyncio.Task[Any], cancels: int, cancel: asyncio.CancelledError) -> None:
    """Cancels a task once more, unless what did so has called it back, as `asyncio.timeout` does at its end."""
    if not task.done() and task.cancelling() >= cancels:
        task.uncancel()
        task.cancel(*cancel.args)


async def connect(url: str, **options: Any) -> Any:
    """Connect to the servers that a URL names: see `twindex_cluster.connect` for the options."""
    return await import_module(f"{cluster().__name__}.aio").connect(url, **options)
