//! The verbs of tables and caches. JavaScript finds those of tables in `native.table`, of tables whose pairs expire in
//! `native.expiring`, of tables in transactions in `native.joined`, and of caches in `native.cache`. Their first argument is the number of a table or cache. Where pairs expire,
//! writes have a time to live behind the value, in milliseconds: `undefined` for that of the cache, `Infinity` for ever.
//!
//! A verb on many pairs is `begin`, then `stage` as often as it takes, then the verb, which works on what was staged. So all
//! arguments are converted and checked before the first write.

use twindex::{IndexKind, TableOptions};
use twindex_durable::{AnyTable, Store};

use super::{changes, free, keyed, scan};
use crate::cached::{Ttl, duration};
use crate::call::{Call, Native};
use crate::crossing::Region;
use crate::encoding::{BLOCK_ITEMS, Column, Encoding, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::pairs::{DELETE, INSERT, Pairs, REPLACE, Tabular, Timed, UPSERT, Verbs};
use crate::results::{More, Results, optional, single};
use crate::staged::Staged;
use crate::state::{Of, Parts, State};
use crate::table::{Expiring, Table};

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `openTable(store, name, index, keys, values, default, create, expires)`: the number of a table, and what `tell` leaves. What is
    // `undefined` a table that is there keeps, and a new one has a hash index and the codec `default`.
    ("open_table", |call, state| {
        let (wanted, default, owner) = (Wanted::read(call)?, call.string(5)?, call.number(0));
        let expires = (!call.js.is_nothing(call.argument(7))).then(|| call.flag(7));
        let table = wanted.open(state.store(owner)?, &default, call.flag(6), expires)?;
        tell_any(&table, &mut state.results);
        call.give(match table {
            AnyTable::Plain(table) => state.add(owner, Encodings::default(), Table::from(table)),
            AnyTable::Expiring(table) => state.add(owner, Encodings::default(), Expiring::from(table)),
        }?)
    }),
    // `stage(bytes, ...items)`: an item that is bytes is passed as its length, and `bytes` has them one after the other.
    ("stage", |call, state| {
        let mut room = [Value::UNDEFINED; 1 + BLOCK_ITEMS];
        let [bytes, items @ ..] = call.all(&mut room) else { return Ok(Value::UNDEFINED) };
        let bytes = call.js.get_bytes(*bytes).unwrap_or_default();
        // Only what is whole comes back.
        let mut staged = std::mem::take(&mut state.staged);
        staged.add(call.js, &mut state.input, bytes, items)?;
        state.staged = staged;
        Ok(Value::UNDEFINED)
    }),
    // `take(collect)`: the next block of the results.
    ("take", |call, state| {
        let State { results, prepared, .. } = state;
        let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
        let taken = results.take(call.js, crossing, call.argument(0), More::Held);
        if results.is_taken() {
            results.clear();
        }
        taken
    }),
];

/// The functions of every kind of table and of caches.
pub(crate) const fn of<T: Verbs>() -> [(&'static str, Native); 9] {
    [
        // `see(table, keysAreBytes, valuesAreBytes)`: says how its pairs cross, which is as strings until then.
        ("see", |call, state| {
            let encoding = |position| if call.flag(position) { Encoding::Bytes } else { Encoding::Text };
            let encodings = Encodings { keys: encoding(1), values: encoding(2) };
            T::all(state).0.get_mut(call.number(0))?.encodings = encodings;
            Ok(Value::UNDEFINED)
        }),
        ("free", free::<T>),
        // `insert(table, key, value)`, `replace` and `upsert`: whether it took effect.
        ("insert", write::<T, INSERT>),
        ("replace", write::<T, REPLACE>),
        ("upsert", write::<T, UPSERT>),
        // `delete(table, key)`: whether it took effect.
        ("delete", |call, state| {
            let parts = keyed::<T>(call, state)?;
            call.give(parts.table.thing.write::<DELETE>(&parts.input.key, &[], None)?)
        }),
        // `select(table, key)`: the value, see [`single`], or `undefined`.
        ("select", |call, state| {
            let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
            let (key, out) = (&input.key, &mut input.value);
            out.clear();
            // Copied first: making a JavaScript value may collect garbage, and the engine is not to wait for that.
            match table.thing.select_with(key, |value| out.extend_from_slice(value))? {
                Some(()) => single(call.js, crossing, Column::Value, table.encodings.values, out),
                None => Ok(Value::UNDEFINED),
            }
        }),
        // `increment(table, key, by, ttl)`: the sum, a number or a bigint like `by`. Caches take no `ttl`.
        ("increment", |call, state| {
            let parts = keyed::<T>(call, state)?;
            let (by, is_bigint) = amount(call.js, call.argument(2))?;
            let sum = parts.table.thing.increment(&parts.input.key, by, sum_lifetime::<T>(call, 3))?;
            call.give((sum, is_bigint))
        }),
        // `compareAndSwap(table, key, expected, value)`: whether the value was as expected; `undefined` for none.
        ("compare_and_swap", |call, state| {
            let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
            let values = (Column::Value, table.encodings.values);
            let mut read =
                |region, at| input.read_present(call.js, crossing, region, values, call.argument(at));
            let (has_expected, has_value) = (read(Region::Expected, 2)?, read(Region::Value, 3)?);
            let expected = has_expected.then_some(input.expected.as_slice());
            let value = has_value.then_some(input.value.as_slice());
            call.give(table.thing.swap(&input.key, expected, value)?)
        }),
    ]
}

/// Those that there are beyond these where pairs expire.
pub(crate) const fn timed<T: Timed>() -> [(&'static str, Native); 2] {
    [
        // `ttl(table, key)`: in milliseconds, `Infinity` where the pair does not expire, `undefined` where it is absent.
        ("ttl", |call, state| {
            let parts = keyed::<T>(call, state)?;
            call.give(parts.table.thing.ttl(&parts.input.key)?)
        }),
        // `touch(table, key, ttl)`: whether the key was there.
        ("touch", |call, state| {
            let parts = keyed::<T>(call, state)?;
            call.give(parts.table.thing.touch(&parts.input.key, ttl(call, 2))?)
        }),
    ]
}

/// Those that there are beyond these in tables of stores and snapshots and in caches.
pub(crate) const fn of_pairs<T: Pairs>() -> [(&'static str, Native); 9] {
    [
        // `size(table)`: the number of pairs.
        ("size", |call, state| call.give(state.thing::<T>(call.number(0))?.len())),
        ("clear", |call, state| call.give(state.thing::<T>(call.number(0))?.clear()?)),
        // `contains(table, key)`
        ("contains", |call, state| {
            let parts = keyed::<T>(call, state)?;
            call.give(parts.table.thing.contains(&parts.input.key))
        }),
        // `begin(table, shape)`
        ("begin", |call, state| {
            let number = call.number(0);
            let encodings = T::all(state).0.get(number)?.encodings;
            call.give(state.staged.begin(number, encodings, call.number(1)))
        }),
        // `insertMany(ttl)`, `replaceMany`, `upsertMany` and `deleteMany`: whether each took effect.
        ("insert_many", write_many::<T, INSERT>),
        ("replace_many", write_many::<T, REPLACE>),
        ("upsert_many", write_many::<T, UPSERT>),
        ("delete_many", write_many::<T, DELETE>),
        // `selectMany()`: the number of results to take.
        ("select_many", |call, state| {
            call.give(run::<T, _>(state, |of, staged, results| {
                results.begin(of.encodings, &[Column::Value]);
                of.thing.select_many(&staged.keys()?, |_, value| match value {
                    Some(value) => results.push(value),
                    None => results.push_absent(),
                });
                results.check()?;
                Ok(results.len())
            })?)
        }),
    ]
}

/// The functions that tables have beyond all of these.
pub(crate) const fn of_table<T: Tabular>() -> [(&'static str, Native); 14] {
    [
        // `memory(table)`: in bytes.
        ("memory", |call, state| call.give(state.thing::<T>(call.number(0))?.memory())),
        // `takePair(table, key)`: removes a pair; its value, see [`single`], or `undefined`.
        ("take_pair", |call, state| {
            let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
            let value = table.thing.take(&input.key)?;
            optional(call.js, crossing, Column::Value, table.encodings.values, value.as_deref())
        }),
        // `containsMany()`
        ("contains_many", |call, state| {
            let found = run::<T, _>(state, |of, staged, _| Ok(of.thing.contains_many(&staged.keys()?)))?;
            booleans(call.js, &found)
        }),
        // `incrementMany(ttl)`: the number of results to take.
        ("increment_many", |call, state| {
            let ttl = sum_lifetime::<T>(call, 0);
            call.give(run::<T, _>(state, |of, staged, results| {
                results.begin(Encodings::default(), &[]);
                let sums = of.thing.increment_many(staged, ttl)?;
                results.set_sums(sums.into_iter().zip(staged.bigints()));
                results.check()?;
                Ok(results.len())
            })?)
        }),
        // `compareAndSwapMany()`: whether each was as expected.
        ("compare_and_swap_many", |call, state| {
            booleans(call.js, &run::<T, _>(state, |of, staged, _| of.thing.swap_many(staged))?)
        }),
        ("first", scan::end::<T, false, false>),
        ("last", scan::end::<T, true, false>),
        ("pop_first", scan::end::<T, false, true>),
        ("pop_last", scan::end::<T, true, true>),
        ("delete_range", scan::delete_range::<T>),
        ("open_cursor", scan::open_cursor::<T>),
        ("open_walk", scan::open_walk::<T>),
        ("scan_block", scan::scan_block::<T>),
        ("open_watch", changes::open_watch::<T>),
    ]
}

/// What only tables whose pairs expire have.
pub(crate) const OF_EXPIRING: &[(&str, Native)] = &[
    // `removeExpired(table, limit)`: how many pairs that were.
    ("remove_expired", |call, state| {
        let table = state.thing::<Expiring>(call.number(0))?;
        call.give(table.live()?.remove_expired(call.count(1).unwrap_or_default())?)
    }),
];

// --- how a table is opened

/// A table by name, with the index and codecs that it is asked for with.
pub(super) struct Wanted {
    pub(super) name: String,
    index: Option<IndexKind>,
    codecs: [Option<String>; 2],
}

impl Wanted {
    /// From arguments 1 to 4: `name, index, keys, values`, of which only the name has to be there.
    pub(super) fn read<'c>(call: &Call<'c>) -> Result<Self, Fault<'c>> {
        let index = call.optional(2)?.map(|index| index.parse()).transpose()?;
        Ok(Self { name: call.string(1)?, index, codecs: [call.optional(3)?, call.optional(4)?] })
    }

    pub(super) fn open(
        &self,
        store: &Store,
        default: &str,
        create: bool,
        expires: Option<bool>,
    ) -> twindex_durable::Result<AnyTable> {
        store.any_table_with(&self.name, self.options(default).create(create), expires)
    }

    /// The options for a store; `default` is the codec of a new table where none was asked for.
    pub(super) fn options<'n>(&'n self, default: &'n str) -> TableOptions<'n> {
        let [keys, values] = &self.codecs;
        let index = self.index.unwrap_or(IndexKind::Hash);
        let options = TableOptions::new(index).any_index(self.index.is_none());
        let options = match keys {
            Some(keys) => options.keys(keys),
            None => options.keys_if_new(default),
        };
        match values {
            Some(values) => options.values(values),
            None => options.values_if_new(default),
        }
    }
}

/// Leaves as results to take the names of a table's codecs and index, and of the object that has its verbs.
pub(super) fn tell(results: &mut Results, (keys, values): (&str, &str), index: IndexKind, kind: &str) {
    results.set_names([keys, values, index.name(), kind]);
}

/// The same of a table of either kind.
pub(super) fn tell_any(table: &AnyTable, results: &mut Results) {
    match table {
        AnyTable::Plain(table) => tell(results, table.in_memory().codecs(), table.index(), "table"),
        AnyTable::Expiring(table) => tell(results, table.codecs(), table.index(), "expiring"),
    }
}

// --- what the verbs share

fn write<'c, T: Verbs, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    state.input.ask(call.js, Region::Value, call.argument(2));
    let mut parts = state.parts::<T>(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    parts.settle_value(call.js, call.argument(2))?;
    let Parts { table, input, .. } = parts;
    call.give(table.thing.write::<VERB>(&input.key, &input.value, lifetime::<T>(call, 3))?)
}

fn write_many<'c, T: Pairs, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let ttl = lifetime::<T>(call, 0);
    booleans(call.js, &run::<T, _>(state, |of, staged, _| of.thing.write_many::<VERB>(staged, ttl))?)
}

pub(super) fn ttl(call: &Call<'_>, position: usize) -> Ttl {
    call.js.get_f64(call.argument(position)).map(duration)
}

/// The same, where pairs have one.
#[inline]
fn lifetime<T: Verbs>(call: &Call<'_>, position: usize) -> Ttl {
    if T::EXPIRES { ttl(call, position) } else { None }
}

/// The same of a sum.
#[inline]
fn sum_lifetime<T: Verbs>(call: &Call<'_>, position: usize) -> Ttl {
    if T::SUMS_EXPIRE { ttl(call, position) } else { None }
}

/// Runs a verb on what was staged, which is gone afterwards.
fn run<'c, T: Pairs, R>(
    state: &mut State,
    verb: impl FnOnce(&Of<T>, &Staged, &mut Results) -> Result<R, Fault<'c>>,
) -> Result<R, Fault<'c>> {
    let mut staged = std::mem::take(&mut state.staged);
    let parts = state.parts::<T>(staged.target)?;
    let outcome = verb(parts.table, &staged, parts.results);
    staged.clear();
    state.staged = staged;
    outcome
}

/// A `Buffer` with a 1 or a 0 for each.
pub(crate) fn booleans<'c>(js: Js<'c>, booleans: &[bool]) -> Answer<'c> {
    Ok(js.buffer(&collected(booleans.iter().copied().map(u8::from))?)?)
}
