//! Whatever integers a host passes, a call returns an error and the store is as it was.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use wasmtime::{Val, ValType};

use crate::guest::{self, ABSENT, AbiError, Guest, INCLUDED, NONE, call, pack};

/// An instance with a store, and a table that holds one pair.
fn with_one_pair(index: &str) -> (Guest, u32, u32) {
    let (mut guest, store, table) = Guest::with_table(64 * 1024 * 1024, index);
    assert!(guest.insert(table, b"key", b"value").unwrap());
    (guest, store, table)
}

fn assert_intact(guest: &mut Guest, table: u32) {
    assert_eq!(guest.select(table, b"key").unwrap().unwrap(), b"value");
    assert_eq!(guest.len(table).unwrap(), 1);
    assert_eq!(guest.iterate(table, 1).unwrap(), [(b"key".to_vec(), b"value".to_vec())]);
}

#[test]
fn bytes_outside_the_buffers_are_refused() {
    let (mut guest, _, table) = with_one_pair("hash");
    let buffer = guest.alloc(100).unwrap();
    let end = guest.memory.data_size(&guest.store) as u32;
    let places = [
        (0, 1),
        (buffer - 1, 2),
        (buffer, 101),
        (buffer + 99, 2),
        (buffer + 100, 1),
        (buffer, ABSENT),
        (end - 1, 1),
        (end, 1),
        (u32::MAX, 1),
        (u32::MAX, u32::MAX),
        (1024 * 1024 - 64, 64), // the stack
    ];
    for (address, length) in places {
        let errors = [
            call!(guest, upsert, table, address, length, buffer, 1),
            call!(guest, upsert, table, buffer, 1, address, length),
            call!(guest, insert_many, table, address, length),
            call!(guest, select_many, table, address, length),
        ];
        for error in errors.map(Result::unwrap_err) {
            assert_eq!(error.code, "TWINDEX_RANGE", "{address} {length}");
            assert!(error.text.contains(&address.to_string()), "{error}");
        }
    }
    assert_intact(&mut guest, table);
}

#[test]
fn no_bytes_need_no_address() {
    let (mut guest, _, table) = with_one_pair("hash");
    assert_eq!(call!(guest, insert, table, u32::MAX, 0, 7, 0), Ok(1));
    assert_eq!(guest.select(table, b"").unwrap().unwrap(), b"");
}

#[test]
fn a_freed_buffer_is_no_buffer() {
    let (mut guest, _, table) = with_one_pair("hash");
    let (buffer, other) = (guest.alloc(10).unwrap(), guest.alloc(0).unwrap());
    let mut free = |address| call!(guest, free, address);
    assert_eq!(free(buffer), Ok(0));
    for address in [buffer, buffer + 1, 0, u32::MAX] {
        assert_eq!(free(address).unwrap_err().code, "TWINDEX_RANGE");
    }
    assert_eq!(free(other), Ok(0));
    assert_eq!(call!(guest, contains, table, buffer, 1).unwrap_err().code, "TWINDEX_RANGE");
    assert_intact(&mut guest, table);
}

#[test]
fn a_buffer_that_cannot_be_had_is_a_memory_error() {
    let (mut guest, _, table) = with_one_pair("hash");
    for length in [u32::MAX, 1 << 31] {
        let error = guest.alloc(length).unwrap_err();
        assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT");
        assert!(error.text.contains(&length.to_string()), "{error}");
    }
    assert_intact(&mut guest, table);
}

#[test]
fn blocks_that_do_not_end_with_an_item_are_refused() {
    let (mut guest, _, table) = with_one_pair("hash");
    let mut block = Vec::new();
    pack(&mut block, &[Some(b"a"), Some(b"1")]);
    let whole = block.len();
    pack(&mut block, &[Some(b"b"), Some(b"2")]);
    for length in (1..whole).chain(whole + 1..block.len()) {
        let error = call!(guest, insert_many, table, &block[..length]).unwrap_err();
        assert_eq!(error.code, "TWINDEX_RANGE");
        let item = usize::from(length > whole);
        assert!(error.text.contains(&format!("item {item}")), "{error}");
    }
    for lengths in [[u32::MAX, 0], [0, u32::MAX], [u32::MAX, u32::MAX], [1 << 31, 1 << 31]] {
        let head: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        assert_eq!(call!(guest, upsert_many, table, &head).unwrap_err().code, "TWINDEX_RANGE");
    }
    assert_intact(&mut guest, table);
}

#[test]
fn a_key_that_is_too_long_stops_a_block_before_its_first_pair() {
    let (mut guest, _, table) = with_one_pair("sorted");
    let mut block = Vec::new();
    pack(&mut block, &[Some(b"a"), Some(b"1")]);
    pack(&mut block, &[Some(&b"x".repeat(65_536)), Some(b"2")]);
    let error = call!(guest, insert_many, table, &block).unwrap_err();
    assert_eq!((error.number, error.code.as_str()), (1, "TWINDEX_KEY_TOO_LONG"));
    assert_intact(&mut guest, table);
}

#[test]
fn bounds_of_unknown_kind_are_refused() {
    let (mut guest, _, table) = with_one_pair("sorted");
    for (lower, upper) in [(4, NONE), (NONE, 4), (u32::MAX, NONE), (INCLUDED, u32::MAX)] {
        let [lower, upper] = [(lower, &b"a"[..]), (upper, b"b")];
        assert_eq!(guest.cursor(table, lower, upper).unwrap_err().code, "TWINDEX_RANGE");
        assert_eq!(guest.scan(table, lower, upper, false, 1).unwrap_err().code, "TWINDEX_RANGE");
    }
    assert_intact(&mut guest, table);
}

#[test]
fn names_that_are_no_text_are_refused() {
    let (mut guest, store, table) = with_one_pair("hash");
    assert_eq!(guest.table(store, b"\xff", "hash").unwrap_err().code, "TWINDEX_ENCODING");
    assert_eq!(guest.table(store, b"x", "tree").unwrap_err().code, "TWINDEX_UNKNOWN_INDEX");
    assert_eq!(guest.table(store, b"", "hash").unwrap_err().code, "TWINDEX_TABLE_NAME");
    assert_eq!(guest.table(store, b"t", "sorted").unwrap_err().code, "TWINDEX_WRONG_INDEX");
    assert_intact(&mut guest, table);
}

#[test]
fn handles_of_another_kind_are_refused() {
    let (mut guest, store, table) = with_one_pair("sorted");
    let cursor = guest.whole_cursor(table).unwrap();
    let error = guest.select(store, b"key").unwrap_err();
    assert_eq!(error.code, "TWINDEX_TYPE");
    assert_eq!(error.text, format!("handle {store} is a store, this needs a table"));
    assert_eq!(guest.table(cursor, b"t", "sorted").unwrap_err().code, "TWINDEX_TYPE");
    assert_eq!(guest.dump(table).unwrap_err().code, "TWINDEX_TYPE");
    assert_eq!(call!(guest, scan_asc_next, table).unwrap_err().code, "TWINDEX_TYPE");
    assert_eq!(call!(guest, iter_next_many, cursor, 1, 1).unwrap_err().code, "TWINDEX_TYPE");
    assert_intact(&mut guest, table);
}

#[test]
fn no_handle_is_given_twice() {
    let (mut guest, _, table) = with_one_pair("sorted");
    let mut given = std::collections::BTreeSet::new();
    for _ in 0..10_000 {
        let cursor = guest.whole_cursor(table).unwrap();
        assert!(cursor.cast_signed() > 0 && given.insert(cursor), "{cursor} was given before");
        guest.close(cursor).unwrap();
        assert_eq!(guest.close(cursor).unwrap_err().code, "TWINDEX_CLOSED");
    }
    assert_intact(&mut guest, table);
}

/// Each handle that was used up stayed behind as a slot, which the end of every transaction read.
#[test]
fn a_module_that_opened_much_is_as_fast_as_a_new_one() {
    let (mut guest, store, table) = with_one_pair("sorted");
    let mut fuel = || {
        guest.store.set_fuel(u64::MAX).unwrap();
        let transaction = call!(guest, begin, store).unwrap().cast_unsigned();
        guest.close(transaction).unwrap();
        let used = u64::MAX - guest.store.get_fuel().unwrap();
        for _ in 0..50_000 {
            let cursor = guest.whole_cursor(table).unwrap();
            guest.close(cursor).unwrap();
        }
        used
    };
    fuel();
    let (new, old) = (fuel(), fuel());
    assert!(old < new + new / 4, "{old} units of fuel after {new}");
}

#[test]
fn handles_stay_as_they_are_while_others_come_and_go() {
    let (mut guest, _, table) = with_one_pair("sorted");
    let mut open = std::collections::BTreeMap::new();
    for number in 0..3_000_u32 {
        let key = number.to_string();
        let cursor = guest.cursor(table, (INCLUDED, key.as_bytes()), (INCLUDED, key.as_bytes())).unwrap();
        open.insert(cursor, guest.insert(table, key.as_bytes(), key.as_bytes()).map(|_| key).unwrap());
        if number % 3 == 0 {
            let (&cursor, _) = open.iter().nth(number as usize % open.len()).unwrap();
            open.remove(&cursor);
            guest.close(cursor).unwrap();
            assert_eq!(guest.close(cursor).unwrap_err().code, "TWINDEX_CLOSED");
        }
    }
    for (cursor, key) in open {
        assert_eq!(call!(guest, scan_asc_next_many, cursor, 2, 1_000), Ok(0));
        assert_eq!(guest.answered_pairs(), [(key.clone().into_bytes(), key.into_bytes())]);
    }
}

#[test]
fn a_closed_store_closes_all_that_came_from_it_and_nothing_else() {
    let (mut guest, store, table) = with_one_pair("sorted");
    let other = guest.store_new(None).unwrap();
    let other_table = guest.table(other, b"t", "sorted").unwrap();
    guest.insert(other_table, b"key", b"value").unwrap();
    let cursor = guest.whole_cursor(table).unwrap();
    let iter = guest.open_iter(table).unwrap();
    guest.close(store).unwrap();
    for handle in [store, table, cursor, iter] {
        let error = guest.close(handle).unwrap_err();
        assert_eq!(error.code, "TWINDEX_CLOSED");
        assert!(error.text.contains(&handle.to_string()), "{error}");
    }
    assert_intact(&mut guest, other_table);
}

/// Integers that are likely to be a handle, an address, a length, or near one of their limits.
fn argument(interesting: Vec<u32>) -> impl Strategy<Value = u64> {
    let near = (prop::sample::select(interesting), -2_i64..3)
        .prop_map(|(n, by)| (i64::from(n) + by).cast_unsigned());
    prop_oneof![4 => near, 2 => 0_u64..70, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

#[test]
fn any_integers_at_all_leave_the_store_whole() {
    let mut runner = TestRunner::new(ProptestConfig { cases: 300, ..ProptestConfig::default() });
    let (guest, store, table) = with_one_pair("sorted");
    let size = guest.memory.data_size(&guest.store) as u32;
    let interesting =
        vec![store, table, table + 1, 1 << 20, 1 << 31, u32::MAX - 2, size, size - 4096, 1 << 16];
    let names = guest::functions(guest::metered()).into_iter().collect::<Vec<_>>();
    let call = (prop::sample::select(names), prop::collection::vec(argument(interesting), 10));
    let calls = prop::collection::vec(call, 1..40);
    runner
        .run(&calls, |calls| {
            let (mut guest, _, table) = with_one_pair("sorted");
            for (name, arguments) in calls {
                call_anything(&mut guest, &name, &arguments)?;
            }
            // The handle may have been closed, and the pair changed; the module must be alive and right.
            let store = guest.store_new(None).unwrap();
            let fresh = guest.table(store, b"t", "sorted").unwrap();
            prop_assert!(guest.insert(fresh, b"key", b"value").unwrap());
            assert_intact(&mut guest, fresh);
            match guest.select(table, b"key") {
                Ok(Some(value)) => prop_assert_eq!(value, b"value"),
                Ok(None) => {}
                Err(error) => prop_assert_eq!(error.code, "TWINDEX_CLOSED"),
            }
            Ok(())
        })
        .unwrap();
}

/// Calls an export with these integers, whatever it takes. It must return.
fn call_anything(guest: &mut Guest, name: &str, arguments: &[u64]) -> Result<(), TestCaseError> {
    let function = guest.instance.get_func(&mut guest.store, name).expect("the module exports it");
    let ty = function.ty(&guest.store);
    let arguments: Vec<Val> = ty
        .params()
        .zip(arguments)
        .map(|(ty, argument)| match ty {
            ValType::I64 => Val::I64(argument.cast_signed()),
            ValType::F64 => Val::F64(*argument),
            _ => Val::I32((*argument as u32).cast_signed()),
        })
        .collect();
    let mut results = [Val::I32(0)];
    let returned = function.call(&mut guest.store, &arguments, &mut results[..ty.results().len()]);
    prop_assert!(returned.is_ok(), "{name}{arguments:?} trapped: {returned:?}");
    let status = results[0].unwrap_i32();
    let refused = status < 0 && !matches!(name, "twindex_alloc" | "twindex_answer");
    if refused {
        let error: AbiError = guest.check(Ok(status)).expect_err("a negative status");
        prop_assert!(error.code.starts_with("TWINDEX_") && !error.text.is_empty());
    }
    Ok(())
}
