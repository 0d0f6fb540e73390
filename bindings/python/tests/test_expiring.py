"""Tables whose pairs expire: what crosses the border. The vectors say what every verb does with an expired pair."""

import asyncio
import math
import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, assert_type

import pytest

import twindex
import twindex.aio
from support import Index
from twindex import ExpiringTable, Store, errors

SOON = 0.02


def wait_until_gone(table: ExpiringTable[Any, Any], key: object) -> None:
    end = monotonic() + 30
    while table.ttl(key) is not None:
        assert monotonic() < end, f"{key!r} does not expire"
        sleep(0.005)


@pytest.fixture
def lent(index: Index) -> ExpiringTable[str, int]:
    table = Store().table("lent", index, values="int", expires=True)
    table.upsert_many({"a": 1, "b": 2}, ttl=SOON)
    table.update(c=3, d=4)
    wait_until_gone(table, "b")
    return table


def test_what_python_has_more_returns_no_expired_pair(lent: ExpiringTable[str, int]) -> None:
    left = {"c": 3, "d": 4}
    assert dict(lent) == dict(lent.items()) == left
    assert lent == left
    assert sorted(lent) == ["c", "d"]
    keys, pairs = lent.keys(), lent.items()
    assert keys == left.keys()
    assert pairs == left.items()
    assert keys <= left.keys() <= keys
    assert not keys < left.keys()
    assert not keys > left.keys()
    assert keys > {"c"}
    assert keys < {"c", "d", "e"}
    assert (keys == ["c", "d"], keys != {"c", "e"}) == (False, True)
    assert sorted(lent.values()) == [3, 4]
    assert (lent.get("a", 9), lent.view("a")) == (9, None)
    assert "a" not in lent
    view = lent.view("c")
    assert view is not None
    assert bytes(view) == b"3"
    with pytest.raises(KeyError):
        lent["a"]
    if lent.index == "sorted":
        assert (lent.peekitem(0), lent.bisect_left("d"), list(lent.irange("a", "c"))) == (("c", 3), 1, ["c"])


def test_what_python_has_more_writes_over_an_expired_pair(lent: ExpiringTable[str, int]) -> None:
    assert (lent.pop("a", None), lent.setdefault("a", 5), lent.ttl("a")) == (None, 5, math.inf)
    assert lent.alter("b", lambda found: found + 1, 1)
    assert (lent.pop("b"), lent.remove_expired()) == (2, 0)


def test_pops_end_when_only_expired_pairs_are_left(lent: ExpiringTable[str, int]) -> None:
    assert {lent.popitem(), lent.popitem()} == {("c", 3), ("d", 4)}
    with pytest.raises(KeyError):
        lent.popitem()


@pytest.mark.parametrize("ttl", [0, -1, math.nan, -math.inf, 1e300, timedelta(0), timedelta(seconds=-1)])
def test_a_time_to_live_that_is_none_is_an_error_with_the_value(ttl: float) -> None:
    table = Store().table("lent", expires=True)
    calls: list[Callable[[], object]] = [
        lambda: table.upsert("a", "1", ttl=ttl),
        lambda: table.insert_many({"a": "1"}, ttl=ttl),
        lambda: table.increment("a", ttl=ttl),
        lambda: table.touch("a", ttl),
    ]
    for call in calls:
        with pytest.raises(errors.TtlError, match="ttl is more than 0") as caught:
            call()
        assert caught.value.code == "TWINDEX_TTL"
        assert repr(ttl)[:12] in str(caught.value)
    assert len(table) == 0


def test_times_are_seconds_or_timedeltas_and_forever_differs_from_absent() -> None:
    table = Store().table("lent", values="int", expires=True)
    table.upsert("a", 1, ttl=timedelta(minutes=1))
    table.upsert("b", 1, ttl=math.inf)
    table["c"] = 1
    left = table.ttl("a")
    assert left is not None
    assert 50 < left <= 60
    assert (table.ttl("b"), table.ttl("c"), table.ttl("d")) == (math.inf, math.inf, None)
    assert table.increment("a", ttl=9000) == 2
    assert table.increment("n", by=3, ttl=60) == 3
    assert all((table.ttl(key) or 0) <= 60 for key in "an")
    assert table.touch("a")
    assert table.ttl("a") == math.inf


def test_expiry_is_remembered_in_the_file_and_contradictions_are_errors(path: Path) -> None:
    with twindex.open(path) as store:
        table = store.table("lent", "sorted", keys="int", values="json", expires=True)
        table.upsert(1, [1], ttl=3600)
        table.upsert(2, [2], ttl=SOON)
        store.table("plain")
        wait_until_gone(table, 2)
        copy = pickle.loads(pickle.dumps(table))
        assert (type(copy), dict(copy)) == (ExpiringTable, {1: [1]})
    with twindex.open(path) as store:
        found: Any = store.table("lent")
        assert isinstance(found, ExpiringTable)
        assert (found.codecs, found.index, dict(found)) == (("int", "json"), "sorted", {1: [1]})
        assert 3000 < (found.ttl(1) or 0) <= 3600
        assert repr(found).startswith('<twindex.ExpiringTable "lent": sorted, int keys, json values,')
        raw: Any = store.table("lent", keys="bytes", values="bytes")
        assert list(raw.values()) == [b"[1]"]
        for name, expires in [("lent", False), ("plain", True)]:
            with pytest.raises(errors.WrongExpiryError, match=name):
                store.table(name, expires=expires)  # type: ignore[call-overload]
        with pytest.raises(errors.WrongCodecError):
            store.table("lent", values="int")
        with twindex.open(path, read_only=True) as copied:
            follower: Any = copied.table("lent")
            assert dict(follower) == {1: [1]}
            with pytest.raises(errors.ReadOnlyError):
                follower.upsert(3, [3], ttl=1)


def test_a_snapshot_has_what_had_not_expired_and_does_not_change() -> None:
    store = Store()
    table = store.table("lent", "sorted", expires=True)
    table.upsert("a", "1", ttl=0.2)
    with store.snapshot() as snapshot:
        seen, named = snapshot.table(table), snapshot.table("lent")
        wait_until_gone(table, "a")
        assert table.remove_expired() == 1
        assert dict(seen) == dict(named) == {"a": "1"}
        assert (list(seen.scan()), seen.cursor().scan_asc_next()) == ([("a", "1")], ("a", "1"))
        assert 0 < (seen.ttl("a") or 0) <= 0.2
        cursor, scan = seen.cursor(), seen.scan()
        with pytest.raises(errors.ReadOnlyError):
            seen.touch("a", 1)  # type: ignore[attr-defined]
    for use in (lambda: dict(seen), lambda: cursor.scan_asc_next(), lambda: next(scan)):
        with pytest.raises(errors.EndedError):
            use()


def test_transactions_convert_times_to_live_as_tables_do() -> None:
    store = Store()
    table = store.table("lent", "sorted", values="int", expires=True)
    plain = store.table("plain")
    with store.transaction() as tx:
        lent = tx.table(table)
        assert (lent.name, lent.index, lent.codecs) == ("lent", "sorted", ("str", "int"))
        assert lent.insert("a", 1, ttl=timedelta(minutes=1))
        assert lent.increment_many({"a": 1, "b": 2}, ttl=60) == [2, 2]
        assert (lent.setdefault("c", 3), lent.pop("c"), lent.ttl("c")) == (3, 3, None)
        assert 50 < (lent.ttl("a") or 0) <= 60
        assert (list(lent), list(tx.table("lent").prefix("b"))) == (["a", "b"], [("b", 2)])
        other = tx.table(plain)
        calls: list[Callable[[], object]] = [
            lambda: other.upsert("a", "1", ttl=1),
            lambda: other.insert_many({"a": "1"}, ttl=1),
            lambda: other.increment("a", ttl=1),
            lambda: other.touch("a", 1),
            lambda: other.ttl("a"),
        ]
        for call in calls:
            with pytest.raises(errors.WrongExpiryError, match="plain"):
                call()
    assert 50 < (table.ttl("b") or 0) <= 60
    with store.batch() as batch, pytest.raises(errors.NotSupportedError, match="batches"):
        batch.upsert(table, "a", 1)  # type: ignore[arg-type]


def test_a_feed_and_a_watch_give_values_without_deadlines_and_when_they_expire(path: Path) -> None:
    with twindex.open(path) as store:
        before = store.position
        lent = store.table("lent", values="int", expires=True)
        with lent.watch() as watch:
            lent.upsert("a", 7, ttl=60)
            lent["b"] = 8
            watched = [watch.wait(30), watch.wait(30)]
        feed = store.changes(before, tables=[lent])
        read = [change for _ in range(3) if (batch := feed.wait(30)) for change in batch.changes]
        assert [change for change in read if change.kind == "put"] == watched
        first, second = watched
        assert first is not None
        assert second is not None
        assert (first.table, first.key, first.value) == ("lent", "a", 7)
        assert 0 < (first.expires or 0) - time() <= 60
        assert (second.value, second.expires) == (8, None)


def test_a_store_for_asyncio_opens_them_too(path: Path) -> None:
    async def main() -> float | None:
        async with await twindex.aio.open(path) as store:
            table = assert_type(await store.table("lent", expires=True), ExpiringTable[Any, Any])
            table.upsert("a", "1", ttl=60)
            return table.ttl("a")

    assert 0 < (asyncio.run(main()) or 0) <= 60
