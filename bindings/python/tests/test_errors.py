"""The classes of errors, and that every message names the offending value."""

from __future__ import annotations

import errno
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import raw
from twindex import errors
from twindex._renamed import RENAMED

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, twindex.Error) and kind is not twindex.Error
]
# The builtins that callers catch, and the codes of the errors that derive from them.
CODES: dict[type[Exception], str] = {
    TypeError: "TYPE WRONG_INDEX WRONG_CODEC WRONG_EXPIRY",
    ValueError: "RANGE CLOSED NO_FILE NO_LOG NOT_A_POSITION UNKNOWN_DURABILITY FOREIGN_TABLE ENCODING KEY_TOO_LONG"
    " VALUE_TOO_LARGE TABLE_NAME NO_ROOM CAPACITY TTL CODEC_NAME UNKNOWN_INDEX TABLE_DROPPED NOT_AN_INTEGER CORRUPT"
    " ENDED",
    RuntimeError: "FORKED UNEXPECTED CIRCLE CONFLICT IN_WRITE",
    NotImplementedError: "NOT_SUPPORTED",
    OSError: "IN_USE LOG_FAILED IO",
    PermissionError: "READ_ONLY",
    LookupError: "POSITION_GONE",
    KeyError: "NO_TABLE",
    MemoryError: "MEMORY_LIMIT",
    OverflowError: "OVERFLOW",
}
BUILTINS = {f"TWINDEX_{code}": builtin for builtin, codes in CODES.items() for code in codes.split()}


def test_every_code_has_one_class() -> None:
    narrower = (twindex.PairLengthError, twindex.MissingFileError)
    assert sorted(kind.code for kind in CLASSES if kind not in narrower) == sorted(BUILTINS)
    assert issubclass(twindex.PairLengthError, ValueError)


@pytest.mark.parametrize("kind", CLASSES)
def test_class_is_public_documented_and_a_builtin(kind: type[twindex.Error]) -> None:
    assert getattr(twindex, kind.__name__) is kind
    assert kind.__name__ in twindex.__all__
    assert inspect.getdoc(kind)
    assert issubclass(kind, BUILTINS[kind.code])


# For calls that the stubs refuse.
STORE: Any = twindex.Store()
BYTES: Any = STORE.table("bytes", index="sorted", keys="bytes", values="bytes")
TEXTS: Any = STORE.table("texts", keys="str", values="str")
NUMBERS: Any = STORE.table("numbers", index="sorted", keys="int", values="int")
LOAD: Any = twindex.Store.load
STORE_OF: Any = twindex.Store
OPEN: Any = twindex.open
CHANGES: Any = twindex.changes
BATCH = STORE.batch()


MISUSES: dict[type[twindex.Error | TypeError | IndexError], list[tuple[Callable[[], object], str]]] = {
    errors.ArgumentTypeError: [
        (lambda: BYTES.insert(42, b""), "key must be bytes.*not int: 42"),
        (lambda: BYTES.insert(b"", 42), "value must be bytes.*not int: 42"),
        (lambda: BYTES["ada"], "not str: 'ada'"),
        (lambda: TEXTS[b"ada"], "key must be str, not bytes: b'ada'"),
        (
            lambda: TEXTS.insert("ada", 36),
            'value must be str unless values="int" or "json" was named, not int: 36',
        ),
        (lambda: NUMBERS["1"], "key must be int, not str: '1'"),
        (lambda: NUMBERS.insert(1, 1.5), "value must be int, not float: 1.5"),
        (lambda: b"" in TEXTS, "key must be str"),
        (lambda: BYTES.increment(b"n", "1"), "amount must be int, not str: '1'"),
        (lambda: BYTES.increment_many([(b"n", 0.5)]), "amount.*float: 0.5"),
        (lambda: BYTES.alter(b"key", 42), "change must be callable, not int: 42"),
        (lambda: BYTES.select_many(42), "keys must be iterable, not int: 42"),
        (lambda: BYTES.select_many(b"key"), "keys must be iterable, not bytes: b'key'"),
        (lambda: TEXTS.select_many("key"), "keys must be iterable, not str: 'key'"),
        (lambda: BYTES.insert_many([b"ab"]), "pairs must be iterable, not bytes: b'ab'"),
        (lambda: BYTES.scan(limit="9"), "limit must be int or None, not str: '9'"),
        (lambda: BYTES.scan(reverse=1), "reverse must be bool, not int: 1"),
        (lambda: BYTES.irange(reverse="no"), "reverse must be bool, not str: 'no'"),
        (lambda: STORE_OF().table("q", create=1), "create must be bool, not int: 1"),
        (lambda: STORE_OF().table("q", expires=1), "expires must be bool or None, not int: 1"),
        (lambda: STORE_OF().changes(raw=1), "raw must be bool, not int: 1"),
        (lambda: CHANGES("x", raw=[]), "raw must be bool, not list"),
        (lambda: OPEN("x", read_only=None), "read_only must be bool, not NoneType: None"),
        (lambda: OPEN("x", existing=0), "existing must be bool, not int: 0"),
        (lambda: STORE_OF().table(7), "name must be str, not int: 7"),
        (lambda: STORE_OF().table("t", keys=7), "keys must be the name .*not int: 7"),
        (lambda: STORE_OF().drop_table(None), "NoneType: None"),
        (lambda: STORE_OF(memory_limit="1"), "'1'"),
        (lambda: OPEN(42), "path must be str, bytes or os.PathLike, not int: 42"),
        (lambda: OPEN("x", durability=1), "name must be str, not int: 1"),
        (lambda: BATCH.insert(42, b"", b""), "table must be twindex.Table, not int"),
        (lambda: BATCH.insert(BYTES, 42, b""), "key must be bytes"),
        (lambda: BATCH.upsert(BYTES, b"", 42), "value must be bytes"),
        (lambda: LOAD(42), "source must be bytes.*not int: 42"),
        (lambda: STORE_OF().save(42), "path must be str, bytes, os.PathLike or None, not int: 42"),
    ],
    errors.IntegerOverflowError: [
        (lambda: NUMBERS.increment(0, 2**63), "amount does not fit.*: 9223372036"),
    ],
    IndexError: [
        (lambda: BYTES.peekitem(1), "no pair at position 1"),
    ],
    errors.PairLengthError: [
        (lambda: BYTES.insert_many([(b"a",)]), "groups of 2 items, not of 1: .b'a',"),
        (lambda: BYTES.compare_and_swap_many([(b"a", b"b")]), "of 3 items, not of 2"),
    ],
    TypeError: [
        (lambda: TEXTS.update("key", "value", 1), "from 0 to 2 positional arguments"),
    ],
    errors.OptionError: [
        (lambda: BYTES.scan(limit=-9), "limit is out of range: -9"),
        (lambda: BYTES.scan(limit=10**30), "limit is out of range: 10000000"),
        (lambda: BYTES.scan(gt=b"a", gte=b"b"), "gt=b'a' and gte=b'b' exclude each other"),
        (lambda: BYTES.cursor(lt=b"a", lte=b"b"), "lt=b'a' and lte=b'b'"),
        (lambda: BYTES.scan(prefix=b"a", lt=b"b"), "prefix=b'a' and lt=b'b'"),
        (lambda: NUMBERS.scan(prefix=7), "int keys have no prefix .prefix=7"),
        (lambda: STORE_OF(memory_limit=-1), "-1"),
        (lambda: OPEN("x", memory_limit=-1), "-1"),
    ],
    errors.WrongIndexError: [
        (lambda: TEXTS.scan(), '"texts" has a hash index, this needs a sorted'),
        (lambda: reversed(TEXTS), '"texts" has a hash index'),
        (lambda: reversed(TEXTS.keys()), '"texts" has a hash index'),
        (lambda: STORE.table("texts", index="sorted"), '"texts"'),
    ],
    errors.UnknownIndexError: [
        (lambda: STORE_OF().table("t", "btree"), '"btree"'),
    ],
    errors.TableNameError: [
        (lambda: STORE_OF().table(""), "this one has 0"),
    ],
    errors.KeyTooLongError: [
        (lambda: BYTES.insert(b"k" * 65_536, b""), 'key of 65536 bytes.*"kkkk'),
        (lambda: BATCH.delete(BYTES, bytes(70_000)), "70000"),
    ],
    errors.CorruptError: [
        (lambda: LOAD(b"no dump"), "corrupt at byte 0"),
        (lambda: LOAD(bytearray(b"no dump")), "corrupt at byte 0"),
    ],
    errors.UnknownDurabilityError: [
        (lambda: OPEN("x", durability="sync"), '"sync"'),
    ],
    errors.NoFileError: [
        (lambda: STORE.save(), "only in memory"),
        (lambda: STORE.refresh(), "only in memory"),
        (lambda: STORE.compact(), "only in memory"),
    ],
    errors.ForeignTableError: [
        (lambda: BATCH.delete(raw(), b""), '"t" belongs to another store'),
    ],
    errors.EncodingError: [
        (lambda: LOAD("\ud800"), "path has no form .*ud800"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "call", "mentions"),
    [(kind, *misuse) for kind, misuses in MISUSES.items() for misuse in misuses],
)
def test_error_names_what_was_wrong(
    call: Callable[[], object], kind: type[twindex.Error], mentions: str
) -> None:
    with pytest.raises(kind, match=mentions) as raised:
        call()
    assert type(raised.value) is kind
    assert len(BYTES) == len(TEXTS) == len(NUMBERS) == 0


def test_calls_with_too_few_or_too_many_arguments() -> None:
    for call in (BYTES.insert, BYTES.select, BYTES.alter, BYTES.compare_and_swap, BYTES.insert_many):
        for arguments in ((), (b"",) * 4):
            with pytest.raises(TypeError):
                call(*arguments)


def test_old_names_fail_with_the_new_ones() -> None:
    for kind, names in RENAMED.items():
        for name, now in names.items():
            with pytest.raises(AttributeError, match=re.escape(f"has no {name}: use {now}")):
                getattr(kind, name)
    table: Any = twindex.Store().table("t")
    with pytest.raises(AttributeError, match="replace_many"):
        table.update_many([("a", "1")])
    with pytest.raises(twindex.ArgumentTypeError, match="replace"):
        table.update("a", "1")


def test_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(twindex.ArgumentTypeError) as raised:
        TEXTS.insert(bytes(1_000_000), "")
    assert len(str(raised.value)) < 200


def test_value_without_a_repr() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    with pytest.raises(twindex.ArgumentTypeError, match=r"not .*Mute: <Mute instance at"):
        TEXTS.insert(Mute(), "")


def test_missing_key_is_a_key_error() -> None:
    table = twindex.Store().table("t")
    for call in (lambda: table["ada"], lambda: table.pop("ada"), lambda: table.__delitem__("ada")):
        with pytest.raises(KeyError) as raised:
            call()
        assert raised.value.args == ("ada",)


def test_io_error_has_the_number_of_the_systems(tmp_path: Path) -> None:
    missing = tmp_path / "none.twx"
    with pytest.raises(twindex.IoError, match=r"none\.twx") as raised:
        twindex.Store.load(missing)
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(twindex.IoError) as raised:
        twindex.Store().save(tmp_path / "no folder" / "app.twx")
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(twindex.IoError) as raised:
        twindex.Store().save(tmp_path)
    assert raised.value.errno == errno.EISDIR
    with pytest.raises(twindex.IoError, match="a\0b") as raised:
        twindex.Store().save("a\0b")
    assert raised.value.errno == errno.EINVAL
    assert list(tmp_path.iterdir()) == []


def test_error_leaves_the_store_intact() -> None:
    table = raw("sorted")
    table[b"a"] = b"1"
    calls: list[Callable[[], object]] = [
        lambda: table.insert_many([(b"b", b"2"), (b"c", 3)]),
        lambda: table.upsert_many({b"a": b"2", b"b" * 65_536: b""}),
        lambda: table.update([(b"a", b"2")], extra=b"3"),
        lambda: table.delete_many([b"a", "a"]),
        lambda: table.compare_and_swap_many([(b"a", b"1", b"2"), (b"a", b"2", 3)]),
        lambda: table.increment_many([(b"a", 1), (b"a", "1")]),
    ]
    for call in calls:
        with pytest.raises(twindex.Error):
            call()
    assert list(table.items()) == [(b"a", b"1")]
