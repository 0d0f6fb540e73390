"""A table as a mapping, held against `dict` and against CPython's own tests of mappings."""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import twindex

Index: TypeAlias = Literal["hash", "sorted"]
Texts: TypeAlias = twindex.Table[str, str]


def texts(index: Index = "hash", **pairs: str) -> Texts:
    table = twindex.Store().table("texts", index, keys="str", values="str")
    table.update(pairs)
    return table


@pytest.fixture(params=["hash", "sorted"])
def table(request: pytest.FixtureRequest) -> Texts:
    index: Index = request.param
    return texts(index, ada="1815", bob="1900")


def test_is_a_mutable_mapping(table: Texts) -> None:
    assert isinstance(table, collections.abc.MutableMapping)
    assert isinstance(iter(table), collections.abc.Iterator)
    methods = {name for name in dir(collections.abc.MutableMapping) if not name.startswith("_")}
    assert methods | collections.abc.MutableMapping.__abstractmethods__ <= set(dir(table))


def test_pattern_matching(table: Texts) -> None:
    match table:
        case {"ada": born, **rest}:
            assert (born, rest) == ("1815", {"bob": "1900"})
        case _:
            pytest.fail("no mapping")


def test_unpacking(table: Texts) -> None:
    assert {**table} == dict(table) == {"ada": "1815", "bob": "1900"}


def test_replace_writes_only_what_is_present(table: Texts) -> None:
    assert table.replace("ada", "1852") is True
    assert table.replace("carol", "2000") is False
    assert dict(table) == {"ada": "1852", "bob": "1900"}


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


def test_update_converts_everything_first(table: Texts) -> None:
    def pairs() -> Any:
        yield "ada", "1"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        table.update(pairs())
    assert table["ada"] == "1815"


def test_equality(table: Texts) -> None:
    same = {"ada": "1815", "bob": "1900"}
    assert table == same
    assert same == table
    assert table == texts("sorted", **same)
    assert table != texts(ada="1815")
    assert table != {**same, "bob": "1"}
    assert table != [("ada", "1815"), ("bob", "1900")]
    assert table != twindex.Store().table("other", keys="bytes", values="bytes")
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


def test_views(table: Texts) -> None:
    keys, values, items = table.keys(), table.values(), table.items()
    assert keys == {"ada", "bob"}  # type: ignore[comparison-overlap]
    assert items == {("ada", "1815"), ("bob", "1900")}  # type: ignore[comparison-overlap]
    assert sorted(values) == ["1815", "1900"]
    assert keys & {"ada", "x"} == {"ada"}
    assert items - {("ada", "1815")} == {("bob", "1900")}
    assert keys.isdisjoint(["x"])
    assert "ada" in keys
    assert "1815" in values
    assert "1816" not in values
    assert ("ada", "1815") in items
    assert ("ada", "1816") not in items
    table["carol"] = "2000"
    assert len(keys) == len(values) == len(items) == 3
    assert list(zip(keys, values, strict=True)) == list(items)
    assert repr(keys) == f"KeysView({table!r})"


def test_reversed_needs_order() -> None:
    table = texts("sorted", b="2", a="1", c="3")
    assert list(reversed(table)) == list(reversed(table.keys())) == ["c", "b", "a"]
    assert list(reversed(table.values())) == ["3", "2", "1"]
    assert list(reversed(table.items())) == [("c", "3"), ("b", "2"), ("a", "1")]


def test_get_pop_setdefault_popitem(table: Texts) -> None:
    assert table.get("ada") == "1815"
    assert table.get("x") is None
    assert table.get("x", 0) == 0
    assert table.setdefault("ada", "0") == "1815"
    assert table.setdefault("carol", "2000") == "2000" == table["carol"]
    assert table.pop("carol") == "2000"
    assert table.pop("carol", None) is None
    with pytest.raises(KeyError):
        table.pop("carol")
    popped = dict([table.popitem(), table.popitem()])
    assert popped == {"ada": "1815", "bob": "1900"}
    with pytest.raises(KeyError, match="empty"):
        table.popitem()


def test_setdefault_without_a_default() -> None:
    values = twindex.Store().table("t", keys="str", values="json")
    assert values.setdefault("key") is None
    assert "key" in values
    table: Any = texts(ada="1815")
    assert table.setdefault("ada") == "1815"
    with pytest.raises(twindex.ArgumentTypeError):
        table.setdefault("bob")


def test_popitem_of_a_sorted_table() -> None:
    table = texts("sorted", b="2", a="1", c="3", d="4")
    assert [table.popitem(), table.popitem(index=0), table.popitem(index=-2)] == [
        ("d", "4"),
        ("a", "1"),
        ("b", "2"),
    ]
    with pytest.raises(IndexError, match="position 1"):
        table.popitem(index=1)
    assert table.popitem() == ("c", "3")
    with pytest.raises(KeyError, match="empty"):
        table.popitem(index=0)


def test_a_hash_table_has_no_positions() -> None:
    table = texts(a="1")
    for call in (lambda: table.popitem(index=0), table.peekitem, lambda: table.bisect("a"), table.irange):
        with pytest.raises(twindex.WrongIndexError, match='"texts"'):
            call()


def test_defaults_are_returned_as_they_are() -> None:
    table = twindex.Store().table("t", keys="str", values="json")
    default: list[int] = []
    assert table.get("x", default) is default
    assert table.pop("x", default) is default


def test_setdefault_returns_what_it_stored() -> None:
    """It returned the default itself: a bytearray where it had bytes."""
    raw: Any = twindex.Store().table("t", keys="bytes", values="bytes")
    first = raw.setdefault(b"x", bytearray(b"1"))
    assert type(first) is bytes
    assert first == raw[b"x"] == b"1"


def test_what_is_derived_from_list_and_tuple_gives_its_own_items() -> None:
    """The items of the list underneath were taken, whatever `__iter__` gave."""

    class Shown(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([(b"a", b"1")])

    class Pair(tuple[bytes, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[bytes]:
            return iter([b"b", b"2"])

    table: Any = twindex.Store().table("t", keys="bytes", values="bytes")
    table.update(Shown())
    assert table.insert_many([Pair()]) == [True]
    assert dict(table) == {b"a": b"1", b"b": b"2"}

    class Keys(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([b"b"])

    assert table.select_many(Keys([b"a"])) == [b"2"]


def test_truth_and_repr(table: Texts) -> None:
    assert table
    assert repr(table) == f'<twindex.Table "texts": {table.index}, str keys, str values, 2 pairs>'
    table.clear()
    assert not table
    assert len(table) == 0


def test_subscripts_for_annotations() -> None:
    assert typing.get_args(twindex.Table[str, int]) == (str, int)
    assert typing.get_args(twindex.Cursor[str, int]) == (str, int)
    assert typing.get_args(twindex.Scan[str]) == (str,)


class AsDict(RuleBasedStateMachine):
    """Every verb and every method of a mapping does what a `dict` does."""

    keys = st.integers(0, 5)
    numbers = st.integers(-3, 3)
    absent = st.none()

    @initialize(index=st.sampled_from(["hash", "sorted"]))
    def open(self, index: Index) -> None:
        self.store = twindex.Store()
        self.table = self.store.table("t", index, keys="int", values="int")
        self.model: dict[int, int] = {}

    @rule(key=keys, value=numbers)
    def insert(self, key: int, value: int) -> None:
        assert self.table.insert(key, value) is (key not in self.model)
        self.model.setdefault(key, value)

    @rule(key=keys, value=numbers)
    def replace(self, key: int, value: int) -> None:
        assert self.table.replace(key, value) is (key in self.model)
        if key in self.model:
            self.model[key] = value

    @rule(key=keys, value=numbers)
    def upsert(self, key: int, value: int) -> None:
        assert self.table.upsert(key, value) is True
        self.model[key] = value

    @rule(key=keys)
    def delete(self, key: int) -> None:
        assert self.table.delete(key) is (self.model.pop(key, None) is not None)

    @rule(key=keys, default=absent | numbers)
    def pop(self, key: int, default: int | None) -> None:
        assert self.table.pop(key, default) == self.model.pop(key, default)

    @rule()
    def popitem(self) -> None:
        if self.model:
            key, value = self.table.popitem()
            assert self.model.pop(key) == value

    @rule(key=keys, value=numbers)
    def setdefault(self, key: int, value: int) -> None:
        assert self.table.setdefault(key, value) == self.model.setdefault(key, value)

    @rule(pairs=st.dictionaries(keys, numbers))
    def update_pairs(self, pairs: dict[int, int]) -> None:
        self.table.update(pairs)
        self.model.update(pairs)

    @rule(key=keys, by=numbers)
    def increment(self, key: int, by: int) -> None:
        self.model[key] = self.model.get(key, 0) + by
        assert self.table.increment(key, by) == self.model[key]

    @rule(key=keys, expected=absent | numbers, new=absent | numbers)
    def compare_and_swap(self, key: int, expected: int | None, new: int | None) -> None:
        matches = self.model.get(key) == expected
        assert self.table.compare_and_swap(key, expected, new) is matches
        if matches:
            self.change(key, new)

    @rule(key=keys, new=absent | numbers)
    def alter(self, key: int, new: int | None) -> None:
        seen = []

        def change(old: int | None) -> Any:
            seen.append(old)
            return twindex.DELETE if new is None else new

        took_effect = self.table.alter(key, change)
        assert seen == [self.model.get(key)]
        assert took_effect is (self.model.get(key) != new)
        self.change(key, new)

    def change(self, key: int, new: int | None) -> None:
        if new is None:
            self.model.pop(key, None)
        else:
            self.model[key] = new

    @rule()
    def clear(self) -> None:
        self.table.clear()
        self.model.clear()

    @rule()
    def reload(self) -> None:
        self.store = twindex.Store.load(self.store.dump())
        self.table = self.store.table("t", self.table.index, keys="int", values="int")

    @invariant()
    def equals_the_model(self) -> None:
        assert self.table == self.model
        assert len(self.table) == len(self.model)
        assert self.table.select_many(range(6)) == [self.model.get(key) for key in range(6)]
        assert self.table.contains_many(range(6)) == [key in self.model for key in range(6)]
        if self.table.index == "sorted":
            assert list(self.table) == sorted(self.model)
            assert list(self.table.scan(gte=2, lt=4, reverse=True)) == [
                (key, self.model[key]) for key in (3, 2) if key in self.model
            ]


AsDict.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAsDict = AsDict.TestCase


@pytest.mark.parametrize("size", [0, 1, 3, 64, 65, 5000])
@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 3000])
def test_batches_of_keys_of_any_length(size: int, count: int) -> None:
    """Short keys are copied, long ones and other objects are held; more than a thousand are read in parts."""
    keys = [b"%d" % number + b"k" * size for number in range(count)]
    table = twindex.Store().table("t", keys="bytes", values="bytes")
    table.update([(key, key[:9]) for key in keys[::2]])
    sources: list[Any] = [
        keys,
        tuple(keys),
        iter(keys),
        [bytearray(key) for key in keys],
        [*keys[:-1], *keys[-1:]],
    ]
    for source in sources:
        expected = [None if number % 2 else key[:9] for number, key in enumerate(keys)]
        assert table.select_many(source) == expected
    assert table.contains_many(keys) == [number % 2 == 0 for number in range(count)]
    mixed: list[Any] = [*keys, bytearray(b"absent"), b"k" * 70_000]
    with pytest.raises(twindex.KeyTooLongError):
        table.delete_many(mixed)
    assert table.delete_many(keys) == [number % 2 == 0 for number in range(count)]
    assert len(table) == 0
