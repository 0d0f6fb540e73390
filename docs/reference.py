"""What the API reference is made of: the types of the stubs, and the docstrings of the native module."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

NATIVE = "twindex._twindex"
#: An example as it stands in a docstring: from a prompt to the next empty line.
EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)", re.MULTILINE)


class NativeDocstrings(griffe.Extension):
    """Joins the stubs, which have no docstrings, and the native module, which has no types."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Completes every public object of the package."""
        stubs = pkg["_twindex"]
        native = importlib.import_module(NATIVE)
        with_overloads(stubs)
        for name, member in stubs.members.items():
            if name in native.__all__:
                describe(member, getattr(native, name))
        for module in (pkg, pkg["errors"], pkg["aio"]):
            for member in [module, *module.members.values()]:
                if not member.is_alias and member.docstring is not None:
                    member.docstring.value = fenced(member.docstring.value)


def with_overloads(scope: griffe.Module | griffe.Class) -> None:
    """Gives a name to functions of which the stubs have nothing but overloads."""
    for name, overloads in scope.overloads.items():
        if name not in scope.members:
            function = griffe.Function(name, lineno=overloads[0].lineno, parent=scope)
            function.overloads = overloads
            function.parameters = overloads[-1].parameters
            function.returns = overloads[-1].returns
            scope.set_member(name, function)
    for member in scope.members.values():
        if isinstance(member, griffe.Class):
            with_overloads(member)
            member.members = dict(sorted(member.members.items(), key=lambda named: named[1].lineno or 0))


def describe(member: griffe.Object | griffe.Alias, native: Any) -> None:
    """Adds the docstrings of an object and of its public members."""
    text = inspect.getdoc(native)
    if text and not isinstance(native, (int, str)):
        member.docstring = griffe.Docstring(fenced(text), parent=member)
    if isinstance(member, griffe.Class):
        for name, inner in member.members.items():
            if not name.startswith("_"):
                describe(inner, getattr(native, name))


def fenced(text: str) -> str:
    """The text with its examples as code."""
    return EXAMPLE.sub(lambda example: f"```pycon\n{example.group().rstrip()}\n```\n", text)
