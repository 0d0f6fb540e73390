"""Names that fail with an error that says what to use: those of version 0.1, of other kinds of tables, and writes to snapshots."""

from typing import Any

from ._twindex import Cache, ExpiringSnapshotTable, ExpiringTable, SnapshotTable, Store, Table

OF_TABLES = {
    "count": "len(table)",
    "expire": "touch",
    "iter": "items",
    "scan_prefix": "prefix",
    "update_many": "replace_many",
    "walk": "items",
}
_EXPIRES = "a table made with expires=True"
RENAMED: dict[type, dict[str, str]] = {
    Table: {**OF_TABLES, "ttl": _EXPIRES, "touch": _EXPIRES, "remove_expired": _EXPIRES},
    ExpiringTable: OF_TABLES,
    Cache: {"capacity_bytes": "capacity", "expire": "touch", "update_many": "replace_many"},
    Store: {
        "cache": "twindex.Cache",
        "load_cache": "twindex.Cache.load",
        "load_within": "load(source, memory_limit=...)",
        "save_as": "save(path)",
    },
}


class _Renamed:
    """An attribute that nobody has any more."""

    def __init__(self, name: str, now: str) -> None:
        self._name, self._now = name, now

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}: use {self._now}", name=self._name, obj=instance
        )


for _class, _names in RENAMED.items():
    for _name, _now in _names.items():
        setattr(_class, _name, _Renamed(_name, _now))

# The writes of a table, and those of one whose pairs expire.
WRITES = [
    "alter",
    "clear",
    "compare_and_swap",
    "compare_and_swap_many",
    "delete",
    "delete_many",
    "delete_prefix",
    "delete_range",
    "increment",
    "increment_many",
    "insert",
    "insert_many",
    "pop",
    "pop_first",
    "pop_last",
    "popitem",
    "replace",
    "replace_many",
    "setdefault",
    "take",
    "update",
    "upsert",
    "upsert_many",
]


def _refused(table: SnapshotTable[Any, Any], *_arguments: object, **_keywords: object) -> None:
    """Raises `ReadOnlyError`: nobody can write to a snapshot."""
    table._read_only()


for _class, _verbs in (
    (SnapshotTable, WRITES),
    (ExpiringSnapshotTable, [*WRITES, "touch", "remove_expired"]),
):
    for _name in _verbs:
        setattr(_class, _name, _refused)
