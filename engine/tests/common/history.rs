//! Histories of operations, run on a table and on a `BTreeMap` at once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{Bound, RangeBounds};

use crate::sound::assert_sound;
use twindex::{Change, Cursor, IndexKind, MAX_KEY_BYTES, Scan, Store, Table, Write};
use twindex_format::Dump;

/// Bytes that print short.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(40)];
        let rest = self.0.len() - shown.len();
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if rest > 0 { write!(f, " and {rest} more") } else { Ok(()) }
    }
}

pub(crate) type Range = (Bound<Bytes>, Bound<Bytes>);
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// What `compare_and_swap` expects.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    Absent,
    Value(Bytes),
    /// What the key has just before the call.
    Current,
}

/// What `alter` does.
#[derive(Clone, Debug)]
pub(crate) enum Alteration {
    Keep,
    Delete,
    Set(Bytes),
    Append(Bytes),
}

impl Alteration {
    fn apply(&self, old: Option<&[u8]>) -> Change {
        match self {
            Self::Keep => Change::Keep,
            Self::Delete => Change::Delete,
            Self::Set(value) => Change::Set(value.0.clone()),
            Self::Append(more) => Change::Set([old.unwrap_or_default(), &more.0].concat()),
        }
    }
}

/// A verb, over a list of what it is done to.
#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Insert(Vec<(Bytes, Bytes)>),
    Replace(Vec<(Bytes, Bytes)>),
    Upsert(Vec<(Bytes, Bytes)>),
    Delete(Vec<Bytes>),
    Alter(Vec<(Bytes, Alteration)>),
    Increment(Vec<(Bytes, i64)>),
    CompareAndSwap(Vec<(Bytes, Expected, Option<Bytes>)>),
    Select(Vec<Bytes>),
    Contains(Vec<Bytes>),
}

/// Up or down through the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Asc,
    Desc,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// The verb one by one.
    Each(Verb),
    /// The verb's `_many` form.
    Many(Verb),
    Clear,
    Iter,
    /// A scan from both ends as told, then upwards through what is left.
    Scan(Range, Vec<Way>),
    Prefix(Bytes, Vec<Way>),
    OpenCursor(usize, Range),
    CloneCursor(usize, usize),
    MoveCursor(usize, Way),
    MoveCursorMany(usize, Way, usize),
    /// Up to so many pairs, into so many bytes.
    PackCursor(usize, Way, usize, usize),
    /// To the pair that it is on.
    GoBack(usize),
    /// The cursor's whole range, as an iterator.
    IterateCursor(usize),
    /// A scan that stays open over the operations that follow.
    OpenScan(usize, Range),
    MoveScan(usize, Way),
    Reload,
}

/// The slots that cursors and open scans are kept in.
pub(crate) const SLOTS: usize = 3;

#[derive(Debug, PartialEq)]
enum Outcome {
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Values(Vec<Option<Bytes>>),
}

/// Outcomes of errors are compared by their codes.
type Fallible<T> = Result<T, &'static str>;

/// A table beside a model of it, or of its keys that start with `own` where others use it too.
pub(crate) struct Checked {
    store: Store,
    table: Table,
    own: Vec<u8>,
    /// What the store counts for the table itself.
    base: usize,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    cursors: HashMap<usize, CheckedCursor>,
    scans: HashMap<usize, CheckedScan>,
}

#[derive(Clone)]
struct CheckedCursor {
    cursor: Cursor,
    range: Range,
    on: Option<Vec<u8>>,
    /// What was packed in its last move: in which direction, from where, and the pairs.
    packed: Option<(Way, Option<Vec<u8>>, Vec<Pair>)>,
}

/// An open scan may copy pairs ahead, so of a pair that changed since it was opened it may give any state,
/// or none. What did not change must come, in its place.
struct CheckedScan {
    scan: Scan,
    left: Range,
    unchanged: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Every state of those that changed.
    written: Vec<Pair>,
}

impl Checked {
    pub(crate) fn new(store: Store, table: Table, own: &[u8]) -> Self {
        let (model, cursors, scans) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        let base = store.memory() - table.memory();
        Self { store, table, own: own.to_vec(), base, model, cursors, scans }
    }

    pub(crate) fn run(&mut self, op: &Op) {
        match op {
            Op::Each(verb) => self.run_verb(verb, false),
            Op::Many(verb) => self.run_verb(verb, true),
            Op::Clear => self.clear(),
            Op::Iter => self.check_iter(),
            Op::Reload => self.reload(),
            _ if self.table.index() == IndexKind::Hash => self.check_order_is_refused(op),
            Op::Scan(range, ways) => {
                let scan = self.table.scan(borrowed(range)).unwrap();
                self.check_scan(scan, range, ways);
            }
            Op::Prefix(prefix, ways) => self.check_prefix(prefix, ways),
            Op::OpenCursor(slot, range) => {
                let cursor = self.table.cursor(borrowed(range)).unwrap();
                let checked = CheckedCursor { cursor, range: range.clone(), on: None, packed: None };
                self.cursors.insert(*slot, checked);
            }
            Op::CloneCursor(from, to) => {
                if let Some(cursor) = self.cursors.get(from).cloned() {
                    self.cursors.insert(*to, cursor);
                }
            }
            Op::MoveCursor(slot, way) => self.move_cursor(*slot, *way),
            Op::MoveCursorMany(slot, way, limit) => self.move_cursor_many(*slot, *way, *limit),
            Op::PackCursor(slot, way, limit, room) => self.pack_cursor(*slot, *way, *limit, *room),
            Op::GoBack(slot) => {
                if let Some(CheckedCursor { cursor, on: Some(on), packed, .. }) = self.cursors.get_mut(slot) {
                    cursor.go_back(on.as_slice());
                    *packed = None;
                }
            }
            Op::IterateCursor(slot) => self.iterate_cursor(*slot),
            Op::OpenScan(slot, range) => self.open_scan(*slot, range),
            Op::MoveScan(slot, way) => self.move_scan(*slot, *way),
        }
        self.cursors.values().for_each(|checked| checked.check_packed(&self.model));
        if self.own.is_empty() {
            assert_eq!(self.table.len(), self.model.len());
            assert_eq!(self.table.is_empty(), self.model.is_empty());
            assert_sound(&self.table);
            // A cursor may hold a large value that the table has no more.
            let idle = self.cursors.is_empty() && self.scans.is_empty();
            let held = || {
                let own = self.table.memory();
                self.store.memory() - own - self.base
            };
            // A thread of another test may be pinned for a moment, which keeps an old index in memory.
            let mut turns = 0..2000;
            while idle && held() > 0 && turns.next().is_some() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert!(held() == 0 || !idle, "the store counts {} bytes more than its table holds", held());
        }
    }

    /// Compares all pairs, in every way of reading them.
    fn check_all(&self) {
        self.check_iter();
        for (key, value) in &self.model {
            assert!(self.table.contains(key));
            assert_eq!(
                self.table.select_with(key, |found| found == value),
                Some(true),
                "{}",
                key.escape_ascii()
            );
        }
        let keys: Vec<_> = self.model.keys().collect();
        let mut seen = 0;
        self.table.select_many(&keys, |position, value| {
            assert_eq!(value, self.model.get(keys[position]).map(Vec::as_slice));
            seen += 1;
        });
        assert_eq!(seen, keys.len());
        if self.table.index() == IndexKind::Sorted {
            let up: Vec<_> = self.table.prefix(&self.own).unwrap().collect();
            assert!(up.iter().map(|(key, value)| (key, value)).eq(&self.model));
            let down: Vec<_> = self.table.prefix(&self.own).unwrap().rev().collect();
            assert!(down.iter().rev().eq(&up));
        }
    }

    /// Compares all pairs, and gives what the keys have in the end.
    pub(crate) fn finish(self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.check_all();
        self.model
    }

    // --- verbs

    fn run_verb(&mut self, verb: &Verb, many: bool) {
        let verb = self.resolve(verb);
        let found = if many { do_many(&self.table, &verb) } else { do_each(&self.table, &verb) };
        let expected = self.predict(&verb, many);
        assert_eq!(found.map_err(|error| error.code()), expected, "{verb:?}");
    }

    /// Puts what the keys have in the place of `Expected::Current`.
    fn resolve(&self, verb: &Verb) -> Verb {
        let Verb::CompareAndSwap(swaps) = verb else { return verb.clone() };
        let resolved = swaps.iter().cloned().map(|(key, expected, new)| match expected {
            Expected::Current => {
                let current = self.model.get(&key.0).map(|value| Expected::Value(Bytes(value.clone())));
                (key, current.unwrap_or(Expected::Absent), new)
            }
            _ => (key, expected, new),
        });
        Verb::CompareAndSwap(resolved.collect())
    }

    fn predict(&mut self, verb: &Verb, many: bool) -> Fallible<Outcome> {
        if many && verb.write_keys().any(|key| key.0.len() > MAX_KEY_BYTES) {
            return Err("TWINDEX_KEY_TOO_LONG");
        }
        let set = |value: &Bytes| Change::Set(value.0.clone());
        Ok(match verb {
            Verb::Insert(pairs) => self.predict_each(pairs, |(key, value)| {
                (key, Box::new(move |old| if old.is_none() { set(value) } else { Change::Keep }))
            })?,
            Verb::Replace(pairs) => self.predict_each(pairs, |(key, value)| {
                (key, Box::new(move |old| if old.is_some() { set(value) } else { Change::Keep }))
            })?,
            Verb::Upsert(pairs) => {
                self.predict_each(pairs, |(key, value)| (key, Box::new(move |_| set(value))))?
            }
            Verb::Delete(keys) => self.predict_each(keys, |key| (key, Box::new(|_| Change::Delete)))?,
            Verb::Alter(keys) => self
                .predict_each(keys, |(key, alteration)| (key, Box::new(move |old| alteration.apply(old))))?,
            Verb::Increment(amounts) => {
                let sums = amounts.iter().map(|(key, by)| self.predict_increment(key, *by));
                Outcome::Ints(sums.collect::<Fallible<_>>()?)
            }
            Verb::CompareAndSwap(swaps) => {
                let swaps = swaps.iter().map(|(key, expected, new)| {
                    check_key(key)?;
                    let matched = self.model.get(&key.0).map(Vec::as_slice) == expected.as_option();
                    if matched {
                        self.predict_change(key, |_| new.as_ref().map_or(Change::Delete, set))?;
                    }
                    Ok(matched)
                });
                Outcome::Bools(swaps.collect::<Fallible<_>>()?)
            }
            Verb::Select(keys) => {
                Outcome::Values(keys.iter().map(|key| self.model.get(&key.0).cloned().map(Bytes)).collect())
            }
            Verb::Contains(keys) => {
                Outcome::Bools(keys.iter().map(|key| self.model.contains_key(&key.0)).collect())
            }
        })
    }

    fn predict_each<'a, T>(
        &mut self,
        items: &'a [T],
        split: impl Fn(&'a T) -> Predicted<'a>,
    ) -> Fallible<Outcome> {
        let effects = items.iter().map(split).map(|(key, change)| self.predict_change(key, change));
        Ok(Outcome::Bools(effects.collect::<Fallible<_>>()?))
    }

    fn predict_increment(&mut self, key: &Bytes, by: i64) -> Fallible<i64> {
        check_key(key)?;
        let value = match self.model.get(&key.0) {
            None => 0,
            Some(text) => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or("TWINDEX_NOT_AN_INTEGER")?,
        };
        let sum = value.checked_add(by).ok_or("TWINDEX_OVERFLOW")?;
        self.predict_change(key, |_| Change::Set(sum.to_string().into_bytes()))?;
        Ok(sum)
    }

    fn predict_change(
        &mut self,
        key: &Bytes,
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Fallible<bool> {
        check_key(key)?;
        let effect = match change(self.model.get(&key.0).map(Vec::as_slice)) {
            Change::Keep => false,
            Change::Delete => self.model.remove(&key.0).is_some(),
            Change::Set(value) => {
                for scan in self.scans.values_mut() {
                    scan.written.push((key.0.clone(), value.clone()));
                }
                self.model.insert(key.0.clone(), value);
                true
            }
        };
        if effect {
            self.scans.values_mut().for_each(|scan| scan.written.extend(scan.unchanged.remove_entry(&key.0)));
        }
        Ok(effect)
    }

    fn clear(&mut self) {
        self.table.clear().expect("the table is there");
        self.model.clear();
        for scan in self.scans.values_mut() {
            scan.written.extend(std::mem::take(&mut scan.unchanged));
        }
    }

    fn reload(&mut self) {
        let mut dump = Vec::new();
        self.store.dump(&mut dump).expect("memory takes any dump");
        let loaded = Store::load(&mut dump.as_slice()).expect("a dump loads");
        self.table = loaded.table("t", self.table.index()).expect("the table has kept its index");
        self.store = loaded;
        self.cursors.clear();
        self.scans.clear();
        self.check_all();
    }

    // --- reading many

    fn check_iter(&self) {
        let mut pairs: Vec<_> = self.table.iter().filter(|(key, _)| key.starts_with(&self.own)).collect();
        if self.table.index() == IndexKind::Hash {
            pairs.sort();
        }
        assert!(pairs.iter().map(|(key, value)| (key, value)).eq(&self.model));
    }

    fn check_order_is_refused(&self, op: &Op) {
        let error = self.table.cursor(..).expect_err("a hash table has no order");
        assert_eq!(error.code(), "TWINDEX_WRONG_INDEX", "{op:?}");
    }

    fn in_range(&self, range: &Range) -> Vec<Pair> {
        let inside = self.model.iter().filter(|(key, _)| borrowed(range).contains(&key.as_slice()));
        inside.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn check_scan(&self, mut scan: Scan, range: &Range, ways: &[Way]) {
        let mut expected = self.in_range(range).into_iter();
        for way in ways {
            match way {
                Way::Asc => assert_eq!(scan.next(), expected.next(), "{range:?}"),
                Way::Desc => assert_eq!(scan.next_back(), expected.next_back(), "{range:?}"),
            }
        }
        assert!(scan.eq(expected), "{range:?}");
    }

    fn check_prefix(&self, prefix: &Bytes, ways: &[Way]) {
        let mut scan = self.table.prefix(prefix).unwrap();
        let starting = self.model.iter().filter(|(key, _)| key.starts_with(&prefix.0));
        let mut expected =
            starting.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>().into_iter();
        for way in ways {
            match way {
                Way::Asc => assert_eq!(scan.next(), expected.next(), "{prefix:?}"),
                Way::Desc => assert_eq!(scan.next_back(), expected.next_back(), "{prefix:?}"),
            }
        }
        assert!(scan.rev().eq(expected.rev()), "{prefix:?}");
    }

    // --- cursors

    fn move_cursor(&mut self, slot: usize, way: Way) {
        let Some(checked) = self.cursors.get_mut(&slot) else { return };
        let expected = checked.predict(&self.model, way);
        let found = match way {
            Way::Asc => checked.cursor.scan_asc_next(),
            Way::Desc => checked.cursor.scan_desc_next(),
        };
        assert_eq!(found.map(|(key, value)| (key.to_vec(), value.to_vec())), expected);
    }

    fn move_cursor_many(&mut self, slot: usize, way: Way, limit: usize) {
        let Some(checked) = self.cursors.get_mut(&slot) else { return };
        let mut found = Vec::new();
        let read = |key: &[u8], value: &[u8]| found.push((key.to_vec(), value.to_vec()));
        let count = match way {
            Way::Asc => checked.cursor.scan_asc_next_many(limit, read),
            Way::Desc => checked.cursor.scan_desc_next_many(limit, read),
        };
        assert_eq!(count, found.len());
        let expected: Vec<_> = (0..limit).map_while(|_| checked.predict(&self.model, way)).collect();
        assert_eq!(found, expected);
    }

    /// A pair is the length of its key, that of its value, and both.
    fn pack_cursor(&mut self, slot: usize, way: Way, limit: usize, room: usize) {
        let Some(checked) = self.cursors.get_mut(&slot) else { return };
        let mut packed = Vec::with_capacity(room);
        let (room, from) = (packed.capacity(), checked.on.clone());
        let count = checked.cursor.pack(way == Way::Desc, limit, usize::MAX, &mut packed);
        assert!(count <= limit && packed.capacity() == room);
        let (mut rest, mut pairs) = (packed.as_slice(), Vec::new());
        let mut take = |len: usize| rest.split_off(..len).expect("there are so many").to_vec();
        for _ in 0..count {
            let lengths = [(); 2].map(|()| u32::from_ne_bytes(take(4).try_into().expect("there are four")));
            let [key, value] = lengths.map(|len| take(len as usize));
            pairs.push((key, value));
        }
        assert!(rest.is_empty());
        let expected: Vec<_> = (0..count).map_while(|_| checked.predict(&self.model, way)).collect();
        assert_eq!(pairs, expected);
        checked.packed = Some((way, from, pairs));
    }

    fn iterate_cursor(&mut self, slot: usize) {
        if let Some(CheckedCursor { cursor, range, on, .. }) = self.cursors.remove(&slot) {
            let left = (on.map_or(range.0, |on| Bound::Excluded(Bytes(on))), range.1);
            self.check_scan(cursor.into_iter(), &left, &[]);
        }
    }

    // --- open scans

    fn open_scan(&mut self, slot: usize, range: &Range) {
        let scan = self.table.scan(borrowed(range)).unwrap();
        let unchanged = self.model.clone();
        let checked = CheckedScan { scan, left: range.clone(), unchanged, written: Vec::new() };
        self.scans.insert(slot, checked);
    }

    fn move_scan(&mut self, slot: usize, way: Way) {
        let Some(checked) = self.scans.get_mut(&slot) else { return };
        if !checked.check_next(way) {
            self.scans.remove(&slot);
        }
    }
}

impl CheckedCursor {
    /// The next pair by the model, to which the model's cursor moves.
    fn predict(&mut self, model: &BTreeMap<Vec<u8>, Vec<u8>>, way: Way) -> Option<Pair> {
        self.packed = None;
        let next = self.next_after(self.on.as_ref(), model, way)?;
        self.on = Some(next.0.clone());
        Some(next)
    }

    fn next_after(&self, on: Option<&Vec<u8>>, model: &BTreeMap<Vec<u8>, Vec<u8>>, way: Way) -> Option<Pair> {
        let range = borrowed(&self.range);
        let mut inside = model.iter().filter(|(key, _)| range.contains(&key.as_slice()));
        let next = match way {
            Way::Asc => inside.find(|(key, _)| on.is_none_or(|on| *key > on)),
            Way::Desc => inside.rfind(|(key, _)| on.is_none_or(|on| *key < on)),
        };
        next.map(|(key, value)| (key.clone(), value.clone()))
    }

    /// As long as the cursor says so, what was packed is still what comes there.
    fn check_packed(&self, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        if let Some((way, from, pairs)) = &self.packed
            && self.cursor.is_unchanged(*way == Way::Desc)
        {
            let mut on = from.as_ref();
            for pair in pairs {
                assert_eq!(self.next_after(on, model, *way).as_ref(), Some(pair), "not as it was packed");
                on = Some(&pair.0);
            }
        }
    }
}

impl CheckedScan {
    /// Moves the scan; whether it gave a pair.
    fn check_next(&mut self, way: Way) -> bool {
        let range = borrowed(&self.left);
        let mut due = self.unchanged.keys().filter(|key| range.contains(&key.as_slice()));
        let (found, due) = match way {
            Way::Asc => (self.scan.next(), due.next()),
            Way::Desc => (self.scan.next_back(), due.next_back()),
        };
        let Some((key, value)) = found else {
            assert_eq!(due, None, "the scan ended before an unchanged pair");
            return false;
        };
        assert!(range.contains(&key.as_slice()), "the scan left its range, or gave a key again");
        let skipped = due.is_some_and(|due| if way == Way::Asc { *due < key } else { *due > key });
        assert!(!skipped, "the scan skipped an unchanged pair");
        let pair = (key, value);
        match self.unchanged.get(&pair.0) {
            Some(unchanged) => assert_eq!(*unchanged, pair.1),
            None => assert!(self.written.contains(&pair), "the scan gave a pair that never was"),
        }
        let key = pair.0;
        match way {
            Way::Asc => self.left.0 = Bound::Excluded(Bytes(key)),
            Way::Desc => self.left.1 = Bound::Excluded(Bytes(key)),
        }
        true
    }
}

impl Expected {
    fn as_option(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => None,
            Self::Value(value) => Some(&value.0),
            Self::Current => panic!("this is resolved before the verb runs"),
        }
    }
}

impl Verb {
    /// The keys that a `_many` form checks first; reading checks none.
    fn write_keys(&self) -> Box<dyn Iterator<Item = &Bytes> + '_> {
        match self {
            Self::Insert(pairs) | Self::Replace(pairs) | Self::Upsert(pairs) => {
                Box::new(pairs.iter().map(|(key, _)| key))
            }
            Self::Delete(keys) => Box::new(keys.iter()),
            Self::Alter(keys) => Box::new(keys.iter().map(|(key, _)| key)),
            Self::Increment(amounts) => Box::new(amounts.iter().map(|(key, _)| key)),
            Self::CompareAndSwap(swaps) => Box::new(swaps.iter().map(|(key, _, _)| key)),
            Self::Select(_) | Self::Contains(_) => Box::new(std::iter::empty()),
        }
    }
}

fn do_each(table: &Table, verb: &Verb) -> twindex::Result<Outcome> {
    Ok(match verb {
        Verb::Insert(pairs) => bools(pairs, |(key, value)| table.insert(key, value))?,
        Verb::Replace(pairs) => bools(pairs, |(key, value)| table.replace(key, value))?,
        Verb::Upsert(pairs) => bools(pairs, |(key, value)| table.write(Write::Upsert, key, value))?,
        Verb::Delete(keys) => bools(keys, |key| table.delete(key))?,
        Verb::Alter(keys) => bools(keys, |(key, alteration)| table.alter(key, |old| alteration.apply(old)))?,
        Verb::Increment(amounts) => {
            let sums = amounts.iter().map(|(key, by)| table.increment(key, *by));
            Outcome::Ints(sums.collect::<twindex::Result<_>>()?)
        }
        Verb::CompareAndSwap(swaps) => bools(swaps, |(key, expected, new)| {
            table.compare_and_swap(key, expected.as_option(), new.as_ref().map(AsRef::as_ref))
        })?,
        Verb::Select(keys) => Outcome::Values(keys.iter().map(|key| table.select(key).map(Bytes)).collect()),
        Verb::Contains(keys) => Outcome::Bools(keys.iter().map(|key| table.contains(key)).collect()),
    })
}

fn bools<T>(items: &[T], verb: impl FnMut(&T) -> twindex::Result<bool>) -> twindex::Result<Outcome> {
    Ok(Outcome::Bools(items.iter().map(verb).collect::<twindex::Result<_>>()?))
}

fn do_many(table: &Table, verb: &Verb) -> twindex::Result<Outcome> {
    Ok(match verb {
        Verb::Insert(pairs) => Outcome::Bools(table.insert_many(pairs)?),
        Verb::Replace(pairs) => Outcome::Bools(table.replace_many(pairs)?),
        Verb::Upsert(pairs) => Outcome::Bools(table.write_many(Write::Upsert, pairs)?),
        Verb::Delete(keys) => Outcome::Bools(table.delete_many(keys)?),
        Verb::Alter(keys) => {
            let (keys, alterations): (Vec<_>, Vec<_>) =
                keys.iter().map(|(key, alteration)| (key, alteration)).unzip();
            Outcome::Bools(table.alter_many(&keys, |position, old| alterations[position].apply(old))?)
        }
        Verb::Increment(amounts) => Outcome::Ints(table.increment_many(amounts)?),
        Verb::CompareAndSwap(swaps) => {
            let swaps: Vec<_> = swaps
                .iter()
                .map(|(key, expected, new)| (key, expected.as_option(), new.as_ref().map(AsRef::as_ref)))
                .collect();
            Outcome::Bools(table.compare_and_swap_many(&swaps)?)
        }
        Verb::Select(keys) => {
            let mut values = Vec::new();
            table.select_many(keys, |position, value| {
                assert_eq!(position, values.len(), "the positions come in order");
                values.push(value.map(|value| Bytes(value.to_vec())));
            });
            Outcome::Values(values)
        }
        Verb::Contains(keys) => Outcome::Bools(table.contains_many(keys)),
    })
}

type Predicted<'a> = (&'a Bytes, Box<dyn FnOnce(Option<&[u8]>) -> Change + 'a>);

fn check_key(key: &Bytes) -> Fallible<()> {
    if key.0.len() > MAX_KEY_BYTES { Err("TWINDEX_KEY_TOO_LONG") } else { Ok(()) }
}

fn borrowed(range: &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (range.0.as_ref().map(AsRef::as_ref), range.1.as_ref().map(AsRef::as_ref))
}
