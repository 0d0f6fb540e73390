"""The standard tests in plain Python: how fast pairs are written and read.

`strings` inserts into a hash table and selects in another random order; `sorted` inserts into a sorted table in
random order, then every thread scans its own part of the sorted keys; `clients` inserts into a hash table, selects
and updates. One call a pair, every result checked.

With --beside the same steps over what Python programs use today: `dict`, and for `sorted` sortedcontainers' `SortedDict`.

With --peers instead: the same work in dict, sortedcontainers, py-lmdb, sqlite3 and rocksdict, each in a process of
its own, with the ratios (pip install ".[peers]").
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import bench_peers

import twindex

try:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table as Grid
    from tqdm import tqdm
except ModuleNotFoundError as missing:
    sys.exit(f'error: bench.py needs {missing.name}: pip install "twindex[bench]"')

#: Keys and orders are the same in every run.
SEED = 64
#: So many pairs between two steps of the progress bar.
BLOCK = 10_000
#: The steps of each test: a write, a read and an update.
STEPS = {
    "strings": ("unordered_write", "unordered_read"),
    "sorted": ("sorted_write", "sorted_read"),
    "clients": ("clients_write", "clients_read", "clients_update"),
}

Pairs: TypeAlias = list[tuple[bytes, bytes]]
Table: TypeAlias = "twindex.Table[bytes, bytes]"
Work: TypeAlias = Callable[[Any, "Progress", Pairs], None]
Progress: TypeAlias = "tqdm[Any]"


class WrongResultError(Exception):
    """The engine returned something that was not written."""


@dataclass
class Measure:
    """What the rounds of one step came to."""

    step: str
    system: str
    keys: int
    threads: int
    milliseconds: float
    ops: int
    rounds_ms: list[float]
    bytes_per_pair: float | None = None
    resident_bytes_per_pair: float | None = None


@dataclass
class Report:
    """All that one run measured."""

    host: str
    version: str
    pairs: int
    key_bytes: int
    value_bytes: int
    keys_from: str | None
    rounds: int
    results: list[Measure]


def insert_all(table: Table, progress: Progress, pairs: Pairs) -> None:
    insert = table.insert
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for key, value in block:
            if not insert(key, value):
                raise WrongResultError(f"insert of {key!r} found it there")
        progress.update(len(block))


def select_all(table: Table, progress: Progress, pairs: Pairs) -> None:
    select = table.select
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for key, value in block:
            if select(key) != value:
                raise WrongResultError(f"a wrong value was read for {key!r}: {select(key)!r}")
        progress.update(len(block))


def update_all(table: Table, progress: Progress, pairs: Pairs) -> None:
    replace = table.replace
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for key, value in block:
            if not replace(key, value):
                raise WrongResultError(f"update of {key!r} found nothing")
        progress.update(len(block))


def scan_all(table: Table, progress: Progress, pairs: Pairs) -> None:
    if not pairs:
        return
    scan_asc_next = table.cursor(gte=pairs[0][0]).scan_asc_next
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for pair in block:
            if (found := scan_asc_next()) != pair:
                raise WrongResultError(f"a wrong pair was read for {pair[0]!r}: {found!r}")
        progress.update(len(block))


def set_all(table: dict[bytes, bytes], progress: Progress, pairs: Pairs) -> None:
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for key, value in block:
            table[key] = value  # noqa: PERF403
        progress.update(len(block))


def get_all(table: dict[bytes, bytes], progress: Progress, pairs: Pairs) -> None:
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for key, value in block:
            if table[key] != value:
                raise WrongResultError(f"a wrong value was read for {key!r}: {table[key]!r}")
        progress.update(len(block))


def walk_all(table: dict[bytes, bytes], progress: Progress, pairs: Pairs) -> None:
    items = iter(table.items())
    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        for pair in block:
            if (found := next(items)) != pair:
                raise WrongResultError(f"a wrong pair was read for {pair[0]!r}: {found!r}")
        progress.update(len(block))


@dataclass(frozen=True)
class System:
    """What holds the pairs of a test."""

    #: As `bench_peers` calls it.
    name: str
    #: An empty one, and the store that says how much memory it holds.
    new: Callable[[], tuple[Any, twindex.Store | None]]
    #: The steps of the test.
    works: tuple[Work, ...]


def twindex_with(index: Literal["hash", "sorted"]) -> tuple[Table, twindex.Store]:
    store = twindex.Store()
    return store.table("t", index, keys="bytes", values="bytes"), store


def sorted_dict() -> tuple[Any, None]:
    from sortedcontainers import SortedDict

    return SortedDict(), None


OURS = {
    "strings": System("twindex hash", lambda: twindex_with("hash"), (insert_all, select_all)),
    "sorted": System("twindex sorted", lambda: twindex_with("sorted"), (insert_all, scan_all)),
    "clients": System("twindex hash", lambda: twindex_with("hash"), (insert_all, select_all, update_all)),
}
BESIDE = {
    "strings": System("dict", lambda: ({}, None), (set_all, get_all)),
    "sorted": System("sortedcontainers", sorted_dict, (set_all, walk_all)),
    "clients": System("dict", lambda: ({}, None), (set_all, get_all, set_all)),
}


def time_threads(work: Work, table: Table, progress: Progress, groups: Sequence[Pairs]) -> float:
    """The seconds from the first thread's start to the last one's end; all are there before the clock starts."""
    barrier = threading.Barrier(len(groups))

    def run(pairs: Pairs) -> tuple[float, float]:
        barrier.wait()
        start = time.perf_counter()
        work(table, progress, pairs)
        return start, time.perf_counter()

    with ThreadPoolExecutor(len(groups)) as pool:
        times = list(pool.map(run, groups))
    return max(end for _, end in times) - min(start for start, _ in times)


def measure(
    test: str, threads: int, keys: list[bytes], options: argparse.Namespace, progress: Progress
) -> list[Measure]:
    """All rounds of one test with one number of threads, each on a fresh table."""
    system = (BESIDE if options.beside else OURS)[test]
    pairs = [(key, value_of(number, options.value_bytes)) for number, key in enumerate(keys)]
    writes = in_groups(pairs, threads)
    if test == "sorted":
        reads = in_groups(sorted(pairs), threads)
    else:
        reads = [random.Random(SEED).sample(group, len(group)) for group in writes]
    reads = [laid_out_in_order(group) for group in reads]
    # The collector need not walk over what stays anyway.
    gc.collect()
    gc.freeze()
    times: list[list[float]] = [[] for _ in STEPS[test]]
    table, store = system.new()
    for _ in range(options.rounds):
        table, store = system.new()
        bench_peers.claim_memory(len(keys), options.key_bytes + options.value_bytes)
        for step, work in enumerate(system.works):
            times[step].append(time_threads(work, table, progress, reads if step else writes))
    gc.unfreeze()
    name = "twindex" if store else system.name
    measures = [
        summary(step, name, len(keys), threads, each) for step, each in zip(STEPS[test], times, strict=True)
    ]
    measures[0].bytes_per_pair = store.memory / len(keys) if store else None
    # The keys of a file are of any length, and those of threads need memory of their own.
    if threads == 1 and options.keys_from is None:
        sizes = bench_peers.Sizes(len(keys), 1, options.key_bytes, options.value_bytes)
        grown = bench_peers.in_own_process(bench_peers.measure_memory, system.name, sizes)
        measures[0].resident_bytes_per_pair = None if grown is None else max(grown, 0.0)
    return measures


def summary(step: str, system: str, keys: int, threads: int, seconds: list[float]) -> Measure:
    median = statistics.median(seconds)
    rounds = [time * 1e3 for time in seconds]
    return Measure(step, system, keys, threads, median * 1e3, round(keys / median), rounds)


def in_groups(pairs: Pairs, count: int) -> list[Pairs]:
    """The pairs in so many groups of the same size, give or take one."""
    ends = [len(pairs) * group // count for group in range(count + 1)]
    return [pairs[start:end] for start, end in itertools.pairwise(ends)]


def laid_out_in_order(pairs: Pairs) -> Pairs:
    """Copies of the pairs that lie in memory in the order in which they are used, as those to write do."""
    return [(bytes(bytearray(key)), bytes(bytearray(value))) for key, value in pairs]


def value_of(number: int, length: int) -> bytes:
    """Eight bytes that only this number has, over and over."""
    word = ((number + 1) * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "little")
    return (word * (length // 8 + 1))[:length]


def random_keys(count: int, length: int) -> list[bytes]:
    """Different keys of lowercase hexadecimal digits: the first of each are drawn without replacement."""
    drawn = min(length, 15)
    if count > 16**drawn:
        raise ValueError(f"there are no {count} different keys of {length} hexadecimal digits")
    rng = random.Random(SEED)
    rest = length - drawn
    return [
        (f"{number:0{drawn}x}" + (f"{rng.getrandbits(4 * rest):0{rest}x}" if rest else "")).encode()
        for number in rng.sample(range(16**drawn), count)
    ]


def keys_from(path: Path, limit: int) -> list[bytes]:
    """The lines of a file in random order, without duplicates and empty ones."""
    lines = path.read_bytes().replace(b"\r\n", b"\n").split(b"\n")
    keys = [key for key in dict.fromkeys(lines) if key][:limit]
    if not keys:
        raise ValueError(f"{path}: the file holds no key")
    random.Random(SEED).shuffle(keys)
    return keys


def at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def not_negative(text: str) -> int:
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, not {number}")
    return number


def list_of_counts(text: str) -> list[int]:
    return [at_least_one(item) for item in text.split(",")]


def list_of_tests(text: str) -> list[str]:
    tests = text.split(",")
    for test in tests:
        if test not in STEPS:
            raise argparse.ArgumentTypeError(f"unknown test {test!r}, it is one of {', '.join(STEPS)}")
    return tests


def list_of_peers(text: str) -> list[str]:
    peers = list(bench_peers.PEERS) if text == "all" else text.split(",")
    for peer in peers:
        if peer not in bench_peers.PEERS:
            known = ", ".join(bench_peers.PEERS)
            raise argparse.ArgumentTypeError(f"unknown peer {peer!r}, it is one of {known}")
    return peers


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option(
        "--test",
        type=list_of_tests,
        default=["strings", "sorted"],
        metavar="LIST",
        help="strings, sorted and clients (strings,sorted)",
    )
    option("--pairs", type=at_least_one, default=1_000_000, metavar="N", help="how many pairs (1000000)")
    option("--threads", type=list_of_counts, default=[1, 2], metavar="LIST", help="numbers of threads (1,2)")
    option("--key-bytes", type=at_least_one, default=16, metavar="N", help="length of the random keys (16)")
    option("--value-bytes", type=not_negative, default=16, metavar="N", help="length of the values (16)")
    option(
        "--rounds", type=at_least_one, default=3, metavar="N", help="rounds, the median of which counts (3)"
    )
    option("--keys-from", type=Path, metavar="FILE", help="keys from a file, one a line, at most --pairs")
    option("--json", metavar="FILE", help="write JSON too, with - to standard output instead of the table")
    option("--quiet", action="store_true", help="no progress bar")
    option("--beside", action="store_true", help="measure dict and SortedDict instead")
    option(
        "--peers",
        type=list_of_peers,
        nargs="?",
        const="all",
        metavar="LIST",
        help="compare with others (all)",
    )
    option("--chart", type=Path, metavar="FILE", help="with --peers: draw an .svg or .png too")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> Report:
    if options.keys_from is None:
        keys = random_keys(options.pairs, options.key_bytes)
    else:
        keys = keys_from(options.keys_from, options.pairs)
    steps = sum(len(STEPS[test]) for test in options.test)
    total = steps * len(keys) * len(options.threads) * options.rounds
    # `None` shows the bar on a terminal alone.
    hidden = True if options.quiet else None
    results: list[Measure] = []
    with tqdm(total=total, unit=" pairs", unit_scale=True, disable=hidden, leave=False) as progress:
        for test in options.test:
            for threads in options.threads:
                progress.set_description(f"{test}, {threads} threads")
                results += measure(test, threads, keys, options, progress)
    source = None if options.keys_from is None else str(options.keys_from)
    sizes = (len(keys), options.key_bytes, options.value_bytes)
    return Report("python", twindex.__version__, *sizes, source, options.rounds, results)


def grid(results: list[Measure]) -> Grid:
    shown = Grid(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for number, title in enumerate(
        ["Steps", "Keys", "Threads", "System time (ms)", "Operations/s", "Bytes/pair"]
    ):
        shown.add_column(title, justify="right" if number else "left", no_wrap=True)
    for result in results:
        memory = "" if result.bytes_per_pair is None else f"{result.bytes_per_pair:.1f}"
        time_shown = f"{result.milliseconds:.1f}"
        shown.add_row(
            result.step, f"{result.keys:,}", str(result.threads), time_shown, f"{result.ops:,}", memory
        )
    return shown


def comparison(results: list[bench_peers.Result]) -> Grid:
    """What each library did, and how many times that Twindex did, a sorted table where both are sorted."""
    shown = Grid(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    shown.add_column("")
    for result in results:
        shown.add_column(f"{result.peer}\n{result.version}", justify="right")
    ours = {result.peer: result for result in results if result.peer.startswith("twindex")}
    for work in [*bench_peers.WORK, bench_peers.MEMORY]:
        cells = []
        for result in results:
            value, unit = bench_peers.shown_value(result, work)
            kind = "sorted" if bench_peers.PEERS[result.peer].is_sorted else "hash"
            own = None if result.peer in ours else ours.get(f"twindex {kind}")
            own_value = None if own is None else bench_peers.shown_value(own, work)[0]
            cell = "" if value is None else f"{value:.3g}{unit}"
            cells.append(f"{cell}\n{own_value / value:.2f}x" if value and own_value else cell)
        shown.add_row(work, *cells)
    return shown


def compare(options: argparse.Namespace) -> None:
    """Measures the libraries, prints the ratios, and draws them."""
    sizes = bench_peers.Sizes(options.pairs, options.rounds, options.key_bytes, options.value_bytes)
    hidden = True if options.quiet else None
    with tqdm(total=len(options.peers) * (options.rounds + 1), disable=hidden, leave=False) as progress:

        def started(what: str) -> None:
            progress.set_description(what)
            progress.update()

        results = bench_peers.measure(options.peers, sizes, started)
    text = json.dumps({"sizes": asdict(sizes), "results": [asdict(one) for one in results]}, indent=2) + "\n"
    if options.json == "-":
        sys.stdout.write(text)
    else:
        Console().print(comparison(results))
        if options.json is not None:
            Path(options.json).write_text(text, encoding="utf-8")
    if options.chart is not None:
        from bench_chart import draw

        draw(results, sizes, options.chart)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        if options.peers is not None:
            compare(options)
            return 0
        report = run(options)
        text = json.dumps(asdict(report), indent=2) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
            return 0
        Console().print(grid(report.results))
        if options.json is not None:
            Path(options.json).write_text(text, encoding="utf-8")
    except ModuleNotFoundError as missing:
        print(f'error: {missing.name} is missing: pip install ".[peers]"', file=sys.stderr)
        return 1
    except (WrongResultError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
