"""For asyncio: a cache's `get_or_compute`, and tables in a Valkey or Redis Cluster by the package `twindex-cluster`.

>>> import twindex.aio
>>> async def main() -> None:
...     async with await twindex.aio.connect("redis://localhost:7000") as store:
...         users = await store.table("users")
...         await users.insert("ada", "1815")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from . import _tasks
from ._connect import cluster

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from ._twindex import Cache

__all__ = ["connect", "get_or_compute"]

K = TypeVar("K")
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


async def connect(url: str, **options: Any) -> Any:
    """Connect to the servers that a URL names: see `twindex_cluster.connect` for the options."""
    return await import_module(f"{cluster().__name__}.aio").connect(url, **options)
