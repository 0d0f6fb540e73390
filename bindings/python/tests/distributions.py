"""The contents of the source distribution and the wheel, whose paths are in the environment."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

SOURCES = Path(os.environ["TWINDEX_SOURCES"])
WHEEL = Path(os.environ["TWINDEX_WHEEL"])


def test_the_wheel() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        names = set(wheel.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        text = wheel.read(metadata).decode()
    assert "-cp311-abi3-" in WHEEL.name
    package = {name.removeprefix("twindex/") for name in names if name.startswith("twindex/")}
    written = {
        path.name for path in Path("python/twindex").iterdir() if path.suffix in {".py", ".pyi", ".typed"}
    }
    written.add("py.typed")
    assert written <= package
    assert len(package - written) == 1, "one native module"
    assert {"Name: twindex", "Requires-Python: >=3.11", "License-File: LICENSE-MIT"} <= set(text.splitlines())
    assert "License-File: LICENSE-APACHE" in text.splitlines()
    assert not any("test" in name or "bench" in name for name in names)


def test_the_sources() -> None:
    with tarfile.open(SOURCES) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    wanted = {"PKG-INFO", "pyproject.toml", "Cargo.lock", "python/twindex/py.typed", "engine/src/lib.rs"}
    assert wanted <= names
    assert not any("node_modules" in name or name.endswith((".so", ".pyd")) for name in names)
    assert not any(Path(name).name.startswith(("test_", "bench")) for name in names if name.endswith(".py"))
    unneeded = [name for name in names if "/tests/" in name or name.endswith(("/sim.rs", ".json", ".twx"))]
    assert not unneeded, "only tests read them"
