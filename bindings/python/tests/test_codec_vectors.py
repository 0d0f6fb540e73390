"""The vectors of the codecs, which the other languages run too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex

VECTORS = Path(__file__).parents[3] / "conformance/codecs.json"
CONTENT: dict[str, list[dict[str, Any]]] = json.loads(VECTORS.read_text(encoding="utf-8"))


def read(value: Any, of: str) -> Any:
    """What a vector says, where a list is a tuple, except in JSON."""
    match value:
        case list():
            items = [read(item, of) for item in value]
            return items if of == "json" else tuple(items)
        case {"hex": text}:
            return bytes.fromhex(text)
        case {"view": text}:
            return memoryview(bytearray.fromhex(text))
        case {"detached": _}:
            view = memoryview(bytearray(1))
            view.release()
            return view
        case {"utf16": text}:
            return bytes.fromhex(text).decode("utf-16-be", "surrogatepass")
        case {"int": text}:
            return int(text)
        case {"float": text}:
            return float(text)
        case _:
            return value


class Column:
    """The keys or the values of a table with one pair, as a codec has them and as they are stored."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.is_key = case["column"] == "key"
        self.codec = case["codec"]
        store = twindex.Store()
        codecs: dict[str, Any] = {"keys": "bytes", "values": "bytes"}
        codecs["keys" if self.is_key else "values"] = self.codec
        self.table: twindex.Table[Any, Any] = store.table("t", **codecs)
        self.raw = store.table("t", keys="bytes", values="bytes")

    @staticmethod
    def _set(table: twindex.Table[Any, Any], is_key: bool, item: Any) -> None:
        table[item if is_key else b""] = b"" if is_key else item

    def write(self, value: Any) -> str:
        """Writes it by the codec: the bytes that are stored."""
        self._set(self.table, self.is_key, read(value, self.codec))
        [(key, stored)] = self.raw.items()
        return (key if self.is_key else stored).hex()

    def read(self, stored: str) -> Any:
        """What the codec makes of these bytes."""
        self._set(self.raw, self.is_key, bytes.fromhex(stored))
        [(key, value)] = self.table.items()
        return key if self.is_key else value


@pytest.mark.parametrize(
    "case", CONTENT["cases"], ids=lambda case: f"{case['column']} {case['codec']} {case['hex'][:16]}"
)
def test_codec(case: dict[str, Any]) -> None:
    assert Column(case).write(case["value"]) == case["hex"]
    assert Column(case).read(case["hex"]) == read(case["value"], case["codec"])


@pytest.mark.parametrize(
    "case", CONTENT["refused"], ids=lambda case: f"{case['column']} {case['codec']} {case['hex']}"
)
def test_what_no_writer_makes_is_refused(case: dict[str, Any]) -> None:
    """Bytes were read as a tuple that has other bytes, so that a key that a scan had shown was not found."""
    with pytest.raises(twindex.Error):
        Column(case).read(case["hex"])


@pytest.mark.parametrize("case", CONTENT["decided"], ids=lambda case: case["name"])
def test_what_languages_did_in_different_ways(case: dict[str, Any]) -> None:
    column = Column(case)
    does: Callable[[], Any] = (
        (lambda: column.read(case["read"])) if "read" in case else (lambda: column.write(case["write"]))
    )
    match case["gives"]:
        case {"code": code, **more}:
            with pytest.raises(twindex.Error) as raised:
                does()
            assert raised.value.code == code
            assert str(raised.value) == more.get("message", str(raised.value))
        case {"hex": stored}:
            assert does() == stored
        case {"value": value}:
            expected = read(value, case["codec"])
            found = does()
            assert found == expected
            assert repr(found) == repr(expected)
