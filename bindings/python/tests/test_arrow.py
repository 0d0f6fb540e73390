"""Pairs in record batches of Arrow, there and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import Index, python

pa: Any = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("index", ["hash", "sorted"])
@pytest.mark.parametrize(
    ("keys", "values", "types", "pairs"),
    [
        ("str", "str", ["large_string", "large_string"], {"": "é", "a": "", "b\0": "x" * 5000}),
        ("bytes", "bytes", ["large_binary", "large_binary"], {b"": b"\xff", b"a": b"", b"\0": bytes(9)}),
        ("int", "int", ["int64", "int64"], {-(2**63): 2**63 - 1, 0: -1, 2**63 - 1: 0}),
        ("int", "json", ["int64", "large_string"], {number: [number, None] for number in range(10_000)}),
    ],
)
def test_pairs_go_to_arrow_and_back(
    index: Index, keys: Any, values: Any, types: list[str], pairs: dict[Any, Any]
) -> None:
    table = twindex.Store().table("t", index, keys=keys, values=values)
    again = twindex.Store().table("t", index, keys=keys, values=values)
    assert table.to_arrow().read_all().num_rows == 0
    table.update(pairs)
    batches = list(table.to_arrow(batch_size=4000))
    assert [field.name for field in batches[0].schema] == ["key", "value"]
    assert [str(field.type) for field in batches[0].schema] == types
    assert [len(batch) for batch in batches] == ([4000, 4000, 2000] if len(pairs) > 4000 else [len(pairs)])
    arrow = pa.Table.from_batches(batches)
    arrow.validate(full=True)
    assert arrow["key"].to_pylist() == list(table)
    # Slices, one at a time, and what other programs use.
    ways: list[Callable[[Any], Any]] = [
        lambda it: it.slice(1),
        lambda it: it.slice(0, 2),
        lambda it: it.to_reader(1),
        lambda it: it.select(["value", "key"]),
        lambda it: it.combine_chunks().to_batches()[0],
        lambda it: it.rename_columns(["one", "other"]),
    ]
    if values != "json":
        ways += [lambda it: it.set_column(1, "value", it["value"].dictionary_encode())]
    for way in ways:
        again.from_arrow(way(arrow))
    assert dict(again) == pairs
    assert again.from_arrow(arrow) == len(pairs)


def test_small_types_and_views_are_taken() -> None:
    numbers = twindex.Store().table("t", keys="int", values="int")
    columns = {"key": pa.array([1, 2], pa.uint8()), "value": pa.array([-3, 4], pa.int16())}
    assert numbers.from_arrow(pa.table(columns)) == 2
    assert dict(numbers) == {1: -3, 2: 4}
    words = twindex.Store().table("t", values="bytes")
    columns = {
        "key": pa.array(["a", "a longer text than a view has"], pa.string_view()),
        "value": pa.array([b"xy", b"zz"], pa.binary(2)),
    }
    assert words.from_arrow(pa.table(columns)) == 2
    assert dict(words) == {"a": b"xy", "a longer text than a view has": b"zz"}


def test_ranges_and_snapshots_are_read_as_they_are_asked_for() -> None:
    store = twindex.Store()
    table = store.table("t", "sorted", keys="int", values="str")
    table.update({number: str(number) for number in range(1000)})
    found = table.to_arrow(gte=990, reverse=True, limit=5).read_all()
    assert found["key"].to_pylist() == [999, 998, 997, 996, 995]
    with store.snapshot() as then:
        reader = then.table(table).to_arrow(batch_size=600)
        table.clear()
        assert len(reader.read_next_batch()) == 600
    with pytest.raises(twindex.EndedError):
        reader.read_next_batch()
    reader = table.to_arrow()
    store.close()
    with pytest.raises(twindex.ClosedError):
        reader.read_next_batch()


def test_wrong_columns_are_named_and_nothing_of_their_batch_is_written() -> None:
    store: Any = twindex.Store()
    table = store.table("t", values="json")
    wrong: list[tuple[type[Exception], str, Any]] = [
        (twindex.ArgumentTypeError, "data must be", 7),
        (twindex.ArgumentTypeError, "not \\['a', 'b', 'c'\\]", {"a": ["1"], "b": ["1"], "c": ["1"]}),
        (twindex.ArgumentTypeError, "the key column must be string, not int64", {"key": [1], "value": ["1"]}),
        (twindex.ArgumentTypeError, "the value in row 1 is null", {"key": ["a", "b"], "value": ["1", None]}),
        (twindex.EncodingError, "cannot be read as JSON", {"key": ["a", "b"], "value": ["1", "{"]}),
        (twindex.KeyTooLongError, "65536", {"key": ["a", "k" * 65536], "value": ["1", "2"]}),
    ]
    for kind, message, columns in wrong:
        with pytest.raises(kind, match=message):
            table.from_arrow(pa.table(columns) if isinstance(columns, dict) else columns)
        assert dict(table) == {}, message
    for codecs in ({"keys": "tuple"}, {"values": "pickle"}, {"values": "msgpack"}):
        other = store.table(str(codecs), **codecs)
        for use in (other.to_arrow, lambda other=other: other.from_arrow(pa.table({"key": [], "value": []}))):
            with pytest.raises(
                twindex.ArgumentTypeError, match='have no type of Arrow: open the table with "bytes"'
            ):
                use()
    for size in (0, -1, 1 << 70):
        with pytest.raises(twindex.OptionError, match=f"batch_size is out of range: {size}"):
            table.to_arrow(batch_size=size)
    store.table("t", keys="bytes", values="bytes")[b"\xff"] = b"1"
    with pytest.raises(twindex.EncodingError, match="the key is not UTF-8"):
        table.to_arrow().read_all()
    for buffers in ([b""], [b"12345678"], [b"x", b""], [bytes(8) + b"\xff" * 8, b"x"], [bytes(16), "x"]):
        with pytest.raises(twindex.ArgumentTypeError):
            table._write_columns(1, buffers, [bytes(16), b""])


def test_package_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError('hidden')", encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import twindex; twindex.Store().table('t').to_arrow()"
    )
    assert "pip install pyarrow" in python(program, tmp_path).stderr.splitlines()[-1]
