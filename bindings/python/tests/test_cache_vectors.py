"""What caches of every language must do alike."""

from __future__ import annotations

import json
import math
import time
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
