"""Cursors, scans and iteration, while the table changes too."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sortedcontainers
from hypothesis import given
from hypothesis import strategies as st

import twindex

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
