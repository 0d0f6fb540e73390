"""gunicorn, which forks its workers: one process that writes, and many that read."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import twindex

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="gunicorn needs fork")


def test_one_process_writes_and_many_read(tmp_path: Path) -> None:
    store = tmp_path / "visits.twx"
    environment = {**os.environ, "COUNTER_STORE": str(store), "COUNTER_BIND": "127.0.0.1:0"}
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "counter_app:app"]
    with subprocess.Popen(command, cwd=FOLDER, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = ""
            while (found := re.search(r"Listening at: (http://\S+)", said)) is None:
                said += server.stderr.readline()
                assert server.poll() is None, said
            url = found[1]

            def ask(page: str, method: str = "GET") -> tuple[str, int]:
                with urlopen(Request(url + page, method=method), timeout=60) as response:
                    return response.headers["X-Worker"], int(response.read())

            for visit in range(1, 21):
                assert ask("/a", "POST")[1] == visit
            # All workers see it, also who takes the place of one that was killed.
            killed, _ = ask("/a")
            os.kill(int(killed), signal.SIGKILL)
            seen: set[str] = set()
            end = time.monotonic() + 60
            while len(seen) < 3:
                assert time.monotonic() < end
                try:
                    worker, visits = ask("/a")
                except OSError:
                    continue
                if visits == 20 and worker != killed:
                    seen.add(worker)
        finally:
            server.terminate()
            server.stderr and server.stderr.read()
    with twindex.open(store) as left:
        assert dict(left.table("visits", values="int")) == {"/a": 20}
