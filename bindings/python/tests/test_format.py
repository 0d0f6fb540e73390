"""docs/file-format.md is exact: a reader that was made from it alone agrees with twindex."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twindex
from file_format import (
    END,
    HEADER,
    KEPT,
    LOG,
    PAIRS,
    SYNCED,
    TABLE,
    Content,
    DamagedError,
    Input,
    Reader,
    tuple_key,
    unpack_pairs,
)

LARGE = bytes(range(256)) * 400


def people() -> dict[str, Any]:
    """Keys that share prefixes of any length, in steps that recur."""
    pairs: dict[str, Any] = {"": 0, "p" * 400: 1, "p" * 400 + "q": 22}
    for number in range(500):
        name = f"person/{number:03}"
        pairs |= {name: {}, f"{name}/name": str(number), f"{name}/born": 1815, f"{name}/seen": None}
    return pairs


def content(store: twindex.Store) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for name, index in store.tables():
        keys, values = store.table(name, index, keys="bytes", values="bytes").codecs
        table = store.table(name, index, keys="bytes", values="bytes")
        pairs = list(table.items())
        found[name] = (index, keys, values, pairs if index == "sorted" else sorted(pairs))
    return found


def test_example_of_the_document_is_exact() -> None:
    keys = ["key1", "key1/name", "key1/size", "key2", "key2/name", "key2/size", "key3"]
    pairs = list(
        zip((key.encode() for key in keys), [b"v1", b"one", b"1", b"v2", b"two", b"2", b"3"], strict=True)
    )
    written = b"\x00\x04\x02key1v1\x04\x05\x03/nameone\x25\x01size1\x03\x01\x022v2\xd2two2\xd03v3"
    pairs[-1] = (b"key3", b"v3")
    assert list(unpack_pairs(Input(written))) == pairs


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("ab/", max_size=7).map(str.encode), st.sampled_from([b"", b"v", b"w", b"long"]), max_size=60
    )
)
def test_all_pairs_are_packed_as_the_document_says(pairs: dict[bytes, bytes]) -> None:
    store = twindex.Store()
    for index in ("hash", "sorted"):
        store.table(index, index, keys="bytes", values="bytes").update(pairs)
    assert Reader(store.dump()).by_name() == content(store)


ITEMS: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.binary(max_size=9)
    | st.text(max_size=9)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False).map(lambda number: number or 0.0)
    | st.sampled_from([0, -1, 2**63 - 1, -(2**63), -(2.0**63), 2.0**63, -0.5, -5e-324, b"\0", "\0"]),
    lambda items: st.tuples(items, items),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ITEMS, max_size=4).map(tuple))
def test_tuples_are_stored_as_the_document_says(items: tuple[Any, ...]) -> None:
    store = twindex.Store()
    store.table("t", "sorted", keys="tuple", values="int")[items] = -7
    assert content(store)["t"][3] == [(tuple_key(*items), b"-7")]


def test_what_twindex_writes_is_read(path: Path) -> None:
    with twindex.open(path) as store:
        table: twindex.Table[Any, Any] = store.table("people é", keys="str", values="json")
        table.update(people())
        store.table("numbers", "sorted", keys="int", values="bytes").update({-1: b"", 1: LARGE, 2: LARGE})
        store.compact()
        days = store.table("visits", "sorted", keys="tuple", values="int")
        with store.batch() as batch:
            batch.upsert(days, ("ada", 2026), 3)
            batch.delete(table, "person/000")
        for number in range(40):
            store.table(f"made and gone {number}")["k"] = "v"
            store.drop_table(f"made and gone {number}")
        store.table("cleared", keys="bytes", values="bytes")[b"k"] = b"v"
        store.table("cleared", keys="bytes", values="bytes").clear()
        store.flush()
        expected, where = content(store), store.position
        read = Reader(path.read_bytes())
        assert (read.by_name(), read.torn) == (expected, None)
        assert "{:016x}-{}".format(*read.position) == where
        assert read.by_name()["visits"] == ("sorted", "tuple", "int", [(tuple_key("ada", 2026), b"3")])
        dump = store.dump()
    for written in (path.read_bytes(), dump):
        assert Reader(written).by_name() == expected
    assert set(Reader(path.read_bytes()).kinds) == {TABLE, PAIRS, END, LOG, SYNCED, KEPT}
    assert set(Reader(dump).kinds) == {TABLE, PAIRS, END}
    damaged = bytearray(dump)
    damaged[HEADER + 20] ^= 1
    with pytest.raises(DamagedError):
        Reader(damaged)


def test_dump_keeps_the_changes_before_it(path: Path) -> None:
    with twindex.open(path) as store:
        start = store.position
        store.table("users")["ada"] = "1"
        store.drop_table("users")
        store.flush()
        before = Reader(path.read_bytes())
        store.compact()
        first, *kept = Reader(path.read_bytes()).kept
        assert "{:016x}-{}".format(*Reader(path.read_bytes()).position) == store.position
    assert kept == before.logged
    assert first[1:] == struct.pack("<QQ", int(start[:16], 16), int(start[17:]))
