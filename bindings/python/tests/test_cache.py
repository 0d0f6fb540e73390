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
from collections import OrderedDict, namedtuple
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
    cache = twindex.Cache(max_entries=100, ttl=timedelta(hours=1))
    assert (cache.default_ttl, twindex.Cache(max_entries=100).default_ttl) == (3600, None)
    assert twindex.Cache(max_entries=100, ttl=math.inf, time_to_idle=math.inf).time_to_idle is None
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
        (twindex.CapacityError, "needs a capacity", {}),
        (twindex.CapacityError, "minimum is 65536", {"capacity": 100}),
        (twindex.CapacityError, "max_entries is at least 1 .* not 0", {"max_entries": 0}),
        (twindex.CapacityError, "capacity is at least 1 .* not -1", {"capacity": -1}),
        (twindex.CapacityError, f"maxsize .*at most {2**64 - 2}, not {2**64}", {"maxsize": 2**64}),
        (twindex.OptionError, "give one of them", {"max_entries": 1, "maxsize": 1}),
        (twindex.ArgumentTypeError, "max_entries must be int or None, not float: 1.5", {"max_entries": 1.5}),
        (twindex.ArgumentTypeError, "capacity must be int or None, not str: '1'", {"capacity": "1"}),
        *[
            (error, f"{name} .*{ttl}", {"max_entries": 1, name: ttl})
            for name in ("ttl", "time_to_idle", "stale_for")
            for ttl, error in {
                0: twindex.TtlError,
                -1: twindex.TtlError,
                -math.inf: twindex.TtlError,
                math.nan: twindex.TtlError,
                1e11: twindex.TtlError,
                10**30: twindex.TtlError,
                "1": twindex.ArgumentTypeError,
                True: twindex.ArgumentTypeError,
            }.items()
        ],
        (twindex.TtlError, "ttl .* 1000000", {"max_entries": 1, "ttl": 10**400}),
        (twindex.TtlError, "ttl .*timedelta", {"max_entries": 1, "ttl": timedelta(0)}),
        (twindex.OptionError, "unknown codec of keys", {"max_entries": 1, "keys": "json"}),
        (twindex.OptionError, "unknown codec of values", {"max_entries": 1, "values": "yaml"}),
        (twindex.ArgumentTypeError, "on_evict must be callable", {"max_entries": 1, "on_evict": 1}),
        (twindex.ArgumentTypeError, "keys must be", {"max_entries": 1, "keys": 1}),
    ],
)
def test_wrong_options_are_named(error: type[Exception], message: str, options: Any) -> None:
    for make in (twindex.Cache, partial(twindex.Cache.load, twindex.Cache(max_entries=1).dump())):
        if options:
            with pytest.raises(error, match=message):
                make(**options)
    with pytest.raises(error, match=message):
        twindex.Cache(**options)


def test_wrong_uses_say_what_to_do() -> None:
    cache = twindex.Cache(max_entries=1)
    for ttl, error in ((-1, twindex.TtlError), (0, twindex.TtlError), ("1", twindex.ArgumentTypeError)):
        calls: list[Callable[[], object]] = [
            lambda ttl=ttl: cache.upsert("a", 1, ttl=ttl),  # type: ignore[misc]
            lambda ttl=ttl: cache.insert_many({"a": 1}, ttl=ttl),  # type: ignore[misc]
            lambda ttl=ttl: cache.touch("a", ttl),  # type: ignore[misc]
            lambda ttl=ttl: cache.get_or_compute("a", int, ttl=ttl),  # type: ignore[misc]
            lambda ttl=ttl: asyncio.run(  # type: ignore[misc]
                twindex.aio.get_or_compute(cache, "a", asyncio.Event().wait, ttl=ttl)
            ),
        ]
        for call in calls:
            with pytest.raises(error, match="ttl"):
                call()
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
    assert (len(cache), len(twindex.Cache(max_entries=sys.maxsize))) == (0, 0)


def test_bounds_are_shown_and_shrink() -> None:
    cache = twindex.Cache(capacity=1_000_000, max_entries=50, keys="int", values="bytes")
    assert (cache.capacity, cache.max_entries, cache.maxsize) == (1_000_000, 50, 50)
    assert cache.codecs == ("int", "bytes")
    cache.update((number, bytes(10_000)) for number in range(100))
    assert len(cache) == cache.currsize == 50
    cache.shrink_to(100_000)
    assert (cache.capacity, len(cache)) == (100_000, 100 - cache.stats()["evictions"])
    assert 0 < cache.memory <= 100_000
    with pytest.raises(twindex.CapacityError, match="minimum"):
        cache.shrink_to(5)


def test_value_that_is_too_large_is_refused_and_a_computed_one_returned() -> None:
    cache = twindex.Cache(capacity=100_000)
    large, cache["a"] = bytes(200_000), 1
    assert not cache.upsert("a", large)
    assert cache.upsert_many({"b": 2, "c": large}) == [True, False]
    cache["text"] = "text"
    refused: list[Callable[[], object]] = [
        lambda: cache.__setitem__("a", large),
        lambda: cache.update(a=large),
        lambda: cache.insert("d", large),
        lambda: cache.replace("a", large),
        lambda: cache.setdefault("d", large),
        lambda: cache.alter("a", lambda _: large),
        lambda: cache.compare_and_swap("a", 1, large),
    ]
    for call in refused:
        with pytest.raises(twindex.CacheLimitError, match="no room for a pair of 200") as raised:
            call()
        assert raised.value.code == "TWINDEX_NO_ROOM"
    assert dict(cache) == {"a": 1, "b": 2, "text": "text"}
    assert cache.get_or_compute("d", lambda: large) == large
    assert "d" not in cache
    assert cache.stats()["rejected"] > 0


def test_stale_value_is_returned_while_one_caller_computes() -> None:
    cache = twindex.Cache(max_entries=10, ttl=0.001, stale_for=60, time_to_idle=60)
    assert (cache.stale_for, cache.time_to_idle) == (60, 60)
    cache["a"] = "old"
    expire(cache, "a")

    def compute() -> str:
        return f"new, while others have {cache.get_or_compute('a', lambda: 'never')}"

    async def compute_async() -> str:
        return compute()

    assert cache.get("a") is None
    assert cache.get_or_compute("a", compute, ttl=0.001) == "new, while others have old"
    expire(cache, "a")
    computed = asyncio.run(twindex.aio.get_or_compute(cache, "a", compute_async))
    assert computed == "new, while others have new, while others have old"


class Colour(Enum):
    RED = "red"


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, 2**200, 1.5, "", "é", "\ud800", b"", b"\x80", bytearray(b"a"), (1, (2,)),
     [1, {"a": {2}}], Colour.RED, Point(1, 2), date(2026, 11, 24), Fraction(1, 3)],
)  # fmt: skip
def test_any_object_is_a_key_and_a_value(value: Any) -> None:
    cache = twindex.Cache(max_entries=100)
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
    [OrderedDict(a=1, b=2), OrderedDict(a=True, b=2.0)],
    [OrderedDict(b=2, a=1)],
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
    cache = twindex.Cache(max_entries=1_000)
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
    cache = twindex.Cache(max_entries=10)
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
    cache = twindex.Cache(max_entries=10)
    for key in (cycle, Labelled("a", "b"), NOON.time().replace(tzinfo=UTC), threading.Lock()):
        with pytest.raises(twindex.Error, match=r"^(the )?key "):
            cache[key] = 1
    assert not cache


def test_each_reader_gets_a_copy() -> None:
    cache = twindex.Cache(max_entries=100)
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
    cache = twindex.Cache(max_entries=2, on_evict=lambda *gone: told.append((*gone,)))
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


def test_error_of_the_listener_is_that_of_the_call_that_removed_the_pair() -> None:
    def refuse(key: object, *_: object) -> None:
        raise LookupError(key)

    cache = twindex.Cache(max_entries=1, on_evict=refuse)
    cache["a"] = 1
    with pytest.raises(LookupError, match="a"):
        cache["b"] = 2
    with pytest.raises(LookupError, match="b"):
        cache.upsert_many({"c": 3})
    assert dict(cache) == {"c": 3}
    cache.upsert("c", 4, ttl=0.001)
    expire(cache, "c")

    def look() -> None:
        while True:
            cache.get("absent")

    with pytest.raises(LookupError, match="c"):
        look()
    assert (cache.get("absent"), len(cache)) == (None, 0)


def test_listener_may_use_the_cache() -> None:
    spilled: dict[Any, Any] = {}

    def spill(key: object, value: object, _: str) -> None:
        spilled[key] = value
        assert key not in cache
        other[key] = value

    other = twindex.Cache(max_entries=1000)
    cache = twindex.Cache(max_entries=10, on_evict=spill)
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
    cache = twindex.Cache(max_entries=100)
    compute = Computation(cache, ["value"])
    results = outcomes(8, lambda _: cache.get_or_compute("key", compute, ttl=60))
    assert (results, compute.runs) == ([["value"]] * 8, 1)
    assert len({id(result) for result in results}) == 8
    assert cache.ttl("key") == pytest.approx(60, abs=30)


def test_error_reaches_all_that_wait() -> None:
    cache = twindex.Cache(max_entries=100)
    error = LookupError("mine")
    compute = Computation(cache, error)
    results = outcomes(8, lambda _: cache.get_or_compute("key", compute))
    # A thread that came late computes itself, and meets the same error.
    assert results == [error] * 8
    assert compute.runs < 8
    assert "key" not in cache
    assert cache.get_or_compute("key", lambda: 1) == 1


def test_after_an_interrupt_another_thread_computes() -> None:
    cache = twindex.Cache(max_entries=100)
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
    cache = twindex.Cache(max_entries=100)

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
        lambda cache: cache.upsert("key", "newer") and cache.popitem(),
        lambda cache: cache.upsert("key", "newer") and cache.alter("key", lambda _: twindex.DELETE),
        # A call after the deletion computes again.
        lambda cache: [
            cache.delete("key"),
            cache.get_or_compute("key", lambda: "newer"),
            cache.delete("key"),
        ],
    ],
)
def test_what_is_deleted_during_a_computation_is_not_kept(forget: Callable[[Any], Any]) -> None:
    """What was computed of old data stayed in the cache though the key was deleted meanwhile."""
    cache = twindex.Cache(max_entries=100)

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
    cache = twindex.Cache(max_entries=100)
    with pytest.raises(RuntimeError, match="waits for itself"):
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
    assert "waits for itself" in results[0] + results[1]

    async def ask(key: str, *others: str) -> int:
        async def gather() -> int:
            await asyncio.sleep(0)
            return 1 + sum(await asyncio.gather(*(ask(*others) for _ in range(2)))) if others else 1

        return await twindex.aio.get_or_compute(cache, key, gather)

    async def needs(*keys: str) -> int:
        if len(keys) == 1:
            return 1
        return await twindex.aio.get_or_compute(cache, keys[1], lambda: needs(*keys[1:]))

    async def main() -> None:
        factories = [None, getattr(asyncio, "eager_task_factory", None)]
        for paths in [["cc"], ["cdc"], ["cd", "dc"], ["cde", "ec"]]:
            for factory in factories:
                asyncio.get_running_loop().set_task_factory(factory)
                tasks = [twindex.aio.get_or_compute(cache, path[0], partial(needs, *path)) for path in paths]
                results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
                assert {type(result) for result in results} == {twindex.CircleError}, (paths, factory)
        asyncio.get_running_loop().set_task_factory(None)
        assert await twindex.aio.get_or_compute(cache, "c", partial(needs, "c", "d")) == 1
        with pytest.raises(RuntimeError, match="waits for itself"):
            await asyncio.wait_for(ask("x", "y", "x"), 60)
        assert await ask("u", "v") == 3

    asyncio.run(main())


def test_computation_of_a_closed_loop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that asked for its key waited for ever."""
    monkeypatch.setattr("twindex._tasks._OFTEN", 0.01)
    cache = twindex.Cache[Any, Any](max_entries=100)
    never: list[asyncio.Future[int]] = []
    callers: list[asyncio.Future[int]] = []

    async def compute_never() -> int:
        never.append(asyncio.get_running_loop().create_future())
        return await never[-1]

    async def compute() -> str:
        return "of a task"

    async def ask(key: str) -> Any:
        return await asyncio.wait_for(twindex.aio.get_or_compute(cache, key, compute), 60)

    async def begin() -> None:
        tasks = [twindex.aio.get_or_compute(cache, key, compute_never) for key in ("thread", "task")]
        callers.extend(map(asyncio.ensure_future, tasks))
        while len(never) < 2:
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    before = [
        threading.Thread(target=cache.get_or_compute, args=("thread", lambda: "of a thread"), daemon=True),
        threading.Thread(target=lambda: asyncio.run(ask("task")), daemon=True),
    ]
    for thread in before:
        thread.start()
    time.sleep(0.01)
    loop.close()
    for thread in before:
        thread.join(60)
    assert cache.select_many(["thread", "task"]) == ["of a thread", "of a task"]


def test_circles_are_found_in_time_where_many_ways_lead_to_a_computation() -> None:
    cache = twindex.Cache[Any, Any](max_entries=1000)
    layers = 60

    async def main() -> None:
        may_end, bottom = asyncio.Event(), asyncio.Event()

        async def compute(layer: int) -> int:
            if layer < layers:
                return sum(await asyncio.gather(*(ask(layer + 1, side) for side in "ab"))) % 7
            bottom.set()
            await may_end.wait()
            return 1

        async def ask(layer: int, side: str) -> int:
            return await twindex.aio.get_or_compute(cache, (layer, side), partial(compute, layer))

        first = asyncio.ensure_future(ask(0, "a"))
        await bottom.wait()
        late = asyncio.ensure_future(twindex.aio.get_or_compute(cache, "late", partial(ask, 0, "a")))
        await asyncio.sleep(0.001)
        may_end.set()
        assert await first == await late == 2**layers % 7

    asyncio.run(main())


def test_one_task_computes_and_the_others_wait() -> None:
    cache = twindex.Cache(max_entries=100)
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
    cache = twindex.Cache(max_entries=100)

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
    cache: twindex.Cache[Any, Any] = twindex.Cache(max_entries=1000, ttl=3600)
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


def test_codecs_of_a_loaded_cache_are_those_that_the_program_names() -> None:
    """A file from a stranger runs nothing unless the program expects objects."""
    objects, words = twindex.Cache(max_entries=10), twindex.Cache(max_entries=10, keys="str", values="json")
    objects["a"], words["a"] = [1], {"b": None}
    with pytest.raises(twindex.WrongCodecError, match=r'the keys .* codec "object", this needs "str"'):
        twindex.Cache.load(objects.dump(), keys="str", values="json")
    with pytest.raises(twindex.WrongCodecError, match="object"):
        twindex.Cache.load(words.dump())
    assert twindex.Cache.load(objects.dump())["a"] == [1]
    assert twindex.Cache.load(words.dump(), keys="str", values="json")["a"] == {"b": None}
    raw: Any = twindex.Cache.load(words.dump(), keys="bytes", values="bytes")
    assert (dict(raw), raw.codecs) == ({b"a": b'{"b":null}'}, ("bytes", "bytes"))


def test_file_is_replaced_in_one_step_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path, cache = tmp_path / "cache.twx", twindex.Cache(max_entries=10)
    for missing in (path, str(tmp_path / "no" / "cache.twx")):
        with pytest.raises(FileNotFoundError, match=r"cache\.twx"):
            twindex.Cache.load(missing)
    path.touch()
    with pytest.raises(FileNotFoundError, match="it is empty"):
        twindex.Cache.load(path)
    cache["a"] = 1
    cache.save(path)
    content = path.read_bytes()
    for damaged in (content[:-1], content + b"1", b"", content[:40] + b"!" + content[41:]):
        with pytest.raises(twindex.CorruptError):
            twindex.Cache.load(damaged)
    with pytest.raises(twindex.Error, match="in use by this process"), twindex.open(tmp_path / "store.twx"):
        cache.save(tmp_path / "store.twx")
    with pytest.raises(FileNotFoundError):
        cache.save(tmp_path / "no" / "cache.twx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache.twx", "store.twx"]
    assert path.read_bytes() == content


class Pages(twindex.Cache[str, int]):
    """A cache that says what is not in it."""

    def __init__(self, **_: object) -> None:
        self.made = True

    def __missing__(self, key: str) -> int:
        return len(key)


def test_subclass_loads_itself(tmp_path: Path) -> None:
    """It loaded a plain Cache."""
    pages = Pages(max_entries=10, ttl=60)
    pages["a"] = 7
    pages.save(tmp_path / "pages.twx")
    for source in (pages.dump(), tmp_path / "pages.twx"):
        loaded = Pages.load(source, max_entries=5)
        assert (type(loaded), loaded["a"], loaded["absent"], loaded.maxsize) == (Pages, 7, 6, 5)
        assert not hasattr(loaded, "made")
        assert type(twindex.Cache.load(source)) is twindex.Cache
    with pytest.raises(twindex.CorruptError):
        Pages.load(b"")
    assert len(Pages(max_entries=3)) == 0


def test_threads_and_tasks_share_a_computation() -> None:
    cache = twindex.Cache(max_entries=10)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert go_on.wait(10)
        return "thread"

    async def never() -> Any:
        raise AssertionError

    async def slow_async() -> str:
        begun.set()
        while not go_on.is_set():  # noqa: ASYNC110, RUF100
            await asyncio.sleep(0.001)
        return "task"

    async def ask() -> str:
        task = asyncio.ensure_future(twindex.aio.get_or_compute(cache, "a", never))
        await asyncio.sleep(0.01)
        go_on.set()
        return str(await task)

    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(cache.get_or_compute("a", slow)))
    thread.start()
    assert begun.wait(10)
    answers.append(asyncio.run(ask()))
    thread.join(10)
    assert answers == ["thread", "thread"]
    for event in (begun, go_on):
        event.clear()
    thread = threading.Thread(
        target=lambda: answers.append(asyncio.run(twindex.aio.get_or_compute(cache, "b", slow_async)))
    )
    thread.start()
    assert begun.wait(10)
    threading.Timer(0.01, go_on.set).start()
    assert cache.get_or_compute("b", lambda: "never") == "task"
    thread.join(10)


def test_call_in_a_loop_does_not_wait_for_a_task_of_that_loop() -> None:
    cache = twindex.Cache(max_entries=10)

    async def slow() -> str:
        await asyncio.sleep(0.01)
        return "task"

    async def main() -> tuple[str, str]:
        task = asyncio.ensure_future(twindex.aio.get_or_compute(cache, "a", slow))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return cache.get_or_compute("a", lambda: "call"), await task

    assert asyncio.run(main()) == ("call", "task")


def test_task_that_ends_with_its_loop_leaves_its_key_to_others() -> None:
    cache = twindex.Cache(max_entries=10)

    async def main() -> None:
        task = asyncio.ensure_future(twindex.aio.get_or_compute(cache, "a", asyncio.Event().wait))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()

    asyncio.run(main())
    assert cache.get_or_compute("a", lambda: "next") == "next"


def test_task_that_is_cancelled_in_its_computation_leaves_the_key_to_those_that_wait() -> None:
    cache = twindex.Cache(max_entries=10)

    async def cancelled() -> str:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    async def second() -> str:
        return "second"

    async def main() -> list[Any]:
        asks = (twindex.aio.get_or_compute(cache, "a", compute) for compute in (cancelled, second, second))
        return await asyncio.gather(*asks, return_exceptions=True)

    first, *others = asyncio.run(main())
    assert (type(first), others) == (asyncio.CancelledError, ["second", "second"])


def test_greenlets_of_one_thread_do_not_wait_for_each_other() -> None:
    import greenlet

    cache, switched = twindex.Cache(max_entries=10), []

    def compute() -> str:
        switched.append(greenlet.greenlet(lambda: cache.get_or_compute("a", lambda: "inner")).switch())
        return "outer"

    assert (cache.get_or_compute("a", compute), switched) == ("outer", ["inner"])
