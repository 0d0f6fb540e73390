"""Tables whose pairs expire beside diskcache: `pip install diskcache`, then `python expiring.py [PAIRS]`.

Each system writes pairs that expire, half of them soon, reads them in another order, and removes what has expired. `index` is what
we did not build: the same table and a sorted one of deadlines, which leads to what has expired.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
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


def ttl(number: int) -> float:
    return SOON if number % 2 else LATE


class Plain:
    """No pair expires."""

    def __init__(self, folder: Path) -> None:
        self.store = twindex.open(folder / "app.twx")
        self.table: Any = self.store.table("t")

    def write(self, key: str, number: int) -> None:
        self.table.upsert(key, VALUE)

    def read(self, key: str) -> object:
        return self.table.select(key)

    def remove(self) -> int:
        return 0

    def bytes(self) -> int:
        return self.store.memory


class Record(Plain):
    """The deadline is in the record."""

    def __init__(self, folder: Path) -> None:
        self.store = twindex.open(folder / "app.twx")
        self.table = self.store.table("t", expires=True)

    def write(self, key: str, number: int) -> None:
        self.table.upsert(key, VALUE, ttl=ttl(number))

    def remove(self) -> int:
        return int(self.table.remove_expired())


class Index(Record):
    """And in a sorted table."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.times = self.store.table("times", "sorted", keys="tuple", values="bytes")

    def write(self, key: str, number: int) -> None:
        super().write(key, number)
        self.times.upsert((time.time_ns() + int(ttl(number) * 1e9), key), b"")

    def remove(self) -> int:
        found = [key for key, _ in self.times.scan(lt=(time.time_ns(),))]
        self.table.delete_many([key for _, key in found])
        return sum(self.times.delete_many(found))


class Diskcache:
    """diskcache.Cache, with its defaults."""

    def __init__(self, folder: Path) -> None:
        self.cache = diskcache.Cache(str(folder), eviction_policy="none", size_limit=1 << 40)

    def write(self, key: str, number: int) -> None:
        self.cache.set(key, VALUE, expire=ttl(number))

    def read(self, key: str) -> object:
        return self.cache.get(key)

    def remove(self) -> int:
        return int(self.cache.expire())

    def bytes(self) -> int:
        return int(self.cache.volume())


def rate(work: Callable[[], int]) -> str:
    begun = time.perf_counter()
    done = work()
    return f"{done / (time.perf_counter() - begun) / 1e3:,.0f}" if done else "-"


def measure(system: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        it, count = system(Path(folder)), PAIRS // 10 if system is Diskcache else PAIRS

        def write() -> int:
            for number, key in enumerate(KEYS[:count]):
                it.write(key, number)
            return count

        def read() -> int:
            for key in SHUFFLED[:count]:
                it.read(key)
            return count

        writes = rate(write)
        size, reads = it.bytes() / count, rate(read)
        time.sleep(1.1 * SOON)
        removed = rate(it.remove)
        print(f"| {system.__name__.lower()} | {writes} | {reads} | {removed} | {size:.0f} |", flush=True)


print("| system | writes | reads | removed | bytes a pair |\n|---|---|---|---|---|")
for each in (Plain, Record, Index, Diskcache):
    measure(each)
