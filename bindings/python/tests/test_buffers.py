"""Buffers, what they may show and more of it than there is memory, and views of values where they lie in the store."""

from __future__ import annotations

import array
import ctypes
import gc
import hashlib
import mmap
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import twindex
from support import IS_LINUX, Index, raw

TIB = 1 << 40


@pytest.fixture(scope="module")
def huge() -> Iterator[Any]:
    """8 TiB of zeros, none of which takes up memory or disk space."""
    if not IS_LINUX:
        pytest.skip("a file cannot be so large everywhere")
    with tempfile.TemporaryFile() as file:
        file.truncate(8 * TIB)
        with mmap.mmap(file.fileno(), 8 * TIB, access=mmap.ACCESS_READ) as memory:
            yield memory


TOO_LONG = (twindex.KeyTooLongError, r"a key of 8796093022208 bytes .*\\x00\\x00")
TOO_LARGE = (twindex.ValueTooLargeError, "a value of 8796093022208 bytes")


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda table, huge: table.insert(huge, b""), TOO_LONG),
        (lambda table, huge: table.insert(b"", huge), TOO_LARGE),
        (lambda table, huge: table.update({b"": huge}), TOO_LARGE),
        (lambda table, huge: table.upsert_many([(huge, b"")]), TOO_LONG),
        (lambda table, huge: table.upsert_many([(b"", huge)]), TOO_LARGE),
        (lambda table, huge: table.delete_many([huge]), TOO_LONG),
        (lambda table, huge: table.increment(huge), TOO_LONG),
        (lambda table, huge: table.alter(b"", lambda _: huge), TOO_LARGE),
        (lambda table, huge: table.setdefault(b"", huge), TOO_LARGE),
        (lambda table, huge: table.compare_and_swap(b"", huge, None), TOO_LARGE),
        (lambda table, huge: table.compare_and_swap_many([(b"", None, huge)]), TOO_LARGE),
    ],
)
def test_buffer_that_is_too_long_is_not_copied(
    use: Callable[[Any, Any], object], error: tuple[type[twindex.Error], str], huge: Any
) -> None:
    """It was copied before its length was checked, which ended the process."""
    table = raw("sorted")
    kind, message = error
    with pytest.raises(kind, match=message):
        use(table, huge)
    assert len(table) == 0


def test_batch_takes_no_buffer_that_is_too_long(huge: Any) -> None:
    store = twindex.Store()
    table = raw(store=store)
    with store.batch() as batch:
        for key, value in ((huge, b""), (b"", huge)):
            with pytest.raises((twindex.KeyTooLongError, twindex.ValueTooLargeError)):
                batch.upsert(table, key, value)
        assert len(batch) == 0


def test_buffer_that_is_too_long_for_a_key_is_absent(huge: Any) -> None:
    """As `bytes` of that length are; and as a bound of a range it may have any length."""
    table = raw("sorted")
    table.update({b"": b"1", b"\0": b"2", b"\0" * 65_535: b"3", b"\1": b"4"})
    assert huge not in table
    assert table.get(huge) is table.pop(huge, None) is None
    assert table.select_many([huge, b"\1"]) == [None, b"4"]
    assert table.contains_many([huge]) == [False]
    assert list(table.scan(gte=huge)) == [(b"\1", b"4")]
    assert len(list(table.scan(lt=huge))) == table.bisect_left(huge) == 3
    assert list(table.scan(prefix=huge)) == []
    for length in (65_536, 70_000):
        for long in (b"\0" * length, bytearray(length)):
            assert long not in table
            assert list(table.scan(gt=long)) == [(b"\1", b"4")]
            with pytest.raises(twindex.KeyTooLongError, match=f"a key of {length} bytes"):
                table.insert(long, b"")


def test_dump_that_is_larger_than_memory_is_refused(huge: Any) -> None:
    with pytest.raises(MemoryError):
        twindex.Store.load(huge)


def test_items_of_a_tuple_that_are_too_long_are_only_counted() -> None:
    """All of the key was built before its length was checked."""
    table = twindex.Store().table("t", "sorted", keys="tuple", values="int")
    with pytest.raises(twindex.KeyTooLongError, match="a key of 30000005 bytes"):
        table.insert((b"x" * 20_000_000, "y" * 10_000_000, None), 1)
    assert (b"x" * 65_533,) not in table
    assert table.insert((b"x" * 65_533,), 1)
    with pytest.raises(twindex.KeyTooLongError, match="a key of 65536 bytes"):
        table.insert((b"x" * 65_534,), 1)
    assert (b"x" * 65_534,) not in table
    assert list(table.scan(prefix=(b"x" * 65_534,))) == []
    assert list(table) == [(b"x" * 65_533,)]


@pytest.mark.parametrize(
    "empty", [bytearray(), array.array("d"), memoryview(b"").cast("d"), memoryview(b"ab")[1:1]]
)
def test_buffer_without_bytes_is_empty(empty: Any) -> None:
    """An array of no numbers was refused as if it were no buffer."""
    table = raw()
    assert table.insert(empty, empty)
    assert list(table.items()) == [(b"", b"")]


def test_error_says_why_a_buffer_is_refused() -> None:
    """The message asked for a memoryview where it was given one."""
    table = raw()
    with pytest.raises(
        twindex.ArgumentTypeError, match=r"key must have its bytes in one piece.*C-contiguous"
    ):
        table.insert(memoryview(b"abcd")[::2], b"")
    released = memoryview(b"abcd")
    released.release()
    with pytest.raises(twindex.ArgumentTypeError, match=r"value must have .*released memoryview") as raised:
        table.insert(b"", released)
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(twindex.ArgumentTypeError, match="source must have its bytes in one piece"):
        twindex.Store.load(memoryview(b"abcd")[::2])


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
