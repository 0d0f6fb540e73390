"""Interpreters that end while daemon threads call, sub-interpreters, and `python -m twindex`, which is tested where it is made."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import twindex
from support import IS_LINUX, output_of
from twindex import _twindex

# What each thread does over and over. Each runs Python code below native code, or waits for the interpreter's lock there.
KINDS = {
    "json": 't = s.table("t", values="json")\ndef run(): t["k"] = {"a": [1]}; t["k"]',
    "msgpack": 't = s.table("t", values="msgpack")\ndef run(): t["k"] = {"a": [1]}; t["k"]',
    "alter": 't = s.table("t", values="int")\ndef run(): t.alter("k", lambda v: v + 1, 0)',
    "codec": 'c = twindex.Codec("c", lambda v: str(v).encode(), lambda b: int(b)); t = s.table("t", keys=c, values=c)\n'
    "def run(): t[5] = 6; list(t.items())",
    "on_evict": "c = twindex.Cache(maxsize=3, on_evict=lambda *pair: sum(range(9)))\ndef run(): c.update({1: 1, 2: 2, 3: 3, 4: 4})",
    "generator": 't = s.table("t")\ndef run(): t.upsert_many((str(n), "v") for n in range(99)); t == {}',
    "compact": 's = twindex.open(sys.argv[1]); t = s.table("t"); t.update({str(n): "v" for n in range(99)})\n'
    "def run(): s.compact(progress=lambda p: None)",
    "computation": "c = twindex.Cache(maxsize=3)\ndef run(): c.clear(); c.get_or_compute(1, lambda: sum(range(99)))",
    "detached": 't = s.table("t", values="bytes"); big = bytes(100_000)\ndef run(): t["k"] = big; t.select_many(["k"] * 9)',
    "feed": "s = twindex.open(sys.argv[1]); f = s.changes()\ndef run(): f.wait(0.001)",
    "deallocation": 't = s.table("t")\nclass K(str):\n  def __del__(self): sum(range(99))\n'
    'def run(): t.upsert_many([(K("k"), K("v"))] * 9)',
}

PROGRAM = """
import sys, threading, time, twindex
s = twindex.Store()
{kind}
def loop():
    while True:
        run()
run()
for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
time.sleep(0.02)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_interpreter_ends_quietly_while_daemon_threads_call(kind: str, path: Path) -> None:
    assert output_of(PROGRAM.format(kind=KINDS[kind]), path) == ""


# What neither runs Python code, nor frees or collects objects, nor takes the interpreter's lock.
HARMLESS = """
PyBuffer_FillInfo PyByteArray_AsString PyByteArray_FromStringAndSize PyByteArray_Size PyBytes_AsString PyBytes_AsStringAndSize PyBytes_FromStringAndSize
PyBytes_Size PyCMethod_New PyCallable_Check PyDict_Next PyDict_Size PyErr_ExceptionMatches
PyErr_GivenExceptionMatches PyErr_NewExceptionWithDoc PyErr_Occurred PyException_GetTraceback PyEval_SaveThread PyFloat_FromDouble
PyInterpreterState_Get PyInterpreterState_GetID PyList_Append PyList_GetItem PyList_SetItem PyList_Size PyLong_AsLong
PyLong_AsUnsignedLongLong PyLong_FromLong PyLong_FromLongLong PyLong_FromSsize_t PyLong_FromUnsignedLongLong
PyModuleDef_Init PyModule_GetNameObject PyObject_CheckBuffer PyObject_GC_UnTrack PyObject_GenericGetDict
PyObject_GenericSetDict PySequence_Check PyTuple_GetItem PyTuple_SetItem PyTuple_Size PyType_FromSpec PyType_GetFlags
PyType_GetName PyType_GetQualName PyType_GetSlot PyType_IsSubtype PyUnicode_AsUTF8AndSize
PyUnicode_FromObject PyUnicode_FromStringAndSize PyUnicode_InternInPlace PyWeakref_GetObject Py_GenericAlias Py_GetVersion Py_InitializeEx Py_IsInitialized
Py_NewRef _Py_IncRef
"""


@pytest.mark.skipif(not IS_LINUX or not shutil.which("nm"), reason="reads the library by nm")
def test_functions_that_may_take_the_lock_are_guarded() -> None:
    listing = subprocess.run(
        ["nm", "-D", "-u", _twindex.__file__], capture_output=True, text=True, check=True
    )
    called = {line.split()[-1] for line in listing.stdout.splitlines() if "Py" in line.split()[-1]}
    data = {name for name in called if name.startswith("PyExc_") or name.endswith(("Type", "Struct"))}
    assert called - data <= set(HARMLESS.split())


IN_SUBINTERPRETERS = """
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
    assert output_of(IN_SUBINTERPRETERS.format(before=before)) == "works\n"


CLOSED_AT_THE_END = """
import builtins, os, sys, twindex
class Owner:
    def __init__(self, store):
        self.store, self.table = store, store.table("t")
    def __del__(self, write=os.write):
        self.table["a"] = "1"
        self.store.close()
        write(1, b"closed ")
builtins.owners = Owner(twindex.Store()), Owner(twindex.open(sys.argv[1]))
"""


def test_finalizer_may_close_a_store_while_the_interpreter_ends(path: Path) -> None:
    assert output_of(CLOSED_AT_THE_END, path) == "closed closed "
    with twindex.open(path) as store:
        assert store.table("t")["a"] == "1"


USED_AT_THE_END = """
import asyncio, builtins, os, sys, twindex

pairs = {str(number): "1" * 1000 for number in range(20_000)}
store = twindex.Store()
table, cache = store.table("t"), twindex.Cache(max_entries=10, on_evict=print)
table.update(pairs)
watch, dump = table.watch(), store.dump()

class Owner:
    def __del__(self, use=eval("lambda " + sys.argv[1]), write=os.write):
        use()
        write(1, b"used")

async def give_up():
    # Now there is a task to wake, but nobody waits.
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0.1)
    waiting.cancel()

asyncio.run(give_up())
builtins.owners = Owner(), watch
"""


@pytest.mark.parametrize(
    "use",
    [
        "close=store.close: close()",
        "write=table.upsert_many, pairs=pairs: write(pairs)",
        "dump=store.dump: dump()",
        "load=twindex.Store.load, dump=dump: load(dump)",
        "write=cache.update, pairs=pairs: write(pairs)",
    ],
    ids=["closing", "writing", "dumping", "loading", "evicting"],
)
def test_finalizer_may_use_what_needs_the_interpreter_while_it_ends(use: str) -> None:
    """It waited for good where it woke a task, looked for signals, or told of an evicted pair."""
    assert output_of(USED_AT_THE_END, use) == "used"


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
