"""Twindex beside what Python programs use today: `python bench.py` prints how many times as fast and as small it is.

    pip install cachebox cachetools lmdb sortedcontainers      # those that are missing are left out
    python bench.py [hash] [sorted] [cache] [--pairs N] [--threads T] [--keys FILE] [--rounds N]

Pairs of strings are inserted in random order, selected in another, and scanned in order where there is one; each library in a
process of its own, in turns, every value checked. With --system NAME one library is measured in this process, and each
figure printed as a line of JSON, as `cargo xtask bench` reads it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import itertools
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import twindex

BATCH, RANGE = 1000, 100
SHOW = Path(__file__).parents[2] / "benches/show.py"
Pairs = list[tuple[Any, Any]]


class Map:
    """A dict or what behaves like one: the verbs as plain loops."""

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs

    def insert(self, pairs: Pairs) -> None:
        target = self.pairs
        for key, value in pairs:
            target[key] = value

    def select(self, pairs: Pairs) -> None:
        target = self.pairs
        for key, value in pairs:
            if target[key] != value:
                raise wrong(key)

    def insert_many(self, batches: list[Pairs]) -> None:
        for batch in batches:
            self.pairs.update(batch)

    def select_many(self, batches: list[list[Any]]) -> None:
        get = self.pairs.get
        for batch in batches:
            check(None not in [get(key) for key in batch], batch[0])

    def steps(self, _first: Any) -> Iterator[tuple[Any, Any]]:
        """The pairs one by one, from a key on."""
        return iter(self.pairs.items())

    def scan(self) -> Iterable[tuple[Any, Any]]:
        """All pairs, by the quickest iterator."""
        return self.pairs.items()  # type: ignore[no-any-return]

    def range(self, start: Any) -> int:
        return sum(1 for key in itertools.islice(self.pairs.irange(start), RANGE) if self.pairs[key])


class Twindex(Map):
    """A table of Twindex."""

    def __init__(self, index: Any) -> None:
        self.store = twindex.Store()
        super().__init__(self.store.table("t", index, keys="str", values="str"))

    def insert(self, pairs: Pairs) -> None:
        insert = self.pairs.insert
        for key, value in pairs:
            if not insert(key, value):
                raise wrong(key)

    def insert_many(self, batches: list[Pairs]) -> None:
        for batch in batches:
            self.pairs.insert_many(batch)

    def select_many(self, batches: list[list[str]]) -> None:
        for batch in batches:
            check(None not in self.pairs.select_many(batch), batch[0])

    def steps(self, first: str) -> Iterator[tuple[Any, Any]]:
        return self.pairs.scan(gte=first)  # type: ignore[no-any-return]

    def scan(self) -> Iterable[tuple[Any, Any]]:
        return self.pairs.scan()  # type: ignore[no-any-return]

    def range(self, start: str) -> int:
        return sum(1 for _ in self.pairs.scan(gte=start, limit=RANGE))


class Lmdb(Map):
    """py-lmdb, everything in one transaction, without waiting for the disk."""

    def __init__(self) -> None:
        import lmdb

        self.folder = tempfile.TemporaryDirectory()
        options: Any = {"map_size": 1 << 36, "sync": False, "metasync": False, "writemap": True}
        self.lmdb = lmdb.open(self.folder.name, **options)

    def insert(self, pairs: Pairs) -> None:
        with self.lmdb.begin(write=True) as transaction:
            for key, value in pairs:
                transaction.put(key, value, overwrite=False)

    def select(self, pairs: Pairs) -> None:
        with self.lmdb.begin() as transaction:
            for key, value in pairs:
                if transaction.get(key) != value:
                    raise wrong(key)

    def insert_many(self, batches: list[Pairs]) -> None:
        with self.lmdb.begin(write=True) as transaction:
            for batch in batches:
                transaction.cursor().putmulti(batch, overwrite=False)

    def select_many(self, batches: list[list[Any]]) -> None:
        with self.lmdb.begin() as transaction:
            for batch in batches:
                check(len(transaction.cursor().getmulti(batch)) == len(batch), batch[0])

    def steps(self, _first: Any) -> Iterator[tuple[Any, Any]]:
        with self.lmdb.begin() as transaction:
            yield from transaction.cursor()

    def scan(self) -> Iterable[tuple[Any, Any]]:
        return self.steps(None)

    def range(self, start: Any) -> int:
        with self.lmdb.begin() as transaction:
            cursor = transaction.cursor()
            return sum(1 for _ in itertools.islice(cursor, RANGE)) if cursor.set_range(start) else 0


module: Callable[[str], Any] = importlib.import_module
#: How to make an empty one of each library, by work: ours first.
SYSTEMS: dict[str, dict[str, Callable[..., Any]]] = {
    "hash": {"twindex": lambda: Twindex("hash"), "dict": lambda: Map({})},
    "sorted": {
        "twindex": lambda: Twindex("sorted"),
        "sortedcontainers": lambda: Map(module("sortedcontainers").SortedDict()),
        "lmdb": Lmdb,
    },
    "cache": {
        "twindex": lambda entries: twindex.Cache(max_entries=entries),
        "twindex-str": lambda entries: twindex.Cache(max_entries=entries, keys="str", values="str"),
        "cachebox": lambda entries: module("cachebox").LRUCache(entries),
        "cachebox-fifo": lambda entries: module("cachebox").FIFOCache(entries),
        "cachetools": lambda entries: module("cachetools").LRUCache(entries),
    },
}


def wrong(key: object) -> ValueError:
    """Loops raise it themselves: a call of Python for each pair would take as long as a dict."""
    return ValueError(f"a wrong result for {key!r}")


def check(is_right: bool, key: object) -> None:
    if not is_right:
        raise wrong(key)


def print_figure(system: str, figure: str, unit: str, value: float) -> None:
    record = {"system": system, "figure": figure, "unit": unit, "value": value, "params": {}}
    print(json.dumps(record), flush=True)


def time_threads(work: Callable[[Any], object], groups: list[Any]) -> float:
    """The seconds from the first thread's start to the last one's end, without the collector, which would find nothing."""
    barrier = threading.Barrier(len(groups))

    def run(group: Any) -> tuple[float, float]:
        barrier.wait()
        start = time.perf_counter()
        work(group)
        return start, time.perf_counter()

    gc.collect()
    gc.freeze()
    with ThreadPoolExecutor(len(groups)) as pool:
        times = list(pool.map(run, groups)) if len(groups) > 1 else [run(groups[0])]
    gc.unfreeze()
    return max(end for _, end in times) - min(start for start, _ in times)


def groups_of(items: list[Any], count: int) -> list[list[Any]]:
    ends = [len(items) * group // count for group in range(count + 1)]
    return [items[start:end] for start, end in itertools.pairwise(ends)]


def batches_of(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def resident_bytes() -> int | None:
    """The memory that this process occupies, where the system tells it (Linux)."""
    gc.collect()
    # Otherwise what comes next takes memory that was freed before and still counts.
    if trim := getattr(ctypes.CDLL(None) if sys.platform == "linux" else None, "malloc_trim", None):
        trim(0)
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)


def new_pairs(keys: list[str], is_bytes: bool) -> Iterator[tuple[Any, Any]]:
    """Pairs of objects that nobody else holds."""
    for number, key in enumerate(keys):
        text, value = key.encode(), f"{number:016}".encode()
        yield (text, value) if is_bytes else (text.decode(), value.decode())


def fill(index: str, system: str, keys: list[str], threads: int) -> None:
    new, is_bytes = SYSTEMS[index][system], system == "lmdb"
    before, target = resident_bytes(), new()
    pairs = new_pairs(keys, is_bytes)
    for batch in iter(lambda: list(itertools.islice(pairs, BATCH)), []):
        target.insert_many([batch])
        del batch
    after = resident_bytes()
    if threads == 1 and before is not None and after is not None:
        print_figure(system, "bytes", "bytes", max(0, after - before) / len(keys))

    written, rng = list(new_pairs(keys, is_bytes)), random.Random(64)
    # Copies, which lie in memory in the order of their use, as the pairs to write do. A map that gave back the very object that
    # is expected would not have to read it.
    orders = [rng.sample(group, len(group)) for group in groups_of(written, threads)]
    read, ordered = (
        [(key[:1] + key[1:], value[:1] + value[1:]) for key, value in pairs]
        for pairs in (itertools.chain.from_iterable(orders), sorted(written))
    )
    target = new()

    def rate(figure: str, count: int, work: Callable[[Any], object], groups: list[Any]) -> None:
        print_figure(system, figure, "/s", count / time_threads(work, groups))

    def walk(group: Pairs) -> None:
        steps = itertools.islice(target.steps(group[0][0]), len(group))
        for found, pair in zip(steps, group, strict=True):
            if found != pair:
                raise wrong(pair[0])

    rate("insert", len(keys), target.insert, groups_of(written, threads))
    rate("select", len(keys), target.select, groups_of(read, threads))
    asked = batches_of([key for key, _ in read])
    rate("select_many", len(keys), target.select_many, groups_of(asked, threads))
    if index == "sorted":
        rate("scan", len(keys), walk, groups_of(ordered, threads))
    if index == "sorted" and threads == 1:
        rate("scan_many", len(keys), lambda _: check(sum(1 for _ in target.scan()) == len(keys), 0), [None])
        starts = [key for key, _ in read[: max(1, len(read) // 50)]]
        rate("range of 100", len(starts), lambda starts: [target.range(start) for start in starts], [starts])
    target = new()
    rate("insert_many", len(keys), target.insert_many, groups_of(batches_of(written), threads))


def cache(system: str, keys: list[str]) -> None:
    """Hits, writes and both mixed by zipf 0.9 over ten times the capacity; entries of 100 bytes."""
    entries, value, chance = max(1, len(keys) // 10), "x" * 84, random.Random(64)
    hot, others = keys[:entries], keys[entries : 2 * entries]
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(len(keys))))
    ranks = chance.choices(range(len(keys)), cum_weights=weights, k=len(keys))
    drawn = [keys[rank * 7919 % len(keys)] for rank in ranks]

    def put(target: Any, keys: list[str]) -> None:
        for key in keys:
            target[key] = value

    def request(target: Any, keys: list[str]) -> int:
        get, hits = target.get, 0
        for key in keys:
            if get(key) is None:
                target[key] = value
            else:
                hits += 1
        return hits

    hits = ("hits", request, chance.sample(hot, entries))
    for figure, work, asked in (hits, ("writes", put, others), ("zipf 0.9", request, drawn)):
        target = SYSTEMS["cache"][system](entries)
        put(target, hot)
        start = time.perf_counter()
        found = work(target, asked)
        print_figure(system, figure, "/s", len(asked) / (time.perf_counter() - start))
    print_figure(system, "hit ratio", "%", 100 * (found or 0) / len(drawn))


def compare(work: str, options: argparse.Namespace) -> None:
    """Every library that is here in turn, as often as --rounds says, and a table of the medians."""
    here = [name for name in SYSTEMS[work] if importlib.util.find_spec(name.split("-")[0]) or name == "dict"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.jsonl")
        with path.open("w", encoding="utf-8") as records:
            for number, name in itertools.product(range(options.rounds), here):
                threads = options.threads if name == "twindex" else 1
                flags = {"system": name, "pairs": options.pairs, "threads": threads, "keys": options.keys}
                words = [f"--{flag}={value}" for flag, value in flags.items() if value is not None]
                command = [sys.executable, __file__, work, *words]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                for line in done.stdout.splitlines():
                    records.write(json.dumps({**json.loads(line), "row": work, "round": number}) + "\n")
        subprocess.run([sys.executable, str(SHOW), str(path)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", default=list(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--system")
    parser.add_argument("--keys", type=Path, help="a file of keys, one a line")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1, help="of Twindex")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.system is None:
        for work in options.works:
            compare(work, options)
        return
    text = options.keys.read_text(encoding="utf-8") if options.keys else ""
    lines = text.splitlines() or (random.randbytes(8).hex() for _ in range(options.pairs))
    keys = list(itertools.islice(dict.fromkeys(line for line in lines if line), options.pairs))
    for work in options.works:
        cache(options.system, keys) if work == "cache" else fill(work, options.system, keys, options.threads)


if __name__ == "__main__":
    try:
        main()
    except KeyError as error:
        sys.exit(f"error: there is no {error}; there are {SYSTEMS}")
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
