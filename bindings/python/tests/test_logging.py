"""What happens in the background is told to Python's logging."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import twindex
from support import python


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


def test_file_that_is_gone_is_logged(tmp_path: Path, told: Keeping) -> None:
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


FORK = "pid = os.fork()\nif pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"


@pytest.mark.parametrize(
    ("configure", "fork", "expected"),
    [
        ("", "", ""),
        ("logging.basicConfig()", "", "WARNING:twindex:"),
        pytest.param(
            "logging.basicConfig()",
            FORK,
            "WARNING:twindex:",
            marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
        ),
    ],
    ids=["silent until it is configured", "until the end of the program", "in a child of fork"],
)
def test_what_happens_in_the_background_is_logged(
    path: Path, configure: str, fork: str, expected: str
) -> None:
    done = python(PROGRAM.format(configure=configure, fork=fork), path)
    assert (done.returncode, expected in done.stderr, bool(done.stderr)) == (0, True, bool(expected))
