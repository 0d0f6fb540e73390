"""Tables whose pairs expire: what crosses the border. The rest is tested in `durable`."""

import math
import pickle
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import twindex
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


def test_no_read_returns_an_expired_pair(lent: ExpiringTable[str, int]) -> None:
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
    assert lent.get("a", 9) == 9
    assert "a" not in lent
    assert lent.select_many(["a", "c", "b"]) == [None, 3, None]
    assert lent.contains_many(["a", "c", "b"]) == [False, True, False]
    assert lent.view("a") is None
    view = lent.view("c")
    assert view is not None
    assert bytes(view) == b"3"
    with pytest.raises(KeyError):
        lent["a"]
    if lent.index == "sorted":
        cursor = lent.cursor()
        assert cursor.scan_asc_next_many(9) == list(left.items())
        assert (cursor.scan_desc_next(), cursor.key, cursor.value) == (("c", 3), "c", 3)
        assert list(lent.scan(reverse=True)) == [("d", 4), ("c", 3)]
        assert list(lent.prefix("c")) == [("c", 3)]
        assert (lent.first(), lent.last(), lent.peekitem(0)) == (("c", 3), ("d", 4), ("c", 3))
        assert (lent.bisect_left("d"), list(lent.irange("a", "c"))) == (1, ["c"])


WRITES: list[tuple[Callable[[ExpiringTable[str, int]], object], object]] = [
    (lambda table: table.insert("a", 5), True),
    (lambda table: table.insert_many([("a", 5), ("c", 5), ("a", 6)]), [True, False, False]),
    (lambda table: table.replace("a", 5), False),
    (lambda table: table.replace_many([("a", 5), ("c", 5)]), [False, True]),
    (lambda table: table.delete("a"), False),
    (lambda table: table.delete_many(["a", "c"]), [False, True]),
    (lambda table: table.take("a"), None),
    (lambda table: table.pop("a", None), None),
    (lambda table: table.setdefault("a", 5), 5),
    (lambda table: table.touch("a", 60), False),
    (lambda table: table.increment("a", 5), 5),
    (lambda table: table.increment_many([("a", 5), ("c", 5)]), [5, 8]),
    (lambda table: table.alter("a", lambda found: 5 if found is None else 6), True),
    (lambda table: table.compare_and_swap("a", 1, 2), False),
    (lambda table: table.compare_and_swap_many([("a", None, 5), ("b", 2, 3)]), [True, False]),
    (lambda table: table.remove_expired(), 2),
]


@pytest.mark.parametrize(("write", "answer"), WRITES)
def test_writes_see_an_expired_pair_as_absent(
    lent: ExpiringTable[str, int], write: Callable[[ExpiringTable[str, int]], object], answer: object
) -> None:
    assert write(lent) == answer


def test_pops_end_when_only_expired_pairs_are_left(lent: ExpiringTable[str, int]) -> None:
    assert {lent.popitem(), lent.popitem()} == {("c", 3), ("d", 4)}
    with pytest.raises(KeyError):
        lent.popitem()
    if lent.index == "sorted":
        assert (lent.pop_first(), lent.pop_last(), lent.delete_range()) == (None, None, 0)


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
            seen.touch("a", 1)  # type: ignore[arg-type]
    for use in (lambda: dict(seen), lambda: cursor.scan_asc_next(), lambda: next(scan)):
        with pytest.raises(errors.EndedError):
            use()


def test_batches_and_transactions_say_that_they_have_no_expiring_tables() -> None:
    store = Store()
    table: Any = store.table("lent", expires=True)
    with store.batch() as batch, pytest.raises(errors.NotSupportedError, match="expire"):
        batch.upsert(table, "a", "1")
    transaction = store.transaction()
    for named in ("lent", table):
        with pytest.raises(errors.NotSupportedError, match="expire"):
            transaction.table(named)
    transaction.close()


def test_the_feed_decodes_values_without_their_deadlines(path: Path) -> None:
    with twindex.open(path) as store:
        before = store.position
        lent = store.table("lent", values="int", expires=True)
        lent.upsert("a", 7, ttl=60)
        store.table("plain")["b"] = "2"
        feed = store.changes(before, tables=[lent])
        batches = [feed.wait(30), feed.wait(30)]
        [change] = [change for batch in batches if batch for change in batch.changes if change.kind == "put"]
        assert (change.table, change.key, change.value) == ("lent", "a", 7)


def test_threads_and_removal_share_an_expiring_table(path: Path) -> None:
    with twindex.open(path) as store:
        table = store.table("lent", values="int", expires=True)

        def work(number: int) -> None:
            for turn in range(500):
                table.upsert(f"{number}/{turn}", turn, ttl=SOON if turn % 2 else 60)

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(4):
            wait_until_gone(table, f"{number}/499")
        table.remove_expired()
        assert len(table) == len(dict(table)) == 1000
