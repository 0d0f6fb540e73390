from __future__ import annotations

from pathlib import Path

import pytest
import search_index

import twindex


def test_it_finds_notes_and_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes, index = tmp_path / "notes.twx", tmp_path / "index.sqlite"

    def find(*words: str) -> list[str]:
        assert search_index.main([str(notes), str(index), *words]) == 0
        return sorted(capsys.readouterr().out.split())

    with twindex.open(notes) as store:
        assert find("tree") == []
        table = store.table("notes")
        table.update(one="The tree and the bark", two="A tree")
        assert find("tree") == ["one", "two"]
        table.update(two="Some bark", three="trees: bark")
        del table["one"]
        store.table("others")["four"] = "bark"
        assert find("bark") == ["three", "two"]
        assert find("bark", "TREES") == ["three"]
        assert find("tree") == []
        # What was compacted away is read again.
        table["five"] = "bark"
        del table["two"]
        table["large"] = "x" * (1 << 20)  # more than a compaction keeps
        del table["large"]
        store.compact()
        assert find("bark") == ["five", "three"]
        table.clear()
        assert find("bark") == []
    assert search_index.main([]) == 2
