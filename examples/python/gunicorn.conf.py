"""Several workers that read and one process that writes: `gunicorn -c gunicorn.conf.py counter_app:app`."""

import os
from pathlib import Path
from typing import Any

import counter_app
import one_writer

workers = 3
bind = os.environ.get("COUNTER_BIND", "127.0.0.1:8000")

_store = Path(os.environ["COUNTER_STORE"])
_address = f"{_store}.socket"
_writer: Any = None


def on_starting(_server: Any) -> None:
    """Starts the writer before there are any workers."""
    global _writer
    Path(_address).unlink(missing_ok=True)
    _writer = one_writer.start(_store, _address, counter_app.verbs)


def post_fork(_server: Any, _worker: Any) -> None:
    """Opens the follower in the worker: a store cannot be used in a child of the process that opened it."""
    counter_app.start(_store, _address)


def on_exit(_server: Any) -> None:
    """Ends the writer. It loses nothing that it has answered."""
    _writer.terminate()
    _writer.join()
