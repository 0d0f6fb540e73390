"""Names of version 0.1 and of other kinds of tables, which for this release fail with an error that says what to use."""

from ._twindex import Cache, ExpiringTable, Store, Table

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
