"""The members that the classes for threads and for asyncio share.

Each verb returns the result of the native half, for asyncio an awaitable. The native half calls a function that decodes the
servers' answers.
"""

from datetime import timedelta
from math import inf

from twindex import DELETE, KEEP
from twindex._renamed import OF_TABLES
from twindex._twindex import _Coder
from twindex.errors import ArgumentTypeError, NotSupportedError, OptionError, TtlError

from . import _native

PAIRS = 1000
# The times are in seconds.
OPTIONS = {
    "namespace": "tw",
    "near_cache": 0,
    "longest_life": 60,
    "timeout": 2,
    "connect_timeout": 1,
    "patience": 15,
    "catalogue_age": 1,
    "partitions": 16,
    "replicas": 0,
    "addresses": {},
    "tls_authority": None,
    "tls_identity": None,
}
TIMES = ("longest_life", "timeout", "connect_timeout", "patience", "catalogue_age")
COUNTS = {"near_cache": (0, 2**63 - 1), "partitions": (1, 1024), "replicas": (0, 1000)}


class Connected:
    """The base of all classes that need the servers."""

    __slots__ = ("__weakref__",)

    def __reduce__(self):
        msg = f"cannot pickle or copy {self!r}: connect in each process, and open its tables there"
        raise TypeError(msg)


class Stores(Connected):
    """The members of both kinds of stores."""

    __slots__ = ("_native",)

    def __init__(self, native):
        self._native = native

    def table(self, name, index=None, *, keys=None, values=None, create=True):
        """Open the table of this name, or create it: see `twindex.Store.table`."""
        checked("the name", name, str)
        if index is not None:
            checked("the index", index, str)
        codecs = [getattr(codec, "name", codec) for codec in (keys, values)]
        for what, codec in zip(("keys", "values"), codecs, strict=True):
            if codec is not None:
                checked(what, codec, str)
        create = _Coder.flag("create", create)
        return self._native.table(
            name, index, *codecs, create, lambda native: self._table(native, keys, values)
        )

    def tables(self):
        """The name and index of every table, by name."""
        return self._native.tables(None)

    def drop_table(self, name):
        """Remove a table and its pairs. Returns whether there was one."""
        return self._native.drop_table(checked("the name", name, str))

    def batch(self):
        """A batch of writes: fill it, then commit it. A `with` block commits it at its end."""
        return self._batch(self._native.batch())

    def snapshot(self):
        """Clusters have none: raises `NotSupportedError`."""
        raise NotSupportedError(f"a store in a cluster has no snapshots: {self!r}")

    def transaction(self, _function=None, /):
        """Clusters have none: raises `NotSupportedError`. Use a batch that expects values."""
        raise NotSupportedError(
            f"a store in a cluster has no transactions, but batches can expect values: {self!r}"
        )

    @property
    def near_stats(self):
        """Statistics of the near cache, or None."""
        return self._native.near_stats()

    def close(self):
        """Close the connections. Every later use of the store and its tables fails."""
        self._native.close()

    def __repr__(self):
        return f"<{type(self).__module__}.Store at {', '.join(self._native.servers)}>"


class Verbs(Connected):
    """The members of both kinds of tables."""

    __slots__ = ("_coder", "_native")

    def __init__(self, native, keys, values):
        self._native = native
        self._coder = _Coder(native.name, native.codecs, keys, values)

    def __getattr__(self, name):
        now = f": use {OF_TABLES[name]}" if name in OF_TABLES else ""
        msg = f"{type(self).__name__} has no {name}{now}"
        raise AttributeError(msg, name=name, obj=self)

    @property
    def name(self):
        """The table's name."""
        return self._native.name

    @property
    def index(self):
        """The table's index, "hash" or "sorted"."""
        return self._native.index

    @property
    def codecs(self):
        """The names of the table's codecs, of keys and values."""
        return self._native.codecs

    def __repr__(self):
        return f"<{type(self).__module__}.Table {self.name!r}, {self.index}>"

    # --- encoding

    def _pairs(self, pairs):
        if hasattr(pairs, "items"):
            pairs = pairs.items()
        key, value = self._coder.key, self._coder.value
        return [(key(k), value(v)) for k, v in pairs]

    def _old(self, value):
        return None if value is None else self._coder.value(value)

    def _value(self, value):
        return None if value is None else self._coder.to_value(value)

    def _values(self, values):
        decode = self._coder.to_value
        return [None if value is None else decode(value) for value in values]

    def _pair(self, pair):
        return None if pair is None else (self._coder.to_key(pair[0]), self._coder.to_value(pair[1]))

    def _decoded(self, pairs):
        key, value = self._coder.to_key, self._coder.to_value
        return [(key(k), value(v)) for k, v in pairs]

    # --- writes

    def insert(self, key, value, /, *, ttl=None):
        """Write the pair if the key is absent. Returns whether it was."""
        return self._native.insert(self._coder.key(key), self._coder.value(value), lifetime(ttl))

    def replace(self, key, value, /, *, ttl=None):
        """Replace the value if the key is present. Returns whether it was."""
        return self._native.replace(self._coder.key(key), self._coder.value(value), lifetime(ttl))

    def upsert(self, key, value, /, *, ttl=None):
        """Write the pair, whether the key is present or not. Returns True."""
        return self._native.upsert(self._coder.key(key), self._coder.value(value), lifetime(ttl))

    def delete(self, key, /):
        """Remove the pair. Returns whether the key was present."""
        return self._native.delete(self._coder.key(key))

    def insert_many(self, pairs, /, *, ttl=None):
        """`insert` for each pair."""
        return self._native.insert_many(self._pairs(pairs), lifetime(ttl))

    def replace_many(self, pairs, /, *, ttl=None):
        """`replace` for each pair."""
        return self._native.replace_many(self._pairs(pairs), lifetime(ttl))

    def upsert_many(self, pairs, /, *, ttl=None):
        """`upsert` for each pair."""
        return self._native.upsert_many(self._pairs(pairs), lifetime(ttl))

    def delete_many(self, keys, /):
        """`delete` for each key."""
        return self._native.delete_many([self._coder.key(key) for key in keys])

    def increment(self, key, /, by=1):
        """Add to the value, decimal text, and return the sum. An absent key counts as 0."""
        self._coder.check_decimal()
        return self._native.increment(self._coder.key(key), self._coder.amount(by))

    def increment_many(self, amounts, /):
        """`increment` for each key and amount."""
        self._coder.check_decimal()
        if hasattr(amounts, "items"):
            amounts = amounts.items()
        return self._native.increment_many(
            [(self._coder.key(key), self._coder.amount(by)) for key, by in amounts]
        )

    def compare_and_swap(self, key, expected, new, /):
        """Write the value `new` if the key's value is `expected`. None is an absent value. Returns whether it took effect."""
        swap = (self._coder.key(key), self._old(expected), self._old(new))
        return self._native.compare_and_swap_many([swap], only)

    def compare_and_swap_many(self, swaps, /):
        """`compare_and_swap` for each group of key, expected and new value."""
        swaps = [(self._coder.key(key), self._old(old), self._old(new)) for key, old, new in swaps]
        return self._native.compare_and_swap_many(swaps, None)

    def clear(self):
        """Remove all pairs. For a hash table it walks over all keys of all servers."""
        return self._native.clear()

    def watch(self, _prefix=None, /, **_options):
        """Clusters have none: raises `NotSupportedError`."""
        raise NotSupportedError(f"a table in a cluster has no watches: {self!r}")

    def _swap(self, key, old, returned):
        """The swap that `alter` makes, or None if there is nothing to do."""
        self._native.check(key)
        if returned is KEEP or (returned is DELETE and old is None):
            return None
        if returned is None and not self._coder.has_none:
            msg = "the function of alter must return the new value, twindex.DELETE or twindex.KEEP, not None"
            raise ArgumentTypeError(msg)
        return (key, old, None if returned is DELETE else self._coder.value(returned))

    # --- reads

    def select(self, key, /):
        """The key's value, or None."""
        return self._native.select(self._coder.sought(key), self._value)

    def select_many(self, keys, /):
        """`select` for each key."""
        return self._native.select_many([self._coder.sought(key) for key in keys], self._values)

    def contains(self, key, /):
        """Whether the key is present."""
        return self._native.contains(self._coder.sought(key))

    def contains_many(self, keys, /):
        """`contains` for each key."""
        return self._native.contains_many([self._coder.sought(key) for key in keys])

    # --- expiry

    def ttl(self, key, /):
        """How many seconds a pair of a hash table still lives: `inf` if it does not expire, None if it is absent."""
        return self._native.ttl(self._coder.sought(key), lambda left: float("inf") if left == -1 else left)

    def touch(self, key, ttl=None, /):
        """Give a pair of a hash table a new time to live, by default for ever. Returns whether that changed it."""
        return self._native.touch(self._coder.key(key), lifetime(ttl))

    # --- scans

    def cursor(self, *, gt=None, gte=None, lt=None, lte=None, prefix=None):
        """A cursor over a range of a sorted table. It sends nothing to the servers yet."""
        return self._cursor(self, self._native.cursor(*self._coder.range(gt, gte, lt, lte, prefix)))

    def prefix(self, prefix, /, *, reverse=False, limit=None):
        """The pairs whose keys start with `prefix`: `scan(prefix=prefix)`."""
        return self.scan(prefix=prefix, reverse=reverse, limit=limit)

    def _scan(self, gt, gte, lt, lte, prefix, reverse, limit):
        if limit is not None:
            limit = self._coder.count(limit)
        return self._native.scan(
            *self._coder.range(gt, gte, lt, lte, prefix), _Coder.flag("reverse", reverse), limit
        )

    def _count(self, limit):
        """How many pairs an iteration takes from the native half at a time."""
        return PAIRS if limit is None else max(1, min(limit, PAIRS))


class Batch(Connected):
    """Writes that are done together: all or none. All keys must lie in one slot of the cluster.

    Keys of hash tables do if they have the same text in braces, such as "{ada}name" and "{ada}mail", and so does a sorted table
    with one partition. A single server does any batch.
    """

    __slots__ = ("_native",)

    def __init__(self, native):
        self._native = native

    def insert(self, table, key, value, /):
        """Write the pair if the key is absent."""
        coder = coder_of(table)
        self._native.insert(table._native, coder.key(key), coder.value(value))

    def replace(self, table, key, value, /):
        """Replace the value if the key is present."""
        coder = coder_of(table)
        self._native.replace(table._native, coder.key(key), coder.value(value))

    def upsert(self, table, key, value, /):
        """Write the pair, whether the key is present or not."""
        coder = coder_of(table)
        self._native.upsert(table._native, coder.key(key), coder.value(value))

    def delete(self, table, key, /):
        """Remove the pair."""
        self._native.delete(table._native, coder_of(table).key(key))

    def increment(self, table, key, /, by=1):
        """Add to the value, decimal text. An absent key counts as 0. The batch fails if the value is something else."""
        coder = coder_of(table)
        coder.check_decimal()
        self._native.increment(table._native, coder.key(key), coder.amount(by))

    def expect(self, table, key, value, /):
        """Make `commit` fail, and write nothing, unless the key has this value then, or is absent for None."""
        coder = coder_of(table)
        self._native.expect(table._native, coder.key(key), table._old(value))

    def commit(self):
        """Do all writes. Returns whether each took effect. Ends the batch."""
        return self._native.commit()

    def __len__(self):
        return len(self._native)

    def __repr__(self):
        return f"<{type(self).__module__}.Batch of {len(self)} writes>"


def coder_of(table):
    """The codecs of a table in a cluster; anything else is an error."""
    if not isinstance(table, Verbs):
        msg = f"a batch writes to tables in a cluster, not to {type(table).__name__}: {table!r}"
        raise ArgumentTypeError(msg)
    return table._coder


class Cursor(Connected):
    """A position in a sorted table."""

    __slots__ = ("_native", "_table")

    def __init__(self, table, native):
        self._table = table
        self._native = native

    def __repr__(self):
        return f"<{type(self._table).__module__}.Cursor of {self._table.name!r}>"

    def scan_asc_next(self):
        """Move to the next pair upwards and return it, or None at the end."""
        return self._native.next(False, self._table._pair)

    def scan_desc_next(self):
        """Move to the next pair downwards and return it, or None at the end."""
        return self._native.next(True, self._table._pair)

    def scan_asc_next_many(self, limit, /):
        """`scan_asc_next` up to `limit` times."""
        return self._native.next_many(False, self._table._coder.count(limit), self._table._decoded)

    def scan_desc_next_many(self, limit, /):
        """`scan_desc_next` up to `limit` times."""
        return self._native.next_many(True, self._table._coder.count(limit), self._table._decoded)


def connecting(url, given, awaits, store):
    """Connect, with the options of `connect` as the native half wants them."""
    checked("url", url, str)
    for name in given.keys() - OPTIONS.keys():
        msg = f"connect() has no option {name!r}, it has {', '.join(OPTIONS)}"
        raise TypeError(msg)
    options = OPTIONS | given
    checked("namespace", options["namespace"], str)
    for name, (least, most) in COUNTS.items():
        if not least <= checked(name, options[name], int) <= most:
            msg = f"{name} must be {least} to {most}, not {options[name]}"
            raise OptionError(msg)
    options["addresses"] = [
        (checked("addresses", announced, str), checked("addresses", reached, str))
        for announced, reached in dict(options["addresses"]).items()
    ]
    if options["tls_authority"] is not None:
        options["tls_authority"] = pem("tls_authority", options["tls_authority"])
    if options["tls_identity"] is not None:
        options["tls_identity"] = identity(options["tls_identity"])
    for name in TIMES:
        options[name] = span(name, options[name])
    return _native.connect(url, options, awaits, store)


def pem(what, given):
    """Certificates or a key as bytes."""
    given = checked(f"{what} in PEM", given, bytes, str)
    return given.encode() if isinstance(given, str) else given


def identity(given):
    """A certificate and its key."""
    if not isinstance(given, tuple) or len(given) != 2:
        msg = f"tls_identity must be a pair of a certificate and its key, not {type(given).__name__}"
        raise ArgumentTypeError(msg)
    return pem("tls_identity", given[0]), pem("tls_identity", given[1])


def span(what, seconds):
    """A time as the native half takes it: a number of seconds, or a timedelta."""
    if isinstance(seconds, timedelta):
        checked = seconds
    elif isinstance(seconds, int | float) and not isinstance(seconds, bool):
        try:
            checked = timedelta(seconds=seconds)
        except (OverflowError, ValueError):
            msg = f"{what} is not a valid time: {seconds!r} seconds"
            raise OptionError(msg) from None
    else:
        msg = f"{what} must be a number of seconds or a timedelta, not {type(seconds).__name__}: {seconds!r}"
        raise ArgumentTypeError(msg)
    if checked <= timedelta(0):
        msg = f"{what} must be more than 0, not {seconds!r}"
        raise OptionError(msg)
    return checked


def lifetime(ttl):
    """A time to live as for caches; None if the pair does not expire."""
    if ttl is None or ttl == inf:
        return None
    try:
        return span("ttl", ttl)
    except OptionError as error:
        raise TtlError(*error.args) from None


def checked(what, given, *kinds):
    """Check that this is of one of these classes."""
    if not isinstance(given, kinds) or isinstance(given, bool):
        names = " or ".join(kind.__name__ for kind in kinds)
        msg = f"{what} must be {names}, not {type(given).__name__}: {given!r}"
        raise ArgumentTypeError(msg)
    return given


def only(answers):
    """The one answer."""
    return answers[0]
