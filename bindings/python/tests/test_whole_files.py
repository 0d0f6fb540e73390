"""Checking, recovering and loading files, and how far it has come."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import output_of

PAIRS = 60_000


@pytest.fixture(name="content", scope="module")
def _content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "app.twx"
    with twindex.open(path, durability="none") as store:
        store.table("hash", values="int").update((f"key{number}", number) for number in range(PAIRS))
        store.table("sorted", "sorted", keys="int", values="json")[-1] = [1]
        store.save()
    return path.read_bytes()


@pytest.fixture(name="path")
def _path(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "app.twx"
    path.write_bytes(content)
    return path


def test_report_counts_what_is_in_a_file(path: Path) -> None:
    report = twindex.check(path)
    assert isinstance(report, twindex.Report)
    size = path.stat().st_size
    assert (report.version, report.bytes, report.damage, report.torn) == (1, size, [], None)
    assert report.dump_pairs + report.operations >= PAIRS + 1
    assert report.dump_bytes + report.log_bytes <= size
    assert twindex.check(str(path)) == twindex.check(str(path).encode()) == report


def test_report_and_recovery_name_what_is_damaged(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(twindex.CorruptError):
        twindex.open(path)
    [damage] = twindex.check(path).damage
    assert damage.offset <= middle < damage.offset + damage.bytes
    assert damage.what
    recovery = twindex.recover(path, tmp_path / "saved.twx")
    assert recovery.report.damage == [damage]
    saved = {table.name: table for table in recovery.tables}
    assert saved["sorted"] == twindex.RecoveredTable("sorted", "sorted", 1)
    assert 0 < saved["hash"].pairs < PAIRS
    with twindex.open(tmp_path / "saved.twx") as store:
        assert len(store.table("hash")) == saved["hash"].pairs


def test_wrong_files_are_errors_of_python(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no store, whoever looks at it" * 10)
    with pytest.raises(twindex.CorruptError, match="other"):
        twindex.recover(other, tmp_path / "new")
    with pytest.raises(twindex.IoError) as raised:
        twindex.recover(path, other)
    assert raised.value.errno == errno.EEXIST
    wrong: Any = 42
    for what, misuse in (
        ("path", lambda: twindex.check(wrong)),
        ("target", lambda: twindex.recover(path, wrong)),
    ):
        with pytest.raises(
            twindex.ArgumentTypeError, match=f"{what} must be str, bytes or os.PathLike, not int"
        ):
            misuse()


def test_memory_limit_bounds_what_is_loaded(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "new"
    for call in (
        lambda: twindex.check(path, memory_limit=100_000),
        lambda: twindex.recover(path, target, memory_limit=100_000),
        lambda: twindex.Store.load(path, memory_limit=100_000),
        lambda: twindex.Store.load(path.read_bytes(), memory_limit=100_000),
        lambda: twindex.open(path, memory_limit=100_000),
    ):
        with pytest.raises(MemoryError):
            call()
    assert not target.exists()
    for source in (path, path.read_bytes(), memoryview(path.read_bytes())):
        store = twindex.Store.load(source, memory_limit=50_000_000)
        assert store.memory_limit == 50_000_000
        assert len(store.table("hash")) == PAIRS
        assert twindex.Store.load(source).memory_limit is None


CALLS: dict[str, Callable[[Path, Any], object]] = {
    "check": lambda path, progress: twindex.check(path, progress=progress),
    "recover": lambda path, progress: twindex.recover(path, path.with_name("new"), progress=progress),
    "load": lambda path, progress: twindex.Store.load(path, progress=progress),
    "load bytes": lambda path, progress: twindex.Store.load(path.read_bytes(), progress=progress),
    "open": lambda path, progress: twindex.open(path, read_only=True, progress=progress),
    "compact": lambda path, progress: twindex.open(path).compact(progress=progress),
}


@pytest.mark.parametrize("name", CALLS)
def test_progress_function_is_told_to_the_end_and_may_raise(path: Path, name: str) -> None:
    told: list[twindex.Progress] = []
    CALLS[name](path, told.append)
    assert told == sorted(set(told))
    assert isinstance(told[-1], twindex.Progress)
    assert told[-1].pairs == PAIRS + 1
    assert 0 < told[-1].bytes <= path.stat().st_size
    path.with_name("new").unlink(missing_ok=True)
    with pytest.raises(ZeroDivisionError):
        CALLS[name](path, lambda _: 1 // 0)
    path.with_name("new").unlink(missing_ok=True)
    with pytest.raises(twindex.ArgumentTypeError, match="progress must be callable or None, not int: 42"):
        CALLS[name](path, 42)
    twindex.open(path).close()


@pytest.mark.parametrize("verb", ["compact", "save", "close"])
def test_progress_function_that_waits_for_its_own_work_raises(verb: str, tmp_path: Path) -> None:
    program = f"""
import sys, time, twindex
store = twindex.open(sys.argv[1])
store.table("t").update((str(number), "v" * 100) for number in range(200_000))
def progress(told):
    called.append(told)
    store.{verb}()
called = []
try:
    store.compact(progress=progress)
except RuntimeError as error:
    # The last call comes once the work is done, and may do all.
    assert len(called) == 1 and "progress function cannot" in str(error)
else:
    assert len(called) <= 1, called
"""
    # So small a store may take less time than the function is called after.
    output_of(program, tmp_path / "app.twx")
