from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

import pytest
import web_cache


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Maker:
    """Makes pages, and remembers of which paths."""

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.made: list[str] = []

    def __call__(self, path: str) -> bytes:
        self.made.append(path)
        return path.encode().ljust(self.size, b".")


def test_a_page_is_made_once_until_its_time_is_over() -> None:
    clock, make = Clock(), Maker()
    cache = web_cache.Cache(seconds=60, max_bytes=1 << 20, clock=clock)
    for _ in range(3):
        assert cache.get("/a", make) == b"/a........"
    clock.now += 59
    cache.get("/b", make)
    cache.get("/a", make)
    clock.now += 2
    cache.get("/a", make)
    assert make.made == ["/a", "/b", "/a"]
    assert (cache.counts["hits"], cache.counts["misses"]) == (3, 3)
    clock.now += 1000
    cache.drop_until(clock.now)
    assert len(cache.pages) == len(cache.ends) == 0


def test_it_stays_within_its_memory() -> None:
    clock, make = Clock(), Maker(1000)
    cache = web_cache.Cache(seconds=60, max_bytes=1_000_000, clock=clock)
    for number in range(5000):
        clock.now += 0.001
        cache.get(f"/{number}", make)
    assert 0 < len(cache.pages) < 1000
    assert len(cache.pages) == len(cache.ends)
    made = len(make.made)
    cache.get("/4999", make)
    assert len(make.made) == made, "the last one is there"
    cache.put("/large", bytes(2_000_000))
    assert "/large" not in cache.pages


def test_threads_share_it_through_a_server() -> None:
    make = Maker()
    cache = web_cache.Cache(seconds=60, max_bytes=1 << 20)
    server = web_cache.server_of(cache, make)
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
    assert pages == [f"/{number % 3}".encode().ljust(10, b".") for number in range(60)]
    assert set(make.made) == {"/0", "/1", "/2"}
    assert cache.counts["hits"] + cache.counts["misses"] == 60
    assert cache.counts["hits"] >= 48


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert web_cache.main(["40"]) == 0
    assert capsys.readouterr().out.startswith("40 pages, ")
