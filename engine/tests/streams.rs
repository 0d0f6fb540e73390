//! Streams of keys in order side by side, in several tables: a thread remembers the leaves that it writes them to.

use std::collections::BTreeMap;

use crate::sound::assert_sound;
use twindex::{Change, IndexKind, Store, Table};

const SEEDS: u64 = if cfg!(miri) { 2 } else { 40 };
const STEPS: usize = if cfg!(miri) { 60 } else { 600 };

/// A table and what it should have.
struct Modelled {
    store: Store,
    table: Table,
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Modelled {
    fn new(store: &Store, name: &str) -> Self {
        let table = store.table(name, IndexKind::Sorted).unwrap();
        Self { store: store.clone(), table, pairs: BTreeMap::new() }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) {
        let absent = !self.pairs.contains_key(key);
        assert_eq!(self.table.insert(key, value).unwrap(), absent, "{}", key.escape_ascii());
        self.pairs.entry(key.to_vec()).or_insert_with(|| value.to_vec());
    }

    fn delete(&mut self, key: &[u8]) {
        assert_eq!(self.table.delete(key).unwrap(), self.pairs.remove(key).is_some());
    }

    fn check(&self) {
        assert_sound(&self.table);
        assert_eq!(self.table.len(), self.pairs.len());
        let found: BTreeMap<_, _> = self.table.iter().collect();
        assert!(found == self.pairs && self.table.iter().is_sorted(), "the pairs are those of the model");
        assert!(self.pairs.iter().all(|(key, value)| self.table.select(key).as_ref() == Some(value)));
    }
}

/// Keys with one prefix whose numbers go up, or down.
struct Stream {
    table: usize,
    prefix: String,
    digits: usize,
    at: u32,
    down: bool,
}

impl Stream {
    fn new(rng: &mut fastrand::Rng, tables: usize) -> Self {
        let prefix = ["", "a", "b/", "stream/", "a prefix that is longer than what is remembered/"];
        Self {
            table: rng.usize(..tables),
            prefix: format!("{}{}", prefix[rng.usize(..prefix.len())], rng.u8(..4)),
            digits: [1, 6, 14][rng.usize(..3)],
            at: rng.u32(5_000..6_000),
            down: rng.u8(..3) == 0,
        }
    }

    fn next(&mut self, rng: &mut fastrand::Rng) -> Vec<u8> {
        let step = rng.u32(1..4);
        self.at = if self.down { self.at.saturating_sub(step) } else { self.at + step };
        format!("{}{:0digits$}", self.prefix, self.at, digits = self.digits).into_bytes()
    }
}

fn value(rng: &mut fastrand::Rng) -> Vec<u8> {
    let most = [4, 40, 700][usize::from(rng.u8(..16) > 10) + usize::from(rng.u8(..32) == 0)];
    vec![rng.u8(..); rng.usize(..most)]
}

/// A key that is there, or right beside it.
fn beside(rng: &mut fastrand::Rng, pairs: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    let mut key = pairs.keys().nth(rng.usize(..pairs.len().max(1))).cloned().unwrap_or_default();
    match rng.u8(..4) {
        0 => key.push(rng.u8(..3)),
        1 => drop(key.pop()),
        _ => {}
    }
    key
}

fn step(rng: &mut fastrand::Rng, streams: &mut [Stream], tables: &mut [Modelled]) {
    let stream = rng.usize(..streams.len());
    let at = streams[stream].table;
    match rng.u8(..100) {
        0 => {
            tables[at].table.clear().unwrap();
            tables[at].pairs.clear();
        }
        1 => {
            let (store, name) = (tables[at].store.clone(), tables[at].table.name().to_owned());
            assert!(store.drop_table(&name));
            tables[at] = Modelled::new(&store, &name);
        }
        2 => streams[stream] = Stream::new(rng, tables.len()),
        // Most of a table goes, so that leaves merge, or all of it.
        3 => {
            let every = rng.usize(1..20);
            let keys: Vec<_> = tables[at].pairs.keys().cloned().collect();
            let gone = keys.iter().enumerate().filter(|(number, _)| every == 1 || number % every > 0);
            gone.for_each(|(_, key)| tables[at].delete(key));
        }
        4..20 => {
            let key = beside(rng, &tables[at].pairs);
            if rng.bool() { tables[at].delete(&key) } else { tables[at].insert(&key, &value(rng)) }
        }
        // Another thread goes on where this one was.
        20..24 => {
            let pairs: Vec<_> =
                (0..rng.usize(1..6)).map(|_| (streams[stream].next(rng), value(rng))).collect();
            let table = &mut tables[at];
            std::thread::scope(|scope| {
                scope.spawn(|| pairs.iter().for_each(|(key, value)| table.insert(key, value)));
            });
        }
        24..28 => {
            let pairs: Vec<_> =
                (0..rng.usize(1..50)).map(|_| (streams[stream].next(rng), value(rng))).collect();
            tables[at].table.upsert_many(&pairs).unwrap();
            tables[at].pairs.extend(pairs);
        }
        // A closure writes to another store meanwhile.
        28..32 => {
            let (key, other) = (streams[stream].next(rng), rng.usize(..streams.len()));
            let [table, others @ ..] = tables else { return };
            let Some(inner) = others.last_mut().filter(|_| at == 0) else { return };
            table
                .table
                .alter(&key, |_| {
                    for _ in 0..12 {
                        inner.insert(&streams[other].next(rng), b"inner");
                    }
                    Change::Set(b"outer".to_vec())
                })
                .unwrap();
            table.pairs.insert(key, b"outer".to_vec());
        }
        _ => {
            for _ in 0..rng.usize(1..20) {
                tables[at].insert(&streams[stream].next(rng), &value(rng));
            }
        }
    }
}

#[test]
fn streams_side_by_side_do_what_a_sorted_map_does() {
    for seed in 0..SEEDS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (store, other) = (Store::new(), Store::new());
        let mut tables = [Modelled::new(&store, "a"), Modelled::new(&store, "b"), Modelled::new(&other, "a")];
        let mut streams: Vec<_> = (0..rng.usize(1..12)).map(|_| Stream::new(&mut rng, 3)).collect();
        for at in 0..STEPS {
            step(&mut rng, &mut streams, &mut tables);
            if at % 100 == 0 {
                tables.iter().for_each(Modelled::check);
            }
        }
        tables.iter().for_each(Modelled::check);
    }
}
