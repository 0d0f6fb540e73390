//! What every target asks of a reader.

use std::collections::BTreeMap;

use twindex::{Error, Store};
use twindex_format::Dump;

/// Loads the bytes, or has them refused at a place within them. What is loaded can be dumped and loaded again.
pub fn load(bytes: &[u8]) {
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
