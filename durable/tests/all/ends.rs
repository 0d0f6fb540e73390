//! Verbs that delete what they return, and ranges, in a file.

use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Error, Table};

use crate::common::{LOGGED, file, folder, open};

fn keys(table: &Table) -> Vec<Vec<u8>> {
    table.iter().unwrap().map(|(key, _)| key).collect()
}

#[test]
fn what_take_pops_and_ranges_delete_stays_deleted() {
    let (_folder, path) = folder();
    for durability in LOGGED {
        let store = open(&path, durability);
        let table = store.table("t", IndexKind::Sorted).unwrap();
        table.clear().unwrap();
        let key = |number: u32| format!("{number:04}");
        let pairs: Vec<_> = (0..1000).map(|number| (key(number), "v")).collect();
        table.upsert_many(&pairs).unwrap();
        assert_eq!(table.first().unwrap().unwrap().0, b"0000");
        assert_eq!(table.take("0001").unwrap().as_deref(), Some(b"v".as_slice()));
        assert_eq!(table.take("0001").unwrap(), None);
        assert_eq!(table.pop_first().unwrap().unwrap().0, b"0000");
        assert_eq!(table.pop_last().unwrap().unwrap().0, b"0999");
        assert_eq!(table.last().unwrap().unwrap().0, b"0998");
        assert_eq!(table.delete_range("0002".."0600").unwrap(), 598);
        assert_eq!(table.delete_prefix("09").unwrap(), 99);
        let left = keys(&table);
        assert_eq!(left.len(), 300);
        store.close().unwrap();
        assert_eq!(keys(&open(&path, durability).table("t", IndexKind::Sorted).unwrap()), left);
    }
}

#[test]
fn verbs_of_ends_refuse_hash_tables_and_dropped_ones() {
    let (_folder, _, store, hash) = file("h", LOGGED[0]);
    let is_wrong = |error| matches!(error, Error::Engine(twindex::Error::WrongIndex { .. }));
    assert!(is_wrong(hash.first().unwrap_err()) && is_wrong(hash.pop_last().unwrap_err()));
    assert!(is_wrong(hash.delete_range(..).unwrap_err()));
    let table = store.table("t", IndexKind::Sorted).unwrap();
    store.drop_table("t").unwrap();
    let is_dropped = |error| matches!(error, Error::Engine(twindex::Error::TableDropped { .. }));
    assert!(is_dropped(table.take("a").unwrap_err()) && is_dropped(table.pop_first().unwrap_err()));
    assert!(is_dropped(table.delete_prefix("a").unwrap_err()));
}
