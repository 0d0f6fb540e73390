//! What a watch is told, in which order, and how it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use twindex_durable::twindex::{self, Change, IndexKind};
use twindex_durable::{
    Durability, Effect, Error, Options, Result, Store, Table, Watch, WatchOptions, Watched,
};

const LONG: Duration = Duration::from_secs(20);

/// A store in memory, one with a log, and one that is saved on request.
fn stores() -> Vec<(TempDir, Store)> {
    let in_file = |durability: Durability| {
        let folder = tempdir().unwrap();
        let store = Options::new().durability(durability).open(folder.path().join("app.twx")).unwrap();
        (folder, store)
    };
    vec![(tempdir().unwrap(), Store::new()), in_file(Durability::EverySec), in_file(Durability::None)]
}

/// As `key=value`, `-key`, `clear`, `drop` or the number of the lost.
fn shown(item: &Watched) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match item {
        Watched::Lost(count) => count.to_string(),
        Watched::Change(change) => match &change.effect {
            Effect::Put { key, value } => format!("{}={}", text(key), text(value)),
            Effect::Delete { key } => format!("-{}", text(key)),
            Effect::Clear => "clear".into(),
            Effect::Drop => "drop".into(),
            other => panic!("a watch gave {other:?}"),
        },
    }
}

/// All changes so far.
fn taken(watch: &Watch) -> String {
    std::iter::from_fn(|| watch.poll()).map(|item| shown(&item)).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_way_to_write_is_told_once_it_took_effect() -> Result<()> {
    for (_folder, store) in stores() {
        for index in [IndexKind::Hash, IndexKind::Sorted] {
            let table = store.table("t", index)?;
            let other = store.table("other", index)?;
            let (watch, all) = (table.watch("u:")?, table.watch("")?);
            let told = |what: &str| assert_eq!(taken(&watch), what, "{index:?} {:?}", store.durability());

            assert!(table.insert("u:a", "1")? && !table.insert("u:a", "2")?);
            assert!(table.replace("u:a", "3")? && !table.replace("u:b", "3")?);
            table.upsert("u:b", "4")?;
            table.upsert("v:b", "not watched")?;
            other.upsert("u:a", "not watched")?;
            assert!(table.delete("u:a")? && !table.delete("u:a")?);
            told("u:a=1 u:a=3 u:b=4 -u:a");

            table.alter("u:b", |_| Change::Keep)?;
            table.alter("u:b", |_| Change::Set(b"5".into()))?;
            table.increment("u:b", 2)?;
            assert!(table.compare_and_swap("u:b", Some(b"7"), None)?);
            assert!(table.compare_and_swap("u:b", None, None)?, "it holds, and changes nothing");
            told("u:b=5 u:b=7 -u:b");

            table.insert_many(&[("u:a", "1"), ("v", "1"), ("u:a", "2"), ("u:b", "2")])?;
            table.increment_many(&[("u:a", 1)])?;
            table.delete_many(&["u:a", "u:x", "u:b"])?;
            told("u:a=1 u:b=2 u:a=2 -u:a -u:b");

            let mut batch = store.batch();
            batch.upsert(&table, "u:a", "1")?;
            batch.upsert(&other, "u:a", "1")?;
            batch.increment(&table, "u:a", 1)?;
            batch.delete(&table, "u:none")?;
            batch.commit()?;
            let mut batch = store.batch();
            batch.upsert(&table, "u:a", "undone")?;
            batch.increment(&table, "u:a", 1)?;
            batch.commit().unwrap_err();
            told("u:a=1 u:a=2");

            store.transaction(|tx| {
                tx.upsert(&table, "u:a", "x")?;
                tx.upsert(&table, "u:b", "y")
            })?;
            let _ = store.transaction(|tx| {
                tx.upsert(&table, "u:a", "given up")?;
                Err::<(), _>(Error::NoFile)
            });
            let mut told_of = taken(&watch);
            told_of.make_ascii_lowercase();
            assert!(["u:a=x u:b=y", "u:b=y u:a=x"].contains(&told_of.as_str()), "{told_of}");

            if index == IndexKind::Sorted {
                table.delete_range("u:".."u:b")?;
                table.pop_first()?;
                told("-u:a -u:b");
            }
            table.clear()?;
            table.upsert("u:a", "1")?;
            store.drop_table("t")?;
            told("clear u:a=1 drop");
            assert!(watch.is_ended());
            assert_eq!(watch.wait(Some(LONG)), None);

            let anew = store.table("t", index)?;
            anew.upsert("u:a", "of another table")?;
            told("");
            assert!(taken(&all).contains("v:b=not watched") && taken(&all).is_empty());
            assert!(matches!(table.watch(""), Err(Error::Engine(twindex::Error::TableDropped { .. }))));
            store.drop_table("t")?;
            store.drop_table("other")?;
        }
    }
    Ok(())
}

/// Keys with twins, which transactions and batches change together, and single writes beside them.
#[test]
fn changes_of_a_key_are_in_the_order_of_memory_and_those_of_a_transaction_or_batch_come_together()
-> Result<()> {
    const KEYS: u64 = 3;
    const TIMES: u64 = 400;
    for (number, (_folder, store)) in stores().into_iter().enumerate() {
        let table = store.table("t", if number % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted })?;
        let watch = table.watch_with("", WatchOptions::new().max_changes(100_000))?;
        thread::scope(|scope| {
            for thread in 0..4 {
                let (store, table) = (&store, &table);
                scope.spawn(move || {
                    for turn in 0..TIMES {
                        let key = (turn % KEYS).to_string();
                        let twin = format!("twin {key}");
                        let done: Result<()> = match thread {
                            0 => {
                                let mut batch = store.batch();
                                batch.increment(table, key, 1).unwrap();
                                batch.increment(table, twin, 1).unwrap();
                                batch.commit().map(drop)
                            }
                            1 => store.transaction(|tx| {
                                tx.increment(table, &key, 1)?;
                                tx.increment(table, &twin, 1).map(drop)
                            }),
                            _ => table.increment(key, 1).map(drop),
                        };
                        done.unwrap();
                    }
                });
            }
        });
        let (mut values, mut before) = (BTreeMap::new(), String::new());
        while let Some(item) = watch.poll() {
            let text = shown(&item);
            let (key, value) = text.split_once('=').unwrap();
            let last = values.insert(key.to_owned(), value.parse::<u64>().unwrap());
            assert_eq!(values[key], last.unwrap_or(0) + 1, "{:?}", store.durability());
            assert!(key.strip_prefix("twin ").is_none_or(|twin| twin == before), "{key} behind {before}");
            key.clone_into(&mut before);
        }
        assert_eq!(values.values().sum::<u64>(), 6 * TIMES);
    }
    Ok(())
}

/// A watch, then a look at the table, then the changes: that is how a copy is kept true.
#[test]
fn nothing_is_missed_between_the_start_of_a_watch_and_a_read() -> Result<()> {
    for (_folder, store) in stores() {
        let table = store.table("t", IndexKind::Hash)?;
        for round in 0..60 {
            let (watch, mut copy) = thread::scope(|scope| {
                for thread in 0..3 {
                    let (store, table) = (&store, &table);
                    scope.spawn(move || {
                        for turn in 0..20 {
                            let value = format!("{round}-{thread}-{turn}");
                            match thread {
                                0 => table.upsert("k", value).unwrap(),
                                1 => table.upsert_many(&[("k", &value)]).unwrap(),
                                _ => store.transaction(|tx| tx.upsert(table, "k", &value)).unwrap(),
                            }
                        }
                    });
                }
                (0..round % 8).for_each(|_| thread::yield_now());
                let watch = table.watch("k").unwrap();
                let copy = table.select("k").unwrap();
                (watch, copy)
            });
            while let Some(item) = watch.poll() {
                match item {
                    Watched::Change(change) => match change.effect {
                        Effect::Put { value, .. } => copy = Some(value),
                        other => panic!("nothing else was done, but {other:?}"),
                    },
                    Watched::Lost(_) => copy = table.select("k")?,
                }
            }
            assert_eq!(copy, table.select("k")?, "{round}");
        }
    }
    Ok(())
}

#[test]
fn what_finds_a_watch_full_is_counted_where_it_is_missing() -> Result<()> {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash)?;
    let put = |key: &str| table.upsert(key, "1");
    let watch = table.watch_with("", WatchOptions::new().max_changes(2))?;
    ["a", "b", "c", "d"].iter().try_for_each(|key| put(key))?;
    assert_eq!(watch.poll().as_ref().map(shown).as_deref(), Some("a=1"));
    put("e")?; // the count is in the queue too
    assert_eq!(taken(&watch), "b=1 3");
    put("f")?;
    assert_eq!(taken(&watch), "f=1");

    // A transaction comes whole or not at all.
    put("g")?;
    store.transaction(|tx| {
        tx.upsert(&table, "h", "1")?;
        tx.upsert(&table, "i", "1")
    })?;
    assert_eq!(taken(&watch), "g=1 2");

    let watch = table.watch_with("", WatchOptions::new().capacity(1000))?;
    table.upsert("a", "v".repeat(500))?;
    table.upsert("b", "v".repeat(500))?;
    table.upsert("c", "1")?;
    assert_eq!(taken(&watch).len(), "a= 1 c=1".len() + 500);
    table.upsert("d", "v".repeat(500))?;
    assert_eq!(taken(&watch).len(), "d=".len() + 500, "what was read takes no room");
    let expiring = store.expiring_table("expiring", IndexKind::Hash)?;
    let watch = expiring.watch_with("", WatchOptions::new().capacity(200))?;
    for _ in 0..100 {
        expiring.upsert("a", "1", None)?;
        assert_eq!(taken(&watch), "a=1", "nor does a deadline");
    }
    Ok(())
}

#[test]
fn a_watch_ends_with_its_store_and_gives_what_came_before() -> Result<()> {
    for (_folder, store) in stores() {
        let table = store.table("t", IndexKind::Hash)?;
        let waiting = table.watch("")?;
        table.upsert("a", "1")?;
        let closed = table.watch("")?;
        table.upsert("b", "1")?;
        thread::scope(|scope| {
            let all = scope.spawn(|| waiting.map(|item| shown(&item)).collect::<Vec<_>>());
            store.close()?;
            assert_eq!(all.join().unwrap(), ["a=1", "b=1"]);
            Ok::<_, Error>(())
        })?;
        assert!(closed.is_ended());
        assert_eq!(taken(&closed), "b=1");
        assert_eq!(table.watch("").is_err(), store.path().is_some(), "a store in memory goes on");
    }
    for (_folder, store) in stores() {
        let table = store.table("t", IndexKind::Hash)?;
        let watch = table.watch("")?;
        table.upsert("a", "1")?;
        drop((store, table));
        assert!(watch.is_ended());
        assert_eq!(taken(&watch), "a=1");
    }
    Ok(())
}

#[test]
fn closing_a_watch_ends_it_for_a_thread_that_waits() -> Result<()> {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash)?;
    let (watch, other) = (table.watch("")?, table.watch("")?);
    thread::scope(|scope| {
        let waits = scope.spawn(|| watch.wait(Some(LONG)));
        thread::sleep(Duration::from_millis(2));
        watch.close();
        assert_eq!(waits.join().unwrap(), None);
    });
    table.upsert("a", "1")?;
    assert_eq!((taken(&watch), taken(&other)), (String::new(), "a=1".into()));
    assert_eq!(other.wait(Some(Duration::from_millis(1))), None);
    Ok(())
}

/// Wakes by a write to the very key, which would wait for itself for ever under the write's locks.
struct Writes(Table, Mutex<u32>);

impl Wake for Writes {
    fn wake(self: Arc<Self>) {
        let mut times = self.1.lock().unwrap();
        *times += 1;
        self.0.upsert("a", format!("woken {times}")).unwrap();
        self.0.clear().unwrap();
    }
}

#[test]
fn a_task_is_woken_without_the_locks_of_the_write() -> Result<()> {
    for (_folder, store) in stores() {
        let table = store.table("t", IndexKind::Hash)?;
        let watch = table.watch("a")?;
        let writes = Arc::new(Writes(table.clone(), Mutex::default()));
        let waker = Waker::from(Arc::clone(&writes));
        let context = &mut Context::from_waker(&waker);
        let mut awaited = |write: &dyn Fn() -> Result<()>| {
            assert!(watch.poll_next(context).is_pending());
            write()?;
            assert!(matches!(watch.poll_next(context), Poll::Ready(Some(_))));
            taken(&watch);
            Ok::<_, Error>(())
        };
        awaited(&|| table.upsert("a", "1"))?;
        awaited(&|| table.upsert_many(&[("a", "1")]))?;
        awaited(&|| table.clear())?;
        awaited(&|| {
            let mut batch = store.batch();
            batch.upsert(&table, "a", "1")?;
            batch.commit().map(drop)
        })?;
        awaited(&|| store.transaction(|tx| tx.upsert(&table, "a", "1")))?;
        assert_eq!(*writes.1.lock().unwrap(), 5);
        assert!(watch.poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
        store.close()?;
        assert_eq!(watch.poll_next(&mut Context::from_waker(Waker::noop())), Poll::Ready(None));
    }
    Ok(())
}

#[test]
fn a_watch_cannot_begin_in_the_closure_of_a_write() -> Result<()> {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash)?;
    table.alter("a", |_| {
        assert!(matches!(table.watch(""), Err(Error::Engine(twindex::Error::InWrite))));
        Change::Keep
    })?;
    Ok(())
}

#[test]
fn a_followers_watch_has_what_its_refreshes_read() -> Result<()> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path)?;
    let table = store.table("t", IndexKind::Hash)?;
    store.table("gone", IndexKind::Hash)?;
    let follower = Options::new().read_only(true).open(&path)?;
    let watch_of = |name: &str| follower.find_table(name).map(|table| table.unwrap().watch("u:").unwrap());
    let (watch, gone) = (watch_of("t")?, watch_of("gone")?);
    table.upsert("u:a", "1")?;
    table.upsert("v:a", "1")?;
    follower.refresh()?;
    assert_eq!(taken(&watch), "u:a=1");

    // Another store in its place, where the table has another number.
    store.close()?;
    std::fs::remove_file(&path).unwrap();
    let store = Store::open(&path)?;
    store.table("first", IndexKind::Hash)?;
    let table = store.table("t", IndexKind::Hash)?;
    table.upsert("u:b", "2")?;
    follower.refresh()?;
    assert_eq!((taken(&watch), taken(&gone)), ("1".into(), "drop".into()));
    assert!(gone.is_ended());
    table.upsert("u:c", "3")?;
    follower.refresh()?;
    assert_eq!(taken(&watch), "u:c=3");
    let later = watch_of("t")?;
    table.delete("u:c")?;
    follower.refresh()?;
    assert_eq!((taken(&watch), taken(&later)), ("-u:c".into(), "-u:c".into()));
    Ok(())
}
