"""Sub-interpreters, and `python -m twindex`: the tool itself is tested where it is made, this is that it arrives."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import twindex
from support import output_of

PROGRAM = """
import _testcapi
{before}
refused = '''
try:
    import twindex
except ImportError as error:
    assert "sub-interpreter" in str(error), error
else:
    raise SystemExit("imported")
'''
for _ in range(2):
    assert _testcapi.run_in_subinterp(refused) == 0
import twindex
store = twindex.Store()
table = store.table("t", keys="str", values="json")
table.update(a=[1], b=None)
assert dict(table.items()) == {{"a": [1], "b": None}} == table
assert len(table.keys()) == 2 and [1] in table.values()
try:
    table.insert(1, 2)
except twindex.ArgumentTypeError:
    print("works")
"""


@pytest.mark.parametrize("before", ["import twindex", ""], ids=["imported before", "imported after"])
def test_sub_interpreter_is_refused_and_leaves_the_main_one_as_it_was(before: str) -> None:
    """It could import the package, and took the objects of the main interpreter's classes with it when it ended: from then
    on those failed with "name 'isinstance' is not defined".
    """
    pytest.importorskip("_testcapi")
    assert output_of(PROGRAM.format(before=before)) == "works\n"


SCRIPT = Path(sysconfig.get_path("scripts")) / ("twindex.exe" if sys.platform == "win32" else "twindex")


@pytest.mark.parametrize(
    "command", [[sys.executable, "-m", "twindex"], [str(SCRIPT)]], ids=["module", "script"]
)
def test_tool_arrives_with_its_input_output_and_exit_codes(command: list[str], tmp_path: Path) -> None:
    def run(*arguments: object, given: str = "") -> tuple[int, str]:
        words = [*command, *map(str, arguments)]
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    path = tmp_path / "é.twx"
    with twindex.open(path) as store:
        store.table("log", "sorted", keys="str", values="int").update(a=1, b=2)
    assert run("import", path, given='{"table": "log", "key": "c", "value": 3}\n')[0] == 0
    code, exported = run("export", path)
    lines = [json.loads(line) for line in exported.splitlines()]
    assert (code, lines[0]) == (0, {"table": "log", "index": "sorted", "keys": "str", "values": "int"})
    assert {line["key"]: line["value"] for line in lines[1:]} == {"a": 1, "b": 2, "c": 3}
    assert run("shell", "--write", path, given="set log d 4\nscan log --reverse --limit 1\n") == (0, "d\t4\n")
    assert run("--version")[1].split()[-1] == twindex.__version__
    assert run("juggle") == (2, "")
    assert run("info", path.with_name("none.twx"))[0] == 1
    path.write_bytes(path.read_bytes()[:20] + b"x" * 20)
    assert run("check", path)[0] == 3
