"""Stores in files and feeds with asyncio: nothing holds the loop up, and a task that is cancelled loses nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, assert_type

import pytest

import twindex
import twindex.aio


def run(main: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await main

    asyncio.run(limited())


class Gate:
    """Holds up a thread until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def wait(self, *_: object) -> None:
        self.reached.set()
        assert self.opened.wait(30), "the gate was never opened"

    async def is_reached(self) -> None:
        while not self.reached.is_set():
            await asyncio.sleep(0.001)


def test_call_that_may_wait_is_made_in_another_thread() -> None:
    called: list[tuple[str, tuple[Any, ...], dict[str, Any], bool]] = []

    class Fake:
        def __getattr__(self, name: str) -> Callable[..., str]:
            def call(*arguments: object, **options: object) -> str:
                called.append((name, arguments, options, threading.current_thread() is main_thread))
                return name

            return call

    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("table", ("t", "sorted"), {"keys": "int"}),
        ("drop_table", ("t",), {}),
        ("dump", (), {}),
        ("save", ("copy.twx",), {}),
        ("flush", (), {}),
        ("compact", (), {"progress": print}),
        ("refresh", (), {}),
        ("follow", (), {}),
        ("close", (), {}),
    ]
    fake: Any = Fake()
    store, main_thread = twindex.aio.Store(fake), threading.current_thread()

    async def main() -> None:
        for name, arguments, options in calls:
            returned = await getattr(store, name)(*arguments, **options)
            assert returned == (name if name in {"table", "drop_table", "dump", "refresh"} else None)

    run(main())
    assert called == [(*call, False) for call in calls]


def test_store_in_a_file_is_used_by_tasks(path: Path) -> None:
    async def main() -> None:
        async with await twindex.aio.open(path, durability="always") as store:
            users: twindex.Table[str, int] = await store.table("users", values="int")
            assert_type(await store.table("names"), twindex.Table[str, str])
            await asyncio.gather(*(asyncio.to_thread(users.upsert, str(n), n) for n in range(20)))

            async def pay(tx: twindex.Transaction) -> int:
                return tx.table(users).increment("0", by=30)

            assert assert_type(await store.transaction(pay), int) == 30
            assert await twindex.aio.transaction(store, pay) == 60
            await store.save(path.with_name("copy.twx"))
            assert (await store.dump(), store.durability) == (store.store.dump(), "always")
            assert (store.stats()["pairs"], await store.drop_table("names")) == (20, True)
            assert "in" in repr(store)
            async with await twindex.aio.open(path, read_only=True) as copy:
                users["1"] = 7
                assert (await copy.refresh(), copy.store.table("users", values="int")["1"]) == (1, 7)
        assert store.closed
        loose: Any = store
        with pytest.raises(AttributeError):
            loose.memory_limit = 1
        with pytest.raises(twindex.ClosedError):
            await store.flush()
        with pytest.raises(twindex.ClosedError):
            async with store:
                pass
        assert len(twindex.Store.load(path.with_name("copy.twx")).table("users")) == 20

    run(main())


def test_open_that_is_cancelled_ends_at_once_and_lets_go_of_the_file(path: Path) -> None:
    twindex.open(path).close()
    gate = Gate()

    async def main() -> None:
        # The loop goes on, which opens the gate.
        opening = asyncio.create_task(twindex.aio.open(path, progress=gate.wait))
        await gate.is_reached()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        gate.opened.set()
        while True:
            try:
                store = await twindex.aio.open(path)
            except twindex.InUseError:
                await asyncio.sleep(0.001)
            else:
                return await store.close()

    run(main())


def test_close_that_is_cancelled_raises_that_once_the_store_is_closed() -> None:
    class Slow:
        close = gate = None

    slow: Any = Slow()
    slow.gate = Gate()
    slow.close = slow.gate.wait

    async def main() -> None:
        closing = asyncio.create_task(twindex.aio.Store(slow).close())
        await slow.gate.is_reached()
        closing.cancel()
        await asyncio.sleep(0.001)
        assert not closing.done()
        slow.gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await closing

    run(main())


def test_feed_gives_what_is_there_and_what_comes(path: Path) -> None:
    async def main() -> None:
        async with await twindex.aio.open(path) as store:
            users = await store.table("users", values="int")
            whole, changes = twindex.aio.changes(path), store.changes()
            begun = changes.position
            assert (begun, whole.position) == (store.position, None)
            users["ada"] = 1
            assert await changes.poll() is not None
            assert (await changes.poll(), await changes.wait(0), await changes.wait(0.01)) == (None,) * 3
            asyncio.get_running_loop().call_later(0.01, users.upsert, "bob", 2)
            found = assert_type(await anext(changes), twindex.ChangeSet)
            assert [(change.key, change.value) for change in found.changes] == [("bob", 2)]
            assert changes.position == found.position == store.position
            kinds = [(await anext(whole)).changes[0].kind for _ in range(3)]
            assert kinds == ["create", "put", "put"]
            async with store.changes(begun, tables=[users], raw=True) as raw:
                assert (await anext(raw)).changes[0].value == b"1"
            assert await raw.wait() is None
            for timeout in (-1, float("nan"), float("inf")):
                with pytest.raises(twindex.OptionError, match="timeout is out of range"):
                    await changes.wait(timeout)
            with pytest.raises(twindex.ArgumentTypeError, match="timeout must be a number of seconds"):
                await changes.wait("1")  # type: ignore[arg-type]
            waiting = asyncio.create_task(changes.wait())
            await asyncio.sleep(0.001)
            await changes.close()
            assert (await waiting, await changes.poll(), [batch async for batch in changes]) == (
                None,
                None,
                [],
            )
            ended = asyncio.create_task(anext(store.changes()))
            await asyncio.sleep(0.001)
        with pytest.raises(twindex.ClosedError):
            await ended
        with pytest.raises(twindex.NotAPositionError):
            await anext(twindex.aio.changes(path, "x"))
        with pytest.raises(twindex.NoFileError):
            twindex.aio.Store(twindex.Store()).changes()

    run(main())


def test_batch_that_a_cancelled_task_was_about_to_get_comes_next(path: Path) -> None:
    gate = Gate()

    async def main(store: twindex.Store) -> None:
        users, position = store.table("users"), store.position

        def begin() -> twindex.Changes:
            gate.wait()
            return store.changes(position)

        changes = twindex.aio.Changes(begin, position)
        users["ada"] = "1"
        waiting = asyncio.create_task(anext(changes))
        await gate.is_reached()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.opened.set()
        assert (await anext(changes)).changes[0].key == "ada"
        # Time limits that pass at any moment lose nothing, nor do tasks that share the feed.
        seen: list[str] = []

        async def read() -> None:
            while len(seen) < 200:
                try:
                    async with asyncio.timeout(0.0005):
                        seen.append((await anext(changes)).changes[0].key)
                except TimeoutError:
                    pass

        for number in range(200):
            users[str(number)] = ""
        await asyncio.gather(read(), read(), return_exceptions=True)
        assert sorted(seen, key=int) == [str(number) for number in range(200)]

    with twindex.open(path) as store:
        run(main(store))


def test_feed_goes_on_in_another_loop_after_one_was_closed_in_the_middle_of_a_read(path: Path) -> None:
    gate = Gate()

    def begin() -> twindex.Changes:
        gate.wait()
        return twindex.changes(path)

    async def leave() -> None:
        reading = asyncio.create_task(changes.poll())
        await gate.is_reached()
        reading.cancel()

    async def go_on() -> None:
        gate.opened.set()
        kinds = [(await anext(changes)).changes[0].kind for _ in range(2)]
        assert kinds == ["create", "put"]

    changes = twindex.aio.Changes(begin, None)
    with twindex.open(path) as store:
        store.table("t")["a"] = "1"
        loop = asyncio.new_event_loop()
        loop.run_until_complete(leave())
        loop.close()
        run(go_on())


def test_error_of_a_batch_comes_behind_those_before_it_and_again(path: Path) -> None:
    async def main(store: twindex.Store) -> None:
        store.table("t")
        changes = twindex.aio.Store(store).changes()
        store.table("t")["a"] = "1"
        store.table("t", keys="bytes")[b"\xff"] = "1"
        assert (await anext(changes)).changes[0].key == "a"
        for _ in range(2):
            with pytest.raises(twindex.EncodingError):
                await anext(changes)
        assert (await anext(twindex.aio.changes(path, changes.position, raw=True))).changes[0].key == b"\xff"

    with twindex.open(path) as store:
        run(main(store))


def test_feed_that_is_closed_while_it_is_opened_closes_its_file(path: Path) -> None:
    gate, opened = Gate(), list[twindex.Changes]()

    def begin() -> twindex.Changes:
        gate.wait()
        opened.append(twindex.changes(path))
        return opened[0]

    async def main() -> None:
        changes = twindex.aio.Changes(begin, None)
        waiting = asyncio.create_task(changes.wait())
        await gate.is_reached()
        await changes.close()
        gate.opened.set()
        assert await waiting is None
        assert repr(opened[0]) == "<twindex.Changes: closed>"

    twindex.open(path).close()
    run(main())
