"""CPython's own tests of the mapping protocol, where the interpreter comes with its tests."""

from __future__ import annotations

import importlib.util
from typing import Any

import twindex

if (
    importlib.util.find_spec("test") is not None
    and importlib.util.find_spec("test.mapping_tests") is not None
):
    from test import mapping_tests  # type: ignore[import-not-found]

    class TestMappingProtocol(mapping_tests.BasicTestMappingProtocol):  # type: ignore[misc]
        """The same checks that `dict` and `collections.UserDict` pass."""

        index: Any = "hash"

        def _reference(self) -> dict[str, str]:
            return {"1": "2", "key1": "value1", "key2": "value2"}

        def _empty_mapping(self) -> twindex.Table[str, str]:
            return twindex.Store().table("t", self.index, keys="str", values="str")

    class TestMappingProtocolSorted(TestMappingProtocol):
        """The same on a sorted table."""

        index = "sorted"

    class TestMappingProtocolCache(TestMappingProtocol):
        """The same on a cache."""

        def _empty_mapping(self) -> Any:
            return twindex.Cache(maxsize=100)


def test_reading_and_writing() -> None:
    """What those tests come down to, for an interpreter without them."""
    table = twindex.Store().table("t", keys="str", values="str")
    table["1"] = "2"
    assert (list(table), list(table.values()), list(table.items())) == (["1"], ["2"], [("1", "2")])
    del table["1"]
    assert "1" not in table
