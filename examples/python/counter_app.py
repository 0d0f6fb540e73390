"""Counts the visits of pages, in a web server of many processes: see `gunicorn.conf.py`.

GET shows how often a page was visited, POST counts a visit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import one_writer

import twindex

_store: twindex.Store
_writer: one_writer.Writer


def verbs(store: twindex.Store) -> one_writer.Verbs:
    """What the writer does, in its process."""
    visits = store.table("visits", values="int")
    return {"visit": visits.increment}


def start(path: Path, address: str) -> None:
    """Opens what a worker reads, and reaches for the writer."""
    global _store, _writer
    _store = twindex.open(path, read_only=True)
    _store.follow()
    _writer = one_writer.Writer(address)


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The WSGI application."""
    page = environ["PATH_INFO"]
    if environ["REQUEST_METHOD"] == "POST":
        _writer.ask("visit", page)
        # So that this worker shows it at once. The others do within some milliseconds.
        _store.refresh()
    visits = _store.table("visits", values="int").get(page, 0)
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
    return [f"{visits}\n".encode()]
