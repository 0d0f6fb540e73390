"""Completes words: indexes a text file and lists the most frequent words with a prefix.

python word_index.py TEXT PREFIX [PREFIX ...]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import twindex


def build(store: twindex.Store, text: str) -> None:
    """Counts the words of a text into the sorted table "words"; more texts add up."""
    words = store.table("words", index="sorted", values="int")
    words.increment_many(Counter(re.findall(r"\w+", text.lower())))


def complete(store: twindex.Store, prefix: str, limit: int = 5) -> list[tuple[str, int]]:
    """The words that start with a prefix, the most frequent ones first."""
    words = store.table("words", index="sorted", values="int")
    found = words.scan(prefix=prefix.lower())
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]


def main(arguments: list[str]) -> int:
    """Indexes the file on the first run, then answers from the index beside it."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    text, *prefixes = arguments
    index = Path(text).with_suffix(".twx")
    if index.exists():
        store = twindex.Store.load(index)
    else:
        store = twindex.Store()
        build(store, Path(text).read_text(encoding="utf-8"))
        store.save(index)
    for prefix in prefixes:
        print(f"{prefix}:", ", ".join(f"{word} ({count})" for word, count in complete(store, prefix)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
