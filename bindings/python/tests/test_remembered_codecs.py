"""The codecs that a table remembers, and those of a program's own."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import output_of


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
        with pytest.raises(twindex.WrongCodecError, match='"pickle", which runs what it reads'):
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
