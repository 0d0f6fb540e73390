"""The standard tests inside WebAssembly, in Python's wasmtime: `bench.py GUEST.wasm --help`.

The loops are in the guest (`guest/`), so that one call does all pairs and the host's part takes nothing. The report has
the form of the other hosts' bench scripts. With --beside the same steps over hashbrown and BTreeMap, in the same guest.
"""

import argparse
import json
import random
import statistics
import struct
import sys
import time
import tomllib
from pathlib import Path

from wasmtime import Engine, Instance, Module, Store

#: Keys and orders are the same in every run.
SEED = 64
STEPS = {"strings": ("unordered_write", "unordered_read"), "sorted": ("sorted_write", "sorted_read")}
#: Ours and what is used today: the guest's number, and the name.
SYSTEMS = {
    "strings": ((0, "twindex"), (2, "hashbrown")),
    "sorted": ((1, "twindex"), (3, "BTreeMap")),
}


class Guest:
    """A fresh instance with the lists of keys in its memory."""

    def __init__(self, engine: Engine, module: Module, lists: tuple[bytes, bytes]) -> None:
        self.store = Store(engine)
        self.exports = Instance(self.store, module, []).exports(self.store)
        for number, packed in enumerate(lists):
            at = self.call("reserve", number, len(packed)) & 0xFFFFFFFF
            self.exports["memory"].write(self.store, packed, at)

    def call(self, name: str, *arguments: int) -> int:
        return self.exports[f"guest_{name}"](self.store, *arguments)

    def timed(self, name: str, pairs: int) -> float:
        """The seconds that a step over all pairs takes."""
        start = time.perf_counter()
        done = self.call(name)
        seconds = time.perf_counter() - start
        if done != pairs:
            raise ValueError(f"{name}: pair {done + 1} of {pairs} is wrong")
        return seconds

    def size(self) -> int:
        return self.exports["memory"].data_len(self.store)


def packed(keys: list[tuple[int, bytes]]) -> bytes:
    return b"".join(struct.pack("<II", number, len(key)) + key for number, key in keys)


def keys_of(options: argparse.Namespace) -> list[bytes]:
    rng = random.Random(SEED)
    if options.keys_from is None:
        drawn: dict[bytes, None] = {}
        while len(drawn) < options.pairs:
            drawn[b"%016x" % rng.getrandbits(64)] = None
        return list(drawn)
    lines = options.keys_from.read_bytes().replace(b"\r\n", b"\n").split(b"\n")
    keys = [key for key in dict.fromkeys(lines) if key][: options.pairs]
    if not keys:
        raise ValueError(f"{options.keys_from}: the file holds no key")
    rng.shuffle(keys)
    return keys


def measure(test: str, keys: list[bytes], options: argparse.Namespace, engine: Engine, module: Module) -> list:
    """Both steps of a test over all rounds, each in a fresh instance."""
    number, name = SYSTEMS[test][options.beside]
    writes = list(enumerate(keys))
    reads = sorted(writes, key=lambda pair: pair[1])
    if test == "strings":
        reads = random.Random(SEED).sample(writes, len(writes))
    lists = packed(writes), packed(reads)
    times: tuple[list[float], list[float]] = [], []
    held = grown = 0
    for _ in range(options.rounds):
        guest = Guest(engine, module, lists)
        if not guest.call("renew", number, options.value_bytes):
            raise ValueError(f"the guest has no system {number}")
        before = guest.size()
        times[0].append(guest.timed("write", len(keys)))
        held, grown = guest.call("held"), guest.size() - before
        times[1].append(guest.timed("read", len(keys)))
    results = []
    for step, seconds in zip(STEPS[test], times, strict=True):
        median = statistics.median(seconds)
        results.append(
            {
                "step": step,
                "system": name,
                "keys": len(keys),
                "threads": 1,
                "milliseconds": median * 1e3,
                "ops": round(len(keys) / median),
                "rounds_ms": [one * 1e3 for one in seconds],
                "bytes_per_pair": None,
                "resident_bytes_per_pair": None,
            }
        )
    results[0]["bytes_per_pair"] = None if options.beside else held / len(keys)
    results[0]["resident_bytes_per_pair"] = grown / len(keys)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("guest", type=Path, help="the module that cargo makes of guest/")
    option("--test", default="strings,sorted", help="strings and sorted")
    option("--pairs", type=int, default=1_000_000)
    option("--threads", choices=["1"], default="1", help="a module has one")
    option("--value-bytes", type=int, default=16)
    option("--rounds", type=int, default=3)
    option("--keys-from", type=Path)
    option("--beside", action="store_true")
    option("--json", type=Path, required=True)
    options = parser.parse_args()
    manifest = tomllib.loads((Path(__file__).parents[2] / "Cargo.toml").read_text(encoding="utf-8"))
    engine = Engine()
    module = Module.from_file(engine, str(options.guest))
    try:
        keys = keys_of(options)
        tests = options.test.split(",")
        results = [one for test in tests for one in measure(test, keys, options, engine, module)]
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    report = {
        "host": "wasm-guest",
        "version": manifest["workspace"]["package"]["version"],
        "pairs": len(keys),
        "key_bytes": 16,
        "value_bytes": options.value_bytes,
        "keys_from": None if options.keys_from is None else str(options.keys_from),
        "rounds": options.rounds,
        "results": results,
    }
    options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
