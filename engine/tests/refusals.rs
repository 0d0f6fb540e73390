//! A system that refuses memory: transactions write all or nothing, and the store goes on when there is memory again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use twindex::{Error, IndexKind, Snapshot, Store, Table, Transaction};

/// The system's allocator. It refuses blocks and large values, for which the engine has an error at hand.
struct Refusing;

thread_local! {
    /// How many allocations of the thread there are until one is refused, how many are refused then, and how many were.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    static REFUSALS: Cell<usize> = const { Cell::new(0) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
    /// The bytes that the thread may take.
    static BYTES: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The length of the largest values. No list of the engine takes as much.
const LARGE: usize = 5000;

fn may_be_refused(layout: Layout) -> bool {
    // A large table's counters are aligned too, and have 512 bytes. That cannot be refused.
    layout.align() >= 64 && layout.size() != 512 || (LARGE..LARGE + 100).contains(&layout.size())
}

fn is_refused(layout: Layout) -> bool {
    if !may_be_refused(layout) {
        return false;
    }
    if BYTES.get() != usize::MAX {
        let left = BYTES.get().checked_sub(layout.size());
        BYTES.set(left.unwrap_or(BYTES.get()));
        return left.is_none();
    }
    if LEFT.get() > 0 {
        LEFT.set(LEFT.get() - usize::from(LEFT.get() < usize::MAX));
        return false;
    }
    let is_refused = REFUSED.get() < REFUSALS.get();
    REFUSED.set(REFUSED.get() + usize::from(is_refused));
    is_refused
}

// SAFETY: the system's allocator does all of it, or it is refused.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this function, which are the same.
        if is_refused(layout) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if BYTES.get() != usize::MAX && may_be_refused(layout) {
            BYTES.set(BYTES.get() + layout.size());
        }
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Runs `run` while the system refuses `refusals` allocations after `left`. Returns how many it did refuse.
fn refusing<T>(left: usize, refusals: usize, run: impl FnOnce() -> T) -> (T, usize) {
    REFUSED.set(0);
    REFUSALS.set(refusals);
    LEFT.set(left);
    let done = run();
    LEFT.set(usize::MAX);
    (done, REFUSED.get())
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn pairs(table: &Table) -> Pairs {
    table.iter().collect()
}

fn check(store: &Store) {
    #[cfg(twindex_check)]
    store.tables().iter().for_each(Table::check);
    let _ = store;
}

const PAIRS: usize = if cfg!(miri) { 20 } else { 300 };

fn value(byte: u8, number: usize) -> Vec<u8> {
    vec![byte; [0, 8, 40, 200, 600, LARGE][number % 6]]
}

/// Some pairs of all lengths, under so many snapshots.
fn filled(index: IndexKind, snapshots: usize) -> (Store, [Table; 2], Vec<Snapshot>) {
    let store = Store::new();
    let tables = ["a", "b"].map(|name| store.table(name, index).unwrap());
    let mut open = Vec::new();
    for part in 0..3 {
        for key in (part..PAIRS).step_by(3) {
            tables[0].upsert(format!("key {key:04}"), value(b'o', key)).unwrap();
        }
        open.extend((part < snapshots).then(|| store.snapshot().unwrap()));
    }
    (store, tables, open)
}

/// Changes, deletes and adds pairs, and begins a table.
fn write(tx: &mut Transaction, [one, two]: &[Table; 2], some: usize) -> Result<(), Error> {
    for key in (0..PAIRS).step_by(PAIRS / some) {
        tx.upsert(one, format!("key {key:04}"), value(b'n', key + 1))?;
        tx.delete(one, format!("key {:04}", key + 1))?;
        tx.insert(one, format!("key {key:04} new"), value(b'n', key / 2))?;
        tx.insert(one, format!("another {key:04}"), value(b'n', key))?;
        tx.insert(two, format!("{key:04}"), value(b'n', key / 3))?;
    }
    tx.insert(two, "large", value(b'n', 5))?;
    Ok(())
}

#[test]
fn commits_without_memory_write_nothing_and_succeed_later() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        for (snapshots, some) in [(0, 4), (1, 1), (1, 10), (3, 10)] {
            for refusals in [1, usize::MAX] {
                let mut failed = 0;
                for left in 0.. {
                    let (store, tables, open) = filled(index, snapshots);
                    let before = pairs(&tables[0]);
                    let shown: Vec<Pairs> =
                        open.iter().map(|open| open.table("a").unwrap().iter().collect()).collect();
                    let mut tx = store.begin();
                    write(&mut tx, &tables, some).unwrap();
                    let (committed, times) = refusing(left, refusals, || tx.commit());
                    check(&store);
                    if let Err(error) = &committed {
                        assert_eq!(error.code(), "TWINDEX_MEMORY_LIMIT");
                        assert!(pairs(&tables[0]) == before && tables[1].is_empty(), "{index}: {left}");
                        assert_eq!((tables[0].len(), tables[1].len()), (before.len(), 0));
                        store.transaction(|tx| write(tx, &tables, some)).unwrap();
                    }
                    for (open, shown) in open.iter().zip(&shown) {
                        assert!(open.table("a").unwrap().iter().collect::<Pairs>() == *shown);
                    }
                    drop(open);
                    check(&store);
                    let once = pairs(&tables[0]);
                    assert!(once.len() == tables[0].len() && once != before);
                    assert_eq!(store.snapshot_stats().kept_bytes, 0);
                    failed += usize::from(committed.is_err());
                    if times == 0 {
                        break;
                    }
                }
                assert!(failed > 0 || refusals == 1, "{index}, {snapshots}");
            }
        }
    }
}

/// With tiny constants blocks of 512 bytes are enough to go on for ever.
#[cfg(not(twindex_tiny))]
#[test]
fn table_that_filled_memory_under_snapshots_is_written_to_after_them() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        for len in [8, 100, 700] {
            let store = Store::new();
            let table = store.table("t", index).unwrap();
            BYTES.set(if cfg!(miri) { 200_000 } else { 2 << 20 });
            let (mut key, mut open, mut refusals) = (0, Vec::new(), 0);
            while refusals < 300 {
                if key % 500 == 0 && refusals == 0 {
                    open.push(store.snapshot().unwrap());
                }
                let wrote = table.upsert(format!("{key:06}"), vec![1; len]);
                let again = table.upsert(format!("{:06}", key / 2), vec![2; len]);
                refusals += usize::from(wrote.is_err()) + usize::from(again.is_err());
                key += usize::from(wrote.is_ok() || refusals % 2 == 0);
            }
            drop(open);
            assert_eq!(store.snapshot_stats().kept_bytes, 0);
            let keys: Vec<_> = table.iter().map(|(key, _)| key).collect();
            // A sorted table needs memory to use again what was deleted in a leaf. It gives all back when it is empty.
            let step = if index == IndexKind::Hash { 2 } else { 1 };
            for key in keys.iter().step_by(step) {
                table.delete(key).unwrap();
            }
            for key in keys.iter().step_by(step) {
                table.upsert(key, vec![3; len]).unwrap();
            }
            check(&store);
            drop((store, table));
            BYTES.set(usize::MAX);
        }
    }
}
