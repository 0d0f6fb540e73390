//! Tables and caches of Rust's types.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use twindex::{Change, IndexKind};
use twindex_cache::{CacheOptions, Ttl};
use twindex_codec::{Json, Msgpack};
use twindex_durable::{Error, Options, Result, Store, TypedCache, TypedTable, read_cache, save_cache};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct User {
    name: String,
    born: u32,
}

fn ada() -> User {
    User { name: "Ada".into(), born: 1815 }
}

fn users(store: &Store) -> TypedTable<String, Json<User>> {
    store.typed("users", IndexKind::Hash).unwrap()
}

#[test]
fn a_table_that_python_wrote_is_read_as_types() -> Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/version-1-python.twx");
    let store = Options::new().read_only(true).open(path)?;
    let years = TypedTable::<i64, Json<serde_json::Value>>::of(store.find_table("years")?.unwrap())?;
    let pairs = years.scan(0..=1815)?.collect::<Result<Vec<_>>>()?;
    assert_eq!(pairs, [(0, json!("zéro")), (1815, json!({"name": "Ada", "of": [1.5, true]}))]);
    let visits = TypedTable::<(String, i64), i64>::of(store.find_table("visits")?.unwrap())?;
    assert_eq!(visits.select(("ada", 2026))?, Some(5));
    Ok(())
}

#[test]
fn verbs_take_and_give_types() -> Result<()> {
    let table = users(&Store::new());
    assert!(table.insert("ada", &ada())?);
    assert!(!table.insert("ada", &ada())?);
    assert!(!table.replace("bob", &ada())?);
    let bob = User { name: "Bob".into(), born: 1900 };
    table.upsert("bob", &bob)?;
    assert_eq!(table.select("ada")?, Some(ada()));
    assert!(table.contains("bob")? && !table.contains("eve")?);
    assert!(table.compare_and_swap("ada", Some(&ada()), Some(&bob))?);
    assert!(!table.compare_and_swap("ada", Some(&ada()), None)?);
    assert!(table.alter("ada", |old| Change::Set(User { born: 1, ..old.unwrap() }))?);
    assert_eq!(table.take("ada")?.unwrap(), User { born: 1, ..bob.clone() });
    assert!(table.delete("bob")? && table.is_empty());

    assert_eq!(table.insert_many([("ada", &ada()), ("ada", &bob), ("bob", &bob)])?, [true, false, true]);
    assert_eq!(table.replace_many([("eve", &bob)])?, [false]);
    table.upsert_many([("eve", &bob)])?;
    assert_eq!(table.select_many(["eve", "none", "ada"])?, [Some(bob), None, Some(ada())]);
    assert_eq!(table.contains_many(["none", "ada"])?, [false, true]);
    assert_eq!(table.delete_many(["ada", "none"])?, [true, false]);
    assert_eq!(table.iter()?.count(), table.len());
    table.clear()?;
    assert!(table.is_empty());

    let counts = Store::new().typed::<Vec<u8>, i64>("counts", IndexKind::Hash)?;
    assert_eq!(counts.increment(b"a", 2)?, 2);
    assert_eq!(counts.increment_many([(b"a".as_slice(), -3), (b"b", 1)])?, [-1, 1]);
    Ok(())
}

#[test]
fn order_is_that_of_the_types() -> Result<()> {
    let store = Store::new();
    let years = store.typed::<i32, String>("years", IndexKind::Sorted)?;
    years.insert_many([(5, "five"), (-7, "minus seven"), (300, "three hundred")])?;
    let keys = |pairs: &mut dyn Iterator<Item = Result<(i32, String)>>| {
        pairs.map(|pair| pair.map(|(key, _)| key)).collect::<Result<Vec<_>>>()
    };
    assert_eq!(keys(&mut years.iter()?)?, [-7, 5, 300]);
    assert_eq!(keys(&mut years.scan(..300)?.rev())?, [5, -7]);
    assert_eq!(keys(&mut years.scan((Bound::Excluded(-7), Bound::Included(5)))?)?, [5]);
    let mut cursor = years.cursor(0..)?;
    assert_eq!(cursor.scan_asc_next().unwrap()?, (5, "five".into()));
    assert_eq!(cursor.scan_asc_next().unwrap()?.0, 300);
    assert_eq!(cursor.scan_desc_next().unwrap()?.0, 5);
    assert_eq!((years.first()?.unwrap().0, years.last()?.unwrap().0), (-7, 300));
    assert_eq!((years.pop_first()?.unwrap().0, years.pop_last()?.unwrap().0), (-7, 300));
    assert_eq!(years.delete_range(..)?, 1);

    let visits = store.typed::<(String, Option<i64>), Msgpack<User>>("visits", IndexKind::Sorted)?;
    for (name, year) in [("ada", None), ("ada", Some(2026)), ("adam", Some(1))] {
        visits.upsert((name, year), &ada())?;
    }
    let found = visits.prefix(("ada",))?.collect::<Result<Vec<_>>>()?;
    assert_eq!(found, [(("ada".to_owned(), None), ada()), (("ada".to_owned(), Some(2026)), ada())]);
    assert_eq!((visits.delete_prefix(("ada",))?, visits.len()), (2, 1));
    let words = store.typed::<String, String>("words", IndexKind::Sorted)?;
    words.insert_many([("ab", ""), ("abc", ""), ("b", "")])?;
    assert_eq!(words.prefix("ab")?.count(), 2);
    Ok(())
}

#[test]
fn snapshots_transactions_and_batches_know_the_types() -> Result<()> {
    let store = Store::new();
    let (table, years) = (users(&store), store.typed::<i64, i64>("years", IndexKind::Sorted)?);
    table.insert("ada", &ada())?;
    let snapshot = store.snapshot()?;
    store.transaction(|tx| {
        let mut users = table.within(tx);
        assert_eq!(users.select("ada")?, Some(ada()));
        assert!(users.delete("ada")? && !users.contains("ada")?);
        assert!(!users.replace("ada", &ada())?);
        let mut years = years.within(tx);
        assert_eq!((years.increment(1815, 2)?, years.increment(1816, 3)?), (2, 3));
        assert_eq!(years.range(.., 1, true)?, [(1816, 3)]);
        Ok::<_, Error>(())
    })?;
    assert_eq!((table.at(&snapshot)?.select("ada")?, table.select("ada")?), (Some(ada()), None));
    let mut batch = store.batch();
    table.within(&mut batch).expect("ada", None)?;
    table.within(&mut batch).insert("ada", &ada())?;
    years.within(&mut batch).increment(1815, 1)?;
    assert_eq!(batch.commit()?, [true, true]);
    assert_eq!((table.select("ada")?, years.select(1815)?), (Some(ada()), Some(3)));
    Ok(())
}

#[test]
fn pairs_of_a_typed_table_expire() -> Result<()> {
    let store = Store::new();
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&now);
    store.set_clock(move || (clock.load(Relaxed), clock.load(Relaxed)));
    let sessions = store.typed_expiring::<String, Json<User>>("sessions", IndexKind::Sorted)?;
    assert!(sessions.insert("a", &ada(), Duration::from_secs(1))?);
    sessions.upsert("b", &ada(), None)?;
    assert_eq!(sessions.ttl("a")?, Ttl::Left(Duration::from_secs(1)));
    assert_eq!(sessions.scan("a"..)?.collect::<Result<Vec<_>>>()?.len(), 2);
    now.fetch_add(1_000, Relaxed);
    assert_eq!((sessions.select("a")?, sessions.ttl("b")?), (None, Ttl::Forever));
    assert_eq!(sessions.cursor(..)?.scan_asc_next().unwrap()?.0, "b");
    assert!(sessions.touch("b", Duration::from_secs(1))? && sessions.delete("b")?);
    assert!(!sessions.replace("b", &ada(), None)? && sessions.iter()?.next().is_none());
    let hits = store.typed_expiring::<i64, i64>("hits", IndexKind::Hash)?;
    assert_eq!(hits.increment(1, 2, Duration::from_secs(1))?, 2);
    assert!(store.typed::<i64, i64>("hits", IndexKind::Hash).is_err());
    Ok(())
}

#[test]
fn another_type_than_the_table_has_is_an_error() -> Result<()> {
    let store = Store::new();
    let table = users(&store);
    assert_eq!(table.as_table().codecs(), ("str", "json"));
    let other = store.typed::<i64, Json<User>>("users", IndexKind::Hash).unwrap_err();
    assert_eq!(other.to_string(), "the keys of table \"users\" have the codec \"str\", this needs \"int\"");
    let other = TypedTable::<String, String>::of(table.as_table().clone()).unwrap_err();
    assert_eq!(other.code(), "TWINDEX_WRONG_CODEC");
    store.typed::<Vec<u8>, Vec<u8>>("users", IndexKind::Hash)?;
    Ok(())
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it_and_stays() -> Result<()> {
    let store = Store::new();
    let table = users(&store);
    table.as_table().upsert("ada", r#"{"name":"Ada"}"#)?;
    let error = table.select("ada").unwrap_err();
    assert_eq!(error.code(), "TWINDEX_ENCODING");
    let message = error.to_string();
    assert!(
        message.starts_with(
            "table \"users\", key \"ada\", codec \"json\": the value cannot be read as json: missing"
        ),
        "{message}"
    );
    for refused in [
        table.take("ada").map(drop),
        table.alter("ada", |_| Change::Delete).map(drop),
        table.select_many(["ada"]).map(drop),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    assert_eq!(table.len(), 1);

    let years = store.typed::<u8, u64>("years", IndexKind::Sorted)?;
    years.as_table().upsert(twindex_codec::int::encode(300), "1")?;
    assert!(
        years
            .pop_first()
            .unwrap_err()
            .to_string()
            .ends_with("codec \"int\": 300 does not fit into the type u8")
    );
    assert_eq!(years.upsert(1, u64::MAX).unwrap_err().code(), "TWINDEX_OVERFLOW");
    Ok(())
}

#[test]
fn a_cache_of_types_is_kept_with_its_codecs() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.twx");
    let cache = TypedCache::<i64, Msgpack<User>>::new(CacheOptions::max_entries(10))?;
    assert!(cache.upsert(1, &ada())?);
    assert_eq!((cache.get(1)?, cache.peek(2)?, cache.contains(1)?), (Some(ada()), None, true));
    let computed = cache.get_or_compute(2, || Ok::<_, Error>(User { born: 2, ..ada() })).unwrap();
    assert_eq!(cache.get_many([2, 3])?, [Some(computed), None]);
    assert_eq!(cache.iter().collect::<Result<Vec<_>>>()?.len(), 2);
    assert!(cache.remove(2)? && cache.take(2)?.is_none());
    assert!(!cache.insert(1, &ada(), None)? && !cache.replace(2, &ada(), None)?);
    save_cache(cache.as_cache(), &path)?;

    let saved = read_cache(&path)?;
    let options = saved.options();
    let loaded = saved.load(options)?;
    assert_eq!(TypedCache::<i64, Msgpack<User>>::of(loaded.clone())?.get(1)?, Some(ada()));
    let other = TypedCache::<i64, Json<User>>::of(loaded).unwrap_err();
    assert_eq!(other.to_string(), "the values of the cache have the codec \"msgpack\", this needs \"json\"");
    Ok(())
}
