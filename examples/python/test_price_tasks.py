"""Celery: one worker that writes, and workers of several processes that read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="celery's pool of processes needs fork")


@contextmanager
def worker(*arguments: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "price_tasks", "worker", "--loglevel", "WARNING"]
    process = subprocess.Popen([*command, "--without-gossip", "--without-mingle", *arguments], cwd=FOLDER)
    try:
        yield
    finally:
        # At once, not when its tasks are done.
        process.send_signal(signal.SIGQUIT)
        process.wait(60)


def test_one_worker_writes_and_others_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "CELERY_BROKER": "filesystem://",
        "CELERY_BACKEND": f"file://{tmp_path}/results",
        "CELERY_FOLDER": str(tmp_path / "queues"),
        "PRICES": str(tmp_path / "prices.twx"),
    }.items():
        monkeypatch.setenv(name, value)
    for folder in ("queues", "results"):
        (tmp_path / folder).mkdir()
    import price_tasks

    tasks: Any = price_tasks
    with ExitStack() as workers:
        workers.enter_context(worker("--pool", "solo", "--queues", "writes", "-n", "writer"))
        workers.enter_context(worker("--concurrency", "2", "--queues", "reads", "-n", "readers"))
        for name, cents in {"tea": 300, "milk": 150}.items():
            assert tasks.set_price.delay(name, cents).get(timeout=60, interval=0.02)
        assert tasks.total.delay(["tea", "milk", "cake"]).get(timeout=60, interval=0.02) == 450
        for cents in (1, 2):
            tasks.set_price.delay("cake", cents).get(timeout=60, interval=0.02)
            assert tasks.total.delay(["cake", "milk"]).get(timeout=60, interval=0.02) == 150 + cents
