"""Watches: the changes of keys as this process makes them, for threads and for tasks."""

from __future__ import annotations

import _thread
import asyncio
import gc
import os
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import in_threads
from twindex import Change


def there(watch: twindex.Watch) -> list[Change]:
    """All changes so far."""
    return list(iter(watch.poll, None))


def test_changes_come_as_the_table_shows_them(path: Path) -> None:
    for store in (
        twindex.Store(),
        twindex.open(path),
        twindex.open(path.with_name("none"), durability="none"),
    ):
        users = store.table("users", "sorted", keys="tuple", values="json")
        watch, every = users.watch(("é",), capacity=1 << 20), users.watch()
        users["é", 1] = {"born": 1815}
        users["z", 1] = 1
        with store.batch() as batch:
            batch.upsert(users, ("é", 2), None)
            batch.delete(users, ("é", 1))
        store.transaction(lambda tx: tx.table("users").upsert(("é", 3), 3))
        users.delete_prefix(("é",))
        users.clear()
        store.drop_table("users")
        assert there(watch) == [
            Change("put", "users", ("é", 1), {"born": 1815}),
            Change("put", "users", ("é", 2)),
            Change("delete", "users", ("é", 1)),
            Change("put", "users", ("é", 3), 3),
            Change("delete", "users", ("é", 3)),
            Change("delete", "users", ("é", 2)),
            Change("clear", "users"),
            Change("drop", "users"),
        ]
        assert list(watch) == []
        assert watch.ended
        assert len(list(every)) == 9
        store.close()


def test_what_finds_a_watch_full_is_counted() -> None:
    users = twindex.Store().table("users")
    watch = users.watch(max_changes=1)
    users["a"] = "1"
    users.update({"b": "2", "c": "3"})
    lost = watch.wait(0), watch.wait(60)
    assert lost == (Change("put", "users", "a", "1"), Change("lost", "users", count=2))
    assert watch.poll() is None


def test_wrong_arguments_are_errors_that_name_them(path: Path) -> None:
    store = twindex.open(path)
    users: Any = store.table("users")
    for wrong in ({"max_changes": 0}, {"capacity": -1}, {"capacity": 1 << 100}):
        with pytest.raises(twindex.OptionError, match=next(iter(wrong))):
            users.watch(**wrong)
    with pytest.raises(twindex.ArgumentTypeError, match="max_changes must be an int"):
        users.watch(max_changes="many")
    with pytest.raises(twindex.OptionError, match="int keys have no prefix"):
        store.table("ints", keys="int").watch(1)
    for timeout in (float("nan"), -1, 10**400):
        with pytest.raises(twindex.OptionError, match="timeout is out of range"):
            users.watch().wait(timeout)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(users.watch())
    store.close()
    with pytest.raises(twindex.ClosedError):
        users.watch()


def test_a_change_that_cannot_be_shown_is_still_the_next_one() -> None:
    fails = True

    def decode(value: bytes) -> bytes:
        if fails:
            raise ZeroDivisionError
        return value

    codec = twindex.Codec("own", lambda value: value, decode)
    table = twindex.Store().table("t", values=codec)
    watch = table.watch()
    table["a"] = b"1"
    for take in (watch.poll, watch.wait, lambda: asyncio.run(anext_of(watch))):
        with pytest.raises(ZeroDivisionError):
            take()
    fails = False
    assert watch.wait(1) == Change("put", "t", "a", b"1")


async def anext_of(watch: twindex.Watch) -> Change:
    return await anext(watch)


@pytest.mark.parametrize("ends", ["store", "watch", "change"])
def test_a_thread_that_waits_goes_on(ends: str) -> None:
    store = twindex.Store()
    users = store.table("users")
    watch = users.watch()

    def work(number: int) -> Any:
        if number == 0:
            return watch.wait(60)
        time.sleep(0.01)
        end: dict[str, Callable[[], object]] = {
            "store": store.close,
            "watch": watch.close,
            "change": lambda: users.insert("a", "1"),
        }
        return end[ends]() and None

    expected = Change("put", "users", "a", "1") if ends == "change" else None
    assert in_threads(2, work)[0] == expected


@pytest.mark.skipif(os.name == "nt", reason="a signal there does not interrupt a wait")
def test_a_signal_ends_a_wait() -> None:
    watch = twindex.Store().table("users").watch()
    store = twindex.Store()  # The other one is gone, and its watch has ended.
    assert list(watch) == []
    waiting = store.table("users").watch()
    # What runs in the background of a shell ignores the signal.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.02, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            next(waiting)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_async_for_gives_what_threads_write_and_ends_with_the_store(path: Path) -> None:
    store = twindex.open(path)
    numbers = store.table("numbers", keys="int", values="int")

    async def read() -> list[int]:
        writer = threading.Thread(target=lambda: [numbers.upsert(key, key) for key in range(100)])
        async with numbers.watch() as watch:
            writer.start()
            read = []
            async for change in watch:
                read.append(change.key)
                if len(read) == 100:
                    threading.Timer(0.01, store.close).start()
        return read

    assert asyncio.run(asyncio.wait_for(read(), 60)) == list(range(100))


def test_other_tasks_have_their_turn_while_there_is_always_a_next_change() -> None:
    users = twindex.Store().table("users", values="int")
    watch = users.watch()

    async def main() -> None:
        other = asyncio.ensure_future(asyncio.sleep(0))
        for number in range(1000):
            users["ada"] = number
            assert (await anext(watch)).value == number
            if other.done():
                return
        raise AssertionError("no other task ran")

    asyncio.run(main())


def test_a_cancelled_task_loses_no_change_and_leaves_the_watch_to_others() -> None:
    users = twindex.Store().table("users")
    watch = users.watch()

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(watch), 0.001)
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task"):
            await anext(watch)
        users["a"] = "1"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await anext(watch)).key == "a"

        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        watch.close()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, 60)

    asyncio.run(main())
    # A task that waits in a loop that was closed is told nothing, and no write fails for that.
    watch = users.watch()
    loop = asyncio.new_event_loop()
    task = loop.create_task(anext_of(watch))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    users["b"] = "2"
    assert watch.wait(1) == Change("put", "users", "b", "2")
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_watch_that_nobody_holds_is_collected() -> None:
    users = twindex.Store().table("users")
    watch = users.watch()
    gone = weakref.ref(watch)
    del watch
    gc.collect()
    assert gone() is None
    users["a"] = "1"


def test_interrupt_while_a_write_wakes_a_task_is_raised() -> None:
    async def main() -> None:
        table = twindex.Store().table("t")
        loop: Any = asyncio.get_running_loop()
        waiting = asyncio.ensure_future(anext(table.watch()))
        await asyncio.sleep(0)
        wake = loop.call_soon_threadsafe

        def interrupted(*arguments: Any) -> Any:
            wake(*arguments)
            signal.raise_signal(signal.SIGINT)

        loop.call_soon_threadsafe = interrupted

        def write() -> None:
            table["a"] = "1"
            time.sleep(1)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                write()
        finally:
            signal.signal(signal.SIGINT, before)
            loop.call_soon_threadsafe = wake
        assert (await waiting).key == "a"

    asyncio.run(main())
