"""`python -m twindex`: the tool itself is tested where it is made, this is that it arrives."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import twindex

SCRIPT = Path(sysconfig.get_path("scripts")) / ("twindex.exe" if sys.platform == "win32" else "twindex")


@pytest.fixture(params=[[sys.executable, "-m", "twindex"], [str(SCRIPT)]], ids=["module", "script"])
def command(request: pytest.FixtureRequest) -> list[str]:
    words: list[str] = request.param
    return words


def run(command: list[str], *arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    words = [*command, *map(str, arguments)]
    return subprocess.run(words, input=given, capture_output=True, text=True, check=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "é.twx"
    with twindex.open(path) as store:
        store.table("log", "sorted", keys="str", values="int").update(a=1, b=2)
    return path


def test_info_check_and_export(command: list[str], path: Path) -> None:
    info = run(command, "info", path)
    assert (info.returncode, info.stderr) == (0, "")
    assert "log" in info.stdout
    assert run(command, "check", path).returncode == 0
    lines = [json.loads(line) for line in run(command, "export", path).stdout.splitlines()]
    assert lines[0] == {"table": "log", "index": "sorted", "keys": "str", "values": "int"}
    assert {line["key"]: line["value"] for line in lines[1:]} == {"a": 1, "b": 2}


def test_import(command: list[str], path: Path) -> None:
    done = run(command, "import", path, given='{"table": "log", "key": "c", "value": 3}\n')
    assert done.returncode == 0, done.stderr
    with twindex.open(path) as store:
        assert store.table("log", "sorted", values="int")["c"] == 3


def test_single_pairs_and_the_shell(command: list[str], path: Path) -> None:
    assert run(command, "set", path, "log", "c", "3").returncode == 0
    assert run(command, "get", path, "log", "c").stdout == "3\n"
    assert run(command, "delete", path, "log", "a").returncode == 0
    scanned = [json.loads(line) for line in run(command, "scan", path, "log", "--json").stdout.splitlines()]
    assert [(line["key"], line["value"]) for line in scanned] == [("b", 2), ("c", 3)]
    shell = run(command, "shell", "--write", path, given="set log d 4\nscan log --reverse --limit 1\n")
    assert (shell.returncode, shell.stdout) == (0, "d\t4\n"), shell.stderr


def test_exit_codes(command: list[str], path: Path) -> None:
    assert run(command, "--help").returncode == 0
    assert run(command, "--version").stdout.split()[-1] == twindex.__version__
    wrong = run(command, "juggle")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert run(command, "info", path.with_name("none.twx")).returncode == 1
    path.write_bytes(path.read_bytes()[:20] + b"x" * 20)
    assert run(command, "check", path).returncode == 3
