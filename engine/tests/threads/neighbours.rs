//! Threads whose keys lie between each other's: their leaves split and merge side by side.

use std::collections::BTreeMap;

use twindex::IndexKind;

use crate::scale::scaled;
use crate::{THREADS, on_threads, table};

/// Each thread writes, replaces and deletes keys of its own, which are spread over the whole table.
#[test]
fn leaves_that_split_and_merge_side_by_side_keep_all_pairs() {
    let table = table(IndexKind::Sorted);
    let models = on_threads(|number, mut random| {
        let mut model = BTreeMap::new();
        for round in 0..scaled(4, 1) {
            for _ in 0..if cfg!(miri) { 60 } else { 6000 } {
                let key = (random.u32(..) as usize * THREADS + number).to_be_bytes();
                let value = vec![round as u8; random.usize(..40)];
                assert_eq!(table.insert(key, &value).unwrap(), !model.contains_key(&key));
                model.entry(key).or_insert(value);
            }
            // Leaves grow, and shrink until neighbours become one.
            let keys: Vec<_> = model.keys().copied().collect();
            for key in keys {
                match random.u8(..4) {
                    0 => {
                        let value = vec![number as u8; random.usize(..200)];
                        assert!(table.replace(key, &value).unwrap());
                        model.insert(key, value);
                    }
                    1 => {}
                    _ => {
                        assert!(table.delete(key).unwrap());
                        model.remove(&key);
                    }
                }
            }
            for (key, value) in &model {
                assert_eq!(table.select(key).as_ref(), Some(value));
            }
        }
        model
    });
    let merged: BTreeMap<_, _> =
        models.into_iter().flatten().map(|(key, value)| (key.to_vec(), value)).collect();
    assert_eq!(table.len(), merged.len());
    assert!(table.iter().eq(merged), "all pairs are there, in order");
}
