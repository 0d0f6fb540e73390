//! Every verb against `BTreeMap`, on one thread.

use std::collections::BTreeMap;

use crate::history::Checked;

use crate::strategies::{config, history};
use proptest::prelude::*;
use twindex::{IndexKind, Store};

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_table_does_what_a_map_does(index in prop::sample::select(&BOTH[..]), ops in history(b"")) {
        let store = Store::new();
        let table = store.table("t", index).expect("a new table");
        let mut checked = Checked::new(store, table, b"");
        for op in &ops {
            checked.run(op);
        }
        checked.finish();
    }
}

proptest! {
    #![proptest_config(config(100))]

    /// Opens, drops and lists tables.
    #[test]
    fn a_store_does_what_a_map_of_names_does(
        ops in prop::collection::vec(("[ab]{1,2}", 0..4_u8, any::<u8>()), 1..60),
    ) {
        let store = Store::new();
        let mut model: BTreeMap<String, (IndexKind, Option<u8>)> = BTreeMap::new();
        for (name, op, value) in ops {
            let index = if value % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted };
            match (op, model.get_mut(&name)) {
                (0, known) => assert_eq!(store.drop_table(&name), known.is_some()),
                (1, Some(known)) if known.0 != index => {
                    let error = store.table(&name, index).expect_err("it has the other index");
                    assert_eq!(error.code(), "TWINDEX_WRONG_INDEX");
                }
                (_, known) => {
                    let known = known.map_or((index, None), |known| *known);
                    let table = store.table(&name, known.0).expect("the name is free or has this index");
                    assert_eq!(table.select(b"k"), known.1.map(|value| vec![value]));
                    table.upsert(b"k", [value]).expect("there is no limit");
                    model.insert(name.clone(), (known.0, Some(value)));
                }
            }
            if op == 0 {
                model.remove(&name);
            }
            let listed: Vec<_> = store.tables().iter().map(|table| (table.name().to_owned(), table.index())).collect();
            assert!(listed.iter().map(|(name, index)| (name, *index)).eq(model.iter().map(|(name, known)| (name, known.0))));
            for name in ["a", "b", "ab"] {
                assert_eq!(store.find_table(name).is_some(), model.contains_key(name));
            }
        }
    }
}
