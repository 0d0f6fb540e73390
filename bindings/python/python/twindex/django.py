"""A cache backend of Django: `"BACKEND": "twindex.django.TwindexCache"`.

All threads of the process share it. `LOCATION` names it, as for Django's own backend in memory. `OPTIONS` takes `CAPACITY`, the most
bytes of memory that it takes, or Django's `MAX_ENTRIES`.
"""

from __future__ import annotations

import math
import pickle
import threading
from typing import TYPE_CHECKING, Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

from ._codecs import Codec
from ._twindex import Cache

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT = object()
# What pickle raises is what Django's callers expect, where the codec "pickle" has an error of its own.
_PICKLE: Codec[Any] = Codec("django-pickle", pickle.dumps, pickle.loads)
_caches: dict[str, Cache[str, Any]] = {}
_lock = threading.Lock()


class TwindexCache(BaseCache):
    """The pairs of one `LOCATION`, which are pickled."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        capacity = params.get("OPTIONS", {}).get("CAPACITY")
        maxsize = self._max_entries if capacity is None else None
        with _lock:
            if name not in _caches:
                _caches[name] = Cache(capacity=capacity, maxsize=maxsize, keys="str", values=_PICKLE)
            self._cache = _caches[name]

    def _ttl(self, timeout: Any) -> float:
        """Seconds to live: None is for ever, what is not positive is over at once."""
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return math.inf if timeout is None else max(timeout, 0)

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Set the value where the key is absent; whether it was."""
        return self._cache.insert(self.make_and_validate_key(key, version), value, ttl=self._ttl(timeout))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The key's value, or `default`."""
        return self._cache.get(self.make_and_validate_key(key, version), default)

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Set the value."""
        self._cache.upsert(self.make_and_validate_key(key, version), value, ttl=self._ttl(timeout))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Give the pair another time to live; whether it was there."""
        return self._cache.touch(self.make_and_validate_key(key, version), self._ttl(timeout))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> Any:
        """Add to the value, which keeps its time to live. Raises `ValueError` where the key is absent."""
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
        """Whether the key is there."""
        return self._cache.contains(self.make_and_validate_key(key, version))

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Remove the pair; whether it was there."""
        return self._cache.delete(self.make_and_validate_key(key, version))

    def clear(self) -> None:
        """Remove all pairs."""
        self._cache.clear()

    def get_or_set(
        self, key: Any, default: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> Any:
        """The key's value, or else `default`, which is called once for all threads if it can be called."""
        compute: Callable[[], Any] = default if callable(default) else lambda: default
        name = self.make_and_validate_key(key, version)
        return self._cache.get_or_compute(name, compute, ttl=self._ttl(timeout))
