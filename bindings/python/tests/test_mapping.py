"""A table as a mapping, as `dict` and CPython's own tests of mappings have it; `alter`; cursors, scans and iteration."""

from __future__ import annotations

import collections.abc
import gc
import importlib.util
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import sortedcontainers
from hypothesis import given
from hypothesis import strategies as st

import twindex
from support import Index, raw
from twindex import DELETE, KEEP

Texts: TypeAlias = twindex.Table[str, str]

if (
    importlib.util.find_spec("test") is not None
    and importlib.util.find_spec("test.mapping_tests") is not None
):
    from test import mapping_tests  # type: ignore[import-not-found]

    class TestMappingProtocol(mapping_tests.BasicTestMappingProtocol):  # type: ignore[misc]
        """The same checks that `dict` and `collections.UserDict` pass."""

        index: Any = "hash"

        def _reference(self) -> dict[str, str]:
            return {"1": "2", "key1": "value1", "key2": "value2"}

        def _empty_mapping(self) -> Any:
            return twindex.Store().table("t", self.index)

    class TestMappingProtocolSorted(TestMappingProtocol):
        """The same on a sorted table."""

        index = "sorted"

    class TestMappingProtocolCache(TestMappingProtocol):
        """The same on a cache."""

        def _empty_mapping(self) -> Any:
            return twindex.Cache(maxsize=100)


def texts(index: Index = "hash", **pairs: str) -> Texts:
    table = twindex.Store().table("texts", index)
    table.update(pairs)
    return table


@pytest.fixture
def table(index: Index) -> Texts:
    return texts(index, ada="1815", bob="1900")


def test_table_is_a_mutable_mapping(table: Texts) -> None:
    assert isinstance(table, collections.abc.MutableMapping)
    assert isinstance(iter(table), collections.abc.Iterator)
    methods = {name for name in dir(collections.abc.MutableMapping) if not name.startswith("_")}
    assert methods | collections.abc.MutableMapping.__abstractmethods__ <= set(dir(table))
    match table:
        case {"ada": born, **rest}:
            assert (born, rest) == ("1815", {"bob": "1900"})
        case _:
            pytest.fail("no mapping")
    assert {**table} == dict(table) == {"ada": "1815", "bob": "1900"}
    assert repr(table) == f'<twindex.Table "texts": {table.index}, str keys, str values, 2 pairs>'
    assert typing.get_args(twindex.Table[str, int]) == typing.get_args(twindex.Cursor[str, int]) == (str, int)
    assert typing.get_args(twindex.Scan[str]) == (str,)


def test_update_takes_what_dict_takes(table: Texts) -> None:
    class Keyed:
        def keys(self) -> list[str]:
            return ["e"]

        def __getitem__(self, key: str) -> str:
            return key.upper()

    copy: Texts = texts(f="F")
    sources: list[Any] = [{"c": "C"}, [("d", "D")], Keyed(), copy, (pair for pair in [["g", "G"]])]
    for source in sources:
        assert table.update(source) is None
    table.update()
    table.update({"h": "h"}, h="H", i="I")
    expected = {"ada": "1815", "bob": "1900"} | {letter: letter.upper() for letter in "cdefghi"}
    assert dict(table) == expected


def test_equality(table: Texts) -> None:
    same = {"ada": "1815", "bob": "1900"}
    assert table == same
    assert same == table
    assert table == texts("sorted", **same)
    assert table != texts(ada="1815")
    assert table != {**same, "bob": "1"}
    assert table != [("ada", "1815"), ("bob", "1900")]
    assert table != raw()
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


def test_views_are_sets_of_what_is_there_now(table: Texts) -> None:
    keys, values, items = table.keys(), table.values(), table.items()
    assert keys == {"ada", "bob"}
    assert items == {("ada", "1815"), ("bob", "1900")}
    assert (keys & {"ada", "x"}, items - {("ada", "1815")}) == ({"ada"}, {("bob", "1900")})
    assert keys.isdisjoint(["x"])
    assert ("1815" in values, "1816" in values) == (True, False)
    assert (("ada", "1815") in items, ("ada", "1816") in items) == (True, False)
    table["carol"] = "2000"
    assert len(keys) == len(values) == len(items) == 3
    assert list(zip(keys, values, strict=True)) == list(items)
    assert repr(keys) == f"KeysView({table!r})"
    if table.index == "sorted":
        assert list(reversed(keys)) == list(reversed(table)) == ["carol", "bob", "ada"]
        assert list(zip(reversed(keys), reversed(values), strict=True)) == list(reversed(items))


def test_defaults_are_taken_and_returned_as_they_are() -> None:
    table = twindex.Store().table("t", values="json")
    default: list[int] = []
    assert table.get("x", default) is default
    assert table.pop("x", default) is default
    assert table.setdefault("key") is None
    assert "key" in table
    text: Any = texts(ada="1815")
    assert text.setdefault("ada") == "1815"
    with pytest.raises(twindex.ArgumentTypeError):
        text.setdefault("bob")
    # The stored value, which is not always the default.
    stored = (bytes_table := raw()).setdefault(b"x", bytearray(b"1"))
    assert type(stored) is bytes
    assert stored == bytes_table[b"x"] == b"1"


def test_popitem_of_a_hash_table_meets_every_pair_once() -> None:
    table = raw()
    pairs = {b"%d" % number: b"v%d" % number for number in range(5_000)}
    table.update(pairs)
    popped = dict(table.popitem() for _ in range(2_000))
    # Keys that were to come next are gone, others are new, and so are some values.
    for key in [key for key in pairs if key not in popped][::2]:
        del table[key]
    table.update((b"new %d" % number, b"v") for number in range(1_000))
    for key in list(table)[::3]:
        table[key] = b"changed"
    left = dict(table)
    assert dict(table.popitem() for _ in range(len(table))) == left
    with pytest.raises(KeyError, match="empty"):
        table.popitem()
    table[b"again"] = b"1"
    assert table.popitem() == (b"again", b"1")


def test_subclasses_of_list_and_tuple_give_what_they_iterate_over() -> None:
    class Shown(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([(b"a", b"1")])

    class Pair(tuple[bytes, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[bytes]:
            return iter([b"b", b"2"])

    class Keys(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([b"b"])

    table = raw()
    table.update(Shown())
    assert table.insert_many([Pair()]) == [True]
    assert dict(table) == {b"a": b"1", b"b": b"2"}
    assert table.select_many(Keys([b"a"])) == [b"2"]


@pytest.mark.parametrize("size", [0, 1, 3, 64, 65, 5000])
@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 3000])
def test_batches_of_keys_of_any_length(size: int, count: int) -> None:
    """Short keys are copied, long ones and other objects are held; more than a thousand are read in parts."""
    keys = [b"%d" % number + b"k" * size for number in range(count)]
    table = raw()
    table.update([(key, key[:9]) for key in keys[::2]])
    expected = [None if number % 2 else key[:9] for number, key in enumerate(keys)]
    sources: list[Any] = [keys, tuple(keys), iter(keys), [*map(bytearray, keys)], [*keys[:-1], *keys[-1:]]]
    for source in sources:
        assert table.select_many(source) == expected
    assert table.contains_many(keys) == [number % 2 == 0 for number in range(count)]
    with pytest.raises(twindex.KeyTooLongError):
        table.delete_many([*keys, bytearray(b"absent"), b"k" * 70_000])
    assert table.delete_many(keys) == [number % 2 == 0 for number in range(count)]
    assert len(table) == 0


@pytest.mark.parametrize("length", [0, 100, 5_000, 1 << 20])
def test_many_values_of_any_length_come_in_order(length: int) -> None:
    table = raw()
    keys = [b"%d" % number for number in range(200)]
    for number, key in enumerate(keys):
        table[key] = b"%d" % number + b"v" * (length if number % 3 else 0)
    wanted = [*keys, b"absent", *keys]
    assert table.select_many(wanted) == [table.get(key) for key in wanted]


def forget(_: object) -> Any:
    """A function that changes its argument in place and returns nothing, as one writes it by mistake."""


@pytest.mark.parametrize(("codec", "value"), [("bytes", b"1"), ("str", "1"), ("int", 1)])
def test_function_that_returns_nothing_is_an_error(codec: Any, value: Any) -> None:
    """It deleted the pair."""
    table: twindex.Table[Any, Any] = twindex.Store().table("t", values=codec)
    table["key"] = value
    for key in ("key", "absent"):
        with pytest.raises(
            TypeError, match=r"return the new value, twindex\.DELETE or twindex\.KEEP, not None"
        ):
            table.alter(key, forget)
    assert dict(table) == {"key": value}


@pytest.mark.parametrize(
    "codec", ["json", "msgpack", "pickle", twindex.Codec("own", lambda value: repr(value).encode(), eval)]
)
def test_none_is_a_value_where_the_codec_has_one(codec: Any) -> None:
    table: twindex.Table[Any, Any] = twindex.Store().table("t", values=codec)
    table["key"] = [1]
    assert table.alter("key", forget)
    assert dict(table) == {"key": None}
    assert not table.alter("key", forget)
    seen = []
    assert table.alter("absent", lambda found: seen.append(found) or found, [2])  # type: ignore[func-returns-value]
    assert table.alter("key", lambda found: seen.append(found) or 3, [2])  # type: ignore[func-returns-value]
    assert seen == [[2], None]
    assert dict(table) == {"key": 3, "absent": [2]}


def test_delete_and_keep_are_named_in_their_repr() -> None:
    assert (repr(DELETE), repr(KEEP)) == ("twindex.DELETE", "twindex.KEEP")


def test_default_stands_for_an_absent_value_alone() -> None:
    table: twindex.Table[str, Any] = twindex.Store().table("t", values="int")
    cache: twindex.Cache[str, Any] = twindex.Cache(maxsize=10)
    for pairs in (table, cache):
        assert [pairs.alter("key", lambda found: found + 1, default=10) for _ in range(3)] == [True] * 3
        assert pairs["key"] == 13
    with pytest.raises(twindex.ArgumentTypeError, match="value must be int"):
        table.alter("absent", lambda found: found, "x")
    assert len(table) == 1


Log = twindex.Table[int, str]

KEYS = st.integers(-20, 20)


def log(*keys: int) -> Log:
    table = twindex.Store().table("log", "sorted", keys="int")
    table.update({key: str(key) for key in keys})
    return table


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 48, 1000, 5000])
def test_scan_over_many_blocks(size: int) -> None:
    table = log(*range(size))
    assert [key for key, _ in table.scan()] == list(range(size))
    assert [key for key, _ in table.scan(reverse=True)] == list(range(size))[::-1]
    assert list(table) == list(range(size))
    assert list(table.values()) == [str(number) for number in range(size)]


def test_scan_ends_for_good() -> None:
    table = log(1)
    scan = table.scan()
    assert list(scan) == [(1, "1")]
    table[2] = "2"
    assert list(scan) == []
    assert iter(scan) is scan


@given(st.sets(KEYS), KEYS, KEYS, st.booleans(), st.booleans(), st.booleans(), st.integers(-50, 50))
def test_what_has_a_name_of_sortedcontainers_does_the_same(
    keys: set[int], low: int, high: int, lower: bool, upper: bool, reverse: bool, index: int
) -> None:
    table = log(*keys)
    model: Any = sortedcontainers.SortedDict({key: str(key) for key in keys})
    ranges = [(low, high), (None, high), (low, None), (None, None)]
    for minimum, maximum in ranges:
        if minimum is None or maximum is None or minimum <= maximum:
            found = table.irange(minimum, maximum, (lower, upper), reverse)
            assert list(found) == list(model.irange(minimum, maximum, (lower, upper), reverse))
    assert list(table.irange(reverse=reverse)) == list(model.irange(reverse=reverse))
    assert table.bisect_left(low) == model.bisect_left(low)
    assert table.bisect_right(low) == model.bisect_right(low)
    assert table.bisect(low) == model.bisect(low)
    pairs: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (lambda: table.peekitem(index), lambda: model.peekitem(index)),
        (lambda: table.popitem(index=index), lambda: model.popitem(index=index)),
    ]
    for ours, theirs in pairs:
        try:
            expected = theirs()
        except (IndexError, KeyError) as error:
            with pytest.raises(type(error)):
                ours()
        else:
            assert ours() == expected
    assert list(table.items()) == list(model.items())


def test_write_of_ends_and_ranges_is_refused_where_every_write_is(path: Path) -> None:
    with twindex.open(path) as store, twindex.open(path, read_only=True) as follower:
        store.table("log", "sorted")
        follower.refresh()
        table: Any = follower.table("log")
        writes: list[Callable[[], object]] = [
            lambda: table.take("a"),
            table.pop_first,
            table.pop_last,
            lambda: table.delete_range(gt="a"),
            lambda: table.delete_prefix("a"),
        ]
        for write in writes:
            with pytest.raises(twindex.ReadOnlyError):
                write()


def test_scan_of_a_limit_reads_no_more() -> None:
    table = log(*range(100))
    scan = table.scan(limit=40)
    next(scan)
    table.clear()
    assert [key for key, _ in scan] == list(range(1, 40))


def test_cursor_outlives_the_names_of_its_table_and_store() -> None:
    def open_cursor() -> twindex.Cursor[int, str]:
        return log(1, 2).cursor()

    cursor = open_cursor()
    gc.collect()
    assert cursor.scan_asc_next_many(3) == [(1, "1"), (2, "2")]
