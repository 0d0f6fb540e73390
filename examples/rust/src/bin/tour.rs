//! One program in four languages: a table, a scan, a batch, the feed, a snapshot, a cache.

use serde::{Deserialize, Serialize};
use twindex_cache::CacheOptions;
use twindex_codec::Json;
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Effect, Error, Result, Store, TypedCache};

#[derive(Serialize, Deserialize)]
struct User {
    born: u32,
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("the path of a file");
    let store = Store::open(path)?;

    let users = store.typed::<String, Json<User>>("users", IndexKind::Hash)?;
    users.insert("ada", &User { born: 1815 })?;
    users.insert("ada", &User { born: 1852 })?; // changes nothing: the key is there
    println!("table: {} user, born {}", users.len(), users.select("ada")?.expect("she is there").born);

    let log = store.typed::<String, String>("log", IndexKind::Sorted)?;
    log.upsert_many([("2026-11-02", "b"), ("2026-11-01", "a"), ("2025-12-31", "z")])?;
    for pair in log.prefix("2026-")? {
        let (day, text) = pair?;
        println!("scan: {day} {text}");
    }

    let accounts = store.typed::<String, i64>("accounts", IndexKind::Hash)?;
    let position = store.position()?;
    let mut batch = store.batch();
    accounts.within(&mut batch).upsert("ada", 70)?;
    accounts.within(&mut batch).upsert("bob", 30)?;
    println!("batch: {} writes", batch.commit()?.len());

    for change in store.changes(position)?.poll()?.expect("the batch").changes {
        let Effect::Put { key, value } = change.effect else { continue };
        println!("feed: put {} {}", key.escape_ascii(), value.escape_ascii());
    }

    let snapshot = store.snapshot()?;
    accounts.increment("ada", 1)?;
    let before = accounts.at(&snapshot)?.select("ada")?;
    println!("snapshot: {}, now {}", before.unwrap_or(0), accounts.select("ada")?.unwrap_or(0));

    let squares = TypedCache::<i64, i64>::new(CacheOptions::max_entries(100))?;
    for _ in 0..2 {
        let square = squares.get_or_compute(12, || {
            println!("cache: computing");
            Ok::<_, Error>(12 * 12)
        });
        println!("cache: {}", square.expect("a square"));
    }
    store.close()
}
