"""What happens in the background is told to Python's logging."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import twindex


class Keeping(logging.Handler):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def wait_for(self, event: str, path: Path) -> logging.LogRecord:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for record in list(self.records):
                if (record.__dict__["event"], record.__dict__["path"]) == (event, str(path)):
                    return record
            time.sleep(0.001)
        raise AssertionError(f"{event} was not told")


@pytest.fixture
def told() -> Iterator[Keeping]:
    handler = Keeping()
    logger = logging.getLogger("twindex")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def write_for_ever(table: twindex.Table[str, str]) -> None:
    while True:
        table["ada"] = "2"
        time.sleep(0.01)


def test_a_file_that_is_gone_is_told(tmp_path: Path, told: Keeping) -> None:
    path = tmp_path / "100%s.twx"
    store = twindex.open(path)
    users = store.table("users")
    users["ada"] = "1"
    with twindex.open(path, read_only=True) as copy:
        copy.follow()
        path.unlink()
        record = told.wait_for("follow_failed", path)
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(f"{path}: it does not keep up")
    # A writer finds out when it syncs.
    with pytest.raises(twindex.LogFailedError):
        write_for_ever(users)
    record = told.wait_for("log_failed", path)
    assert record.levelno == logging.ERROR
    assert "the log failed" in record.getMessage()
    with pytest.raises(twindex.LogFailedError):
        store.close()
    store.close()


PROGRAM = """
import logging, os, sys, twindex
{configure}
path = sys.argv[1]
store = twindex.open(path)
copy = twindex.open(path, read_only=True)
{fork}
copy = twindex.open(path, read_only=True)
copy.follow()
os.unlink(path)
while copy.stats()["follow_error"] is None:
    pass
"""


def run(path: Path, configure: str, fork: str = "") -> str:
    program = PROGRAM.format(configure=configure, fork=fork)
    command = [sys.executable, "-c", program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stderr


def test_it_is_silent_until_logging_is_configured(tmp_path: Path) -> None:
    assert run(tmp_path / "app.twx", "") == ""


def test_what_is_told_at_the_end_of_the_program_arrives(tmp_path: Path) -> None:
    assert "WARNING:twindex:" in run(tmp_path / "app.twx", "logging.basicConfig()")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_fork_is_told_of_its_own_stores(tmp_path: Path) -> None:
    fork = "pid = os.fork()\nif pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    assert "WARNING:twindex:" in run(tmp_path / "app.twx", "logging.basicConfig()", fork)
