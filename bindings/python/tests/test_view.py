"""Views of values where they lie in the store."""

from __future__ import annotations

import ctypes
import gc
import hashlib
from typing import Any

import pytest

import twindex
from support import Index, raw

LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def table(index: Index) -> Any:
    return raw(index)


@pytest.mark.parametrize("size", [0, 1, 16, 511, 512, 513, 4095, 4096, 4097, 5000, 70_000, 3_000_000])
def test_view_shows_the_value(table: Any, size: int) -> None:
    table[b"key"] = LARGE[:size]
    view = table.view(b"key")
    assert view == LARGE[:size]
    assert (view.nbytes, view.format, view.readonly, view.c_contiguous) == (size, "B", True, True)
    assert table.view(b"absent") is None
    assert hashlib.sha256(view).digest() == hashlib.sha256(LARGE[:size]).digest()


def test_large_value_is_not_copied(table: Any) -> None:
    table[b"key"] = LARGE
    one, other = table.view(b"key"), table.view(b"key")
    assert address_of(one) == address_of(other)
    assert address_of(table.view(b"key")[7:]) == address_of(one) + 7


def address_of(view: memoryview) -> int:
    """Where its bytes are."""
    buffer = (ctypes.c_ssize_t * 16)()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), buffer, 0)
    # The first field of a Py_buffer; the view lives on, so its bytes stay there.
    address = buffer[0]
    ctypes.pythonapi.PyBuffer_Release(buffer)
    return address


def test_view_outlives_its_pair(table: Any) -> None:
    table[b"deleted"] = table[b"written"] = table[b"cleared"] = LARGE
    views = [table.view(key) for key in (b"deleted", b"written", b"cleared")]
    del table[b"deleted"]
    table[b"written"] = LARGE[::-1]
    table.clear()
    for number in range(100):
        table[b"%d" % number] = LARGE[number : number + 10_000]
    assert all(view == LARGE for view in views)


def test_view_outlives_its_store() -> None:
    with twindex.Store() as store:
        table = raw(store=store)
        table[b"key"] = LARGE
        view = table.view(b"key")
    with pytest.raises(twindex.ClosedError):
        table.view(b"key")
    del store, table
    gc.collect()
    assert view == LARGE


def test_view_is_read_only(table: Any) -> None:
    table[b"key"] = LARGE
    view: Any = table.view(b"key")
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1
    with pytest.raises((BufferError, TypeError)):
        ctypes.c_char.from_buffer(view)
