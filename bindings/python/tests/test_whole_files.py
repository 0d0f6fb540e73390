"""Checking, recovering and loading files, and how far it has come."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex

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


def test_a_whole_file_is_whole(path: Path) -> None:
    before = path.read_bytes()
    report = twindex.check(path)
    assert isinstance(report, twindex.Report)
    assert (report.version, report.bytes, report.damage, report.torn) == (1, len(before), [], None)
    assert report.dump_pairs + report.operations >= PAIRS + 1
    assert report.dump_bytes + report.log_bytes <= report.bytes
    assert twindex.check(str(path)) == twindex.check(str(path).encode()) == report
    assert path.read_bytes() == before


def test_damage_is_found_and_the_rest_is_saved(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(twindex.CorruptError):
        twindex.open(path)
    [damage] = twindex.check(path).damage
    assert damage.offset <= middle < damage.offset + damage.bytes
    assert damage.what
    target = tmp_path / "saved.twx"
    recovery = twindex.recover(path, target)
    assert recovery.report.damage == [damage]
    assert path.read_bytes() == content
    saved = {table.name: table for table in recovery.tables}
    assert saved["sorted"] == twindex.RecoveredTable("sorted", "sorted", 1)
    assert 0 < saved["hash"].pairs < PAIRS
    with twindex.open(target) as store:
        numbers: twindex.Table[str, Any] = store.table("hash")
        assert len(numbers) == saved["hash"].pairs
        assert all(key == f"key{value}" for key, value in numbers.items())
        table = store.table("sorted", "sorted", keys="int", values="json")
        assert dict(table) == {-1: [1]}


def test_what_is_torn_is_a_place(tmp_path: Path) -> None:
    path = tmp_path / "app.twx"
    with twindex.open(path, durability="always") as store:
        for number in range(3):
            store.table("t")[str(number)] = "last"
        whole = path.read_bytes()
    # In the middle of the last change.
    cut = whole.rindex(b"last")
    path.write_bytes(whole[:cut])
    report = twindex.check(path)
    assert report.damage == []
    assert report.torn is not None
    assert 0 < report.torn.offset < cut == report.torn.offset + report.torn.bytes
    with twindex.open(path) as store:
        assert store.torn == report.torn
        assert sorted(store.table("t")) == ["0", "1"]


def test_what_is_no_store_or_is_not_there(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no store, whoever looks at it" * 10)
    for call in (lambda: twindex.check(other), lambda: twindex.recover(other, tmp_path / "new")):
        with pytest.raises(twindex.CorruptError, match="other"):
            call()
    with pytest.raises(twindex.IoError) as raised:
        twindex.check(tmp_path / "none")
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(twindex.IoError) as raised:
        twindex.recover(path, other)
    assert raised.value.errno == errno.EEXIST
    assert not (tmp_path / "new").exists()
    wrong: Any = 42
    for misuse in (lambda: twindex.check(wrong), lambda: twindex.recover(wrong, path)):
        with pytest.raises(
            twindex.ArgumentTypeError, match=r"path must be str, bytes or os.PathLike, not int"
        ):
            misuse()
    with pytest.raises(twindex.ArgumentTypeError, match=r"target must be str, bytes or os.PathLike, not int"):
        twindex.recover(path, wrong)


def test_a_memory_limit_bounds_what_is_loaded(path: Path, tmp_path: Path) -> None:
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


def with_progress(path: Path, tmp_path: Path) -> list[Callable[[Any], object]]:
    return [
        lambda progress: twindex.check(path, progress=progress),
        lambda progress: twindex.recover(path, tmp_path / "new", progress=progress),
        lambda progress: twindex.Store.load(path, progress=progress),
        lambda progress: twindex.Store.load(path.read_bytes(), progress=progress),
        lambda progress: twindex.open(path, read_only=True, progress=progress),
    ]


@pytest.mark.parametrize("which", range(5))
def test_progress_is_told_to_its_end(path: Path, tmp_path: Path, which: int) -> None:
    told: list[twindex.Progress] = []
    with_progress(path, tmp_path)[which](told.append)
    assert told == sorted(told)
    assert len(told) == len(set(told))
    assert isinstance(told[-1], twindex.Progress)
    assert told[-1].pairs == PAIRS + 1
    assert told[-1].bytes <= path.stat().st_size


@pytest.mark.parametrize("which", range(5))
def test_what_progress_raises_ends_the_call(path: Path, tmp_path: Path, which: int) -> None:
    def fail(_: twindex.Progress) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        with_progress(path, tmp_path)[which](fail)
    with pytest.raises(twindex.ArgumentTypeError, match="progress must be callable or None, not int: 42"):
        with_progress(path, tmp_path)[which](42)
    twindex.open(path).close()


def test_progress_of_a_compaction(path: Path) -> None:
    told: list[twindex.Progress] = []
    with twindex.open(path) as store:
        store.compact(progress=told.append)
        assert told[-1].pairs == PAIRS + 1
        with pytest.raises(ZeroDivisionError):
            store.compact(progress=lambda _: 1 // 0)
        assert len(store.table("hash")) == PAIRS
