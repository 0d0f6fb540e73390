"""The same for asyncio: what speaks to the servers is awaited.

>>> import twindex.aio
>>> async def main() -> None:
...     async with await twindex.aio.connect("redis://localhost:7000") as store:
...         users = await store.table("users")
...         await users.insert("ada", "1815")
...         async for key, value in users:
...             print(key, value)
"""

from ._verbs import Batch as _Batch
from ._verbs import Cursor, Verbs, connecting, only, opening, text

__all__ = ["Batch", "Cursor", "Store", "Table", "connect"]


async def connect(
    url,
    *,
    namespace="tw",
    near_cache=0,
    longest_life=60,
    timeout=2,
    connect_timeout=1,
    patience=15,
    catalogue_age=1,
    partitions=16,
    replicas=0,
    tls_authority=None,
    tls_identity=None,
):
    """Connect to the servers that a URL names: see `twindex_cluster.connect`."""
    return await connecting(
        url, {name: value for name, value in locals().items() if name != "url"}, True, Store
    )


class Batch(_Batch):
    """Writes that are done all or not at all, in one slot. `commit` is awaited."""

    __slots__ = ()

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, *_):
        if kind is None:
            await self.commit()


class Store:
    """A store in a cluster."""

    __slots__ = ("_native",)

    def __init__(self, native):
        self._native = native

    async def table(self, name, index="hash", *, keys=None, values=None, create=True):
        """Open the table of this name, or create it: see `twindex.Store.table`."""
        return await opening(
            self._native, name, index, keys, values, create, lambda table: Table(table, keys, values)
        )

    async def tables(self):
        """The name and index of every table, by name."""
        return await self._native.tables(None)

    async def drop_table(self, name):
        """Remove a table and its pairs; whether it was there."""
        return await self._native.drop_table(text("the name", name))

    def batch(self):
        """A batch of writes, to be filled and committed, which an `async with` block does at its end."""
        return Batch(self._native.batch())

    @property
    def near_stats(self):
        """The figures of the near cache, or None."""
        return self._native.near_stats()

    def close(self):
        """Close the connections: every use of the store and its tables fails from then on."""
        self._native.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()


class Table(Verbs):
    """A table in a cluster."""

    __slots__ = ()

    async def alter(self, key, change, /, default=None):
        """Change one pair: `change` gets the value, or the default, and returns the new one, DELETE or KEEP.

        It is called again where another client writes the pair in between. Whether a pair was written or removed.
        """
        raw = self._coder.key(key)
        while True:
            old = await self._native.select(raw, None)
            swap = self._swap(raw, old, change(default if old is None else self._coder.to_value(old)))
            if swap is None:
                return False
            if await self._native.compare_and_swap_many([swap], only):
                return True

    def len(self):
        """How many pairs there are. A hash table walks over all keys of all servers for it."""
        return self._native.len()

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
