"""Caches beside cachebox and cachetools: hits, misses that are written, and both mixed, with entries of 100 bytes.

    pip install cachebox cachetools
    python bench_cache.py [--entries 100000]

Each line has the millions of operations a second of the best of five runs, the libraries in turn. In the mixed workload keys
are asked for by a zipf distribution of exponent 0.9 over ten times the capacity, and what is absent is written: ten times as
many as the cache holds, as it begins full of others and learns.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import cachetools

import twindex

VALUE = "x" * 84
ROUNDS = 5


def key(number: int) -> str:
    """A key of 16 characters."""
    return f"key-{number:012}"


def get_all(cache: Any, keys: list[str]) -> int:
    """Ask for every key; how many were there."""
    get = cache.get
    return sum(get(name) is not None for name in keys)


def put_all(cache: Any, keys: list[str]) -> int:
    """Write every key."""
    for name in keys:
        cache[name] = VALUE
    return 0


def mixed(cache: Any, keys: list[str]) -> int:
    """Ask for every key and write what is absent; how many were there."""
    get, hits = cache.get, 0
    for name in keys:
        if get(name) is None:
            cache[name] = VALUE
        else:
            hits += 1
    return hits


def makers(entries: int) -> dict[str, Callable[[], Any]]:
    """The libraries that are here."""
    all_makers: dict[str, Callable[[], Any]] = {
        "twindex str": lambda: twindex.Store().cache("c", maxsize=entries),
        "twindex object": lambda: twindex.Cache(maxsize=entries),
        "cachetools LRU": lambda: cachetools.LRUCache(entries),
    }
    try:
        import cachebox  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return all_makers
    return {
        **all_makers,
        "cachebox LRU": lambda: cachebox.LRUCache(entries),
        "cachebox FIFO": lambda: cachebox.FIFOCache(entries),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    entries: int = parser.parse_args().entries
    chance = random.Random(64)
    hot = [key(number) for number in range(entries)]
    shuffled = chance.sample(hot, entries)
    weights = list(accumulate(1 / (rank + 1) ** 0.9 for rank in range(10 * entries)))
    drawn = chance.choices(range(10 * entries), cum_weights=weights, k=10 * entries)
    zipf = [key(number * 7919 % (10 * entries)) for number in drawn]
    # Other objects than those that were written, as in a program that makes its keys.
    shuffled = ["".join(list(name)) for name in shuffled]
    works = {
        "hits": (get_all, shuffled),
        "writes": (put_all, [key(n + entries) for n in range(entries)]),
        "mixed": (mixed, zipf),
    }
    best: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for name, make in makers(entries).items():
            for work, (run, keys) in works.items():
                cache = make()
                put_all(cache, hot)
                start = time.perf_counter()
                found = run(cache, keys)
                rate = len(keys) / (time.perf_counter() - start) / 1e6
                best[name, work] = max(best.get((name, work), 0), rate)
                if work == "mixed":
                    best[name, "hit ratio"] = found / len(keys)
    columns = [*works, "hit ratio"]
    print(f"{'':16}" + "".join(f"{column:>12}" for column in columns))
    for name in makers(entries):
        print(f"{name:16}" + "".join(f"{best[name, column]:12.2f}" for column in columns))


if __name__ == "__main__":
    main()
