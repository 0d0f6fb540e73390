//! A host that gives the module no more memory.

use crate::guest::{AbiError, EXCLUDED, Guest, INCLUDED, NONE, PREFIX, pack};

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
fn what_is_deleted_where_memory_ends_makes_room_for_other_lengths() {
    for index in ["hash", "sorted"] {
        for (old_bytes, new_bytes) in [(8, 300), (60, 8), (300, 2000), (2000, 100)] {
            let (old, new) = (vec![b'o'; old_bytes], vec![b'n'; new_bytes]);
            let mut guest = Guest::with_memory(12 * MIB);
            let store = guest.store_new(None).unwrap();
            let table = guest.table(store, b"t", index).unwrap();
            let (pairs, _) = fill(&mut guest, table, &old);
            for number in 100..pairs {
                assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
            }
            let mut written = 0;
            let error = loop {
                match guest.insert(table, &(pairs + written).to_be_bytes(), &new) {
                    Ok(took_effect) => assert!(took_effect),
                    Err(error) => break error,
                }
                written += 1;
            };
            assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
            assert_eq!(guest.len(table), Ok(100 + written as usize));
            for (numbers, value) in [(0..100, &old), (pairs..pairs + written, &new)] {
                for number in numbers {
                    let right = guest.select_with(table, &number.to_be_bytes(), |found| found == value);
                    assert_eq!(right, Ok(Some(true)), "{index}: pair {number}");
                }
            }
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
        let right =
            guest.scan_next_with(cursor, false, |found, bytes| found == key && bytes == value).unwrap();
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
fn an_iterator_shows_every_pair_where_memory_ends() {
    for (index, value_bytes) in [("hash", 8), ("hash", 1000), ("hash", 300_000), ("sorted", 1000)] {
        let value = vec![b'v'; value_bytes];
        let mut guest = Guest::with_memory(12 * MIB);
        let store = guest.store_new(None).unwrap();
        let table = guest.table(store, b"t", index).unwrap();
        let (pairs, _) = fill(&mut guest, table, &value);
        for number in 0..pairs / 5 {
            assert!(guest.delete(table, &number.to_be_bytes()).unwrap());
        }
        let mut keys: Vec<_> = (guest.iterate(table, 1).unwrap().into_iter())
            .map(|(key, found)| {
                assert!(found == value);
                u32::from_be_bytes(key.try_into().unwrap())
            })
            .collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(pairs / 5..pairs), "{index} {value_bytes}");
    }
}

#[test]
fn an_iterator_that_cannot_answer_goes_on_once_it_can() {
    let mut guest = Guest::with_memory(24 * MIB);
    let store = guest.store_new(None).unwrap();
    let value = vec![b'v'; MIB];
    for index in ["hash", "sorted"] {
        let table = guest.table(store, index.as_bytes(), index).unwrap();
        for key in 0..7_u8 {
            assert!(guest.insert(table, &[key], &value).unwrap());
        }
    }
    // What is left is too little for seven values, and enough for one.
    for index in ["hash", "sorted"] {
        let table = guest.table(store, index.as_bytes(), index).unwrap();
        let status = guest.exports.iter.call(&mut guest.store, (table,));
        let iterator = guest.check(status).unwrap().cast_unsigned();
        let (mut keys, mut refused, mut count) = (Vec::new(), 0, 100);
        loop {
            let status = guest.exports.iter_next_many.call(&mut guest.store, (iterator, count, u32::MAX));
            match guest.check(status) {
                Ok(_) if guest.answer_count() == 0 => break,
                Ok(_) => keys.extend(guest.answered_pairs().into_iter().map(|(key, _)| key[0])),
                Err(error) => {
                    assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT");
                    refused += 1;
                    count = 1;
                }
            }
            assert!(refused < 3, "{index}: {keys:?}");
        }
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2, 3, 4, 5, 6], "{index}");
    }
}

#[test]
fn long_arguments_are_not_copied_where_memory_ends() {
    let mut guest = Guest::with_memory(12 * MIB);
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "sorted").unwrap();
    assert!(guest.insert(table, &vec![7; 65_535], b"").unwrap());
    let most = vec![7; 7 * MIB];
    let key = |guest: &mut Guest, lower, upper| -> Vec<usize> {
        let pairs = guest.scan(table, (lower, &most), (upper, b"\x08"), false, 9).unwrap();
        pairs.iter().map(|(key, _)| key.len()).collect()
    };
    for kind in [INCLUDED, EXCLUDED, PREFIX] {
        assert!(key(&mut guest, kind, EXCLUDED).is_empty(), "a key of 7 MiB is beyond its beginning");
    }
    // The error about a name has a copy of it, for which there is no room.
    for (name, index) in [(&most[..], &b"hash"[..]), (b"name", &most)] {
        let [(name, n), (index, i)] = guest.put([name, index]);
        let status = guest.exports.table.call(&mut guest.store, (store, name, n, index, i));
        assert_eq!(guest.check(status).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    }
    assert_eq!(guest.insert(table, &most, b"").unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    assert_eq!(guest.len(table), Ok(1));
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

/// Makes tables until one is refused: how many there are, and the error.
fn make_tables(guest: &mut Guest, store: u32, index: &str) -> (u32, AbiError) {
    let mut number = 0_u32;
    loop {
        let error = match guest.table(store, number.to_string().as_bytes(), index) {
            Ok(table) => guest.close(table).err(),
            Err(error) => Some(error),
        };
        match error {
            Some(error) => return (number, error),
            None => number += 1,
        }
    }
}

/// A table was made where nothing could fail, so that one too many ended the module.
#[test]
fn tables_that_memory_is_refused_for_are_errors_and_the_store_goes_on() {
    for index in ["hash", "sorted"] {
        let mut guest = Guest::with_memory(8 * MIB);
        let store = guest.store_new(None).unwrap();
        let table = guest.table(store, b"t", index).unwrap();
        guest.insert(table, b"k", b"v").unwrap();
        let (tables, error) = make_tables(&mut guest, store, index);
        assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
        assert!(tables > 1000, "only {tables} tables were made");
        assert_eq!(guest.select(table, b"k").unwrap().unwrap(), b"v");
        for number in 0..tables {
            let [(name, length)] = guest.put([number.to_string().as_bytes()]);
            let status = guest.exports.drop_table.call(&mut guest.store, (store, name, length));
            assert_eq!(guest.check(status), Ok(1));
        }
        assert_eq!(guest.insert(table, b"again", b"v"), Ok(true));
        assert!(guest.table(store, b"again", index).is_ok());
    }
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

    let mut narrow = Guest::with_memory(12 * MIB);
    let store = narrow.store_new(None).unwrap();
    let table = narrow.table(store, b"t", "hash").unwrap();
    narrow.insert(table, b"k", b"v").unwrap();
    assert_eq!(narrow.load(&dump).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    assert_eq!(narrow.select(table, b"k").unwrap().unwrap(), b"v");
    assert_eq!(narrow.insert(table, b"again", b"v"), Ok(true));
}

/// Opens something over a table, and answers its handle.
type Open = fn(&mut Guest, u32) -> Result<u32, AbiError>;

/// A small object was made where nothing could fail, so that one too many ended the module.
#[test]
fn objects_that_memory_is_refused_for_are_errors_and_the_store_goes_on() {
    let open_store = |guest: &mut Guest, _| guest.store_new(None);
    let open_cursor = |guest: &mut Guest, table| guest.cursor(table, (INCLUDED, b"a"), (PREFIX, b"k"));
    let iterate = |guest: &mut Guest, table| {
        let status = guest.exports.iter.call(&mut guest.store, (table,));
        guest.check(status).map(i32::cast_unsigned)
    };
    let opens: [Open; 3] = [open_store, open_cursor, iterate];
    for (kind, open) in opens.into_iter().enumerate() {
        for index in ["hash", "sorted"] {
            if (kind, index) == (1, "hash") {
                continue;
            }
            let mut guest = Guest::with_memory(8 * MIB);
            let store = guest.store_new(None).unwrap();
            let table = guest.table(store, b"t", index).unwrap();
            guest.insert(table, b"k", b"v").unwrap();
            let mut opened = Vec::new();
            let error = loop {
                match open(&mut guest, table) {
                    Ok(handle) => opened.push(handle),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}");
            assert_eq!(guest.select(table, b"k").unwrap().unwrap(), b"v");
            for handle in opened {
                guest.close(handle).unwrap();
            }
            assert_eq!(guest.insert(table, b"again", b"v"), Ok(true));
        }
    }
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
