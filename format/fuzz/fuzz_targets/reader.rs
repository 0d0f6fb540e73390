//! Bytes that are a store, nearly one, or none: they are loaded or refused, and what is loaded can be dumped and loaded again.
//!
//! Random bytes never pass a checksum, so most inputs are the records of the property tests, made of the fuzzer's bytes.

#![no_main]

#[path = "../../tests/common/dump_writer.rs"]
mod dump_writer;
#[path = "../../tests/common/nonsense.rs"]
mod nonsense;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use twindex::{Error, Store};
use twindex_format::Dump;

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    if first % 8 == 0 {
        return load(bytes);
    }
    let random = TestRng::from_seed(RngAlgorithm::PassThrough, bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let Ok(file) = nonsense::files().new_tree(&mut runner) else { return };
    let mut file = file.current();
    // A byte is changed in some, and others have space for more.
    match first % 8 {
        1 => file[bytes.len() % 24] ^= first,
        2 => file.resize(file.len() + bytes.len(), 0),
        _ => {}
    }
    load(&file);
});

fn load(bytes: &[u8]) {
    match Store::load(&mut &*bytes) {
        Ok(store) => check_round_trip(&store),
        Err(Error::Corrupt { offset, .. }) => assert!(offset <= bytes.len() as u64),
        Err(error) => panic!("{error}"),
    }
}

fn check_round_trip(store: &Store) {
    let mut bytes = Vec::new();
    store.dump(&mut bytes).expect("memory takes any dump");
    let again = Store::load(&mut bytes.as_slice()).expect("a dump loads");
    let (tables, tables_again) = (store.tables(), again.tables());
    assert_eq!(tables.len(), tables_again.len());
    for (one, two) in tables.iter().zip(&tables_again) {
        assert_eq!((one.name(), one.index()), (two.name(), two.index()));
        assert_eq!(one.len(), two.len());
        assert!(one.iter().collect::<BTreeMap<_, _>>() == two.iter().collect());
    }
}
