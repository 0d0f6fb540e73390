"""What the package does beyond the verbs."""

import asyncio
import contextlib
import multiprocessing
import re
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import twindex
import twindex.aio
from support import in_threads, output_of, python

import twindex_cluster


def test_tables_have_codecs_and_are_mappings(url: str, namespace: str) -> None:
    with twindex.connect(url, namespace=namespace) as store:
        users = store.table("users", values="json")
        users["ada"] = {"born": 1815}
        users.update({"bob": 1}, cy=[2])
        assert users["ada"] == {"born": 1815}
        assert (len(users), "ada" in users, users.get("dan", 7)) == (3, True, 7)
        assert sorted(users) == ["ada", "bob", "cy"]
        assert dict(users.items())["cy"] == [2]
        assert (users.pop("bob"), users.pop("bob", 7), users.pop("bob", None)) == (1, 7, None)
        with pytest.raises(KeyError):
            users.pop("bob")
        with pytest.raises(KeyError):
            del users["bob"]
        assert users.alter("ada", lambda value: {**value, "died": 1852})
        assert users.alter("cy", lambda _: twindex.DELETE)
        assert users.select_many(["ada", "cy"]) == [{"born": 1815, "died": 1852}, None]
        visits = store.table("visits", index="sorted", keys="tuple", values="int")
        visits.update({("ada", 2026, 11): 3, ("ada", 2026, 2): 5, ("bob", 2025, 7): 1})
        assert list(visits.scan(prefix=("ada", 2026))) == [(("ada", 2026, 2), 5), (("ada", 2026, 11), 3)]
        assert visits.increment(("bob", 2025, 7), 2) == 3
        assert store.tables() == [("users", "hash"), ("visits", "sorted")]
        again = store.table("visits")
        assert (again.index, again.codecs) == ("sorted", ("tuple", "int"))
        assert list(again.prefix(("bob",))) == [(("bob", 2025, 7), 3)]
        for none in (store.snapshot, store.transaction, lambda: store.transaction(print), visits.watch):
            with pytest.raises(twindex.NotSupportedError, match="in a cluster has no") as raised:
                none()
            assert raised.value.code == "TWINDEX_NOT_SUPPORTED"
        with pytest.raises(AttributeError, match="Table has no expire: use touch"):
            users.expire("ada", 1)
        with pytest.raises(twindex.WrongCodecError):
            store.table("users", values="int")
        with pytest.raises(twindex.NoTableError):
            store.table("nobody", create=False)
    with pytest.raises(twindex.ClosedError):
        users.select("ada")


def test_times_to_live(url: str, namespace: str) -> None:
    store = twindex.connect(url, namespace=namespace)
    users = store.table("users")
    assert users.insert("ada", "1", ttl=100)
    assert users.insert("bob", "1", ttl=timedelta(milliseconds=100))
    assert 90 < users.ttl("ada") <= 100
    assert users.touch("ada", None)
    assert users.ttl("ada") == float("inf")
    time.sleep(0.2)
    assert (users.ttl("bob"), users.select("bob")) == (None, None)
    assert users.insert("dee", "1", ttl=float("inf"))
    assert users.ttl("dee") == float("inf")
    for wrong in (0, -1, float("nan"), 1e300):
        with pytest.raises(twindex.TtlError):
            users.insert("cy", "1", ttl=wrong)
    with pytest.raises(twindex.ArgumentTypeError):
        users.insert("cy", "1", ttl="1")


def test_figures_of_the_near_cache_are_shown(url: str, namespace: str) -> None:
    near = twindex.connect(url, namespace=namespace, near_cache=1 << 20)
    users = near.table("users")
    users["ada"] = "1"
    deadline = time.monotonic() + 10
    while near.near_stats["hits"] < 100 and time.monotonic() < deadline:
        assert users.select("ada") == "1"
    assert near.near_stats["hits"] >= 100
    assert twindex.connect(url, namespace=namespace).near_stats is None


def test_write_that_replicas_lack_is_a_connection_error(url: str, namespace: str) -> None:
    store = twindex.connect(url, namespace=namespace, replicas=5, timeout=0.2)
    with pytest.raises(twindex_cluster.NotReplicatedError, match="1 of the 5 replicas") as raised:
        store.table("users").upsert("ada", "1852")
    assert (raised.value.code, isinstance(raised.value, ConnectionError)) == ("TWINDEX_NOT_REPLICATED", True)


def test_pop_and_setdefault_have_one_winner(url: str, namespace: str) -> None:
    stores = [twindex.connect(url, namespace=namespace) for _ in range(2)]
    one, two = (store.table("t") for store in stores)

    def raced(*calls: Callable[[], object]) -> list[object]:
        return in_threads(2, lambda number: calls[number]())

    for number in range(30):
        key = f"k{number}"
        got = raced(lambda: one.setdefault(key, "one"), lambda: two.setdefault(key, "two"))  # noqa: B023
        assert got == [one[key]] * 2
        one[key] = "old"
        popped, swapped = raced(lambda: one.pop(key), lambda: two.compare_and_swap(key, "old", "new"))  # noqa: B023
        # The value that pop returned is the one that it removed.
        assert (popped, one.select(key)) == ("new" if swapped else "old", None)
        one[key] = "job"
        taken = raced(lambda: one.pop(key, None), lambda: two.pop(key, None))  # noqa: B023
        assert sorted(taken, key=str) == [None, "job"]
    one.update(a="1", b="2")
    taken = raced(one.popitem, two.popitem)
    assert (sorted(taken, key=str), len(one)) == ([("a", "1"), ("b", "2")], 0)
    with pytest.raises(KeyError, match="is empty"):
        one.popitem()
    for store in stores:
        store.close()


def test_close_is_awaited_for_asyncio(url: str, namespace: str) -> None:
    async def main() -> None:
        store = await twindex.aio.connect(url, namespace=namespace)
        await store.close()
        with pytest.raises(twindex.ClosedError):
            await store.tables()

    asyncio.run(main())


def test_a_cancelled_call_leaves_the_cursor_where_it_was(url: str, namespace: str) -> None:
    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as store:
            table = await store.table("t", index="sorted", values="int")
            await table.upsert_many({f"{number:04}": number for number in range(2000)})
            cursor = table.cursor()
            found: list[int] = []
            tries = 0
            while len(found) < 2000:
                tries += 1
                with contextlib.suppress(TimeoutError):
                    wait = 0.0001 * (tries % 20)
                    pairs = await asyncio.wait_for(cursor.scan_asc_next_many(7), wait if tries % 3 else 30)
                    found += [value for _, value in pairs]
            assert found == list(range(2000))

    asyncio.run(main())


def test_cancelled_calls_in_a_row_lose_no_pairs(url: str, namespace: str) -> None:
    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as store:
            table = await store.table("t", index="sorted", values="int")
            await table.upsert_many({f"{number:02}": number for number in range(50)})
            for turn in range(400):
                cursor = table.cursor()
                found: list[tuple[str, int]] = []
                for wait in (turn % 100 * 2e-5, 0, 0):
                    call = asyncio.ensure_future(cursor.scan_asc_next_many(7))
                    await asyncio.sleep(wait)
                    call.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        found += await call
                found += await cursor.scan_asc_next_many(50)
                assert [value for _, value in found] == list(range(50)), turn

    asyncio.run(main())


def test_batch_is_done_in_one_slot(url: str, namespace: str) -> None:
    with twindex.connect(url, namespace=namespace, partitions=1) as store:
        users, log = store.table("users", values="int"), store.table("log", index="sorted")
        with store.batch() as batch:
            batch.insert(users, "{ada}age", 36)
            batch.expect(users, "{ada}age", None)
            batch.increment(users, "{ada}visits")
            batch.delete(users, "{ada}none")
            assert len(batch) == 3
        assert users.select_many(["{ada}age", "{ada}visits"]) == [36, 1]
        with pytest.raises(twindex.ClosedError, match="the batch has ended"):
            batch.commit()
        batch = store.batch()
        batch.upsert(log, "b", "2")
        batch.replace(log, "a", "1")
        batch.expect(users, "{ada}age", 7)
        with pytest.raises(twindex_cluster.CrossSlotError, match="braces"):
            batch.commit()
        with contextlib.suppress(ZeroDivisionError), store.batch() as batch:
            batch.upsert(users, "a", 1 // 0)
        assert "a" not in users
        with pytest.raises(twindex.ArgumentTypeError, match="tables in a cluster"):
            store.batch().upsert({}, "a", 1)
        with pytest.raises(twindex.ForeignTableError):
            twindex.connect(url, namespace=namespace).batch().upsert(users, "a", 1)

    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as store:
            users = await store.table("users")
            async with store.batch() as batch:
                batch.expect(users, "{ada}age", 36)
                batch.increment(users, "{ada}age", 2)
            assert await users.select("{ada}age") == 38

    asyncio.run(main())


def test_threads_and_tasks_share_a_store(url: str, namespace: str) -> None:
    users = twindex.connect(url, namespace=namespace).table("users", values="int")

    in_threads(8, lambda _: [users.increment("n") for _ in range(50)])
    assert users["n"] == 400

    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as store:
            table = await store.table("users")
            await asyncio.gather(*(table.increment("n") for _ in range(100)))
            assert await table.select("n") == 500
            assert [pair async for pair in table] == [("n", 500)]

    asyncio.run(main())


def test_errors_say_what_is_wrong(url: str, namespace: str) -> None:
    with pytest.raises(twindex_cluster.UrlError, match="http"):
        twindex.connect("http://localhost")
    with pytest.raises(ConnectionError):
        twindex.connect("redis://127.0.0.1:1", patience=0.1)
    with pytest.raises(twindex.ArgumentTypeError):
        twindex.connect(7)  # type: ignore[arg-type]
    for options, message in [
        ({"partitions": 0}, "partitions must be 1 to 1024, not 0"),
        ({"replicas": 1001}, "replicas must be 0 to 1000, not 1001"),
        ({"timeout": None}, "timeout must be a number of seconds or a timedelta, not NoneType"),
        ({"patience": 0}, "patience must be more than 0"),
        ({"addresses": {"a": 7}}, "addresses must be str"),
        ({"nonsense": 1}, "no option 'nonsense'"),
    ]:
        with pytest.raises((twindex.Error, TypeError), match=message):
            twindex.connect(url, **options)  # type: ignore[arg-type]
    for wrong, message in [
        ("redis://h:99999", "a number from 1 to 65535"),
        ("redis://h/?db=2", "redis://host/2"),
    ]:
        with pytest.raises(twindex_cluster.UrlError, match=message):
            twindex.connect(wrong)
    host = url.removeprefix("redis://").split(",")[0]
    addresses = {"nobody:1": "127.0.0.1:1", host: host}
    assert twindex.connect(url, namespace=namespace, addresses=addresses).tables() == []
    store = twindex.connect(url, namespace=namespace)
    with pytest.raises(twindex.ArgumentTypeError):
        bool(store.table("users"))
    with pytest.raises(twindex.ArgumentTypeError, match="create must be bool, not int: 1"):
        store.table("users", create=1)
    with pytest.raises(twindex.ArgumentTypeError, match="reverse must be bool, not int: 1"):
        store.table("sorted", "sorted").scan(reverse=1)
    with pytest.raises(twindex.EncodingError):
        store.table("users").insert("\ud800", "1")


def test_batch_verb_says_what_became_of_each_item(url: str, namespace: str) -> None:
    users = twindex.connect(url, namespace=namespace).table("users")
    users["text"] = "x"
    with pytest.raises(twindex_cluster.PartlyDoneError, match="of 2 items 1 are done") as raised:
        users.increment_many({"a": 5, "text": 1})
    [done, failed] = raised.value.outcomes
    assert done == 5
    assert isinstance(failed, twindex.NotAnIntegerError)
    assert (raised.value.code, isinstance(raised.value, ConnectionError)) == ("TWINDEX_PARTLY_DONE", True)


def test_batch_is_filled_after_idling(url: str, namespace: str) -> None:
    """A look at the catalogue was begun outside the runtime, which panicked."""
    store = twindex.connect(url, namespace=namespace, catalogue_age=0.05)
    users = store.table("users")
    time.sleep(0.1)
    with store.batch() as batch:
        batch.increment(users, "a", 1)
    assert users.alter("a", lambda value: time.sleep(0.1) or value)  # type: ignore[func-returns-value]

    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace, catalogue_age=0.05) as store:
            users = await store.table("users")
            await asyncio.sleep(0.1)
            async with store.batch() as batch:
                batch.increment(users, "a", 1)
            # Only a coroutine can be a task.
            async with asyncio.TaskGroup() as group:
                found = group.create_task(users.select("a"))
            assert found.result() == "2"
            slow = asyncio.create_task(users.len())
            await asyncio.sleep(0)
            slow.cancel()

    asyncio.run(main())


def test_views_are_live_and_objects_say_what_they_are(url: str, namespace: str) -> None:
    store = twindex.connect(url, namespace=namespace)
    log = store.table("log", index="sorted")
    log.update({"a": "1", "b": "2"})
    assert (len(log.items()), ("b", "2") in log.items(), "2" in log.values()) == (2, True, True)
    assert (log.keys() & {"a", "c"}, list(reversed(log.values()))) == ({"a"}, ["2", "1"])
    assert list(log.items()) == list(log.items())
    assert re.fullmatch(r"<twindex_cluster.Store at [\d.:, ]+>", repr(store))
    assert repr(store.batch()) == "<twindex_cluster.Batch of 0 writes>"
    assert repr(log.cursor()) == "<twindex_cluster.Cursor of 'log'>"


def in_child(store: twindex_cluster.Store, url: str, namespace: str) -> None:
    with contextlib.suppress(twindex.ForkedError):
        store.table("users")
        sys.exit(8)
    twindex.connect(url, namespace=namespace).table("users")["child"] = "1"

    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as mine:
            assert await (await mine.table("users")).upsert("task", "1")

    asyncio.run(main())
    sys.exit(7)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_process_connects_itself(url: str, namespace: str) -> None:
    store = twindex.connect(url, namespace=namespace)
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(store, url, namespace))
    child.start()
    child.join(20)
    assert child.exitcode == 7
    assert sorted(store.table("users")) == ["child", "task"]


FORKS = """
import contextlib, os, sys, threading, time, twindex
url, namespace = sys.argv[1:]
store = twindex.connect(url, namespace=namespace, near_cache=1 << 20)
table, begun = store.table("t"), time.monotonic()

def write(key):
    while not done:
        table[key] = "1"

done = False
threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
for thread in threads:
    thread.start()
children = []
while time.monotonic() < begun + 5:
    child = os.fork()
    if child == 0:
        repr(store), repr(table)
        for use in (lambda: store.near_stats, store.batch, lambda: len(table)):
            with contextlib.suppress(twindex.ForkedError):
                use()
                os._exit(1)
        store.close()
        del store, table
        os._exit(0)
    children.append(child)
    time.sleep(0.001)
ends = {os.waitpid(child, 0)[1] for child in children}
done = True
for thread in threads:
    thread.join()
print(ends)
"""


def test_forked_process_takes_no_lock_of_its_parent(url: str, namespace: str) -> None:
    """A lock that another thread held at the fork stayed locked, and one child of 200 hung while it ended."""
    assert output_of(FORKS, url, namespace) == "{0}\n"


def test_codec_that_raises_stop_iteration_ends_the_call(url: str, namespace: str) -> None:
    """No future takes it, so the call was awaited for good."""
    first = twindex.Codec("first", str.encode, lambda _: next(iter(())))

    async def main() -> None:
        async with await twindex.aio.connect(url, namespace=namespace) as store:
            table = await store.table("t", values=first)
            await table.upsert("a", "1")
            async with asyncio.timeout(20):
                with pytest.raises(RuntimeError, match="StopIteration"):
                    await table.select("a")

    asyncio.run(main())


AT_EXIT = """
import asyncio, sys, threading, time, twindex, twindex.aio
url, namespace = sys.argv[1:]

async def main():
    store = await twindex.aio.connect(url, namespace=namespace)
    users = await store.table("users", values="json")
    while True:
        await asyncio.gather(*(users.upsert(str(n), {"a": 1}) for n in range(50)), users.select("1"))

def forever():
    users = twindex.connect(url, namespace=namespace).table("users", values="json")
    while True:
        users["a"] = {"a": 1}

for work in (forever, forever, lambda: asyncio.run(main())):
    threading.Thread(target=work, daemon=True).start()
# A loop that is closed with a verb in flight has no use for its result.
loop = asyncio.new_event_loop()
store = loop.run_until_complete(twindex.aio.connect(url, namespace=namespace))
users = loop.run_until_complete(store.table("users", values="json"))
task = loop.create_task(users.len())
loop.run_until_complete(asyncio.sleep(0))
task.cancel()
loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
loop.close()
time.sleep(0.3)
"""


def test_daemon_threads_in_a_verb_do_not_crash_the_exit(url: str, namespace: str) -> None:
    for _ in range(3):
        assert output_of(AT_EXIT, url, namespace) == ""


def test_certificates_reach_the_servers(secure: tuple[list[str], bytes], namespace: str) -> None:
    [url, _], authority = secure
    for given in (authority, authority.decode()):
        with twindex.connect(url, namespace=namespace, tls_authority=given) as store:
            assert store.table("users").upsert("a", "1")
    for options, error, message in [
        ({}, twindex_cluster.UnavailableError, "certificate"),
        ({"tls_authority": "what"}, twindex_cluster.UrlError, "no certificate"),
        ({"tls_authority": 7}, twindex.ArgumentTypeError, "PEM"),
        ({"tls_identity": authority}, twindex.ArgumentTypeError, "a pair"),
    ]:
        with pytest.raises(error, match=message):
            twindex.connect(url, **options)  # type: ignore[arg-type]
    with pytest.raises(twindex_cluster.RefusedError, match="WRONGPASS") as raised:
        twindex.connect(url.replace("secret", "wrong"), tls_authority=authority)
    assert "wrong@" not in str(raised.value)


def test_without_the_package_it_is_named() -> None:
    nothing_found = "from importlib import metadata; metadata.entry_points = lambda **_: ()"
    script = f"{nothing_found}; import twindex; twindex.connect('redis://x')"
    assert "pip install twindex-cluster" in python(script).stderr


def test_the_example_of_the_readme_runs_as_written(url: str) -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    blocks = re.findall("```python\n(.*?)```", readme, re.DOTALL)
    [program] = [block for block in blocks if "twindex.connect(" in block]
    assert "redis://localhost:7000" in program
    program = program.replace("redis://localhost:7000", url)
    assert output_of(program) == "1815\n"


def test_the_batch_of_the_page_runs_as_written(url: str, namespace: str) -> None:
    page = (Path(__file__).parents[3] / "docs/cluster.md").read_text()
    [program] = re.findall("```python\n(.*?)```", page, re.DOTALL)
    before = (
        f"import twindex; store = twindex.connect({url!r}, namespace={namespace!r})\n"
        "accounts = store.table('accounts', values='int'); accounts['{bank}ada'] = 100\n"
    )
    after = "print(accounts['{bank}ada'], accounts['{bank}bob'])"
    assert output_of(before + program + after) == "90 10\n"
