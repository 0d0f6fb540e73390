from __future__ import annotations

from pathlib import Path

import pytest
import shared_counter


def test_every_request_of_every_log_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    for number, log in enumerate(logs):
        lines = ['1.2.3.4 - - "GET / HTTP/1.1" 200', "no request", f'::1 - - "POST /{number} HTTP/2" 404']
        log.write_text("\n".join(lines * 1500), encoding="utf-8")
    assert dict(shared_counter.count_all(logs)) == {"/": 6000} | {f"/{number}": 1500 for number in range(4)}
    assert shared_counter.main([str(log) for log in logs]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["    6000 /", "    1500 /0"]
    assert shared_counter.main([]) == 2
