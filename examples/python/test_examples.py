"""Every example in Python does what its first lines say."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import search_index
import shared_counter
import time_series
import tour
import web_cache

import twindex

FOLDER = Path(__file__).parent
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="gunicorn and celery need fork")


def test_tour_prints_what_it_prints_in_every_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tour.main(str(tmp_path / "tour.twx"))
    assert capsys.readouterr().out == FOLDER.with_name("tour.txt").read_text()


def test_killed_program_of_the_first_page_loses_nothing(tmp_path: Path) -> None:
    program = (FOLDER / "fill.py").read_text()
    assert program in (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    command = [sys.executable, "-c", program.replace("10_000_000", "100_000")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout[:13]) == (-signal.SIGKILL, "100,000 pairs"), done.stderr
    with twindex.open(tmp_path / "events.twx", read_only=True) as store:
        events = store.table("events", values="int")
        assert (len(events), events.last()) == (100_000, ("2026-11-26 00099999", 99_999))


@pytest.mark.parametrize("program", [search_index, shared_counter, time_series])
def test_program_without_arguments_shows_how_to_use_it(
    program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([]) == 2
    assert f"python {program.__name__}.py" in capsys.readouterr().err


def test_shared_counter_counts_every_request_of_every_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    for number, log in enumerate(logs):
        lines = ['1.2.3.4 - - "GET / HTTP/1.1" 200', "no request", f'::1 - - "POST /{number} HTTP/2" 404']
        log.write_text("\n".join(lines * 1500), encoding="utf-8")
    assert dict(shared_counter.count_all(logs)) == {"/": 6000} | {f"/{number}": 1500 for number in range(4)}
    assert shared_counter.main([str(log) for log in logs]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["    6000 /", "    1500 /0"]


def test_search_index_finds_notes_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes, index = tmp_path / "notes.twx", tmp_path / "index.sqlite"

    def find(*words: str) -> list[str]:
        assert search_index.main([str(notes), str(index), *words]) == 0
        return sorted(capsys.readouterr().out.split())

    with twindex.open(notes) as store:
        assert find("tree") == []
        table = store.table("notes")
        table.update(one="The tree and the bark", two="A tree")
        assert find("tree") == ["one", "two"]
        table.update(two="Some bark", three="trees: bark")
        del table["one"]
        store.table("others")["four"] = "bark"
        assert find("bark") == ["three", "two"]
        assert find("bark", "TREES") == ["three"]
        assert find("tree") == []
        # What was compacted away is read again.
        table["five"] = "bark"
        del table["two"]
        table["large"] = "x" * (1 << 20)  # more than a compaction keeps
        del table["large"]
        store.compact()
        assert find("bark") == ["five", "three"]
        table.clear()
        assert find("bark") == []


def measurements() -> list[str]:
    return [f"{sensor} {when} {when % 10}" for when in range(3000) for sensor in ("hall", "hal", "roof")]


def test_time_series_answers_for_windows_of_time() -> None:
    store = twindex.Store()
    assert time_series.add(store, [*measurements(), "", "roof -5.5 -1"]) == 9001
    found = list(time_series.windows(store, "hall", 100, 125, 10))
    assert [(one.start, one.count) for one in found] == [(100, 10), (110, 10), (120, 5)]
    assert (found[0].least, found[0].mean, found[0].greatest) == (0, 4.5, 9)
    assert list(time_series.windows(store, "attic", 0, 100, 10)) == []
    assert [one.count for one in time_series.windows(store, "roof", -10, 3000, 5000)] == [3001]
    assert time_series.last(store, "hal") == (2999, 9)
    assert time_series.last(store, "attic") is None


def test_time_series_keeps_measurements_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "sensors.twx")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(measurements())))
    assert time_series.main([file, "add"]) == 0
    assert time_series.main([file, "window", "hall", "0", "20", "10"]) == 0
    assert time_series.main([file, "forget", "2000"]) == 0
    assert time_series.main([file, "window", "hall", "0", "2001"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "9000 added, 9000 in all",
        "         0.000       10      0.000      4.500      9.000",
        "        10.000       10      0.000      4.500      9.000",
        "last: 2999.0 9.0",
        "6000 forgotten, 3000 left",
        "         0.000        1      0.000      0.000      0.000",
        "last: 2999.0 9.0",
    ]
    assert time_series.main([str(tmp_path / "none.twx"), "window", "hall", "0", "1"]) == 2


def test_web_cache_makes_each_page_once_for_all_threads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def make(path: str) -> bytes:
        made.append(path)
        time.sleep(0.01)
        return path.encode()

    monkeypatch.setattr(web_cache, "render", make)
    assert web_cache.main(["60"]) == 0
    assert len(made) == len(set(made)) > 3
    size = re.fullmatch(rf"60 pages, (\d+) bytes: {len(made)} made, .*\n", capsys.readouterr().out)
    assert size is not None
    assert int(size[1]) >= 60 * len("/page/1")


@forks
def test_counter_app_has_one_process_that_writes_and_many_that_read(tmp_path: Path) -> None:
    store = tmp_path / "visits.twx"
    environment = {**os.environ, "COUNTER_STORE": str(store), "COUNTER_BIND": "127.0.0.1:0"}
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "counter_app:app"]
    with subprocess.Popen(command, cwd=FOLDER, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = ""
            while (found := re.search(r"Listening at: (http://\S+)", said)) is None:
                said += server.stderr.readline()
                assert server.poll() is None, said
            url = found[1]

            def ask(page: str, method: str = "GET") -> tuple[str, int]:
                with urlopen(Request(url + page, method=method), timeout=60) as response:
                    return response.headers["X-Worker"], int(response.read())

            for visit in range(1, 21):
                assert ask("/a", "POST")[1] == visit
            # All workers see it, and so does the one that replaces a killed worker.
            killed, _ = ask("/a")
            os.kill(int(killed), signal.SIGKILL)
            seen: set[str] = set()
            end = time.monotonic() + 60
            while len(seen) < 3:
                assert time.monotonic() < end
                try:
                    worker, visits = ask("/a")
                except OSError:
                    continue
                if visits == 20 and worker != killed:
                    seen.add(worker)
        finally:
            server.terminate()
            server.stderr and server.stderr.read()
    with twindex.open(store) as left:
        assert dict(left.table("visits", values="int")) == {"/a": 20}


@contextmanager
def worker(*arguments: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "price_tasks", "worker", "--loglevel", "WARNING"]
    process = subprocess.Popen([*command, "--without-gossip", "--without-mingle", *arguments], cwd=FOLDER)
    try:
        yield
    finally:
        # At once, not when its tasks are done.
        process.send_signal(signal.SIGQUIT)
        process.wait(60)


@forks
def test_price_tasks_are_written_by_one_worker_and_read_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "CELERY_BROKER": "filesystem://",
        "CELERY_BACKEND": f"file://{tmp_path}/results",
        "CELERY_FOLDER": str(tmp_path / "queues"),
        "PRICES": str(tmp_path / "prices.twx"),
    }.items():
        monkeypatch.setenv(name, value)
    for folder in ("queues", "results"):
        (tmp_path / folder).mkdir()
    import price_tasks

    tasks: Any = price_tasks
    with ExitStack() as workers:
        workers.enter_context(worker("--pool", "solo", "--queues", "writes", "-n", "writer"))
        workers.enter_context(worker("--concurrency", "2", "--queues", "reads", "-n", "readers"))
        for name, cents in {"tea": 300, "milk": 150}.items():
            assert tasks.set_price.delay(name, cents).get(timeout=60, interval=0.02)
        assert tasks.total.delay(["tea", "milk", "cake"]).get(timeout=60, interval=0.02) == 450
        for cents in (1, 2):
            tasks.set_price.delay("cake", cents).get(timeout=60, interval=0.02)
            assert tasks.total.delay(["cake", "milk"]).get(timeout=60, interval=0.02) == 150 + cents
