"""Counts the requests of web servers' logs per path, one thread a log, all in one table.

python shared_counter.py LOG [LOG ...]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import twindex

REQUEST = re.compile(r'"(?:GET|HEAD|POST|PUT|DELETE) (\S+)')
LINES_AT_ONCE = 1000


def count(hits: twindex.Table[str, int], log: Path) -> None:
    """Adds the requests of one log, a thousand lines at a time."""
    paths: Counter[str] = Counter()
    with log.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            paths.update(REQUEST.findall(line))
            if number % LINES_AT_ONCE == 0:
                hits.increment_many(paths)
                paths.clear()
    hits.increment_many(paths)


def count_all(logs: list[Path]) -> twindex.Table[str, int]:
    """The table of all paths with their requests."""
    hits = twindex.Store().table("hits", values="int")
    with ThreadPoolExecutor() as pool:
        for job in [pool.submit(count, hits, log) for log in logs]:
            job.result()
    return hits


def main(arguments: list[str]) -> int:
    """Prints the ten paths with the most requests."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    hits = count_all([Path(log) for log in arguments])
    for path, requests in sorted(hits.items(), key=lambda pair: (-pair[1], pair[0]))[:10]:
        print(f"{requests:8} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
