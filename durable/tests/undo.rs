//! Batches that fail, and what is left of them; and a system that refuses memory, to undo a batch, to compact or to open a file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tempfile::tempdir;
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Durability, Error, Options, Result, Store, Table};

/// The system's allocator, which refuses large blocks when they were counted down.
struct Refusing;

/// How many large blocks there still are; `usize::MAX` for no end.
static LARGE_LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// How long a large block is. Smaller ones find room in what `Reserving` keeps back.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);

fn is_refused(bytes: usize) -> bool {
    let count_down = |left: usize| if left == usize::MAX { None } else { Some(left.saturating_sub(1)) };
    bytes >= LARGE.load(Relaxed) && LARGE_LEFT.fetch_update(Relaxed, Relaxed, count_down) == Ok(0)
}

// SAFETY: the system's allocator does all of it, or it is refused.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this function, which are the same.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        if is_refused(bytes) { std::ptr::null_mut() } else { unsafe { System.realloc(block, layout, bytes) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// One test after the other, since they share the count; and how long a large block is for this one.
fn alone(large: usize) -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    LARGE.store(large, Relaxed);
    alone
}

const BIG: usize = 1 << 20;

/// Gives a key another large value, and fails.
fn fail_after_a_large_value(store: &Store, table: &Table, value: &[u8]) -> Result<Vec<bool>> {
    let mut batch = store.batch();
    batch.upsert(table, "large", value)?;
    batch.increment(table, "text", 1)?;
    batch.commit()
}

#[test]
fn a_batch_that_cannot_be_undone_says_so() {
    let _alone = alone(512 << 10);
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let mut stayed = [0; 2];
    for (kind, stayed) in stayed.iter_mut().enumerate() {
        for blocks in 0..20 {
            let _ = fs::remove_file(&path);
            let store = match kind {
                0 => Store::new(),
                _ => Options::new().durability(Durability::Always).open(&path).unwrap(),
            };
            let table = store.table("t", IndexKind::Hash).unwrap();
            table.upsert("large", vec![b'1'; BIG]).unwrap();
            table.upsert("text", "no number").unwrap();
            let value = vec![b'2'; BIG];
            LARGE_LEFT.store(blocks, Relaxed);
            let error = fail_after_a_large_value(&store, &table, &value);
            LARGE_LEFT.store(usize::MAX, Relaxed);
            let error = error.unwrap_err();
            let is_undone = table.select("large").unwrap() == Some(vec![b'1'; BIG]);
            let says_so = error.to_string().contains("could not be undone, so a part of it stays in memory");
            assert_eq!(is_undone, !says_so, "{blocks} blocks: {error}");
            *stayed += usize::from(says_so);
            let next = table.upsert("next", "1");
            if kind == 0 || is_undone {
                next.unwrap();
                continue;
            }
            // Memory and file differ, so nothing may be added to the file.
            assert!(matches!(error, Error::LogFailed { .. }), "{error}");
            assert!(matches!(next, Err(Error::LogFailed { .. })), "{next:?}");
            assert!(matches!(store.compact(), Err(Error::LogFailed { .. })));
            drop((table, store));
            let store = Store::open(&path).unwrap();
            let table = store.table("t", IndexKind::Hash).unwrap();
            assert_eq!(table.select("large").unwrap(), Some(vec![b'1'; BIG]));
            assert_eq!(table.len(), 2);
        }
    }
    assert!(stayed.iter().all(|&stayed| stayed > 0), "no block was one that undoing needs: {stayed:?}");
}

#[test]
fn compaction_keeps_nothing_of_batches_and_transactions_that_are_undone() {
    const KEYS: u32 = 1000;
    let _alone = alone(512 << 10);
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Options::new().durability(Durability::EverySec).compact_by_hand(true).open(&path).unwrap();
    for index in [IndexKind::Sorted, IndexKind::Hash] {
        let table = store.table(index.to_string().as_str(), index).unwrap();
        for key in 0..KEYS {
            table.upsert(key.to_be_bytes(), "true").unwrap();
        }
        table.upsert("text", "no number").unwrap();
        // A limit near enough for live tables to be dumped, or none.
        store.set_memory_limit((index == IndexKind::Hash).then_some(2 * store.memory()));
        let ended = AtomicBool::new(false);
        let mut found = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Relaxed) {
                    let mut batch = store.batch();
                    for key in 0..KEYS {
                        batch.upsert(&table, key.to_be_bytes(), "false").unwrap();
                    }
                    // A key that comes twice, and one that was not there.
                    batch.delete(&table, 7_u32.to_be_bytes()).unwrap();
                    batch.upsert(&table, KEYS.to_be_bytes(), "false").unwrap();
                    batch.increment(&table, "text", 1).unwrap();
                    batch.commit().unwrap_err();
                    let Some(limit) = store.memory_limit() else { continue };
                    // The last write of the commit is refused, and the others are undone.
                    let failed = store.transaction(|tx| {
                        (0..KEYS).try_for_each(|key| tx.upsert(&table, key.to_be_bytes(), "false"))?;
                        tx.upsert(&table, "too large", vec![7; limit])
                    });
                    assert_eq!(failed.unwrap_err().code(), "TWINDEX_MEMORY_LIMIT");
                }
            });
            let compacted = (0..10).try_for_each(|_| {
                store.compact()?;
                let copy = Options::new().read_only(true).open(&path)?;
                let table = copy.find_table(table.name())?.expect("it is there");
                let wrong = (0..KEYS).find(|key| {
                    table.select(key.to_be_bytes()).ok().flatten().as_deref() != Some(b"true".as_slice())
                });
                found.push((wrong, table.len()));
                Ok::<_, Error>(())
            });
            ended.store(true, Relaxed);
            compacted.unwrap();
        });
        assert_eq!(
            found,
            [(None, KEYS as usize + 1); 10],
            "{index}: a key that is wrong, and how many pairs"
        );
    }
}

#[test]
fn a_compaction_without_memory_is_refused_and_changes_nothing() {
    let _alone = alone(512 << 10);
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let mut refused = 0;
    for blocks in 0..12 {
        let _ = fs::remove_file(&path);
        let store =
            Options::new().durability(Durability::EverySec).compact_by_hand(true).open(&path).unwrap();
        let table = store.table("t", IndexKind::Hash).unwrap();
        // A record of many short pairs, which a compaction keeps in one piece.
        let mut batch = store.batch();
        for key in 0..30_000_u32 {
            batch.upsert(&table, key.to_be_bytes(), [b'v'; 20]).unwrap();
        }
        batch.commit().unwrap();
        LARGE_LEFT.store(blocks, Relaxed);
        let compacted = store.compact();
        LARGE_LEFT.store(usize::MAX, Relaxed);
        refused += usize::from(compacted.is_err());
        table.upsert("next", "1").unwrap();
        store.close().unwrap();
        assert_eq!(Store::open(&path).unwrap().table("t", IndexKind::Hash).unwrap().len(), 30_001);
    }
    assert!((1..12).contains(&refused), "{refused} were refused");
}

#[test]
fn a_log_is_opened_or_the_error_says_that_memory_was_refused() {
    const KEYS: u32 = 20_000;
    // Among those that are smaller is what the engine needs for 4,096 pairs.
    let _alone = alone(96 << 10);
    let folder = tempdir().unwrap();
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let path = folder.path().join(format!("{index}.twx"));
        let options = || Options::new().durability(Durability::EverySec).compact_by_hand(true);
        let store = options().open(&path).unwrap();
        let table = store.table("t", index).unwrap();
        let key = |number: u32| number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        for numbers in (0..KEYS).collect::<Vec<_>>().chunks(1000) {
            let pairs: Vec<_> = numbers.iter().map(|&number| (key(number), [7; 40])).collect();
            table.upsert_many(&pairs).unwrap();
        }
        table.delete_many(&(0..KEYS / 2).map(key).collect::<Vec<_>>()).unwrap();
        store.close().unwrap();
        let mut refusals = 0;
        let opened = loop {
            LARGE_LEFT.store(refusals, Relaxed);
            let opened = options().read_only(true).open(&path);
            LARGE_LEFT.store(usize::MAX, Relaxed);
            match opened {
                Ok(store) => break store,
                Err(error) => assert!(error.to_string().contains("memory"), "{index}, {refusals}: {error}"),
            }
            refusals += 1;
            assert!(refusals < 100_000, "it never has enough");
        };
        // The lists of the groups, and what the pairs themselves need.
        assert!(refusals > 10, "{index}: {refusals}");
        assert_eq!(opened.find_table("t").unwrap().expect("it is there").len(), KEYS as usize / 2);
    }
}
