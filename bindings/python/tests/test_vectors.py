"""The vectors that every language runs: verbs with their expected results, errors included."""

from __future__ import annotations

import json
import math
import time
from typing import Any, TypeAlias

import pytest

import twindex
from support import CONFORMANCE, Index, decoded

FILE = json.loads((CONFORMANCE / "vectors.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = FILE["cases"]
EXPIRING = [{**case, "expires": True} for case in FILE["expiring"]]
RANGE_OPTIONS = ("gt", "gte", "lt", "lte", "prefix")

Step: TypeAlias = dict[str, Any]


def plain(result: Any) -> Any:
    """A result in which pairs are lists, as in the vectors."""
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    return result


def seconds(step: Step) -> dict[str, Any]:
    """The time to live that a step names."""
    match step:
        case {"ttl": None}:
            return {"ttl": math.inf}
        case {"ttl": int() | float() | str() as ttl}:
            return {"ttl": float(ttl) / 1000}
        case _:
            return {"ttl": step["ttl"]} if "ttl" in step else {}


class Runner:
    """One store, its open tables and cursors."""

    def __init__(self, index: Index | None, expires: bool | None = None) -> None:
        self.store = twindex.Store()
        self.tables: dict[str, Any] = {}
        self.cursors: dict[str, Any] = {}
        self.scopes: dict[str, tuple[Any, dict[str, Any]]] = {}
        if index is not None:
            self.open("t", index, expires)

    def open(self, name: str, index: Index | None, expires: bool | None = None) -> None:
        table: Any = self.store.table
        more = {} if expires is None else {"expires": expires}
        self.tables[name] = table(name, index, keys="bytes", values="bytes", **more)

    def table(self, step: Step) -> Any:
        """The table of a step: of the store, of a snapshot or of a transaction."""
        name = step.get("table", "t")
        if "in" not in step:
            return self.tables.get(name)
        scope, tables = self.scopes[step["in"]]
        if name not in tables:
            tables[name] = scope.table(name, keys="bytes", values="bytes")
        return tables[name]

    def run(self, step: Step) -> Any:
        bounds = {name: decoded(step[name]) for name in RANGE_OPTIONS if name in step}
        ttl = seconds(step)
        match step:
            case {"do": "snapshot" | "transaction" as verb, "id": scope}:
                self.scopes[scope] = (getattr(self.store, verb)(), {})
                return None
            case {"do": "commit", "in": scope}:
                return self.scopes[scope][0].commit()
            case {"do": "end", "in": scope}:
                return self.scopes[scope][0].close()
            case {"do": "seek", "id": cursor, "key": key}:
                return self.cursors[cursor].seek(decoded(key))
            case {"do": "key" | "value" as name, "id": cursor}:
                return getattr(self.cursors[cursor], name)
        table: Any = self.table(step)
        match step:
            case {"do": "insert" | "replace" | "upsert" as verb, "key": key, "value": value}:
                return getattr(table, verb)(decoded(key), decoded(value), **ttl)
            case {"do": "delete" | "select" | "contains" | "take" as verb, "key": key}:
                return getattr(table, verb)(decoded(key))
            case {"do": "insert_many" | "replace_many" | "upsert_many" as verb, "pairs": pairs}:
                return getattr(table, verb)(decoded(pairs), **ttl)
            case {"do": "delete_many" | "select_many" | "contains_many" as verb, "keys": keys}:
                return getattr(table, verb)(decoded(keys))
            case {"do": "increment", "key": key, "by": by}:
                return table.increment(decoded(key), by, **ttl)
            case {"do": "increment_many", "amounts": amounts}:
                return table.increment_many([(decoded(key), by) for key, by in amounts], **ttl)
            case {"do": "compare_and_swap", "key": key, "expected": expected, "new": new}:
                return table.compare_and_swap(decoded(key), decoded(expected), decoded(new))
            case {"do": "compare_and_swap_many", "swaps": swaps}:
                return table.compare_and_swap_many(decoded(swaps))
            case {"do": "alter", "key": key, "append": suffix}:
                return table.alter(decoded(key), lambda value: (value or b"") + decoded(suffix))
            case {"do": "alter", "key": key}:
                answer = twindex.DELETE if "remove" in step else twindex.KEEP
                return table.alter(decoded(key), lambda _: answer)
            case {"do": "first" | "last" | "pop_first" | "pop_last" as verb}:
                return getattr(table, verb)()
            case {"do": "delete_range"}:
                return table.delete_range(**bounds)
            case {"do": "delete_prefix", "prefix": prefix}:
                return table.delete_prefix(decoded(prefix))
            case {"do": "len"}:
                return len(table)
            case {"do": "clear"}:
                return table.clear()
            case {"do": "iter"}:
                return sorted(table.items())
            case {"do": "scan"}:
                options = {name: step[name] for name in ("reverse", "limit") if name in step}
                return list(table.scan(**bounds, **options))
            case {"do": "cursor", "id": cursor}:
                self.cursors[cursor] = table.cursor(**bounds)
            case {"do": "scan_asc_next" | "scan_desc_next" as verb, "id": cursor}:
                return getattr(self.cursors[cursor], verb)()
            case {"do": "scan_asc_next_many" | "scan_desc_next_many" as verb, "id": cursor, "limit": limit}:
                return getattr(self.cursors[cursor], verb)(limit)
            case {"do": "touch", "key": key}:
                return table.touch(decoded(key), *ttl.values())
            case {"do": "ttl", "key": key}:
                left = table.ttl(decoded(key))
                return b"ever" if left == math.inf else left
            case {"do": "remove_expired", "limit": limit}:
                return table.remove_expired(limit)
            case {"do": "advance", "ms": ms}:
                return time.sleep(ms / 1000)
            case {"do": "table", "name": name}:
                self.open(name, step.get("index"), step.get("expires"))
            case {"do": "tables"}:
                return self.store.tables()
            case {"do": "drop_table", "name": name}:
                return self.store.drop_table(name)
            case {"do": "memory_limit", "bytes": limit}:
                self.store.memory_limit = limit
            case {"do": "reload"}:
                self.store = twindex.Store.load(self.store.dump())
                self.tables = {}
                for name, index in self.store.tables():
                    self.open(name, index)
            case {"do": "load", "bytes": dump}:
                twindex.Store.load(decoded(dump))
            case {"do": "close"}:
                return self.store.close()
            case _:
                raise AssertionError(f"no such step: {step}")
        return None


def expected(step: Step) -> Any:
    if step["do"] == "tables":
        return step["expect"]
    value = decoded(step["expect"])
    return sorted(value) if step["do"] == "iter" and isinstance(value, list) else value


def check(runner: Runner, step: Step) -> None:
    match step["expect"]:
        case {"error": code, **rest}:
            with pytest.raises(twindex.Error) as raised:
                runner.run(step)
            assert raised.value.code == code, raised.value
            assert str(rest.get("mentions", "")) in str(raised.value)
        case {"most": most}:
            assert 0 < runner.run(step) <= most / 1000
        case _:
            result = plain(runner.run(step))
            assert result == expected(step)
            # 1 == True, but a verb that tells whether it took effect returns a bool.
            assert type(result) is type(expected(step))


@pytest.mark.parametrize(
    ("case", "index"),
    [
        pytest.param(case, index, id=f"{case['name']}, {index or 'no table'}")
        for case in CASES + EXPIRING
        for index in case["index"] or [None]
    ],
)
def test_vector(case: dict[str, Any], index: Index | None) -> None:
    runner = Runner(index, case.get("expires"))
    for number, step in enumerate(case["steps"]):
        try:
            check(runner, step)
        except BaseException as error:
            error.add_note(f"step {number}: {json.dumps(step)[:300]}")
            raise
