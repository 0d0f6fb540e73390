"""Caches: their capacity, their times to live, one computation at a time, and any objects."""

from __future__ import annotations

import asyncio
import copy
import enum
import math
import pickle
import sys
import threading
import time
from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import ip_address
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID, SafeUUID

import pytest

import twindex
import twindex.aio
from support import in_threads, python

if TYPE_CHECKING:
    from collections.abc import Callable


def expire(cache: twindex.Cache[Any, Any], key: object) -> None:
    """Returns once the key is absent."""
    while cache.ttl(key) is not None:
        time.sleep(0.001)


def test_times_to_live_are_seconds_deltas_or_infinite() -> None:
    cache = twindex.Cache(maxsize=100, ttl=timedelta(hours=1))
    assert (cache.default_ttl, twindex.Cache(maxsize=100).default_ttl) == (3600, None)
    cache["default"] = 1
    cache.upsert("short", 2, ttl=0.02)
    cache.upsert("ever", 3, ttl=math.inf)
    assert cache.ttl("default") == pytest.approx(3600, abs=60)
    assert (cache.ttl("ever"), cache.ttl("absent")) == (math.inf, None)
    expire(cache, "short")
    assert (cache.get("short"), cache.peek("short"), "short" in cache) == (None, None, False)
    assert (cache.touch("ever"), cache.touch("absent", 60)) == (True, False)
    assert cache.ttl("ever") == pytest.approx(3600, abs=60)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (twindex.OptionError, "needs a capacity", {}),
        (twindex.OptionError, "not both", {"capacity": 1_000_000, "maxsize": 1}),
        (twindex.OptionError, "at least 1, not 0", {"maxsize": 0}),
        (twindex.OptionError, "at least 1, not -1", {"capacity": -1}),
        # A size that no computer has was said to be less than 1, and a time far below 0 was taken for no end.
        (twindex.OptionError, f"at most {2**64 - 2}, not {2**64}", {"maxsize": 2**64}),
        (twindex.OptionError, f"at most {2**64 - 2}, not {10**30}", {"capacity": 10**30}),
        (twindex.OptionError, "ttl is 0 or more", {"maxsize": 1, "ttl": -(10**400)}),
        (twindex.OptionError, "ttl .*-1", {"maxsize": 1, "ttl": -1}),
        (twindex.OptionError, "ttl .*nan", {"maxsize": 1, "ttl": math.nan}),
        (twindex.ArgumentTypeError, "ttl .*'1'", {"maxsize": 1, "ttl": "1"}),
        (twindex.ArgumentTypeError, "ttl .*True", {"maxsize": 1, "ttl": True}),
        (twindex.OptionError, "unknown codec of keys", {"maxsize": 1, "keys": "json"}),
        (twindex.OptionError, "unknown codec of values", {"maxsize": 1, "values": "yaml"}),
        (twindex.ArgumentTypeError, "int, not float: 1.5", {"maxsize": 1.5}),
        (twindex.ArgumentTypeError, "int, not str: '1'", {"capacity": "1"}),
        (twindex.ArgumentTypeError, "on_evict must be callable", {"maxsize": 1, "on_evict": 1}),
        (twindex.ArgumentTypeError, "keys must be", {"maxsize": 1, "keys": 1}),
        (twindex.MemoryLimitError, "100", {"capacity": 100}),
    ],
)
def test_wrong_options_are_named(error: type[Exception], message: str, options: Any) -> None:
    for make in (twindex.Cache, lambda **options: twindex.Store().cache("c", **options)):
        with pytest.raises(error, match=message):
            make(**options)


def test_wrong_uses_say_what_to_do() -> None:
    cache = twindex.Cache(maxsize=1)
    for ttl, error in ((-1, twindex.OptionError), ("1", twindex.ArgumentTypeError)):
        with pytest.raises(error, match="ttl"):
            cache.upsert("a", 1, ttl=ttl)  # type: ignore[arg-type]
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled.*dump\(\)"):
            copied(cache)
    with pytest.raises(twindex.ArgumentTypeError, match=r"Cache\(capacity=1048576\) is in bytes"):
        twindex.Cache(1 << 20)  # type: ignore[call-arg]
    with pytest.raises(twindex.ArgumentTypeError, match="callable"):
        cache.get_or_compute("c", 1)  # type: ignore[arg-type]
    for key, value in [(threading.Lock(), 1), ("a", (item for item in ""))]:
        with pytest.raises(twindex.Error):
            cache.upsert(key, value)
    assert (len(cache), twindex.Cache(maxsize=sys.maxsize, ttl=10**400).default_ttl) == (0, None)


def test_cache_of_a_store_has_a_name_and_closes_with_it() -> None:
    store = twindex.Store()
    store.table("t")
    cache = store.cache("c", maxsize=10, keys="int", values="json")
    cache[1] = {"a": None}
    again: twindex.Cache[Any, Any] = store.cache(*["c"])
    assert (again.codecs, again.maxsize, again[1]) == (("int", "json"), 10, {"a": None})
    assert store.caches() == ["c"]
    with pytest.raises(twindex.NameInUseError, match="t"):
        store.cache("t", maxsize=1)
    with pytest.raises(twindex.NameInUseError, match="c"):
        store.table("c")
    with pytest.raises(twindex.WrongCodecError):
        store.cache("c", values="int")
    assert store.drop_cache("c")
    assert not store.drop_cache("c")
    with pytest.raises(twindex.TableDroppedError):
        cache[1] = 2
    store.close()
    for use in (lambda: cache.get(1), lambda: cache.upsert(1, 1), lambda: len(cache), cache.stats):
        with pytest.raises(twindex.ClosedError):
            use()


class Colour(Enum):
    RED = "red"


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, 2**200, 1.5, "", "é", "\ud800", b"", b"\x80", bytearray(b"a"), (1, (2,)),
     [1, {"a": {2}}], Colour.RED, Point(1, 2), date(2026, 11, 24), Fraction(1, 3)],
)  # fmt: skip
def test_any_object_is_a_key_and_a_value(value: Any) -> None:
    cache = twindex.Cache(maxsize=100)
    cache[value] = value
    assert cache[value] == value
    assert type(cache[value]) is type(value)
    assert list(cache) == [value]
    assert value in cache


class Kind(enum.StrEnum):
    A = "a"


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Place:
    name: str
    at: Any


@dataclass
class Labelled:
    name: str
    label: str = field(compare=False)


NOON = datetime(2026, 11, 24, 12)
# Each is a list of equal keys, and those of different lists are not equal.
EQUAL_KEYS: list[list[Any]] = [
    [1, 1.0, True, Level.LOW, Fraction(1), Decimal("1.00"), 1 + 0j],
    [0, -0.0, False, Decimal("-0"), complex(-0.0, -0.0)],
    [0.5, Fraction(1, 2), Decimal("0.50")],
    [Fraction(11, 10), Decimal("1.1"), Decimal("1.10")],
    [1.1, Fraction(1.1), Decimal(float("1.1"))],
    [2**63, 2.0**63, Decimal(2**63)],
    [-(2**63), -(2.0**63)],
    [10**400, Decimal(10) ** 400, Fraction(10**400)],
    [math.inf, Decimal("inf")],
    [1 + 2j, complex(1.0, 2)],
    [complex(0, 1), complex(-0.0, 1)],
    ["a", Kind.A],
    [b"a", bytearray(b"a")],
    [None],
    [""],
    [()],
    [Colour.RED],
    ["red"],
    [(1, 2), Point(1, 2), (True, 2.0)],
    [[1, 2], [True, Decimal(2)]],
    [("ab" * 20, ["ab" * 20]), ("".join(["ab"] * 20), ["".join(["ab"] * 20)])],
    [frozenset([8, 0]), frozenset([0, 8]), {8, 0.0}],
    [{"a": 1, "b": [2]}, {"b": [2.0], "a": True}],
    [NOON, NOON.replace(fold=1)],
    [NOON.replace(tzinfo=UTC), NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2)))],
    [NOON.date()],
    [NOON.time(), NOON.time().replace(fold=1)],
    [UTC, timezone(timedelta(0), "zero")],
    [timedelta(days=1), timedelta(hours=24)],
    [Path("a"), PurePath("a")],
    [range(0, 3, 2), range(0, 4, 2)],
    [range(0), range(5, 1)],
    [Place("a", 1), Place("a", 1.0)],
    [Place("a", {1: 2, 3: 4}), Place("a", {3: 4, 1: 2})],
    [UUID(int=5), UUID(int=5, is_safe=SafeUUID.safe)],
    [ip_address("::1"), ip_address("0:0::1")],
    [len],
    [int],
]


def test_equal_keys_are_one_key_and_load_as_equal_ones() -> None:
    cache = twindex.Cache(maxsize=1_000)
    for number, keys in enumerate(EQUAL_KEYS):
        for key in keys:
            for other in keys:
                cache[key] = number
                assert cache.pop(other) == number, (key, other)
            assert key == keys[0]
        cache[keys[-1]] = number
    assert len(cache) == len(EQUAL_KEYS)
    for key, number in cache.items():
        assert key == EQUAL_KEYS[number][0]


def test_keys_of_sets_are_found_by_other_processes(tmp_path: Path) -> None:
    cache = twindex.Cache(maxsize=10)
    names = [f"name {number}" for number in range(50)]
    cache[frozenset(names)] = "found"
    cache.save(tmp_path / "cache.twx")
    program = (
        "import sys, twindex; cache = twindex.Cache.load(sys.argv[1]);"
        "print(cache[frozenset(f'name {number}' for number in range(50))])"
    )
    assert python(program, tmp_path / "cache.twx", env={"PYTHONHASHSEED": "7"}).stdout == "found\n"


def test_keys_without_a_single_form_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    cache = twindex.Cache(maxsize=10)
    for key in (cycle, Labelled("a", "b"), NOON.time().replace(tzinfo=UTC), threading.Lock()):
        with pytest.raises(twindex.Error, match=r"^(the )?key "):
            cache[key] = 1
    assert not cache


def test_each_reader_gets_a_copy() -> None:
    cache = twindex.Cache(maxsize=100)
    numbers = [1]
    cache["a"] = numbers
    numbers.append(2)
    cache["a"].append(3)
    assert cache["a"] == [1]
    computed = cache.get_or_compute("b", lambda: numbers)
    assert computed == numbers
    assert computed is not numbers


def test_listener_is_told_what_goes_and_why() -> None:
    told: list[tuple[Any, Any, str]] = []
    cache = twindex.Cache(maxsize=2, on_evict=lambda *gone: told.append((*gone,)))
    for number in range(5):
        cache[number] = [number]
    assert len(told) == 3
    assert all(value == [key] and why == "size" and key not in cache for key, value, why in told)
    told.clear()
    del cache[4]
    cache.upsert(4, "old", ttl=0.001)
    expire(cache, 4)
    cache[4] = "new"
    assert told == [(4, "old", "expired")]


def test_error_of_the_listener_is_that_of_the_write() -> None:
    def refuse(key: object, *_: object) -> None:
        raise LookupError(key)

    cache = twindex.Cache(maxsize=1, on_evict=refuse)
    cache["a"] = 1
    with pytest.raises(LookupError, match="a"):
        cache["b"] = 2
    assert dict(cache) == {"b": 2}
    with pytest.raises(LookupError, match="b"):
        cache.upsert_many({"c": 3})
    assert dict(cache) == {"c": 3}
    cache["c"] = 4


def test_listener_may_use_the_cache() -> None:
    spilled: dict[Any, Any] = {}

    def spill(key: object, value: object, _: str) -> None:
        spilled[key] = value
        assert key not in cache
        other[key] = value

    other = twindex.Cache(maxsize=1000)
    cache = twindex.Cache(maxsize=10, on_evict=spill)
    for number in range(100):
        cache[number] = bytes(100_000)
    assert len(spilled) == 90
    assert other == spilled


def outcomes(count: int, work: Callable[[int], object]) -> list[Any]:
    """What each of so many threads returns or raises."""

    def outcome(number: int) -> object:
        try:
            return work(number)
        except BaseException as error:  # noqa: BLE001, RUF100
            return error

    return in_threads(count, outcome)


class Computation:
    """Returns or raises once all other threads wait for it."""

    def __init__(self, cache: twindex.Cache[Any, Any], result: object) -> None:
        self.cache, self.result, self.runs = cache, result, 0

    def __call__(self) -> Any:
        self.runs += 1
        # All look-ups but this one's have missed by then; that they wait cannot be seen, so they get some time.
        while self.cache.stats()["misses"] < 8:
            time.sleep(0.001)
        time.sleep(0.02)
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def test_one_thread_computes_and_the_others_wait() -> None:
    cache = twindex.Cache(maxsize=100)
    compute = Computation(cache, ["value"])
    results = outcomes(8, lambda _: cache.get_or_compute("key", compute, ttl=60))
    assert (results, compute.runs) == ([["value"]] * 8, 1)
    assert len({id(result) for result in results}) == 8
    assert cache.ttl("key") == pytest.approx(60, abs=30)


def test_error_reaches_all_that_wait() -> None:
    cache = twindex.Cache(maxsize=100)
    error = LookupError("mine")
    compute = Computation(cache, error)
    results = outcomes(8, lambda _: cache.get_or_compute("key", compute))
    # A thread that came late computes itself, and meets the same error.
    assert results == [error] * 8
    assert compute.runs < 8
    assert "key" not in cache
    assert cache.get_or_compute("key", lambda: 1) == 1


def test_after_an_interrupt_another_thread_computes() -> None:
    cache = twindex.Cache(maxsize=100)
    interrupted = Computation(cache, KeyboardInterrupt())
    lock, runs = threading.Lock(), iter([interrupted])

    def compute() -> Any:
        with lock:
            run = next(runs, None)
        return "value" if run is None else run()

    results = outcomes(8, lambda _: cache.get_or_compute("key", compute))
    assert [type(result) for result in results].count(KeyboardInterrupt) == 1
    assert results.count("value") == 7


def test_what_is_written_during_a_computation_stays() -> None:
    """What was computed of old data took the place of a newer value that was written meanwhile."""
    cache = twindex.Cache(maxsize=100)

    def compute() -> str:
        cache["key"] = "newer"
        return "older"

    async def compute_async() -> str:
        return compute()

    assert cache.get_or_compute("key", compute) == "older"
    assert cache.pop("key") == "newer"
    assert asyncio.run(twindex.aio.get_or_compute(cache, "key", compute_async)) == "older"
    assert cache["key"] == "newer"


@pytest.mark.parametrize(
    "forget",
    [
        lambda cache: cache.delete("key"),
        lambda cache: cache.pop("key", None),
        lambda cache: cache.delete_many(["key"]),
        lambda cache: cache.clear(),
        lambda cache: cache.upsert("key", "newer") and cache.__delitem__("key"),
        lambda cache: cache.upsert("key", "newer") and cache.popitem(),
        lambda cache: cache.upsert("key", "newer") and cache.alter("key", lambda _: twindex.DELETE),
        # What is asked for after the deletion is computed anew.
        lambda cache: [
            cache.delete("key"),
            cache.get_or_compute("key", lambda: "newer"),
            cache.delete("key"),
        ],
    ],
)
def test_what_is_deleted_during_a_computation_is_not_kept(forget: Callable[[Any], Any]) -> None:
    """What was computed of old data stayed in the cache though the key was deleted meanwhile."""
    cache = twindex.Cache(maxsize=100)

    def compute(size: int) -> str:
        forget(cache)
        return "older" * size

    async def compute_async() -> str:
        return compute(1)

    for size in (1, 50_000):
        assert cache.get_or_compute("key", partial(compute, size)) == "older" * size
        assert "key" not in cache
    assert asyncio.run(twindex.aio.get_or_compute(cache, "key", compute_async)) == "older"
    assert "key" not in cache
    assert cache.get_or_compute("key", lambda: cache.delete("other")) is False
    assert cache["key"] is False


def test_computations_may_not_wait_for_each_other() -> None:
    """Two threads that each computed what the other one needed waited for ever, and so did a task that needed itself."""
    cache = twindex.Cache(maxsize=100)
    with pytest.raises(RuntimeError, match="asked for the key"):
        cache.get_or_compute("own", lambda: cache.get_or_compute("own", lambda: 1))
    assert cache.get_or_compute("own", lambda: cache.get_or_compute("other", lambda: 1) + 1) == 2
    both_compute = threading.Barrier(2)

    def compute(key: str, other: str) -> Any:
        def needs_other() -> Any:
            both_compute.wait()
            return cache.get_or_compute(other, lambda: other) + key

        try:
            return cache.get_or_compute(key, needs_other)
        except RuntimeError as error:
            return str(error)

    results = outcomes(2, lambda number: compute("ab"[number], "ba"[number]))
    assert "asked for the key" in results[0] + results[1]

    async def ask(key: str, *others: str) -> int:
        async def gather() -> int:
            await asyncio.sleep(0)
            return 1 + sum(await asyncio.gather(*(ask(*others) for _ in range(2)))) if others else 1

        return await twindex.aio.get_or_compute(cache, key, gather)

    async def needs(*keys: str) -> int:
        await asyncio.sleep(0)
        if len(keys) == 1:
            return 1
        return await twindex.aio.get_or_compute(cache, keys[1], lambda: needs(*keys[1:]))

    async def main() -> None:
        for paths in [["cc"], ["cdc"], ["cd", "dc"], ["cde", "ec"]]:
            tasks = [twindex.aio.get_or_compute(cache, path[0], partial(needs, *path)) for path in paths]
            results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
            assert {type(result) for result in results} == {RuntimeError}, paths
        assert await twindex.aio.get_or_compute(cache, "c", partial(needs, "c", "d")) == 1
        with pytest.raises(RuntimeError, match="asked for the key"):
            await asyncio.wait_for(ask("x", "y", "x"), 60)
        assert await ask("u", "v") == 3

    asyncio.run(main())


def test_one_task_computes_and_the_others_wait() -> None:
    cache = twindex.Cache(maxsize=100)
    runs = 0

    async def compute() -> list[int]:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0)
        if runs == 1:
            raise LookupError("mine")
        return [1]

    async def get() -> list[int]:
        return await twindex.aio.get_or_compute(cache, "key", compute, ttl=60)

    async def main() -> None:
        failed = await asyncio.gather(*(get() for _ in range(5)), return_exceptions=True)
        assert [str(error) for error in failed] == ["mine"] * 5
        assert await asyncio.gather(*(get() for _ in range(5))) == [[1]] * 5
        assert await get() == [1]

    asyncio.run(main())
    assert runs == 2


def test_cancelled_task_leaves_the_others_alone() -> None:
    cache = twindex.Cache(maxsize=100)

    async def main() -> None:
        may_go_on = asyncio.Event()

        async def compute() -> int:
            await may_go_on.wait()
            return 1

        first, second = (
            asyncio.ensure_future(twindex.aio.get_or_compute(cache, "key", compute)) for _ in range(2)
        )
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        may_go_on.set()
        assert await second == 1
        assert first.cancelled()

    asyncio.run(main())
    assert cache["key"] == 1


# --- files


def test_loaded_cache_starts_warm(tmp_path: Path) -> None:
    path = tmp_path / "pages.twx"
    cache: twindex.Cache[Any, Any] = twindex.Cache(maxsize=1000, ttl=3600)
    cache.update({("page", number): {"number": number} for number in range(300)})
    cache.upsert("brief", 1, ttl=0.001)
    cache.upsert("ever", 2, ttl=math.inf)
    cache.save(path)
    expire(cache, "brief")
    dump = path.read_bytes()
    for source in (path, str(path), dump, bytearray(dump), memoryview(dump)):
        loaded: twindex.Cache[Any, Any] = twindex.Cache.load(source)
        assert (loaded.maxsize, loaded.capacity, loaded.default_ttl) == (1000, None, 3600)
        assert len(loaded) == 301
        assert all(loaded["page", number] == {"number": number} for number in range(300))
        assert (loaded.ttl("ever"), loaded.ttl("brief")) == (math.inf, None)
        left = loaded.ttl(("page", 7))
        assert left is not None
        assert 3000 < left < 3600
        assert loaded.get_or_compute("new", lambda: 3) == 3


def test_cache_is_loaded_into_a_store(tmp_path: Path) -> None:
    path = tmp_path / "pages.twx"
    pages = twindex.Store().cache("pages", maxsize=10, values="json")
    pages["/"] = {"title": "Hello"}
    pages.save(path)
    with twindex.open(tmp_path / "app.twx") as store:
        loaded = store.load_cache("warm", path)
        assert (loaded.name, loaded.codecs, loaded["/"]) == ("warm", ("str", "json"), {"title": "Hello"})
        assert store.cache("warm", values="json")["/"] == {"title": "Hello"}
        raw = store.load_cache("raw", path, keys="bytes", values="bytes")
        assert (raw[b"/"], raw.codecs) == (b'{"title":"Hello"}', ("str", "json"))
        for name in ("warm", "table"):
            store.table("table")
            with pytest.raises(twindex.NameInUseError):
                store.load_cache(name, path)
        with pytest.raises(twindex.WrongCodecError, match="json"):
            store.load_cache("other", path, values="msgpack")
        with pytest.raises(twindex.OptionError):
            store.load_cache("other", path, capacity=1, maxsize=1)
        assert store.caches() == ["raw", "warm"]
    with pytest.raises(twindex.ClosedError):
        store.load_cache("closed", path)
    with pytest.raises(twindex.ClosedError):
        loaded.save(path)


def test_objects_are_loaded_where_they_are_named() -> None:
    """A file from a stranger runs nothing unless the program expects objects."""
    objects = twindex.Cache(maxsize=10)
    objects["a"] = [1]
    store = twindex.Store()
    with pytest.raises(twindex.Error, match="object"):
        store.load_cache("c", objects.dump())
    assert store.load_cache("c", objects.dump(), keys="object", values="object")["a"] == [1]
    words = store.cache("words", maxsize=10)
    words["a"] = "1"
    with pytest.raises(twindex.WrongCodecError, match="object"):
        twindex.Cache.load(words.dump())
    assert twindex.Cache.load(words.dump(), keys="str", values="str")["a"] == "1"


class Pages(twindex.Cache[str, int]):
    """A cache that says what is not in it."""

    def __init__(self, **_: object) -> None:
        self.made = True

    def __missing__(self, key: str) -> int:
        return len(key)


def test_subclass_loads_itself(tmp_path: Path) -> None:
    """It loaded a plain Cache."""
    pages = Pages(maxsize=10, ttl=60)
    pages["a"] = 7
    pages.save(tmp_path / "pages.twx")
    for source in (pages.dump(), tmp_path / "pages.twx"):
        loaded = Pages.load(source, maxsize=5)
        assert (type(loaded), loaded["a"], loaded["absent"], loaded.maxsize) == (Pages, 7, 6, 5)
        assert not hasattr(loaded, "made")
        assert type(twindex.Cache.load(source)) is twindex.Cache
    with pytest.raises(twindex.CorruptError):
        Pages.load(b"")
    assert len(Pages(maxsize=3)) == 0


def test_interrupted_computation_does_not_block_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from twindex import _flights

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    cache = twindex.Cache(maxsize=10)
    with monkeypatch.context() as patched:
        # After the key is taken, before anything else.
        patched.setattr(_flights, "_fly", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cache.get_or_compute("a", lambda: 1)
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(cache.get_or_compute("a", lambda: 2)), daemon=True)
    other.start()
    other.join(10)
    assert found == [2]


def test_new_cache_does_not_join_the_computations_of_a_dropped_one() -> None:
    store = twindex.Store()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert go_on.wait(10)
        return "old"

    old, answers = store.cache("c", maxsize=10), []
    thread = threading.Thread(target=lambda: answers.append(old.get_or_compute("a", slow)))
    thread.start()
    assert begun.wait(10)
    store.drop_cache("c")
    new = store.cache("c", maxsize=10)
    assert new.get_or_compute("a", lambda: "new") == "new"
    go_on.set()
    thread.join()
    assert (answers, new["a"]) == (["old"], "new")


def test_value_computed_while_its_store_closes_is_returned() -> None:
    store = twindex.Store()
    cache = store.cache("c", maxsize=10)

    def compute() -> str:
        store.close()
        return "computed"

    assert cache.get_or_compute("a", compute) == "computed"


def test_greenlets_of_one_thread_do_not_wait_for_each_other() -> None:
    import greenlet

    cache, switched = twindex.Cache(maxsize=10), []

    def compute() -> str:
        switched.append(greenlet.greenlet(lambda: cache.get_or_compute("a", lambda: "inner")).switch())
        return "outer"

    assert (cache.get_or_compute("a", compute), switched) == ("outer", ["inner"])
