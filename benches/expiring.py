"""Tables whose pairs expire beside diskcache: `pip install diskcache`, then `python expiring.py [PAIRS]`.

Each system writes pairs that expire, half of them soon, reads them in another order, and removes what has expired. `index` is what
we did not build: the same table and a sorted one of deadlines, which leads to what has expired.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import diskcache
import twindex

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
KEYS = [f"session:{number:08}" for number in range(PAIRS)]
VALUE = "v" * 100
random.seed(1)
SHUFFLED = random.sample(KEYS, PAIRS)
SOON, LATE = 1.0, 3600.0

#: How a system writes a pair with a time to live, reads it, removes what has expired, and how many bytes it has.
System = tuple[Callable[[str, float], Any], Callable[[str], object], Callable[[], int], Callable[[], int]]


def systems(folder: Path) -> Iterator[tuple[str, int, System]]:
    """No pair expires; the deadline is in the record; and in a sorted table; diskcache with its defaults."""
    store = twindex.open(folder / "plain.twx")
    plain = store.table("t")
    yield "plain", PAIRS, (lambda key, _: plain.upsert(key, VALUE), plain.select, lambda: 0, lambda: store.memory)
    store = twindex.open(folder / "record.twx")
    table = store.table("t", expires=True)

    def write(key: str, ttl: float) -> None:
        table.upsert(key, VALUE, ttl=ttl)

    yield "record", PAIRS, (write, table.select, table.remove_expired, lambda: store.memory)
    store = twindex.open(folder / "index.twx")
    table, times = store.table("t", expires=True), store.table("times", "sorted", keys="tuple", values="bytes")

    def write_both(key: str, ttl: float) -> None:
        write(key, ttl)
        times.upsert((time.time_ns() + int(ttl * 1e9), key), b"")

    def remove() -> int:
        found = [key for key, _ in times.scan(lt=(time.time_ns(),))]
        table.delete_many([key for _, key in found])
        return sum(times.delete_many(found))

    yield "index", PAIRS, (write_both, table.select, remove, lambda: store.memory)
    cache = diskcache.Cache(str(folder), eviction_policy="none", size_limit=1 << 40)
    yield "diskcache", PAIRS // 10, (lambda key, ttl: cache.set(key, VALUE, expire=ttl), cache.get, cache.expire, cache.volume)


def rate(work: Callable[[], int]) -> str:
    begun = time.perf_counter()
    done = work()
    return f"{done / (time.perf_counter() - begun) / 1e3:,.0f}" if done else "-"


print("| system | writes | reads | removed | bytes a pair |\n|---|---|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    for name, count, (write, read, remove, size) in systems(Path(folder)):
        writes = rate(lambda: len([write(key, LATE if at % 2 == 0 else SOON) for at, key in enumerate(KEYS[:count])]))
        held, reads = size() / count, rate(lambda: len([read(key) for key in SHUFFLED[:count]]))
        time.sleep(1.1 * SOON)
        print(f"| {name} | {writes} | {reads} | {rate(remove)} | {held:.0f} |", flush=True)
