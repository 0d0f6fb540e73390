"""Results that are large, or larger than memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

import twindex
from support import IS_LINUX, SHORT_OF_MEMORY, Index, output_of, raw

MIB = 1 << 20

is_limited = pytest.mark.skipif(not IS_LINUX, reason="a process cannot be given less memory here")


def test_large_values_are_read_ahead_one_at_a_time(index: Index) -> None:
    table = raw(index)
    for key in range(32):
        table[bytes([key])] = b"v" * MIB
    ways: list[Iterable[object]] = [table.items(), table.values()]
    if index == "sorted":
        ways.append(table.scan())
    for way in ways:
        tracemalloc.start()
        try:
            assert len([None for _ in way]) == 32
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * MIB
    assert sorted(table) == [bytes([key]) for key in range(32)]


def test_scan_of_large_values_reads_fewer_ahead() -> None:
    """A block of 256 values of a mebibyte would be a quarter of a gibibyte that nobody asked for."""
    table = twindex.Store().table("t", "sorted", keys="int", values="bytes")
    table.update(dict.fromkeys(range(2000), b""))
    table.update({key: bytes(MIB) for key in range(16, 40)})
    scan = table.scan()
    assert [next(scan)[0] for _ in range(25)] == list(range(25))
    for key in range(33, 2000):
        table.delete(key)
    assert len(list(scan)) < 40


LIMITED = """
import time
store = {store}
table, log = store.table("t", **RAW), store.table("log", index="sorted", **RAW)
large = b"v" * (12 << 20)
for one in table, log:
    one[b"a"] = one[b"b"] = large
keys, pairs = [b"a"] * 8_000_000, [(b"a", b"b")] * 4_000_000
store.flush()
limit_memory(0)
# What was free before is in use now, wherever it was, and so is what a thread that ends gives back a little later.
ballast = []
for _ in range(3):
    time.sleep(0.02)
    try:
        while True:
            ballast.append(bytearray(1 << 20))
    except MemoryError:
        pass
del ballast[-8:]
try:
    {expression}
except MemoryError:
    assert table[b"small"] == b"1" if table.insert(b"small", b"1") else False
    assert len(table) == 3 and len(log) == 2
    print("refused")
"""


@is_limited
@pytest.mark.parametrize(
    "expression",
    [
        "table.select(b'a')",
        "table.select_many([b'a', b'b'])",
        "table.alter(b'a', lambda value: value + b'.')",
        "table.pop(b'a')",
        "table.upsert(b'c', large)",
        "table.insert_many([(b'c', large)])",
        "list(table.items())",
        "list(log.scan())",
        "log.cursor().scan_asc_next()",
        "log.cursor().scan_desc_next_many(2)",
        "log.peekitem()",
        "table.popitem()",
        "store.dump()",
        "store.snapshot().table(table).select(b'a')",
        "list(store.snapshot().table(log).items())",
        "store.transaction(lambda tx: tx.table(table).select_many([b'a', b'b'] * 100))",
        "store.transaction(lambda tx: tx.table(table).upsert(b'c', large))",
        "store.transaction(lambda tx: tx.table(table).update((b'%d' % n, large) for n in range(100)))",
        "store.transaction(lambda tx: list(tx.table(log).scan()))",
        "table.select_many(keys)",
        "table.select_many(iter(keys))",
        "table.contains_many(keys)",
        "table.delete_many(keys)",
        "table.insert_many(pairs)",
        "table.insert_many(iter(pairs))",
        "table.increment_many(pairs)",
    ],
)
def test_result_that_memory_is_refused_for_is_an_error(expression: str) -> None:
    program = SHORT_OF_MEMORY + LIMITED.format(store="twindex.Store()", expression=expression)
    assert output_of(program) == "refused\n"


@is_limited
@pytest.mark.parametrize("durability", ["everysec", "always"])
@pytest.mark.parametrize(
    "expression",
    [
        "table.upsert(b'c', large)",
        "table.alter(b'a', lambda value: large)",
        "table.compare_and_swap(b'a', None, None) or table.compare_and_swap(b'c', None, large)",
        "table.insert_many([(b'c', large)])",
    ],
)
def test_change_that_the_log_has_no_memory_for_is_an_error(
    path: Path, durability: str, expression: str
) -> None:
    """The record of a change was made once the change was in memory, and ended the process where there was none for it."""
    store = f"twindex.open({str(path)!r}, durability={durability!r})"
    program = SHORT_OF_MEMORY + LIMITED.format(store=store, expression=expression)
    assert output_of(program) == "refused\n"


EXHAUSTED = """
import sys
table = twindex.Store().table("t", sys.argv[1], **RAW)
table.update((b"%d" % number, b"v" * 400) for number in range(20_000))
pairs, kept = table.items(), []
limit_memory(0)
for _ in range(20):
    try:
        while True:
            kept.append(list(pairs))
    except MemoryError:
        pass
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print(len(list(pairs)))
"""


@is_limited
def test_reading_ahead_holds_one_memory_error(index: Index) -> None:
    """A block held one for each pair that could not be made. Python has sixteen, and ended the process."""
    assert output_of(SHORT_OF_MEMORY + EXHAUSTED, index) == "20000\n"


REFUSED = """
table = twindex.Store({limit}).table("t", **RAW)
value = b"v" * (48 << 20)
limit_memory(32 << 20)
try:
    table[b"a"] = value
except twindex.MemoryLimitError as error:
    print(error)
"""


@is_limited
@pytest.mark.parametrize(
    ("limit", "says"), [("", "the system has no memory"), ("1000000", "limit is 1000000")]
)
def test_error_names_who_refused_memory(limit: str, says: str) -> None:
    told = output_of(SHORT_OF_MEMORY + REFUSED.format(limit=limit))
    assert says in told
    assert ("limit" in told) == bool(limit)
