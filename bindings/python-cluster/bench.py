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
    """The medians of calls that are made in turn, in nanoseconds."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + rounds // 10):
        for spent, call in zip(times, calls, strict=True):
            started = time.perf_counter_ns()
            call(number)
            spent.append(time.perf_counter_ns() - started)
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

    def function(number: int) -> None:
        key, value = one(number)
        tag = number % 16
        client.fcall("twindex_4_upsert", 2, b"{%d}pairs" % tag, b"{%d}order" % tag, key, value)

    def thousand(number: int) -> list[tuple[bytes, bytes]]:
        return [pairs[(number * 1000 + at * 13) % PAIRS] for at in range(1000)]

    def get(target, key: bytes, _value: bytes) -> None:
        target.get(name + key)

    def put(target, key: bytes, value: bytes) -> None:
        target.set(name + key, value)

    def many(call) -> Callable[[int], object]:
        def work(number: int) -> None:
            pipeline = client.pipeline()
            for pair in thousand(number):
                call(pipeline, *pair)
            pipeline.execute()

        return work

    for what, ours, hand in (
        ("upsert, hash: SET", lambda n: users.upsert(*one(n)), lambda n: put(client, *one(n))),
        ("select, hash: GET", lambda n: users.select(one(n)[0]), lambda n: get(client, *one(n))),
        ("upsert, sorted: FCALL", lambda n: log.upsert(*one(n)), function),
    ):
        row(f"{what}, one at a time", "ns", *median(1000, ours, hand))
        row(f"{what}, 50 threads", "/s", rate(ours), rate(hand))
    keys = lambda n: [key for key, _ in thousand(n)]
    row("1,000 reads in one batch", "ns", *median(20, lambda n: users.select_many(keys(n)), many(get)))
    row("1,000 writes in one batch", "ns", *median(20, lambda n: users.upsert_many(thousand(n)), many(put)))
    row("100 pairs of a sorted table", "ns", *median(200, lambda n: list(log.scan(gte=one(n)[0], limit=100))))
    started = time.perf_counter()
    assert sum(1 for _ in log.scan()) == PAIRS
    row("whole scan", "/s", PAIRS / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
