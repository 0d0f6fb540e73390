"""A cluster for the tests: the one whose URL is in `TWINDEX_CLUSTER_URL`, or one of their own."""

import itertools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_numbers = itertools.count()


def started(variable: str, lines: int, *arguments: str) -> Iterator[list[str]]:
    """What a variable says of servers that run already, or what `cargo xtask cluster` does of its own."""
    if given := os.environ.get(variable):
        yield given.splitlines()
        return
    command = ["cargo", "xtask", "cluster", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        yield [cluster.stdout.readline().strip() for _ in range(lines)]
        cluster.communicate("\n")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Where the servers are."""
    for [found] in started("TWINDEX_CLUSTER_URL", 1):
        yield found


@pytest.fixture(scope="session")
def secure() -> Iterator[tuple[list[str], bytes]]:
    """The URLs of a cluster and of one server that speak TLS, and the certificate of their authority."""
    for *urls, authority in started("TWINDEX_CLUSTER_TLS", 3, "--tls"):
        yield urls, Path(authority).read_bytes()


@pytest.fixture
def namespace() -> str:
    """A namespace that nobody else has."""
    return f"python-{os.getpid()}-{next(_numbers)}"
