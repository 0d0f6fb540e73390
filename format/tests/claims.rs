//! Neither a false length in a dump nor a walk over large values may claim memory. In a file of its own, since it
//! counts what the whole process allocates.

#[path = "common/dump_writer.rs"]
mod dump_writer;

use std::sync::Mutex;

use dump_writer::{counted_table, dump, end, pair, pairs, table_with_id};
use peak_alloc::PeakAlloc;
use twindex::{Error, IndexKind, Store};
use twindex_format::{Dump, limit_while_loading};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The tests count what the whole process allocates, so they run one by one.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_false_number_of_pairs_claims_little_memory() {
    let _alone = ALONE.lock();
    let list: Vec<_> = (0..5000_u32).map(|number| pair(0, &number.to_be_bytes(), b"1")).collect();
    for count in [1 << 20, 1 << 40, u64::MAX >> 1] {
        let bytes = dump(&[counted_table(0, 0, count, b"t"), pairs(&list), end(5001)]);
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let found = Store::load(&mut bytes.as_slice());
        assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
        let claimed = ALLOCATOR.peak_usage() - before;
        assert!(claimed < 8 << 20, "{claimed} bytes were claimed for {count} pairs");
    }
}

#[test]
fn a_memory_limit_holds_for_tables_without_pairs() {
    const LIMIT: usize = 4 << 20;
    let _alone = ALONE.lock();
    for index in 0..2 {
        let names: Vec<_> = (0..20_000).map(|number| number.to_string()).collect();
        let tables = (0..).zip(&names).map(|(id, name)| table_with_id(id, index, name.as_bytes()));
        let bytes = dump(&tables.chain([end(0)]).collect::<Vec<_>>());
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let limited = Store::load_within(&mut bytes.as_slice(), LIMIT).map(drop);
        assert!(matches!(limited, Err(Error::MemoryLimit { limit: Some(LIMIT), .. })), "{limited:?}");
        let claimed = ALLOCATOR.peak_usage() - before;
        assert!(claimed < limit_while_loading(LIMIT) + (LIMIT >> 3), "{claimed} bytes were claimed");

        let store = Store::load(&mut bytes.as_slice()).unwrap();
        let holds = ALLOCATOR.current_usage() - before;
        assert!(store.memory() > holds && store.memory() < 2 * holds, "{} of {holds}", store.memory());
    }
}

#[test]
fn large_values_are_copied_one_at_a_time() {
    const VALUE: usize = 1 << 20;
    let _alone = ALONE.lock();
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = Store::new().table("t", index).unwrap();
        for key in 0..32_u8 {
            table.insert([key], vec![key; VALUE]).unwrap();
        }
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let sum: usize = table.iter().map(|(key, value)| usize::from(value == vec![key[0]; VALUE])).sum();
        assert_eq!(sum, 32);
        let claimed = ALLOCATOR.peak_usage() - before;
        assert!(claimed < 3 * VALUE, "{claimed} bytes were claimed, {index}");
    }
}

#[test]
fn dropping_a_table_takes_no_memory() {
    let _alone = ALONE.lock();
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = Store::new().table("t", index).unwrap();
        for key in 0..3_000_u32 {
            table.insert(key.to_be_bytes(), vec![7; if key % 2 == 0 { 600 } else { 5_000 }]).unwrap();
        }
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        drop(table);
        let claimed = ALLOCATOR.peak_usage() - before;
        assert!(claimed < 8 << 10, "{claimed} bytes were claimed, {index}");
    }
}
