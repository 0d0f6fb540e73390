"""The vectors of the codecs, which the other languages run too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twindex

VECTORS = Path(__file__).parents[3] / "conformance/codecs.json"
CONTENT: dict[str, list[dict[str, Any]]] = json.loads(VECTORS.read_text(encoding="utf-8"))
CASES = CONTENT["cases"]


def read(value: Any) -> Any:
    """What a vector says."""
    match value:
        case list():
            return tuple(read(item) for item in value)
        case {"hex": text}:
            return bytes.fromhex(text)
        case {"int": text}:
            return int(text)
        case {"float": text}:
            return float(text)
        case _:
            return value


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['column']} {case['codec']} {case['hex'][:16]}"
)
def test_codec(case: dict[str, Any]) -> None:
    store = twindex.Store()
    is_key = case["column"] == "key"
    codecs: dict[str, Any] = {"keys" if is_key else "values": case["codec"]}
    table: twindex.Table[Any, Any] = store.table("t", **codecs)
    value = read(case["value"])
    table[value if is_key else b""] = b"" if is_key else value
    [(key, stored)] = store.table("t").items()
    assert (key if is_key else stored).hex() == case["hex"]
    [(key, stored)] = table.items()
    assert (key if is_key else stored) == value


@pytest.mark.parametrize(
    "case", CONTENT["refused"], ids=lambda case: f"{case['column']} {case['codec']} {case['hex']}"
)
def test_what_no_writer_makes_is_refused(case: dict[str, Any]) -> None:
    """Bytes were read as a tuple that has other bytes, so that a key that a scan had shown was not found."""
    store = twindex.Store()
    is_key = case["column"] == "key"
    codecs: dict[str, Any] = {"keys" if is_key else "values": case["codec"]}
    stored = bytes.fromhex(case["hex"])
    store.table("t")[stored if is_key else b""] = b"" if is_key else stored
    table: twindex.Table[Any, Any] = store.table("t", **codecs)
    with pytest.raises(twindex.Error):
        list(table.items())
