"""Every example in the docs runs as written, and everything public has docs."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import twindex
from twindex import aio, errors

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parents[2] / "docs"
SHARED = ["cache", "codecs", "expiring", "files", "follow", "production", "transactions"]
PAGES = [README, *(DOCS / f"{page}.md" for page in SHARED), *sorted((DOCS / "python").glob("*.md"))]
# There is no pyarrow for Windows on ARM.
NEED = {"arrow": pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")}
PROGRAMS = [
    pytest.param(program, id=f"{page.stem} {number}", marks=NEED.get(page.stem, ()))
    for page in PAGES
    for number, program in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
]
CLASSES: list[type] = [twindex.Store, twindex.Table, twindex.Cache, twindex.Cursor, twindex.Scan]
CLASSES += [twindex.Batch, twindex.Changes, twindex.Watch]
CLASSES += [twindex.Snapshot, twindex.SnapshotTable, twindex.Transaction]
CLASSES += [twindex.TransactionTable, twindex.ExpiringTable, twindex.ExpiringSnapshotTable]
CLASSES += [aio.Store, aio.Changes]
PUBLIC = [
    (f"{kind.__module__}.{kind.__name__}.{name}", member)
    for kind in CLASSES
    for name, member in vars(kind).items()
    if name[0] != "_"
]


def documented() -> dict[str, Any]:
    objects: dict[str, Any] = {
        "twindex": twindex,
        "twindex.errors": errors,
        "twindex.open": twindex.open,
        "twindex.cached": twindex.cached,
        "twindex.aio": aio,
        "twindex.aio.changes": aio.changes,
        "twindex.aio.get_or_compute": aio.get_or_compute,
        "twindex.aio.open": aio.open,
        "twindex.aio.transaction": aio.transaction,
        "twindex.changes": twindex.changes,
        **dict(PUBLIC),
    }
    return objects | {f"{kind.__module__}.{kind.__name__}": kind for kind in CLASSES}


@pytest.mark.parametrize("name", [name for name, it in documented().items() if ">>>" in (it.__doc__ or "")])
def test_docstring_runs_as_written(name: str) -> None:
    check(inspect.getdoc(documented()[name]) or "", name)


@pytest.mark.parametrize("name", documented())
def test_everything_public_is_documented(name: str) -> None:
    assert inspect.getdoc(documented()[name])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_of_a_page_run_as_written(page: Path) -> None:
    check(page.read_text(encoding="utf-8").replace("```", ""), page.name)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_of_a_page_runs(program: str, tmp_path: Path) -> None:
    """In a process of its own, as a reader would run it: one of them starts others."""
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_this_is_empty() -> None:
    examples = sum(">>>" in (it.__doc__ or "") for it in documented().values())
    assert (examples > 20, len(PAGES) > 6, len(PROGRAMS) > 5) == (True, True, True)


def check(text: str, name: str) -> None:
    names = {"twindex": twindex, **vars(twindex)}
    examples = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)
    assert not output, "".join(output)
