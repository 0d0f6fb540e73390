"""Twindex's tables in a Valkey or Redis Cluster, or in one server.

>>> import twindex
>>> store = twindex.connect("redis://localhost:7000")  # doctest: +SKIP
>>> users = store.table("users")  # doctest: +SKIP
>>> users.insert("ada", "1815")  # doctest: +SKIP
True

Calls wait for the servers with the interpreter's lock released. `twindex.aio.connect` is the same for asyncio.
"""

from collections.abc import MutableMapping

from twindex.errors import ArgumentTypeError

from ._native import __version__
from ._verbs import Batch as _Batch
from ._verbs import Cursor, Verbs, connecting, only, opening, text
from .errors import (
    CrossSlotError,
    NotReplicatedError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
    UrlError,
)

__all__ = [
    "Batch",
    "CrossSlotError",
    "Cursor",
    "NotReplicatedError",
    "RefusedError",
    "Store",
    "Table",
    "UnavailableError",
    "UnknownOutcomeError",
    "UrlError",
    "__version__",
    "connect",
]


def connect(
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
    """Connect to the servers that a URL names, such as "redis://host:7000,other:7000"; "rediss://" is TLS.

    Times are in seconds. `near_cache` keeps so many bytes of pairs in this process, each for `longest_life` at most. `timeout` is how long a server may take for a command, `patience` for how long a command is
    tried that no server has taken yet. A write waits until so many `replicas` have it. `tls_authority` and the certificate and key of `tls_identity` are PEM.
    """
    return connecting(url, {name: value for name, value in locals().items() if name != "url"}, False, Store)


class Batch(_Batch):
    """Writes that are done all or not at all, in one slot: see `twindex_cluster.Store.batch`."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.commit()


class Store:
    """A store in a cluster, shared by all threads."""

    __slots__ = ("_native",)

    def __init__(self, native):
        self._native = native

    def table(self, name, index="hash", *, keys=None, values=None, create=True):
        """Open the table of this name, or create it: see `twindex.Store.table`."""
        return opening(
            self._native, name, index, keys, values, create, lambda table: Table(table, keys, values)
        )

    def tables(self):
        """The name and index of every table, by name."""
        return self._native.tables(None)

    def drop_table(self, name):
        """Remove a table and its pairs; whether it was there."""
        return self._native.drop_table(text("the name", name))

    def batch(self):
        """A batch of writes, to be filled and committed, which a `with` block does at its end."""
        return Batch(self._native.batch())

    @property
    def near_stats(self):
        """The figures of the near cache, or None."""
        return self._native.near_stats()

    def close(self):
        """Close the connections: every use of the store and its tables fails from then on."""
        self._native.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Table(Verbs, MutableMapping):
    """A table in a cluster. It is also a `MutableMapping`."""

    __slots__ = ()
    clear = Verbs.clear

    def alter(self, key, change, /, default=None):
        """Change one pair: `change` gets the value, or the default, and returns the new one, DELETE or KEEP.

        It is called again where another client writes the pair in between. Whether a pair was written or removed.
        """
        raw = self._coder.key(key)
        while True:
            old = self._native.select(raw, None)
            swap = self._swap(raw, old, change(default if old is None else self._coder.to_value(old)))
            if swap is None:
                return False
            if self._native.compare_and_swap_many([swap], only):
                return True

    def scan(self, *, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=False, limit=None):
        """Iterate over the pairs of a range or a prefix of a sorted table, either way."""
        return self._all(self._scan(gt, gte, lt, lte, prefix, reverse, limit), limit)

    def _all(self, source, limit=None):
        count = self._count(limit)
        while pairs := source.next_many(count, self._decoded):
            yield from pairs

    # --- a mapping

    def __getitem__(self, key):
        missing = object()
        value = self.get(key, missing)
        if value is missing:
            raise KeyError(key)
        return value

    def get(self, key, default=None):
        """The key's value, or the default."""
        raw = self._native.select(self._coder.sought(key), None)
        return default if raw is None else self._coder.to_value(raw)

    def __setitem__(self, key, value):
        self.upsert(key, value)

    def __delitem__(self, key):
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key):
        return self.contains(key)

    def __len__(self):
        return self._native.len()

    def __iter__(self):
        return (key for key, _ in self._all(self._native.walk()))

    def items(self):
        """Iterate over all pairs."""
        return self._all(self._native.walk())

    def values(self):
        """Iterate over all values."""
        return (value for _, value in self.items())

    def update(self, pairs=(), /, **keywords):
        """Write the pairs of a mapping or an iterable, and of the keywords."""
        written = [*(pairs.items() if hasattr(pairs, "items") else pairs), *keywords.items()]
        self.upsert_many(written)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __bool__(self):
        msg = "whether a table in a cluster is empty is a question to its servers: use len(table) == 0"
        raise ArgumentTypeError(msg)
