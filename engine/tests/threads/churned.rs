//! A table under churn.

use std::collections::BTreeSet;

use twindex::{IndexKind, Store};

use crate::scale::scaled;
use crate::stamped::{read_stamp, some_length, stamp};
use crate::{Sound, on_threads};

/// Keys with an even number stay, though their values change; the others come and go; and more are added
/// for good, so that the index splits and merges under its readers.
pub(crate) struct Churned {
    pub(crate) store: Store,
    pub(crate) table: Sound,
    /// The keys that stay.
    pub(crate) stable: BTreeSet<Vec<u8>>,
    /// Numbers of keys are below.
    pub(crate) numbers: usize,
}

impl Churned {
    pub(crate) fn new(index: IndexKind) -> Self {
        let store = Store::new();
        let table = Sound(store.table("t", index).expect("a new table"));
        let numbers = scaled(800, 60);
        let stable: BTreeSet<_> = (0..numbers).step_by(2).map(Self::key).collect();
        for key in &stable {
            table.insert(key, stamp(key, 0, 0, 20)).expect("there is no limit");
        }
        Self { store, table, stable, numbers }
    }

    /// In groups of several lengths and prefixes.
    pub(crate) fn key(number: usize) -> Vec<u8> {
        format!("{}{number:05}", ["", "a/long/shared/prefix/", "b"][number / 2 % 3]).into_bytes()
    }

    /// Writes at random from all threads. Values of keys that stay have version 0, others a higher one.
    pub(crate) fn churn(&self) {
        on_threads(|thread, mut random| {
            for round in 1..=scaled(4000, 60) {
                let number = random.usize(..self.numbers / 2) * 2;
                let (stays, comes) = (Self::key(number), Self::key(number + 1));
                let length = some_length(&mut random, 9000);
                let value = stamp(&comes, round, thread, length);
                match random.u8(..8) {
                    0..3 => self.table.delete(&comes),
                    3..5 => self.table.upsert(&comes, value).map(|()| true),
                    5 => self.table.insert(&comes, value),
                    6 => {
                        let updated = self.table.replace(&stays, stamp(&stays, 0, thread, length));
                        assert!(matches!(updated, Ok(true)));
                        updated
                    }
                    _ => {
                        let added = [comes, format!("/{round}/{thread}").into_bytes()].concat();
                        self.table.insert(&added, stamp(&added, round, thread, 40))
                    }
                }
                .expect("there is no limit");
            }
        });
    }

    /// Checks what was read of the keys that `within` admits: no key twice, each that stays once, every value whole.
    pub(crate) fn check(
        &self,
        pairs: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
        within: impl Fn(&[u8]) -> bool,
    ) {
        let mut seen = BTreeSet::new();
        for (key, value) in pairs {
            assert!(within(&key), "{} is out of range", key.escape_ascii());
            let stays = read_stamp(&key, &value).version == 0;
            assert_eq!(stays, self.stable.contains(&key));
            assert!(!seen.contains(&key), "{} comes twice", key.escape_ascii());
            seen.insert(key);
        }
        let missed = self.stable.iter().filter(|key| within(key) && !seen.contains(*key));
        assert_eq!(missed.count(), 0, "missed keys that stay");
    }
}
