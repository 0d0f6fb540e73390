"""What the function of `alter` may return."""

from __future__ import annotations

from typing import Any

import pytest

import twindex
from twindex import DELETE, KEEP


def forget(_: object) -> Any:
    """A function that changes its argument in place and returns nothing, as one writes it by mistake."""


@pytest.mark.parametrize(("codec", "value"), [("bytes", b"1"), ("str", "1"), ("int", 1)])
def test_function_that_returns_nothing_is_an_error(codec: Any, value: Any) -> None:
    """It deleted the pair."""
    table: twindex.Table[Any, Any] = twindex.Store().table("t", values=codec)
    table["key"] = value
    for key in ("key", "absent"):
        with pytest.raises(
            TypeError, match=r"return the new value, twindex\.DELETE or twindex\.KEEP, not None"
        ):
            table.alter(key, forget)
    assert dict(table) == {"key": value}


@pytest.mark.parametrize(
    "codec", ["json", "msgpack", "pickle", twindex.Codec("own", lambda value: repr(value).encode(), eval)]
)
def test_none_is_a_value_where_the_codec_has_one(codec: Any) -> None:
    table: twindex.Table[Any, Any] = twindex.Store().table("t", values=codec)
    table["key"] = [1]
    assert table.alter("key", forget)
    assert dict(table) == {"key": None}
    assert not table.alter("key", forget)
    seen = []
    assert table.alter("absent", lambda found: seen.append(found) or found, [2])  # type: ignore[func-returns-value]
    assert table.alter("key", lambda found: seen.append(found) or 3, [2])  # type: ignore[func-returns-value]
    assert seen == [[2], None]
    assert dict(table) == {"key": 3, "absent": [2]}


def test_delete_and_keep_are_named_in_their_repr() -> None:
    assert (repr(DELETE), repr(KEEP)) == ("twindex.DELETE", "twindex.KEEP")


def test_default_stands_for_an_absent_value_alone() -> None:
    table: twindex.Table[str, Any] = twindex.Store().table("t", values="int")
    cache: twindex.Cache[str, Any] = twindex.Cache(maxsize=10)
    for pairs in (table, cache):
        assert [pairs.alter("key", lambda found: found + 1, default=10) for _ in range(3)] == [True] * 3
        assert pairs["key"] == 13
    with pytest.raises(twindex.ArgumentTypeError, match="value must be int"):
        table.alter("absent", lambda found: found, "x")
    assert len(table) == 1
