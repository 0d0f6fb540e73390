"""Whatever a caller passes, a call does what it does or raises an error of those that it may, and nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import twindex
from support import Index


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


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["\ud800", "bytes", "sorted", "\0"]),
    st.binary(max_size=3),
    st.binary(max_size=3).map(bytearray),
    st.just(memoryview(b"abcdef")[::2]),
    st.just(memoryview(b"ab")),
    st.just(bytes(70_000)),
    st.tuples(st.binary(max_size=2), st.binary(max_size=2)),
    st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=2)), max_size=2),
    st.lists(st.tuples(st.integers(-2, 2), st.text(max_size=2)), max_size=2),
    st.dictionaries(st.integers(-2, 2), st.text(max_size=2), max_size=2),
    st.lists(st.none() | st.binary(max_size=2) | st.tuples(st.none())),
    st.builds(object),
    st.builds(Hostile),
    st.builds(Endless),
    st.builds(Subclass),
    st.builds(recursive),
    st.builds(generator),
    st.builds(set),
    st.just(Decimal(1)),
    st.just(1j),
    st.just(int),
    st.just(len),
    st.just(...),
    st.just(slice(1, 2)),
)

CODECS: list[dict[str, Any]] = [
    {},
    {"keys": "int", "values": "str"},
    {"keys": "str", "values": "json"},
    {"keys": "tuple", "values": "pickle"},
    {"keys": "bytes", "values": "msgpack"},
]

#: What a caller may expect: our errors, those of mappings and sequences, wrong calls, and the caller's own.
EXPECTED = (twindex.Error, KeyError, IndexError, TypeError, LookupError)

OPTIONS = [
    "ttl",
    "capacity",
    "maxsize",
    "gt",
    "gte",
    "lt",
    "lte",
    "prefix",
    "reverse",
    "limit",
    "minimum",
    "inclusive",
    "no_such_option",
]


def methods(kind: type) -> list[str]:
    special = ["__getitem__", "__setitem__", "__delitem__", "__contains__", "__eq__", "__ne__"]
    public = [name for name, member in vars(kind).items() if name[0] != "_" and callable(member)]
    return sorted(public) + [name for name in special if name in vars(kind)]


def call(target: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> None:
    with suppress(*EXPECTED):
        result = getattr(target, name)(*arguments, **options)
        if isinstance(result, Iterator):
            list(result)


@pytest.mark.parametrize("name", methods(twindex.Table))
@pytest.mark.parametrize("index", ["hash", "sorted"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(CODECS),
    st.lists(JUNK, max_size=4),
    st.dictionaries(st.sampled_from(OPTIONS), JUNK, max_size=2),
)
def test_table_survives_any_arguments(
    index: Index, name: str, codecs: dict[str, Any], arguments: list[Any], options: dict[str, Any]
) -> None:
    store = twindex.Store()
    table = store.table("t", index, **codecs)
    call(table, name, arguments, options)
    assert len(list(table.items())) == len(table)
    assert twindex.Store.load(store.dump()).table("t", index, **codecs) == table


CACHE_CODECS: list[dict[str, Any]] = [*CODECS, {"keys": "object", "values": "object"}]


@pytest.mark.parametrize("name", methods(twindex.Cache))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(CACHE_CODECS),
    st.lists(JUNK, max_size=4),
    st.dictionaries(st.sampled_from(OPTIONS), JUNK, max_size=2),
)
def test_cache_survives_any_arguments(
    name: str, codecs: dict[str, Any], arguments: list[Any], options: dict[str, Any]
) -> None:
    cache: twindex.Cache[Any, Any] = twindex.Store().cache("c", maxsize=10, **codecs)
    call(cache, name, arguments, options)
    assert len(list(cache.items())) <= len(cache) <= 10
    cache.clear()
    assert len(cache) == 0


@given(st.dictionaries(st.sampled_from(["keys", "values", "on_evict", *OPTIONS]), JUNK, max_size=3))
def test_new_cache_survives_any_options(options: dict[str, Any]) -> None:
    with suppress(*EXPECTED):
        assert len(twindex.Cache(**options)) == 0


@pytest.mark.parametrize("name", methods(twindex.Cursor))
@given(st.lists(JUNK, max_size=2))
def test_cursor_survives_any_arguments(name: str, arguments: list[Any]) -> None:
    table = twindex.Store().table("t", "sorted", keys="bytes", values="bytes")
    table[b"a"] = b"1"
    cursor = table.cursor()
    call(cursor, name, arguments, {})
    assert cursor.scan_asc_next() in {None, (b"a", b"1")}


@pytest.mark.parametrize("name", methods(twindex.Store))
@given(st.lists(JUNK, max_size=3), st.dictionaries(st.sampled_from(OPTIONS), JUNK, max_size=1))
def test_store_survives_any_arguments(name: str, arguments: list[Any], options: dict[str, Any]) -> None:
    store = twindex.Store()
    call(store, name, arguments, options)
    if not store.closed:
        assert store.tables() == store.load(store.dump()).tables()


@pytest.mark.parametrize("name", methods(twindex.Batch))
@given(st.lists(JUNK, max_size=3), st.booleans())
def test_batch_survives_any_arguments(name: str, arguments: list[Any], with_table: bool) -> None:
    store = twindex.Store()
    table = store.table("t", keys="bytes", values="bytes")
    call(store.batch(), name, [table, *arguments] if with_table else arguments, {})
    assert len(table) == 0
