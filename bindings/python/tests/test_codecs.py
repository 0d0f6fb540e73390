"""Keys and values in each codec, there and back; codecs that a table remembers, and those of a program's own."""

from __future__ import annotations

import array
import ctypes
import enum
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Literal

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import twindex
from support import output_of, python, raw

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False)


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
    table = raw()
    assert table.insert(buffer, buffer)
    assert table.select(buffer) == b"\0abc" == table[b"\0abc"]
    assert type(table.select(buffer)) is bytes
    assert table.select_many([buffer]) == [b"\0abc"]
    assert table.insert_many([(buffer, b"")]) == [False]


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


class Gone:
    """A class that fails when its pickle is read."""

    def __init__(self, what: type[Exception]) -> None:
        self.what = what

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise state["what"]("mine")


DEEP = 100_000


@pytest.mark.parametrize(
    ("codec", "stored"),
    [("json", stored) for stored in (b"\xfe", b"{1", b"[" * DEEP + b"]" * DEEP)]
    # The last is a map with a list as a key.
    + [
        ("msgpack", stored)
        for stored in (b"", b"\xc1", b"\x91", b"\x01\x02", b"\x91" * DEEP, b"\x81\x90\xc0")
    ]
    + [
        ("pickle", stored)
        for stored in (b"", b"no pickle", pickle.dumps([1])[:-1], b"cgone\nGone\n.", b"cos\nGone\n.")
    ]
    + [("pickle", pickle.dumps(Gone(kind))) for kind in (TypeError, KeyError, ImportError, AttributeError)],
    ids=lambda value: repr(value)[:30],
)
def test_stored_value_that_cannot_be_read_is_an_encoding_error_and_stays(codec: Any, stored: bytes) -> None:
    table = seen_as(codec, stored)
    for read in (
        lambda: table[b"key"],
        lambda: list(table.items()),
        lambda: table.pop(b"key"),
        table.popitem,
    ):
        with pytest.raises(twindex.EncodingError, match=r"cannot be read as|is not UTF-8") as raised:
            read()
    assert list(table) == [b"key"]
    assert codec == "json" or raised.value.__cause__ is not None


def seen_as(codec: Any, stored: bytes) -> Any:
    """A table of this codec in which something else has written these bytes."""
    store: Any = twindex.Store()
    table = store.table("t", keys="bytes", values=codec)
    raw(store=store)[b"key"] = stored
    return table


@pytest.mark.parametrize(
    ("codec", "value", "error"),
    [
        ("json", {1, 2}, twindex.ArgumentTypeError),
        ("json", object(), twindex.ArgumentTypeError),
        ("json", [float("nan")], twindex.EncodingError),
        ("msgpack", object(), twindex.ArgumentTypeError),
        ("msgpack", 2**64, twindex.EncodingError),
        ("msgpack", "\ud800", twindex.EncodingError),
        ("pickle", (number for number in range(3)), twindex.ArgumentTypeError),
        ("pickle", lambda: None, twindex.EncodingError),
    ],
    ids=repr,
)
def test_value_that_a_format_cannot_hold_is_refused(
    codec: Any, value: object, error: type[twindex.Error]
) -> None:
    table = twindex.Store().table("t", values=codec)
    with pytest.raises(error, match=r"MessagePack|JSON|pickle") as raised:
        table["key"] = value
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
def test_unknown_codec_is_refused(options: dict[str, Any], named: str) -> None:
    store = twindex.Store()
    with pytest.raises(twindex.OptionError, match=named):
        store.table("t", **options)
    assert store.tables() == []


@pytest.mark.parametrize(
    ("key", "error", "mentions"),
    [
        (["a"], twindex.ArgumentTypeError, "key must be tuple, not list"),
        (("a", {}), twindex.ArgumentTypeError, r"key\[1\] must be None, bytes.*not dict"),
        ((2**63,), twindex.IntegerOverflowError, r"key\[0\] does not fit into 64 bits: 92233"),
        ((1, ("a", array.array("B", b"a"))), twindex.ArgumentTypeError, r"key\[1\]\[1\].*not array.array"),
        ((ctypes.c_int(1),), twindex.ArgumentTypeError, "not ctypes.c_int"),
        ((memoryview(array.array("i", [1])),), twindex.ArgumentTypeError, "not memoryview"),
    ],
    ids=repr,
)
def test_what_a_tuple_key_cannot_hold(key: Any, error: type[twindex.Error], mentions: str) -> None:
    table = twindex.Store().table("t", keys="tuple", values="bytes")
    with pytest.raises(error, match=mentions):
        table[key] = b""
    assert len(table) == 0


def test_buffer_is_an_item_of_a_tuple_like_bytes() -> None:
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


def test_msgpack_without_its_package(tmp_path: Path) -> None:
    (tmp_path / "msgpack.py").write_text("raise ModuleNotFoundError('hidden')", encoding="utf-8")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import twindex; twindex.Store().table('t', values='msgpack')"
    done = python(program, tmp_path)
    assert "pip install msgpack" in done.stderr.splitlines()[-1]


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
    | FLOATS
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
@example([float("nan")])
def test_accepted_values_are_read_back_equal(codec: Any, value: Any) -> None:
    cache = twindex.Cache(max_entries=10, keys="str", values=codec)
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


def fields(kind: Any, *given: tuple[str, Any], **more: Any) -> Any:
    """A structure or a union of C."""
    return type("Given", (kind,), {"_fields_": [*given], **more})


POINTER = ("pointer", ctypes.c_wchar_p)
UNION = fields(ctypes.Union, ("number", ctypes.c_int64), POINTER)
# Its format is that of a byte.
PACKED = fields(ctypes.Structure, ("byte", ctypes.c_char), POINTER, _pack_=1, _layout_="ms")
TEXT_OF_C = fields(ctypes.Structure, ("a", ctypes.c_int), POINTER)
WITH_POINTERS = [
    (ctypes.c_char_p * 2)(b"a", b"b"),
    (ctypes.c_wchar_p * 2)("a", "b"),
    (ctypes.c_void_p * 1)(1),
    ctypes.pointer(ctypes.c_int(1)),
    ctypes.CFUNCTYPE(None)(lambda: None),
    ctypes.py_object([]),
    TEXT_OF_C(1, "a"),
    (TEXT_OF_C * 2)(),
    UNION(1),
    (UNION * 2)(),
    memoryview(UNION(1)),
    PACKED(b"a", "b"),
    fields(ctypes.Structure, ("inner", TEXT_OF_C))(),
    fields(ctypes.Structure, ("byte", ctypes.c_char), ("union", UNION), ("array", UNION * 2))(),
]


@pytest.mark.parametrize("items", WITH_POINTERS, ids=lambda items: type(items).__name__)
def test_buffer_that_may_have_pointers_is_refused(items: Any) -> None:
    table = raw()
    uses: list[Callable[[], object]] = [
        lambda: table.insert(b"", items),
        lambda: table.insert(items, b""),
        lambda: table.get(items),
    ]
    for use in uses:
        with pytest.raises(
            twindex.ArgumentTypeError, match="must be bytes or numbers, not what may be pointers"
        ):
            use()
    keys: twindex.Table[Any, Any] = twindex.Store().table("t", keys="tuple", values="bytes")
    with pytest.raises(twindex.ArgumentTypeError):
        keys[(items,)] = b""
    assert len(table) == len(keys) == 0


NUMBERS_OF_C = fields(
    ctypes.Structure,
    ("a", ctypes.c_int8),
    ("b", ctypes.c_double),
    ("c", ctypes.c_uint16 * 3),
    ("d", ctypes.c_wchar),
)


@pytest.mark.parametrize(
    "items",
    [
        ctypes.c_int(1),
        (ctypes.c_char * 3)(),
        (ctypes.c_double * 2 * 3)(),
        ctypes.create_unicode_buffer("é"),
        NUMBERS_OF_C(1, 2.0),
        (NUMBERS_OF_C * 2)(),
        fields(ctypes.BigEndianStructure, ("a", ctypes.c_int16), ("b", ctypes.c_int64))(),
        array.array("l", [1]),
        array.array("u" if sys.version_info < (3, 13) else "w", "é"),
        memoryview(b"ab").cast("?"),
        memoryview(array.array("q", [1])),
    ],
    ids=lambda items: type(items).__name__,
)
def test_buffer_of_numbers_is_stored_as_its_bytes(items: Any) -> None:
    table = raw()
    table[b"key"] = items
    assert table[b"key"] == bytes(memoryview(items).cast("B") if memoryview(items).ndim else items)


def test_arrays_of_numpy_are_stored_unless_they_have_objects() -> None:
    np = pytest.importorskip("numpy")
    table = raw()
    for objects in (np.array([object()]), np.array([(1, None)], dtype="i4, O")):
        with pytest.raises(twindex.ArgumentTypeError, match="not what may be pointers"):
            table[b"key"] = objects
    kinds = ["u1", "c8, i4", [("OPXzZ", "u1"), ("b", "u1")], "S3", "U2", "g", "?", ">i4, f2", "c16", "3i2, d"]
    for kind in [*kinds, np.dtype("i1, f8", align=True)]:
        items = np.zeros(2, dtype=kind)
        table[b"key"] = items
        assert table[b"key"] == items.tobytes()


def test_exceptions_of_a_buffer_pass() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("classes have no __buffer__ before Python 3.12")

    class Interrupted:
        def __buffer__(self, flags: int) -> memoryview:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        raw().get(Interrupted())


def day_to_bytes(day: date) -> bytes:
    return day.isoformat().encode()


def day_of_bytes(raw: bytes) -> date:
    return date.fromisoformat(raw.decode())


DAYS = twindex.Codec("iso-date", day_to_bytes, day_of_bytes)


@pytest.mark.parametrize(
    ("keys", "values", "pair"),
    [
        ("bytes", "bytes", (b"\xff", b"\xfe")),
        ("str", "json", ("a", [1, None])),
        ("int", "int", (-7, 42)),
        ("tuple", "msgpack", (("a", 1.5), {1: b"x"})),
        ("int", "json", (2**63 - 1, 2**64)),
    ],
)
def test_table_remembers_its_codecs_in_memory_dumps_and_files(
    keys: Any, values: Any, pair: tuple[Any, Any], path: Path
) -> None:
    with twindex.open(path, durability="none") as kept:
        table = kept.table("t", "sorted", keys=keys, values=values)
        table[pair[0]] = pair[1]
    with twindex.open(path) as store:
        sources: list[Any] = [store, twindex.Store.load(store.dump()), twindex.Store.load(path)]
        for source in sources:
            again = source.table("t", "sorted")
            assert list(again.items()) == [pair]
            assert again.codecs == (keys, values)
            assert list(source.table("t", "sorted", keys=keys).items()) == [pair]
            raw = source.table("t", "sorted", keys="bytes", values="bytes")
            assert raw.codecs == (keys, values)
            assert all(isinstance(stored, bytes) for both in raw.items() for stored in both)


def test_mismatch_names_both() -> None:
    store: Any = twindex.Store()
    store.table("t", keys="int", values="json")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"keys": "str"}, 'the keys of table "t" have the codec "int", this needs "str"'),
        ({"keys": "tuple", "values": "json"}, '"int", this needs "tuple"'),
        ({"values": "msgpack"}, 'the values of table "t" have the codec "json", this needs "msgpack"'),
        ({"keys": DAYS}, '"int", this needs "iso-date"'),
    ]
    for options, mentions in cases:
        with pytest.raises(twindex.WrongCodecError, match=mentions) as raised:
            store.table("t", **options)
        assert isinstance(raised.value, TypeError)
    assert store.table("t", keys="bytes").codecs == ("int", "json")


def test_table_is_not_made_without_create() -> None:
    store = twindex.Store()
    with pytest.raises(KeyError, match=r'^there is no table "t"$') as raised:
        store.table("t", create=False)
    assert isinstance(raised.value, twindex.NoTableError)
    assert store.tables() == []
    store.table("t", values="int")["a"] = 1
    assert store.table("t", values="int", create=False)["a"] == 1
    with pytest.raises(twindex.WrongIndexError):
        store.table("t", "sorted", create=False)


def test_own_codec_serves_every_verb() -> None:
    store = twindex.Store()
    born = store.table("born", "sorted", keys=DAYS, values=DAYS)
    born.update({date(1912, 6, 23): date(1954, 6, 7), date(1815, 12, 10): date(1852, 11, 27)})
    assert list(born) == [date(1815, 12, 10), date(1912, 6, 23)]
    assert born.select_many([date(1912, 6, 23), date(2000, 1, 1)]) == [date(1954, 6, 7), None]
    assert list(born.scan(gt=date(1900, 1, 1), reverse=True)) == [(date(1912, 6, 23), date(1954, 6, 7))]
    assert born.cursor().scan_asc_next() == (date(1815, 12, 10), date(1852, 11, 27))
    assert born.codecs == ("iso-date", "iso-date")
    assert "iso-date keys, iso-date values" in repr(born)
    with pytest.raises(twindex.OptionError, match="iso-date keys have no prefix"):
        born.scan(prefix=date(1912, 6, 23))
    with pytest.raises(twindex.ArgumentTypeError, match="iso-date values are not"):
        born.increment(date(1912, 6, 23))
    again = store.table("born", "sorted", keys=DAYS, values="bytes")
    assert again[date(1815, 12, 10)] == b"1852-11-27"


def test_own_codec_and_pickle_are_named_each_time(path: Path) -> None:
    """To read a pickle runs what it says, and the file says that there is one."""
    with twindex.open(path) as store:
        born = store.table("born", keys=DAYS, values="pickle")
        born[date(1815, 12, 10)] = {"ada"}
        assert dict(pickle.loads(pickle.dumps(born))) == {date(1815, 12, 10): {"ada"}}
    with twindex.open(path) as store:
        with pytest.raises(twindex.WrongCodecError, match=r'keys of table "born".*"iso-date".*twindex.Codec'):
            store.table("born")
        with pytest.raises(twindex.WrongCodecError, match='"pickle", and reading it can run code'):
            store.table("born", keys=DAYS)
        assert dict(store.table("born", keys=DAYS, values="pickle")) == {date(1815, 12, 10): {"ada"}}
        assert list(store.table("born", keys="bytes", values="bytes")) == [b"1815-12-10"]


def test_errors_of_own_functions_pass() -> None:
    def fail(_: object) -> bytes:
        raise ZeroDivisionError("mine")

    store = twindex.Store()
    codec: Any = twindex.Codec("failing", fail, fail)
    table = store.table("t", values=codec)
    with pytest.raises(ZeroDivisionError, match="mine"):
        table["a"] = 1
    store.table("t", values="bytes")["a"] = b"1"
    for read in (lambda: table["a"], lambda: list(table.items()), lambda: table.select_many(["a"])):
        with pytest.raises(ZeroDivisionError, match="mine"):
            read()
    assert len(table) == 1


def test_own_codec_must_encode_to_bytes() -> None:
    codec: Any = twindex.Codec("text", lambda value: value, lambda raw: raw)
    table = twindex.Store().table("t", keys=codec)
    with pytest.raises(twindex.ArgumentTypeError, match=r'what codec "text" encodes to must be bytes.*str'):
        table["a"] = ""
    with pytest.raises(twindex.KeyTooLongError, match="65536"):
        table[bytes(65_536)] = ""
    assert bytes(65_536) not in table
    table[bytearray(b"a")] = "1"
    assert list(table) == [b"a"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", twindex.CodecNameError),
        ("é" * 128, twindex.CodecNameError),
        ("json", twindex.CodecNameError),
        ("bigint", twindex.CodecNameError),
        (7, twindex.ArgumentTypeError),
    ],
)
def test_name_that_no_own_codec_has(name: Any, kind: type[twindex.Error]) -> None:
    with pytest.raises(kind):
        twindex.Codec(name, day_to_bytes, day_of_bytes)


def test_what_is_no_codec() -> None:
    store: Any = twindex.Store()
    with pytest.raises(twindex.ArgumentTypeError, match="encode must be callable, not int: 1"):
        twindex.Codec("x", 1, day_of_bytes)  # type: ignore[arg-type]
    with pytest.raises(twindex.ArgumentTypeError, match=r"values must be the name .*not tuple"):
        store.table("t", values=(day_to_bytes, day_of_bytes))
    assert store.tables() == []


def test_missing_package_is_noticed_at_once(path: Path) -> None:
    with twindex.open(path) as store:
        store.table("t", values="msgpack")["a"] = [1]
    program = (
        "import sys; sys.modules['msgpack'] = None\n"
        "import twindex\n"
        f"store = twindex.open({str(path)!r})\n"
        "try: store.table('t')\n"
        "except ImportError as error: print(error)\n"
        "print(store.table('t', values='bytes')['a'])"
    )
    expected = "the codec \"msgpack\" needs the package msgpack: pip install msgpack\nb'\\x91\\x01'\n"
    assert output_of(program) == expected
