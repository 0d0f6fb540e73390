"""Twindex's tables in a Valkey or Redis Cluster, or in one server.

>>> import twindex
>>> store = twindex.connect("redis://localhost:7000")  # doctest: +SKIP
>>> users = store.table("users")  # doctest: +SKIP
>>> users.insert("ada", "1815")  # doctest: +SKIP
True

Calls wait for the servers with the interpreter's lock released. `twindex.aio.connect` is the same for asyncio.
"""

from collections.abc import MutableMapping

from twindex._views import ItemsView, KeysView, ValuesView
from twindex.errors import ArgumentTypeError

from ._native import __version__
from ._verbs import Batch as _Batch
from ._verbs import Cursor, Stores, Verbs, connecting, only
from .errors import (
    BugError,
    CrossSlotError,
    NotReplicatedError,
    PartlyDoneError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
    UrlError,
)

__all__ = [
    "Batch",
    "BugError",
    "CrossSlotError",
    "Cursor",
    "NotReplicatedError",
    "PartlyDoneError",
    "RefusedError",
    "Store",
    "Table",
    "UnavailableError",
    "UnknownOutcomeError",
    "UrlError",
    "__version__",
    "connect",
]


def connect(url, **options):
    """Connect to the servers that a URL names, such as "redis://host:7000,other:7000"; "rediss://" is TLS.

    Options, times in seconds:

    - `namespace="tw"`: the start of every key in the servers.
    - `near_cache=0`: the bytes of pairs to cache in this process, each for `longest_life=60` at most.
    - `timeout=2`: how long a server may take for a command; `connect_timeout=1` for a connection.
    - `patience=15`: how long a command that no server has accepted is retried.
    - `replicas=0`: how many replicas must have a write before it returns.
    - `partitions=16`: the partitions of a new sorted table.
    - `catalogue_age=1`: how soon this client notices a table that another client dropped.
    - `addresses={}`: other addresses than the servers announce, such as `{"172.17.0.2:6379": "localhost:7000"}`; a host without a port
      stands for all its ports.
    - `tls_authority`, and `tls_identity`, a certificate and its key: PEM.
    """
    return connecting(url, options, False, Store)


class Batch(_Batch):
    """Writes in one slot that are all done or none: see `twindex_cluster.Store.batch`."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.commit()


class Table(Verbs, MutableMapping):
    """A table in a cluster. It is also a `MutableMapping`."""

    __slots__ = ()
    _cursor = Cursor
    clear = Verbs.clear

    def alter(self, key, change, /, default=None):
        """Change one pair: `change` gets the value, or the default, and returns the new one, DELETE or KEEP.

        If another client writes the pair meanwhile, it is called again. Returns whether a pair was written or removed.
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

    def pop(self, key, /, *default):
        """Remove the pair. Returns its value, or the default if the key is absent. Only one caller gets the value."""
        if len(default) > 1:
            msg = f"pop() takes a key and one default, not {len(default)}"
            raise TypeError(msg)
        raw = self._coder.sought(key)
        while (old := self._native.select(raw, None)) is not None:
            value = self._coder.to_value(old)
            if self._native.compare_and_swap_many([(raw, old, None)], only):
                return value
        if default:
            return default[0]
        raise KeyError(key)

    def popitem(self):
        """Remove any pair and return it. Only one caller gets it."""
        missing = object()
        for key in self:
            if (value := self.pop(key, missing)) is not missing:
                return key, value
        msg = f"table {self.name!r} is empty"
        raise KeyError(msg)

    def setdefault(self, key, default=None, /):
        """The key's value. Inserts the default first if the key is absent."""
        missing = object()
        while (value := self.get(key, missing)) is missing:
            if self.insert(key, default):
                return default
        return value

    def __contains__(self, key):
        return self.contains(key)

    def __len__(self):
        return self._native.len()

    def __iter__(self):
        return (key for key, _ in self._iterate_items())

    def __reversed__(self):
        return (key for key, _ in self._iterate_items(reverse=True))

    def keys(self):
        """A view of the keys."""
        return KeysView(self)

    def values(self):
        """A view of the values."""
        return ValuesView(self)

    def items(self):
        """A view of the pairs."""
        return ItemsView(self)

    def _iterate_items(self, reverse=False):
        return self.scan(reverse=True) if reverse else self._all(self._native.walk())

    def _iterate_values(self, reverse=False):
        return (value for _, value in self._iterate_items(reverse))

    def update(self, pairs=(), /, **keywords):
        """Write the pairs of a mapping or an iterable, and the keywords."""
        written = [*(pairs.items() if hasattr(pairs, "items") else pairs), *keywords.items()]
        self.upsert_many(written)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __bool__(self):
        msg = "a table in a cluster has no truth value, since its servers would have to count: use len(table) == 0"
        raise ArgumentTypeError(msg)


class Store(Stores):
    """A store in a cluster, shared by all threads."""

    __slots__ = ()
    _table = Table
    _batch = Batch

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
