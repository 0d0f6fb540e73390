"""A program that is frozen: it uses what only native code imports."""

import sys

import twindex

with twindex.open(sys.argv[1]) as store:
    store.table("json", values="json")["a"] = [1]
    store.table("pickle", values="pickle")["a"] = {1}
cache: twindex.Cache[object, int] = twindex.Cache(maxsize=2)
cache[frozenset("a")] = 1
assert cache.get_or_compute("b", lambda: 2) == 2
assert twindex.check(sys.argv[1]).damage == []
