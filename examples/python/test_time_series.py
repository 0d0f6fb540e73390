from __future__ import annotations

import io
from pathlib import Path

import pytest
import time_series

import twindex


def lines() -> list[str]:
    return [f"{sensor} {when} {when % 10}" for when in range(3000) for sensor in ("hall", "hal", "roof")]


def test_windows() -> None:
    store = twindex.Store()
    assert time_series.add(store, [*lines(), "", "roof -5.5 -1"]) == 9001
    found = list(time_series.windows(store, "hall", 100, 125, 10))
    assert [(one.start, one.count) for one in found] == [(100, 10), (110, 10), (120, 5)]
    assert (found[0].least, found[0].mean, found[0].greatest) == (0, 4.5, 9)
    assert list(time_series.windows(store, "attic", 0, 100, 10)) == []
    assert [one.count for one in time_series.windows(store, "roof", -10, 3000, 5000)] == [3001]
    assert time_series.last(store, "hal") == (2999, 9)
    assert time_series.last(store, "attic") is None


def test_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "sensors.twx")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines())))
    assert time_series.main([file, "add"]) == 0
    assert time_series.main([file, "window", "hall", "0", "20", "10"]) == 0
    assert time_series.main([file, "forget", "2000"]) == 0
    assert time_series.main([file, "window", "hall", "0", "2001"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "9000 added, 9000 in all",
        "         0.000       10      0.000      4.500      9.000",
        "        10.000       10      0.000      4.500      9.000",
        "last: 2999.0 9.0",
        "6000 forgotten, 3000 left",
        "         0.000        1      0.000      0.000      0.000",
        "last: 2999.0 9.0",
    ]
    assert time_series.main([file]) == 2
    assert time_series.main([str(tmp_path / "none.twx"), "window", "hall", "0", "1"]) == 2
    assert "python time_series.py" in capsys.readouterr().err
