"""Runs the tests against deliberate faults: `python3 xtask/faults/run.py engine [--only order]`.

A list has entries such as

    # order-unpin: The end of a pin is stored Relaxed
    @ engine/src/lib.rs
    -            self.word.store(0, Release);
    +            self.word.store(0, Relaxed);

Lines that begin with a space or a minus must be in the file exactly once, one after the other. Those with a space or a
plus take their place. Faults are made in a copy of HEAD, in target/faults. Each goes through the steps of its list, up to
the first that fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "target/faults"
COPY = TARGET / "copy"
TINY = "--cfg twindex_tiny --cfg twindex_check"
#: A test that hangs has noticed the fault too.
SECONDS = 1800

Edits = list[tuple[str, str, str]]


def cargo(arguments: str, folder: str = ".", **environment: str) -> tuple[str, str, dict[str, str]]:
    """A step: a command, its folder in the copy, and its variables."""
    return f"cargo test {arguments}", folder, environment


#: Cheapest first. The rooms of Python, Node and WebAssembly want their tools installed in the copy: `xtask` does that.
STEPS = {
    "engine": [
        cargo("-p twindex"),
        cargo(
            "-p twindex",
            RUSTFLAGS=TINY,
            CARGO_TARGET_DIR=str(TARGET / "tiny"),
        ),
        cargo("--locked", "engine/models"),
    ],
    "durable": [cargo("-p twindex-durable")],
    "python": [("cargo xtask test python", ".", {})],
    "node": [("cargo xtask test node", ".", {})],
    "wasm": [("cargo xtask test wasm", ".", {})],
}


def faults(room: str) -> dict[str, Edits]:
    """The faults of a list, by name."""
    found: dict[str, Edits] = {}
    name, before, after = "", "", ""
    for line in (Path(__file__).parent / f"{room}.txt").read_text().splitlines():
        mark, rest = line[:1], line[1:]
        if mark == "#":
            name = rest.split(":")[0].strip()
            found[name] = []
        elif mark == "@":
            found[name].append((rest.strip(), "", ""))
        elif mark:
            path, before, after = found[name].pop()
            before += rest + "\n" if mark in " -" else ""
            after += rest + "\n" if mark in " +" else ""
            found[name].append((path, before, after))
    return found


def stale(edits: Edits) -> str | None:
    """Why a fault cannot be made of the files that are here."""
    for path, before, _ in edits:
        file = ROOT / path
        text = file.read_text() if file.exists() else ""
        if (times := text.count(before)) != 1:
            return f"stale: {path} has its lines {times} times"
    return None


def make(edits: Edits) -> None:
    """Makes a fault in the copy."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "--extract", "--touch"], cwd=COPY, input=archive.stdout, check=True)
    for path, before, after in edits:
        file = COPY / path
        file.write_text(file.read_text().replace(before, after))


def run(command: str, folder: str, environment: dict[str, str]) -> str | None:
    """What became of the fault, or nothing where the tests pass."""
    variables = os.environ | {"CARGO_TARGET_DIR": str(TARGET / "build")} | environment
    with (TARGET / "log").open("w") as log:
        try:
            words, where = command.split(), COPY / folder
            subprocess.run(
                words, cwd=where, env=variables, stdout=log, stderr=log, timeout=SECONDS, check=True
            )
        except subprocess.TimeoutExpired:
            return f"caught by {command}, which hangs"
        except subprocess.CalledProcessError:
            compiles = "could not compile" not in (TARGET / "log").read_text(errors="replace")
            return f"caught by {command}" if compiles else "does not compile"
    return None


def main() -> None:
    """Reads the arguments, and runs one fault after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", choices=STEPS)
    parser.add_argument("--only", default="", help="those whose names contain this")
    parser.add_argument("--check", action="store_true", help="only find out whether they can be made")
    arguments = parser.parse_args()
    is_stale = False
    for name, edits in faults(arguments.room).items():
        if arguments.only not in name:
            continue
        outcome = stale(edits)
        is_stale |= outcome is not None
        if outcome is None and not arguments.check:
            make(edits)
            outcomes = (run(*step) for step in STEPS[arguments.room])
            outcome = next(filter(None, outcomes), "SURVIVED")
        print(f"{name}: {outcome or 'can be made'}", flush=True)
    sys.exit(is_stale)


if __name__ == "__main__":
    main()
