"""The codecs that a table remembers, and those of a program's own."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import twindex


def day_to_bytes(day: date) -> bytes:
    return day.isoformat().encode()


def day_of_bytes(raw: bytes) -> date:
    return date.fromisoformat(raw.decode())


DAYS = twindex.Codec("iso-date", day_to_bytes, day_of_bytes)


def loosely(store: twindex.Store) -> Any:
    """The store for calls that the stubs refuse."""
    return store


def test_text_unless_told() -> None:
    store = twindex.Store()
    table = store.table("t")
    table["a"] = "1"
    assert table.codecs == ("str", "str")
    assert store.table("mixed", values="json").codecs == ("str", "json")
    assert dict(store.table("t", keys="bytes", values="bytes")) == {b"a": b"1"}


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
def test_a_table_remembers_in_memory_in_dumps_and_in_files(
    keys: Any, values: Any, pair: tuple[Any, Any], tmp_path: Path
) -> None:
    file = tmp_path / "app.twx"
    with twindex.open(file, durability="none") as kept:
        table = kept.table("t", "sorted", keys=keys, values=values)
        table[pair[0]] = pair[1]
    with twindex.open(file) as store:
        for source in (store, twindex.Store.load(store.dump()), twindex.Store.load(file)):
            again = loosely(source).table("t", "sorted")
            assert list(again.items()) == [pair]
            assert again.codecs == (keys, values)
            assert list(source.table("t", "sorted", keys=keys).items()) == [pair]
            raw = source.table("t", "sorted", keys="bytes", values="bytes")
            assert raw.codecs == (keys, values)
            assert all(isinstance(stored, bytes) for both in raw.items() for stored in both)


def test_a_mismatch_names_both() -> None:
    store = loosely(twindex.Store())
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


def test_a_table_that_is_not_there_is_not_made() -> None:
    store = twindex.Store()
    with pytest.raises(KeyError, match=r'^there is no table "t"$') as raised:
        store.table("t", create=False)
    assert isinstance(raised.value, twindex.NoTableError)
    assert store.tables() == []
    store.table("t", values="int")["a"] = 1
    assert store.table("t", values="int", create=False)["a"] == 1
    with pytest.raises(twindex.WrongIndexError):
        store.table("t", "sorted", create=False)


def test_a_codec_of_ones_own() -> None:
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


def test_a_codec_of_ones_own_is_to_be_named_again(tmp_path: Path) -> None:
    file = tmp_path / "app.twx"
    with twindex.open(file) as store:
        store.table("born", keys=DAYS, values="str")[date(1815, 12, 10)] = "ada"
    with twindex.open(file) as store:
        with pytest.raises(twindex.WrongCodecError, match=r'keys of table "born".*"iso-date".*twindex.Codec'):
            store.table("born")
        assert dict(store.table("born", keys=DAYS)) == {date(1815, 12, 10): "ada"}
        assert dict(store.table("born", keys="bytes")) == {b"1815-12-10": "ada"}


def test_a_pickle_is_read_only_where_it_is_named() -> None:
    """To read one runs what it says, and the file says that there is one."""
    store = twindex.Store()
    store.table("t", values="pickle")["a"] = {1, 2}
    with pytest.raises(twindex.WrongCodecError, match='"pickle", which runs what it reads'):
        store.table("t")
    assert store.table("t", values="pickle")["a"] == {1, 2}


def test_errors_of_ones_own_functions_pass() -> None:
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


def test_what_a_codec_encodes_to_is_bytes() -> None:
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
def test_a_name_that_no_codec_of_ones_own_has(name: Any, kind: type[twindex.Error]) -> None:
    with pytest.raises(kind):
        twindex.Codec(name, day_to_bytes, day_of_bytes)


def test_what_is_no_codec() -> None:
    store = loosely(twindex.Store())
    with pytest.raises(twindex.ArgumentTypeError, match="encode must be callable, not int: 1"):
        twindex.Codec("x", loosely(1), day_of_bytes)  # type: ignore[arg-type]
    with pytest.raises(twindex.ArgumentTypeError, match=r"values must be the name .*not tuple"):
        store.table("t", values=(day_to_bytes, day_of_bytes))
    assert store.tables() == []


def test_a_table_with_a_codec_of_ones_own_is_pickled(tmp_path: Path) -> None:
    with twindex.open(tmp_path / "app.twx") as store:
        table = store.table("born", keys=DAYS)
        table[date(1815, 12, 10)] = "ada"
        assert dict(pickle.loads(pickle.dumps(table))) == {date(1815, 12, 10): "ada"}


def test_a_missing_package_is_noticed_at_once(tmp_path: Path) -> None:
    file = tmp_path / "app.twx"
    with twindex.open(file) as store:
        store.table("t", values="msgpack")["a"] = [1]
    program = (
        "import sys; sys.modules['msgpack'] = None\n"
        "import twindex\n"
        f"store = twindex.open({str(file)!r})\n"
        "try: store.table('t')\n"
        "except ImportError as error: print(error)\n"
        "print(store.table('t', values='bytes')['a'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        done.stdout == "the codec \"msgpack\" needs the package msgpack: pip install msgpack\nb'\\x91\\x01'\n"
    )
