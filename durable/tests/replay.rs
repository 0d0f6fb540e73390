//! Random operations on many tables, compactions and a follower beside them, a file that is left as a kill or a close leaves it,
//! and a store in memory that says what every way to read it must find.
//!
//! `TWINDEX_STRESS=50` makes a long run of it, and `TWINDEX_SEED` gives it other random numbers.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use fastrand::Rng;
use tempfile::tempdir;
use twindex_durable::twindex::{self, Change, IndexKind};
use twindex_durable::{Durability, Options, Result, Store, Table, check, recover};

/// `usual` times the environment's `TWINDEX_STRESS`.
fn scaled(usual: u64) -> u64 {
    usual * std::env::var("TWINDEX_STRESS").map_or(1, |text| text.parse::<u64>().expect("a whole number"))
}

fn first_seed() -> u64 {
    std::env::var("TWINDEX_SEED").map_or(0, |text| text.parse::<u64>().expect("a number") << 16)
}

// --- keys and values

#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Some of few, so that each comes again and again.
    Few,
    Ascending,
    Descending,
    Random,
    /// Long ones that begin alike, some of them with another, up to the longest that there may be.
    Long,
}

#[derive(Debug)]
struct Profile {
    keys: Keys,
    /// How many different keys there are, of which most have been used.
    span: u64,
    tables: usize,
    operations: usize,
    /// One in so many values is large, and one in so many operations is of a table.
    large: usize,
    of_tables: usize,
    limit: Option<usize>,
    compacts: bool,
    durability: Durability,
}

fn profile(rng: &mut Rng) -> Profile {
    let keys =
        *rng.choice(&[Keys::Few, Keys::Ascending, Keys::Descending, Keys::Random, Keys::Long]).unwrap();
    let span = match keys {
        Keys::Long => 100,
        Keys::Few => rng.u64(1..2_000),
        _ => rng.u64(1_000..1 << 40),
    };
    let operations = if rng.u8(..4) == 0 { rng.usize(8_000..30_000) } else { rng.usize(1..5_000) };
    Profile {
        keys,
        span,
        tables: if rng.u8(..5) == 0 { rng.usize(50..400) } else { rng.usize(1..5) },
        operations: if matches!(keys, Keys::Long) { operations / 20 + 1 } else { operations },
        large: *rng.choice(&[200, 2_000, usize::MAX]).unwrap(),
        of_tables: *rng.choice(&[30, 1_000, 100_000]).unwrap(),
        limit: rng.bool().then_some(1 << 30),
        compacts: rng.u8(..3) == 0,
        durability: if rng.u8(..8) == 0 { Durability::Always } else { Durability::EverySec },
    }
}

impl Profile {
    fn key(&self, rng: &mut Rng, turn: u64) -> Vec<u8> {
        let number = match self.keys {
            // An old one now and then.
            Keys::Ascending if rng.u8(..8) > 0 => turn,
            Keys::Descending if rng.u8(..8) > 0 => u64::MAX - turn,
            Keys::Descending => u64::MAX - rng.u64(..=turn),
            Keys::Ascending => rng.u64(..=turn),
            _ => rng.u64(..self.span),
        };
        match self.keys {
            Keys::Few => number.to_string().into_bytes(),
            Keys::Random if number % 3 == 0 => [b"a shared start of ", &number.to_be_bytes()[..]].concat(),
            Keys::Long => {
                let len = *rng.choice(&[0, 1, 7, 8, 9, 40, 300, 5_000, twindex::MAX_KEY_BYTES]).unwrap();
                let mut key = vec![0; len];
                // They differ at the end, or at the start.
                let at = if number % 2 == 0 { len.saturating_sub(1) } else { 0 };
                key.get_mut(at..).into_iter().flatten().take(1).for_each(|byte| *byte = number as u8 % 7);
                key
            }
            _ => number.to_be_bytes().to_vec(),
        }
    }

    fn value(&self, rng: &mut Rng) -> Vec<u8> {
        let len = match rng.u8(..20) {
            _ if self.large < usize::MAX && rng.usize(..self.large) == 0 => {
                // Some are longer than a group of the log that is replayed at once.
                if rng.u8(..8) == 0 { rng.usize(1 << 20..9 << 20) } else { rng.usize(1_000..200_000) }
            }
            0 => 0,
            1 => rng.usize(50..1_500),
            2..8 => return rng.i32(..).to_string().into_bytes(),
            _ => rng.usize(1..30),
        };
        vec![rng.u8(..); len]
    }
}

// --- the writes

/// What a swap gives its key, or none.
fn swapped_in(value: &[u8]) -> Option<&[u8]> {
    (!value.len().is_multiple_of(3)).then_some(value)
}

/// A store in a file, and one in memory with which the same is done.
struct Twin<'p> {
    store: Store,
    memory: Store,
    names: Vec<String>,
    profile: &'p Profile,
    turn: u64,
    next_table: usize,
}

impl Twin<'_> {
    /// Does the same with both, which answer the same.
    fn both<T: Debug + PartialEq>(&self, act: impl Fn(&Store) -> Result<T>) {
        let [file, memory] =
            [&self.store, &self.memory].map(|store| act(store).map_err(|error| error.code()));
        assert_eq!(file, memory);
    }

    fn on_table<T: Debug + PartialEq>(&self, name: &str, act: impl Fn(&Table) -> Result<T>) {
        self.both(|store| act(&store.find_table(name)?.expect("both have the table")));
    }

    fn make_table(&mut self, rng: &mut Rng) {
        let index = if rng.bool() { IndexKind::Hash } else { IndexKind::Sorted };
        // Some get the name of one that was dropped.
        let name =
            format!("table {}", if rng.bool() { self.next_table } else { rng.usize(..=self.next_table) });
        self.next_table += 1;
        if !self.names.contains(&name) {
            self.both(|store| store.table(&name, index).map(drop));
            self.names.push(name);
        }
    }

    fn key(&mut self, rng: &mut Rng) -> Vec<u8> {
        self.turn += 1;
        self.profile.key(rng, self.turn)
    }

    fn step(&mut self, rng: &mut Rng) {
        let Some(name) = rng.choice(&self.names).cloned() else { return self.make_table(rng) };
        if rng.usize(..self.profile.of_tables) == 0 {
            return match rng.u8(..6) {
                0 => {
                    self.names.retain(|other| *other != name);
                    self.both(|store| store.drop_table(&name));
                }
                1..3 => self.on_table(&name, Table::clear),
                _ => self.make_table(rng),
            };
        }
        let count = if rng.u8(..10) == 0 { 300 } else { rng.usize(1..20) };
        let verb = rng.u8(..100);
        let many = if matches!(verb, 4..16) { count } else { 1 };
        let pairs: Vec<_> = (0..many).map(|_| (self.key(rng), self.profile.value(rng))).collect();
        let keys: Vec<_> = pairs.iter().map(|(key, _)| key).collect();
        let amounts: Vec<_> = keys.iter().map(|key| (key, 7)).collect();
        let (key, value) = &pairs[0];
        // Some have the value that is expected.
        let old = self.memory.find_table(&name).unwrap().expect("there is one").select(key).unwrap();
        let old = if rng.bool() { old } else { None };
        let change = |at: usize| match (at + value.len()) % 3 {
            0 => Change::Keep,
            1 => Change::Delete,
            _ => Change::Set(value.clone()),
        };
        let swaps: Vec<_> = pairs.iter().map(|(key, new)| (key, old.as_deref(), swapped_in(new))).collect();
        match verb {
            0..4 => self.batch(rng),
            4..7 => self.on_table(&name, |table| table.upsert_many(&pairs)),
            7..9 => self.on_table(&name, |table| table.insert_many(&pairs)),
            9 => self.on_table(&name, |table| table.replace_many(&pairs)),
            10..12 => self.on_table(&name, |table| table.delete_many(&keys)),
            12 => self.on_table(&name, |table| table.increment_many(&amounts)),
            13..15 => self.on_table(&name, |table| table.compare_and_swap_many(&swaps)),
            15 => self.on_table(&name, |table| table.alter_many(&keys, |at, _| change(at))),
            16..30 => self.on_table(&name, |table| table.insert(key, value)),
            30..42 => self.on_table(&name, |table| table.delete(key)),
            42..50 => self.on_table(&name, |table| table.replace(key, value)),
            50..58 => self.on_table(&name, |table| table.increment(key, 7)),
            58..62 => {
                self.on_table(&name, |table| table.compare_and_swap(key, old.as_deref(), swapped_in(value)));
            }
            62..66 => self.on_table(&name, |table| table.alter(key, |_| change(0))),
            _ => self.on_table(&name, |table| table.upsert(key, value)),
        }
    }

    /// Some writes at once, of which one may fail, or an expectation: then nothing is done.
    fn batch(&mut self, rng: &mut Rng) {
        let (fails, count) = (rng.u8(..8) == 0, rng.usize(..30));
        let write = |_| {
            let name = rng.choice(&self.names).cloned().expect("there is a table");
            self.turn += 1;
            (name, rng.u8(..20), self.profile.key(rng, self.turn), self.profile.value(rng))
        };
        let writes: Vec<_> = (0..count).map(write).collect();
        self.both(|store| {
            let mut batch = store.batch();
            for (name, verb, key, value) in &writes {
                let table = &store.find_table(name)?.expect("both have the table");
                match verb {
                    0 => batch.expect(table, key, table.select(key)?.as_deref())?,
                    1 if fails => batch.expect(table, key, Some(b"what no key has"))?,
                    2..5 => batch.increment(table, key, 1)?,
                    5..9 => batch.delete(table, key)?,
                    9..12 => batch.insert(table, key, value)?,
                    12..14 => batch.replace(table, key, value)?,
                    _ => batch.upsert(table, key, value)?,
                }
            }
            batch.commit()
        });
    }
}

// --- the comparison

#[track_caller]
fn assert_same(found: &twindex::Store, memory: &Store, what: &str) {
    let kinds = |store: &twindex::Store| {
        store.tables().iter().map(|table| (table.name().to_owned(), table.index())).collect::<Vec<_>>()
    };
    let memory = memory.in_memory();
    assert_eq!(kinds(found), kinds(memory), "{what}");
    for (found, table) in found.tables().iter().zip(memory.tables()) {
        let pairs: Vec<_> = found.iter().collect();
        assert_eq!((pairs.len(), found.len()), (table.len(), table.len()), "{what}: {}", table.name());
        if table.index() == IndexKind::Sorted {
            assert!(pairs.is_sorted_by(|one, next| one.0 < next.0), "{what}: in order");
        }
        for (key, value) in &table {
            let has = found.select(&key);
            assert!(
                has.as_ref() == Some(&value),
                "{what}: {}: a key of {} bytes, {key:.20?}: {:?} bytes, not {}",
                table.name(),
                key.len(),
                has.map(|has| has.len()),
                value.len()
            );
        }
    }
}

fn read_in_every_way(path: &Path, memory: &Store, limit: Option<usize>) {
    assert_same(&twindex_durable::load(path).unwrap(), memory, "load");
    let options = || limit.map_or_else(Options::new, |limit| Options::new().memory_limit(limit));
    let read_only = options().read_only(true).open(path).unwrap();
    assert_same(read_only.in_memory(), memory, "read only");
    assert_eq!(check(path, |_| {}).unwrap().damage, []);
    let saved = path.with_extension("saved");
    recover(path, &saved, |_| {}).unwrap();
    assert_same(&twindex_durable::load(&saved).unwrap(), memory, "recovered");
    fs::remove_file(saved).unwrap();
}

fn try_seed(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let profile = &profile(&mut rng);
    let folder = tempdir().unwrap();
    let mut path = folder.path().join("0.twx");
    let open = |path: &Path| {
        let options = Options::new().durability(profile.durability).compact_by_hand(!profile.compacts);
        let options = if let Some(limit) = profile.limit { options.memory_limit(limit) } else { options };
        options.open(path).unwrap()
    };
    let (store, memory) = (open(&path), Store::new());
    let mut twin = Twin { store, memory, names: Vec::new(), profile, turn: 0, next_table: 0 };
    for _ in 0..profile.tables {
        twin.make_table(&mut rng);
    }
    let operations = if profile.durability == Durability::Always {
        profile.operations.min(300)
    } else {
        profile.operations
    };
    for round in 1..4 {
        let compact_at = if profile.compacts { rng.usize(..operations * 2) } else { usize::MAX };
        let follower = rng.bool().then(|| Options::new().read_only(true).open(&path).unwrap());
        let refresh_at = rng.usize(..operations * 2);
        let mut compaction = None;
        for operation in 0..rng.usize(..=operations) {
            if operation == compact_at {
                // Writes and the follower go on beside it.
                let store = twin.store.clone();
                compaction = Some(std::thread::spawn(move || store.compact()));
            }
            twin.step(&mut rng);
            let is_to_refresh =
                operation == refresh_at || (compact_at..compact_at.saturating_add(3)).contains(&operation);
            if let Some(follower) = follower.as_ref().filter(|_| is_to_refresh) {
                follower.refresh().unwrap();
                assert_same(follower.in_memory(), &twin.memory, "followed");
            }
        }
        if let Some(compaction) = compaction {
            compaction.join().unwrap().unwrap();
        }
        assert_same(twin.store.in_memory(), &twin.memory, "in memory");
        if let Some(follower) = &follower {
            follower.refresh().unwrap();
            assert_same(follower.in_memory(), &twin.memory, "followed to the end");
        }
        let is_killed = rng.bool();
        if is_killed {
            // What the file has while the store is open is what a kill would leave.
            let killed = folder.path().join(format!("{round}.twx"));
            fs::copy(&path, &killed).unwrap();
            path = killed;
        } else {
            twin.store.close().unwrap();
        }
        if rng.bool() {
            read_in_every_way(&path, &twin.memory, profile.limit);
        }
        twin.store = open(&path);
        assert_same(twin.store.in_memory(), &twin.memory, "opened");
    }
}

/// Says which seed it was where it fails.
fn try_seeds(count: u64) {
    for seed in first_seed()..first_seed() + count {
        let tried = std::panic::catch_unwind(|| try_seed(seed));
        if let Err(panic) = tried {
            let mut rng = Rng::with_seed(seed);
            eprintln!("seed {seed}: {:?}", profile(&mut rng));
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn every_way_to_read_a_file_finds_what_was_written() {
    try_seeds(scaled(6));
}
