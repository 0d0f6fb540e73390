"""The feed: the changes of a store in the order of its log."""

from __future__ import annotations

import _thread
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import twindex
from twindex import Change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.twx"


@pytest.fixture
def store(path: Path) -> Iterator[twindex.Store]:
    with twindex.open(path) as store:
        yield store


def there(changes: twindex.Changes) -> list[twindex.ChangeSet]:
    """All batches that are there."""
    return list(iter(changes.poll, None))


def test_batches_come_whole_in_order_and_as_the_codecs_show_them(path: Path) -> None:
    store = twindex.open(path)
    changes = store.changes()
    assert changes.poll() is None
    begun = changes.position
    users = store.table("users", values="json")
    log = store.table("log", "sorted", keys="tuple", values="int")
    with store.batch() as batch:
        batch.upsert(users, "ada", {"born": 1815})
        batch.upsert(log, ("é", 1), 7)
        batch.delete(users, "ada")
    log.increment(("é", 1))
    users.clear()
    store.drop_table("log")
    batches = there(changes)
    assert [batch.changes for batch in batches] == [
        [Change("create", "users", index="hash", codecs=("str", "json"))],
        [Change("create", "log", index="sorted", codecs=("tuple", "int"))],
        [
            Change("put", "users", "ada", {"born": 1815}),
            Change("put", "log", ("é", 1), 7),
            Change("delete", "users", "ada"),
        ],
        [Change("put", "log", ("é", 1), 8)],
        [Change("clear", "users")],
        [Change("drop", "log")],
    ]
    assert changes.position == batches[-1].position == store.position == store.stats()["position"]
    store.close()
    with pytest.raises(twindex.ClosedError):
        next(changes)
    # From a position in the middle, without the store, as bytes.
    rest = there(twindex.changes(path, batches[2].position, raw=True))
    assert [batch.changes[0].kind for batch in rest] == ["put", "clear", "drop"]
    assert rest[0].changes[0].value == b"8"
    whole = twindex.changes(path)
    assert whole.position == begun
    assert there(whole) == batches


WRITER = """
import sys, twindex
with twindex.open(sys.argv[1]) as store:
    users = store.table("users")
    for number in range(int(sys.argv[2])):
        with store.batch() as batch:
            batch.upsert(users, "one", str(number))
            batch.upsert(users, "two", str(number))
"""


def test_another_process_is_waited_for(path: Path) -> None:
    with twindex.open(path) as store:
        store.table("users")
    with twindex.open(path, read_only=True) as copy:
        changes = copy.changes()
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path), "300"]) as writer:
            for number in range(300):
                batch = next(changes)
                assert batch.changes == [Change("put", "users", key, str(number)) for key in ("one", "two")]
        assert writer.returncode == 0
        assert changes.poll() is None
        assert copy.refresh() > 0
        assert changes.position == copy.position


def test_a_position_that_was_compacted_away_tells_of_the_oldest(path: Path, store: twindex.Store) -> None:
    users = store.table("users")
    position = store.position
    users["ada"] = "1"
    reading = store.changes(position)
    store.compact()
    users["bob"] = "2"
    with pytest.raises(twindex.PositionGoneError) as gone:
        store.changes(position)
    assert gone.value.position == position
    oldest = gone.value.oldest
    assert oldest in str(gone.value)
    assert (copy := pickle.loads(pickle.dumps(gone.value))).oldest == oldest
    assert str(copy) == str(gone.value)
    assert [change.key for change in next(store.changes(oldest)).changes] == ["bob"]
    # Who had it open reads on.
    assert [batch.changes[0].key for batch in there(reading)] == ["ada", "bob"]
    # What to do: a copy, and its position.
    with twindex.open(path, read_only=True) as copied:
        assert sorted(copied.table("users")) == ["ada", "bob"]
        users["eve"] = "3"
        assert [batch.changes[0].key for batch in there(copied.changes())] == ["eve"]


def test_some_tables_alone_with_codecs_of_ones_own(store: twindex.Store) -> None:
    position = store.position
    codec: twindex.Codec[date] = twindex.Codec(
        "date", lambda day: day.isoformat().encode(), lambda text: date.fromisoformat(bytes(text).decode())
    )
    days = store.table("days", keys=codec, values="pickle")
    other = store.table("other")
    other["a"] = "1"
    days[date(1815, 12, 10)] = {1, 2}
    other["b"] = "1"
    # Without the codec: an error, which comes again until it is named.
    blind = store.changes(position)
    assert next(blind).changes[0].table == "days"
    next(blind)
    next(blind)
    before = blind.position
    for _ in range(2):
        with pytest.raises(twindex.WrongCodecError, match=r'"days".*"date"'):
            next(blind)
    assert blind.position == before
    changes = store.changes(position, tables=[days])
    assert [batch.changes for batch in there(changes)] == [
        [Change("create", "days", index="hash", codecs=("date", "pickle"))],
        [Change("put", "days", date(1815, 12, 10), {1, 2})],
    ]
    # Also behind what was passed over.
    assert changes.position == store.position
    raw = there(store.changes(position, tables=[store.table("days", keys="bytes", values="bytes")]))
    assert raw[1].changes[0].key == b"1815-12-10"


def test_bytes_that_a_codec_cannot_show_are_an_error_and_nothing_is_passed_over(store: twindex.Store) -> None:
    store.table("t")
    changes = store.changes()
    store.table("t", keys="bytes")[b"\xff"] = "1"
    for _ in range(2):
        with pytest.raises(twindex.EncodingError):
            next(changes)
    assert next(store.changes(changes.position, raw=True)).changes[0].key == b"\xff"


def test_it_waits_for_a_while_or_until_it_is_closed(store: twindex.Store) -> None:
    users = store.table("users")
    changes = store.changes()
    begun = time.monotonic()
    assert changes.wait(0.05) is None
    assert time.monotonic() - begun >= 0.05
    assert changes.wait(0) is None
    waiter = threading.Timer(0.05, users.upsert, ("ada", "1"))
    waiter.start()
    batch = changes.wait()
    assert batch is not None
    assert batch.changes[0].key == "ada"
    waiter.join()
    seen: list[Any] = []
    reader = threading.Thread(target=lambda: seen.extend(changes))
    reader.start()
    users["bob"] = "2"
    while not seen:
        time.sleep(0.001)
    changes.close()
    reader.join(60)
    assert not reader.is_alive()
    users["eve"] = "3"
    assert list(changes) == []
    assert (changes.poll(), changes.wait(1)) == (None, None)
    with store.changes() as scoped:
        pass
    assert list(scoped) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no list of what is open")
def test_a_closed_feed_or_store_has_no_descriptor(path: Path) -> None:
    def descriptors() -> int:
        links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return sum(str(path) in link for link in links)

    store = twindex.open(path)
    users = store.table("users")
    before = descriptors()
    feeds = [store.changes(), twindex.changes(path)]
    users["ada"] = "1"
    for feed in feeds:
        assert feed.poll() is not None
        position = feed.position
        feed.close()
        assert (feed.poll(), feed.position) == (None, position)
    assert descriptors() == before
    follower = twindex.open(path, read_only=True)
    feeds = [store.changes(), store.changes(), follower.changes()]
    users["bob"] = "2"
    assert feeds[0].poll() is not None
    store.close()
    follower.close()
    assert descriptors() == 0
    for feed in feeds:
        with pytest.raises(twindex.ClosedError):
            feed.poll()


def test_closing_the_store_ends_a_thread_that_waits(path: Path) -> None:
    store = twindex.open(path)
    raised: list[BaseException] = []

    def read() -> None:
        try:
            next(changes)
        except twindex.ClosedError as error:
            raised.append(error)

    changes = store.changes()
    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.02)
    store.close()
    reader.join(60)
    assert len(raised) == 1
    with pytest.raises(twindex.ClosedError):
        store.changes()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such signals")
def test_a_signal_ends_the_waiting(store: twindex.Store) -> None:
    changes = store.changes()
    # A shell lets what it runs in the background ignore this signal.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(changes)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, earlier)


def test_others_run_while_it_waits(store: twindex.Store) -> None:
    changes = store.changes()
    count = 0
    reader = threading.Thread(target=next, args=(changes,))
    reader.start()
    while reader.is_alive():
        count += 1
        if count == 1000:
            store.table("users")["ada"] = "1"
    assert count >= 1000


def test_threads_share_one_and_each_batch_comes_once(store: twindex.Store) -> None:
    table = store.table("t", values="int")
    changes = store.changes()
    seen: list[int] = []
    readers = [
        threading.Thread(target=lambda: seen.extend(batch.changes[0].value for batch in changes))
        for _ in range(4)
    ]
    for reader in readers:
        reader.start()
    for number in range(1000):
        table["a"] = number
    end = time.monotonic() + 60
    while len(seen) < 1000:
        assert time.monotonic() < end
        time.sleep(0.001)
    changes.close()
    for reader in readers:
        reader.join()
    assert sorted(seen) == list(range(1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_fork_cannot_use_it(store: twindex.Store) -> None:
    changes = store.changes()
    child = os.fork()
    if child == 0:
        try:
            next(changes)
        except twindex.ForkedError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_wrong_arguments(store: twindex.Store, tmp_path: Path) -> None:
    loosely: Any = store
    for position in ["", "x", "0123456789abcdef-", "0123456789abcdef--1"]:
        with pytest.raises(twindex.NotAPositionError):
            store.changes(position)
    with pytest.raises(twindex.PositionGoneError):
        store.changes("0123456789abcdef-7")
    wrong: list[dict[str, Any]] = [{"position": 1}, {"tables": 1}, {"tables": ["users"]}, {"tables": "users"}]
    for arguments in wrong:
        with pytest.raises(twindex.ArgumentTypeError):
            loosely.changes(**arguments)
    changes: Any = store.changes()
    for kind in ["1", [], b""]:
        with pytest.raises(twindex.ArgumentTypeError):
            changes.wait(kind)
    for timeout in [-1.0, float("nan"), float("inf")]:
        with pytest.raises(twindex.OptionError):
            changes.wait(timeout)
    with pytest.raises(TypeError):
        pickle.dumps(changes)
    with pytest.raises(twindex.NoFileError):
        _ = twindex.Store().position
    with pytest.raises(twindex.NoFileError):
        twindex.Store().changes()
    with pytest.raises(twindex.IoError):
        twindex.changes(tmp_path / "none.twx")
    with twindex.open(tmp_path / "unlogged.twx", durability="none") as unlogged:
        with pytest.raises(twindex.NoLogError):
            _ = unlogged.position
        with pytest.raises(twindex.NoLogError):
            unlogged.changes()
