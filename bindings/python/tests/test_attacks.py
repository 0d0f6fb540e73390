"""Attacks at random, in their shortest form: what they find becomes a test of its own, with its story.

They know of Twindex what its documents promise, and nothing of its inside. `TWINDEX_STRESS` makes them so many times as long,
`TWINDEX_SEED` gives other random numbers.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import IS_LINUX, SHORT_OF_MEMORY, python

STRESS = float(os.environ.get("TWINDEX_STRESS", "1"))
SEED = int(os.environ.get("TWINDEX_SEED", "1"))

# --- a model of stores

NAMES = ("a", "b", "c", "é", "x" * 255)
CODECS = ("bytes", "str", "int", "tuple")

Content = dict[str, tuple[str, tuple[str, str], dict[Any, Any]]]


class Model:
    """A store in a file, and dicts which are to hold the same, whatever is done to both, refused or thrown away."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = path
        #: Of each table its index, codecs and pairs.
        self.tables: Content = {}
        self.handles: dict[str, Any] = {}
        self.store: Any = None
        self.reopen()

    def reopen(self) -> None:
        if self.store is not None:
            self.store.close()
        durability: Any = self.random.choice(["none", "everysec", "always"])
        self.store = twindex.open(self.path, durability=durability)
        self.handles = {name: self.store.table(name, index) for name, (index, _, _) in self.tables.items()}
        self.check()

    def check(self) -> None:
        """Also a dump has all that there is."""
        for store in (self.store, twindex.Store.load(self.store.dump())):
            content = {
                name: (index, (table := store.table(name, index)).codecs, dict(table.items()))
                for name, index in store.tables()
            }
            assert content == self.tables

    def item(self, codec: str) -> Any:
        """A key of a codec, seldom a new one."""
        number = self.random.randrange(40)
        match codec:
            case "bytes":
                return b"%d" % number * self.random.choice([0, 1, 1, 3, 200])
            case "str":
                return f"é{number}" * self.random.choice([0, 1, 1, 100])
            case "int":
                return self.random.choice([number, -number, number << 57])
            case _:
                return (f"{number}", None, (number, b"\0"))[: self.random.randrange(4)]

    def value(self, codec: str) -> Any:
        if codec == "json":
            return self.random.choice([None, 1.5, [self.random.randrange(9)], {"a": "é" * 30}, "x" * 9_000])
        return self.random.choice([-1, 0, 7, 2**63 - 1, -(2**63)])

    # One step each, done to both.

    def step(self) -> None:
        steps = [self.write] * 12 + [self.write_many] * 4 + [self.batch] * 4 + [self.create] * 2
        self.random.choice([*steps, self.drop, self.clear, self.reopen, self.check])()

    def some(self) -> tuple[str, Any, dict[Any, Any], Any, Any] | None:
        """A table, its dict, and a key and a value for it."""
        if not self.tables:
            return None
        name = self.random.choice(list(self.tables))
        _, (keys, values), pairs = self.tables[name]
        return name, self.handles[name], pairs, self.item(keys), self.value(values)

    def create(self) -> None:
        name, index = self.random.choice(NAMES), self.random.choice(["hash", "sorted"])
        codecs = self.random.choice(CODECS), self.random.choice(["json", "int"])
        known = self.tables.get(name)
        if known is None or known[:2] == (index, codecs):
            self.handles[name] = self.store.table(name, index, keys=codecs[0], values=codecs[1])
            self.tables.setdefault(name, (index, codecs, {}))
        elif codecs[0] != "bytes":
            # As which any table can be seen.
            with pytest.raises((twindex.WrongIndexError, twindex.WrongCodecError)):
                self.store.table(name, index, keys=codecs[0], values=codecs[1])

    def drop(self) -> None:
        name = self.random.choice(NAMES)
        assert self.store.drop_table(name) == (self.tables.pop(name, None) is not None)
        self.handles.pop(name, None)

    def clear(self) -> None:
        if some := self.some():
            _, table, pairs, _, _ = some
            table.clear()
            pairs.clear()

    def write(self) -> None:
        if not (some := self.some()):
            return
        _, table, pairs, key, value = some
        was = pairs.get(key)
        match self.random.randrange(10):
            case 0:
                assert table.insert(key, value) == (key not in pairs)
                pairs.setdefault(key, value)
            case 1:
                assert table.replace(key, value) == (key in pairs)
                if key in pairs:
                    pairs[key] = value
            case 2:
                table[key] = value
                pairs[key] = value
            case 3:
                assert table.delete(key) == (key in pairs)
                pairs.pop(key, None)
            case 4:
                expected = was if self.random.random() < 0.7 else 5
                # `None` is a value of JSON and stands for none of integers, so it is left to other tests here.
                if None in (expected, value):
                    return
                swaps = key in pairs and was == expected
                assert table.compare_and_swap(key, expected, value) == swaps
                if swaps:
                    pairs[key] = value
            case 5:
                by = self.random.choice([1, -5, 2**62])
                is_number = key not in pairs or (isinstance(was, int) and not isinstance(was, bool))
                total = (was or 0) + by if is_number else 0
                if is_number and -(2**63) <= total < 2**63:
                    assert table.increment(key, by) == total
                    pairs[key] = total
                else:
                    with pytest.raises((twindex.NotAnIntegerError, twindex.IntegerOverflowError)):
                        table.increment(key, by)
            case 6:
                change = self.random.choice([value, twindex.KEEP, twindex.DELETE])
                table.alter(key, lambda _: change, None)
                if change is twindex.DELETE:
                    pairs.pop(key, None)
                elif change is not twindex.KEEP:
                    pairs[key] = change
            case 7:
                assert table.pop(key, "none") == pairs.pop(key, "none")
            case 8:
                assert table.setdefault(key, value) == pairs.setdefault(key, value)
            case _ if pairs:
                found, value = table.popitem()
                assert pairs.pop(found) == value

    def write_many(self) -> None:
        if not (some := self.some()):
            return
        name, table, pairs, _, _ = some
        _, (keys, values), _ = self.tables[name]
        many = [(self.item(keys), self.value(values)) for _ in range(self.random.choice([0, 1, 20, 300]))]
        if self.random.random() < 0.2:
            # All are checked before the first is written.
            wrong: Any = self.random.choice([object(), ((), (), object()), 2.5])
            with pytest.raises((TypeError, ValueError)):
                table.upsert_many([*many, (wrong, 1)])
            return
        verb = self.random.choice(["insert_many", "replace_many", "upsert_many", "delete_many"])
        outcomes = []
        for key, value in many:
            outcomes.append({"insert_many": key not in pairs, "upsert_many": True}.get(verb, key in pairs))
            if verb == "delete_many":
                pairs.pop(key, None)
            elif outcomes[-1]:
                pairs[key] = value
        given = [key for key, _ in many] if verb == "delete_many" else many
        assert getattr(table, verb)(given) == outcomes

    def batch(self) -> None:
        """A batch is done whole or not at all: where an expectation fails or its block raises."""
        writes = [some for _ in range(self.random.randrange(6)) if (some := self.some())]
        ends = self.random.choice(["well", "well", "raises", "unexpected"])
        try:
            with self.store.batch() as batch:
                for _, table, _, key, value in writes:
                    batch.upsert(table, key, value)
                if ends == "raises":
                    raise LookupError
                if ends == "unexpected" and writes:
                    _, table, _, key, _ = writes[0]
                    batch.expect(table, key, 12_345)
        except (LookupError, twindex.UnexpectedError):
            assert ends != "well"
            return
        assert ends == "well" or not writes
        for _, _, pairs, key, value in writes:
            pairs[key] = value


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
def test_store_in_a_file_does_what_dicts_do(path: Path, seed: int) -> None:
    model = Model(path, seed)
    for _ in range(int(400 * STRESS)):
        model.step()
    model.reopen()
    model.store.close()


# --- little memory

STARVED = """
import random, sys
chance = random.Random(int(sys.argv[1]))
store = twindex.Store() if chance.random() < 0.5 else twindex.open(sys.argv[2])
tables = [store.table("h", **RAW), store.table("s", "sorted", **RAW)]
pairs = [(b"%d" % number, b"v" * 100) for number in range(20_000)]
numbers = {number: "v" * 50 for number in range(20_000)}
limit_memory(chance.choice([4, 16, 64]) * 1_000_000)
for turn in range(150):
    table = chance.choice(tables)
    size = chance.choice([0, 10, 5_000, 3_000_000, 30_000_000])
    calls = [
        lambda: table.upsert(b"%d" % turn, bytearray(size)),
        lambda: table.upsert_many(pairs),
        lambda: table.update((key + b".%d" % turn, value) for key, value in pairs),
        lambda: table.update(dict(pairs)),
        lambda: store.dump(),
        lambda: twindex.Store.load(store.dump()),
        lambda: table == tables[0],
        lambda: list(table.items()),
        lambda: table.select_many([key for key, _ in pairs]),
        lambda: store.table(f"t{turn}", keys="int").update(numbers),
        lambda: store.table("tuples", keys="tuple").upsert((b"k" * 60_000, "x" * 10), "1"),
        lambda: table.alter(b"0", lambda value: (value or b"") + bytes(size)),
        lambda: table.popitem(),
        lambda: table.clear(),
        lambda: tables[1].scan(reverse=True, limit=10_000),
        lambda: sorted(tables[0]),
        lambda: store.path and store.compact(),
    ]
    try:
        chance.choice(calls)()
    except (MemoryError, KeyError, OSError):
        pass
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
for table in tables:
    table[b"after"] = b"1"
    assert table[b"after"] == b"1" and len(dict(table)) == len(table)
print("alive")
"""


@pytest.mark.skipif(not IS_LINUX, reason="a process cannot be given less memory here")
@pytest.mark.parametrize("seed", range(SEED, SEED + max(2, int(2 * STRESS))))
def test_process_that_is_short_of_memory_lives_on(path: Path, seed: int) -> None:
    # Python itself complains where it has no memory for what it does between calls.
    done = python(SHORT_OF_MEMORY + STARVED, seed, path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
