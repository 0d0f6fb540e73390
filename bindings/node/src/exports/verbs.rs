//! The verbs of tables and caches. JavaScript finds those of tables in `native.table`, of tables whose pairs expire in
//! `native.expiring`, and of caches in `native.cache`. Their first argument is the number of a table or cache. Where pairs expire,
//! writes have a time to live behind the value, in milliseconds: `undefined` for that of the cache, `Infinity` for ever.
//!
//! A verb on many pairs is `begin`, then `stage` as often as it takes, then the verb, which works on what was staged. So all
//! arguments are converted and checked before the first write.

use twindex::{IndexKind, TableOptions};
use twindex_durable::{AnyTable, Store};

use super::{changes, free, keyed, scan};
use crate::cached::duration;
use crate::call::{Call, Native};
use crate::crossing::Region;
use crate::encoding::{BLOCK_ITEMS, Column, Encoding, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::pairs::{DELETE, INSERT, Pairs, REPLACE, Tabular, Ttl, UPSERT};
use crate::results::{More, Results, optional, single};
use crate::staged::Staged;
use crate::state::{Of, Parts, State};
use crate::table::{Expiring, Table};

/// The functions of either kind.
pub(crate) const fn of<T: Pairs>() -> [(&'static str, Native); 18] {
    [
        ("see", see::<T>),
        ("free", free::<T>),
        ("size", size::<T>),
        ("clear", clear::<T>),
        ("insert", write::<T, INSERT>),
        ("replace", write::<T, REPLACE>),
        ("upsert", write::<T, UPSERT>),
        ("delete", delete::<T>),
        ("select", select::<T>),
        ("contains", contains::<T>),
        ("increment", increment::<T>),
        ("compare_and_swap", compare_and_swap::<T>),
        ("begin", begin::<T>),
        ("insert_many", write_many::<T, INSERT>),
        ("replace_many", write_many::<T, REPLACE>),
        ("upsert_many", write_many::<T, UPSERT>),
        ("delete_many", write_many::<T, DELETE>),
        ("select_many", select_many::<T>),
    ]
}

/// The functions that tables have beyond these.
pub(crate) const fn of_table<T: Tabular>() -> [(&'static str, Native); 14] {
    [
        ("memory", memory::<T>),
        ("take_pair", take_pair::<T>),
        ("contains_many", contains_many::<T>),
        ("increment_many", increment_many::<T>),
        ("compare_and_swap_many", compare_and_swap_many::<T>),
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

// --- the things themselves

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

    /// The table of a store.
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

/// `openTable(store, name, index, keys, values, default, create, expires)`: the number of a table, and what `tell` leaves. What is `undefined` a table that is there keeps, and a new one has a hash index and the codec `default`.
pub(crate) fn open_table<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (wanted, default, owner) = (Wanted::read(call)?, call.string(5)?, call.number(0));
    let expires = (!call.js.is_nothing(call.argument(7))).then(|| call.flag(7));
    let table = wanted.open(state.store(owner)?, &default, call.flag(6), expires)?;
    tell_any(&table, &mut state.results);
    let number = match table {
        AnyTable::Plain(table) => state.add(owner, Encodings::default(), Table::from(table)),
        AnyTable::Expiring(table) => state.add(owner, Encodings::default(), Expiring::from(table)),
    };
    Ok(call.js.u32(number?)?)
}

/// `see(table, keysAreBytes, valuesAreBytes)`: says how its pairs cross, which is as strings until then.
fn see<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    T::all(state).0.get_mut(call.number(0))?.encodings = see_as(call, 1);
    Ok(Value::UNDEFINED)
}

/// What two arguments say of how pairs cross.
pub(super) fn see_as(call: &Call<'_>, first: usize) -> Encodings {
    let encoding = |position| if call.flag(position) { Encoding::Bytes } else { Encoding::Text };
    Encodings { keys: encoding(first), values: encoding(first + 1) }
}

/// `size(table)`: the number of pairs.
fn size<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.parts::<T>(call.number(0))?.table.thing.len())?)
}

/// `memory(table)`: in bytes.
fn memory<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.parts::<T>(call.number(0))?.table.thing.memory())?)
}

/// `clear(table)`
fn clear<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.parts::<T>(call.number(0))?.table.thing.clear()?;
    Ok(Value::UNDEFINED)
}

// --- the verbs

/// `insert(table, key, value)`, `replace` and `upsert`: whether it took effect.
fn write<'c, T: Pairs, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    state.input.ask(call.js, Region::Value, call.argument(2));
    let mut parts = state.parts::<T>(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    parts.settle_value(call.js, call.argument(2))?;
    let Parts { table, input, .. } = parts;
    Ok(call.js.boolean(table.thing.write::<VERB>(&input.key, &input.value, lifetime::<T>(call, 3))?)?)
}

/// The time to live in an argument.
pub(super) fn ttl(call: &Call<'_>, position: usize) -> Ttl {
    call.js.get_f64(call.argument(position)).map(duration)
}

/// The same, where pairs have one.
#[inline]
pub(super) fn lifetime<T: Pairs>(call: &Call<'_>, position: usize) -> Ttl {
    if T::EXPIRES { ttl(call, position) } else { None }
}

/// The same of a sum.
#[inline]
fn sum_lifetime<T: Pairs>(call: &Call<'_>, position: usize) -> Ttl {
    if T::SUMS_EXPIRE { lifetime::<T>(call, position) } else { None }
}

/// `delete(table, key)`: whether it took effect.
fn delete<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<T>(call, state)?;
    Ok(call.js.boolean(parts.table.thing.write::<DELETE>(&parts.input.key, &[], None)?)?)
}

/// `takePair(table, key)`: removes a pair; its value, see [`single`], or `undefined`.
fn take_pair<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
    let value = table.thing.take(&input.key)?;
    optional(call.js, crossing, Column::Value, table.encodings.values, value.as_deref())
}

/// `contains(table, key)`
fn contains<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<T>(call, state)?;
    Ok(call.js.boolean(parts.table.thing.contains(&parts.input.key))?)
}

/// `select(table, key)`: the value, see [`single`], or `undefined`.
fn select<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
    let (key, out) = (&input.key, &mut input.value);
    out.clear();
    // Copied first: making a JavaScript value may collect garbage, and the engine is not to wait for that.
    match table.thing.select_with(key, |value| out.extend_from_slice(value)) {
        Some(()) => single(call.js, crossing, Column::Value, table.encodings.values, out),
        None => Ok(Value::UNDEFINED),
    }
}

/// `increment(table, key, by, ttl)`: the sum, a number or a bigint like `by`. Caches take no `ttl`.
fn increment<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<T>(call, state)?;
    let (by, is_bigint) = amount(call.js, call.argument(2))?;
    let sum = parts.table.thing.increment(&parts.input.key, by, sum_lifetime::<T>(call, 3))?;
    Ok(if is_bigint { call.js.bigint(sum) } else { call.js.i64(sum) }?)
}

/// `compareAndSwap(table, key, expected, value)`: whether the value was as expected; `undefined` for none.
fn compare_and_swap<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<T>(call, state)?;
    let values = (Column::Value, table.encodings.values);
    let has_expected = input.read_present(call.js, crossing, Region::Expected, values, call.argument(2))?;
    let has_value = input.read_present(call.js, crossing, Region::Value, values, call.argument(3))?;
    let expected = has_expected.then_some(input.expected.as_slice());
    let value = has_value.then_some(input.value.as_slice());
    Ok(call.js.boolean(table.thing.swap(&input.key, expected, value)?)?)
}

// --- the verbs on many

/// `begin(table, shape)`
fn begin<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let encodings = state.parts::<T>(number)?.table.encodings;
    state.staged.begin(number, encodings, call.number(1));
    Ok(Value::UNDEFINED)
}

/// `stage(bytes, ...items)`: an item that is bytes is passed as its length, and `bytes` has them one after the other.
pub(crate) fn stage<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut room = [Value::UNDEFINED; 1 + BLOCK_ITEMS];
    let [bytes, items @ ..] = call.all(&mut room) else { return Ok(Value::UNDEFINED) };
    let bytes = call.js.get_bytes(*bytes).unwrap_or_default();
    // Only what is whole comes back.
    let mut staged = std::mem::take(&mut state.staged);
    staged.add(call.js, &mut state.input, bytes, items)?;
    state.staged = staged;
    Ok(Value::UNDEFINED)
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

/// `insertMany(ttl)`, `replaceMany`, `upsertMany` and `deleteMany`: whether each took effect.
fn write_many<'c, T: Pairs, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let ttl = lifetime::<T>(call, 0);
    booleans(call.js, &run::<T, _>(state, |of, staged, _| of.thing.write_many::<VERB>(staged, ttl))?)
}

/// `containsMany()`
fn contains_many<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let found = run::<T, _>(state, |of, staged, _| Ok(of.thing.contains_many(&staged.keys()?)))?;
    booleans(call.js, &found)
}

/// `compareAndSwapMany()`: whether each was as expected.
fn compare_and_swap_many<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run::<T, _>(state, |of, staged, _| of.thing.swap_many(staged))?)
}

/// `selectMany()`: the number of results to take.
fn select_many<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run::<T, _>(state, |of, staged, results| {
        results.begin(of.encodings, &[Column::Value]);
        of.thing.select_many(&staged.keys()?, results);
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
}

/// `incrementMany(ttl)`: the number of results to take.
fn increment_many<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let ttl = sum_lifetime::<T>(call, 0);
    let count = run::<T, _>(state, |of, staged, results| {
        results.begin(Encodings::default(), &[]);
        let sums = of.thing.increment_many(staged, ttl)?;
        results.set_sums(sums.into_iter().zip(staged.bigints()));
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
}

/// `take(collect)`: the next block of the results.
pub(crate) fn take<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { results, prepared, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let taken = results.take(call.js, crossing, call.argument(0), More::Held);
    if results.is_taken() {
        results.clear();
    }
    taken
}
