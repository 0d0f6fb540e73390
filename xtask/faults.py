"""Puts deliberate faults into a copy of HEAD, one at a time, and runs the tests: `python3 xtask/faults.py [--check] [NAME...]`.

An entry of faults.txt names a folder. Lines that begin with a space or a minus must be in its Rust files exactly once, one
after the other; those with a space or a plus take their place. How far lines are indented does not matter.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target/faults"
COPY = TARGET / "copy"
TINY = {"RUSTFLAGS": "--cfg twindex_tiny --cfg twindex_check", "CARGO_TARGET_DIR": str(TARGET / "tiny")}
#: A test that hangs has noticed the fault too.
SECONDS = 1800
#: The tests of a room. The models are first: they catch most, in a minute each.
ENGINE = [
    ("cargo test --locked", "engine/models", {}),
    ("cargo test -p twindex", ".", {}),
    ("cargo test -p twindex", ".", TINY),
]
OTHERS = [("cargo test -p twindex-format -p twindex-durable", ".", {})]


def read():
    """The faults: a name, and edits of a folder, lines, and the lines that take their place."""
    faults = {}
    for line in (ROOT / "xtask/faults.txt").read_text().splitlines():
        mark, rest = line[:1], line[1:].strip()
        if mark == "#":
            edits = faults.setdefault(rest.partition(":")[0], [])
        elif mark == "@":
            edits.append((rest, [], []))
        elif mark:
            edits[-1][1].extend([rest] if mark in " -" else [])
            edits[-1][2].extend([rest] if mark in " +" else [])
    return faults


def places(root, folder, before):
    for path in sorted((root / folder).rglob("*.rs")):
        lines = [line.strip() for line in path.read_text().splitlines()]
        starts = range(len(lines) - len(before) + 1)
        yield from ((path, at) for at in starts if lines[at : at + len(before)] == before)


def make(edits):
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "--extract", "--touch"], cwd=COPY, input=archive.stdout, check=True)
    for folder, before, after in edits:
        [(path, at)] = places(COPY, folder, before)
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:at] + after + lines[at + len(before) :]) + "\n")


def run(command, folder, variables):
    """What became of the fault, or nothing where the tests pass."""
    env = os.environ | {"CARGO_TARGET_DIR": str(TARGET / "build")} | variables
    try:
        done = subprocess.run(
            command.split(), cwd=COPY / folder, env=env, timeout=SECONDS, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return f"caught by {command}, which hangs"
    if done.returncode == 0:
        return None
    return "does not compile" if "could not compile" in done.stderr else f"caught by {command}"


def main():
    """Runs the faults named, or all."""
    names = [name for name in sys.argv[1:] if name != "--check"]
    bad = False
    for name, edits in read().items():
        if names and name not in names:
            continue
        counts = [len(list(places(ROOT, folder, before))) for folder, before, _ in edits]
        outcome = None if set(counts) == {1} else f"stale: its lines are there {counts} times"
        if outcome is None and "--check" not in sys.argv:
            make(edits)
            steps = ENGINE if edits[0][0] == "engine/src" else OTHERS
            outcome = next(filter(None, (run(*step) for step in steps)), "SURVIVED")
        bad |= outcome is not None and "caught" not in outcome
        print(f"{name}: {outcome or 'can be made'}", flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
