//! Random work on a disk that crashes at every step, or fails at every step, and what is found then.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use twindex::{Change, IndexKind};
use twindex_format::{HEADER_BYTES, Header, LogReader, split_deadline, with_deadline};

use crate::core::{Core, Logged};
use crate::disk::sim::{Fault, SimDisk};
use crate::handle::Handle;
use crate::{Durability, Error, Options, Result, Store, Table};

pub(crate) type Tables = BTreeMap<String, (IndexKind, BTreeMap<Vec<u8>, Vec<u8>>)>;
type Pair = (u8, Option<u8>);

/// One call, or a few that belong together.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Opens or creates a table, whose index is that of its name.
    Table(u8),
    Drop(u8),
    Clear(u8),
    /// The value of a key, or none.
    Write(u8, Pair),
    Many(u8, Vec<Pair>),
    /// Another verb, by its number, for each of these pairs.
    Verb(u8, u8, Vec<Pair>),
    /// Any of these tables and keys.
    Batch(Vec<(u8, Pair)>),
    Transaction(Vec<(u8, Pair)>),
    /// So much money from an account of one table to one of another, by a batch or a transaction.
    Move(bool, u8, u8, i64),
    Increment(u8, u8),
    /// A pair that lives for a minute, or none, once the expired ones are removed. Before that a minute may pass.
    Lend(bool, Pair),
    /// Drops a table and writes by a handle of it.
    Stale(u8, Vec<Pair>),
    /// Writes that are refused, each for another reason.
    Refused(u8, Pair),
    Flush,
    /// What the thread of `everysec` does.
    Tick,
    Compact,
    Reopen,
}

pub(crate) fn actions(most: usize) -> impl Strategy<Value = Vec<Action>> {
    let table = || 0..3_u8;
    let pair = || (0..12_u8, prop::option::weighted(0.7, any::<u8>()));
    let action = prop_oneof![
        3 => table().prop_map(Action::Table),
        1 => table().prop_map(Action::Drop),
        1 => table().prop_map(Action::Clear),
        12 => (table(), pair()).prop_map(|(table, pair)| Action::Write(table, pair)),
        3 => (table(), vec(pair(), 0..100)).prop_map(|(table, pairs)| Action::Many(table, pairs)),
        6 => (0..7_u8, table(), vec(pair(), 1..5)).prop_map(|(verb, table, pairs)| Action::Verb(verb, table, pairs)),
        4 => vec((table(), pair()), 0..6).prop_map(Action::Batch),
        4 => vec((table(), pair()), 0..6).prop_map(Action::Transaction),
        4 => (any::<bool>(), 0..3_u8, 0..3_u8, 1..100_i64).prop_map(|(by, from, to, money)| Action::Move(by, from, to, money)),
        2 => (table(), 0..3_u8).prop_map(|(table, key)| Action::Increment(table, key)),
        4 => (any::<bool>(), pair()).prop_map(|(passes, pair)| Action::Lend(passes, pair)),
        1 => (table(), vec(pair(), 1..5)).prop_map(|(table, pairs)| Action::Stale(table, pairs)),
        1 => (table(), pair()).prop_map(|(table, pair)| Action::Refused(table, pair)),
        2 => Just(Action::Flush),
        2 => Just(Action::Tick),
        2 => Just(Action::Compact),
        1 => Just(Action::Reopen),
    ];
    vec(action, 1..most)
}

/// The tables with the accounts. Together they have no money.
const ACCOUNTS: [u8; 2] = [4, 5];
/// A table that is there during some actions alone.
const OTHER: u8 = 3;
/// The table of the pairs that expire: a sorted one, so that they are removed in order.
const LENT: u8 = 7;
const MINUTE: u64 = 60_000;

thread_local! {
    /// The time by which they expire.
    static NOW: Cell<u64> = const { Cell::new(MINUTE) };
}
/// Pairs that cannot be incremented.
const REFUSE_TO_BE_ADDED_TO: [(&str, &str); 2] = [("no number", "text"), ("the most", "9223372036854775807")];

fn name(table: u8) -> String {
    format!("table {table}")
}

fn index(table: u8) -> IndexKind {
    if table.is_multiple_of(2) { IndexKind::Hash } else { IndexKind::Sorted }
}

fn key(key: u8) -> Vec<u8> {
    format!("key {key}").into()
}

/// Some values are as long as a few sectors of a disk.
fn value(value: u8) -> Vec<u8> {
    vec![value; if value.is_multiple_of(16) { 2000 } else { usize::from(value % 16) }]
}

fn parsed(text: &[u8]) -> i64 {
    std::str::from_utf8(text).expect("our own digits").parse().expect("a number")
}

fn write(tables: &mut Tables, table: u8, (at, new): Pair) {
    let pairs = &mut tables.entry(name(table)).or_insert((index(table), BTreeMap::new())).1;
    match new {
        Some(new) => drop(pairs.insert(key(at), value(new))),
        None => drop(pairs.remove(&key(at))),
    }
}

/// What [`Action::Verb`] makes of a table that is there.
fn model_of_verb(tables: &mut Tables, states: &mut Vec<Tables>, verb: u8, table: u8, pairs: &[Pair]) {
    for &(at, new) in pairs {
        let is_there = tables[&name(table)].1.contains_key(&key(at));
        let takes_effect = match verb {
            0 | 1 => new.is_some() && !is_there,
            2 | 3 => new.is_some() && is_there,
            _ => true,
        };
        if takes_effect {
            write(tables, table, (at, new));
        }
        // These are one record.
        if !matches!(verb, 1 | 3) {
            states.push(tables.clone());
        }
    }
}

fn do_verb(table: &Table, verb: u8, pairs: &[Pair]) -> Result<()> {
    let puts: Vec<_> = pairs.iter().filter_map(|(k, v)| v.map(|v| (key(*k), value(v)))).collect();
    let keys: Vec<_> = pairs.iter().map(|(k, _)| key(*k)).collect();
    let new = |at: usize| pairs[at].1.map(value);
    let change = |at: usize| new(at).map_or(Change::Delete, Change::Set);
    let mut each = keys.iter().enumerate();
    match verb {
        0 => puts.iter().try_for_each(|(key, value)| table.insert(key, value).map(drop)),
        1 => table.insert_many(&puts).map(drop),
        2 => puts.iter().try_for_each(|(key, value)| table.replace(key, value).map(drop)),
        3 => table.replace_many(&puts).map(drop),
        4 => each.try_for_each(|(at, key)| table.alter(key, |_| change(at)).map(drop)),
        5 => table.alter_many(&keys, |at, _| change(at)).map(drop),
        _ => each.try_for_each(|(at, key)| {
            let (old, new) = (table.select(key)?, new(at));
            assert!(!table.compare_and_swap(key, Some(b"what no key has"), None)?);
            let swapped = table.compare_and_swap_many(&[(key, old.as_deref(), new.as_deref())])?;
            assert_eq!(swapped, [true]);
            Ok(())
        }),
    }
}

/// What an action makes of the tables: all the states on the way, the last one included.
fn model(tables: &Tables, action: &Action) -> Vec<Tables> {
    let mut tables = tables.clone();
    let mut states = Vec::new();
    let create = |tables: &mut Tables, states: &mut Vec<Tables>, table: u8| {
        tables.entry(name(table)).or_insert((index(table), BTreeMap::new()));
        states.push(tables.clone());
    };
    match action {
        Action::Table(table) => create(&mut tables, &mut states, *table),
        Action::Drop(table) => drop(tables.remove(&name(*table))),
        Action::Clear(table) => {
            create(&mut tables, &mut states, *table);
            tables.get_mut(&name(*table)).expect("it was created").1.clear();
        }
        Action::Write(table, pair) => {
            create(&mut tables, &mut states, *table);
            write(&mut tables, *table, *pair);
        }
        Action::Many(table, pairs) => {
            create(&mut tables, &mut states, *table);
            let puts: Vec<Pair> = pairs.iter().filter(|(_, new)| new.is_some()).copied().collect();
            let deletes = pairs.iter().filter(|(_, new)| new.is_none()).copied().collect();
            for list in [puts, deletes] {
                for group in list.chunks(crate::table::GROUP) {
                    for pair in group {
                        write(&mut tables, *table, *pair);
                    }
                    states.push(tables.clone());
                }
            }
        }
        Action::Verb(verb, table, pairs) => {
            create(&mut tables, &mut states, *table);
            model_of_verb(&mut tables, &mut states, *verb, *table, pairs);
        }
        Action::Batch(list) | Action::Transaction(list) => {
            for (table, _) in list {
                create(&mut tables, &mut states, *table);
            }
            for (table, pair) in list {
                write(&mut tables, *table, *pair);
            }
        }
        Action::Move(_, from, to, money) => {
            for table in ACCOUNTS {
                create(&mut tables, &mut states, table);
            }
            for (table, account, money) in [(ACCOUNTS[0], from, -money), (ACCOUNTS[1], to, *money)] {
                let pairs = &mut tables.get_mut(&name(table)).expect("it was created").1;
                let has = pairs.get(&key(*account)).map_or(0, |text| parsed(text));
                pairs.insert(key(*account), (has + money).to_string().into());
            }
        }
        Action::Increment(table, at) => {
            create(&mut tables, &mut states, *table);
            let pairs = &mut tables.get_mut(&name(*table)).expect("it was created").1;
            let count =
                pairs.entry(b"count of ".iter().copied().chain([*at]).collect()).or_insert(b"0".to_vec());
            *count = (parsed(count) + 7).to_string().into();
        }
        Action::Lend(_, (at, new)) => {
            create(&mut tables, &mut states, LENT);
            let now = NOW.get();
            let lent = |tables: &Tables| tables[&name(LENT)].1.clone();
            for (key, _) in lent(&tables).into_iter().filter(|(_, stored)| split_deadline(stored).0 <= now) {
                tables.get_mut(&name(LENT)).expect("it was created").1.remove(&key);
                states.push(tables.clone());
            }
            let pairs = &mut tables.get_mut(&name(LENT)).expect("it was created").1;
            match new {
                Some(new) => drop(pairs.insert(key(*at), with_deadline(now + MINUTE, &value(*new)))),
                None => drop(pairs.remove(&key(*at))),
            }
        }
        Action::Stale(table, _) => {
            create(&mut tables, &mut states, *table);
            create(&mut tables, &mut states, OTHER);
            tables.remove(&name(*table));
            states.push(tables.clone());
            tables.remove(&name(OTHER));
        }
        Action::Refused(table, _) => {
            create(&mut tables, &mut states, *table);
            create(&mut tables, &mut states, OTHER);
            for (key, value) in REFUSE_TO_BE_ADDED_TO {
                let pairs = &mut tables.get_mut(&name(OTHER)).expect("it was created").1;
                pairs.insert(key.into(), value.into());
                states.push(tables.clone());
            }
            tables.remove(&name(OTHER));
        }
        Action::Flush | Action::Tick | Action::Compact | Action::Reopen => {}
    }
    states.push(tables);
    states
}

pub(crate) fn path() -> PathBuf {
    "app.twx".into()
}

pub(crate) fn open(disk: &SimDisk, durability: Durability) -> Result<Store> {
    let options = Options::new().durability(durability).compact_by_hand(true);
    let core = Core::open_on(Arc::new(disk.clone()), &path(), options)?;
    let store = Store { handle: Arc::new(Handle(core)) };
    store.set_clock(|| (NOW.get(), NOW.get()));
    Ok(store)
}

pub(crate) fn tables_of(store: &Store) -> Tables {
    let tables = store.tables().unwrap();
    tables
        .iter()
        .map(|table| (table.name().into(), (table.index(), table.iter().unwrap().collect())))
        .collect()
}

pub(crate) fn perform(
    store: &mut Option<Store>,
    disk: &SimDisk,
    durability: Durability,
    action: &Action,
) -> Result<()> {
    if let Action::Reopen = action {
        let closed = store.as_ref().map_or(Ok(()), Store::close);
        *store = None;
        *store = Some(open(disk, durability)?);
        return closed;
    }
    if store.is_none() {
        *store = Some(open(disk, durability)?);
    }
    let store = store.as_ref().expect("it was opened");
    let table = |table: u8| store.table(&name(table), index(table));
    match action {
        Action::Table(at) => table(*at).map(drop),
        Action::Drop(at) => store.drop_table(&name(*at)).map(drop),
        Action::Clear(at) => table(*at)?.clear(),
        Action::Write(at, (k, Some(v))) => table(*at)?.upsert(key(*k), value(*v)),
        Action::Write(at, (k, None)) => table(*at)?.delete(key(*k)).map(drop),
        Action::Many(at, pairs) => {
            let table = table(*at)?;
            let puts: Vec<_> = pairs.iter().filter_map(|(k, v)| v.map(|v| (key(*k), value(v)))).collect();
            table.upsert_many(&puts)?;
            let deletes: Vec<_> = pairs.iter().filter(|(_, v)| v.is_none()).map(|(k, _)| key(*k)).collect();
            table.delete_many(&deletes).map(drop)
        }
        Action::Verb(verb, at, pairs) => do_verb(&table(*at)?, *verb, pairs),
        Action::Batch(list) => {
            let mut batch = store.batch();
            for (at, (k, v)) in list {
                let now = table(*at)?.select(key(*k))?;
                batch.expect(&table(*at)?, key(*k), now.as_deref())?;
                match v {
                    Some(v) => batch.upsert(&table(*at)?, key(*k), value(*v))?,
                    None => batch.delete(&table(*at)?, key(*k))?,
                }
            }
            batch.commit().map(drop)
        }
        Action::Transaction(list) => {
            list.iter().try_for_each(|(at, _)| table(*at).map(drop))?;
            store.transaction(|tx| {
                for (at, (k, v)) in list {
                    let table = tx.table(&name(*at))?;
                    match v {
                        Some(v) => tx.upsert(&table, key(*k), value(*v))?,
                        None => _ = tx.delete(&table, key(*k))?,
                    }
                }
                Ok(())
            })
        }
        Action::Move(by_batch, from, to, money) => {
            let [giving, getting] = [table(ACCOUNTS[0])?, table(ACCOUNTS[1])?];
            if *by_batch {
                let mut batch = store.batch();
                batch.increment(&giving, key(*from), -money)?;
                batch.increment(&getting, key(*to), *money)?;
                return batch.commit().map(drop);
            }
            store.transaction(|tx| {
                let has = tx.select(&giving, key(*from))?.map_or(0, |text| parsed(&text));
                tx.upsert(&giving, key(*from), (has - money).to_string())?;
                tx.increment(&getting, key(*to), *money).map(drop)
            })
        }
        Action::Increment(at, k) => {
            table(*at)?.increment([b"count of ".as_slice(), &[*k]].concat(), 7).map(drop)
        }
        Action::Lend(passes, (k, v)) => {
            NOW.set(NOW.get() + u64::from(*passes) * MINUTE);
            let table = store.expiring_table(&name(LENT), index(LENT))?;
            table.remove_expired(usize::MAX)?;
            match v {
                Some(v) => table.upsert(key(*k), value(*v), Duration::from_millis(MINUTE)),
                None => table.delete(key(*k)).map(drop),
            }
        }
        Action::Stale(at, pairs) => write_to_dropped(store, &table(*at)?, pairs),
        Action::Refused(at, (k, _)) => write_what_is_refused(store, &table(*at)?, &key(*k)),
        Action::Flush => store.flush(),
        Action::Tick => match store.handle.0.logged() {
            Some(Logged { log, .. }) => log.tick(),
            None => Ok(()),
        },
        Action::Compact => store.compact(),
        Action::Reopen => unreachable!("it was done above"),
    }
}

/// That a write was refused with this code. What a disk refuses is an error as ever.
#[track_caller]
fn expect<T>(code: &str, written: Result<T>) -> Result<()> {
    match written {
        Ok(_) => panic!("{code} was expected"),
        Err(error) if error.code() == code => Ok(()),
        Err(error) => Err(error),
    }
}

/// Drops a table and writes by a handle of it: by each verb, and in a batch with writes that would be done.
fn write_to_dropped(store: &Store, table: &Table, pairs: &[Pair]) -> Result<()> {
    const DROPPED: &str = "TWINDEX_TABLE_DROPPED";
    let stale = table.clone();
    let other = store.table(&name(OTHER), index(OTHER))?;
    store.drop_table(table.name())?;
    let puts: Vec<_> = pairs.iter().map(|(k, v)| (key(*k), value(v.unwrap_or(1)))).collect();
    let keys: Vec<_> = puts.iter().map(|(key, _)| key).collect();
    let (key, new) = &puts[0];
    expect(DROPPED, stale.insert(key, new))?;
    expect(DROPPED, stale.replace(key, new))?;
    expect(DROPPED, stale.upsert(key, new))?;
    expect(DROPPED, stale.delete(key))?;
    expect(DROPPED, stale.alter(key, |_| Change::Set(new.clone())))?;
    expect(DROPPED, stale.increment(key, 1))?;
    expect(DROPPED, stale.compare_and_swap(key, None, Some(new)))?;
    expect(DROPPED, stale.clear())?;
    expect(DROPPED, stale.insert_many(&puts))?;
    expect(DROPPED, stale.replace_many(&puts))?;
    expect(DROPPED, stale.upsert_many(&puts))?;
    expect(DROPPED, stale.delete_many(&keys))?;
    let mut batch = store.batch();
    batch.upsert(&other, "undone", "1")?;
    batch.upsert(&stale, key, new)?;
    expect(DROPPED, batch.commit())?;
    let mut batch = store.batch();
    batch.expect(&stale, key, None)?;
    batch.upsert(&other, "not done", "1")?;
    expect(DROPPED, batch.commit())?;
    store.drop_table(other.name()).map(drop)
}

/// Writes that change nothing: with another index, keys and values that are too long, what is no number, and beyond the
/// memory limit.
fn write_what_is_refused(store: &Store, table: &Table, key: &[u8]) -> Result<()> {
    let (long, other) = (vec![b'k'; twindex::MAX_KEY_BYTES + 1], store.table(&name(OTHER), index(OTHER))?);
    let wrong = if table.index() == IndexKind::Hash { IndexKind::Sorted } else { IndexKind::Hash };
    expect("TWINDEX_WRONG_INDEX", store.table(table.name(), wrong))?;
    expect("TWINDEX_TABLE_NAME", store.table("", wrong))?;
    expect("TWINDEX_KEY_TOO_LONG", table.upsert(&long, "v"))?;
    expect("TWINDEX_KEY_TOO_LONG", table.upsert_many(&[(key, "v"), (&long, "v")]))?;
    expect("TWINDEX_KEY_TOO_LONG", table.delete_many(&[key, &long]))?;
    expect("TWINDEX_KEY_TOO_LONG", table.increment_many(&[(key, 1), (&long, 1)]))?;
    expect(
        "TWINDEX_KEY_TOO_LONG",
        table.compare_and_swap_many(&[(key, None, None), (&long[..], None, None)]),
    )?;
    expect("TWINDEX_KEY_TOO_LONG", store.batch().upsert(table, &long, "v"))?;
    for ((key, value), code) in
        REFUSE_TO_BE_ADDED_TO.into_iter().zip(["TWINDEX_NOT_AN_INTEGER", "TWINDEX_OVERFLOW"])
    {
        other.upsert(key, value)?;
        expect(code, other.increment(key, 1))?;
    }
    let is = table.select(key)?;
    let other_than_it_is = is.is_none().then_some(b"text".as_slice());
    let mut batch = store.batch();
    batch.expect(table, key, is.as_deref())?;
    batch.expect(table, key, other_than_it_is)?;
    batch.upsert(table, "another", "not done")?;
    batch.delete(table, key)?;
    expect("TWINDEX_UNEXPECTED", batch.commit())?;
    let mut batch = store.batch();
    batch.increment(&other, "count", 1)?;
    batch.increment(&other, "no number", 1)?;
    expect("TWINDEX_NOT_AN_INTEGER", batch.commit())?;
    let large = vec![b'v'; 1 << 14];
    store.set_memory_limit(Some(store.memory()));
    let limited = (|| {
        expect("TWINDEX_MEMORY_LIMIT", table.upsert(key, &large))?;
        expect("TWINDEX_MEMORY_LIMIT", table.upsert_many(&[(key, &large), (b"another", &large)]))?;
        expect("TWINDEX_MEMORY_LIMIT", table.alter(key, |_| Change::Set(large.clone())))?;
        let mut batch = store.batch();
        batch.delete(table, key)?;
        batch.upsert(table, "another", &large)?;
        expect("TWINDEX_MEMORY_LIMIT", batch.commit())
    })();
    store.set_memory_limit(None);
    limited?;
    store.drop_table(other.name()).map(drop)
}

/// What was done until something went wrong, or to the end.
struct Run {
    disk: SimDisk,
    store: Option<Store>,
    /// Every state that the store may have been in, in order. The last ones are of the action that failed.
    states: Vec<Tables>,
    /// All up to this one must survive a killed process.
    acknowledged: usize,
    /// All up to this one must survive a power cut.
    promised: usize,
    error: Option<Error>,
}

impl Run {
    /// Does one action after the other, up to one after which nothing more can be written.
    fn new(actions: &[Action], durability: Durability, fault: Option<(usize, Fault)>, seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        if let Some((after, fault)) = fault {
            disk.fail_after(after, fault);
        }
        let mut run = Self {
            disk,
            store: None,
            states: vec![Tables::new()],
            acknowledged: 0,
            promised: 0,
            error: None,
        };
        for action in actions {
            let before = run.states.last().expect("there is always one").clone();
            let done = perform(&mut run.store, &run.disk, durability, action);
            match (&done, action) {
                // The file is as it was, and the log goes on.
                (Err(Error::Io { .. }), Action::Compact) => continue,
                // With `none`, what was not saved is gone with the store.
                (Err(_), Action::Reopen) => {
                    run.store = None;
                    break;
                }
                _ => run.states.extend(model(&before, action)),
            }
            match done {
                Ok(()) => {
                    let now = run.states.len() - 1;
                    let saves = match action {
                        Action::Compact | Action::Reopen => true,
                        Action::Flush | Action::Tick => durability != Durability::None,
                        _ => durability == Durability::Always,
                    };
                    if durability != Durability::None || saves {
                        run.acknowledged = now;
                    }
                    if saves {
                        run.promised = now;
                    }
                }
                Err(error) => {
                    run.error = Some(error);
                    break;
                }
            }
        }
        run
    }

    /// That the disk, as another process finds it, holds one of the states from `least` on.
    #[track_caller]
    fn check(&self, disk: &SimDisk, durability: Durability, least: usize, what: &str) {
        let store = open(disk, durability).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = tables_of(&store);
        let accounts = ACCOUNTS.iter().filter_map(|table| found.get(&name(*table)));
        let money: i64 = accounts.flat_map(|(_, pairs)| pairs.values()).map(|text| parsed(text)).sum();
        assert_eq!(money, 0, "{what}: money was lost or made");
        let at = self.states.iter().rposition(|state| *state == found);
        assert!(
            at.is_some_and(|at| at >= least),
            "{what}: found state {at:?} of {}, at least {least} was promised\n{found:?}\n{:?}",
            self.states.len(),
            self.states[least]
        );
        // And it works on as ever.
        let table = store.table("after", IndexKind::Sorted).expect("the disk works again");
        table.insert("a", "1").expect("the disk works again");
        let expected = tables_of(&store);
        store.close().expect("the disk works again");
        // The process that was killed may have left the name or the bytes of the file to the system's memory.
        let cut = disk.after_power_cut();
        assert!(tables_of(&open(&cut, durability).expect("it was closed")) == expected, "{what}");
    }
}

const ALL: [Durability; 3] = [Durability::None, Durability::EverySec, Durability::Always];

/// How many cases to run: few in every test run, many times more by the variable `TWINDEX_FAULTS`.
pub(crate) fn cases(few: u32) -> ProptestConfig {
    let times =
        std::env::var("TWINDEX_FAULTS").map_or(1, |times| times.parse().expect("TWINDEX_FAULTS: a number"));
    ProptestConfig { cases: few * times, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn a_crash_at_any_step_keeps_what_was_promised(actions in actions(25), seed in any::<u64>()) {
        for durability in ALL {
            let steps = Run::new(&actions, durability, None, seed).disk.steps();
            for step in 0..=steps {
                let run = Run::new(&actions, durability, Some((step, Fault::Crash)), seed ^ step as u64);
                let what = format!("{durability}, crash at step {step} of {steps}");
                run.check(&run.disk.after_kill(), durability, run.acknowledged, &format!("{what}, killed"));
                for _ in 0..3 {
                    let cut = run.disk.after_power_cut();
                    run.check(&cut.after_kill(), durability, run.promised, &format!("{what}, power cut"));
                    // The power is cut again while the file is opened.
                    cut.fail_after(step % 7, Fault::Crash);
                    drop(open(&cut, durability));
                    run.check(&cut.after_power_cut(), durability, run.promised, &format!("{what}, cut twice"));
                }
            }
        }
    }

    /// An error of the disk is told to whoever waits for it. After one in the log nothing can be written, all
    /// can be read, and the file still has what was promised.
    #[test]
    fn an_error_at_any_step_keeps_what_was_promised(
        actions in actions(25),
        seed in any::<u64>(),
        kind in prop::sample::select(vec![ErrorKind::StorageFull, ErrorKind::OutOfMemory, ErrorKind::Other]),
    ) {
        for durability in ALL {
            let steps = Run::new(&actions, durability, None, seed).disk.steps();
            for step in 0..steps {
                let run = Run::new(&actions, durability, Some((step, Fault::Error(kind))), seed ^ step as u64);
                let what = format!("{durability}, {kind} at step {step} of {steps}");
                if let (Some(store), Some(Error::Io { source, .. })) = (&run.store, &run.error) {
                    // The disk has room again. What was done in memory is in the file then, and the store goes on.
                    assert!(source.kind() == kind && kind != ErrorKind::Other, "{what}: {source}");
                    let found = tables_of(store);
                    assert!(run.states[run.acknowledged..].contains(&found), "{what}: reads go on");
                    store.flush().unwrap_or_else(|error| panic!("{what}: {error}"));
                    let kept = open(&run.disk.after_power_cut(), durability).expect("it was synced");
                    assert_eq!(tables_of(&kept), found, "{what}: what was in memory is in the file");
                    let more = store.table("more", IndexKind::Hash).expect("the log goes on");
                    more.insert("a", "1").expect("the log goes on");
                    let found = tables_of(store);
                    let kept = open(&run.disk.after_kill(), durability).expect("it is the system's");
                    assert_eq!(tables_of(&kept), found, "{what}: and so is what followed");
                    continue;
                }
                if let (Some(store), Some(error)) = (&run.store, &run.error) {
                    assert!(matches!(error, Error::LogFailed { .. }), "{what}: {error:?}");
                    let again = store.table("more", IndexKind::Hash).expect_err("the log failed");
                    assert!(matches!(again, Error::LogFailed { .. }), "{what}: {again:?}");
                    assert!(matches!(store.flush(), Err(Error::LogFailed { .. })), "{what}");
                    assert!(store.stats().log_error.is_some());
                    let found = tables_of(store);
                    assert!(run.states[run.acknowledged..].contains(&found), "{what}: reads go on");
                }
                run.check(&run.disk.after_power_cut(), durability, run.promised, &what);
                // The process ends, and the next one believes nothing that a failed sync left in the system's memory.
                let killed = format!("{what}, killed");
                run.check(&run.disk.after_kill(), durability, run.promised, &killed);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn a_disk_full_from_any_step_on_parts_memory_and_file_never(actions in actions(25), seed in any::<u64>()) {
        let actions: Vec<_> = actions.into_iter().filter(|action| !matches!(action, Action::Reopen)).collect();
        for durability in [Durability::EverySec, Durability::Always] {
            let steps = Run::new(&actions, durability, None, seed).disk.steps();
            for step in 0..steps {
                let what = format!("{durability}, full from step {step} of {steps} on");
                let (disk, mut store) = (SimDisk::new(seed), None);
                disk.fail_after(step, Fault::Full);
                let log_error = |store: &Option<Store>| store.as_ref().and_then(|store| store.stats().log_error);
                for action in &actions {
                    let before = log_error(&store);
                    match perform(&mut store, &disk, durability, action) {
                        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::StorageFull => {
                            let Some(open) = &store else { continue };
                            let is_told = log_error(&store).is_some();
                            if matches!(action, Action::Compact) && before.is_none() {
                                // Mostly its own file has no room, of which the log knows nothing. But a compaction first writes
                                // what the log still has in its buffer. If that is refused, so is every write.
                                let written = if is_told { open.table("more", IndexKind::Hash).map(drop) } else { Ok(()) };
                                assert_eq!(is_told, written.is_err(), "{what}: {written:?}");
                            } else {
                                assert!(is_told, "{what}: {action:?}");
                            }
                        }
                        done => done.unwrap_or_else(|error| panic!("{what}: {action:?}: {error}")),
                    }
                }
                disk.mend();
                let Some(store) = store else { continue };
                store.flush().unwrap_or_else(|error| panic!("{what}: {error}"));
                let found = tables_of(&store);
                let kept = open(&disk.after_power_cut(), durability).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(tables_of(&kept), found, "{what}");
            }
        }
    }
}

// --- damage

/// A file whose log has been synced, with every kind of operation in it, and its state after each record.
fn file() -> (SimDisk, Vec<Tables>) {
    let actions = [
        Action::Write(0, (1, Some(1))),
        Action::Write(1, (1, Some(2))),
        Action::Compact,
        Action::Write(1, (2, Some(3))),
        Action::Tick,
        Action::Batch(vec![(0, (1, None)), (1, (3, Some(4)))]),
        Action::Increment(2, 1),
        Action::Drop(0),
        Action::Clear(1),
        Action::Tick,
        Action::Write(1, (5, Some(5))),
    ];
    let run = Run::new(&actions, Durability::EverySec, None, 1);
    assert!(run.error.is_none());
    (run.disk.after_kill(), run.states)
}

fn with_bytes(bytes: &[u8]) -> SimDisk {
    use crate::disk::Disk as _;
    let disk = SimDisk::new(0);
    let file = disk.create(Path::new("app.twx"), None).expect("the disk works");
    file.write_at(0, bytes).and_then(|()| file.sync()).expect("the disk works");
    disk
}

#[test]
fn every_flipped_bit_gives_a_promised_state_or_an_error() {
    let (disk, states) = file();
    let bytes = disk.bytes(&path());
    let least = states.len() - 3;
    let (mut refused, mut opened) = (0, 0);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let disk = with_bytes(&damaged);
        match open(&disk, Durability::EverySec) {
            Ok(store) => {
                let found = tables_of(&store);
                assert!(states[least..].contains(&found), "bit {bit}: {found:?}");
                opened += 1;
            }
            Err(Error::Damaged { .. }) => {
                assert_eq!(disk.bytes(&path()), damaged, "a file that is refused is left as it was");
                assert_eq!(disk.names(), [path()]);
                refused += 1;
            }
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
    assert!(refused > 0 && opened > 0, "{refused} refused, {opened} opened");
}

#[test]
fn a_record_that_was_written_meanwhile_is_not_torn() {
    use crate::disk::Disk as _;
    let (disk, _) = file();
    let file = disk.open(&path(), None).expect("the disk works");
    let bytes = disk.bytes(&path());
    let header = Header::decode(&bytes).expect("it is a store");
    let whole = bytes.iter().rposition(|byte| *byte != 0).expect("it is no empty file") as u64;
    let mut reader = LogReader::of_file(&*file, header.salt, whole, HEADER_BYTES as u64);
    while reader.record().expect("the disk works").is_some() {}
    assert!(reader.at() < whole, "the last record had not come to its end");
    assert_eq!(reader.torn(&|| false).expect("the disk works"), None);
}

#[test]
fn a_torn_end_is_reported_and_cut() {
    let (disk, _) = file();
    let mut bytes = disk.bytes(&path());
    let whole = bytes.iter().rposition(|byte| *byte != 0).expect("it is no empty file") + 1;
    bytes.truncate(whole);
    bytes[whole - 1] ^= 1;
    let disk = with_bytes(&bytes);
    let store = open(&disk, Durability::Always).expect("it is torn, not damaged");
    let torn = store.torn().expect("it is torn");
    assert_eq!(torn.offset + torn.bytes, whole as u64);
    assert_eq!(disk.bytes(&path()).len() as u64, torn.offset);
    drop(store);
    assert_eq!(open(&disk, Durability::Always).expect("it was cut").torn(), None);
}
