"""A cache backend of Django: `"BACKEND": "twindex.django.TwindexCache"`.

All threads of the process share it. `LOCATION` names it, as for Django's own backend in memory. `OPTIONS` takes `CAPACITY`, the most
bytes of memory, or Django's `MAX_ENTRIES`.
"""

from __future__ import annotations

import math
import pickle
import threading
from typing import TYPE_CHECKING, Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

from ._codecs import Codec
from ._twindex import Cache
from .errors import CacheLimitError

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT = object()
# A thousand years, the longest time to live but for ever.
_LONGEST = 1000 * 365 * 24 * 3600
# What pickle raises is what Django's callers expect, where the codec "pickle" has an error of its own.
_PICKLE: Codec[Any] = Codec("django-pickle", pickle.dumps, pickle.loads)
_caches: dict[str, Cache[str, Any]] = {}
_lock = threading.Lock()


class TwindexCache(BaseCache):
    """The pairs of one `LOCATION`, which are pickled."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        capacity = params.get("OPTIONS", {}).get("CAPACITY")
        entries = self._max_entries if capacity is None else None
        with _lock:
            if name not in _caches:
                _caches[name] = Cache(capacity=capacity, max_entries=entries, keys="str", values=_PICKLE)
            self._cache = _caches[name]

    def _ttl(self, timeout: Any) -> float:
        """Seconds to live: None is for ever, 0 is over at once."""
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return math.inf if timeout is None or timeout > _LONGEST else max(timeout, 0)

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Set the value if the key is absent. Returns whether it was."""
        name, ttl = self.make_and_validate_key(key, version), self._ttl(timeout)
        try:
            return self._cache.insert(name, value, ttl=ttl) if ttl else name not in self._cache
        except CacheLimitError:
            return False

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The key's value, or `default`."""
        return self._cache.get(self.make_and_validate_key(key, version), default)

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Set the value."""
        self._set(key, value, timeout, version)

    def set_many(
        self, data: dict[Any, Any], timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> list[Any]:
        """Set the values. Returns the keys of those that are too large for the cache."""
        return [key for key, value in data.items() if not self._set(key, value, timeout, version)]

    async def aset_many(
        self, data: dict[Any, Any], timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> list[Any]:
        """`set_many` for asyncio."""
        return self.set_many(data, timeout, version)

    def _set(self, key: Any, value: Any, timeout: Any, version: int | None) -> bool:
        name, ttl = self.make_and_validate_key(key, version), self._ttl(timeout)
        is_stored = not ttl or self._cache.upsert(name, value, ttl=ttl)
        # Where the value is over at once or too large, the old one goes all the same.
        if not ttl or not is_stored:
            self._cache.delete(name)
        return is_stored

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Give the pair a new time to live. Returns whether the key was present."""
        name, ttl = self.make_and_validate_key(key, version), self._ttl(timeout)
        return self._cache.touch(name, ttl) if ttl else self._cache.delete(name)

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> Any:
        """Add to the value, which keeps its time to live. Raises `ValueError` if the key is absent."""
        total = None

        def add(value: Any) -> Any:
            nonlocal total
            if value is _ABSENT:
                raise ValueError(f"Key '{key}' not found")
            total = value + delta
            return total

        self._cache.alter(self.make_and_validate_key(key, version), add, _ABSENT)
        return total

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Whether the key is present."""
        return self._cache.contains(self.make_and_validate_key(key, version))

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Remove the pair. Returns whether the key was present."""
        return self._cache.delete(self.make_and_validate_key(key, version))

    def clear(self) -> None:
        """Remove all pairs."""
        self._cache.clear()

    def get_or_set(
        self, key: Any, default: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> Any:
        """The key's value, or `default`. A callable default is called once for all threads."""
        compute: Callable[[], Any] = default if callable(default) else lambda: default
        name, ttl = self.make_and_validate_key(key, version), self._ttl(timeout)
        if not ttl:
            found = self._cache.get(name, _ABSENT)
            return compute() if found is _ABSENT else found
        return self._cache.get_or_compute(name, compute, ttl=ttl)
