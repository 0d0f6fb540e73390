"""The program of the first page: what it wrote is there after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import twindex

PROGRAM = Path(__file__).with_name("fill.py").read_text()
README = Path(__file__).parents[2] / "README.md"


def test_killed_program_loses_nothing(tmp_path: Path) -> None:
    assert PROGRAM in README.read_text(encoding="utf-8")
    program = PROGRAM.replace("10_000_000", "100_000")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout[:13]) == (-signal.SIGKILL, "100,000 pairs"), done.stderr
    with twindex.open(tmp_path / "events.twx", read_only=True) as store:
        events = store.table("events", values="int")
        assert (len(events), events.last()) == (100_000, ("2026-11-26 00099999", 99_999))
