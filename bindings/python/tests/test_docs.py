"""Every example in the docs runs as written, and everything public has docs."""

from __future__ import annotations

import doctest
import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import twindex
from twindex import errors

README = Path(__file__).parents[1] / "README.md"
CLASSES = [twindex.Store, twindex.Table, twindex.Cursor, twindex.Scan, twindex.Batch]
PUBLIC = [
    (f"{kind.__name__}.{name}", member)
    for kind in CLASSES
    for name, member in vars(kind).items()
    if name[0] != "_"
]


def documented() -> dict[str, Any]:
    objects: dict[str, Any] = {
        "twindex": twindex,
        "twindex.errors": errors,
        "twindex.open": twindex.open,
        **dict(PUBLIC),
    }
    return objects | {kind.__name__: kind for kind in CLASSES}


@pytest.mark.parametrize("name", [name for name, it in documented().items() if ">>>" in (it.__doc__ or "")])
def test_docstring(name: str) -> None:
    check(inspect.getdoc(documented()[name]) or "", name)


@pytest.mark.parametrize("name", documented())
def test_everything_public_is_documented(name: str) -> None:
    assert inspect.getdoc(documented()[name])


def test_there_are_examples() -> None:
    examples = sum(">>>" in (it.__doc__ or "") for it in documented().values())
    assert examples > 20


def test_readme_sessions() -> None:
    check(README.read_text(encoding="utf-8"), "README.md")


@pytest.mark.parametrize(
    "program", re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
)
def test_readme_program(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "assert" in program
    script = tmp_path / "readme.py"
    script.write_text(program, encoding="utf-8")
    runpy.run_path(str(script))


def check(text: str, name: str) -> None:
    names = {"twindex": twindex, **vars(twindex)}
    examples = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)
    assert not output, "".join(output)
