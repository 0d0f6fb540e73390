"""Keys and values in each codec, there and back."""

from __future__ import annotations

import array
import enum
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twindex

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("index", ["hash", "sorted"])
@given(st.dictionaries(st.binary(), st.binary()))
def test_bytes(index: Literal["hash", "sorted"], pairs: dict[bytes, bytes]) -> None:
    table = twindex.Store().table("t", index)
    table.update(pairs)
    assert dict(table.items()) == pairs


@given(st.dictionaries(TEXT, TEXT))
def test_str(pairs: dict[str, str]) -> None:
    table = twindex.Store().table("t", "sorted", keys="str", values="str")
    table.update(pairs)
    assert list(table.items()) == sorted(pairs.items(), key=lambda pair: pair[0].encode())


@given(st.dictionaries(INT64, INT64))
def test_int_keys_order_as_numbers(pairs: dict[int, int]) -> None:
    table = twindex.Store().table("t", "sorted", keys="int", values="int")
    table.update(pairs)
    assert list(table.items()) == sorted(pairs.items())


@given(st.dictionaries(INT64, JSON))
def test_json(pairs: dict[int, Any]) -> None:
    table = twindex.Store().table("t", keys="int", values="json")
    table.update(pairs)
    assert dict(table.items()) == pairs


@given(JSON)
def test_json_is_stored_as_compact_text(value: Any) -> None:
    store = twindex.Store()
    store.table("t", values="json")[b"key"] = value
    assert store.table("t")[b"key"] == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "buffer",
    [
        bytearray(b"\0abc"),
        memoryview(b"\0abc"),
        memoryview(b"_\0abc_")[1:-1],
        memoryview(bytearray(b"\0abc")),
        array.array("B", b"\0abc"),
        array.array("b", b"\0abc"),
        memoryview(b"\0abc").cast("H"),
        array.array("I", b"\0abc"),
        memoryview(b"\0abc").cast("B", (2, 2)),
        type("MyBytes", (bytes,), {})(b"\0abc"),
    ],
    ids=repr,
)
def test_any_contiguous_buffer_is_bytes(buffer: Any) -> None:
    table = twindex.Store().table("t")
    assert table.insert(buffer, buffer)
    assert table.select(buffer) == b"\0abc" == table[b"\0abc"]
    assert type(table.select(buffer)) is bytes
    assert table.select_many([buffer]) == [b"\0abc"]
    assert table.insert_many([(buffer, b"")]) == [False]


def test_a_buffer_is_copied() -> None:
    table = twindex.Store().table("t")
    buffer = bytearray(b"before")
    table.insert(b"key", buffer)
    buffer[:] = b"afterwards"
    assert table[b"key"] == b"before"


def test_a_buffer_in_pieces_is_refused() -> None:
    table = twindex.Store().table("t")
    with pytest.raises(twindex.ArgumentTypeError, match="memoryview"):
        table.insert(memoryview(b"abcdef")[::2], b"")


def test_codecs_are_views_of_the_same_bytes() -> None:
    store = twindex.Store()
    texts = store.table("t", keys="str", values="str")
    texts["é"] = "42"
    assert store.table("t")["é".encode()] == b"42"
    assert store.table("t", keys="str", values="int")["é"] == 42
    assert store.table("t", keys="str", values="json").increment("é") == 43


def test_int_keys_are_eight_bytes() -> None:
    store = twindex.Store()
    store.table("t", keys="int")[-1] = b""
    store.table("t", keys="int")[1] = b""
    assert sorted(store.table("t")) == [b"\x7f" + b"\xff" * 7, b"\x80" + b"\0" * 6 + b"\x01"]


def test_subclasses_of_int_and_str_are_what_they_derive_from() -> None:
    class Color(enum.IntEnum):
        RED = 1

    class Name(enum.StrEnum):
        ADA = "ada"

    table = twindex.Store().table("t", keys="str", values="int")
    table[Name.ADA] = Color.RED
    assert list(table.items()) == [("ada", 1)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**100])
def test_an_integer_of_more_than_64_bits_is_refused(number: int) -> None:
    table = twindex.Store().table("t", keys="int", values="int")
    for call in (
        lambda: table.insert(number, 0),
        lambda: table.insert(0, number),
        lambda: table.increment(0, number),
        lambda: table.increment_many([(0, number)]),
    ):
        with pytest.raises(twindex.IntegerOverflowError, match=str(number)[:10]):
            call()
    assert len(table) == 0


def test_stored_bytes_that_a_codec_cannot_read() -> None:
    store = twindex.Store()
    raw = store.table("t")
    raw[b"\xff"] = b"\xfe"
    with pytest.raises(twindex.EncodingError, match=r"\\xfe"):
        store.table("t", values="str").select(b"\xff")
    with pytest.raises(twindex.EncodingError, match=r"\\xff"):
        list(store.table("t", keys="str"))
    with pytest.raises(twindex.EncodingError, match=r"8 bytes, it has 1: b\"\\xff\""):
        list(store.table("t", keys="int"))
    with pytest.raises(twindex.NotAnIntegerError, match=r"\\xfe"):
        store.table("t", values="int").select_many([b"\xff"])
    with pytest.raises(twindex.EncodingError, match=r"\\xfe"):
        store.table("t", values="json").pop(b"\xff")
    raw[b"\xff"] = b"{1"
    with pytest.raises(twindex.EncodingError, match=r"\{1") as raised:
        store.table("t", values="json").popitem()
    assert isinstance(raised.value.__cause__, json.JSONDecodeError)
    assert dict(raw.items()) == {b"\xff": b"{1"}


def test_text_without_a_form_in_utf_8() -> None:
    table = twindex.Store().table("t", keys="str", values="json")
    for call in (
        lambda: table.insert("\ud800", 1),
        lambda: table.select_many(["\ud800"]),
        lambda: table.insert("a", ["\ud800"]),
        lambda: twindex.Store().table("\ud800"),
    ):
        with pytest.raises(twindex.EncodingError, match="ud800") as raised:
            call()
        assert isinstance(raised.value.__cause__, UnicodeEncodeError)
    assert len(table) == 0


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({1, 2}, twindex.ArgumentTypeError),
        (object(), twindex.ArgumentTypeError),
        ([float("nan")], twindex.EncodingError),
        (float("inf"), twindex.EncodingError),
    ],
    ids=repr,
)
def test_what_json_cannot_hold(value: object, error: type[twindex.Error]) -> None:
    table = twindex.Store().table("t", values="json")
    with pytest.raises(error) as raised:
        table.insert(b"key", value)
    assert raised.value.__cause__ is not None
    assert len(table) == 0


def test_an_exception_of_the_caller_s_own_code_passes_through_json() -> None:
    class Failing(dict[str, int]):
        def items(self) -> Any:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        twindex.Store().table("t", values="json").insert(b"key", Failing(a=1))


def test_json_null_is_a_value() -> None:
    table = twindex.Store().table("t", values="json")
    table[b"key"] = None
    assert table[b"key"] is None
    assert b"key" in table


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"keys": "utf8"}, "utf8"),
        ({"keys": "json"}, "json"),
        ({"values": "pickle"}, "pickle"),
        ({"values": ""}, '""'),
    ],
)
def test_an_unknown_codec_is_refused(options: dict[str, Any], named: str) -> None:
    store = twindex.Store()
    with pytest.raises(twindex.OptionError, match=named):
        store.table("t", **options)
    assert store.tables() == []
