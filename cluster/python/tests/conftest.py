"""A cluster for the tests: the one whose URL is in `TWINDEX_CLUSTER_URL`, or one of their own."""

import itertools
import os
import subprocess
from collections.abc import Iterator

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Where the servers are."""
    if given := os.environ.get("TWINDEX_CLUSTER_URL"):
        yield given
        return
    command = ["cargo", "xtask", "cluster"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        yield cluster.stdout.readline().strip()
        cluster.communicate("\n")


@pytest.fixture
def namespace() -> str:
    """A namespace that nobody else has."""
    return f"python-{os.getpid()}-{next(_numbers)}"
