"""docs/file-format.md is exact: a writer and a reader that were made from it alone agree with twindex."""

from __future__ import annotations

import json
import zlib
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
    Table,
    Writer,
    clear,
    create,
    delete,
    drop,
    int_key,
    pack_pairs,
    position,
    put,
    tuple_key,
    unpack_pairs,
)

SALT = 0x0123_4567_89AB_CDEF
LARGE = bytes(range(256)) * 400


def people() -> Table:
    """Keys that share prefixes of any length, in steps that recur."""
    pairs = {b"": b"0", b"p" * 400: b"1", b"p" * 400 + b"q": b"22"}
    for number in range(500):
        pairs |= {b"person/%03d" % number: b"{}", b"person/%03d/name" % number: b'"%d"' % number}
        pairs |= {b"person/%03d/born" % number: b"1815", b"person/%03d/seen" % number: b"null"}
    return Table(0, "people é", "hash", "str", "json", pairs)


def numbers() -> Table:
    """Values that are empty, and that each make a record of their own."""
    values = {7: b"", -1: LARGE, 2**63 - 1: b"x", -(2**63): LARGE, 0: b""}
    return Table(33, "numbers", "sorted", "int", "bytes", {int_key(key): values[key] for key in values})


def visits() -> Table:
    keys = [(("ada", 2026, 2), b"3"), (("a\0b", -300), b"-1"), ((None, 0), b"12")]
    return Table(31, "visits", "sorted", "tuple", "int", {tuple_key(*key): value for key, value in keys})


def a_file() -> Writer:
    writer = Writer(SALT)
    writer.dump([people(), numbers(), visits(), Table(5, "gone", "hash", "made-up", "bytes", {b"k": b"v"})])
    return writer


def content(store: twindex.Store) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for name, index in store.tables():
        keys, values = store.table(name, index, keys="bytes", values="bytes").codecs
        table = store.table(name, index, keys="bytes", values="bytes")
        pairs = list(table.items())
        found[name] = (index, keys, values, pairs if index == "sorted" else sorted(pairs))
    return found


def opened(path: Path, written: bytes | bytearray) -> twindex.Store:
    path.write_bytes(written)
    return twindex.open(path, existing=True, read_only=True)


def test_example_of_the_document_is_exact() -> None:
    keys = ["key1", "key1/name", "key1/size", "key2", "key2/name", "key2/size", "key3"]
    pairs = list(
        zip((key.encode() for key in keys), [b"v1", b"one", b"1", b"v2", b"two", b"2", b"3"], strict=True)
    )
    written = b"\x00\x04\x02key1v1\x04\x05\x03/nameone\x25\x01size1\x03\x01\x022v2\xd2two2\xd03v3"
    pairs[-1] = (b"key3", b"v3")
    assert pack_pairs(pairs) == written
    assert list(unpack_pairs(Input(written))) == pairs


def test_dump_is_read(path: Path) -> None:
    writer = a_file()
    assert Reader(writer.content).kinds.count(PAIRS) > 4
    tables = [people(), numbers(), visits(), Table(5, "gone", "hash", "made-up", "bytes", {b"k": b"v"})]
    with opened(path, writer.content) as store:
        assert content(store) == {table.name: table.content() for table in tables}
        assert list(store.table("numbers", "sorted", keys="int", values="bytes")) == [
            -(2**63),
            -1,
            0,
            7,
            2**63 - 1,
        ]
        assert list(store.table("visits", "sorted", keys="tuple", values="int").items()) == [
            ((None, 0), 12),
            (("a\0b", -300), -1),
            (("ada", 2026, 2), 3),
        ]
        assert store.table("people é")["person/042/name"] == "42"
        session = zlib.crc32(SALT.to_bytes(8, "little"))
        assert store.position == f"{session:016x}-0"
    assert twindex.check(path).damage == []
    assert content(twindex.Store.load(writer.content)) == Reader(writer.content).by_name()


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("ab/", max_size=7).map(str.encode), st.sampled_from([b"", b"v", b"w", b"long"]), max_size=60
    )
)
def test_all_pairs_come_back_however_they_are_packed(pairs: dict[bytes, bytes]) -> None:
    assert dict(unpack_pairs(Input(pack_pairs(pairs.items())))) == pairs
    for ordered in (pairs, dict(sorted(pairs.items()))):
        table = Table(1, "t", "sorted", "bytes", "bytes", ordered)
        writer = Writer(SALT)
        writer.dump([table])
        assert content(twindex.Store.load(writer.content)) == {"t": table.content()}


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


def test_every_operation_of_a_log_is_done(path: Path) -> None:
    writer = a_file()
    many = Table(70_000, "made later", "sorted", "bytes", "str")
    again = Table(6, "gone", "sorted", "str", "str")
    writer.log(position(99, 5))
    writer.log(put(0, b"person/000", b"[1]"))
    writer.log(put(33, int_key(7), LARGE), delete(33, int_key(0)), put(31, tuple_key("bob", 1), b"1"))
    writer.synced()
    writer.log(delete(0, b"person/001"), delete(0, b"nobody"))
    writer.log(clear(31))
    writer.log(drop(5), create(again), put(6, b"k", b""))
    writer.log(create(many))
    writer.log(*(put(many.id, b"%d" % number, b"v" * number) for number in range(200)))
    writer.content += bytes(5000)
    expected = [people(), numbers(), visits(), again, many]
    expected[0].pairs |= {b"person/000": b"[1]"}
    del expected[0].pairs[b"person/001"]
    expected[1].pairs |= {int_key(7): LARGE}
    del expected[1].pairs[int_key(0)]
    expected[2].pairs.clear()
    again.pairs[b"k"] = b""
    many.pairs |= {b"%d" % number: b"v" * number for number in range(200)}
    with opened(path, writer.content) as store:
        assert content(store) == {table.name: table.content() for table in expected}
        assert store.position == f"{99:016x}-12"
        assert store.torn is None
    report = twindex.check(path)
    assert (report.version, report.bytes, report.damage, report.torn) == (1, len(writer.content), [], None)
    read = Reader(writer.content)
    assert (read.by_name(), read.position, read.torn) == (
        {table.name: table.content() for table in expected},
        (99, 12),
        None,
    )
    assert (report.records, report.operations) == (len(read.kinds), read.operations)
    assert report.dump_pairs == sum(len(table.pairs) for table in (people(), numbers(), visits())) + 1


def test_what_twindex_writes_is_read(path: Path) -> None:
    with twindex.open(path) as store:
        table: twindex.Table[Any, Any] = store.table("people é", keys="str", values="json")
        for key, value in people().pairs.items():
            table[key.decode()] = json.loads(value)
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
    assert first == position(int(start[:16], 16), int(start[17:]))
    # The other way round: a table that is gone, and one that came meanwhile.
    users = Table(3, "users", "hash", "str", "str", {b"ada": b"2"})
    gone = Table(1, "gone", "hash", "str", "str")
    writer = Writer(SALT)
    changes = [put(1, b"a", b"0"), drop(1), create(users) + put(3, b"ada", b"1"), put(3, b"ada", b"2")]
    writer.dump([users], kept=[position(9, 4) + create(gone), *changes])
    writer.log(position(9, 8))
    writer.log(put(3, b"bob", b"3"))
    path.write_bytes(writer.content)
    read = [(batch.position, batch.changes[-1].table, batch.changes[-1].value) for batch in there(path, 4)]
    at = [f"{9:016x}-{sequence}" for sequence in range(5, 10)]
    tables, values = ["gone", "gone", "users", "users", "users"], ["0", None, "1", "2", "3"]
    assert read == list(zip(at, tables, values, strict=True))
    assert [batch.position for batch in there(path, 7)] == at[3:]
    with pytest.raises(twindex.PositionGoneError, match=f"{9:016x}-4"):
        there(path, 3)
    assert twindex.check(path).damage == []


def there(path: Path, sequence: int) -> list[twindex.ChangeSet]:
    """The changes of a file behind a position of the session 9."""
    with twindex.changes(path, f"{9:016x}-{sequence}") as changes:
        return list(iter(changes.poll, None))
