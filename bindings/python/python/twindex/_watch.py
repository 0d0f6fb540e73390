"""The changes of keys as this process makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Self, final

if TYPE_CHECKING:
    from ._feed import Change
    from ._twindex import _Watch


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Future[None]) -> None:
    """Called by the thread that writes."""

    def end() -> None:
        if not woken.done():
            woken.set_result(None)

    loop.call_soon_threadsafe(end)


# So many changes are given one after another before other tasks of the loop have their turn.
_IN_A_ROW = 64


@final
class Watch(Iterator["Change"], AsyncIterator["Change"]):
    """The changes of a table's keys, as this process makes them. `Table.watch` makes one.

    As an iterator it waits for each change: in `for` without the interpreter's lock, in `async for` without a thread. It ends when the
    store is closed or the table dropped. `poll` does not wait, `wait` waits up to a time. Several threads may read one watch: each
    change goes to one of them.

    >>> import asyncio, twindex
    >>> users = twindex.Store().table("users")
    >>> async def main():
    ...     with users.watch("user:") as watch:
    ...         users["user:ada"] = "1815"
    ...         async for change in watch:
    ...             print(change.kind, change.key, change.value)
    ...             break
    >>> asyncio.run(main())
    put user:ada 1815
    """

    __slots__ = ("__weakref__", "_in_a_row", "_is_awaited", "_native")

    def __init__(self, native: _Watch, /) -> None:
        self._native = native
        self._is_awaited = False
        self._in_a_row = 0

    def poll(self) -> Change | None:
        """The next change, or None if there is none yet."""
        return self._native.poll()

    def wait(self, timeout: float | None = None) -> Change | None:
        """Waits for the next change, up to `timeout` seconds. None then, and at the end of the watch."""
        return self._native.wait(timeout)

    @property
    def ended(self) -> bool:
        """Whether it has ended. You can still read the changes from before."""
        return self._native.ended

    def close(self) -> None:
        """Ends it, also for a waiting thread or task, and drops unread changes."""
        self._native.close()

    def __next__(self) -> Change:
        change = self._native.wait(None)
        if change is None:
            raise StopIteration
        return change

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        if self._is_awaited:
            raise RuntimeError("another task waits for this watch: give each task its own watch")
        loop = asyncio.get_running_loop()
        self._is_awaited = True
        try:
            self._in_a_row += 1
            if self._in_a_row >= _IN_A_ROW:
                self._in_a_row = 0
                await asyncio.sleep(0)
            while True:
                has_ended = self._native.ended
                woken = loop.create_future()
                change = self._native.poll_or_wake(partial(_wake, loop, woken))
                if change is not None:
                    return change
                if has_ended:
                    raise StopAsyncIteration
                await woken
        finally:
            self._is_awaited = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Watch cannot be pickled or copied")
