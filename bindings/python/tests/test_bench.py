"""The bench script over few pairs: its figures, its table, and that it notices a wrong result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import python

BENCH = Path(__file__).parents[1] / "bench.py"
HASH = "insert select select_many insert_many"
SORTED = "bytes insert select select_many scan scan_many range insert_many"


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCH), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("hash --system dict", f"bytes {HASH}"),
        ("hash --system twindex --threads 3", HASH),
        ("sorted --system twindex", SORTED),
        ("sorted --system sortedcontainers", SORTED),
        ("sorted --system lmdb", SORTED),
        ("cache --system twindex", "hits writes zipf hit"),
        ("cache --system cachetools", "hits writes zipf hit"),
    ],
)
def test_every_figure_of_a_library_is_a_line_of_json(words: str, figures: str) -> None:
    done = bench(*words.split(), "--pairs", "2500")
    assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [figure for figure in figures.split() if figure != "bytes" or sys.platform == "linux"]
    assert [record["figure"].split()[0] for record in records] == expected
    assert all(record["value"] >= 0 for record in records)


def test_plain_command_prints_ratios_and_names_unknown_libraries(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"pear\n\napple\nfig\npear\nquince\n")
    done = bench("hash", "--rounds", "1", "--keys", str(tmp_path / "keys"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "dict" in done.stdout
    assert "x)" in next(line for line in done.stdout.splitlines() if "| select |" in line)
    done = bench("hash", "--system", "redis")
    assert (done.returncode != 0, "redis" in done.stderr) == (True, True)


@pytest.mark.parametrize(
    "broken", ["insert = lambda self, pairs: None", "steps = lambda self, first: iter([(1, 2)] * 9)"]
)
def test_library_that_loses_pairs_is_an_error(broken: str) -> None:
    program = f"import bench; bench.Lmdb.{broken}; bench.fill('sorted', 'lmdb', ['a', 'b'], 1)"
    assert "ValueError: a wrong result for" in python(program, cwd=BENCH.parent).stderr
