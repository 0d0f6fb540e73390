"""An in-memory key-value engine with a hash and a sorted index.

>>> import twindex
>>> store = twindex.Store()
>>> users = store.table("users")
>>> users.insert("ada", "1815")
True
>>> users["ada"]
'1815'
>>> log = store.table("log", index="sorted")
>>> log.update({"2026-11-02": "b", "2026-11-01": "a", "2025-12-31": "z"})
>>> for key, value in log.scan(gte="2026"):
...     print(key, value)
2026-11-01 a
2026-11-02 b
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

# The native module imports these by name, which tools that freeze programs cannot see.
from . import _files as _files
from . import _log as _log
from . import _pickles as _pickles
from . import _renamed as _renamed
from . import _transactions as _transactions
from . import _views as _views
from . import errors
from ._cached import CacheInfo, cached
from ._codecs import Codec
from ._connect import cluster as _cluster
from ._feed import Change, ChangeSet
from ._reports import Damage, Place, Progress, RecoveredTable, Recovery, Report
from ._returned import DELETE, KEEP
from ._twindex import (
    MAX_KEY_BYTES,
    MAX_NAME_BYTES,
    MAX_VALUE_BYTES,
    Batch,
    Cache,
    Changes,
    Cursor,
    ExpiringSnapshotTable,
    ExpiringTable,
    Scan,
    Snapshot,
    SnapshotTable,
    Store,
    Table,
    Transaction,
    TransactionTable,
    __version__,
    changes,
    check,
    open,
    recover,
)
from ._watch import Watch
from .errors import *

# Not base classes: so a look-up goes straight to the native class, whose every method is its own.
MutableMapping.register(Table)
MutableMapping.register(ExpiringTable)
MutableMapping.register(Cache)
Mapping.register(SnapshotTable)
Mapping.register(ExpiringSnapshotTable)
Iterator.register(Scan)
Iterator.register(Changes)


def _imported_by_native_code() -> None:
    # As above, when they are used.
    import json  # noqa: F401
    import reprlib  # noqa: F401

    import msgpack  # noqa: F401


def connect(url: str, **options: Any) -> Any:
    """Connect to a Valkey or Redis Cluster, or to one server. This needs the package `twindex-cluster`.

    The store that this returns has the tables and verbs of any other: see `twindex_cluster.connect` for the options, and
    `twindex.aio.connect` for asyncio.
    """
    return _cluster().connect(url, **options)


__all__ = [
    "DELETE",
    "KEEP",
    "MAX_KEY_BYTES",
    "MAX_NAME_BYTES",
    "MAX_VALUE_BYTES",
    "Batch",
    "Cache",
    "CacheInfo",
    "Change",
    "ChangeSet",
    "Changes",
    "Codec",
    "Cursor",
    "Damage",
    "ExpiringSnapshotTable",
    "ExpiringTable",
    "Place",
    "Progress",
    "RecoveredTable",
    "Recovery",
    "Report",
    "Scan",
    "Snapshot",
    "SnapshotTable",
    "Store",
    "Table",
    "Transaction",
    "TransactionTable",
    "Watch",
    "__version__",
    "cached",
    "changes",
    "check",
    "connect",
    "open",
    "recover",
]
__all__ += errors.__all__
