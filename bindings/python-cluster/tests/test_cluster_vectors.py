"""The vectors of all verbs, run as the package `twindex` runs them, on both kinds of stores."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import twindex
import twindex.aio
from test_vectors import CASES, Runner, check

# A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
OF_MEMORY = {"memory_limit", "reload", "load"}
# What a cluster has not.
LACKS = {
    *("take", "first", "last", "pop_first", "pop_last", "delete_range", "delete_prefix", "seek", "key"),
    *("snapshot", "transaction"),
}
# In the engine a batch is done one by one; here it is done by several servers at once.
DONE_OTHERWISE = "increment_many stops at the first that fails"


def runs_here(case: dict[str, Any]) -> bool:
    verbs = {step["do"] for step in case["steps"]}
    if case["name"] == DONE_OTHERWISE or verbs & LACKS:
        return False
    return "close" in verbs or not verbs & OF_MEMORY


def test_only_what_is_of_memory_or_lacks_is_left_out() -> None:
    left = [case for case in CASES if not runs_here(case)]
    assert len([case for case in left if not LACKS & {step["do"] for step in case["steps"]}]) == 15


class Awaited:
    """An object of the package for asyncio, whose coroutines are awaited at once."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.inner, self.loop = inner, loop

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self.inner, name)(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = self.loop.run_until_complete(result)
            if inspect.isasyncgen(result):
                return self.all(result)
            return Awaited(result, self.loop) if type(result).__module__ == "twindex_cluster.aio" else result

        return call

    def all(self, pairs: Any) -> Iterator[Any]:
        while (pair := self.loop.run_until_complete(anext(pairs, None))) is not None:
            yield pair

    def items(self) -> Any:
        return self.all(aiter(self.inner))

    def __len__(self) -> int:
        length: int = self.len()
        return length


class ClusterRunner(Runner):
    def __init__(self, store: Any, index: str | None) -> None:
        super().__init__(None)
        self.store = store
        if index is not None:
            self.run({"do": "table", "name": "t", "index": index})


@pytest.mark.parametrize("awaits", [False, True], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("case", [case for case in CASES if runs_here(case)], ids=lambda case: case["name"])
def test_case(case: dict[str, Any], awaits: bool, url: str, namespace: str) -> None:
    for index in case["index"] or [None]:
        with asyncio.Runner() as loops:
            options = {"namespace": f"{namespace}-{index}"}
            store: Any
            if awaits:
                store = Awaited(loops.run(twindex.aio.connect(url, **options)), loops.get_loop())
            else:
                store = twindex.connect(url, **options)
            runner = ClusterRunner(store, index)
            for number, step in enumerate(case["steps"]):
                if step["do"] not in OF_MEMORY:
                    try:
                        check(runner, step)
                    except BaseException as error:
                        error.add_note(f"step {number}: {step}"[:300])
                        raise
            store.close()
