"""Serves web pages from a cache that all threads of the server share.

Nobody counts who was read last: a page has a time until which it is good, and a memory limit bounds the cache. Pages
that are past their time go first, and where that is not enough, those that will be soonest.

python web_cache.py [REQUESTS]
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import twindex

Clock = Callable[[], float]

#: So many pages are let go of at once, where room is needed.
AT_ONCE = 100


class Cache:
    """Pages by their path, each good for so many seconds, together in so many bytes."""

    def __init__(self, seconds: float, max_bytes: int, clock: Clock = time.time) -> None:
        self.seconds = seconds
        self.clock = clock
        store = twindex.Store(memory_limit=max_bytes)
        self.pages = store.table("pages", values="msgpack")
        self.ends = store.table("ends", index="sorted", keys="tuple")
        self.counts = twindex.Store().table("counts", values="int")

    def get(self, path: str, make: Callable[[str], bytes]) -> bytes:
        """The page, from the cache or made now. Threads that miss at the same time may both make it."""
        found = self.pages.get(path)
        if found is not None and found[0] > self.clock():
            self.counts.increment("hits")
            page: bytes = found[1]
            return page
        self.counts.increment("misses")
        page = make(path)
        self.put(path, page)
        return page

    def put(self, path: str, page: bytes) -> None:
        """Keeps the page, where it fits once others have gone."""
        end = self.clock() + self.seconds
        self.drop_until(self.clock())
        while True:
            try:
                self.ends[end, path] = ""
                self.pages[path] = [end, page]
                return
            except twindex.MemoryLimitError:
                self.ends.pop((end, path), None)
                if not self.drop_some():
                    return

    def drop_until(self, moment: float) -> None:
        """Drops the pages that are good no longer than this."""
        for end, path in self.ends.irange(maximum=(moment,)):
            self.drop(end, path)

    def drop_some(self) -> bool:
        """Drops the pages that end soonest; whether there were any."""
        soonest = list(self.ends.scan(limit=AT_ONCE))
        for (end, path), _ in soonest:
            self.drop(end, path)
        return bool(soonest)

    def drop(self, end: float, path: str) -> None:
        """Drops a page, unless it has been made anew since."""
        self.ends.pop((end, path), None)
        self.pages.alter(path, lambda found: twindex.DELETE if found and found[0] <= end else twindex.KEEP)


def server_of(cache: Cache, make: Callable[[str], bytes]) -> ThreadingHTTPServer:
    """A server on some free port, with a thread for each request."""

    class Handler(BaseHTTPRequestHandler):
        """Answers from the cache."""

        def do_GET(self) -> None:
            """Sends the page of the path."""
            page = cache.get(self.path, make)
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def render(path: str) -> bytes:
    """What takes long: a page of some 2 KB."""
    time.sleep(0.01)
    return f"<h1>{path}</h1>".encode() + b"<p>lorem ipsum</p>" * 100


def main(arguments: list[str]) -> int:
    """Asks the server for pages, from eight threads, some far more often than others."""
    requests = int(arguments[0]) if arguments else 400
    cache = Cache(seconds=60, max_bytes=64 << 20)
    server = server_of(cache, render)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rng = random.Random(1)
    paths = [f"/page/{int(rng.paretovariate(1))}" for _ in range(requests)]

    def ask(path: str) -> int:
        with urlopen(f"http://127.0.0.1:{server.server_port}{path}") as response:
            return len(response.read())

    start = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        size = sum(pool.map(ask, paths))
    seconds = time.perf_counter() - start
    server.shutdown()
    server.server_close()
    hits, misses = cache.counts.get("hits", 0), cache.counts.get("misses", 0)
    print(f"{requests} pages, {size:,} bytes in {seconds:.2f} s: {hits} from the cache, {misses} made")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
