"""The stores of this process that are in files, which a pickle of one finds again."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from . import _twindex

if TYPE_CHECKING:
    from ._twindex import Store, Table

_open: WeakValueDictionary[tuple[Path, bool], Store] = WeakValueDictionary()
_lock = threading.Lock()

if hasattr(os, "register_at_fork"):
    # A child cannot use its parent's stores, nor wait for what a thread of the parent held.
    def _forget() -> None:
        global _lock
        _lock = threading.Lock()
        _open.clear()

    os.register_at_fork(after_in_child=_forget)


def remember(store: Store) -> None:
    """Notes a store that was opened."""
    if store.path is not None:
        _open[Path(store.path).resolve(), store.read_only] = store


def reopen(
    path: Path,
    durability: Literal["none", "everysec", "always"],
    read_only: bool,
    memory_limit: int | None,
) -> Store:
    """The store in this file: the one that this process has open, or it is opened."""
    with _lock:
        found = _open.get((Path(path).resolve(), read_only))
        if found is not None and not found.closed:
            return found
        return _twindex.open(
            path, durability=durability, read_only=read_only, existing=True, memory_limit=memory_limit
        )


def reopen_table(
    store: Store, name: str, index: Literal["hash", "sorted"], keys: Any, values: Any
) -> Table[Any, Any]:
    """The table of a store that was opened again."""
    return store.table(name, index, keys=keys, values=values)
