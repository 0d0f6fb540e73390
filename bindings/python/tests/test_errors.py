"""The classes of errors, and that every message names the offending value."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import raw
from twindex import errors

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, twindex.Error) and kind is not twindex.Error
]
BUILTINS = {
    "TWINDEX_TYPE": TypeError,
    "TWINDEX_RANGE": ValueError,
    "TWINDEX_CLOSED": ValueError,
    "TWINDEX_FORKED": RuntimeError,
    "TWINDEX_IN_USE": OSError,
    "TWINDEX_LOG_FAILED": OSError,
    "TWINDEX_READ_ONLY": PermissionError,
    "TWINDEX_NO_FILE": ValueError,
    "TWINDEX_POSITION_GONE": LookupError,
    "TWINDEX_NO_LOG": ValueError,
    "TWINDEX_NOT_A_POSITION": ValueError,
    "TWINDEX_UNKNOWN_DURABILITY": ValueError,
    "TWINDEX_FOREIGN_TABLE": ValueError,
    "TWINDEX_UNEXPECTED": RuntimeError,
    "TWINDEX_ENCODING": ValueError,
    "TWINDEX_KEY_TOO_LONG": ValueError,
    "TWINDEX_VALUE_TOO_LARGE": ValueError,
    "TWINDEX_TABLE_NAME": ValueError,
    "TWINDEX_WRONG_INDEX": TypeError,
    "TWINDEX_NAME_IN_USE": ValueError,
    "TWINDEX_NO_TABLE": KeyError,
    "TWINDEX_WRONG_CODEC": TypeError,
    "TWINDEX_CODEC_NAME": ValueError,
    "TWINDEX_UNKNOWN_INDEX": ValueError,
    "TWINDEX_TABLE_DROPPED": ValueError,
    "TWINDEX_MEMORY_LIMIT": MemoryError,
    "TWINDEX_NOT_AN_INTEGER": ValueError,
    "TWINDEX_OVERFLOW": OverflowError,
    "TWINDEX_CORRUPT": ValueError,
    "TWINDEX_IO": OSError,
}


def test_every_code_has_one_class() -> None:
    narrower = (twindex.PairLengthError, twindex.CacheLimitError, twindex.MissingFileError)
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


@pytest.mark.parametrize(
    ("call", "kind", "mentions"),
    [
        (lambda: BYTES.insert(42, b""), errors.ArgumentTypeError, "key must be bytes.*not int: 42"),
        (lambda: BYTES.insert(b"", 42), errors.ArgumentTypeError, "value must be bytes.*not int: 42"),
        (lambda: BYTES["ada"], errors.ArgumentTypeError, "not str: 'ada'"),
        (lambda: TEXTS[b"ada"], errors.ArgumentTypeError, "key must be str, not bytes: b'ada'"),
        (lambda: NUMBERS["1"], errors.ArgumentTypeError, "key must be int, not str: '1'"),
        (lambda: NUMBERS.insert(1, 1.5), errors.ArgumentTypeError, "value must be int, not float: 1.5"),
        (lambda: b"" in TEXTS, errors.ArgumentTypeError, "key must be str"),
        (lambda: BYTES.increment(b"n", "1"), errors.ArgumentTypeError, "amount must be int, not str: '1'"),
        (lambda: BYTES.increment_many([(b"n", 0.5)]), errors.ArgumentTypeError, "amount.*float: 0.5"),
        (lambda: BYTES.alter(b"key", 42), errors.ArgumentTypeError, "change must be callable, not int: 42"),
        (
            lambda: NUMBERS.increment(0, 2**63),
            errors.IntegerOverflowError,
            "amount does not fit.*: 9223372036",
        ),
        (lambda: BYTES.select_many(42), errors.ArgumentTypeError, "keys must be iterable, not int: 42"),
        (
            lambda: BYTES.select_many(b"key"),
            errors.ArgumentTypeError,
            "keys must be iterable, not bytes: b'key'",
        ),
        (lambda: TEXTS.select_many("key"), errors.ArgumentTypeError, "keys must be iterable, not str: 'key'"),
        (
            lambda: BYTES.insert_many([b"ab"]),
            errors.ArgumentTypeError,
            "pairs must be iterable, not bytes: b'ab'",
        ),
        (lambda: BYTES.insert_many([(b"a",)]), errors.PairLengthError, "groups of 2 items, not of 1: .b'a',"),
        (lambda: BYTES.compare_and_swap_many([(b"a", b"b")]), errors.PairLengthError, "of 3 items, not of 2"),
        (lambda: TEXTS.update("key", "value"), TypeError, "from 0 to 1 positional arguments"),
        (lambda: BYTES.scan(limit="9"), errors.ArgumentTypeError, "limit must be int or None, not str: '9'"),
        (lambda: BYTES.scan(reverse=1), errors.ArgumentTypeError, "reverse must be bool, not int: 1"),
        (lambda: BYTES.irange(reverse="no"), errors.ArgumentTypeError, "reverse must be bool, not str: 'no'"),
        (
            lambda: STORE_OF().table("q", create=1),
            errors.ArgumentTypeError,
            "create must be bool, not int: 1",
        ),
        (lambda: STORE_OF().changes(raw=1), errors.ArgumentTypeError, "raw must be bool, not int: 1"),
        (
            lambda: CHANGES("x", raw=[]),
            errors.ArgumentTypeError,
            "raw must be bool, not list",
        ),
        (
            lambda: OPEN("x", read_only=None),
            errors.ArgumentTypeError,
            "read_only must be bool, not NoneType: None",
        ),
        (lambda: OPEN("x", existing=0), errors.ArgumentTypeError, "existing must be bool, not int: 0"),
        (lambda: BYTES.scan(limit=-9), errors.OptionError, "limit is out of range: -9"),
        (lambda: BYTES.scan(limit=10**30), errors.OptionError, "limit is out of range: 10000000"),
        (
            lambda: BYTES.scan(gt=b"a", gte=b"b"),
            errors.OptionError,
            "gt=b'a' and gte=b'b' exclude each other",
        ),
        (lambda: BYTES.cursor(lt=b"a", lte=b"b"), errors.OptionError, "lt=b'a' and lte=b'b'"),
        (lambda: BYTES.scan(prefix=b"a", lt=b"b"), errors.OptionError, "prefix=b'a' and lt=b'b'"),
        (lambda: NUMBERS.scan(prefix=7), errors.OptionError, "int keys have no prefix .prefix=7"),
        (lambda: TEXTS.scan(), errors.WrongIndexError, '"texts" has a hash index, this needs a sorted'),
        (lambda: reversed(TEXTS), errors.WrongIndexError, '"texts" has a hash index'),
        (lambda: reversed(TEXTS.keys()), errors.WrongIndexError, '"texts" has a hash index'),
        (
            lambda: STORE.table("texts", index="sorted"),
            errors.WrongIndexError,
            '"texts"',
        ),
        (
            lambda: STORE_OF().table("t", "btree"),
            errors.UnknownIndexError,
            '"btree"',
        ),
        (
            lambda: STORE_OF().table(7),
            errors.ArgumentTypeError,
            "name must be str, not int: 7",
        ),
        (
            lambda: STORE_OF().table("t", keys=7),
            errors.ArgumentTypeError,
            "keys must be the name .*not int: 7",
        ),
        (lambda: STORE_OF().table(""), errors.TableNameError, "this one has 0"),
        (lambda: STORE_OF().drop_table(None), errors.ArgumentTypeError, "NoneType: None"),
        (lambda: STORE_OF(memory_limit=-1), errors.OptionError, "-1"),
        (lambda: STORE_OF(memory_limit="1"), errors.ArgumentTypeError, "'1'"),
        (lambda: BYTES.insert(b"k" * 65_536, b""), errors.KeyTooLongError, 'key of 65536 bytes.*"kkkk'),
        (lambda: LOAD(b"no dump"), errors.CorruptError, "corrupt at byte 0"),
        (lambda: LOAD(bytearray(b"no dump")), errors.CorruptError, "corrupt at byte 0"),
        (lambda: OPEN(42), errors.ArgumentTypeError, "path must be str, bytes or os.PathLike, not int: 42"),
        (lambda: OPEN("x", durability="sync"), errors.UnknownDurabilityError, '"sync"'),
        (lambda: OPEN("x", durability=1), errors.ArgumentTypeError, "name must be str, not int: 1"),
        (lambda: OPEN("x", memory_limit=-1), errors.OptionError, "-1"),
        (lambda: STORE.save(), errors.NoFileError, "in memory alone"),
        (lambda: STORE.refresh(), errors.NoFileError, "in memory alone"),
        (lambda: STORE.compact(), errors.NoFileError, "in memory alone"),
        (
            lambda: BATCH.insert(42, b"", b""),
            errors.ArgumentTypeError,
            "table must be twindex.Table, not int",
        ),
        (lambda: BATCH.insert(BYTES, 42, b""), errors.ArgumentTypeError, "key must be bytes"),
        (lambda: BATCH.upsert(BYTES, b"", 42), errors.ArgumentTypeError, "value must be bytes"),
        (lambda: BATCH.delete(BYTES, bytes(70_000)), errors.KeyTooLongError, "70000"),
        (
            lambda: BATCH.delete(raw(), b""),
            errors.ForeignTableError,
            '"t" is of another store',
        ),
        (lambda: LOAD("\ud800"), errors.EncodingError, "path has no form .*ud800"),
        (lambda: LOAD(42), errors.ArgumentTypeError, "source must be bytes.*not int: 42"),
        (
            lambda: STORE_OF().save(42),
            errors.ArgumentTypeError,
            "path must be str, bytes, os.PathLike or None, not int: 42",
        ),
    ],
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
