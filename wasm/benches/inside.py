"""Measures inside WebAssembly, in Python's wasmtime: `inside.py GUEST.wasm hash|sorted --system NAME --keys FILE`.

The loops are in the guest (`guest/`): one call does all pairs, so the host's part takes nothing.
"""

import argparse
import json
import random
import struct
import sys
import time
from pathlib import Path

from wasmtime import Engine, Instance, Module, Store

#: The guest's numbers of its systems.
SYSTEMS = {"hash": {"twindex": 0, "hashbrown": 2}, "sorted": {"twindex": 1, "btreemap": 3}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guest", type=Path)
    parser.add_argument("work", choices=SYSTEMS)
    parser.add_argument("--system", required=True)
    parser.add_argument("--keys", type=Path)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    options = parser.parse_args()
    rng = random.Random(64)
    lines = options.keys.read_bytes().splitlines() if options.keys else [rng.randbytes(8).hex().encode() for _ in range(options.pairs)]
    writes = list(enumerate(dict.fromkeys(lines[: options.pairs])))
    reads = rng.sample(writes, len(writes)) if options.work == "hash" else sorted(writes, key=lambda pair: pair[1])
    engine = Engine()
    store = Store(engine)
    exports = Instance(store, Module.from_file(engine, str(options.guest)), []).exports(store)
    for number, pairs in enumerate((writes, reads)):
        packed = b"".join(struct.pack("<II", at, len(key)) + key for at, key in pairs)
        place = exports["guest_reserve"](store, number, len(packed)) & 0xFFFFFFFF
        exports["memory"].write(store, packed, place)
    exports["guest_renew"](store, SYSTEMS[options.work][options.system], 16)
    before = exports["memory"].data_len(store)

    def show(figure: str, unit: str, value: float) -> None:
        print(json.dumps({"system": options.system, "figure": figure, "unit": unit, "value": value, "params": {}}))

    for call, figure in (("guest_write", "insert"), ("guest_read", "select" if options.work == "hash" else "scan")):
        start = time.perf_counter()
        done = exports[call](store)
        if done != len(writes):
            sys.exit(f"error: {figure}: pair {done + 1} of {len(writes)} is wrong")
        show(figure, "/s", done / (time.perf_counter() - start))
        if figure == "insert":
            held = exports["guest_held"](store) or exports["memory"].data_len(store) - before
            show("bytes", "bytes", held / done)


if __name__ == "__main__":
    main()
