"""Tables in a cluster beside redis-py doing the same by hand.

`pip install redis`, then `python bench.py`, which starts `cargo xtask cluster`; or with `TWINDEX_CLUSTER_URL` where servers run
already. `cargo xtask bench cluster_python` builds it for speed and shows ratios.
"""

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import redis
import twindex
from redis.cluster import ClusterNode

PAIRS = 50_000


@contextmanager
def cluster():
    """The URL of a cluster."""
    if given := os.environ.get("TWINDEX_CLUSTER_URL"):
        yield given
        return
    with subprocess.Popen(
        ["cargo", "xtask", "cluster"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield started.stdout.readline().strip()
        started.communicate("\n")


def pair(number: int) -> tuple[bytes, bytes]:
    """A key and a value of 16 bytes; the keys of consecutive numbers lie far apart."""
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}".encode(), f"{number:016}".encode()


def median(rounds: int, *calls: Callable[[int], object]) -> list[float]:
    """The medians of calls that are made in turn, in seconds."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + rounds // 10):
        for spent, call in zip(times, calls, strict=True):
            started = time.perf_counter()
            call(number)
            spent.append(time.perf_counter() - started)
    return [statistics.median(spent[rounds // 10 :]) for spent in times]


def rate(call: Callable[[int], object], threads: int = 50, each: int = 100) -> float:
    """How many calls a second so many threads make."""

    def work(thread: int) -> None:
        for number in range(each):
            call(thread * each + number)

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        list(pool.map(work, range(threads)))
        return threads * each / (time.perf_counter() - started)


def row(figure: str, unit: str, ours: float, theirs: float | None = None) -> None:
    """Prints lines of JSON, as `cargo xtask bench` reads them. Of rates (`/s`) more is better."""
    for system, value in (("twindex", ours), ("redis-py", theirs)):
        if value is not None:
            record = {"system": system, "figure": figure, "unit": unit, "value": value, "params": {}}
            print(json.dumps(record), flush=True)


def main() -> None:
    with cluster() as url:
        hosts = [host.rsplit(":", 1) for host in url.removeprefix("redis://").split(",")]
        client = redis.RedisCluster(startup_nodes=[ClusterNode(host, int(port)) for host, port in hosts])
        store = twindex.connect(url, namespace=f"bench{os.getpid()}")
        users = store.table("hash", keys="bytes", values="bytes")
        log = store.table("sorted", index="sorted", keys="bytes", values="bytes")
        pairs = [pair(number) for number in range(PAIRS)]
        for start in range(0, PAIRS, 5000):
            users.upsert_many(pairs[start : start + 5000])
            log.upsert_many(pairs[start : start + 5000])
        compare(client, users, log, pairs)
        store.close()
        client.close()


def compare(client, users, log, pairs) -> None:
    name = b"hand%d:" % os.getpid()

    def one(number: int) -> tuple[bytes, bytes]:
        return pairs[number * 7 % PAIRS]

    def theirs(number: int) -> tuple[bytes, bytes]:
        key, value = one(number)
        return name + key, value

    def function(number: int) -> None:
        key, value = one(number)
        tag = number % 16
        client.fcall("twindex_3_upsert", 2, b"{%d}pairs" % tag, b"{%d}order" % tag, key, value)

    def thousand(number: int) -> list[tuple[bytes, bytes]]:
        return [pairs[(number * 1000 + at * 13) % PAIRS] for at in range(1000)]

    def get_many(number: int) -> None:
        pipeline = client.pipeline()
        for key, _ in thousand(number):
            pipeline.get(name + key)
        pipeline.execute()

    def set_many(number: int) -> None:
        pipeline = client.pipeline()
        for key, value in thousand(number):
            pipeline.set(name + key, value)
        pipeline.execute()

    verbs = [
        (
            "upsert, hash: SET",
            lambda number: users.upsert(*one(number)),
            lambda number: client.set(*theirs(number)),
        ),
        (
            "select, hash: GET",
            lambda number: users.select(one(number)[0]),
            lambda number: client.get(theirs(number)[0]),
        ),
        ("upsert, sorted: FCALL", lambda number: log.upsert(*one(number)), function),
    ]
    for what, ours, hand in verbs:
        row(f"{what}, one at a time", "ns", *(spent * 1e9 for spent in median(1000, ours, hand)))
        row(f"{what}, 50 threads", "/s", rate(ours), rate(hand))
    spent = median(20, lambda number: users.select_many([key for key, _ in thousand(number)]), get_many)
    row("1,000 reads in one batch", "ns", *(seconds * 1e9 for seconds in spent))
    spent = median(20, lambda number: users.upsert_many(thousand(number)), set_many)
    row("1,000 writes in one batch", "ns", *(seconds * 1e9 for seconds in spent))
    [spent] = median(200, lambda number: list(log.scan(gte=one(number)[0], limit=100)))
    row("100 pairs of a sorted table", "ns", spent * 1e9)
    started = time.perf_counter()
    assert sum(1 for _ in log.scan()) == PAIRS
    row("whole scan", "/s", PAIRS / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
