"""Pairs in record batches of Apache Arrow, by the package pyarrow."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._twindex import Scan, Table

# So many pairs are written at a time, or about as many as have so many bytes.
_ROWS, _BYTES = 65_536, 16 << 20


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise ImportError("to_arrow and from_arrow need the package pyarrow: pip install pyarrow") from error


def to_arrow(scan: Scan[Any], types: tuple[str, str], size: int) -> Any:
    """What `Table.to_arrow` makes of an iterator over pairs."""
    pa = _pyarrow()
    fields = [
        pa.field(name, getattr(pa, kind)(), nullable=False)
        for name, kind in zip(("key", "value"), types, strict=True)
    ]
    schema = pa.schema(fields)

    def batches() -> Iterator[Any]:
        while (found := scan._columns(size)) is not None:
            rows, *columns = found
            arrays = [
                pa.Array.from_buffers(field.type, rows, [None, *map(pa.py_buffer, column)])
                for field, column in zip(fields, columns, strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def from_arrow(table: Table[Any, Any], data: Any) -> int:
    """What `Table.from_arrow` does."""
    pa = _pyarrow()
    kinds = table._arrow_types()
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
    elif hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    else:
        raise ArgumentTypeError(
            f"data must be a table, a data frame or record batches of Arrow: {type(data)}"
        )
    names = reader.schema.names
    if "key" in names and "value" in names:
        places = [names.index("key"), names.index("value")]
    elif len(names) == 2:
        places = [0, 1]
    else:
        raise ArgumentTypeError(f'the columns must be "key" and "value", or two in this order, not {names}')
    written = 0
    for batch in reader:
        rows = min(_ROWS, 1 + len(batch) * _BYTES // (batch.nbytes + 1))
        for start in range(0, len(batch), rows):
            part = batch.slice(start, rows)
            columns = [
                _buffers(pa, part.column(place), kind, what, written)
                for place, kind, what in zip(places, kinds, ("key", "value"), strict=True)
            ]
            table._write_columns(len(part), *columns)
            written += len(part)
    return written


def _buffers(pa: Any, array: Any, kind: str, what: str, before: int) -> list[Any]:
    """The buffers of a part of a column, as `_write_columns` takes them."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    takes = {"int64": ["integer"], "large_string": ["string", "large_string", "string_view"]}.get(
        kind, ["binary", "large_binary", "binary_view", "fixed_size_binary"]
    )
    if not any(getattr(pa.types, f"is_{name}")(array.type) for name in takes):
        raise ArgumentTypeError(f"the {what} column must be {takes[0]}, not {array.type}")
    if array.null_count:
        row = before + array.is_null().index(True).as_py()
        raise ArgumentTypeError(f"the {what} in row {row} is null")
    array = array.cast(getattr(pa, kind)())
    _, *buffers = array.buffers()
    if kind == "int64":
        return [buffers[0].slice(8 * array.offset, 8 * len(array))]
    ends = buffers[0].slice(8 * array.offset, 8 * (len(array) + 1))
    numbers = memoryview(ends).cast("b").cast("q")
    first, last = numbers[0], numbers[-1]
    return [ends, buffers[1].slice(first, last - first) if buffers[1] else b""]
