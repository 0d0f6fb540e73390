from __future__ import annotations

import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import replica

import twindex

PROGRAM = Path(replica.__file__)
DAYS: Any = twindex.Codec(
    "date", lambda day: day.isoformat().encode(), lambda text: date.fromisoformat(bytes(text).decode())
)


def content(store: twindex.Store) -> dict[str, Any]:
    seen = {}
    for name, index in store.tables():
        table = store.table(name, index, keys="bytes", values="bytes")
        if name != replica.PLACE:
            seen[name] = (index, table.codecs, dict(table))
    return seen


def test_it_stays_in_step_whenever_it_is_killed(tmp_path: Path) -> None:
    source, target = tmp_path / "source.twx", tmp_path / "copy.twx"
    with twindex.open(source) as store:

        def is_same() -> bool:
            assert replica.main([str(source), str(target), "--once"]) == 0
            with twindex.open(target, read_only=True) as copy:
                return content(copy) == content(store)

        users = store.table("users", values="json")
        users["ada"] = {"born": 1815}
        assert is_same()
        store.table("days", "sorted", keys=DAYS)[date(1815, 12, 10)] = "first"
        users["bob"] = {"born": 1900}
        assert is_same()
        for number in range(3):
            with subprocess.Popen([sys.executable, PROGRAM, source, target]) as copier:
                with twindex.open(target, read_only=True) as copy:
                    users["round"] = number
                    end = time.monotonic() + 60
                    while copy.table("users", values="json").get("round") != number:
                        assert time.monotonic() < end
                        time.sleep(0.01)
                        copy.refresh()
                users.update({f"user {at}": number for at in range(1000)})
                copier.kill()
            if number == 1:
                users["large"] = "x" * (1 << 20)  # more than a compaction keeps
                del users["large"]
                store.compact()
            store.drop_table("days")
            store.table("days", "sorted", keys="int")[number] = "again"
        assert is_same()
    assert replica.main([]) == 2
