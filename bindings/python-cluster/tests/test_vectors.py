"""The vectors of all verbs, as every host runs them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import twindex
import twindex.aio

CASES = json.loads((Path(__file__).parents[3] / "conformance/vectors.json").read_text())["cases"]
# A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
OF_MEMORY = {"memory_limit", "reload", "load"}
# In the engine a batch is done one by one; here it is done by several servers at once.
DONE_OTHERWISE = "increment_many stops at the first that fails"


def runs_here(case: dict[str, Any]) -> bool:
    verbs = {step["do"] for step in case["steps"]}
    return case["name"] != DONE_OTHERWISE and ("close" in verbs or not verbs & OF_MEMORY)


def test_only_what_is_of_memory_is_left_out() -> None:
    assert len([case for case in CASES if not runs_here(case)]) == 15


def decoded(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and "hex" in value:
        return bytes.fromhex(value["hex"])
    if isinstance(value, dict) and "repeat" in value:
        return bytes.fromhex(value["repeat"]) * value["times"]
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def plain(result: Any) -> Any:
    return [plain(item) for item in result] if isinstance(result, list | tuple) else result


class Runner:
    """Runs the steps of a case. Every result is awaited where it can be."""

    def __init__(self, store: Any, awaits: bool) -> None:
        self.store = store
        self.awaits = awaits
        self.tables: dict[str, Any] = {}
        self.cursors: dict[str, Any] = {}

    async def get(self, result: Any) -> Any:
        return await result if self.awaits else result

    async def run(self, step: dict[str, Any]) -> Any:
        verb = step["do"]
        table: Any = self.tables.get(step.get("table", "t"))
        if verb == "table":
            options = {"keys": "bytes", "values": "bytes"}
            self.tables[step["name"]] = await self.get(
                self.store.table(step["name"], step["index"], **options)
            )
            return None
        if verb == "tables":
            return plain(await self.get(self.store.tables()))
        if verb == "drop_table":
            return await self.get(self.store.drop_table(step["name"]))
        if verb == "close":
            return self.store.close()
        if "_next" in verb:
            move = getattr(self.cursors[step["id"]], verb)
            return plain(await self.get(move(step["limit"]) if "limit" in step else move()))
        ends: dict[str, Any] = {
            name: decoded(step[name]) for name in ("gt", "gte", "lt", "lte", "prefix") if name in step
        }
        if verb == "cursor":
            self.cursors[step["id"]] = table.cursor(**ends)
            return None
        return plain(await self.on_table(table, verb, step, ends))

    async def on_table(self, table: Any, verb: str, step: dict[str, Any], ends: dict[str, Any]) -> Any:
        if verb == "scan":
            options = {name: step[name] for name in ("reverse", "limit") if name in step}
            return await self.all(table.scan(**ends, **options))
        if verb == "iter":
            return sorted(await self.all(aiter(table) if self.awaits else table.items()))
        if verb == "len":
            return await self.get(table.len()) if self.awaits else len(table)
        if verb == "alter":
            return await self.get(table.alter(decoded(step["key"]), lambda old: altered(old, step)))
        if verb == "increment":
            return await self.get(table.increment(decoded(step["key"]), step["by"]))
        if verb == "increment_many":
            return await self.get(table.increment_many([(decoded(key), by) for key, by in step["amounts"]]))
        names = ("key", "value", "expected", "new", "keys", "pairs", "swaps")
        arguments = [decoded(step[name]) for name in names if name in step]
        return await self.get(getattr(table, verb)(*arguments))

    async def all(self, source: Any) -> list[Any]:
        return [list(pair) async for pair in source] if self.awaits else [list(pair) for pair in source]


def altered(old: bytes | None, step: dict[str, Any]) -> Any:
    if "append" in step:
        return (old or b"") + decoded(step["append"])
    return twindex.DELETE if "remove" in step else twindex.KEEP


async def run(case: dict[str, Any], index: str | None, url: str, namespace: str, awaits: bool) -> None:
    if awaits:
        store = await twindex.aio.connect(url, namespace=namespace)
    else:
        store = twindex.connect(url, namespace=namespace)
    runner = Runner(store, awaits)
    if index is not None:
        await runner.run({"do": "table", "name": "t", "index": index})
    for number, step in enumerate(case["steps"]):
        if step["do"] in OF_MEMORY:
            continue
        expect = step["expect"]
        where = f"step {number}: {json.dumps(step)[:300]}"
        if isinstance(expect, dict) and "error" in expect:
            with pytest.raises(twindex.Error) as raised:
                await runner.run(step)
            assert raised.value.code == expect["error"], where
            assert expect.get("mentions", "") in str(raised.value), where
        else:
            expected = expect if step["do"] == "tables" else decoded(expect)
            assert await runner.run(step) == expected, where
    store.close()


@pytest.mark.parametrize("awaits", [False, True], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("case", [case for case in CASES if runs_here(case)], ids=lambda case: case["name"])
def test_case(case: dict[str, Any], awaits: bool, url: str, namespace: str) -> None:
    for index in case["index"] or [None]:
        asyncio.run(run(case, index, url, f"{namespace}-{index}", awaits))
