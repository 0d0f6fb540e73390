"""Keys and values in each codec, there and back."""

from __future__ import annotations

import array
import ctypes
import enum
import json
import pickle
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import twindex

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("index", ["hash", "sorted"])
@given(st.dictionaries(st.binary(), st.binary()))
def test_bytes(index: Literal["hash", "sorted"], pairs: dict[bytes, bytes]) -> None:
    table = twindex.Store().table("t", index, keys="bytes", values="bytes")
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


@given(JSON)
def test_json_is_stored_as_compact_text(value: Any) -> None:
    store = twindex.Store()
    store.table("t", values="json", keys="bytes")[b"key"] = value
    assert (
        store.table("t", keys="bytes", values="bytes")[b"key"]
        == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    )


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
    table = twindex.Store().table("t", keys="bytes", values="bytes")
    assert table.insert(buffer, buffer)
    assert table.select(buffer) == b"\0abc" == table[b"\0abc"]
    assert type(table.select(buffer)) is bytes
    assert table.select_many([buffer]) == [b"\0abc"]
    assert table.insert_many([(buffer, b"")]) == [False]


def test_a_buffer_is_copied() -> None:
    table = twindex.Store().table("t", keys="bytes", values="bytes")
    buffer = bytearray(b"before")
    table.insert(b"key", buffer)
    buffer[:] = b"afterwards"
    assert table[b"key"] == b"before"


def test_a_buffer_in_pieces_is_refused() -> None:
    table = twindex.Store().table("t", keys="bytes", values="bytes")
    with pytest.raises(twindex.ArgumentTypeError, match="memoryview"):
        table.insert(memoryview(b"abcdef")[::2], b"")


def test_codecs_are_views_of_the_same_bytes() -> None:
    store = twindex.Store()
    texts = store.table("t", keys="str", values="str")
    texts["é"] = "42"
    assert store.table("t", keys="bytes", values="bytes")["é".encode()] == b"42"
    assert store.table("t", keys="bytes", values="str")["é".encode()] == "42"
    assert texts.increment("é") == 43
    numbers = store.table("numbers", values="json")
    numbers["é"] = 42
    assert numbers.increment("é") == 43
    assert store.table("numbers", values="bytes")["é"] == b"43"


def test_int_keys_are_eight_bytes() -> None:
    store = twindex.Store()
    store.table("t", keys="int", values="bytes")[-1] = b""
    store.table("t", keys="int", values="bytes")[1] = b""
    assert sorted(store.table("t", keys="bytes", values="bytes")) == [
        b"\x7f" + b"\xff" * 7,
        b"\x80" + b"\0" * 6 + b"\x01",
    ]


def test_subclasses_of_int_and_str_are_what_they_derive_from() -> None:
    class Color(enum.IntEnum):
        RED = 1

    class Name(enum.StrEnum):
        ADA = "ada"

    table = twindex.Store().table("t", keys="str", values="int")
    table[Name.ADA] = Color.RED
    assert list(table.items()) == [("ada", 1)]


@pytest.mark.parametrize("codec", ["msgpack", "pickle"])
def test_increment_needs_decimal_text(codec: Literal["msgpack", "pickle"]) -> None:
    table = twindex.Store().table("t", values=codec, keys="bytes")
    for call in (lambda: table.increment(b"a"), lambda: table.increment_many([(b"a", 1)])):
        with pytest.raises(twindex.ArgumentTypeError, match=f"decimal text, which {codec} values are not"):
            call()
    assert len(table) == 0


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


def with_stored(key: bytes, value: bytes, **codecs: Any) -> twindex.Table[Any, Any]:
    """A table of these codecs in which something else has written these bytes."""
    store: Any = twindex.Store()
    table: twindex.Table[Any, Any] = store.table("t", **{"keys": "bytes", "values": "bytes"} | codecs)
    store.table("t", keys="bytes", values="bytes")[key] = value
    return table


def test_stored_bytes_that_a_codec_cannot_read() -> None:
    with pytest.raises(twindex.EncodingError, match=r"\\xfe"):
        with_stored(b"\xff", b"\xfe", values="str").select(b"\xff")
    with pytest.raises(twindex.EncodingError, match=r"\\xff"):
        list(with_stored(b"\xff", b"\xfe", keys="str"))
    with pytest.raises(twindex.EncodingError, match=r'8 bytes, it has 1: "\\xff"'):
        list(with_stored(b"\xff", b"\xfe", keys="int"))
    with pytest.raises(twindex.NotAnIntegerError, match=r"\\xfe"):
        with_stored(b"\xff", b"\xfe", values="int").select_many([b"\xff"])
    table = with_stored(b"\xff", b"\xfe", values="json")
    with pytest.raises(twindex.EncodingError, match=r"\\xfe"):
        table.pop(b"\xff")
    assert b"\xff" in table
    table = with_stored(b"\xff", b"{1", values="json")
    with pytest.raises(twindex.EncodingError, match=r"\{1") as raised:
        table.popitem()
    assert isinstance(raised.value.__cause__, json.JSONDecodeError)
    assert list(table) == [b"\xff"]


def test_text_without_a_form_in_utf_8() -> None:
    table = twindex.Store().table("t", keys="str", values="json")
    for call in (
        lambda: table.insert("\ud800", 1),
        lambda: table.select_many(["\ud800"]),
        lambda: table.insert("a", ["\ud800"]),
        lambda: twindex.Store().table("\ud800", keys="bytes", values="bytes"),
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
    table = twindex.Store().table("t", values="json", keys="bytes")
    with pytest.raises(error) as raised:
        table.insert(b"key", value)
    assert raised.value.__cause__ is not None
    assert len(table) == 0


class MyList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([9])


class MyDict(dict[Any, Any]):
    def items(self) -> Any:
        return [("z", 9)] * 3


class MyStr(str):
    __hash__ = object.__hash__


class MyInt(int):
    __hash__ = object.__hash__
    __gt__ = object.__eq__


class MyBytes(bytes):
    __hash__ = object.__hash__


class MyFloat(float):
    def __repr__(self) -> str:
        return "mine"


# Last, what has a form in MessagePack alone.
OWN = [
    (MyList([1, MyList()]), [1, []]),
    ([1, {"a": 2, "b": [MyDict(a=1)], "c": 3}], [1, {"a": 2, "b": [{"a": 1}], "c": 3}]),
    ({"a": 1, MyStr("b"): MyStr("c"), "d": 2}, {"a": 1, "b": "c", "d": 2}),
    ([True, MyInt(2**63 - 1), MyFloat(1.5)], [True, 2**63 - 1, 1.5]),
    (OrderedDict(a=1, b=MyList([2])), {"a": 1, "b": [2]}),
    ({MyInt(1): MyBytes(b"a"), MyBytes(b"b"): 2}, {1: b"a", b"b": 2}),
]


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_subclasses_are_stored_by_what_they_hold(codec: Literal["json", "msgpack"]) -> None:
    table: twindex.Table[str, Any] = twindex.Store().table("t", values=codec)
    for value, stored in OWN if codec == "msgpack" else OWN[:-1]:
        table["key"] = value
        assert repr(table["key"]) == repr(stored)
    ordered = OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    table["key"] = ordered
    assert list(table["key"]) == ["b", "a"]
    two_keys: list[Any] = [{MyStr("a"): 1, "a": 2}, {"a": 1, MyStr("a"): 2}]
    if codec == "msgpack":
        two_keys += [{MyInt(1): 1, 1.0: 2}, {MyBytes(b"a"): 1, b"a": 2}]
    for value in two_keys:
        with pytest.raises(twindex.ArgumentTypeError, match="two keys of a dict would come back as one"):
            table["key"] = value
    hashable: Any = type("Hashable", (list,), {"__hash__": object.__hash__})
    with pytest.raises(twindex.ArgumentTypeError, match="key"):
        table["key"] = {hashable(): 1}


def test_json_null_is_a_value() -> None:
    table = twindex.Store().table("t", values="json", keys="bytes")
    table[b"key"] = None
    assert table[b"key"] is None
    assert b"key" in table


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"keys": "utf8"}, "utf8"),
        ({"keys": "json"}, "json"),
        ({"keys": "pickle"}, "pickle"),
        ({"values": "tuple"}, "tuple"),
        ({"values": ""}, '""'),
    ],
)
def test_an_unknown_codec_is_refused(options: dict[str, Any], named: str) -> None:
    store = twindex.Store()
    with pytest.raises(twindex.OptionError, match=named):
        store.table("t", **options)
    assert store.tables() == []


NESTED = st.recursive(
    st.none() | st.binary(max_size=3) | st.text(max_size=3).filter(str.isascii) | INT64 | FLOATS,
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(st.lists(NESTED, max_size=3).map(tuple), st.lists(NESTED, max_size=3).map(tuple))
def test_tuples_come_back_and_start_as_their_prefixes(prefix: tuple[Any, ...], rest: tuple[Any, ...]) -> None:
    table = twindex.Store().table("t", "sorted", keys="tuple", values="int")
    key = prefix + rest
    table[key] = 1
    assert (list(table), table.popitem(), len(table)) == ([key], (key, 1), 0)
    table.update([(key, 2), ((*prefix, "~", "other"), 3), (("another",), 4)])
    found = [other for other, _ in table.scan(prefix=prefix)]
    assert key in found
    assert all(other[: len(prefix)] == prefix for other in found)
    assert set(found) == {other for other in table if other[: len(prefix)] == prefix}


@pytest.mark.parametrize(
    ("key", "error", "mentions"),
    [
        (["a"], twindex.ArgumentTypeError, "key must be tuple, not list"),
        (("a", {}), twindex.ArgumentTypeError, r"key\[1\] must be None, bytes.*not dict"),
        ((True,), twindex.ArgumentTypeError, r"key\[0\] must be None.*not bool: True"),
        ((2**63,), twindex.IntegerOverflowError, r"key\[0\] does not fit into 64 bits: 92233"),
        ((1, ("a", array.array("B", b"a"))), twindex.ArgumentTypeError, r"key\[1\]\[1\].*not array.array"),
        ((ctypes.c_int(1),), twindex.ArgumentTypeError, "not ctypes.c_int"),
        ((memoryview(array.array("i", [1])),), twindex.ArgumentTypeError, "not memoryview"),
        ((float("nan"),), twindex.EncodingError, "NaN"),
        (("\ud800",), twindex.EncodingError, "ud800"),
    ],
    ids=repr,
)
def test_what_a_tuple_key_cannot_hold(key: Any, error: type[twindex.Error], mentions: str) -> None:
    table = twindex.Store().table("t", keys="tuple", values="bytes")
    with pytest.raises(error, match=mentions):
        table[key] = b""
    assert len(table) == 0


def test_a_buffer_is_an_item_of_a_tuple_like_bytes() -> None:
    table: twindex.Table[Any, Any] = twindex.Store().table("t", keys="tuple", values="int")
    table[bytearray(b"a\0"), memoryview(b"_b_")[1:2]] = 1
    for size in (65_534, 65_536):
        with pytest.raises(twindex.KeyTooLongError, match=r"a key of 6553[68] bytes is too long"):
            table[(bytearray(b"x" * size),)] = 1
        assert (bytearray(b"x" * size),) not in table


def test_numbers_and_arrays_of_numpy_are_no_bytes_in_a_tuple() -> None:
    np = pytest.importorskip("numpy")
    table: twindex.Table[Any, Any] = twindex.Store().table("t", keys="tuple", values="int")
    times = [np.datetime64(1, "s"), np.timedelta64(1, "s")]
    arrays = [np.array([1], "u1"), memoryview(np.array([1], "i2")), memoryview(np.uint8(1))]
    for item in [np.int64(5), np.bool_(True), np.float32(1), *times, *arrays]:
        for verb in (table.get, lambda key: table.insert(key, 1)):
            with pytest.raises(
                twindex.ArgumentTypeError, match=r"key\[1\]\[0\] must be .*, not (numpy|memoryview)"
            ):
                verb(("a", (item,)))
    table[np.float64(1.5), np.str_("a"), np.bytes_(b"b")] = 1
    assert list(table) == [(1.5, "a", b"b")]


def test_tuples_too_deep_are_refused() -> None:
    store = twindex.Store()
    table = store.table("t", keys="tuple", values="bytes")
    key: tuple[Any, ...] = ()
    for _ in range(64):
        key = (key,)
    table[key] = b""
    assert list(table) == [key]
    with pytest.raises(twindex.EncodingError, match="at most 64 deep"):
        table[(key,)] = b""
    table.clear()
    store.table("t", keys="bytes", values="bytes")[b"\x05" * 65_535] = b""
    with pytest.raises(twindex.EncodingError, match=r"not a tuple.*\\x05"):
        list(table)


@given(st.binary(max_size=12))
def test_bytes_that_are_no_tuple(key: bytes) -> None:
    store = twindex.Store()
    table = store.table("t", "sorted", keys="tuple", values="bytes")
    store.table("t", "sorted", keys="bytes", values="bytes")[key] = b""
    for read in (
        lambda: list(table),
        lambda: [table.peekitem()[0]],
        lambda: [table.cursor().scan_asc_next()],
    ):
        try:
            found = read()
        except twindex.EncodingError as error:
            assert "not a tuple" in str(error)  # noqa: PT017
        else:
            assert isinstance(found[0], tuple)


def test_what_msgpack_cannot_hold() -> None:
    store = twindex.Store()
    table = store.table("t", values="msgpack", keys="bytes")
    with pytest.raises(twindex.ArgumentTypeError, match="MessagePack"):
        table[b"key"] = object()
    for value in (2**64, "\ud800"):
        with pytest.raises(twindex.EncodingError, match="MessagePack") as raised:
            table[b"key"] = value
        assert raised.value.__cause__ is not None
    for stored in (b"", b"\xc1", b"\x91", b"\x01\x02"):
        store.table("t", keys="bytes", values="bytes")[b"key"] = stored
        with pytest.raises(twindex.EncodingError, match="cannot be read as MessagePack"):
            table[b"key"]


@pytest.mark.parametrize(
    ("codec", "stored"),
    [
        ("json", b"[" * 100_000 + b"]" * 100_000),
        ("msgpack", b"\x91" * 100_000 + b"\xc0"),
        # A map with a list as a key.
        ("msgpack", b"\x81\x90\xc0"),
    ],
    ids=["deep JSON", "deep MessagePack", "a key that is a list"],
)
def test_what_a_file_may_hold_and_python_may_not(codec: Literal["json", "msgpack"], stored: bytes) -> None:
    """They were a RecursionError and a TypeError, which who reads a file of others does not expect."""
    table = with_stored(b"key", stored, values=codec)
    with pytest.raises(twindex.EncodingError, match="cannot be read as"):
        table[b"key"]


def test_numbers_past_all_floats_are_refused_as_they_could_not_be_written_back() -> None:
    """They were read as infinite, as `NaN` once was as `nan`, and the table then refused what it had given."""
    for stored in (b"NaN", b"[-Infinity]", b"1e999", b'{"a":-1E+400}', b"1" + b"0" * 400 + b".0"):
        table = with_stored(b"key", stored, values="json")
        with pytest.raises(twindex.EncodingError, match="cannot be read as JSON"):
            table[b"key"]
    for stored in (b"1e3", b'"1e999"', b'"5e8400e29b"', b"1" + b"0" * 400):
        table = with_stored(b"key", stored, values="json")
        value = table[b"key"]
        table[b"key"] = value
        assert table[b"key"] == value


def test_msgpack_without_its_package(tmp_path: Path) -> None:
    (tmp_path / "msgpack.py").write_text("raise ModuleNotFoundError('hidden')", encoding="utf-8")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import twindex; twindex.Store().table('t', values='msgpack')"
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "pip install msgpack" in done.stderr.splitlines()[-1]


def test_pickle() -> None:
    table = twindex.Store().table("t", keys="str", values="pickle")
    value = OrderedDict(a={1, 2}, b=(3.5, None), c=complex(1, 2))
    table["key"] = value
    found = table["key"]
    assert found == value
    assert type(found) is OrderedDict
    assert table.select_many(["key", "x"]) == [value, None]
    assert table.alter("key", lambda found: {**(found or {}), "d": 4})
    assert list(table["key"]) == ["a", "b", "c", "d"]


def test_what_cannot_be_pickled() -> None:
    store = twindex.Store()
    table = store.table("t", values="pickle", keys="bytes")
    with pytest.raises(twindex.ArgumentTypeError, match="a pickle can hold"):
        table[b"key"] = (number for number in range(3))
    with pytest.raises(twindex.EncodingError, match="no form in a pickle"):
        table[b"key"] = lambda: None
    for stored in (b"", b"no pickle", pickle.dumps([1])[:-1]):
        store.table("t", keys="bytes", values="bytes")[b"key"] = stored
        with pytest.raises(twindex.EncodingError, match="cannot be read as a pickle"):
            table[b"key"]


def nested(depth: int) -> Any:
    value: Any = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


# What a writer may be given, whether or not its format has it.
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text()
    | st.binary(max_size=3)
    | st.binary(max_size=4).map(bytearray)
    | st.sampled_from([512, 513, 1_024]).map(nested)
    | st.sampled_from([memoryview(b"ab"), memoryview(b"ab").cast("b")])
    | st.builds(lambda: memoryview(b"ab").cast("H"))
    | st.sampled_from([msgpack.ExtType(5, b"x"), 1 + 2j]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.integers() | st.text() | st.booleans() | st.tuples(st.integers()), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("codec", ["json", "msgpack", "pickle", "object"])
@given(ANYTHING)
@example({(1, 2): 3})
@example({1: "one", "1": "text"})
@example({"a": (1, 2)})
def test_accepted_values_are_read_back_equal(codec: Any, value: Any) -> None:
    cache = twindex.Store().cache("c", maxsize=10, values=codec)
    try:
        cache["key"] = value
    except twindex.Error:
        assert len(cache) == 0
    else:
        # Of NaN at least the text is the same.
        assert cache["key"] == value or repr(cache["key"]) == repr(value)


def test_values_are_at_most_512_deep() -> None:
    for codec in ("json", "msgpack"):
        table: twindex.Table[str, Any] = twindex.Store().table("t", values=codec)
        table["key"] = nested(512)
        assert table["key"] == nested(512)
        with pytest.raises(twindex.EncodingError, match="at most 512 deep"):
            table["key"] = nested(513)


def test_buffers_of_pointers_are_refused() -> None:
    np = pytest.importorskip("numpy")
    table: twindex.Table[str, Any] = twindex.Store().table("t", values="bytes")
    text: Any = type(
        "Text", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int), ("b", ctypes.c_wchar_p)]}
    )
    for items in (
        np.array([object()]),
        np.array([(1, None)], dtype="i4, O"),
        (ctypes.c_char_p * 2)(b"a", b"b"),
        (ctypes.c_wchar_p * 2)("a", "b"),
        (ctypes.c_void_p * 1)(1),
        ctypes.pointer(ctypes.c_int(1)),
        text(1, "a"),
        (text * 2)(),
        type("Outer", (ctypes.Structure,), {"_fields_": [("inner", text)]})(),
    ):
        with pytest.raises(twindex.ArgumentTypeError, match="value must be bytes, not pointers"):
            table["key"] = items
    table["key"] = np.array([(1, 2)], dtype=[("OPXzZ", "u1"), ("b", "u1")])
    assert table["key"] == b"\x01\x02"
    table["key"] = np.zeros(2, dtype="c8, i4")
    assert table["key"] == bytes(24)


def test_exceptions_of_a_buffer_pass() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("classes have no __buffer__ before Python 3.12")

    class Interrupted:
        def __buffer__(self, flags: int) -> memoryview:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        twindex.Store().table("t", keys="bytes").get(Interrupted())
