from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

import pytest
import web_cache


class Maker:
    """Makes pages, and remembers of which paths."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, path: str) -> bytes:
        self.made.append(path)
        time.sleep(0.01)
        return path.encode()


def test_each_page_is_made_once_for_all_threads() -> None:
    make = Maker()
    server = web_cache.server_of(web_cache.cache_of(seconds=60, capacity=1 << 20), make)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:

        def ask(number: int) -> bytes:
            with urlopen(f"http://127.0.0.1:{server.server_port}/{number % 3}") as response:
                page: bytes = response.read()
                return page

        with ThreadPoolExecutor(4) as pool:
            pages = list(pool.map(ask, range(60)))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert pages == [f"/{number % 3}".encode() for number in range(60)]
    assert sorted(make.made) == ["/0", "/1", "/2"]


def test_program_tells_how_many_pages_it_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert web_cache.main(["40"]) == 0
    assert capsys.readouterr().out.startswith("40 pages, ")
