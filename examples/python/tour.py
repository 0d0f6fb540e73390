"""One program in four languages: a table, a scan, a batch, the feed, a snapshot, a cache."""

import sys

import twindex


def main(path: str) -> None:
    """Run it with a store in a new file."""
    store = twindex.open(path)

    users = store.table("users", values="json")
    users.insert("ada", {"born": 1815})
    users.insert("ada", {"born": 1852})  # changes nothing: the key is there
    print(f"table: {len(users)} user, born {users['ada']['born']}")

    log = store.table("log", index="sorted")
    log.upsert_many({"2026-11-02": "b", "2026-11-01": "a", "2025-12-31": "z"})
    for day, text in log.prefix("2026-"):
        print(f"scan: {day} {text}")

    accounts = store.table("accounts", values="int")
    position = store.position
    batch = store.batch()
    batch.upsert(accounts, "ada", 70)
    batch.upsert(accounts, "bob", 30)
    print(f"batch: {len(batch.commit())} writes")

    for change in next(store.changes(position)).changes:
        print(f"feed: {change.kind} {change.key} {change.value}")

    with store.snapshot() as snapshot:
        accounts.increment("ada")
        before = snapshot.table(accounts)
        print(f"snapshot: {before['ada']}, now {accounts['ada']}")

    squares = twindex.Cache(max_entries=100, keys="int", values="int")

    def square() -> int:
        print("cache: computing")
        return 12 * 12

    for _ in range(2):
        print(f"cache: {squares.get_or_compute(12, square)}")
    store.close()


if __name__ == "__main__":
    main(sys.argv[1])
