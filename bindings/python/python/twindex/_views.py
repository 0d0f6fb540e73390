"""The views that the `keys`, `values` and `items` of tables and caches return.

Those of `collections.abc` look every key up again while they iterate, which is slow and stumbles over pairs
that are deleted meanwhile; these read the pairs as they come.
"""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ._twindex import Scan, Table

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")


class _Compared(collections.abc.Set[T_co]):
    """Compares what is shown, and not sizes: `len` counts pairs that have expired."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: collections.abc.Set[Any]) -> bool:
        return (
            all(item in other for item in self) if isinstance(other, collections.abc.Set) else NotImplemented
        )

    def __ge__(self, other: collections.abc.Set[Any]) -> bool:
        return (
            all(item in self for item in other) if isinstance(other, collections.abc.Set) else NotImplemented
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, collections.abc.Set):
            return NotImplemented
        return self <= other and self >= other

    def __lt__(self, other: collections.abc.Set[Any]) -> bool:
        if not isinstance(other, collections.abc.Set):
            return NotImplemented
        return self <= other and not self >= other

    def __gt__(self, other: collections.abc.Set[Any]) -> bool:
        if not isinstance(other, collections.abc.Set):
            return NotImplemented
        return self >= other and not self <= other


class KeysView(_Compared[K], collections.abc.KeysView[K]):
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


class ItemsView(_Compared[tuple[K, V]], collections.abc.ItemsView[K, V]):
    """The pairs of a table or a cache, as they are now."""

    __slots__ = ()
    _mapping: Table[K, V]

    def __iter__(self) -> Scan[tuple[K, V]]:
        return self._mapping._iterate_items()

    def __reversed__(self) -> Scan[tuple[K, V]]:
        return self._mapping._iterate_items(reverse=True)
