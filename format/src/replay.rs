//! Replaying a log in groups of operations, by several threads.
//!
//! Nobody sees a store before its whole log is replayed. So within a group only the last operation of each key counts.
//! The keys of a group are divided among threads, and each thread calls the engine's verbs for many pairs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::{io, mem, thread};

use foldhash::fast::FixedState;
use twindex::{IndexKind, Result, Table};

use crate::loader::Loader;
use crate::memory::{collected, room};
use crate::operation::{Operation, Position};
use crate::record::Kind;

/// More threads than this would wait for the one that reads.
const MOST_THREADS: usize = 4;

pub(crate) fn threads() -> usize {
    if ONE_BY_ONE { 1 } else { thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS) }
}

/// Without a system there is one thread, and the module should be small.
const ONE_BY_ONE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The limits of a group, and how it is divided among threads.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// A longer record is a group of its own, so that it is not copied.
    bytes: usize,
    operations: usize,
    threads: usize,
    /// If a group has fewer operations of a table, one thread applies them.
    divided: usize,
}

/// How much memory must be free below a store's limit for each byte of a group. With less, operations are applied one by
/// one: in another order, pairs that grow may come before pairs that shrink, and not fit until then.
const HEADROOM: usize = 16;
/// The first pair of a table takes more: up to half of this. So with a limit, the headroom bounds a group's operations too.
const FIRST_PAIR: usize = 2048;

impl Bounds {
    /// Whether a group with this payload fits the memory limit, whatever the order of its operations.
    fn have_headroom(self, loader: &Loader, payload: usize) -> bool {
        let store = loader.store();
        let needed = payload.max(self.bytes).saturating_mul(HEADROOM);
        store.memory_limit().is_none_or(|limit| limit.saturating_sub(store.memory()) >= needed)
    }
}

pub(crate) struct Replay<'l> {
    loader: &'l mut Loader,
    position: Position,
    bounds: Bounds,
    bytes: Vec<u8>,
    group: Group,
}

impl<'l> Replay<'l> {
    pub(crate) fn new(loader: &'l mut Loader) -> Self {
        // With bounds four times as large, replaying takes as long, and 80 MB.
        let bounds = Bounds { bytes: 4 << 20, operations: 1 << 17, threads: threads(), divided: 1 << 12 };
        Self::within(loader, bounds)
    }

    fn within(loader: &'l mut Loader, mut bounds: Bounds) -> Self {
        let position = loader.position();
        if loader.store().memory_limit().is_some() {
            bounds.operations = bounds.operations.min(bounds.bytes * HEADROOM / FIRST_PAIR);
        }
        Self { loader, position, bounds, bytes: Vec::new(), group: Group::default() }
    }

    /// Takes the next record, which is at `offset`. Returns how many operations it holds.
    pub(crate) fn record(&mut self, kind: Kind, offset: u64, payload: &[u8]) -> Result<u64> {
        if kind != Kind::Log {
            return self.loader.record(kind, offset, payload);
        }
        self.position = self.position.after(payload);
        if ONE_BY_ONE {
            return self.loader.record(kind, offset, payload);
        }
        if self.bytes.len() + payload.len() > self.bounds.bytes {
            self.apply()?;
        }
        if self.bytes.is_empty() && !self.bounds.have_headroom(self.loader, payload.len()) {
            return self.loader.record(kind, offset, payload);
        }
        let Self { loader, bounds, bytes, group, .. } = self;
        if payload.len() > bounds.bytes {
            let count = group.take(loader, *bounds, offset, payload, 0)?;
            group.apply(*bounds, payload)?;
            return Ok(count);
        }
        let from = bytes.len();
        bytes.try_reserve(payload.len()).map_err(io::Error::from)?;
        bytes.extend_from_slice(payload);
        group.take(loader, *bounds, offset, bytes, from)
    }

    /// Applies what was taken. Returns the position behind the last record.
    pub(crate) fn end(mut self) -> Result<Position> {
        self.apply()?;
        Ok(self.position)
    }

    fn apply(&mut self) -> Result<()> {
        self.group.apply(self.bounds, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// A put or a delete. Its key begins at `at` in the group's bytes; a put's value follows. `key` and `value` are lengths.
#[derive(Clone, Copy)]
struct Step {
    at: usize,
    value: u32,
    key: u16,
    is_put: bool,
}

impl Step {
    #[inline]
    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at..][..self.key.into()]
    }

    #[inline]
    fn pair(self, bytes: &[u8]) -> (&[u8], &[u8]) {
        (self.key(bytes), &bytes[self.at + usize::from(self.key)..][..self.value as usize])
    }
}

/// Puts and deletes that were not applied yet, by the id of their table. Those of a table are in the order of the log.
#[derive(Default)]
struct Group {
    tables: HashMap<u32, (Table, Vec<Step>), FixedState>,
    count: usize,
}

impl Group {
    /// Takes the operations of a record, which are all of `bytes` from `from` on. Returns how many there are.
    fn take(
        &mut self,
        loader: &mut Loader,
        bounds: Bounds,
        offset: u64,
        bytes: &[u8],
        from: usize,
    ) -> Result<u64> {
        let (mut rest, mut count) = (&bytes[from..], 0);
        while !rest.is_empty() {
            if self.count == 0 && !bounds.have_headroom(loader, rest.len()) {
                return Ok(count + loader.replay(offset, rest, rest.len() == bytes.len() - from)?);
            }
            let before = rest;
            let taken = Operation::take(&mut rest);
            let (id, key, value) = match taken {
                Some((id, Operation::Put(key, value))) if loader.find(id).is_some() => (id, key, Some(value)),
                Some((id, Operation::Delete(key))) if loader.find(id).is_some() => (id, key, None),
                // Any other operation, or an error in it, comes after all that was taken. So we apply that first.
                _ => {
                    self.apply(bounds, bytes)?;
                    let len = taken.map_or(before.len(), |_| before.len() - rest.len());
                    let begins = before.len() == bytes.len() - from;
                    count += loader.replay(offset, &before[..len], begins)?;
                    continue;
                }
            };
            let value_len = value.map_or(0, <[u8]>::len);
            let at = bytes.len() - rest.len() - value_len - key.len();
            // Nothing is cut off: in a log, lengths have no more bits than this.
            let step = Step { at, value: value_len as u32, key: key.len() as u16, is_put: value.is_some() };
            self.push(loader, id, step)?;
            count += 1;
            if self.count >= bounds.operations {
                self.apply(bounds, bytes)?;
            }
        }
        Ok(count)
    }

    fn push(&mut self, loader: &Loader, id: u32, step: Step) -> Result<()> {
        self.tables.try_reserve(1).map_err(io::Error::from)?;
        let (_, steps) = match self.tables.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let Some(table) = loader.find(id) else { return Ok(()) };
                entry.insert((table.clone(), Vec::new()))
            }
        };
        steps.try_reserve(1).map_err(io::Error::from)?;
        steps.push(step);
        self.count += 1;
        Ok(())
    }

    fn apply(&mut self, bounds: Bounds, bytes: &[u8]) -> Result<()> {
        self.count = 0;
        for (table, steps) in mem::take(&mut self.tables).into_values() {
            Steps::new(&table, bytes, &steps, bounds)?.apply()?;
        }
        Ok(())
    }
}

/// The steps of one table, divided by their keys.
struct Steps<'g> {
    table: &'g Table,
    bytes: &'g [u8],
    all: &'g [Step],
    /// Where the keys of a sorted table are divided. Each part but the first begins with one of these keys.
    borders: Vec<&'g [u8]>,
    parts: usize,
    /// Whether to sort the steps by key, and keep only the last step of each key.
    in_order: bool,
}

impl<'g> Steps<'g> {
    fn new(table: &'g Table, bytes: &'g [u8], steps: &'g [Step], bounds: Bounds) -> Result<Self> {
        let mut parts = if steps.len() < bounds.divided { 1 } else { bounds.threads };
        let mut borders = room(parts)?;
        let in_order = match table.index() {
            // Puts alone may stay in log order: the last one of a key wins. A mix may not: all deletes are done first.
            IndexKind::Hash => steps.iter().any(|step| step.is_put != steps[0].is_put),
            IndexKind::Sorted => !steps.is_sorted_by(|one, next| one.key(bytes) < next.key(bytes)),
        };
        if table.index() == IndexKind::Sorted && parts > 1 {
            let sample = sample(bytes, steps)?;
            // If all keys are behind the table's last one, one thread inserts them: leaves filled from one end are fuller.
            let is_behind = |last: &[u8]| sample.first().is_some_and(|first| last < *first);
            let last =
                table.cursor(..).ok().and_then(|mut cursor| Some(is_behind(cursor.scan_desc_next()?.0)));
            if in_order && last == Some(false) {
                borders.extend((1..parts).map(|part| sample[part * sample.len() / parts]));
            } else {
                parts = 1;
            }
        }
        Ok(Self { table, bytes, all: steps, borders, parts, in_order })
    }

    fn apply(&self) -> Result<()> {
        thread::scope(|scope| {
            let start =
                |part| (part, thread::Builder::new().spawn_scoped(scope, move || self.apply_part(part)));
            let others = collected((1..self.parts).map(start))?;
            let mut applied = self.apply_part(0);
            for (part, other) in others {
                let other = match other {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // The thread could not be started.
                    Err(_) => self.apply_part(part),
                };
                applied = applied.and(other);
            }
            applied
        })
    }

    fn apply_part(&self, part: usize) -> Result<()> {
        /// How many keys or pairs to hand to the engine at once.
        const AT_ONCE: usize = 4096;
        let bytes = self.bytes;
        let mut own = collected(self.all.iter().copied().filter(|step| self.part_of(*step) == part))?;
        if self.in_order {
            own = last_of_each(bytes, &own)?;
        }
        let deletes = collected(own.iter().filter(|step| !step.is_put).map(|step| step.key(bytes)))?;
        for group in deletes.chunks(AT_ONCE) {
            self.table.delete_many(group)?;
        }
        own.retain(|step| step.is_put);
        let mut took = room(own.len().min(AT_ONCE))?;
        for group in own.chunks(AT_ONCE) {
            let pairs = collected(group.iter().map(|step| step.pair(bytes)))?;
            took.clear();
            self.table.write_each(&pairs, &mut took, |_, _| true)?;
        }
        Ok(())
    }

    /// Which part a step belongs to.
    #[inline]
    fn part_of(&self, step: Step) -> usize {
        if self.parts == 1 {
            return 0;
        }
        let key = step.key(self.bytes);
        match self.table.index() {
            IndexKind::Hash => FixedState::default().hash_one(key) as usize % self.parts,
            IndexKind::Sorted => self.borders.partition_point(|border| *border <= key),
        }
    }
}

fn sample<'g>(bytes: &'g [u8], steps: &[Step]) -> Result<Vec<&'g [u8]>> {
    const SAMPLE: usize = 64;
    let some = steps.iter().step_by((steps.len() / SAMPLE).max(1));
    let mut sample = collected(some.map(|step| step.key(bytes)))?;
    sample.sort_unstable();
    Ok(sample)
}

/// The last step of each key, in the order of the keys.
fn last_of_each(bytes: &[u8], steps: &[Step]) -> Result<Vec<Step>> {
    let first = steps.first().map_or(&[][..], |step| step.key(bytes));
    let mut shared = first.len();
    for step in steps {
        let key = step.key(bytes);
        if !key.starts_with(&first[..shared]) {
            shared = first.iter().zip(key).take_while(|(one, other)| one == other).count();
        }
    }
    // Most keys differ in these eight bytes. We compare them at once, as a number that stands beside the others.
    let head = |step: &Step| {
        let rest = &step.key(bytes)[shared..];
        let mut head = [0; 8];
        let len = rest.len().min(8);
        head[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(head)
    };
    let key = |at: u32| steps[at as usize].key(bytes);
    let mut order: Vec<(u64, u32)> = collected(steps.iter().map(head).zip(0..))?;
    order.sort_unstable_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| key(one.1).cmp(key(other.1)).then(one.1.cmp(&other.1)))
    });
    order.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0 && key(next.1) == key(kept.1);
        if is_same {
            *kept = *next;
        }
        is_same
    });
    collected(order.into_iter().map(|(_, at)| steps[at as usize]))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use twindex::{Error, Store, TableOptions};

    use super::*;
    use crate::entry::TableEntry;
    use crate::operation::Operations;

    /// An operation of one of a few tables, by their ids.
    #[derive(Clone, Debug)]
    enum Made {
        Put(u32, Vec<u8>, Vec<u8>),
        Delete(u32, Vec<u8>),
        Create(u32),
        Drop(u32),
        Clear(u32),
        Position(u64),
        /// A byte that begins no operation.
        Damage,
    }

    fn made() -> impl Strategy<Value = Made> {
        // There are few keys. Some begin with another key, and some with the same eight bytes.
        let key = || {
            let start = prop_oneof![Just(&b""[..]), Just(&b"\0"[..]), Just(&b"the same eight bytes"[..])];
            (start, vec(0..3_u8, 0..3)).prop_map(|(start, end)| [start, &end].concat())
        };
        let id = || prop_oneof![20 => 0..4_u32, 1 => 30..33_u32];
        let value = vec(any::<u8>(), 0..40);
        prop_oneof![
            60 => (id(), key(), value).prop_map(|(id, key, value)| Made::Put(id, key, value)),
            30 => (id(), key()).prop_map(|(id, key)| Made::Delete(id, key)),
            2 => id().prop_map(Made::Create),
            1 => id().prop_map(Made::Drop),
            2 => id().prop_map(Made::Clear),
            1 => any::<u64>().prop_map(Made::Position),
            1 => Just(Made::Damage),
        ]
    }

    fn payload(record: &[Made]) -> Vec<u8> {
        let mut operations = Operations::default();
        let mut bytes = Vec::new();
        for made in record {
            let name = |id: &u32| format!("table {id}");
            match made {
                Made::Put(id, key, value) => operations.push(*id, Operation::Put(key, value)),
                Made::Delete(id, key) => operations.push(*id, Operation::Delete(key)),
                Made::Create(id) => {
                    let index = if id % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted };
                    let entry = TableEntry::new(&name(id), TableOptions::new(index)).name.to_owned();
                    operations
                        .push(*id, Operation::Create(TableEntry::new(&entry, TableOptions::new(index))));
                }
                Made::Drop(id) => operations.push(*id, Operation::Drop),
                Made::Clear(id) => operations.push(*id, Operation::Clear),
                Made::Position(sequence) => {
                    operations.push(0, Operation::Position(Position { session: 7, sequence: *sequence }));
                }
                Made::Damage => {
                    bytes.extend_from_slice(operations.payload());
                    bytes.push(0xff);
                    operations = Operations::default();
                }
            }
        }
        bytes.extend_from_slice(operations.payload());
        bytes
    }

    /// A store with a table of each index, and for each record how many operations were done, or what was wrong.
    type Replayed = (Loader, Vec<std::result::Result<u64, String>>, Position);

    fn loader(limit: Option<usize>) -> Loader {
        let store = Store::new();
        store.set_memory_limit(limit);
        let mut loader = Loader::new(store);
        let first = [Made::Create(0), Made::Create(1)];
        loader.record(Kind::Log, 0, &payload(&first)).unwrap();
        loader
    }

    fn one_by_one(records: &[Vec<Made>]) -> Replayed {
        let mut loader = loader(None);
        let mut told = Vec::new();
        for (record, offset) in records.iter().zip(10..) {
            told.push(loader.record(Kind::Log, offset, &payload(record)).map_err(|error| error.to_string()));
            if told.last().is_some_and(std::result::Result::is_err) {
                break;
            }
        }
        let position = loader.position();
        (loader, told, position)
    }

    fn in_groups(records: &[Vec<Made>], bounds: Bounds, limit: Option<usize>) -> Replayed {
        let mut loader = loader(limit);
        let mut told = Vec::new();
        let mut replay = Replay::within(&mut loader, bounds);
        for (record, offset) in records.iter().zip(10..) {
            told.push(replay.record(Kind::Log, offset, &payload(record)).map_err(|error| error.to_string()));
            if told.last().is_some_and(std::result::Result::is_err) {
                break;
            }
        }
        let position = replay.end().unwrap();
        (loader, told, position)
    }

    type Shown = (u32, String, Vec<(Vec<u8>, Vec<u8>)>);

    fn shown(loader: &Loader) -> Vec<Shown> {
        loader
            .tables()
            .map(|(id, table)| {
                let mut pairs: Vec<_> = table.iter().collect();
                pairs.sort();
                (id, table.name().to_owned(), pairs)
            })
            .collect()
    }

    proptest! {
        /// Groups of any size give the same store as single operations, and find the same damage at the same place.
        #[test]
        fn groups_are_as_good_as_one_after_the_other(
            records in vec(vec(made(), 0..12), 0..40),
            bytes in prop_oneof![0..400_usize, Just(1 << 20)],
            operations in prop_oneof![1..40_usize, Just(1 << 20)],
            threads in 1..4_usize,
            divided in 0..30_usize,
            limit in prop_oneof![Just(None), (20_usize..30).prop_map(|bits| Some(1 << bits))],
        ) {
            let bounds = Bounds { bytes, operations, threads, divided };
            let (expected, found) = (one_by_one(&records), in_groups(&records, bounds, limit));
            prop_assert_eq!(&found.1, &expected.1);
            prop_assert_eq!(shown(&found.0), shown(&expected.0));
            if expected.1.iter().all(std::result::Result::is_ok) {
                prop_assert_eq!(found.2, expected.2);
            }
        }
    }

    #[test]
    fn within_a_limit_the_order_of_the_log_is_kept() {
        const BIG: usize = 1 << 20;
        let put = |key: u8, len: usize| Made::Put(1, vec![key], vec![7; len]);
        let fill = [put(9, BIG), put(8, BIG)];
        // The keys that grow come first in the order of keys.
        let records: Vec<Vec<Made>> = (0..20)
            .map(
                |turn| {
                    if turn % 2 == 0 { vec![put(9, 1), put(1, BIG)] } else { vec![put(1, 1), put(9, BIG)] }
                },
            )
            .collect();
        let mut loader = loader(None);
        let store = loader.store().clone();
        loader.record(Kind::Log, 5, &payload(&fill)).unwrap();
        store.set_memory_limit(Some(store.memory() + BIG / 2));
        let mut replay = Replay::new(&mut loader);
        for (record, offset) in records.iter().zip(10..) {
            assert_eq!(replay.record(Kind::Log, offset, &payload(record)).unwrap(), 2);
        }
        replay.end().unwrap();
        // What does not fit in any order is refused.
        let mut replay = Replay::new(&mut loader);
        let refused = replay.record(Kind::Log, 99, &payload(&[put(1, BIG), put(2, BIG), put(3, BIG)]));
        assert!(matches!(refused, Err(Error::MemoryLimit { .. })), "{refused:?}");
    }

    #[test]
    fn within_a_limit_first_pairs_of_many_tables_wait_for_deletes() {
        const TABLES: u32 = 2_000;
        const LAST: u32 = TABLES * 2;
        // These bounds are a 128th of the real ones.
        let bounds = Bounds { bytes: 64 << 10, operations: 1 << 18, threads: 2, divided: 1 << 12 };
        let fill = |loader: &mut Loader| {
            let tables: Vec<_> = (1..=TABLES).map(|id| Made::Create(id * 2)).collect();
            loader.record(Kind::Log, 1, &payload(&tables)).unwrap();
            let large = Made::Put(LAST, b"large".to_vec(), vec![7; 3 << 20]);
            loader.record(Kind::Log, 2, &payload(&[large])).unwrap();
        };
        let mut record = vec![Made::Delete(LAST, b"large".to_vec())];
        record.extend((1..TABLES).map(|id| Made::Put(id * 2, Vec::new(), Vec::new())));
        let mut in_turn = loader(None);
        fill(&mut in_turn);
        let most = in_turn.store().memory();
        in_turn.record(Kind::Log, 10, &payload(&record)).unwrap();
        let most = most.max(in_turn.store().memory());
        for spare in (0..40).map(|spare| spare << 17) {
            for in_one_record in [true, false] {
                let mut loader = loader(None);
                fill(&mut loader);
                loader.store().set_memory_limit(Some(most + spare));
                let mut replay = Replay::within(&mut loader, bounds);
                let records = if in_one_record { record.chunks(record.len()) } else { record.chunks(1) };
                for (part, offset) in records.zip(10..) {
                    let done =
                        replay.record(Kind::Log, offset, &payload(part)).map_err(|error| error.to_string());
                    assert_eq!(done, Ok(part.len() as u64), "{spare} bytes to spare");
                }
                replay.end().unwrap();
                assert_eq!(shown(&loader), shown(&in_turn));
            }
        }
    }
}
