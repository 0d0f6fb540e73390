"""What the stubs say of each codec, which mypy checks here, is what a table returns."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView
from typing import Any, assert_type

import pytest

import twindex


def of(value: object) -> str:
    return type(value).__name__


def test_bytes() -> None:
    table = twindex.Store().table("t", "sorted", keys="bytes", values="bytes")
    assert table.insert(bytearray(b"a"), memoryview(b"1"))
    assert of(assert_type(table[b"a"], bytes)) == "bytes"
    assert of(assert_type(table.select(memoryview(b"a")), bytes | None)) == "bytes"
    assert of(assert_type(table.select_many([bytearray(b"a")]), list[bytes | None])[0]) == "bytes"
    keys: KeysView[bytes] = table.keys()
    assert list(keys) == [b"a"]
    accepted: twindex.Table[bytes, bytes] = table
    assert accepted is table


def test_str_and_int() -> None:
    table = twindex.Store().table("t", "sorted", keys="str", values="int")
    assert assert_type(table.update({"a": 1}, b=2), None) is None
    assert assert_type(table.replace("a", 2), bool) is True
    assert of(assert_type(table["a"], int)) == "int"
    items: ItemsView[str, int] = table.items()
    assert list(items) == [("a", 2), ("b", 2)]
    assert_type(table.pop("c", "none"), int | str)
    pair = assert_type(table.cursor(gte="a").scan_asc_next(), tuple[str, int] | None)
    assert pair == ("a", 2)
    assert assert_type(next(table.scan(prefix="b")), tuple[str, int]) == ("b", 2)


def test_json() -> None:
    table = twindex.Store().table("t", keys="int", values="json")
    assert_type(table.setdefault(1, {"a": []}), Any)
    assert assert_type(list(table.items()), list[tuple[int, Any]]) == [(1, {"a": []})]


def test_what_mypy_refuses() -> None:
    """Each of these has a comment that mypy would call unused if it took the call."""
    table = twindex.Store().table("t", "sorted", keys="str", values="int")
    for call in (
        lambda: table.insert(b"a", 1),  # type: ignore[arg-type]
        lambda: table.insert("a", "1"),  # type: ignore[arg-type]
        lambda: table[1],  # type: ignore[index]
        lambda: table.scan(gt=1),  # type: ignore[arg-type]
        lambda: table.increment_many([("a", "1")]),  # type: ignore[list-item]
        lambda: twindex.Store().table("t", "btree", keys="bytes", values="bytes"),  # type: ignore[call-overload]
        lambda: twindex.Store().table("t", keys="json", values="bytes"),  # type: ignore[call-overload]
    ):
        with pytest.raises(twindex.Error):
            call()
