"""The bench script at a few pairs: its options, its output, and that it notices a wrong result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench.py"


def bench(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH), *options]
    env = {**os.environ, "PYTHONUTF8": "1", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_the_report() -> None:
    done = bench("--pairs", "300", "--threads", "1,3", "--rounds", "2", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["host"], report["pairs"], report["rounds"], report["keys_from"]) == (
        "python",
        300,
        2,
        None,
    )
    steps = [(result["step"], result["threads"]) for result in report["results"]]
    assert steps == [
        (f"{test}_{step}", threads)
        for test in ("unordered", "sorted")
        for threads in (1, 3)
        for step in ("write", "read")
    ]
    for result in report["results"]:
        write = result["step"].endswith("write")
        assert result["keys"] == 300
        assert len(result["rounds_ms"]) == 2
        assert result["milliseconds"] == pytest.approx(sum(result["rounds_ms"]) / 2)
        assert result["ops"] == pytest.approx(300 / result["milliseconds"] * 1e3, rel=0.01)
        assert (result["bytes_per_pair"] or 0) >= 32 * write
        assert (result["bytes_per_pair"] is None) is not write
        assert result["system"] == "twindex"
        # A process of its own measures it, which Linux alone can.
        is_measured = write and result["threads"] == 1 and sys.platform == "linux"
        assert (result["resident_bytes_per_pair"] is not None) is is_measured


def test_what_programs_use_today_does_the_same_steps() -> None:
    options = ("--test", "strings,sorted,clients", "--pairs", "300", "--threads", "1", "--json", "-")
    done = bench("--beside", *options)
    assert (done.returncode, done.stderr) == (0, "")
    results = json.loads(done.stdout)["results"]
    assert [(result["step"], result["system"]) for result in results] == [
        ("unordered_write", "dict"),
        ("unordered_read", "dict"),
        ("sorted_write", "sortedcontainers"),
        ("sorted_read", "sortedcontainers"),
        ("clients_write", "dict"),
        ("clients_read", "dict"),
        ("clients_update", "dict"),
    ]
    assert all(result["ops"] > 0 and result["bytes_per_pair"] is None for result in results)
    assert (results[0]["resident_bytes_per_pair"] is not None) is (sys.platform == "linux")


def test_the_table_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    done = bench(
        "--pairs",
        "200",
        "--test",
        "sorted",
        "--threads",
        "2",
        "--rounds",
        "1",
        "--json",
        str(path),
        "--quiet",
    )
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("sorted_write", "sorted_read", "Operations/s", "Bytes/pair"):
        assert text in done.stdout
    assert "unordered" not in done.stdout
    assert json.loads(path.read_text(encoding="utf-8"))["pairs"] == 200


def test_keys_from_a_file(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_bytes(b"pear\n\napple\r\nfig\npear\nquince\n")
    done = bench(
        "--keys-from", str(words), "--pairs", "3", "--rounds", "1", "--json", "-", "--value-bytes", "3"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["pairs"], report["keys_from"]) == (3, str(words))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threads", "0"], "must be at least 1, not 0"),
        (["--pairs", "-5"], "must be at least 1, not -5"),
        (["--value-bytes", "-1"], "must not be negative, not -1"),
        (["--test", "hash"], "unknown test 'hash'"),
        (["--peers", "redis"], "unknown peer 'redis'"),
        (["--pairs", "300", "--key-bytes", "2"], "no 300 different keys of 2"),
        (["--keys-from", "/none/here"], "/none/here"),
    ],
)
def test_wrong_options(options: list[str], message: str) -> None:
    done = bench(*options)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError('hidden', name='rich')", encoding="utf-8")
    done = bench(PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'error: bench.py needs rich: pip install "twindex[bench]"\n'


@pytest.mark.parametrize("method", ["insert", "select", "cursor"])
def test_a_wrong_result_is_an_error(method: str, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    broken: dict[str, Any] = {
        "insert": "lambda self, key, value: False",
        "select": "lambda self, key: b'wrong'",
        "cursor": "lambda self, gte: type('C', (), {'scan_asc_next': lambda self: None})()",
    }
    script.write_text(
        f"""
import sys
sys.path.insert(0, {str(BENCH.parent)!r})
import bench, twindex
native = twindex.Store
class Table:
    def __init__(self, table): self.table = table
    def __getattr__(self, name): return getattr(self.table, name)
Table.{method} = {broken[method]}
class Store:
    memory = 0
    def table(self, *arguments, **options): return Table(native().table(*arguments, **options))
twindex.Store = Store
if __name__ == "__main__":
    sys.exit(bench.main(["--pairs", "10", "--rounds", "1", "--quiet"]))
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "wrong" in done.stderr or "found it there" in done.stderr


def test_the_comparison(tmp_path: Path) -> None:
    chart, report = tmp_path / "chart.svg", tmp_path / "report.json"
    options = ("--pairs", "2500", "--rounds", "1", "--quiet", "--chart", str(chart), "--json", str(report))
    done = bench("--peers", *options, COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    results = {one["peer"]: one for one in json.loads(report.read_text(encoding="utf-8"))["results"]}
    assert list(results) == [
        "twindex hash",
        "twindex sorted",
        "dict",
        "sortedcontainers",
        "py-lmdb",
        "sqlite3",
        "rocksdict",
    ]
    for name, result in results.items():
        kinds = {"insert", "select", "insert_many", "select_many", "select_many, 2 threads"}
        if name not in {"twindex hash", "dict"}:
            kinds |= {"scan", "range of 100"}
        assert set(result["rates"]) == kinds
        assert min(result["rates"].values()) > 0
        assert name in done.stdout
    ratio = results["twindex hash"]["rates"]["select"] / results["dict"]["rates"]["select"]
    assert f"{ratio:.2f}x" in done.stdout
    assert "rocksdict" in chart.read_text(encoding="utf-8")


def test_a_missing_peer_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "lmdb.py").write_text("raise ModuleNotFoundError('hidden', name='lmdb')", encoding="utf-8")
    done = bench("--peers", "py-lmdb", "--pairs", "10", "--rounds", "1", "--quiet", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'error: lmdb is missing: pip install ".[peers]"\n'


def test_a_peer_that_loses_pairs_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(
        f"""
import sys
sys.path.insert(0, {str(BENCH.parent)!r})
import bench_peers
bench_peers.Sqlite.insert = lambda self, pairs: None
try:
    bench_peers.measure_round("sqlite3", bench_peers.Sizes(10, 1))
except ValueError as error:
    sys.exit(str(error))
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "sqlite3 holds 0 pairs, not 10\n")
