"""The vectors that every language runs: verbs with their expected results, errors included."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

import twindex

VECTORS = Path(__file__).resolve().parents[3] / "conformance" / "vectors.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
RANGE_OPTIONS = ("gt", "gte", "lt", "lte", "prefix")

Step: TypeAlias = dict[str, Any]
Index: TypeAlias = Literal["hash", "sorted"]


def decoded(value: Any) -> Any:
    """Bytes from their form in the vectors, in lists too; anything else stands for itself."""
    match value:
        case str():
            return value.encode()
        case list():
            return [decoded(item) for item in value]
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"repeat": digits, "times": times}:
            return bytes.fromhex(digits) * times
        case _:
            return value


def plain(result: Any) -> Any:
    """A result in which pairs are lists, as in the vectors."""
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    return result


class Runner:
    """One store, its open tables and cursors, and a method for each step."""

    def __init__(self, index: Index | None) -> None:
        self.store = twindex.Store()
        self.tables: dict[str, twindex.Table[Any, Any]] = {}
        self.cursors: dict[str, twindex.Cursor[Any, Any]] = {}
        if index is not None:
            self.tables["t"] = self.store.table("t", index=index, keys="bytes", values="bytes")

    def run(self, step: Step) -> Any:
        do = step["do"]
        name = f"do_{do}"
        assert hasattr(self, name), f"no such step: {do}"
        method: Callable[[Step], Any] = getattr(self, name)
        return method(step)

    def table(self, step: Step) -> twindex.Table[Any, Any]:
        return self.tables[step.get("table", "t")]

    def arguments(self, step: Step, *names: str) -> list[Any]:
        return [decoded(step[name]) for name in names]

    def verb(self, step: Step, *names: str) -> Any:
        return getattr(self.table(step), step["do"])(*self.arguments(step, *names))

    def do_pair(self, step: Step) -> Any:
        return self.verb(step, "key", "value")

    def do_key(self, step: Step) -> Any:
        return self.verb(step, "key")

    def do_pairs(self, step: Step) -> Any:
        return self.verb(step, "pairs")

    def do_keys(self, step: Step) -> Any:
        return self.verb(step, "keys")

    do_insert = do_replace = do_upsert = do_pair
    do_delete = do_select = do_contains = do_key
    do_insert_many = do_replace_many = do_upsert_many = do_pairs
    do_delete_many = do_select_many = do_contains_many = do_keys

    def do_increment(self, step: Step) -> Any:
        return self.table(step).increment(decoded(step["key"]), step["by"])

    def do_increment_many(self, step: Step) -> Any:
        return self.table(step).increment_many([(decoded(key), by) for key, by in step["amounts"]])

    def do_compare_and_swap(self, step: Step) -> Any:
        return self.verb(step, "key", "expected", "new")

    def do_compare_and_swap_many(self, step: Step) -> Any:
        return self.verb(step, "swaps")

    def do_alter(self, step: Step) -> Any:
        def change(value: bytes | None) -> object:
            if "append" in step:
                suffix: bytes = decoded(step["append"])
                return (value or b"") + suffix
            return twindex.DELETE if "remove" in step else twindex.KEEP

        return self.table(step).alter(decoded(step["key"]), change)

    def do_len(self, step: Step) -> Any:
        return len(self.table(step))

    def do_clear(self, step: Step) -> Any:
        return self.table(step).clear()

    def do_iter(self, step: Step) -> Any:
        return sorted(self.table(step).items())

    def range_of(self, step: Step) -> dict[str, Any]:
        return {name: decoded(step[name]) for name in RANGE_OPTIONS if name in step}

    def do_scan(self, step: Step) -> Any:
        options = {name: step[name] for name in ("reverse", "limit") if name in step}
        return list(self.table(step).scan(**self.range_of(step), **options))

    def do_cursor(self, step: Step) -> Any:
        self.cursors[step["id"]] = self.table(step).cursor(**self.range_of(step))

    def do_next(self, step: Step) -> Any:
        return getattr(self.cursors[step["id"]], step["do"])()

    def do_next_many(self, step: Step) -> Any:
        return getattr(self.cursors[step["id"]], step["do"])(step["limit"])

    do_scan_asc_next = do_scan_desc_next = do_next
    do_scan_asc_next_many = do_scan_desc_next_many = do_next_many

    def do_table(self, step: Step) -> Any:
        self.tables[step["name"]] = self.store.table(
            step["name"], index=step["index"], keys="bytes", values="bytes"
        )

    def do_tables(self, step: Step) -> Any:
        del step
        return self.store.tables()

    def do_drop_table(self, step: Step) -> Any:
        return self.store.drop_table(step["name"])

    def do_memory_limit(self, step: Step) -> Any:
        self.store.memory_limit = step["bytes"]

    def do_reload(self, step: Step) -> Any:
        del step
        self.store = twindex.Store.load(self.store.dump())
        self.tables = {
            name: self.store.table(name, index=index, keys="bytes", values="bytes")
            for name, index in self.store.tables()
        }

    def do_load(self, step: Step) -> Any:
        twindex.Store.load(decoded(step["bytes"]))

    def do_close(self, step: Step) -> Any:
        del step
        return self.store.close()


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
        case _:
            result = plain(runner.run(step))
            assert result == expected(step)
            # 1 == True, but a verb that tells whether it took effect returns a bool.
            assert type(result) is type(expected(step))


@pytest.mark.parametrize(
    ("case", "index"),
    [
        pytest.param(case, index, id=f"{case['name']}, {index or 'no table'}")
        for case in CASES
        for index in case["index"] or [None]
    ],
)
def test_vector(case: dict[str, Any], index: Index | None) -> None:
    runner = Runner(index)
    for number, step in enumerate(case["steps"]):
        try:
            check(runner, step)
        except BaseException as error:
            error.add_note(f"step {number}: {json.dumps(step)[:300]}")
            raise


def test_an_unknown_step_fails() -> None:
    with pytest.raises(AssertionError, match="no such step"):
        Runner("hash").run({"do": "juggle"})
