from pathlib import Path

import pytest
import tour


def test_it_prints_what_it_prints_in_every_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tour.main(str(tmp_path / "tour.twx"))
    assert capsys.readouterr().out == (Path(__file__).parents[1] / "tour.txt").read_text()
