"""Serves web pages from a cache that all threads of the server share.

A page is good for a minute. For another minute a request still gets the old one, while one thread makes the new one.

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

Pages = twindex.Cache[str, bytes]


def server_of(pages: Pages, make: Callable[[str], bytes]) -> ThreadingHTTPServer:
    """A server on some free port, with a thread for each request."""

    class Handler(BaseHTTPRequestHandler):
        """Answers from the cache."""

        def do_GET(self) -> None:
            """Sends the page of the path."""
            page = pages.get_or_compute(self.path, lambda: make(self.path))
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
    """Asks the server for pages, from eight threads, some far more often than others, and says how many it made."""
    requests = int(arguments[0]) if arguments else 400
    pages = Pages(capacity=64 << 20, ttl=60, stale_for=60, keys="str", values="bytes")
    server = server_of(pages, render)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rng = random.Random(1)
    paths = [f"/page/{int(rng.paretovariate(1))}" for _ in range(requests)]

    def ask(path: str) -> int:
        with urlopen(f"http://127.0.0.1:{server.server_port}{path}") as response:
            return len(response.read())

    with ThreadPoolExecutor(8) as pool:
        size = sum(pool.map(ask, paths))
    server.shutdown()
    server.server_close()
    made = pages.stats()["writes"]
    print(f"{requests} pages, {size:,} bytes: {made} made, the others from the cache")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
