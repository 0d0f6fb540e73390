"""Attacks at random, in their shortest form: what they find becomes a test of its own, with its story.

They know of Twindex what its documents promise, and nothing of its inside. `TWINDEX_STRESS` makes them so many times as long,
`TWINDEX_SEED` gives other random numbers.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twindex
from support import IS_LINUX, SHORT_OF_MEMORY, output_of

STRESS = float(os.environ.get("TWINDEX_STRESS", "1"))
SEED = int(os.environ.get("TWINDEX_SEED", "1"))

Content = dict[str, tuple[str, tuple[str, str], dict[Any, Any]]]


def content(store: Any) -> Content:
    """All that a store has, by name: index, codecs and pairs."""
    return {
        name: (index, (table := store.table(name, index)).codecs, dict(table.items()))
        for name, index in store.tables()
    }


# --- a model of stores

NAMES = ("a", "b", "c", "é", "x" * 255)
CODECS = ("bytes", "str", "int", "tuple")
LONG = 70_000


class Model:
    """A store in a file, and dicts which are to hold the same, whatever is done to both, refused or thrown away."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = path
        self.tables: Content = {}
        self.stale: list[Any] = []
        self.store: Any = None
        self.open()

    def open(self) -> None:
        durability: Any = self.random.choice(["none", "everysec", "always"])
        self.store = twindex.open(self.path, durability=durability)
        self.is_logged = durability != "none"
        self.check(self.store)
        self.handles = {name: self.store.table(name, index) for name, (index, _, _) in self.tables.items()}

    def check(self, store: Any) -> None:
        assert content(store) == self.tables

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
        steps: list[Callable[[], None]] = [self.write] * 12
        steps += [self.write_many] * 4 + [self.batch] * 4 + [self.create] * 2 + [self.by_stale, self.refused]
        steps += [self.drop, self.clear, self.crash, self.elsewhere, self.reopen, self.short_of_memory]
        self.random.choice(steps)()

    def some(self) -> tuple[str, Any, dict[Any, Any], Any, Any] | None:
        """A table, its dict, and a key and a value for it."""
        if not self.tables:
            return None
        name = self.random.choice(list(self.tables))
        _, (keys, values), pairs = self.tables[name]
        return name, self.handles[name], pairs, self.item(keys), self.value(values)

    def create(self) -> None:
        name = self.random.choice(NAMES)
        index = self.random.choice(["hash", "sorted"])
        codecs = self.random.choice(CODECS), self.random.choice(["json", "int"])
        known = self.tables.get(name)
        if known is not None and codecs[0] == "bytes" != known[1][0]:
            return  # which any table can be seen as
        if known is not None and (known[0] != index or known[1] != codecs):
            with pytest.raises((twindex.WrongIndexError, twindex.WrongCodecError)):
                self.store.table(name, index, keys=codecs[0], values=codecs[1])
            return
        self.handles[name] = self.store.table(name, index, keys=codecs[0], values=codecs[1])
        self.tables.setdefault(name, (index, codecs, {}))

    def drop(self) -> None:
        name = self.random.choice(NAMES)
        assert self.store.drop_table(name) == (name in self.tables)
        if self.tables.pop(name, None) is not None:
            self.stale.append(self.handles.pop(name))

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
        """A batch is done whole or not at all: where an expectation fails, a table is gone, or its block raises."""
        writes = [some for _ in range(self.random.randrange(6)) if (some := self.some())]
        ends = self.random.choice(["well", "well", "raises", "unexpected", "dropped"])
        if ends == "dropped" and not self.stale:
            return
        batch = self.store.batch()
        try:
            with batch:
                for _, table, _, key, value in writes:
                    batch.upsert(table, key, value)
                if ends == "raises":
                    raise LookupError
                if ends == "unexpected" and writes:
                    _, table, _, key, _ = writes[0]
                    batch.expect(table, key, 12_345)
                if ends == "dropped":
                    stale = self.random.choice(self.stale)
                    batch.delete(stale, self.item(stale.codecs[0]))
        except (LookupError, twindex.UnexpectedError):
            assert ends in ("raises", "unexpected")
            return
        except (twindex.TableDroppedError, twindex.ClosedError, twindex.ForeignTableError):
            assert ends == "dropped"
            return
        assert ends == "well" or not writes, ends
        for _, _, pairs, key, value in writes:
            pairs[key] = value

    def by_stale(self) -> None:
        """A handle of a dropped table, or of a closed store, writes nothing."""
        if not self.stale:
            return
        table = self.random.choice(self.stale)
        key, value = self.item(table.codecs[0]), self.value(table.codecs[1])
        writes: list[Callable[[], object]] = [
            lambda: table.upsert(key, value),
            lambda: table.upsert_many([(key, value)] * 3),
            lambda: table.increment_many([(key, 1)]),
            lambda: table.compare_and_swap(key, None, value),
        ]
        for write in writes:
            with pytest.raises((twindex.TableDroppedError, twindex.ClosedError, TypeError)):
                write()

    def refused(self) -> None:
        if not (some := self.some()):
            return
        name, table, _, key, value = some
        _, (keys, _), _ = self.tables[name]
        long: dict[str, Any] = {
            "bytes": b"k" * LONG,
            "str": "k" * LONG,
            "int": 2**63,
            "tuple": (b"k" * LONG,),
        }
        writes: list[Callable[[], object]] = [
            lambda: table.insert(long[keys], value),
            lambda: table.upsert_many([(key, value), (long[keys], value)]),
            lambda: table.insert(key, object()),
        ]
        for write in writes:
            with pytest.raises((twindex.Error, TypeError)):
                write()

    def short_of_memory(self) -> None:
        if not (some := self.some()):
            return
        _, table, pairs, key, _ = some
        if table.codecs[1] != "json":
            return
        self.store.memory_limit = 1
        try:
            # Some may still find room in what is reserved.
            value = "m" * 100_000
            with contextlib.suppress(MemoryError):
                table[key] = value
                pairs[key] = value
        finally:
            self.store.memory_limit = None

    def elsewhere(self) -> None:
        """A dump, another file, and compaction have all that there is."""
        match self.random.randrange(4):
            case 0:
                self.check(twindex.Store.load(self.store.dump()))
            case 1:
                other = self.path.with_suffix(".other")
                self.store.save(other)
                self.check(twindex.Store.load(other))
                self.check(twindex.open(other, read_only=True))
            case 2:
                self.store.compact()
            case _:
                self.store.save()
                self.check(twindex.open(self.path, read_only=True))

    def crash(self) -> None:
        """A process that is killed loses nothing that was acknowledged. What it would leave is what the file is now."""
        if not self.is_logged:
            return
        copy = self.path.with_suffix(".copy")
        shutil.copyfile(self.path, copy)
        report = twindex.check(copy)
        assert (report.damage, report.torn) == ([], None)
        with twindex.open(copy) as store:
            self.check(store)

    def reopen(self) -> None:
        self.store.close()
        self.stale = [*self.stale, *self.handles.values()][-8:]
        self.open()


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
def test_store_in_a_file_does_what_dicts_do(path: Path, seed: int) -> None:
    model = Model(path, seed)
    for step in range(int(400 * STRESS)):
        model.step()
        if step % 100 == 0:
            model.check(model.store)
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
    assert output_of(SHORT_OF_MEMORY + STARVED, seed, path) == "alive\n"
