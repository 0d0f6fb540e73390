"""What happens in the background is told to Python's logging."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest

import twindex
from support import python


def test_records_have_a_level_an_event_and_a_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def logged(event: str) -> logging.LogRecord | None:
        found = (record for record in list(caplog.records) if record.name == "twindex")
        return next((it for it in found if (it.event, it.path) == (event, str(path))), None)  # type: ignore[attr-defined]

    path = tmp_path / "100%s.twx"
    store = twindex.open(path)
    users = store.table("users")
    users["ada"] = "1"
    with twindex.open(path, read_only=True) as copy:
        copy.follow()
        path.unlink()
        end = time.monotonic() + 60

        def write() -> None:
            while time.monotonic() < end:
                users["ada"] = "2"
                time.sleep(0.01)

        # A writer finds out when it syncs.
        with pytest.raises(twindex.LogFailedError):
            write()
        while not ((behind := logged("follow_failed")) and (failed := logged("log_failed"))):
            assert time.monotonic() < end
            time.sleep(0.001)
    assert (behind.levelno, failed.levelno) == (logging.WARNING, logging.ERROR)
    assert behind.getMessage().startswith(f"{path}: it does not keep up")
    assert "the log failed" in failed.getMessage()
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
