"""What caches and codecs of every language must do alike."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest

import twindex
from support import CONFORMANCE, decoded

CASES: list[dict[str, Any]] = json.loads((CONFORMANCE / "caches.json").read_text(encoding="utf-8"))["cases"]


def seconds(step: dict[str, Any]) -> dict[str, Any]:
    """The time to live that a step says, if it does."""
    if "ttl" not in step:
        return {}
    return {"ttl": math.inf if step["ttl"] is None else step["ttl"] / 1000}


class Runner:
    def __init__(self, options: dict[str, Any]) -> None:
        sizes = {"capacity": options.get("bytes"), "max_entries": options.get("max")}
        self.cache: twindex.Cache[bytes, bytes] = twindex.Cache(
            keys="bytes", values="bytes", **sizes, **seconds(options)
        )

    def run(self, step: dict[str, Any]) -> Any:
        cache = self.cache
        match step:
            case {"do": "insert" | "replace" | "upsert" as verb, "key": key, "value": value}:
                return getattr(cache, verb)(decoded(key), decoded(value), **seconds(step))
            case {"do": "select" | "peek" | "contains" | "delete" as verb, "key": key}:
                return getattr(cache, verb)(decoded(key))
            case {"do": "increment", "key": key, "by": by}:
                return cache.increment(decoded(key), by)
            case {"do": "compare_and_swap", "key": key, "expected": expected, "new": new}:
                return cache.compare_and_swap(decoded(key), decoded(expected), decoded(new))
            case {"do": "touch", "key": key}:
                return cache.touch(decoded(key), *seconds(step).values())
            case {"do": "ttl", "key": key}:
                return cache.ttl(decoded(key))
            case {"do": "len"}:
                return len(cache)
            case {"do": "iter"}:
                return [list(pair) for pair in sorted(cache.items())]
            case {"do": "stats"}:
                return cache.stats()
            case {"do": "clear"}:
                return cache.clear()
            case {"do": "advance", "ms": ms}:
                return time.sleep(ms / 1000)
            case _:
                raise AssertionError(f"no such step: {step}")


def check(runner: Runner, step: dict[str, Any]) -> None:
    match step["expect"]:
        case {"error": code}:
            with pytest.raises(twindex.Error) as raised:
                runner.run(step)
            assert raised.value.code == code
        case {"most": most}:
            left = runner.run(step)
            assert left is not None
            assert 0 < left <= most / 1000
        case expected:
            result = runner.run(step)
            if step["do"] == "ttl":
                assert result == {"ever": math.inf, None: None}[expected]
            elif step["do"] == "stats":
                assert {name: result[name] for name in expected} == expected
            else:
                assert result == decoded(expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cache_vector(case: dict[str, Any]) -> None:
    runner = Runner(case["options"])
    for number, step in enumerate(case["steps"]):
        try:
            check(runner, step)
        except BaseException as error:
            error.add_note(f"step {number}: {json.dumps(step)[:300]}")
            raise


CONTENT: dict[str, list[dict[str, Any]]] = json.loads(
    (CONFORMANCE / "codecs.json").read_text(encoding="utf-8")
)


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
