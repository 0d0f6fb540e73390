"""A backend of dogpile.cache: `make_region().configure("twindex", arguments={"maxsize": 10_000})`.

Importing this module registers it. It takes the arguments of `twindex.Cache`, except its codecs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dogpile.cache import register_backend
from dogpile.cache.api import NO_VALUE, CacheBackend

from ._twindex import Cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TwindexBackend(CacheBackend):
    """The pairs of one region, which are pickled."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._cache: Cache[str, Any] = Cache(**arguments, keys="str", values="pickle")

    def get(self, key: str) -> Any:
        """The key's value, or `NO_VALUE`."""
        return self._cache.get(key, NO_VALUE)

    def get_multi(self, keys: Iterable[str]) -> list[Any]:
        """The value of each key, or `NO_VALUE`."""
        return [self._cache.get(key, NO_VALUE) for key in keys]

    def set(self, key: str, value: Any) -> None:
        """Set the value. If it is too large, the old one is removed."""
        if not self._cache.upsert(key, value):
            self._cache.delete(key)

    def set_multi(self, mapping: Mapping[str, Any]) -> None:
        """Set each value."""
        kept = self._cache.upsert_many(mapping)
        self._cache.delete_many([key for key, is_kept in zip(mapping, kept, strict=True) if not is_kept])

    def delete(self, key: str) -> None:
        """Remove the pair, if there is one."""
        self._cache.delete(key)

    def delete_multi(self, keys: Iterable[str]) -> None:
        """Remove each pair, if there is one."""
        self._cache.delete_many(keys)


register_backend("twindex", "twindex.dogpile", "TwindexBackend")  # type: ignore[no-untyped-call]
