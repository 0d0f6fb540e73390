"""Transactions: all or nothing, as if nothing came in between, run again after a conflict."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import os
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, assert_type

import pytest

import twindex
import twindex.aio
from support import Index, in_threads, raw

# A block that has to end within `raises` has more than one statement.
# ruff: noqa: PT012

Accounts = twindex.Table[str, int]


class OwnError(Exception):
    pass


@pytest.fixture
def store() -> twindex.Store:
    store = twindex.Store()
    store.table("accounts", values="int").update(ada=100, bob=0)
    store.table("log", "sorted", keys="int").update([(10, "a"), (20, "b"), (30, "c")])
    return store


@pytest.fixture
def accounts(store: twindex.Store) -> Accounts:
    return store.table("accounts", values="int")


def test_function_takes_effect_as_a_whole_and_its_value_is_returned(
    store: twindex.Store, accounts: Accounts
) -> None:
    def pay(tx: twindex.Transaction) -> int:
        mine = assert_type(tx.table(accounts), twindex.TransactionTable[str, int])
        mine["ada"] -= 30
        mine.increment("bob", by=30)
        assert (mine["ada"], mine["bob"], accounts["ada"], accounts["bob"]) == (70, 30, 100, 0)
        return assert_type(mine["bob"], int)

    assert assert_type(store.transaction(pay), int) == 30
    assert dict(accounts) == {"ada": 70, "bob": 30}
    assert store.stats()["transactions"] == 0


@pytest.mark.parametrize("hides", [False, True])
def test_conflict_runs_the_function_again_also_where_it_hides_that(
    store: twindex.Store, accounts: Accounts, hides: bool
) -> None:
    runs: list[int] = []

    def pay(tx: twindex.Transaction) -> None:
        mine = tx.table(accounts)
        runs.append(before := mine["ada"])
        if len(runs) == 1:
            accounts["ada"] = 500
            if hides:
                with pytest.raises(twindex.ConflictError):
                    mine.select("bob")
                raise OwnError
        mine["bob"] = before

    store.transaction(pay)
    assert (runs, accounts["bob"]) == ([100, 500], 500)


def test_conflict_in_every_run_is_an_error_at_last(store: twindex.Store, accounts: Accounts) -> None:
    def pay(tx: twindex.Transaction) -> None:
        tx.table(accounts)["ada"] += 1
        accounts.increment("ada")

    with pytest.raises(twindex.ConflictError, match="in each of 1000 runs") as raised:
        store.transaction(pay)
    assert raised.value.code == "TWINDEX_CONFLICT"
    assert accounts["ada"] == 1100


def test_block_raises_conflict_at_its_end_and_writes_nothing(
    store: twindex.Store, accounts: Accounts
) -> None:
    log = store.table("log", keys="int")
    with pytest.raises(twindex.ConflictError), store.transaction() as tx:
        tx.table(accounts)["bob"] = len(list(tx.table(log).scan(gte=15)))
        log[25] = "new"
    assert dict(accounts) == {"ada": 100, "bob": 0}
    assert tx.closed


def test_exception_writes_nothing(store: twindex.Store, accounts: Accounts) -> None:
    def pay(tx: twindex.Transaction) -> None:
        tx.table(accounts)["ada"] = 0
        raise OwnError

    with pytest.raises(OwnError):
        store.transaction(pay)
    with pytest.raises(KeyboardInterrupt), store.transaction() as tx:
        tx.table(accounts)["ada"] = 0
        raise KeyboardInterrupt
    with store.transaction() as tx:
        tx.table(accounts)["ada"] = 0
        tx.close()
    assert dict(accounts) == {"ada": 100, "bob": 0}
    with store.transaction() as tx:
        tx.table(accounts)["ada"] = 1
        tx.commit()
    assert accounts["ada"] == 1


def test_methods_of_a_mapping_do_in_a_transaction_what_they_do_in_a_table(index: Index) -> None:
    """What the vectors have no word for."""

    def use(table: Any) -> list[Any]:
        table.update({5: 5, 10: 6})
        results = [table.setdefault(6, 7), table.setdefault(10, 7), table.pop(20), table.pop(20, None)]
        del table[30]
        table.alter(31, lambda old: old + 1, 5)
        return [*results, table[10], table.get(11), table.get(11, 7), 30 in table, table.index, table.codecs]

    store = twindex.Store()
    tables = [store.table(name, index, keys="int", values="int") for name in ("plain", "t")]
    for table in tables:
        table.update({10: 1, 20: 2, 30: 3})
    with store.transaction() as tx:
        assert use(tx.table(tables[1])) == use(tables[0])
        assert dict(tables[1]) == {10: 1, 20: 2, 30: 3}
    assert dict(tables[1]) == dict(tables[0])


def test_pop_first_and_pop_last_remove_the_very_pair_that_they_return() -> None:
    """A codec need not give back the bytes that it read."""
    store = twindex.Store()
    folded = twindex.Codec("folded", lambda key: key.lower().encode(), lambda stored: bytes(stored).decode())
    jobs = store.table("jobs", "sorted", keys=folded, values="int")
    stored = store.table("jobs", keys="bytes", values="int")
    stored.update({b"Ada": 1, b"Bob": 2, b"ada": 3})
    with store.transaction() as tx:
        mine = tx.table(jobs)
        assert [mine.pop_first(), mine.pop_last(), mine.pop_first()] == [("Ada", 1), ("ada", 3), ("Bob", 2)]
        assert mine.pop_first() is None
    assert dict(stored) == {}


def test_key_that_is_too_long_is_refused_before_anything_is_written_and_not_found() -> None:
    store, long = twindex.Store(), "k" * 65536
    table = store.table("t")
    table["a"] = "0"
    uses: list[Callable[[Any], object]] = [
        lambda t: t.upsert_many([("a", "1"), (long, "1")]),
        lambda t: t.delete_many(["a", long]),
        lambda t: t.compare_and_swap_many([("a", "0", "1"), (long, None, "1")]),
    ]
    with store.transaction() as tx:
        for seen in table, tx.table(table):
            for use in uses:
                with pytest.raises(twindex.KeyTooLongError):
                    use(seen)
            assert seen["a"] == "0"
            assert (seen.get(long), long in seen, seen.contains_many([long])) == (None, False, [False])
    tuples = store.table("tuples", keys="tuple")
    with store.transaction() as tx:
        for own in tuples, tx.table(tuples):
            assert (own.get((long,)), (long,) in own, own.select_many([(long,)])) == (None, False, [None])


def test_bad_input_is_an_error_and_writes_nothing(store: twindex.Store, accounts: Accounts) -> None:
    other = raw()

    async def coroutine(tx: twindex.Transaction) -> None:
        tx.table(accounts)["ada"] = 0

    def nested(tx: twindex.Transaction) -> None:
        tx.table(accounts)["ada"] = 0
        store.transaction(lambda inner: inner.table(accounts).increment("bob"))

    def nested_block(tx: twindex.Transaction) -> None:
        tx.table(accounts)["ada"] = 0
        with store.transaction() as inner:
            inner.table(accounts)["bob"] = 5

    def with_table(use: Callable[[Any], object]) -> Callable[[], object]:
        def function(tx: twindex.Transaction) -> object:
            tx.table(accounts)["ada"] = 0
            return use(tx)

        return lambda: store.transaction(function)

    anything: Any = store
    misuses: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (twindex.ArgumentTypeError, "must be callable or None, not int: 7", lambda: anything.transaction(7)),
        (twindex.ArgumentTypeError, "twindex.aio.transaction", lambda: store.transaction(coroutine)),
        (twindex.InWriteError, "is running", lambda: store.transaction(nested)),
        (twindex.InWriteError, "is running", lambda: store.transaction(nested_block)),
        (twindex.ForeignTableError, '"t" belongs to another', with_table(lambda tx: tx.table(other))),
        (twindex.NoTableError, "none", with_table(lambda tx: tx.table("none"))),
        (twindex.ArgumentTypeError, "not int: 7", with_table(lambda tx: tx.table(7))),
        (twindex.WrongCodecError, "json", with_table(lambda tx: tx.table("log", values="json"))),
        (twindex.WrongIndexError, "hash index", with_table(lambda tx: tx.table(accounts).scan())),
        (twindex.ArgumentTypeError, "not str: 'x'", with_table(lambda tx: tx.table("log").insert("x", "y"))),
        (twindex.NotAnIntegerError, "integer", with_table(lambda tx: tx.table("log").increment(10))),
        (twindex.KeyTooLongError, "65536", with_table(lambda tx: tx.table(accounts).insert("k" * 65536, 1))),
        (KeyError, "carol", with_table(lambda tx: tx.table(accounts)["carol"])),
        (TypeError, "has no len", with_table(lambda tx: len(tx.table(accounts)))),
        (twindex.WrongIndexError, "hash index", with_table(lambda tx: list(tx.table(accounts)))),
        (twindex.ArgumentTypeError, "cannot be pickled", with_table(copy.copy)),
        (
            twindex.ArgumentTypeError,
            "cannot be pickled",
            with_table(lambda tx: copy.copy(tx.table(accounts))),
        ),
    ]
    for kind, message, call in misuses:
        with pytest.raises(kind, match=message):
            call()
        assert dict(accounts) == {"ada": 100, "bob": 0}, message
    assert store.stats()["transactions"] == 0


def test_use_after_its_end_is_an_error(store: twindex.Store, accounts: Accounts) -> None:
    with store.transaction() as tx:
        mine = tx.table(accounts)
    uses: list[Callable[[], object]] = [
        lambda: tx.table(accounts),
        tx.commit,
        tx.__enter__,
        lambda: mine["ada"],
        lambda: "ada" in mine,
        lambda: mine.select_many(["ada"]),
        lambda: mine.upsert("ada", 1),
        lambda: mine.increment_many({"ada": 1}),
        lambda: mine.alter("ada", lambda _: 0),
    ]
    for use in uses:
        with pytest.raises(twindex.EndedError, match="committed or dropped") as raised:
            use()
        assert raised.value.code == "TWINDEX_ENDED"
    tx.close()
    assert (accounts["ada"], repr(tx)) == (100, "<twindex.Transaction: ended>")


def test_transaction_of_a_closed_store_or_a_dropped_table_is_an_error(
    store: twindex.Store, accounts: Accounts
) -> None:
    with pytest.raises(twindex.TableDroppedError), store.transaction() as tx:
        tx.table(accounts)["ada"] = 0
        tx.table("log")[40] = "d"
        store.drop_table("accounts")
    assert 40 not in store.table("log", keys="int")
    tx = store.transaction()
    log = tx.table("log")
    store.close()
    for use in (lambda: log[10], lambda: log.upsert(10, "x"), tx.commit, store.transaction, store.snapshot):
        with pytest.raises(twindex.ClosedError):
            use()


def test_stats_report_one_that_was_never_ended(store: twindex.Store, accounts: Accounts) -> None:
    tx = store.transaction()
    mine = tx.table(accounts)
    mine["ada"] = 0
    assert store.stats()["transactions"] == 1
    del tx
    gc.collect()
    assert store.stats()["transactions"] == 1
    del mine
    gc.collect()
    assert (store.stats()["transactions"], accounts["ada"]) == (0, 100)


def test_one_that_was_begun_and_left_hinders_no_other(store: twindex.Store, accounts: Accounts) -> None:
    left = store.transaction()
    left.__enter__()
    left.close()
    assert store.transaction(lambda tx: tx.table(accounts).increment("ada")) == 101
    with store.transaction() as outer:
        with pytest.raises(twindex.InWriteError):
            outer.__enter__()
        outer.table(accounts)["bob"] = 7
    assert accounts["bob"] == 7
    # Those of two stores may nest.
    with store.transaction(), twindex.Store().transaction() as other:
        assert not other.closed


def test_context_that_was_copied_in_a_block_does_not_keep_its_store(path: Path) -> None:
    store = twindex.open(path)
    with store.transaction():
        context = contextvars.copy_context()
    del store
    gc.collect()
    context.run(twindex.open(path).close)


def test_coroutines_of_tasks_wait_for_nobody_and_lose_nothing(
    store: twindex.Store, accounts: Accounts
) -> None:
    async def pay(tx: twindex.Transaction) -> int:
        before = tx.table(accounts)["ada"]
        await asyncio.sleep(0)
        tx.table(accounts)["ada"] = before - 1
        return tx.table(accounts).increment("bob")

    async def main() -> list[int]:
        return await asyncio.gather(*(twindex.aio.transaction(store, pay) for _ in range(20)))

    results = asyncio.run(main())
    assert sorted(results) == list(range(1, 21))
    assert dict(accounts) == {"ada": 80, "bob": 20}


def test_coroutine_that_fails_or_is_cancelled_writes_nothing(path: Path) -> None:
    store = twindex.open(path, durability="always")
    accounts = store.table("accounts", values="int")
    accounts["ada"] = 1

    async def main() -> None:
        async def pay(tx: twindex.Transaction, fails: bool = False) -> None:
            tx.table(accounts)["ada"] = 0
            if fails:
                raise OwnError
            await asyncio.Event().wait()

        async def nested(_: twindex.Transaction) -> None:
            await twindex.aio.transaction(store, pay)

        task = asyncio.create_task(twindex.aio.transaction(store, pay))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(OwnError):
            await twindex.aio.transaction(store, lambda tx: pay(tx, True))
        with pytest.raises(twindex.InWriteError):
            await twindex.aio.transaction(store, nested)
        assert (dict(accounts), store.stats()["transactions"]) == ({"ada": 1}, 0)

        async def well(tx: twindex.Transaction) -> bool:
            return tx.table(accounts).insert("bob", 2)

        assert await twindex.aio.transaction(store, well)

    asyncio.run(main())
    assert dict(accounts) == {"ada": 1, "bob": 2}
    store.close()


def test_coroutine_that_ends_its_transaction_returns_its_value(path: Path) -> None:
    store = twindex.open(path, durability="always")
    store.table("t")

    async def end(tx: twindex.Transaction, how: Callable[[twindex.Transaction], None]) -> str:
        tx.table("t")["a"] = "1"
        how(tx)
        return "ended"

    for how, written in (twindex.Transaction.close, {}), (twindex.Transaction.commit, {"a": "1"}):
        assert asyncio.run(twindex.aio.transaction(store, partial(end, how=how))) == "ended"
        assert dict(store.table("t")) == written


class Held:
    """A store whose commits of `aio` wait in their thread until they are let go."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = twindex.open(path, durability="always")
        self.accounts = self.store.table("accounts", values="int")
        self.accounts["ada"] = 0
        self.begun, self.go = threading.Event(), threading.Event()

        def in_executor(
            loop: asyncio.AbstractEventLoop, pool: None, commit: Callable[[], None]
        ) -> asyncio.Future[None]:
            def held() -> None:
                self.begun.set()
                assert self.go.wait(30), "the commit was never let go"
                commit()

            begun: asyncio.Future[None] = run_in_executor(loop, pool, held)
            return begun

        run_in_executor: Any = asyncio.BaseEventLoop.run_in_executor
        monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", in_executor)

    async def pay(self, tx: twindex.Transaction) -> int:
        return tx.table(self.accounts).increment("ada")

    async def committing(self) -> None:
        """Returns once a commit has begun."""
        async with asyncio.timeout(30):
            while not self.begun.is_set():
                await asyncio.sleep(0)

    async def cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancels a task whose commit has begun, and lets the commit go."""
        await self.committing()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        self.go.set()


def test_task_that_is_cancelled_in_its_commit_returns_the_value_and_is_cancelled_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(path, monkeypatch)
    results: list[int] = []

    async def pay_for_ever() -> None:
        while True:
            results.append(await twindex.aio.transaction(held.store, held.pay))

    async def main() -> None:
        task = asyncio.create_task(pay_for_ever())
        await held.cancel(task)
        async with asyncio.timeout(30):
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert (results, held.accounts["ada"], held.store.stats()["transactions"]) == ([1], 1, 0)


def test_task_that_is_cancelled_in_a_commit_that_writes_nothing_raises_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(path, monkeypatch)

    async def main() -> None:
        task = asyncio.create_task(twindex.aio.transaction(held.store, held.pay))
        await held.committing()
        held.accounts["ada"] = 500
        await held.cancel(task)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert held.accounts["ada"] == 500


def test_time_limit_that_passes_in_a_commit_returns_the_value(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(path, monkeypatch)

    async def passes_in_commit(limit: asyncio.Timeout) -> None:
        await held.committing()
        limit.reschedule(0)
        await asyncio.sleep(0.001)
        held.go.set()

    async def main() -> int:
        async with asyncio.timeout(None) as limit:
            passes = asyncio.create_task(passes_in_commit(limit))
            value = await twindex.aio.transaction(held.store, held.pay)
        await passes
        # No cancel is left over.
        await asyncio.sleep(0.001)
        assert limit.expired()
        return value

    assert asyncio.run(main()) == held.accounts["ada"] == 1


def test_exception_at_any_step_of_its_beginning_leaves_no_transaction_behind(
    store: twindex.Store, accounts: Accounts
) -> None:
    """As the handler of a signal raises it between any two steps."""

    def block() -> None:
        with store.transaction() as tx:
            tx.table(accounts).increment("ada")

    def function() -> None:
        store.transaction(lambda tx: tx.table(accounts).increment("ada"))

    def fails_at(step: int, use: Callable[[], None]) -> bool:
        left = step

        def count(*_: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise OwnError

        sys.setprofile(count)
        try:
            use()
            sys.setprofile(None)
        except OwnError:
            return True
        return False

    for use in block, function:
        step = 1
        while fails_at(step, use):
            assert store.stats()["transactions"] == 0, (use, step)
            use()
            step += 1
        assert step > 10


def test_threads_share_one_transaction(store: twindex.Store, accounts: Accounts) -> None:
    with store.transaction() as tx:
        mine = tx.table(accounts)
        in_threads(4, lambda _: [mine.increment("bob") for _ in range(100)])
    assert accounts["bob"] == 400


@pytest.mark.parametrize("durability", [None, "everysec"])
def test_no_money_is_lost_or_made(durability: Any, path: Path) -> None:
    """In the soak, `TWINDEX_STRESS` makes it a hundred times as long."""
    turns = int(20 * float(os.environ.get("TWINDEX_STRESS", "1")) ** 3)
    move_money(twindex.open(path, durability=durability) if durability else twindex.Store(), turns)


def move_money(store: twindex.Store, turns: int) -> None:
    """Eight threads move money, by functions and by blocks, and others count it in snapshots and transactions."""
    names = [f"{number:02}" for number in range(20)]
    hot, cold = store.table("hot", values="int"), store.table("cold", "sorted", values="int")
    for table in (hot, cold):
        table.update(dict.fromkeys(names, 100))

    def move(tx: twindex.Transaction, chance: random.Random) -> None:
        amount = chance.randrange(50)
        (one, two), (giver, taker) = chance.choices([hot, cold], k=2), chance.sample(names, 2)
        left = tx.table(one)[giver] - amount
        if left >= 0:
            tx.table(one)[giver] = left
            tx.table(two).increment(taker, by=amount)

    def count(tx: twindex.Transaction) -> int:
        mine = tx.table(hot)
        return sum(value for _, value in tx.table(cold).scan()) + sum(mine[name] for name in names)

    def work(number: int) -> None:
        chance = random.Random(number)
        for _ in range(turns):
            if number < 6:
                store.transaction(lambda tx: move(tx, chance))
            elif number < 8:
                try:
                    with store.transaction() as tx:
                        move(tx, chance)
                except twindex.ConflictError:
                    pass
            elif number < 10:
                with store.snapshot() as then:
                    assert sum(then.table(hot).values()) + sum(then.table(cold).values()) == 4000
            else:
                assert store.transaction(count) == 4000

    in_threads(11, work)
    assert sum(hot.values()) + sum(cold.values()) == 4000
    assert (store.stats()["snapshots"], store.stats()["transactions"]) == (0, 0)
    store.close()
