"""The backends for Django and dogpile.cache. The frameworks' own tests of backends pass too: they are not part of their packages."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from typing import Any

import dogpile.cache
import pytest
from django.conf import settings
from django.core.cache import CacheHandler, InvalidCacheBackendError
from dogpile.cache.api import NO_VALUE, CacheBackend

import twindex.dogpile

if not settings.configured:
    settings.configure()


def backend(location: str = "", **options: Any) -> Any:
    """A Django cache with the backend."""
    config = {"BACKEND": "twindex.django.TwindexCache", "LOCATION": location, "OPTIONS": options}
    return CacheHandler({"default": config})["default"]


def test_django_verbs() -> None:
    cache = backend("verbs")
    assert cache.add("a", {"x": [1]})
    assert not cache.add("a", 2)
    assert cache.get("a") == {"x": [1]}
    cache.set_many({"b": None, "c": 3})
    assert cache.get_many(["a", "b", "c", "d"]) == {"a": {"x": [1]}, "b": None, "c": 3}
    assert cache.get("b", "default") is None
    assert cache.get("d", "default") == "default"
    assert (cache.incr("c", 4), cache.decr("c"), "c" in cache) == (7, 6, True)
    with pytest.raises(ValueError, match="d"):
        cache.incr("d")
    assert cache.get_or_set("d", lambda: 1) == cache.get_or_set("d", 2) == 1
    cache.set("v", 1, version=2)
    assert (cache.get("v"), cache.get("v", version=2)) == (None, 1)
    assert (cache.delete("a"), cache.delete("a")) == (True, False)
    cache.clear()
    assert cache.get("c") is None


def test_django_timeouts() -> None:
    cache = backend("timeouts")
    cache.set("ever", 1, timeout=None)
    cache.set("never", 1, timeout=0)
    cache.set("past", 1, timeout=-1)
    cache.set("short", 1, timeout=0.01)
    assert (cache.get("ever"), cache.get("never"), cache.get("past")) == (1, None, None)
    while cache.get("short") is not None:
        time.sleep(0.001)
    cache.set("touched", 1)
    assert cache.touch("touched", timeout=0.01)
    assert not cache.touch("absent")
    while "touched" in cache:
        time.sleep(0.001)


def test_django_set_many_names_the_values_that_are_too_large() -> None:
    cache = backend("many", CAPACITY=256_000)
    cache.set("large", 1)
    assert cache.set_many({"small": 1, "large": bytes(500_000)}) == ["large"]
    assert asyncio.run(cache.aset_many({"small": 1, "large": bytes(500_000)})) == ["large"]
    assert cache.get_many(["small", "large"]) == {"small": 1}
    assert cache.set_many({"small": 2}, timeout=0) == []


def test_django_bounds_and_sharing() -> None:
    cache = backend("bounded", MAX_ENTRIES=10)
    for number in range(100):
        cache.set(str(number), number)
    assert len(backend("bounded", MAX_ENTRIES=10).get_many(map(str, range(100)))) <= 10
    large = backend("bytes", CAPACITY=100_000)
    for number in range(100):
        large.set(str(number), bytes(10_000))
    assert 0 < len(large.get_many(map(str, range(100)))) < 10
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(backend("bytes", CAPACITY=100_000).get("99")))
    thread.start()
    thread.join()
    assert found == [bytes(10_000)]
    with pytest.raises(InvalidCacheBackendError):
        CacheHandler({"default": {"BACKEND": "twindex.django.NoSuch"}})["default"]


def test_django_refuses_what_cannot_be_pickled() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        backend("pickles").set("a", lambda: 1)


def test_dogpile() -> None:
    assert issubclass(twindex.dogpile.TwindexBackend, CacheBackend)
    region: Any = dogpile.cache.make_region().configure("twindex", arguments={"maxsize": 100, "ttl": 60})
    assert region.get("a") is NO_VALUE
    region.set("a", {"x": 1})
    assert region.get("a") == {"x": 1}
    region.set_multi({"b": 2, "c": None})
    assert region.get_multi(["a", "b", "c", "d"]) == [{"x": 1}, 2, None, NO_VALUE]
    region.delete_multi(["a", "b", "d"])
    region.delete("c")
    assert region.get("c") is NO_VALUE
    calls: list[int] = []

    @region.cache_on_arguments()  # type: ignore[untyped-decorator]
    def kept(number: int) -> int:
        calls.append(number)
        return 2 * number

    double: Any = kept
    assert double(2) == double(2) == 4
    double.invalidate(2)
    assert double(2) == 4
    assert calls == [2, 2]
