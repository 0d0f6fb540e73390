"""Whatever a caller passes, a call does what it does or raises an error of those that it may, and nothing breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import twindex
from support import Index, raw


@pytest.fixture(autouse=True, scope="module")
def _in_a_folder_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Some of these calls write a file, of whatever name they are given."""
    with chdir(tmp_path_factory.mktemp("files")):
        yield


class Hostile:
    """Whose every method fails."""

    def fail(self, *_: object) -> Any:
        raise LookupError("mine")

    __iter__ = __len__ = __eq__ = __bool__ = __index__ = __getitem__ = __fspath__ = __call__ = keys = fail
    __hash__ = object.__hash__


class Endless:
    """Whose iterator returns itself as every pair."""

    def __iter__(self) -> Iterator[object]:
        return iter([self, self])


class Subclass(bytes):
    """Bytes with another idea of themselves."""

    def __len__(self) -> int:
        return 10**9


def recursive() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def generator() -> Iterator[Any]:
    yield b"a", b"b"
    raise LookupError("mine")


FEW = st.binary(max_size=2)
PAIRS = st.tuples(FEW, FEW)
NUMBERED = st.tuples(st.integers(-2, 2), st.text(max_size=2))
JUNK = st.one_of(
    st.none() | st.booleans() | st.integers() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    st.binary(max_size=3) | st.binary(max_size=3).map(bytearray) | PAIRS,
    st.lists(PAIRS, max_size=2) | st.lists(NUMBERED, max_size=2) | st.lists(NUMBERED, max_size=2).map(dict),
    st.lists(st.none() | FEW | st.tuples(st.none())),
    st.sampled_from(["\ud800", "bytes", "sorted", "\0", memoryview(b"abcdef")[::2], memoryview(b"ab")]),
    st.sampled_from([bytes(70_000), Decimal(1), 1j, int, len, ..., slice(1, 2)]),
    st.sampled_from([object, Hostile, Endless, Subclass, recursive, generator, set]).flatmap(st.builds),
)

CODECS: list[dict[str, Any]] = [
    {},
    {"keys": "int", "values": "str"},
    {"keys": "str", "values": "json"},
    {"keys": "tuple", "values": "pickle"},
    {"keys": "bytes", "values": "msgpack"},
]

#: What a caller may expect: our errors, those of mappings and sequences, wrong calls, the caller's own, and that there is no
#: pyarrow.
EXPECTED = (twindex.Error, KeyError, IndexError, TypeError, LookupError, ImportError)

OPTIONS = "keys values on_evict ttl time_to_idle stale_for capacity max_entries maxsize gt gte lt lte prefix reverse limit minimum inclusive no_such_option"


def methods(kind: type) -> list[str]:
    special = ["__getitem__", "__setitem__", "__delitem__", "__contains__", "__eq__", "__ne__"]
    public = [name for name, member in vars(kind).items() if name[0] != "_" and callable(member)]
    return sorted(public) + [name for name in special if name in vars(kind)]


# Each makes an object and what is to hold of it afterwards.


def table(draw: Callable[[Any], Any]) -> tuple[Any, Callable[[], bool]]:
    store, codecs = twindex.Store(), draw(st.sampled_from(CODECS))
    index: Index = draw(st.sampled_from(["hash", "sorted"]))
    made = store.table("t", index, **codecs)

    def holds() -> bool:
        again = twindex.Store.load(store.dump()).table("t", index, **codecs)
        return len(list(made.items())) == len(made) and again == made

    return made, holds


def table_of_a_snapshot(draw: Callable[[Any], Any]) -> tuple[Any, Callable[[], bool]]:
    store, index = twindex.Store(), draw(st.sampled_from(["hash", "sorted"]))
    raw(index, store)[b"a"] = b"1"
    made = store.snapshot().table("t", keys="bytes", values="bytes")
    return made, lambda: dict(made) == {b"a": b"1"}


def table_of_a_transaction(draw: Callable[[Any], Any]) -> tuple[Any, Callable[[], bool]]:
    store, codecs = twindex.Store(), draw(st.sampled_from(CODECS))
    table = store.table("t", draw(st.sampled_from(["hash", "sorted"])), **codecs)
    transaction = store.transaction()

    def holds() -> bool:
        assert len(table) == 0
        transaction.commit()
        return dict(twindex.Store.load(store.dump()).table("t", **codecs)) == dict(table)

    return transaction.table(table), holds


def cache(draw: Callable[[Any], Any]) -> tuple[Any, Callable[[], bool]]:
    codecs = draw(st.sampled_from([*CODECS, {"keys": "object", "values": "object"}]))
    made: Any = twindex.Cache(max_entries=10, **codecs)
    return made, lambda: len(list(made.items())) <= len(made) <= 10


def cursor(_: object) -> tuple[Any, Callable[[], bool]]:
    made = raw("sorted")
    made[b"a"] = b"1"
    cursor = made.cursor()
    return cursor, lambda: cursor.scan_asc_next() in {None, (b"a", b"1")}


def store(_: object) -> tuple[Any, Callable[[], bool]]:
    made = twindex.Store()
    return made, lambda: made.closed or made.tables() == made.load(made.dump()).tables()


def batch(draw: Callable[[Any], Any]) -> tuple[Any, Callable[[], bool]]:
    store = twindex.Store()
    made, table = store.batch(), raw(store=store)

    class WithTable:
        """Its methods get the table first, which no other argument can be."""

        def __getattr__(self, name: str) -> Any:
            return partial(getattr(made, name), table)

    return made if draw(st.booleans()) else WithTable(), lambda: len(table) == 0


KINDS = {
    table: twindex.Table,
    cache: twindex.Cache,
    cursor: twindex.Cursor,
    store: twindex.Store,
    batch: twindex.Batch,
}


@pytest.mark.parametrize(
    ("make", "name"),
    [(make, name) for make, kind in KINDS.items() for name in methods(kind)]
    + [(make, "") for make in (table_of_a_snapshot, table_of_a_transaction) for _ in range(3)],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.data(),
    st.lists(JUNK, max_size=4),
    st.dictionaries(st.sampled_from(OPTIONS.split()), JUNK, max_size=2),
)
def test_object_survives_any_arguments(
    make: Callable[[Any], Any],
    name: str,
    data: st.DataObject,
    arguments: list[Any],
    options: dict[str, Any],
) -> None:
    target, holds = make(data.draw)
    name = name or data.draw(st.sampled_from(methods(type(target))))
    with suppress(*EXPECTED):
        result = getattr(target, name)(*arguments, **options)
        if isinstance(result, twindex.Watch):
            result.close()
        elif isinstance(result, Iterator):
            list(result)
    assert holds()


@given(st.dictionaries(st.sampled_from(OPTIONS.split()), JUNK, max_size=3))
def test_new_cache_survives_any_options(options: dict[str, Any]) -> None:
    with suppress(*EXPECTED):
        assert len(twindex.Cache(**options)) == 0
