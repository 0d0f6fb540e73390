"""Writes ten million events into a file, and is killed."""

import os

import twindex

store = twindex.open("events.twx")
events = store.table("events", index="sorted", values="int")
events.upsert_many((f"2026-11-26 {n:08}", n) for n in range(10_000_000))
print(f"{len(events):,} pairs in {store.memory >> 20} MiB")
os.kill(os.getpid(), 9)
