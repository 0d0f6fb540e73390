//! What the module shows to a host, and what an instance is to another.

use std::collections::BTreeSet;

use wasmtime::{Engine, Module};

use crate::guest::{ALL_MEMORY, EXCLUDED, Guest, INCLUDED, NONE, PREFIX, call, functions, metered};

fn module(name: &str) -> Module {
    let path = format!("{}/npm/{name}", env!("CARGO_MANIFEST_DIR"));
    Module::from_file(&Engine::default(), path).expect("the module compiles")
}

#[test]
fn modules_import_nothing_and_export_what_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/wasm.md"))
        .expect("docs/wasm.md is there");
    let documented: BTreeSet<_> = page
        .split("`twindex_")
        .skip(1)
        .filter_map(|text| text.split_once('('))
        .filter(|(name, _)| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase()))
        .map(|(name, _)| format!("twindex_{name}"))
        .collect();
    let [caches, files, small] = ["caches.", "files.", ""].map(|name| module(&format!("twindex.{name}wasm")));
    for module in [metered(), &caches, &files, &small] {
        assert_eq!(module.imports().len(), 0);
    }
    assert_eq!(functions(metered()), functions(&caches));
    let all: BTreeSet<_> = functions(&caches).union(&functions(&files)).cloned().collect();
    assert_eq!(all, documented);
    // Tables and snapshots alone.
    let is_out = |name: &&String| {
        let others = "begin commit expires remove_expired set_time set_ttl touch ttl unwatch watch";
        name.starts_with("twindex_cache_") || others.split(' ').any(|other| name[8..] == *other)
    };
    assert_eq!(functions(&small), functions(&caches).iter().filter(|name| !is_out(name)).cloned().collect());
    assert_eq!(call!(Guest::new(), abi_version), Ok(1));
}

/// The keys of a hash table in the order of their hashes, in an instance that was given this secret.
fn keys_in_order(secret: Option<u64>) -> Vec<Vec<u8>> {
    let mut guest = Guest::new();
    if let Some(secret) = secret {
        assert_eq!(call!(guest, seed, secret), Ok(1));
    }
    let store = guest.store_new(None).unwrap();
    let table = guest.table(store, b"t", "hash").unwrap();
    for key in 0..1_000_u32 {
        guest.insert(table, &key.to_le_bytes(), b"").unwrap();
    }
    assert_eq!(call!(guest, seed, 7_u64), Ok(0), "a secret after the first table changes nothing");
    assert_eq!(guest.select(table, &7_u32.to_le_bytes()).unwrap().unwrap(), b"");
    guest.iterate(table, 100).unwrap().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn keys_are_hashed_by_the_secret_of_the_host() {
    assert_eq!(keys_in_order(Some(1)), keys_in_order(Some(1)));
    assert_ne!(keys_in_order(Some(1)), keys_in_order(Some(2)));
    assert_ne!(keys_in_order(Some(1)), keys_in_order(None));
}

#[test]
fn there_is_no_last_error_before_a_call_has_failed() {
    let mut guest = Guest::new();
    assert_eq!(call!(guest, last_error), Ok(0));
    guest.close(1).expect_err("nothing is open");
    assert_eq!(call!(guest, last_error), Ok(1));
}

#[test]
fn a_dump_loads_within_a_memory_limit_or_not_at_all() {
    let (mut guest, store, table) = Guest::with_table(ALL_MEMORY, "hash");
    for number in 0..1000_u32 {
        guest.insert(table, &number.to_le_bytes(), &[0; 3000]).unwrap();
    }
    let dump = guest.dump(store).unwrap();
    assert_eq!(guest.load_within(&dump, Some(500_000)).unwrap_err().code, "TWINDEX_MEMORY_LIMIT");
    let loaded = guest.load_within(&dump, Some(4_000_000)).unwrap();
    assert_eq!(call!(guest, memory_limit, loaded).unwrap(), 1);
    assert_eq!(guest.answer_number(), 4_000_000);
    let beyond = guest.store_new(Some(1 << 40)).unwrap();
    assert_eq!(call!(guest, memory_limit, beyond), Ok(0), "more than addresses reach is none");
}

#[test]
fn a_table_is_opened_by_the_codecs_it_remembers() {
    const CREATE: u32 = 1;
    const IF_NEW: u32 = 2 | 4;
    const INDEX_IF_NEW: u32 = 8;
    let mut guest = Guest::new();
    let store = guest.store_new(None).unwrap();
    let stored = [(b"int".to_vec(), b"json".to_vec())];
    let cases = [
        ("int", "json", 0, Err("TWINDEX_NO_TABLE")),
        ("int", "", CREATE, Err("TWINDEX_CODEC_NAME")),
        ("int", "json", CREATE, Ok(())),
        ("int", "json", 0, Ok(())),
        ("bytes", "bytes", CREATE, Ok(())),
        ("str", "str", IF_NEW, Ok(())),
        ("int", "str", CREATE | 2, Err("TWINDEX_WRONG_CODEC")),
    ];
    for (keys, values, options, expected) in cases {
        match (guest.table_with(store, ["t", "hash", keys, values], options), expected) {
            (Ok(table), Ok(())) => assert_eq!(guest.codecs(table).unwrap(), stored),
            (Err(error), Err(code)) => assert_eq!(error.code, code),
            (other, _) => panic!("{keys}, {values}: {other:?}"),
        }
    }
    // Of a snapshot and a transaction, which create none.
    let owners = [guest.snapshot(store).unwrap(), guest.begin(store).unwrap()];
    for owner in owners {
        for (texts, options, expected) in [
            (["t", "hash", "int", "json"], CREATE, Ok(())),
            (["t", "sorted", "bytes", "json"], INDEX_IF_NEW, Ok(())),
            (["t", "hash", "", ""], IF_NEW, Ok(())),
            (["t", "sorted", "int", "json"], 0, Err("TWINDEX_WRONG_INDEX")),
            (["t", "hash", "int", "str"], 0, Err("TWINDEX_WRONG_CODEC")),
            (["none", "hash", "int", "json"], CREATE, Err("TWINDEX_NO_TABLE")),
        ] {
            match (guest.table_with(owner, texts, options), expected) {
                (Ok(table), Ok(())) => {
                    assert_eq!(guest.codecs(table).unwrap(), stored);
                    assert_eq!(call!(guest, is_sorted, table), Ok(0));
                }
                (Err(error), Err(code)) => assert_eq!(error.code, code),
                (other, _) => panic!("{texts:?}: {other:?}"),
            }
        }
    }
    let plain =
        guest.table_with(store, ["plain", "sorted", "bytes", "bytes"], CREATE | INDEX_IF_NEW).unwrap();
    assert_eq!(call!(guest, is_sorted, plain), Ok(1));
    assert_eq!(guest.codecs(plain).unwrap(), [(b"bytes".to_vec(), b"bytes".to_vec())]);
    assert_eq!(guest.codecs(store).unwrap_err().code, "TWINDEX_TYPE");
}

#[test]
fn memory_is_told_of_stores_and_of_tables() {
    let mut guest = Guest::new();
    let store = guest.store_new(None).unwrap();
    let (a, b) = (guest.table(store, b"a", "hash").unwrap(), guest.table(store, b"b", "sorted").unwrap());
    for number in 0..1000_u32 {
        guest.insert(a, &number.to_le_bytes(), &[0; 100]).unwrap();
    }
    assert!(guest.memory_of(a).unwrap() > 100_000);
    assert!(guest.memory_of(b).unwrap() < 100_000);
    assert!(guest.memory_of(store).unwrap() >= guest.memory_of(a).unwrap());
    let cursor = guest.whole_cursor(b).unwrap();
    assert_eq!(guest.memory_of(cursor).unwrap_err().code, "TWINDEX_TYPE");
}

#[test]
fn blocks_end_at_their_limits_and_are_gone_on_with() {
    let (mut guest, _, table) = Guest::with_table(ALL_MEMORY, "sorted");
    for number in 0..100_u8 {
        guest.insert(table, &[number], &[number; 50]).unwrap();
    }
    let cursor = guest.cursor(table, (INCLUDED, &[10]), (EXCLUDED, &[90])).unwrap();
    let mut blocks = Vec::new();
    loop {
        call!(guest, scan_asc_next_many, cursor, 30, 590).unwrap();
        let pairs = guest.answered_pairs();
        if pairs.is_empty() {
            break;
        }
        blocks.push(pairs);
    }
    // A packed pair has 59 bytes here: ten of them are the first to reach 590.
    assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [10; 8]);
    assert!(blocks.concat().iter().map(|(key, _)| key[0]).eq(10..90));

    let last = guest.scan(table, (PREFIX, b""), (NONE, b""), true, 3).unwrap();
    assert_eq!(last.iter().map(|(key, _)| key[0]).collect::<Vec<_>>(), [99, 98, 97]);
}

#[test]
fn each_end_of_a_prefix_stands_by_itself() {
    let (mut guest, _, table) = Guest::with_table(ALL_MEMORY, "sorted");
    for key in ["a", "b", "ba", "bb", "c"] {
        guest.insert(table, key.as_bytes(), b"").unwrap();
    }
    let mut keys = |lower, upper| -> Vec<String> {
        let pairs = guest.scan(table, lower, upper, false, 9).unwrap();
        pairs.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
    };
    assert_eq!(keys((PREFIX, b"b"), (PREFIX, b"b")), ["b", "ba", "bb"]);
    assert_eq!(keys((EXCLUDED, b"b"), (PREFIX, b"b")), ["ba", "bb"]);
    assert_eq!(keys((PREFIX, b"b"), (EXCLUDED, b"bb")), ["b", "ba"]);
    assert_eq!(keys((PREFIX, b"b"), (NONE, b"")), ["b", "ba", "bb", "c"]);
    assert_eq!(keys((NONE, b""), (PREFIX, b"b")), ["a", "b", "ba", "bb"]);
}

#[test]
fn an_iterator_goes_over_a_hash_table_that_changes_meanwhile() {
    let (mut guest, _, table) = Guest::with_table(ALL_MEMORY, "hash");
    for number in 0..1000_u32 {
        guest.insert(table, &number.to_le_bytes(), b"stays").unwrap();
    }
    let iter = guest.open_iter(table).unwrap();
    let mut seen = BTreeSet::new();
    for number in 0_u32.. {
        let pairs = guest.iter_next_many(iter, 10).unwrap();
        if pairs.is_empty() {
            break;
        }
        for (key, value) in pairs {
            assert!(value != b"stays" || seen.insert(key), "a pair came twice");
        }
        guest.insert(table, format!("new {number}").as_bytes(), b"new").unwrap();
    }
    assert_eq!(seen.len(), 1000);
}

#[test]
fn after_a_trap_every_call_is_refused() {
    let (mut guest, _, table) = Guest::with_table(ALL_MEMORY, "hash");
    guest.insert(table, b"first", b"value").unwrap(); // which makes room for those that follow
    guest.store.set_fuel(u64::MAX).unwrap();
    guest.insert(table, b"second", b"value").unwrap();
    let needed = u64::MAX - guest.store.get_fuel().expect("the module is metered");
    guest.store.set_fuel(needed / 2).unwrap();
    let arguments = [table.into(), b"key".into(), b"value".into()];
    guest.try_call("twindex_insert", &arguments).expect_err("out of fuel half way");
    guest.store.set_fuel(u64::MAX).unwrap();
    let error = guest.insert(table, b"key", b"value").unwrap_err();
    assert_eq!((error.number, error.code.as_str()), (13, "TWINDEX_CLOSED"));
    assert!(error.text.contains("trapped"), "{error}");
    assert_eq!(call!(guest, set_time, 1.0).unwrap_err().code, "TWINDEX_CLOSED");
}
