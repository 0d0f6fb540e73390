"""Celery: tasks that write go to one worker, tasks that read to any number.

celery -A price_tasks worker --pool solo --queues writes
celery -A price_tasks worker --concurrency 4 --queues reads
"""

from __future__ import annotations

import os
from functools import cache

from celery import Celery

import twindex

app = Celery("prices", broker=os.environ["CELERY_BROKER"], backend=os.environ["CELERY_BACKEND"])
app.conf.task_routes = {"price_tasks.set_price": "writes", "price_tasks.total": "reads"}
app.conf.broker_connection_retry_on_startup = True
if "CELERY_FOLDER" in os.environ:
    # Where the broker is a folder, as in the tests.
    folder = os.environ["CELERY_FOLDER"]
    app.conf.broker_transport_options = {
        "data_folder_in": folder,
        "data_folder_out": folder,
        "control_folder": f"{folder}/control",
        "polling_interval": 0.05,
    }


# Both are opened by the first task that needs them, so after the worker's processes were forked off.


@cache
def writer() -> twindex.Store:
    """The store, in the one process that writes to it."""
    return twindex.open(os.environ["PRICES"])


@cache
def reader() -> twindex.Store:
    """A follower of it, in each process that reads."""
    store = twindex.open(os.environ["PRICES"], read_only=True)
    store.follow()
    return store


@app.task  # type: ignore[untyped-decorator]
def set_price(name: str, cents: int) -> str:
    """Sets a price: from which position on it is there."""
    writer().table("prices", values="int")[name] = cents
    return writer().position


@app.task  # type: ignore[untyped-decorator]
def total(names: list[str]) -> int:
    """What these cost together, as far as this process knows the prices."""
    # One look, so that whatever was set before the task was sent is there.
    reader().refresh()
    return sum(price or 0 for price in reader().table("prices", values="int").select_many(names))
