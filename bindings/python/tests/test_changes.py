"""The feed, stores that keep up with the process that writes their file, and what happens in the background as Python's logging is told it."""

from __future__ import annotations

import _thread
import logging
import os
import pickle
import random
import signal
import threading
import time
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import in_threads, output_of, python
from twindex import Change


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


def test_error_of_a_compacted_position_names_the_oldest(store: twindex.Store) -> None:
    users, position = store.table("users"), store.position
    users["ada"] = "x" * (1 << 20)  # more than a compaction keeps
    users["ada"] = "1"
    store.compact()
    with pytest.raises(twindex.PositionGoneError) as gone:
        store.changes(position)
    assert (gone.value.position, gone.value.oldest in str(gone.value)) == (position, True)
    copy = pickle.loads(pickle.dumps(gone.value))
    assert (copy.oldest, str(copy)) == (gone.value.oldest, str(gone.value))
    users["bob"] = "2"
    assert [batch.changes[0].key for batch in there(store.changes(copy.oldest))] == ["ada", "bob"]


def test_feed_of_some_tables_shows_them_by_their_codecs(store: twindex.Store) -> None:
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
    assert [next(blind).changes[0].table for _ in range(3)] == ["days", "other", "other"]
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
    seen = there(store.changes(position, tables=[store.table("days", keys="bytes", values="bytes")]))
    assert seen[1].changes[0].key == b"1815-12-10"


def test_feed_waits_until_its_timeout_or_its_end(path: Path) -> None:
    store = twindex.open(path)
    users, changes = store.table("users"), store.changes()
    begun = time.monotonic()
    assert changes.wait(0.05) is changes.wait(0) is None
    assert time.monotonic() - begun >= 0.05
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
    assert (list(changes), changes.poll(), changes.wait(1)) == ([], None, None)
    with store.changes() as scoped:
        pass
    assert list(scoped) == []
    closing = threading.Timer(0.02, store.close)
    closing.start()
    with pytest.raises(twindex.ClosedError):
        next(store.changes())
    closing.join()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no list of what is open")
def test_closed_feed_or_store_has_no_descriptor(path: Path) -> None:
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such signals")
def test_signal_ends_the_waiting(store: twindex.Store) -> None:
    # A shell lets what it runs in the background ignore this signal.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(store.changes())
    finally:
        timer.join()
        signal.signal(signal.SIGINT, earlier)


def test_threads_share_a_feed_and_each_batch_comes_once(store: twindex.Store) -> None:
    table = store.table("t", values="int")
    changes = store.changes()
    seen: list[int] = []

    def work(thread: int) -> None:
        if thread > 0:
            seen.extend(batch.changes[0].value for batch in changes)
            return
        for number in range(1000):
            table["a"] = number
        end = time.monotonic() + 60
        while len(seen) < 1000:
            assert time.monotonic() < end
            time.sleep(0.001)
        changes.close()

    in_threads(5, work)
    assert sorted(seen) == list(range(1000))


def test_threads_that_share_a_feed_or_a_watch_lose_nothing_that_a_codec_could_not_read(
    store: twindex.Store,
) -> None:
    both, fails = threading.Barrier(2), True

    def decode(stored: bytes) -> bytes:
        if fails:
            both.wait(30)
            raise ZeroDivisionError
        return stored

    table = store.table("t", values=twindex.Codec("mine", bytes, decode))
    feed, watch = store.changes(tables=[table]), table.watch()
    table["a"] = b""
    table["b"] = b""

    def poll(source: Any, _thread: int) -> None:
        with pytest.raises(ZeroDivisionError):
            source.poll()

    in_threads(2, partial(poll, feed))
    in_threads(2, partial(poll, watch))
    fails = False
    assert [batch.changes[0].key for batch in iter(feed.poll, None)] == ["a", "b"]
    assert sorted(change.key for change in iter(watch.poll, None)) == ["a", "b"]


def test_wrong_arguments(store: twindex.Store, tmp_path: Path) -> None:
    loosely: Any = store
    changes: Any = store.changes()
    unlogged = twindex.open(tmp_path / "unlogged.twx", durability="none")
    cases: list[tuple[type[Exception], list[Any]]] = [
        (
            twindex.NotAPositionError,
            [lambda text=text: loosely.changes(text) for text in ("", "x", f"{0:016x}-", f"{0:016x}--1")],
        ),
        (twindex.PositionGoneError, [lambda: store.changes("0123456789abcdef-7")]),
        (
            twindex.ArgumentTypeError,
            [lambda tables=tables: loosely.changes(tables=tables) for tables in (1, ["users"], "users")]
            + [lambda kind=kind: changes.wait(kind) for kind in ("1", b"", object())]
            + [lambda: loosely.changes(position=1)],
        ),
        (
            twindex.OptionError,
            [lambda time=time: changes.wait(time) for time in (-1.0, float("nan"), float("inf"))],
        ),
        (TypeError, [lambda: pickle.dumps(changes)]),
        (twindex.NoFileError, [lambda: twindex.Store().position, lambda: twindex.Store().changes()]),
        (twindex.IoError, [lambda: twindex.changes(tmp_path / "none.twx")]),
        (twindex.NoLogError, [lambda: unlogged.position, unlogged.changes]),
    ]
    for error, calls in cases:
        for call in calls:
            with pytest.raises(error):
                call()


WRITER = """
import sys, twindex
store = twindex.open(sys.argv[1])
users = store.table("users")
users.upsert("ada", "2")
store.compact()
with store.batch() as batch:
    batch.upsert(users, "bob", "3")
    batch.upsert(users, "eve", sys.argv[2])
"""


def test_follower_shows_what_another_process_wrote(path: Path) -> None:
    with twindex.open(path) as store:
        store.table("users")["ada"] = "1"
        assert store.refresh() == 0
    with twindex.open(path, read_only=True) as copy:
        users = copy.table("users")
        output_of(WRITER, path, "3")
        assert users.select("ada") == "1"
        assert copy.stats()["behind_bytes"] > 0
        assert copy.refresh() > 0
        assert dict(users) == {"ada": "2", "bob": "3", "eve": "3"}
        assert copy.stats()["behind_bytes"] == 0
        with pytest.raises(twindex.ReadOnlyError):
            users["ada"] = "4"
        copy.follow()
        output_of(WRITER, path, "4")
        end = time.monotonic() + 60
        while users["eve"] != "4":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert copy.stats()["follow_error"] is None
        with pytest.raises(twindex.ReadOnlyError):
            copy.flush()
    for use in (copy.refresh, copy.follow, copy.stats, lambda: copy.position, lambda: users.get("a")):
        with pytest.raises(twindex.ClosedError):
            use()


def test_threads_close_stores_and_feeds_in_the_middle(path: Path) -> None:
    store = twindex.open(path)
    table = store.table("t", values="int")
    table["one"] = 0
    ended = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not ended.is_set():
            copy = twindex.open(path, read_only=True)
            copy.follow()
            try:
                changes = copy.changes()
            except twindex.PositionGoneError:
                # A compaction came in between.
                continue
            closing = threading.Timer(0.01, random.choice([copy.close, changes.close]))
            closing.start()
            try:
                for batch in changes:
                    values = [change.value for change in batch.changes]
                    if len(values) != 2 or values[0] != values[1]:
                        wrong.append(batch)
                    copy.refresh()
                    copy.stats()
                copy.close()
            except (twindex.ClosedError, twindex.PositionGoneError):
                # A compaction may also come in between before the first batch.
                pass
            closing.join()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(3000):
        with store.batch() as batch:
            batch.upsert(table, "one", number)
            batch.upsert(table, "two", number)
        if number % 1000 == 0:
            store.compact()
    ended.set()
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    assert wrong == []
    store.close()


def test_records_have_a_level_an_event_and_a_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def logged(event: str) -> logging.LogRecord | None:
        found = (record for record in list(caplog.records) if record.name == "twindex")
        return next((it for it in found if (it.event, it.path) == (event, str(path))), None)  # type: ignore[attr-defined]

    path = tmp_path / "100%s.twx"
    store = twindex.open(path)
    users = store.table("users")
    users["ada"] = "1"
    with twindex.open(path, read_only=True) as copy:
        copy.follow()
        path.unlink()
        end = time.monotonic() + 60

        def write() -> None:
            while time.monotonic() < end:
                users["ada"] = "2"
                time.sleep(0.01)

        # A writer finds out when it syncs.
        with pytest.raises(twindex.LogFailedError):
            write()
        while not ((behind := logged("follow_failed")) and (failed := logged("log_failed"))):
            assert time.monotonic() < end
            time.sleep(0.001)
    assert (behind.levelno, failed.levelno) == (logging.WARNING, logging.ERROR)
    assert behind.getMessage().startswith(f"{path}: it does not keep up")
    assert "the log failed" in failed.getMessage()
    with pytest.raises(twindex.LogFailedError):
        store.close()
    store.close()


PROGRAM = """
import logging, os, sys, twindex
{configure}
path = sys.argv[1]
store = twindex.open(path)
copy = twindex.open(path, read_only=True)
{fork}
copy = twindex.open(path, read_only=True)
copy.follow()
os.unlink(path)
while copy.stats()["follow_error"] is None:
    pass
"""


FORK = "pid = os.fork()\nif pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"


@pytest.mark.parametrize(
    ("configure", "fork", "expected"),
    [
        ("", "", ""),
        ("logging.basicConfig()", "", "WARNING:twindex:"),
        pytest.param(
            "logging.basicConfig()",
            FORK,
            "WARNING:twindex:",
            marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
        ),
    ],
    ids=["silent until it is configured", "until the end of the program", "in a child of fork"],
)
def test_what_happens_in_the_background_is_logged(
    path: Path, configure: str, fork: str, expected: str
) -> None:
    done = python(PROGRAM.format(configure=configure, fork=fork), path)
    assert (done.returncode, expected in done.stderr, bool(done.stderr)) == (0, True, bool(expected))
