"""Snapshots: every read shows one moment, nobody writes, and what ends a snapshot ends all that reads it."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, assert_type

import pytest

import twindex
from support import Index, in_threads, output_of, raw

WORDS = {f"{number:05}": number for number in range(1000)}


@pytest.fixture
def store() -> twindex.Store:
    """A hash and a sorted table with the same pairs."""
    store = twindex.Store()
    for index in ("hash", "sorted"):
        store.table(index, index, values="int").update(WORDS)
    return store


def changed(table: twindex.Table[str, int]) -> None:
    table.delete_many([*WORDS][::2])
    table.update(dict.fromkeys([*WORDS][1::2], -1))
    table["more"] = 1


def test_methods_of_a_mapping_read_what_the_table_had(store: twindex.Store, index: Index) -> None:
    """What the vectors have no word for."""

    def read(table: Any) -> list[Any]:
        results = [len(table), dict(table), sorted(table), table == WORDS, sorted(table.values())]
        results += [sorted(table.keys() & {"00001", "x"}), table["00007"], table.get("x", 5)]
        results += [bytes(table.view("00007")), table.select_many([*WORDS, "x"]), table.index, table.codecs]
        if index == "sorted":
            results += [list(table), list(reversed(table)), list(reversed(table.items())), table.peekitem(5)]
            results += [table.bisect_left("00500"), list(table.irange("00990", "00995"))]
        return results

    table = store.table(index, values="int")
    expected = read(table)
    with store.snapshot() as then:
        changed(table)
        assert read(then.table(table)) == read(then.table(index)) == expected


def test_table_of_a_snapshot_is_a_mapping_that_refuses_each_write(store: twindex.Store) -> None:
    then: Any = store.snapshot().table("sorted")
    assert issubclass(type(then), Mapping)
    assert not issubclass(type(then), MutableMapping)
    reads = {"contains", "contains_many", "first", "get", "last", "prefix", "scan", "select", "select_many"}
    reads |= {"codecs", "index", "name", "ttl", "touch"}
    writes = {name for name in dir(twindex.TransactionTable) if name[0] != "_"}
    calls: list[Callable[[], object]] = [
        lambda: then.__setitem__("a", 1),
        lambda: then.__delitem__("00001"),
        then.clear,
        then.popitem,
        lambda: then.delete_range(lt="00500"),
        lambda: then.delete_prefix("0"),
        *(lambda name=name: getattr(then, name)("00001", 1) for name in writes - reads),
    ]
    for call in calls:
        with pytest.raises(twindex.ReadOnlyError, match='"sorted" belongs to a snapshot') as raised:
            call()
        assert raised.value.code == "TWINDEX_READ_ONLY"
    assert dict(then) == dict(store.table("sorted", values="int")) == WORDS


def test_snapshot_is_typed_by_the_handle(store: twindex.Store) -> None:
    table = store.table("sorted", values="int")
    with store.snapshot() as then:
        seen = assert_type(then.table(table), twindex.SnapshotTable[str, int])
        assert assert_type(seen["00001"], int) == 1
        assert then.table("sorted", values="bytes")["00001"] == b"1"
        with pytest.raises(twindex.ReadOnlyError):
            seen["a"] = 1  # type: ignore[index]


def test_bad_arguments_are_named(store: twindex.Store) -> None:
    other, then = raw(), store.snapshot()
    misuses: list[tuple[type[twindex.Error], str, Callable[[Any], object]]] = [
        (twindex.ArgumentTypeError, "table must be str or twindex.Table, not int: 7", lambda it: it.table(7)),
        (twindex.ForeignTableError, '"t" belongs to another store', lambda it: it.table(other)),
        (twindex.WrongCodecError, '"int".*"json"', lambda it: it.table("hash", values="json")),
        (twindex.OptionError, "unknown codec", lambda it: it.table("hash", keys="text")),
        (twindex.WrongIndexError, "hash index", lambda it: it.table("hash").scan()),
        (twindex.NoFileError, "only in memory", lambda it: it.position),
        (twindex.ArgumentTypeError, "path must be", lambda it: it.save(7)),
        (twindex.ArgumentTypeError, "cannot be pickled", copy.copy),
        (twindex.ArgumentTypeError, "cannot be pickled", lambda it: copy.copy(it.table("hash"))),
    ]
    for kind, message, call in misuses:
        with pytest.raises(kind, match=message):
            call(then)


@pytest.mark.parametrize("ends", ["snapshot", "store"])
def test_end_of_a_snapshot_ends_all_that_reads_it(store: twindex.Store, ends: str) -> None:
    kind = twindex.EndedError if ends == "snapshot" else twindex.ClosedError
    then = store.snapshot()
    table = then.table("sorted")
    cursor, scan, items = table.cursor(), table.scan(), table.items()
    assert next(scan) == cursor.scan_asc_next() == ("00000", 0)
    (then if ends == "snapshot" else store).close()
    uses: list[Callable[[], object]] = [
        lambda: then.table("sorted"),
        then.tables,
        lambda: then.position,
        then.dump,
        then.__enter__,
        lambda: table["00001"],
        lambda: len(table),
        lambda: table.select_many(["00001"]),
        lambda: table.cursor(),
        lambda: list(items),
        lambda: table.insert("a", 1),  # type: ignore[attr-defined]
        cursor.scan_asc_next,
        lambda: cursor.scan_desc_next_many(5),
        lambda: cursor.key,
        lambda: cursor.seek("a"),
        lambda: next(scan),
        lambda: next(scan),
    ]
    for use in uses:
        with pytest.raises(kind):
            use()
    assert then.closed
    assert "ended" in repr(then) + repr(table)
    then.close()
    if ends == "snapshot":
        assert store.stats()["snapshots"] == 0


def test_stats_report_what_snapshots_keep_until_they_are_closed(store: twindex.Store) -> None:
    table = store.table("sorted", values="int")
    then = [store.snapshot() for _ in range(3)]
    seen = [one.table(table) for one in then]
    assert (store.stats()["snapshots"], store.stats()["kept_bytes"]) == (3, 0)
    changed(table)
    assert store.stats()["kept_bytes"] > 1000
    for one in then:
        one.close()
    assert (store.stats()["snapshots"], store.stats()["kept_bytes"]) == (0, 0)
    assert len(seen) == 3


def test_snapshot_lives_as_long_as_what_reads_it(store: twindex.Store) -> None:
    table = store.table("sorted", values="int")
    then: Any = store.snapshot().table(table)
    readers: list[Any] = [then.cursor(), then.scan(), then.items()]
    changed(table)
    del then
    while readers:
        assert store.stats()["snapshots"] == 1
        reader = readers.pop()
        assert dict(reader if hasattr(reader, "__iter__") else iter(reader.scan_asc_next, None)) == WORDS
        del reader
        gc.collect()
    assert (store.stats()["snapshots"], store.stats()["kept_bytes"]) == (0, 0)


def test_close_while_threads_read_is_an_error_there(store: twindex.Store) -> None:
    then = store.snapshot()
    table = then.table("sorted")

    def work(number: int) -> bool:
        if number == 0:
            then.close()
        try:
            while True:
                assert table.select_many(WORDS) == [*WORDS.values()]
                assert len([*table.scan()]) == len(table)
        except twindex.EndedError:
            return True

    assert in_threads(4, work) == [True] * 4
    assert store.stats()["snapshots"] == 0


def test_changes_from_its_position_are_exactly_what_came_after(path: Path) -> None:
    with twindex.open(path) as store:
        users = store.table("users", values="int")
        users["ada"] = 1
        then = store.snapshot()
        users["bob"] = 2
        changes = store.changes(then.position)
        found = changes.poll()
        assert found is not None
        assert [(change.key, change.value) for change in found.changes] == [("bob", 2)]
        assert changes.poll() is None
        assert dict(twindex.Store.load(then.dump()).table("users", values="int")) == {"ada": 1}
        then.save(path.with_name("copy.twx"))
    with twindex.open(path.with_name("copy.twx")) as copied:
        assert dict(copied.table("users", values="int")) == {"ada": 1}


def test_interpreter_ends_well_with_all_of_it_open() -> None:
    program = """
import twindex
store = twindex.Store()
table = store.table("t", "sorted", values="int")
table.update({str(number): number for number in range(1000)})
then = store.snapshot()
seen = then.table(table)
cursor, scan, tx = seen.cursor(), seen.scan(), store.transaction()
print(next(scan), cursor.scan_asc_next(), tx.table(table)["1"])
table.clear()
"""
    assert output_of(program) == "('0', 0) ('0', 0) 1\n"
