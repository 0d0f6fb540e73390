"""The same tables for asyncio: every call that needs the servers is a coroutine.

>>> import twindex.aio
>>> async def main():
...     async with await twindex.aio.connect("redis://localhost:7000") as store:
...         users = await store.table("users")
...         await users.insert("ada", "1815")
"""

from asyncio import CancelledError
from functools import wraps

from ._verbs import Batch as _Batch
from ._verbs import Cursor as _Cursor
from ._verbs import Stores, Verbs, connecting, only

__all__ = ["Batch", "Cursor", "Store", "Table", "connect"]


async def connect(url, **options):
    """Connect to the servers that a URL names: see `twindex_cluster.connect`."""
    return await connecting(url, options, True, Store)


def awaited(*names):
    """Make coroutines of the verbs with these names, or of all that are not private."""

    def decorate(kind):
        base = kind.__base__
        waits_not = {"batch", "close", "cursor", "prefix", "snapshot", "transaction"}
        for name in names or [name for name in vars(base) if not name.startswith("_")]:
            verb = getattr(base, name)
            if callable(verb) and name not in waits_not:
                setattr(kind, name, coroutine(verb))
        return kind

    return decorate


def coroutine(verb):
    """A coroutine function that does what an awaitable of the native half does."""

    @wraps(verb)
    async def call(self, /, *args, **kwargs):
        try:
            return await verb(self, *args, **kwargs)
        except CancelledError:
            if isinstance(self, _Cursor):
                # The next call returns the pairs that this one does not.
                self._native.cancelled()
            raise

    return call


@awaited()
class Cursor(_Cursor):
    """A position in a sorted table."""

    __slots__ = ()


@awaited("commit")
class Batch(_Batch):
    """Writes in one slot that are all done or none. You await `commit`."""

    __slots__ = ()

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, *_):
        if kind is None:
            await self.commit()


@awaited()
class Table(Verbs):
    """A table in a cluster."""

    __slots__ = ()
    _cursor = Cursor

    async def alter(self, key, change, /, default=None):
        """Change one pair: `change` gets the value, or the default, and returns the new one, DELETE or KEEP.

        If another client writes the pair meanwhile, it is called again. Returns whether a pair was written or removed.
        """
        raw = self._coder.key(key)
        while True:
            old = await self._native.select(raw, None)
            swap = self._swap(raw, old, change(default if old is None else self._coder.to_value(old)))
            if swap is None:
                return False
            if await self._native.compare_and_swap_many([swap], only):
                return True

    async def len(self):
        """The number of pairs. For a hash table it walks over all keys of all servers."""
        return await self._native.len()

    def scan(self, *, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=False, limit=None):
        """Iterate over the pairs of a range or a prefix of a sorted table, either way."""
        return self._all(self._scan(gt, gte, lt, lte, prefix, reverse, limit), limit)

    async def _all(self, source, limit=None):
        count = self._count(limit)
        while pairs := await source.next_many(count, self._decoded):
            for pair in pairs:
                yield pair

    def __aiter__(self):
        return self._all(self._native.walk())


@awaited()
class Store(Stores):
    """A store in a cluster."""

    __slots__ = ()
    _table = Table
    _batch = Batch

    async def __aenter__(self):
        return self

    async def close(self):
        """Close the connections. Every later use of the store and its tables fails."""
        Stores.close(self)

    async def __aexit__(self, *_):
        await self.close()
