"""Cursors, scans and iteration, while the table changes too."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twindex

Log = twindex.Table[int, str]

KEYS = st.integers(-20, 20)


def log(*keys: int) -> Log:
    table = twindex.Store().table("log", "sorted", keys="int", values="str")
    table.update({key: str(key) for key in keys})
    return table


@given(
    st.sets(KEYS),
    st.sampled_from([None, "gt", "gte"]),
    st.sampled_from([None, "lt", "lte"]),
    KEYS,
    KEYS,
    st.booleans(),
    st.none() | st.integers(0, 50),
)
def test_scans_are_slices_of_the_sorted_keys(
    keys: set[int],
    lower: str | None,
    upper: str | None,
    low: int,
    high: int,
    reverse: bool,
    limit: int | None,
) -> None:
    table = log(*keys)
    inside: dict[str | None, Callable[[int], bool]] = {
        None: lambda _: True,
        "gt": lambda key: key > low,
        "gte": lambda key: key >= low,
        "lt": lambda key: key < high,
        "lte": lambda key: key <= high,
    }
    expected = sorted((key for key in keys if inside[lower](key) and inside[upper](key)), reverse=reverse)
    bounds: dict[str, int] = {}
    if lower is not None:
        bounds[lower] = low
    if upper is not None:
        bounds[upper] = high
    scan = table.scan(**bounds, reverse=reverse, limit=limit)
    assert [key for key, _ in scan] == expected[:limit]


@given(st.sets(st.text("ab", max_size=3)), st.text("ab", max_size=2), st.booleans())
def test_prefixes(keys: set[str], prefix: str, reverse: bool) -> None:
    table = twindex.Store().table("words", "sorted", keys="str")
    table.update(dict.fromkeys(keys, b""))
    expected = sorted((key for key in keys if key.startswith(prefix)), reverse=reverse)
    assert [key for key, _ in table.scan(prefix=prefix, reverse=reverse)] == expected


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 48, 1000, 5000])
def test_a_scan_over_many_blocks(size: int) -> None:
    table = log(*range(size))
    assert [key for key, _ in table.scan()] == list(range(size))
    assert [key for key, _ in table.scan(reverse=True)] == list(range(size))[::-1]
    assert list(table) == list(range(size))
    assert list(table.values()) == [str(number) for number in range(size)]


def test_a_scan_ends_for_good() -> None:
    table = log(1)
    scan = table.scan()
    assert list(scan) == [(1, "1")]
    table[2] = "2"
    assert list(scan) == []
    assert iter(scan) is scan


def test_a_cursor_moves_both_ways_and_waits_at_the_end() -> None:
    table = log(1, 2, 3)
    cursor = table.cursor(gt=1)
    assert cursor.scan_asc_next() == (2, "2")
    assert cursor.scan_desc_next() is None
    assert cursor.scan_asc_next_many(9) == [(3, "3")]
    assert cursor.scan_asc_next() is None
    table[4] = "4"
    assert cursor.scan_asc_next() == (4, "4")
    assert table.cursor().scan_desc_next_many(2) == [(4, "4"), (3, "3")]


@pytest.mark.parametrize("index", ["hash", "sorted"])
def test_deleting_while_iterating(index: Literal["hash", "sorted"]) -> None:
    table = twindex.Store().table("t", index, keys="int", values="int")
    table.update({number: number for number in range(2000)})
    seen = []
    for key, value in table.items():
        assert key == value
        assert table.delete(key)
        seen.append(key)
    assert sorted(seen) == list(range(2000))
    assert len(table) == 0


@pytest.mark.parametrize("index", ["hash", "sorted"])
def test_writing_while_iterating(index: Literal["hash", "sorted"]) -> None:
    table = twindex.Store().table("t", index, keys="int", values="int")
    table.update(dict.fromkeys(range(1000), 0))
    seen = []
    for key in table:
        table[key] += 1
        table[key - 10_000] = -1
        seen.append(key)
    old = [key for key in seen if key >= 0]
    assert sorted(old) == list(range(1000))
    assert all(table[key] == 1 for key in range(1000))


def test_clearing_and_dropping_while_iterating() -> None:
    store = twindex.Store()
    table = store.table("t", "sorted", keys="int", values="int")
    table.update({number: number for number in range(1000)})
    scan, cursor = table.scan(), table.cursor()
    assert next(scan) == cursor.scan_asc_next() == (0, 0)
    table.clear()
    assert len(list(scan)) < 1000
    assert cursor.scan_asc_next() is None
    store.drop_table("t")
    assert list(table) == []
    assert cursor.scan_asc_next() is None


def test_a_cursor_outlives_the_names_of_its_table_and_store() -> None:
    def open_cursor() -> twindex.Cursor[int, str]:
        return log(1, 2).cursor()

    cursor = open_cursor()
    gc.collect()
    assert cursor.scan_asc_next_many(3) == [(1, "1"), (2, "2")]
