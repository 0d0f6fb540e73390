//! A host that gives the module no more memory.

use crate::guest::{ALL_MEMORY, AbiError, EXCLUDED, Fallible, Guest, INCLUDED, PREFIX, call, pack};

const MIB: usize = 1024 * 1024;

/// Writes pairs with numbers from `first` on until memory runs out: how many, and the error that ended it.
fn fill_from(guest: &mut Guest, table: u32, first: u32, value: &[u8]) -> (u32, AbiError) {
    for number in first.. {
        match guest.insert(table, &number.to_be_bytes(), value) {
            Ok(took_effect) => assert!(took_effect),
            Err(error) => return (number - first, error),
        }
    }
    unreachable!("memory ends before numbers do")
}

/// An instance of `bytes` with a full table of values like this: the instance, its store, the table and the number of pairs.
fn full(bytes: usize, index: &str, value: &[u8]) -> (Guest, u32, u32, u32) {
    let (mut guest, store, table) = Guest::with_table(bytes, index);
    let (pairs, error) = fill_from(&mut guest, table, 0, value);
    assert_eq!((error.number, error.code.as_str()), (7, "TWINDEX_MEMORY_LIMIT"), "{error}");
    (guest, store, table, pairs)
}

fn assert_no_memory<T: std::fmt::Debug>(outcome: Fallible<T>) {
    assert_eq!(outcome.unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
}

fn assert_has(guest: &mut Guest, table: u32, numbers: impl Iterator<Item = u32>, value: &[u8]) {
    for number in numbers {
        let right = guest.select_with(table, &number.to_be_bytes(), |found| found == value);
        assert_eq!(right, Ok(Some(true)), "pair {number}");
    }
}

fn assert_whole(guest: &mut Guest, table: u32, pairs: u32, value: &[u8]) {
    assert_eq!(guest.len(table), Ok(pairs as usize));
    assert_has(guest, table, 0..pairs, value);
}

/// An instance of `bytes` with one pair, which must outlive whatever is tried.
struct WithPair {
    guest: Guest,
    store: u32,
    table: u32,
}

impl WithPair {
    fn new(bytes: usize, index: &str) -> Self {
        let (mut guest, store, table) = Guest::with_table(bytes, index);
        guest.insert(table, b"k", b"v").unwrap();
        Self { guest, store, table }
    }

    fn assert_goes_on(&mut self) {
        assert_eq!(self.guest.select(self.table, b"k").unwrap().unwrap(), b"v");
        assert_eq!(self.guest.insert(self.table, b"again", b"v"), Ok(true));
    }
}

#[test]
fn a_write_that_memory_is_refused_for_is_an_error_and_the_store_goes_on() {
    for index in ["hash", "sorted"] {
        for value_bytes in [8, 1000, 300_000] {
            let value = vec![b'v'; value_bytes];
            let (mut guest, store, table, pairs) = full(12 * MIB, index, &value);
            assert!(pairs as usize * (value_bytes + 64) > 4 * MIB, "only {pairs} pairs were written");
            assert_no_memory(guest.dump(store));
            assert_whole(&mut guest, table, pairs, &value);

            // Once they are deleted there is room again.
            for number in 0..pairs {
                assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
            }
            assert_eq!(guest.insert(table, b"again", &value), Ok(true), "{index} {value_bytes}");
            assert_eq!(guest.select(table, b"again").unwrap().unwrap(), value);
        }
    }
}

#[test]
fn deleted_pairs_make_room_for_other_lengths_where_memory_ends() {
    for index in ["hash", "sorted"] {
        for (old_bytes, new_bytes) in [(8, 300), (60, 8), (300, 2000), (2000, 100)] {
            let (old, new) = (vec![b'o'; old_bytes], vec![b'n'; new_bytes]);
            let (mut guest, _, table, pairs) = full(12 * MIB, index, &old);
            for number in 100..pairs {
                assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
            }
            let (written, error) = fill_from(&mut guest, table, pairs, &new);
            assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
            assert_eq!(guest.len(table), Ok(100 + written as usize));
            assert_has(&mut guest, table, 0..100, &old);
            assert_has(&mut guest, table, pairs..pairs + written, &new);
        }
    }
}

#[test]
fn a_block_that_memory_ends_in_is_an_error_and_what_came_before_stays() {
    let value = [b'v'; 32];
    let (mut guest, _, table) = Guest::with_table(12 * MIB, "hash");
    let mut block = Vec::new();
    let mut written = 0_u32;
    let error = loop {
        block.clear();
        for number in written..written + 1000 {
            pack(&mut block, &[Some(&number.to_be_bytes()), Some(&value)]);
        }
        match call!(guest, insert_many, table, &block) {
            Ok(_) => written += 1000,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT");
    let pairs = guest.len(table).unwrap() as u32;
    assert!((written..written + 1000).contains(&pairs), "{pairs} of {written}");
    assert_whole(&mut guest, table, pairs, &value);
}

#[test]
fn answers_that_do_not_fit_are_errors_and_a_cursor_stays_where_it_was() {
    let (mut guest, _, table) = Guest::with_table(24 * MIB, "sorted");
    let value = vec![b'v'; MIB];
    for key in b'a'..=b'j' {
        assert!(guest.insert(table, &[key], &value).unwrap());
    }
    let cursor = guest.whole_cursor(table).unwrap();
    assert_no_memory(call!(guest, scan_asc_next_many, cursor, 100, u32::MAX));
    for key in b'a'..=b'j' {
        assert_eq!(call!(guest, scan_asc_next, cursor), Ok(1));
        assert!(guest.answered_pairs() == [(vec![key], value.clone())]);
    }
    let mut block = Vec::new();
    for _ in 0..20 {
        pack(&mut block, &[Some(b"a")]);
    }
    assert_no_memory(call!(guest, select_many, table, &block));
    assert_eq!(guest.select_with(table, b"b", |found| found == value), Ok(Some(true)));
}

#[test]
fn an_iterator_shows_every_pair_where_memory_ends() {
    for (index, value_bytes) in [("hash", 8), ("hash", 1000), ("hash", 300_000), ("sorted", 1000)] {
        let value = vec![b'v'; value_bytes];
        let (mut guest, _, table, pairs) = full(12 * MIB, index, &value);
        for number in 0..pairs / 5 {
            assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
        }
        let number = |(key, found): (Vec<u8>, Vec<u8>)| {
            assert!(found == value);
            u32::from_be_bytes(key.try_into().unwrap())
        };
        let mut numbers: Vec<_> = guest.iterate(table, 1).unwrap().into_iter().map(number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(pairs / 5..pairs), "{index} {value_bytes}");
    }
}

#[test]
fn an_iterator_that_cannot_answer_goes_on_once_it_can() {
    let mut guest = Guest::with_memory(24 * MIB);
    let store = guest.store_new(None).unwrap();
    let value = vec![b'v'; MIB];
    let tables = ["hash", "sorted"].map(|index| guest.table(store, index.as_bytes(), index).unwrap());
    for table in tables {
        for key in 0..7_u8 {
            assert!(guest.insert(table, &[key], &value).unwrap());
        }
    }
    // The rest is too little for seven values, and enough for one.
    for table in tables {
        let iterator = guest.open_iter(table).unwrap();
        let (mut keys, mut refused, mut count) = (Vec::new(), 0, 100);
        loop {
            match guest.iter_next_many(iterator, count) {
                Ok(pairs) if pairs.is_empty() => break,
                Ok(pairs) => keys.extend(pairs.into_iter().map(|(key, _)| key[0])),
                Err(error) => {
                    assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT");
                    (refused, count) = (refused + 1, 1);
                }
            }
            assert!(refused < 3, "{keys:?}");
        }
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn long_arguments_are_not_copied_where_memory_ends() {
    let (mut guest, store, table) = Guest::with_table(12 * MIB, "sorted");
    assert!(guest.insert(table, &vec![7; 65_535], b"").unwrap());
    let most = vec![7; 7 * MIB];
    for kind in [INCLUDED, EXCLUDED, PREFIX] {
        let pairs = guest.scan(table, (kind, &most), (EXCLUDED, b"\x08"), false, 9).unwrap();
        assert!(pairs.is_empty(), "a key of 7 MiB is beyond its beginning");
    }
    // The error about a name has a copy of it, for which there is no room.
    for (name, index) in [(&most[..], &b"hash"[..]), (b"name", &most)] {
        assert_no_memory(call!(guest, table, store, name, index));
    }
    assert_no_memory(guest.insert(table, &most, b""));
    assert_eq!(guest.len(table), Ok(1));
}

#[test]
fn a_load_that_does_not_fit_is_an_error_and_other_stores_stay() {
    let (mut wide, store, table) = Guest::with_table(ALL_MEMORY, "sorted");
    for number in 0..40_000_u32 {
        wide.insert(table, &number.to_be_bytes(), &[7; 100]).unwrap();
    }
    let dump = wide.dump(store).unwrap();
    let mut narrow = WithPair::new(10 * MIB, "hash");
    assert_no_memory(narrow.guest.load_within(&dump, None));
    narrow.assert_goes_on();
}

/// Makes tables until one is refused: how many there are, and the error.
fn make_tables(guest: &mut Guest, store: u32, index: &str) -> (u32, AbiError) {
    for number in 0.. {
        let made = guest.table(store, number.to_string().as_bytes(), index);
        if let Err(error) = made.and_then(|table| guest.close(table)) {
            return (number, error);
        }
    }
    unreachable!("memory ends before numbers do")
}

/// A dump has a table in a few bytes, and the module gives it some hundred.
#[test]
fn a_dump_of_more_tables_than_memory_holds_is_an_error_and_other_stores_stay() {
    let mut wide = Guest::with_memory(64 * MIB);
    let store = wide.store_new(Some(40 * MIB as u64)).unwrap();
    let (tables, error) = make_tables(&mut wide, store, "sorted");
    assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
    assert!((50_000..60_000).contains(&tables), "{tables} tables in 40 MiB");
    assert!(wide.memory_of(store).unwrap() <= 40 * MIB);
    let dump = wide.dump(store).unwrap();
    let mut narrow = WithPair::new(12 * MIB, "hash");
    assert_no_memory(narrow.guest.load_within(&dump, None));
    narrow.assert_goes_on();
}

#[test]
fn tables_that_memory_is_refused_for_are_errors_and_the_store_goes_on() {
    for index in ["hash", "sorted"] {
        let mut host = WithPair::new(8 * MIB, index);
        let (tables, error) = make_tables(&mut host.guest, host.store, index);
        assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
        assert!(tables > 1000, "only {tables} tables were made");
        for number in 0..tables {
            assert_eq!(call!(host.guest, drop_table, host.store, number.to_string().as_str()), Ok(1));
        }
        host.assert_goes_on();
    }
}

/// Opens something over a table, and answers its handle.
type Open = fn(&mut Guest, u32) -> Fallible<u32>;

/// A small object was made where nothing could fail, so that one too many ended the module.
#[test]
fn objects_that_memory_is_refused_for_are_errors_and_the_store_goes_on() {
    let open_store: Open = |guest, _| guest.store_new(None);
    let open_cursor: Open = |guest, table| guest.cursor(table, (INCLUDED, b"a"), (PREFIX, b"k"));
    let iterate: Open = |guest, table| guest.open_iter(table);
    // The host's store is the first handle, and its table the second.
    let snapshot: Open = |guest, table| guest.snapshot(table - 1);
    let begin: Open = |guest, table| guest.begin(table - 1);
    let opens = [
        (open_store, "hash", 8),
        (open_store, "sorted", 8),
        (open_cursor, "sorted", 8),
        (iterate, "hash", 8),
        (iterate, "sorted", 8),
        // To close one of these takes time in proportion to how many there are.
        (snapshot, "hash", 4),
        (begin, "hash", 4),
    ];
    for (open, index, mib) in opens {
        let mut host = WithPair::new(mib * MIB, index);
        let mut opened = Vec::new();
        let error = loop {
            match open(&mut host.guest, host.table) {
                Ok(handle) => opened.push(handle),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
        assert_eq!(host.guest.select(host.table, b"k").unwrap().unwrap(), b"v");
        for handle in opened {
            host.guest.close(handle).unwrap();
        }
        host.assert_goes_on();
    }
}

/// One commits, or nothing of it is there, and the module goes on.
#[test]
fn transactions_that_memory_is_refused_for_are_errors_and_nothing_is_written() {
    for index in ["hash", "sorted"] {
        for value_bytes in [60, 3000, 300_000] {
            let value = vec![b'v'; value_bytes];
            let (mut guest, store, table, pairs) = full(12 * MIB, index, &value);
            for number in 0..pairs / 3 {
                assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
            }
            let left = guest.len(table).unwrap();
            // The first ones replace what is there by longer values, the others are new.
            let (mut committed, mut refused) = (0, 0);
            for _ in 0..2 {
                let Ok(transaction) = guest.begin(store) else { continue };
                let longer = vec![b'w'; value_bytes * 2];
                let outcome = guest.table_of(transaction, "t").and_then(|part| {
                    (0..pairs).step_by(2).try_for_each(|number| {
                        guest.select(part, &(pairs - 1).to_be_bytes())?;
                        call!(guest, upsert, part, &number.to_be_bytes(), &longer).map(drop)
                    })?;
                    call!(guest, commit, transaction)
                });
                match outcome {
                    Ok(_) => committed += 1,
                    Err(error) => {
                        assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
                        refused += 1;
                    }
                }
                guest.close(transaction).unwrap();
            }
            assert!(refused + committed > 0, "no transaction was begun");
            if committed == 0 {
                assert_eq!(guest.len(table), Ok(left));
                assert_has(&mut guest, table, pairs / 3..pairs, &value);
            }
            assert_eq!(guest.snapshot_stats(store)[2], 0);
        }
    }
}

/// The system lays a huge page only where all of it is memory when it is first used. Of a memory that grew by just what was
/// needed, whose end the allocator used at once, not a thirteenth lay on huge pages.
#[cfg(target_os = "linux")]
#[test]
fn a_host_that_asks_for_huge_pages_has_memory_that_can_lie_on_them() {
    use crate::huge_pages;

    for index in ["hash", "sorted"] {
        let mut guest = Guest::new();
        huge_pages::ask_for(guest.memory, &guest.store).unwrap();
        let store = guest.store_new(None).unwrap();
        let table = guest.table(store, b"t", index).unwrap();
        let value = [b'v'; 200];
        let mut grown = guest.memory.data_size(&guest.store);
        let mut steps = 0;
        for number in 0..100_000_u32 {
            assert!(guest.insert(table, &number.to_be_bytes(), &value).unwrap());
            let size = guest.memory.data_size(&guest.store);
            if size > grown && size > 16 * MIB {
                assert_eq!(size % (2 * MIB), 0, "{index}: {grown} bytes of memory became {size}");
                steps += 1;
            }
            grown = size;
        }
        assert!(steps > 2, "{index}: the memory grew {steps} times");
        assert_whole(&mut guest, table, 100_000, &value);
    }
}
