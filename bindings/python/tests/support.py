"""What several files of tests share."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import twindex

Index: TypeAlias = Literal["hash", "sorted"]
CONFORMANCE = Path(__file__).resolve().parents[3] / "conformance"
#: Far longer than anything here takes: past it, threads or processes wait for each other.
DEADLOCK_SECONDS = 60.0
IS_LINUX = sys.platform == "linux"

# For programs that `python` runs.
SHORT_OF_MEMORY = """
import resource, twindex
RAW = {"keys": "bytes", "values": "bytes"}
def limit_memory(more):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, -1))
"""


def raw(index: Index = "hash", store: twindex.Store | None = None) -> Any:
    """A table of bytes, for calls that the stubs refuse too."""
    return (store or twindex.Store()).table("t", index, keys="bytes", values="bytes")


def python(program: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    settings = {"capture_output": True, "text": True, "timeout": DEADLOCK_SECONDS, **options}
    return subprocess.run(command, check=False, **settings)


def output_of(program: str, *arguments: object) -> str:
    """What a program prints that ends well and complains of nothing."""
    done = python(program, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def in_threads(count: int, work: Callable[[int], object]) -> list[Any]:
    """Runs `work` in so many threads at once: what each returned."""
    barrier = threading.Barrier(count)

    def run(number: int) -> object:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(run, number) for number in range(count)]
        return [future.result(DEADLOCK_SECONDS) for future in futures]


@contextmanager
def repeated(*works: Callable[[], object]) -> Iterator[None]:
    """Does each work over and over, in a thread of its own, until the block ends."""
    done = threading.Event()

    def repeat(work: Callable[[], object]) -> None:
        while not done.is_set():
            work()

    threads = [threading.Thread(target=repeat, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(DEADLOCK_SECONDS)


def decoded(value: Any) -> Any:
    """Bytes from their form in the vectors, in lists too; anything else stands for itself."""
    match value:
        case str():
            return value.encode()
        case list():
            return [decoded(item) for item in value]
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"repeat": digits, "times": times}:
            return bytes.fromhex(digits) * times
        case _:
            return value
