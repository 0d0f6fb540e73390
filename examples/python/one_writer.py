"""One process that writes to a store for many that read: `serve` in one, `Writer` in the others.

A web server or a job queue runs several processes, and one process at a time may write to a file. So the others send it what is to
be written, as JSON, and read from followers of their own. What the writer has answered is in the file, so `refresh` shows it.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import twindex

#: The requests that the writer answers, by name.
Verbs = dict[str, Callable[..., Any]]


def serve(path: Path, address: str, verbs: Callable[[twindex.Store], Verbs]) -> None:
    """Writes what others ask for, until the process is ended. A killed one loses nothing that was answered."""
    with twindex.open(path) as store, Listener(address) as listener:
        known = verbs(store)
        while True:
            threading.Thread(target=_answer, args=(listener.accept(), known), daemon=True).start()


def _answer(connection: Connection, verbs: Verbs) -> None:
    with connection, suppress(EOFError, OSError):
        while True:
            name, *arguments = json.loads(connection.recv_bytes())
            try:
                answer = [True, verbs[name](*arguments)]
            except (twindex.Error, LookupError, TypeError, ValueError) as error:
                answer = [False, repr(error)]
            connection.send_bytes(json.dumps(answer).encode())


def start(path: Path, address: str, verbs: Callable[[twindex.Store], Verbs]) -> multiprocessing.Process:
    """Starts the writer in a process of its own, and returns once it can be asked."""
    # Not by fork: the child of a process with threads may wait for ever for what they held.
    context = multiprocessing.get_context("spawn")
    process: Any = context.Process(target=serve, args=(path, address, verbs), daemon=True)
    process.start()
    while not Path(address).exists():
        process.join(0.01)
        if process.exitcode is not None:
            raise RuntimeError(f"the writer ended with exit code {process.exitcode}")
    return process  # type: ignore[no-any-return]


class Writer:
    """The writer, as another process sees it. Threads share it."""

    def __init__(self, address: str) -> None:
        self._connection = Client(address)
        self._lock = threading.Lock()

    def ask(self, name: str, *arguments: Any) -> Any:
        """Has the writer do it, and returns what it answers."""
        with self._lock:
            self._connection.send_bytes(json.dumps([name, *arguments]).encode())
            done, answer = json.loads(self._connection.recv_bytes())
        if not done:
            raise RuntimeError(answer)
        return answer
