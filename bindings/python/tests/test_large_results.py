"""Results that are large, or larger than memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest

from twindex import Store

MIB = 1 << 20


@pytest.mark.parametrize("index", ["hash", "sorted"])
def test_large_values_are_read_ahead_one_at_a_time(index: Literal["hash", "sorted"]) -> None:
    table = Store().table("t", index=index, keys="bytes", values="bytes")
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


@pytest.mark.parametrize("index", ["hash", "sorted"])
def test_keys_of_large_values_come_without_them(index: Literal["hash", "sorted"]) -> None:
    table = Store().table("t", index=index, keys="bytes", values="bytes")
    for key in range(64):
        table[bytes([key])] = b"v" * MIB
    assert sorted(table) == [bytes([key]) for key in range(64)]


def test_popitem_of_a_hash_table_meets_every_pair_once() -> None:
    table = Store().table("t", keys="bytes", values="bytes")
    pairs = {b"%d" % number: b"v%d" % number for number in range(5_000)}
    table.update(pairs)
    popped = dict(table.popitem() for _ in range(2_000))
    # Keys that were to come next are gone, others are new, and so are some values.
    for key in [key for key in pairs if key not in popped][::2]:
        del table[key]
    table.update((b"new %d" % number, b"v") for number in range(1_000))
    for key in list(table)[::3]:
        table[key] = b"changed"
    left = dict(table)
    assert dict(table.popitem() for _ in range(len(table))) == left
    with pytest.raises(KeyError, match="empty"):
        table.popitem()
    table[b"again"] = b"1"
    assert table.popitem() == (b"again", b"1")


@pytest.mark.parametrize("length", [0, 100, 5_000, MIB])
def test_many_values_of_any_length_come_in_order(length: int) -> None:
    table = Store().table("t", keys="bytes", values="bytes")
    keys = [b"%d" % number for number in range(200)]
    for number, key in enumerate(keys):
        table[key] = b"%d" % number + b"v" * (length if number % 3 else 0)
    wanted = [*keys, b"absent", *keys]
    found = table.select_many(wanted)
    assert found == [table.get(key) for key in wanted]


LIMITED = """
import resource
import twindex
from twindex import Store

store = {store}
raw = dict(keys="bytes", values="bytes")
table, log = store.table("t", **raw), store.table("log", index="sorted", **raw)
large = b"v" * (48 << 20)
for one in table, log:
    one[b"a"] = one[b"b"] = large
keys, pairs = [b"a"] * 8_000_000, [(b"a", b"b")] * 4_000_000
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), -1))
try:
    {expression}
except MemoryError:
    assert table[b"small"] == b"1" if table.insert(b"small", b"1") else False
    assert len(table) == 3 and len(log) == 2
    print("refused")
"""


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
        "table.select_many(keys)",
        "table.select_many(iter(keys))",
        "table.contains_many(keys)",
        "table.delete_many(keys)",
        "table.insert_many(pairs)",
        "table.insert_many(iter(pairs))",
        "table.increment_many(pairs)",
    ],
)
def test_a_result_that_memory_is_refused_for_is_an_error(expression: str) -> None:
    if sys.platform != "linux":
        pytest.skip("a process cannot be given less memory here")
    refused("Store()", expression)


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
def test_the_log_of_a_file_is_short_of_memory_too(tmp_path: Path, durability: str, expression: str) -> None:
    """The record of a change was made once the change was in memory, and ended the process where there was none for it."""
    if sys.platform != "linux":
        pytest.skip("a process cannot be given less memory here")
    refused(f"twindex.open({str(tmp_path / 'app.twx')!r}, durability={durability!r})", expression)


def refused(store: str, expression: str) -> None:
    program = LIMITED.format(store=store, expression=expression)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


EXHAUSTED = """
import resource
import twindex

table = twindex.Store().table("t", {index!r}, keys="bytes", values="bytes")
table.update((b"%d" % number, b"v" * 400) for number in range(20_000))
pairs, kept = table.items(), []
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used, -1))
for _ in range(20):
    try:
        while True:
            kept.append(list(pairs))
    except MemoryError:
        pass
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print(len(list(pairs)))
"""


@pytest.mark.parametrize("index", ["hash", "sorted"])
def test_reading_ahead_holds_one_memory_error(index: str) -> None:
    """A block held one for each pair that could not be made. Python has sixteen, and ended the process."""
    if sys.platform != "linux":
        pytest.skip("a process cannot be given less memory here")
    program = EXHAUSTED.format(index=index)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "20000\n"), done.stderr


REFUSED = """
import resource, twindex
store = twindex.Store({limit})
table = store.table("t", keys="bytes", values="bytes")
value = b"v" * (48 << 20)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), -1))
try:
    table[b"a"] = value
except twindex.MemoryLimitError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit", "says"), [("", "the system has no memory"), ("1000000", "limit is 1000000")]
)
def test_who_refused_memory_is_told(limit: str, says: str) -> None:
    """The error named a memory limit of 18,446,744,073,709,551,615 bytes where the system had refused memory."""
    if sys.platform != "linux":
        pytest.skip("a process cannot be given less memory here")
    done = subprocess.run(
        [sys.executable, "-c", REFUSED.format(limit=limit)], check=False, capture_output=True, text=True
    )
    assert says in done.stdout, (done.stdout, done.stderr)
    assert ("limit" in done.stdout) == bool(limit)
