"""The same work in Twindex and in what people use today, each library in a process of its own.

Every library gets the same pairs in the same order. Times are those of plain loops that call the library as its
documentation shows. `bench.py --peers` runs this and prints the ratios.
"""

from __future__ import annotations

import gc
import importlib.metadata
import mmap
import multiprocessing
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import twindex

Pairs: TypeAlias = list[tuple[bytes, bytes]]
Keys: TypeAlias = list[bytes]

SEED = 64
#: The pairs of one call of a `_many` form.
BATCH = 1000
#: What any library needs for a pair beside its bytes, at most.
MOST_OVERHEAD = 250
#: The pairs of a range.
RANGE = 100


class Peer(ABC):
    """A library that holds pairs of bytes."""

    #: What pip calls it, where it is no part of Python.
    package = ""
    is_sorted = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def insert(self, pairs: Pairs) -> None:
        """Inserts one by one."""

    @abstractmethod
    def select(self, keys: Keys) -> None:
        """Selects one by one."""

    @abstractmethod
    def insert_many(self, batches: list[Pairs]) -> None:
        """Inserts a batch at a time."""

    @abstractmethod
    def select_many(self, batches: list[Keys]) -> None:
        """Selects a batch at a time."""

    def scan(self) -> int:
        """Goes through all pairs in the order of the keys, where it has one; how many."""
        raise NotImplementedError

    def ranges(self, starts: Keys) -> None:
        """Goes through the first pairs from each key on, where keys have an order."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of files, where it has any."""
        return


class Hash(Peer):
    """A hash table of Twindex."""

    index: Literal["hash", "sorted"] = "hash"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.store = twindex.Store()
        self.table = self.store.table("t", self.index, keys="bytes", values="bytes")

    def insert(self, pairs: Pairs) -> None:
        insert = self.table.insert
        for key, value in pairs:
            insert(key, value)

    def select(self, keys: Keys) -> None:
        table = self.table
        for key in keys:
            table[key]

    def insert_many(self, batches: list[Pairs]) -> None:
        for batch in batches:
            self.table.insert_many(batch)

    def select_many(self, batches: list[Keys]) -> None:
        for batch in batches:
            self.table.select_many(batch)


class Sorted(Hash):
    """A sorted table of Twindex."""

    index = "sorted"
    is_sorted = True

    def scan(self) -> int:
        count = 0
        for _key, _value in self.table.scan():
            count += 1
        return count

    def ranges(self, starts: Keys) -> None:
        for start in starts:
            for _key, _value in self.table.scan(gte=start, limit=RANGE):
                pass


class Dict(Peer):
    """Python's own `dict`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.pairs: dict[bytes, bytes] = {}

    def insert(self, pairs: Pairs) -> None:
        target = self.pairs
        for key, value in pairs:
            target[key] = value

    def select(self, keys: Keys) -> None:
        target = self.pairs
        for key in keys:
            target[key]

    def insert_many(self, batches: list[Pairs]) -> None:
        for batch in batches:
            self.pairs.update(batch)

    def select_many(self, batches: list[Keys]) -> None:
        target = self.pairs
        for batch in batches:
            [target.get(key) for key in batch]


class SortedDict(Peer):
    """`sortedcontainers.SortedDict`."""

    package = "sortedcontainers"
    is_sorted = True

    def __init__(self, folder: Path) -> None:
        import sortedcontainers

        super().__init__(folder)
        self.pairs: Any = sortedcontainers.SortedDict()

    insert = Dict.insert
    select = Dict.select
    insert_many = Dict.insert_many
    select_many = Dict.select_many

    def scan(self) -> int:
        count = 0
        for _key, _value in self.pairs.items():
            count += 1
        return count

    def ranges(self, starts: Keys) -> None:
        pairs = self.pairs
        for start in starts:
            for key, _ in zip(pairs.irange(start), range(RANGE), strict=False):
                pairs[key]


class Lmdb(Peer):
    """py-lmdb, everything in one transaction, no waiting for the disk."""

    package = "lmdb"
    is_sorted = True

    def __init__(self, folder: Path) -> None:
        import lmdb

        super().__init__(folder)
        options: dict[str, Any] = {"map_size": 1 << 36, "sync": False, "metasync": False, "writemap": True}
        self.lmdb: Any = lmdb.open(str(folder / "lmdb"), **options)

    def insert(self, pairs: Pairs) -> None:
        with self.lmdb.begin(write=True) as transaction:
            put = transaction.put
            for key, value in pairs:
                put(key, value, overwrite=False)

    def select(self, keys: Keys) -> None:
        with self.lmdb.begin() as transaction:
            get = transaction.get
            for key in keys:
                get(key)

    def insert_many(self, batches: list[Pairs]) -> None:
        with self.lmdb.begin(write=True) as transaction:
            for batch in batches:
                transaction.cursor().putmulti(batch, overwrite=False)

    def select_many(self, batches: list[Keys]) -> None:
        with self.lmdb.begin() as transaction:
            for batch in batches:
                transaction.cursor().getmulti(batch)

    def scan(self) -> int:
        count = 0
        with self.lmdb.begin() as transaction:
            for _key, _value in transaction.cursor():
                count += 1
        return count

    def ranges(self, starts: Keys) -> None:
        with self.lmdb.begin() as transaction:
            cursor = transaction.cursor()
            for start in starts:
                if cursor.set_range(start):
                    for _ in zip(cursor, range(RANGE), strict=False):
                        pass

    def close(self) -> None:
        self.lmdb.close()


class Sqlite(Peer):
    """SQLite in memory, a table that is its own index, everything in one transaction."""

    is_sorted = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.sqlite.execute("CREATE TABLE pairs (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def insert(self, pairs: Pairs) -> None:
        execute = self.sqlite.execute
        execute("BEGIN")
        for pair in pairs:
            execute("INSERT OR IGNORE INTO pairs VALUES (?, ?)", pair)
        execute("COMMIT")

    def select(self, keys: Keys) -> None:
        execute = self.sqlite.execute
        for key in keys:
            execute("SELECT value FROM pairs WHERE key = ?", (key,)).fetchone()

    def insert_many(self, batches: list[Pairs]) -> None:
        self.sqlite.execute("BEGIN")
        for batch in batches:
            self.sqlite.executemany("INSERT OR IGNORE INTO pairs VALUES (?, ?)", batch)
        self.sqlite.execute("COMMIT")

    def select_many(self, batches: list[Keys]) -> None:
        marks = ",".join("?" * BATCH)
        for batch in batches:
            marks_here = marks if len(batch) == BATCH else ",".join("?" * len(batch))
            self.sqlite.execute(f"SELECT key, value FROM pairs WHERE key IN ({marks_here})", batch).fetchall()

    def scan(self) -> int:
        count = 0
        for _key, _value in self.sqlite.execute("SELECT key, value FROM pairs ORDER BY key"):
            count += 1
        return count

    def ranges(self, starts: Keys) -> None:
        query = f"SELECT key, value FROM pairs WHERE key >= ? ORDER BY key LIMIT {RANGE}"
        for start in starts:
            for _ in self.sqlite.execute(query, (start,)):
                pass

    def close(self) -> None:
        self.sqlite.close()


class Rocks(Peer):
    """rocksdict, without its log."""

    package = "rocksdict"
    is_sorted = True

    def __init__(self, folder: Path) -> None:
        import rocksdict

        super().__init__(folder)
        self.rocks: Any = rocksdict.Rdict(str(folder / "rocks"), rocksdict.Options(raw_mode=True))
        options: Any = rocksdict.WriteOptions()
        options.disable_wal = True
        self.rocks.set_write_options(options)
        self.new_batch: Callable[[], Any] = lambda: rocksdict.WriteBatch(raw_mode=True)
        self.write_options = options

    def insert(self, pairs: Pairs) -> None:
        rocks = self.rocks
        for key, value in pairs:
            rocks[key] = value

    def select(self, keys: Keys) -> None:
        rocks = self.rocks
        for key in keys:
            rocks[key]

    def insert_many(self, batches: list[Pairs]) -> None:
        for batch in batches:
            together = self.new_batch()
            for key, value in batch:
                together[key] = value
            self.rocks.write(together, self.write_options)

    def select_many(self, batches: list[Keys]) -> None:
        for batch in batches:
            self.rocks[batch]

    def scan(self) -> int:
        count = 0
        for _key, _value in self.rocks.items():
            count += 1
        return count

    def ranges(self, starts: Keys) -> None:
        for start in starts:
            for _ in zip(self.rocks.items(from_key=start), range(RANGE), strict=False):
                pass

    def close(self) -> None:
        self.rocks.close()


PEERS: dict[str, type[Peer]] = {
    "twindex hash": Hash,
    "twindex sorted": Sorted,
    "dict": Dict,
    "sortedcontainers": SortedDict,
    "py-lmdb": Lmdb,
    "sqlite3": Sqlite,
    "rocksdict": Rocks,
}

#: The kinds of work, with what is done a second.
WORK = {
    "insert": "pairs",
    "select": "pairs",
    "insert_many": "pairs",
    "select_many": "pairs",
    "select_many, 2 threads": "pairs",
    "scan": "pairs",
    "range of 100": "ranges",
}
MEMORY = "bytes per pair"


@dataclass
class Result:
    """What one library did: operations a second by kind of work, where it can do that, and its memory."""

    peer: str
    version: str
    rates: dict[str, float] = field(default_factory=dict)
    bytes_per_pair: float | None = None


@dataclass(frozen=True)
class Sizes:
    """How much is done."""

    pairs: int
    rounds: int
    key_bytes: int = 16
    value_bytes: int = 16


def hexadecimal(numbers: Iterable[int], length: int) -> Iterator[bytes]:
    """Different numbers as different keys, or values, of so many bytes."""
    for number in numbers:
        yield f"{number:0{length}x}".encode()[-length:]


def timed(work: Callable[[], object]) -> float:
    """The seconds that it takes, without those of the collector of cycles, which finds none."""
    gc.collect()
    gc.freeze()
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    gc.unfreeze()
    return seconds


def in_batches(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def by_two_threads(work: Callable[[list[Keys]], None], batches: list[Keys]) -> None:
    half = len(batches) // 2
    threads = [threading.Thread(target=work, args=(part,)) for part in (batches[:half], batches[half:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check(peer: Peer, name: str, pairs: Pairs) -> None:
    """Whether the library holds what it was given: a wrong answer can be as fast as one likes."""
    if peer.is_sorted and peer.scan() != len(pairs):
        raise ValueError(f"{name} holds {peer.scan()} pairs, not {len(pairs)}")


def measure_round(name: str, sizes: Sizes) -> dict[str, float]:
    """The seconds of each kind of work, on a fresh instance of the library."""
    rng = random.Random(SEED)
    numbers = rng.sample(range(16 ** min(sizes.key_bytes, 15)), sizes.pairs)
    values = hexadecimal(range(sizes.pairs), sizes.value_bytes)
    pairs = list(zip(hexadecimal(numbers, sizes.key_bytes), values, strict=True))
    # Copies, so that the keys to ask for lie in memory in the order in which they are used.
    keys = [bytes(bytearray(key)) for key, _ in rng.sample(pairs, len(pairs))]
    starts = keys[: max(1, len(keys) // 50)]
    write_batches, read_batches = in_batches(pairs), in_batches(keys)
    found: dict[str, float] = {}
    claim_memory(sizes.pairs, sizes.key_bytes + sizes.value_bytes)
    with new_peer(name) as peer:
        work: dict[str, Callable[[], object]] = {
            "insert": lambda: peer.insert(pairs),
            "select": lambda: peer.select(keys),
            "select_many": lambda: peer.select_many(read_batches),
            "select_many, 2 threads": lambda: by_two_threads(peer.select_many, read_batches),
        }
        if peer.is_sorted:
            work |= {"scan": peer.scan, "range of 100": lambda: peer.ranges(starts)}
        found |= {kind: timed(body) for kind, body in work.items()}
        check(peer, name, pairs)
    claim_memory(sizes.pairs, sizes.key_bytes + sizes.value_bytes)
    with new_peer(name) as peer:
        found["insert_many"] = timed(lambda: peer.insert_many(write_batches))
        check(peer, name, pairs)
    counts = {kind: len(starts) if kind == "range of 100" else sizes.pairs for kind in found}
    return {kind: counts[kind] / found[kind] for kind in WORK if kind in found}


@contextmanager
def new_peer(name: str) -> Iterator[Peer]:
    """An empty instance of the library, with a folder for its files."""
    with tempfile.TemporaryDirectory() as folder:
        peer = PEERS[name](Path(folder))
        yield peer
        peer.close()


def measure_memory(name: str, sizes: Sizes) -> float | None:
    """By how much the process grows for each pair, objects that a library keeps among it."""
    rng = random.Random(SEED)
    # One piece of memory: keys made of it go with the library, or are freed at once.
    numbers = memoryview(b"".join(rng.randbytes(8) for _ in range(sizes.pairs))).cast("Q")
    with new_peer(name) as peer:
        gc.collect()
        before = resident_bytes()
        for start in range(0, sizes.pairs, BATCH):
            part = numbers[start : start + BATCH]
            keys = hexadecimal(part, sizes.key_bytes)
            values = hexadecimal(range(start, start + len(part)), sizes.value_bytes)
            peer.insert_many([list(zip(keys, values, strict=True))])
        gc.collect()
        after = resident_bytes()
    return None if before is None or after is None else (after - before) / sizes.pairs


def resident_bytes() -> int | None:
    """The memory that this process really occupies, where the system tells it (Linux)."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(kilobytes[0]) * 1024 if kilobytes else None


def claim_memory(pairs: int, pair_bytes: int) -> None:
    """Has the system find memory for so many pairs before a clock runs; `benches/README.md` says why."""
    if sys.platform == "linux":
        free = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
        size = max(1, min(pairs * (pair_bytes + MOST_OVERHEAD), free // 2))
        with mmap.mmap(-1, size) as block:
            with suppress(OSError):
                block.madvise(mmap.MADV_HUGEPAGE)
            block[:: mmap.PAGESIZE] = bytes(-(-size // mmap.PAGESIZE))


def in_own_process(body: Callable[..., Any], *arguments: Any) -> Any:
    """What `body` returns, in a process that has done nothing before."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(body, *arguments).result()


def version_of(peer: type[Peer]) -> str:
    if issubclass(peer, Hash):
        return twindex.__version__
    if peer is Sqlite:
        return sqlite3.sqlite_version
    return importlib.metadata.version(peer.package) if peer.package else sys.version.split()[0]


def measure(names: Sequence[str], sizes: Sizes, started: Callable[[str], None]) -> list[Result]:
    """All kinds of work in each library; rounds take turns, so that a slow moment hits all alike."""
    rates: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(sizes.rounds):
        for name in names:
            started(f"{name}, round {number + 1} of {sizes.rounds}")
            rates[name].append(in_own_process(measure_round, name, sizes))
    results = []
    for name in names:
        started(f"{name}, memory")
        medians = {work: statistics.median(one[work] for one in rates[name]) for work in rates[name][0]}
        memory = in_own_process(measure_memory, name, sizes)
        results.append(Result(name, version_of(PEERS[name]), medians, memory))
    return results


def shown_value(result: Result, work: str) -> tuple[float | None, str]:
    """What a table or a chart shows of a kind of work, and its unit: millions or thousands a second, or bytes."""
    if work == MEMORY:
        return result.bytes_per_pair, ""
    rate = result.rates.get(work)
    scale, unit = (1e3, "k") if WORK[work] == "ranges" else (1e6, "M")
    return None if rate is None else rate / scale, unit
