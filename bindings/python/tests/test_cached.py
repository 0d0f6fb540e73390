"""The decorator `cached`, and the cache as cachetools takes it."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any, assert_type

import cachetools
import cachetools.keys
import pytest

import twindex

calls: list[object] = []
# For uses that the stubs refuse.
CACHED: Any = twindex.cached


@pytest.fixture(autouse=True)
def forget_calls() -> None:
    calls.clear()


def test_results_are_kept_by_arguments() -> None:
    @twindex.cached(ttl=60, maxsize=10)
    def add(one: int, other: int = 2) -> int:
        """Adds."""
        calls.append((one, other))
        return one + other

    assert (add.__name__, add.__doc__, add.__wrapped__(1, 1)) == ("add", "Adds.", 2)
    calls.clear()
    assert assert_type(add(1), int) == add(1) == 3
    assert add(1, 2) == add(1, other=2) == add(other=2, one=1) == add(one=1, other=2) == 3
    assert calls == [(1, 2)] * 4
    assert add.cache_info() == (3 - 1, 4, 10, 4, None)
    assert add.cache_delete(1, 2)
    assert not add.cache_delete(1, 2)
    assert add.cache.ttl((0, 1)) == pytest.approx(60, abs=30)
    add.cache_clear()
    assert add.cache_info() == twindex.CacheInfo(0, 0, 10, 0, None)

    @twindex.cached
    def roll() -> list[object]:
        calls.append(None)
        return [len(calls)]

    calls.clear()
    roll().append("mine")
    assert (roll(), roll.cache_info().maxsize) == ([1], 128)

    @twindex.cached(maxsize=None)
    def same(number: int) -> int:
        return number

    assert [same(number) for number in range(1000)] == list(range(1000))
    assert same.cache_info() == (0, 1000, None, 1000, None)


def test_arguments_that_cannot_be_hashed() -> None:
    @twindex.cached(capacity=100_000)
    def total(numbers: list[int], **options: object) -> int:
        calls.append(options)
        return sum(numbers)

    assert (total([1, 2]), total([1, 2]), total([2, 1]), total([1, 2], a={})) == (3, 3, 3, 3)
    assert len(calls) == 3


def test_positions_and_names_are_told_apart() -> None:
    @twindex.cached
    def show(*args: object, **kwargs: object) -> str:
        return repr((args, kwargs))

    calls: list[Any] = [((), {}), (("a", 1), {}), ((), {"a": 1}), ((1, "a", 1), {}), ((0,), {}), ((1.5,), {})]
    for args, kwargs in calls:
        assert show(*args, **kwargs) == repr((args, kwargs))


class Model:
    """A class in a function cannot be pickled."""

    def __init__(self, name: str) -> None:
        self.name = name

    @twindex.cached
    def size(self) -> int:
        calls.append(self.name)
        return len(self.name)


class Locked:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    @twindex.cached
    def size(self, name: str) -> int:
        return len(name)


def test_methods_are_cached_by_the_state_of_their_object() -> None:
    assert [Model("a").size(), Model("bc").size(), Model("bc").size()] == [1, 2, 2]
    assert calls == ["a", "bc"]
    with pytest.raises(
        twindex.ArgumentTypeError, match=r"size cannot be cached by its argument self: .*lock"
    ):
        Locked().size("a")


def test_errors_are_not_kept() -> None:
    @twindex.cached
    def fail() -> int:
        calls.append(None)
        if len(calls) < 3:
            raise LookupError(len(calls))
        return 1

    for number in (1, 2):
        with pytest.raises(LookupError, match=str(number)):
            fail()
    assert fail() == 1


def test_tasks_share_the_result_of_a_coroutine() -> None:
    @twindex.cached(maxsize=10)
    async def read(name: str) -> list[str]:
        calls.append(name)
        await asyncio.sleep(0)
        if name == "bad":
            raise LookupError(name)
        return [name]

    assert inspect.iscoroutinefunction(read)

    async def main() -> None:
        assert await asyncio.gather(*(read("a") for _ in range(5))) == [["a"]] * 5
        assert await read("a") == ["a"]
        failed = await asyncio.gather(*(read("bad") for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in failed] == [LookupError] * 3

    asyncio.run(main())
    asyncio.run(main())
    assert calls == ["a", "bad", "bad"]
    assert read.cache_info().currsize == 1


def test_functions_share_a_cache() -> None:
    cache: twindex.Cache[Any, Any] = twindex.Cache(maxsize=100)

    @twindex.cached(cache=cache)
    def one(number: int) -> int:
        return number + 1

    @twindex.cached(cache=cache, ttl=60)
    def two(number: int) -> int:
        return number + 2

    assert (one(1), two(1), one(1), len(cache)) == (2, 3, 2, 2)
    one.cache_clear()
    assert len(cache) == 0


@pytest.mark.parametrize(
    ("error", "message", "use"),
    [
        (twindex.OptionError, "has its maxsize", lambda: CACHED(cache=twindex.Cache(maxsize=1), maxsize=1)),
        (twindex.OptionError, "codecs", lambda: CACHED(cache=twindex.Cache(maxsize=1, keys="str"))),
        (twindex.CapacityError, "minimum", lambda: CACHED(capacity=1)(len)),
        (
            twindex.ArgumentTypeError,
            "cache must be a twindex.Cache or None, not int: 5",
            lambda: CACHED(cache=5),
        ),
        (twindex.ArgumentTypeError, "function", lambda: CACHED(1)),
        (TypeError, "max_size", lambda: CACHED(max_size=1)(len)),
        (twindex.ArgumentTypeError, "function", lambda: CACHED(maxsize=1)(1)),
    ],
)
def test_wrong_uses_are_named(error: type[Exception], message: str, use: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        use()


def test_cachetools_takes_it() -> None:
    cache: twindex.Cache[Any, Any] = twindex.Cache(maxsize=10)

    @cachetools.cached(cache=cache, lock=threading.Lock(), info=True)
    def add(one: int, other: int = 1) -> tuple[int, int]:
        calls.append(one)
        return one, other

    assert add(1) == add(1) == (1, 1)
    assert add(1, other=2) == add(1, other=2) == (1, 2)
    assert len(calls) == 2
    assert add.cache_info()[:2] == (2, 2)

    @cachetools.cached(cache=twindex.Cache(capacity=100_000), key=cachetools.keys.typedkey)
    def show(value: object) -> str:
        return repr(value)

    assert (show(1), show(1.0), show(1)) == ("1", "1.0", "1")
    large = cachetools.cached(cache=twindex.Cache(capacity=100_000))(lambda: bytes(200_000))
    # What does not fit is returned and not kept.
    assert len(large()) == 200_000

    class Owner:
        def __init__(self) -> None:
            self.cache = twindex.Cache(maxsize=10)

        @cachetools.cachedmethod(lambda self: self.cache)
        def double(self, number: int) -> int:
            calls.append(number)
            return 2 * number

    owner = Owner()
    assert (owner.double(3), owner.double(3)) == (6, 6)
    assert calls.count(3) == 1


def test_size_is_counted_as_cachetools_does_and_an_empty_cache_pops_nothing() -> None:
    cache: twindex.Cache[Any, Any] = twindex.Cache(maxsize=2)
    for number in range(100):
        cache[number] = number
        assert cache[number] == number
        assert len(cache) == cache.currsize <= 2
    cache.clear()
    try:
        raise ValueError
    except ValueError:
        with pytest.raises(KeyError) as error:
            cache.popitem()
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    small: twindex.Cache[Any, Any] = twindex.Cache(capacity=100_000)
    assert small.currsize == small.memory > 0


def test_subclass_says_what_an_absent_key_is() -> None:
    class Squares(twindex.Cache[int, int]):
        def __missing__(self, key: int) -> int:
            if key < 0:
                raise KeyError(key)
            self[key] = key * key
            return key * key

    squares = Squares(maxsize=2)
    assert isinstance(squares, twindex.Cache)
    assert (squares[3], squares[4], len(squares)) == (9, 16, 2)
    assert squares[5] == 25
    assert (len(squares), 5 in squares) == (2, True)
    with pytest.raises(KeyError, match="-1"):
        squares[-1]
    # Nothing else asks for it.
    assert (squares.get(7), squares.get(7, 1), squares.pop(7, None), 7 in squares) == (None, 1, None, False)
    assert (squares.select(7), squares.setdefault(7, 2), squares[7]) == (None, 2, 2)
    with pytest.raises(KeyError):
        squares.pop(8)
    with pytest.raises(KeyError):
        twindex.Cache(maxsize=1)[1]
    # What the subclass has of its own is not in the way.
    squares.name_of_it = "squares"  # type: ignore[attr-defined]
    assert squares.name_of_it == "squares"  # type: ignore[attr-defined]
