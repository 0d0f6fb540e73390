//! Neither a false length in a dump nor a walk over large values may claim memory. In a file of its own, since it
//! counts what the whole process allocates.

#[path = "common/dump_writer.rs"]
mod dump_writer;

use std::io::Read;
use std::sync::Mutex;

use dump_writer::{counted_table, dump, end, file, lengths, pair, pairs, table, table_with_id};
use peak_alloc::PeakAlloc;
use twindex::{Error, IndexKind, Store};
use twindex_format::{Dump, limit_while_loading};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What the reader may claim beside what is really there.
const ALLOWANCE: usize = 1 << 20;

/// The tests count what the whole process allocates, so they run one by one.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn false_lengths_claim_no_memory() {
    let _alone = ALONE.lock();
    let whole = dump(&[table(0, b"t"), pairs(&[pair(0, b"a", b"1")]), end(1)]);
    assert!(Store::load(&mut whole.as_slice()).is_ok(), "the dumps below are wrong in their lengths alone");
    for length in [1 << 20, 1 << 24, 1 << 31, 1 << 32, 1 << 40, u64::MAX >> 1, u64::MAX] {
        for kind in 1..=5 {
            let last = (kind, b"a few bytes".to_vec());
            check(&with_length(file(0, &[table(0, b"t"), last.clone()]), length));
            check(&with_length(file(1, &[end(0), last]), length));
        }
        for lengths in [lengths(length, 1, 0), lengths(0, length, 0), lengths(0, 1, length)] {
            check(&dump(&[table(0, b"t"), pairs(&[lengths, b"ab".to_vec()])]));
        }
    }
}

/// How many pairs a table has is believed as far as there are some.
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

/// The file with a length in its last record that is not true, though the record's head says that it is.
fn with_length(mut file: Vec<u8>, length: u64) -> Vec<u8> {
    let at = file.len() - 12 - b"a few bytes".len();
    file[at + 1..at + 6].copy_from_slice(&length.to_le_bytes()[..5]);
    let place = [&file[12..20], &(at as u64).to_le_bytes(), &file[at..at + 6]].concat();
    let check = crc32fast::hash(&place) as u16;
    file[at + 6..at + 8].copy_from_slice(&check.to_le_bytes());
    file
}

/// Keys that share what is before them can be far larger than their dump.
#[test]
fn keys_are_unpacked_a_few_at_a_time() {
    let _alone = ALONE.lock();
    let mut list = vec![pair(0, &[b'k'; 65_000], b"")];
    list.extend((0..1000_u32).map(|number| pair(64_996, &number.to_be_bytes(), b"")));
    list[1..].rotate_left(1);
    let bytes = dump(&[table_with_id(0, 1, b"t"), pairs(&list), end(1001)]);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let error = Store::load_within(&mut bytes.as_slice(), 16 << 20).unwrap_err();
    assert!(matches!(error, Error::MemoryLimit { .. }), "{error}");
    let claimed = ALLOCATOR.peak_usage() - before;
    assert!(claimed < limit_while_loading(16 << 20) + (4 << 20), "{claimed} bytes were claimed");
}

/// Tables without pairs, of which a dump has one in some 20 bytes, once counted nothing, so that no limit refused them.
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

/// A hash table shows hundreds of pairs at once, whose values were all copied before the first was asked for.
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

/// A sorted table listed all its large values before it freed them. Where memory had run out, that ended the process.
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

fn check(bytes: &[u8]) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let found = Store::load(&mut bytes.take(u64::MAX));
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
    let claimed = ALLOCATOR.peak_usage() - before;
    assert!(claimed < ALLOWANCE + 20 * bytes.len(), "{claimed} bytes were claimed for {}", bytes.len());
}
