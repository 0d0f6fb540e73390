//! A host that gives the module no more memory.

use crate::guest::{AbiError, Guest, NONE, pack};

const MIB: usize = 1024 * 1024;

/// Writes until memory runs out: what was written and the error that ended it.
fn fill(guest: &mut Guest, table: u32, value: &[u8]) -> (u32, AbiError) {
    let mut number = 0_u32;
    loop {
        match guest.insert(table, &number.to_be_bytes(), value) {
            Ok(took_effect) => assert!(took_effect),
            Err(error) => return (number, error),
        }
        number += 1;
    }
}

fn assert_whole(guest: &mut Guest, table: u32, pairs: u32, value: &[u8]) {
    assert_eq!(guest.len(table).unwrap(), pairs as usize);
    for number in 0..pairs {
        let right = guest.select_with(table, &number.to_be_bytes(), |found| found == value).unwrap();
        assert_eq!(right, Some(true), "pair {number}");
    }
}

#[test]
fn a_write_that_memory_is_refused_for_is_an_error_and_the_store_goes_on() {
    for index in ["hash", "sorted"] {
        for value_bytes in [8, 1000, 300_000] {
            let value = vec![b'v'; value_bytes];
            let mut guest = Guest::with_memory(12 * MIB);
            let store = guest.store_new(None).unwrap();
            let table = guest.table(store, b"t", index).unwrap();
            let (pairs, error) = fill(&mut guest, table, &value);
            assert_eq!((error.number, error.code.as_str()), (7, "TWINDEX_MEMORY_LIMIT"), "{error}");
            assert!(pairs as usize * (value_bytes + 64) > 4 * MIB, "only {pairs} pairs were written");
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
fn a_block_that_memory_ends_in_is_an_error_and_what_came_before_stays() {
    let value = [b'v'; 32];
    let mut guest = Guest::with_memory(12 * MIB);
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "hash").unwrap();
    let mut block = Vec::new();
    let mut written = 0_u32;
    let error = loop {
        block.clear();
        for number in written..written + 1000 {
            pack(&mut block, &[Some(&number.to_be_bytes()), Some(&value)]);
        }
        let [(at, length)] = guest.put([&block]);
        let status = guest.exports.insert_many.call(&mut guest.store, (table, at, length));
        match guest.check(status) {
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
    let mut guest = Guest::with_memory(24 * MIB);
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "sorted").unwrap();
    let value = vec![b'v'; MIB];
    let keys = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j"];
    for key in keys {
        assert!(guest.insert(table, key, &value).unwrap());
    }
    let cursor = guest.cursor(table, (NONE, b""), (NONE, b"")).unwrap();
    let status = guest.exports.scan_asc_next_many.call(&mut guest.store, (cursor, 100, u32::MAX));
    assert_eq!(guest.check(status).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    for key in keys {
        let right = guest.scan_asc_next_with(cursor, |found, bytes| found == key && bytes == value).unwrap();
        assert_eq!(right, Some(true));
    }
    let mut block = Vec::new();
    for _ in 0..20 {
        pack(&mut block, &[Some(b"a")]);
    }
    let [(at, length)] = guest.put([&block]);
    let status = guest.exports.select_many.call(&mut guest.store, (table, at, length));
    assert_eq!(guest.check(status).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    assert_eq!(guest.select_with(table, b"b", |found| found == value).unwrap(), Some(true));
}

#[test]
fn a_dump_that_cannot_be_answered_is_an_error_and_the_store_stays() {
    let mut guest = Guest::with_memory(12 * MIB);
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "hash").unwrap();
    let (pairs, _) = fill(&mut guest, table, &[b'v'; 1000]);
    let error = guest.dump(store).unwrap_err();
    assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
    assert_whole(&mut guest, table, pairs, &[b'v'; 1000]);
}

#[test]
fn a_load_that_does_not_fit_is_an_error_and_other_stores_stay() {
    let mut wide = Guest::new();
    let store = wide.store_new(None).unwrap();
    let table = wide.table(store, b"t", "sorted").unwrap();
    for number in 0..40_000_u32 {
        wide.insert(table, &number.to_be_bytes(), &[7; 100]).unwrap();
    }
    let dump = wide.dump(store).unwrap();

    let mut narrow = Guest::with_memory(10 * MIB);
    let store = narrow.store_new(None).unwrap();
    let table = narrow.table(store, b"t", "hash").unwrap();
    narrow.insert(table, b"k", b"v").unwrap();
    assert_eq!(narrow.load(&dump).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    assert_eq!(narrow.select(table, b"k").unwrap().unwrap(), b"v");
    assert_eq!(narrow.insert(table, b"again", b"v"), Ok(true));
}

#[test]
fn memory_is_used_again_after_a_store_was_closed() {
    let mut guest = Guest::new();
    let mut sizes = Vec::new();
    for _ in 0..8 {
        let store = guest.store_new(None).unwrap();
        let table = guest.table(store, b"t", "sorted").unwrap();
        for number in 0..20_000_u32 {
            guest.insert(table, &number.to_be_bytes(), &[1; 64]).unwrap();
        }
        guest.dump(store).unwrap();
        guest.close(store).unwrap();
        sizes.push(guest.memory.data_size(&guest.store));
    }
    assert!(sizes[7] <= sizes[1] + MIB, "it grows with every store: {sizes:?}");
}

#[test]
fn a_store_of_three_gibibytes_is_read_and_written() {
    const VALUES: u32 = 3100;
    let mut guest = Guest::new();
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "hash").unwrap();
    let mut value = vec![7; MIB];
    for number in 0..VALUES {
        value[..4].copy_from_slice(&number.to_be_bytes());
        assert!(guest.insert(table, &number.to_be_bytes(), &value).unwrap());
    }
    assert!(guest.memory_of(store).unwrap() > 3 << 30);
    for number in 0..VALUES {
        let key = number.to_be_bytes();
        let right = |found: &[u8]| found.len() == MIB && found.starts_with(&key) && found.ends_with(&[7]);
        assert_eq!(guest.select_with(table, &key, right).unwrap(), Some(true), "{number}");
    }
    assert!(guest.delete(table, &7_u32.to_be_bytes()).unwrap());
    assert!(guest.insert(table, b"again", &value).unwrap());
    assert_eq!(guest.len(table).unwrap(), VALUES as usize);
}
