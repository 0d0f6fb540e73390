"""The views that the `keys`, `values` and `items` of tables and caches return.

Those of `collections.abc` look every key up again while they iterate, which is slow and stumbles over pairs
that are deleted meanwhile; these read the pairs as they come.
"""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ._twindex import Scan, Table

K = TypeVar("K")
V = TypeVar("V")


class KeysView(collections.abc.KeysView[K]):
    """The keys of a table or a cache, as they are now."""

    __slots__ = ()
    _mapping: Table[K, object]

    def __iter__(self) -> Scan[K]:
        return iter(self._mapping)

    def __reversed__(self) -> Scan[K]:
        return reversed(self._mapping)


class ValuesView(collections.abc.ValuesView[V]):
    """The values of a table or a cache, as they are now."""

    __slots__ = ()
    _mapping: Table[object, V]

    def __iter__(self) -> Scan[V]:
        return self._mapping._iterate_values()

    def __reversed__(self) -> Scan[V]:
        return self._mapping._iterate_values(reverse=True)

    def __contains__(self, value: object) -> bool:
        return any(value is other or value == other for other in self)


class ItemsView(collections.abc.ItemsView[K, V]):
    """The pairs of a table or a cache, as they are now."""

    __slots__ = ()
    _mapping: Table[K, V]

    def __iter__(self) -> Scan[tuple[K, V]]:
        return self._mapping._iterate_items()

    def __reversed__(self) -> Scan[tuple[K, V]]:
        return self._mapping._iterate_items(reverse=True)
