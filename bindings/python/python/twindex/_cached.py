"""The decorator `cached`."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, Protocol, Self, TypeVar, cast, overload

from . import _tasks
from ._twindex import Cache
from .errors import ArgumentTypeError, EncodingError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

P = ParamSpec("P")
R = TypeVar("R")

_DEFAULT_MAXSIZE = 128
_ALL = sys.maxsize


class CacheInfo(NamedTuple):
    """The result of `cache_info`: as in `functools.lru_cache`, with the capacity in bytes."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int
    capacity: int | None


class Cached(Protocol[P, R]):
    """A function with cached results."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]
    cache: Cache[Any, Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result for these arguments, computed or kept."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]: ...

    def cache_info(self) -> CacheInfo:
        """Hits, misses and size of the cache."""

    def cache_clear(self) -> None:
        """Removes all results, and starts counting again."""

    def cache_delete(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Removes the result for these arguments. Returns whether there was one."""


@overload
def cached(function: Callable[P, R], /) -> Cached[P, R]: ...
@overload
def cached(
    function: None = None,
    /,
    *,
    ttl: float | timedelta | None = None,
    capacity: int | None = None,
    max_entries: int | None = None,
    maxsize: int | None = ...,
    time_to_idle: float | timedelta | None = None,
    stale_for: float | timedelta | None = None,
    cache: Cache[Any, Any] | None = None,
) -> Callable[[Callable[P, R]], Cached[P, R]]: ...
def cached(
    function: Callable[..., Any] | None = None,
    /,
    *,
    ttl: float | timedelta | None = None,
    cache: Cache[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Cache the results of a function, or of a coroutine function, by its arguments.

    >>> import twindex
    >>> @twindex.cached(ttl=60, capacity=64_000_000)
    ... def square(number):
    ...     return number * number
    >>> square(3), square(3)
    (9, 9)
    >>> square.cache_info()
    CacheInfo(hits=1, misses=1, maxsize=None, currsize=1, capacity=64000000)
    >>> square.cache_clear()

    A result lives for `ttl` seconds. The limit is `capacity` in bytes, or `max_entries`, also called `maxsize`: 128 by default. As with
    `functools.lru_cache`, `maxsize=None` sets no limit. `time_to_idle` and `stale_for` work as in `twindex.Cache`. If several threads
    or tasks miss the same result, one computes it and the others wait. Its exception reaches all of them and is not cached.

    Arguments and results may be any objects that can be pickled, also those that cannot be hashed. Equal arguments share a result, as
    with `functools.lru_cache`; objects of your own classes are equal if their pickled state is. Each call returns a copy of the result,
    also the first.

    With `cache` the results go into that cache, which must have the codecs "object". Functions may share one: `cache_clear` clears it
    for all.
    """
    if function is not None:
        return cached()(function)
    if cache is not None:
        if not isinstance(cache, Cache):
            raise ArgumentTypeError(
                f"cache must be a twindex.Cache or None, not {type(cache).__name__}: {cache!r}"
            )
        if options:
            raise OptionError(f"a cache that exists has its {' and '.join(options)} already")
        if cache.codecs != ("object", "object"):
            raise OptionError(f"cached needs a cache of codecs 'object', not {cache.codecs}")
    elif all(options.get(name) is None for name in ("capacity", "max_entries", "maxsize")):
        options["max_entries"] = _ALL if "maxsize" in options else _DEFAULT_MAXSIZE

    def decorate(decorated: Callable[..., Any]) -> Any:
        if not callable(decorated):
            raise ArgumentTypeError(f"cached decorates a function, not {decorated!r}")
        kept = Cache(ttl=ttl, **options) if cache is None else cache
        name = "" if cache is None else f"{decorated.__module__}.{decorated.__qualname__}"
        results = _Results(kept, name, ttl)
        wrapper = results.wrap(decorated)
        functools.update_wrapper(wrapper, decorated)
        for method in (results.cache_info, results.cache_clear, results.cache_delete):
            setattr(wrapper, method.__name__, method)
        wrapper.cache = kept
        return wrapper

    return decorate


class _Results(Generic[R]):
    """The results of a function."""

    def __init__(self, cache: Cache[Any, R], name: str, ttl: float | timedelta | None) -> None:
        self.cache = cache
        self.name = name
        self.ttl = ttl
        self.cleared = (0, 0)

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The key for these arguments: the number of keywords says how many are named."""
        if not kwargs:
            return (0, *args, self.name) if self.name else (0, *args)
        named = [item for pair in sorted(kwargs.items()) for item in pair]
        return (len(kwargs), *args, *named, self.name) if self.name else (len(kwargs), *args, *named)

    def wrap(self, function: Callable[..., Any]) -> Any:
        cache, ttl, key_of = self.cache, self.ttl, self.key
        absent = cast("Any", object())

        if inspect.iscoroutinefunction(function):

            async def find_or_await(*args: Any, **kwargs: Any) -> R:
                key = key_of(args, kwargs)
                try:
                    found: R = cache.get(key, absent)
                    if found is not absent:
                        return found
                    name = cache._name(key)
                except (ArgumentTypeError, EncodingError):
                    self.explain(function, args, kwargs)
                    raise
                return await _tasks.get_or_compute(cache, name, lambda: function(*args, **kwargs), ttl)

            return find_or_await

        def find_or_call(*args: Any, **kwargs: Any) -> R:
            compute: Callable[[], R] = lambda: function(*args, **kwargs)
            try:
                return cache.get_or_compute(key_of(args, kwargs), compute, ttl=ttl)
            except (ArgumentTypeError, EncodingError):
                self.explain(function, args, kwargs)
                raise

        return find_or_call

    def explain(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises an error that names the argument that cannot be a key, if one cannot."""
        for name, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
            try:
                self.cache._name((value,))
            except (ArgumentTypeError, EncodingError) as error:
                message = f"{function.__qualname__} cannot be cached by its argument {name}: {error.__cause__ or error}"
                raise type(error)(message) from error

    def cache_info(self) -> CacheInfo:
        """Hits, misses and size of the cache."""
        stats, (hits, misses) = self.cache.stats(), self.cleared
        maxsize = self.cache.maxsize
        return CacheInfo(
            stats["hits"] - hits,
            stats["misses"] - misses,
            None if maxsize == _ALL else maxsize,
            len(self.cache),
            self.cache.capacity,
        )

    def cache_clear(self) -> None:
        """Removes all results, and starts counting again."""
        self.cache.clear()
        stats = self.cache.stats()
        self.cleared = (stats["hits"], stats["misses"])

    def cache_delete(self, /, *args: Any, **kwargs: Any) -> bool:
        """Removes the result for these arguments. Returns whether there was one."""
        return self.cache.delete(self.key(args, kwargs))
