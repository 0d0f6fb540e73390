"""Attacks at random, in their shortest form: what they find becomes a test of its own, with its story.

They know of Twindex what its documents promise, and nothing of its inside. `TWINDEX_STRESS` makes them so many times as long,
`TWINDEX_SEED` gives other random numbers.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import IS_LINUX, SHORT_OF_MEMORY, python

STRESS = float(os.environ.get("TWINDEX_STRESS", "1"))
SEED = int(os.environ.get("TWINDEX_SEED", "1"))

STARVED = """
import random, sys
chance = random.Random(int(sys.argv[1]))
store = twindex.Store() if chance.random() < 0.5 else twindex.open(sys.argv[2])
tables = [store.table("h", **RAW), store.table("s", "sorted", **RAW)]
pairs = [(b"%d" % number, b"v" * 100) for number in range(20_000)]
numbers = {number: "v" * 50 for number in range(20_000)}
limit_memory(chance.choice([4, 16, 64]) * 1_000_000)
for turn in range(150):
    table = chance.choice(tables)
    size = chance.choice([0, 10, 5_000, 3_000_000, 30_000_000])
    calls = [
        lambda: table.upsert(b"%d" % turn, bytearray(size)),
        lambda: table.upsert_many(pairs),
        lambda: table.update((key + b".%d" % turn, value) for key, value in pairs),
        lambda: table.update(dict(pairs)),
        lambda: store.dump(),
        lambda: twindex.Store.load(store.dump()),
        lambda: table == tables[0],
        lambda: list(table.items()),
        lambda: table.select_many([key for key, _ in pairs]),
        lambda: store.table(f"t{turn}", keys="int").update(numbers),
        lambda: store.table("tuples", keys="tuple").upsert((b"k" * 60_000, "x" * 10), "1"),
        lambda: table.alter(b"0", lambda value: (value or b"") + bytes(size)),
        lambda: table.popitem(),
        lambda: table.clear(),
        lambda: tables[1].scan(reverse=True, limit=10_000),
        lambda: sorted(tables[0]),
        lambda: store.path and store.compact(),
    ]
    try:
        chance.choice(calls)()
    except (MemoryError, KeyError, OSError):
        pass
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
for table in tables:
    table[b"after"] = b"1"
    assert table[b"after"] == b"1" and len(dict(table)) == len(table)
print("alive")
"""


@pytest.mark.skipif(not IS_LINUX, reason="a process cannot be given less memory here")
@pytest.mark.parametrize("seed", range(SEED, SEED + max(2, int(2 * STRESS))))
def test_process_that_is_short_of_memory_lives_on(path: Path, seed: int) -> None:
    # Python itself complains where it has no memory for what it does between calls.
    done = python(SHORT_OF_MEMORY + STARVED, seed, path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
