"""The core module, the component and the tool under WASI in Python's wasmtime.

`cargo xtask test wasm` runs it with the paths of these and of the native tool.
"""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from wasmtime import Engine, ExitTrap, Instance, Linker, Module, Store, WasiConfig

MODULE, COMPONENT, WASI, NATIVE = (Path(argument).absolute() for argument in sys.argv[1:5])


class Core:
    """The module through its C interface."""

    def __init__(self) -> None:
        self.store = Store()
        module = Module.from_file(self.store.engine, str(MODULE))
        assert not module.imports
        self.exports = Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]

    def call(self, name: str, *arguments: int) -> int:
        return self.exports[f"twindex_{name}"](self.store, *arguments)

    def put(self, data: bytes) -> tuple[int, int]:
        at = self.call("alloc", len(data)) & 0xFFFFFFFF
        self.memory.write(self.store, data, at)
        return at, len(data)

    def answer(self) -> tuple[bytes, int]:
        cell = self.call("answer")
        at, length, number = struct.unpack("<IIq", self.memory.read(self.store, cell, cell + 16))
        return bytes(self.memory.read(self.store, at, at + length)), number


class TheModule(unittest.TestCase):
    def test_pairs_go_in_and_out_one_by_one_and_in_blocks(self) -> None:
        core = Core()
        self.assertEqual(core.call("abi_version"), 1)
        store = core.call("store_new", -1)
        table = core.call("table", store, *core.put(b"t"), *core.put(b"sorted"))
        self.assertGreater(table, 0)
        self.assertEqual(core.call("insert", table, *core.put(b"a"), *core.put(b"1")), 1)
        block = b"".join(struct.pack("<II", 1, 1) + pair for pair in (b"b2", b"a1", b"c3"))
        self.assertEqual(core.call("insert_many", table, *core.put(block)), 0)
        self.assertEqual(core.answer(), (b"\1\0\1", 3))
        self.assertEqual(core.call("select", table, *core.put(b"c")), 1)
        self.assertEqual(core.answer()[0], b"3")
        self.assertEqual(core.call("scan", table, 0, 0, 0, 0, 0, 0, 1, 10, 1 << 20), 0)
        backwards = b"".join(struct.pack("<II", 1, 1) + pair for pair in (b"c3", b"b2", b"a1"))
        self.assertEqual(core.answer(), (backwards, 3))


class QuickStart(unittest.TestCase):
    def test_the_page_calls_the_component(self) -> None:
        page = Path(__file__).parents[3] / "docs/component.md"
        (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(COMPONENT, Path(folder) / "twindex.component.wasm")
            ran = subprocess.run(
                [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True
            )
        self.assertEqual((ran.stdout, ran.stderr), ("b'1815'\n", ""))


class OneFileInTurn(unittest.TestCase):
    """A store in one file, opened by the native tool and by the same tool under WASI."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        self.engine = Engine()
        self.module = Module.from_file(self.engine, str(WASI))

    def wasi(self, *arguments: str) -> str:
        """What the tool prints under WASI, where the folder is the whole file system."""
        out = self.folder / "out"
        config = WasiConfig()
        config.argv = ("twindex", *arguments)
        config.preopen_dir(str(self.folder), "/")
        config.stdout_file = str(out)
        config.stderr_file = str(self.folder / "err")
        store = Store(self.engine)
        store.set_wasi(config)
        linker = Linker(self.engine)
        linker.define_wasi()
        start = linker.instantiate(store, self.module).exports(store)["_start"]
        try:
            start(store)
        except ExitTrap as ended:
            self.assertEqual(ended.code, 0, (self.folder / "err").read_text())
        return out.read_text()

    def native(self, *arguments: str) -> str:
        ran = subprocess.run([NATIVE, *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_each_reads_what_the_other_wrote(self) -> None:
        head = '{"table":"t","index":"sorted","keys":"str","values":"str"}'
        seen = [head]
        for turn, (write, read, root) in enumerate(
            [(self.native, self.wasi, ""), (self.wasi, self.native, "/")] * 2
        ):
            pairs = [f'{{"table":"t","key":"{turn} {at:04}","value":"x"}}' for at in range(500)]
            (self.folder / "in").write_text("\n".join([head, *pairs]) + "\n")
            write("import", f"{root}a.twx", f"{root}in")
            seen += pairs
            other = "" if root else "/"
            self.assertEqual(read("export", f"{other}a.twx").splitlines(), seen)
            read("check", f"{other}a.twx")
            read("compact", f"{other}a.twx")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
