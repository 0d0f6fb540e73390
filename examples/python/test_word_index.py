from __future__ import annotations

import re
from pathlib import Path

import pytest
import word_index

import twindex

TEXT = "The theory of the thing: then they thought. Émile, the theorist, thought so."


def test_completions_come_by_frequency_then_by_name() -> None:
    store = twindex.Store()
    word_index.build(store, TEXT)
    assert word_index.complete(store, "the", limit=3) == [("the", 3), ("then", 1), ("theorist", 1)]
    assert word_index.complete(store, "Thou") == [("thought", 2)]
    assert word_index.complete(store, "é") == [("émile", 1)]
    assert word_index.complete(store, "x") == []


def test_texts_add_up() -> None:
    store = twindex.Store()
    word_index.build(store, "a b a")
    word_index.build(store, "a c")
    assert word_index.complete(store, "") == [("a", 3), ("b", 1), ("c", 1)]


def test_the_program_keeps_its_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "book.txt"
    text.write_text(TEXT, encoding="utf-8")
    for _ in range(2):
        assert word_index.main([str(text), "thou", "x"]) == 0
        assert capsys.readouterr().out == "thou: thought (2)\nx: \n"
        text.unlink(missing_ok=True)
    assert word_index.main([str(text)]) == 2
    assert "PREFIX" in capsys.readouterr().err


def test_a_real_text() -> None:
    """The design of this project, whatever its most frequent word is at the time."""
    text = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
    store = twindex.Store()
    word_index.build(store, text)
    words = store.table("words", index="sorted", values="int")
    assert len(words) > 500
    assert list(words) == sorted(words)
    assert sum(words.values()) == len(re.findall(r"\w+", text)) > 2000
    [(first, count)] = word_index.complete(store, "", limit=1)
    assert count == words[first] == max(words.values())
    assert word_index.complete(store, "inde", limit=1) == [("index", words["index"])]
