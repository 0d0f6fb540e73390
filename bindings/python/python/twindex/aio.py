"""For asyncio: stores in files, the feed, transactions, a cache's `get_or_compute`, and tables in a Valkey or Redis Cluster.

You await the calls that may wait for a disk or another process. They run in threads of the loop's default executor. A cancelled task
ends at once; work that has begun goes on.

>>> import asyncio, tempfile, twindex.aio
>>> async def main(folder):
...     async with await twindex.aio.open(folder + "/app.twx") as store:
...         users = await store.table("users", values="int")
...         changes = store.changes()
...         users["ada"] = 1815
...         await store.flush()
...         async for batch in changes:
...             return [(change.key, change.value) for change in batch.changes]
>>> with tempfile.TemporaryDirectory() as folder:
...     asyncio.run(main(folder))
[('ada', 1815)]
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
from collections import deque
from importlib import import_module
from time import monotonic
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _tasks, _transactions, _twindex
from ._connect import cluster
from .errors import ArgumentTypeError, ConflictError, OptionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from datetime import timedelta
    from os import PathLike
    from types import TracebackType
    from typing import Self, TypeAlias

    from ._codecs import Codec
    from ._feed import ChangeSet
    from ._reports import Progress
    from ._twindex import Cache, ExpiringTable, Table, Transaction

    _Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
    _Told: TypeAlias = Callable[[Progress], object]

__all__ = ["Changes", "Store", "changes", "connect", "get_or_compute", "open", "transaction"]

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
_ABSENT: Any = object()

# How long a feed that waits pauses between two looks, in seconds: at first, and at last.
_PAUSES = 0.001, 0.032
# So many batches are read at a time.
_AHEAD = 64


class Store:
    """A store for asyncio: `open` makes one, `Store(store)` wraps a `twindex.Store`.

    Other members, such as `stats` and `snapshot`, work as in the plain store, which is `store.store`. Its tables are plain
    tables. With durability "always" a write waits for the disk: use `await asyncio.to_thread(users.upsert, "ada", "1815")`, or
    write in a `transaction`.

    `async with` closes it at the end of its block.
    """

    __slots__ = {"__weakref__": None, "store": "The `twindex.Store`."}

    def __init__(self, store: _twindex.Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "store"), name)

    def __repr__(self) -> str:
        return f"<twindex.aio.Store of {self.store!r}>"

    @overload
    async def table(
        self, name: str, index: Literal["hash", "sorted"] | None = None, *, create: bool = True
    ) -> Table[str, str]: ...
    @overload
    async def table(
        self,
        name: str,
        index: Literal["hash", "sorted"] | None = None,
        *,
        keys: str | Codec[Any] | None = None,
        values: str | Codec[Any] | None = None,
        create: bool = True,
    ) -> Table[Any, Any]: ...
    @overload
    async def table(
        self,
        name: str,
        index: Literal["hash", "sorted"] | None = None,
        *,
        keys: str | Codec[Any] | None = None,
        values: str | Codec[Any] | None = None,
        create: bool = True,
        expires: Literal[True],
    ) -> ExpiringTable[Any, Any]: ...
    async def table(self, *arguments: Any, **options: Any) -> Table[Any, Any] | ExpiringTable[Any, Any]:
        """Opens the table of this name, or creates it: see `twindex.Store.table`."""
        return await asyncio.to_thread(self.store.table, *arguments, **options)

    async def drop_table(self, name: str) -> bool:
        """Removes a table and its pairs. Returns whether there was one."""
        return await asyncio.to_thread(self.store.drop_table, name)

    async def dump(self) -> bytes:
        """The whole store as bytes, which `twindex.Store.load` reads."""
        return await asyncio.to_thread(self.store.dump)

    async def save(self, path: _Path | None = None) -> None:
        """Writes the whole store to a file: see `twindex.Store.save`."""
        await asyncio.to_thread(self.store.save, path)

    async def flush(self) -> None:
        """Returns when every earlier change is on disk."""
        await asyncio.to_thread(self.store.flush)

    async def compact(self, *, progress: _Told | None = None) -> None:
        """Rewrites the store's file: see `twindex.Store.compact`. `progress` is called in another thread."""
        await asyncio.to_thread(self.store.compact, progress=progress)

    async def refresh(self) -> int:
        """Reads the changes that another process has written since. Returns the number of batches."""
        return await asyncio.to_thread(self.store.refresh)

    async def follow(self) -> None:
        """Keeps up with the file's writer: see `twindex.Store.follow`."""
        await asyncio.to_thread(self.store.follow)

    async def transaction(self, function: Callable[[Transaction], Awaitable[T]], /) -> T:
        """The same as `twindex.aio.transaction` of this store."""
        return await transaction(self.store, function)

    def changes(
        self,
        position: str | None = None,
        *,
        tables: Iterable[Table[Any, Any]] | None = None,
        raw: bool = False,
    ) -> Changes:
        """The changes after a position, by default from now on, for `async for`.

        The first read opens the file, and raises the errors of `twindex.Store.changes`.
        """
        begin = self.store.position if position is None else position
        return Changes(lambda: self.store.changes(begin, tables=tables, raw=raw), begin)

    async def close(self) -> None:
        """Closes the store and its file. If the task is cancelled meanwhile, it raises the error once the store is closed."""
        closing = asyncio.get_running_loop().run_in_executor(None, self.store.close)
        cancel = await _end(closing)
        closing.result()
        if cancel is not None:
            raise cancel

    async def __aenter__(self) -> Self:
        self.store.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        await self.close()


async def open(  # noqa: A001
    path: _Path,
    *,
    durability: Literal["none", "everysec", "always"] = "everysec",
    read_only: bool = False,
    existing: bool = False,
    memory_limit: int | None = None,
    progress: _Told | None = None,
) -> Store:
    """Opens the store in a file, or creates it: see `twindex.open`. `progress` is called in another thread.

    If the task is cancelled meanwhile, the file is closed again once it is open.
    """
    options: dict[str, Any] = {"durability": durability, "read_only": read_only, "existing": existing}
    options |= {"memory_limit": memory_limit, "progress": progress}
    return Store(await asyncio.to_thread(_twindex.open, path, **options))


class Changes:
    """The feed of a store, for `async for`. `Store.changes` and `changes` make one.

    It returns a `ChangeSet` for each batch of changes. A task that is cancelled while it waits loses nothing: the batch comes next.
    Tasks may share a feed: each batch comes once.
    """

    def __init__(self, begin: Callable[[], _twindex.Changes], position: str | None) -> None:
        self.position = position
        """The position after the last batch that you got, to continue from. None before the first batch of a file."""
        self._begin = begin
        self._changes: _twindex.Changes | None = None
        self._ahead: deque[ChangeSet] = deque()
        self._reading: asyncio.Future[None] | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._is_closed = False

    def _read(self) -> None:
        """Reads the next batches that are there, in another thread. A loop that was closed may have left a read behind."""
        with self._lock:
            if self._changes is None:
                self._changes = self._begin()
                if self._is_closed:
                    self._changes.close()
            for number in range(_AHEAD):
                try:
                    batch = self._changes.poll()
                except Exception:
                    # It is met again once those before it were given.
                    if number == 0:
                        raise
                    break
                if batch is None:
                    break
                self._ahead.append(batch)

    async def poll(self) -> ChangeSet | None:
        """The next batch, or None if there is none yet."""
        if not self._ahead and not self._is_closed:
            if self._process != os.getpid():
                # The parent's thread that held it, and read, is not in this process.
                self._process, self._lock, self._reading = os.getpid(), threading.Lock(), None
            loop, reading = asyncio.get_running_loop(), self._reading
            if reading is None or reading.done() or reading.get_loop() is not loop:
                self._reading = reading = loop.run_in_executor(None, self._read)
                # Nobody may be left to see its error.
                reading.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait([reading])
            reading.result()
        if self._is_closed or not self._ahead:
            return None
        batch = self._ahead.popleft()
        self.position = batch.position
        return batch

    async def wait(self, timeout: float | None = None) -> ChangeSet | None:
        """Waits for the next batch, up to `timeout` seconds; then None."""
        if not isinstance(timeout, (int, float, NoneType)):
            kind = type(timeout).__name__
            raise ArgumentTypeError(f"timeout must be a number of seconds or None, not {kind}: {timeout!r}")
        if timeout is not None and not 0 <= timeout < math.inf:
            raise OptionError(f"timeout is out of range: {timeout}")
        end, pause = math.inf if timeout is None else monotonic() + timeout, _PAUSES[0]
        while not self._is_closed:
            batch = await self.poll()
            left = end - monotonic()
            if batch is not None or left <= 0:
                return batch
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _PAUSES[1])
        return None

    async def close(self) -> None:
        """Ends the iteration, also for a waiting task, and closes the file."""
        self._is_closed = True
        self._ahead.clear()
        if self._changes is not None:
            await asyncio.to_thread(self._changes.close)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChangeSet:
        batch = await self.wait()
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


def changes(
    path: _Path,
    position: str | None = None,
    *,
    tables: Iterable[Table[Any, Any]] | None = None,
    raw: bool = False,
) -> Changes:
    """The changes of a store's file, without loading the store, for `async for`: see `twindex.changes`.

    The first read opens the file.
    """
    return Changes(lambda: _twindex.changes(path, position, tables=tables, raw=raw), position)


async def get_or_compute(
    cache: Cache[K, V],
    key: K,
    compute: Callable[[], Awaitable[V]],
    /,
    *,
    ttl: float | timedelta | None = None,
) -> V:
    """The key's value. If it is absent, calls the coroutine function `compute` and caches its result.

    If several tasks and threads miss the same key, one computes, and the others wait for it: see `Cache.get_or_compute`. It runs in
    its own task, and goes on when a task that waits for it is cancelled.

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


async def transaction(store: _twindex.Store | Store, function: Callable[[Transaction], Awaitable[T]], /) -> T:
    """`Store.transaction` with a coroutine function: it is called again after a conflict.

    Nothing is locked while it runs: other tasks and threads go on, and write. With durability "always" the commit waits in another
    thread. If the task is cancelled while the commit waits, it raises `CancelledError` only if nothing was written. Else it returns
    the value, and its next `await` that waits raises the error.

    >>> import asyncio, twindex, twindex.aio
    >>> store = twindex.Store()
    >>> accounts = store.table("accounts", values="int")
    >>> async def pay(tx):
    ...     await asyncio.sleep(0)
    ...     return tx.table(accounts).increment("ada", 30)
    >>> asyncio.run(twindex.aio.transaction(store, pay))
    30
    """
    if isinstance(store, Store):
        store = store.store
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
    cancel = await _end(commit)
    if cancel is not None and task is not None:
        if isinstance(commit.exception(), ConflictError):
            raise cancel
        loop.call_soon(_cancel_again, task, task.cancelling(), cancel)
    commit.result()


async def _end(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Waits for work to its end: the error of a cancel in between."""
    cancel: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancel = error
    return cancel


def _cancel_again(task: asyncio.Task[Any], cancels: int, cancel: asyncio.CancelledError) -> None:
    """Cancels a task once more, unless what did so has called it back, as `asyncio.timeout` does at its end."""
    if not task.done() and task.cancelling() >= cancels:
        task.uncancel()
        task.cancel(*cancel.args)


async def connect(url: str, **options: Any) -> Any:
    """Connect to the servers that a URL names: see `twindex_cluster.connect` for the options."""
    return await import_module(f"{cluster().__name__}.aio").connect(url, **options)
