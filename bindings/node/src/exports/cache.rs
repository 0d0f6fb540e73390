//! What only caches have: see [`super::verbs`] for the rest. Times are in milliseconds: `undefined` for the cache's own, `Infinity`
//! for ever. Where the last argument is `isLater`, the answer is a promise if that is 1.

use std::io::{Cursor, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde_json::json;
use twindex_cache::{Begun, Cache, Error, Leader, Outcome as Ended, Saved};

use super::keyed;
use super::task::{self, Outcome};
use super::verbs::ttl;
use crate::cached::{Cached, Numbers};
use crate::call::{Call, Native};
use crate::crossing::{Crossing, Region};
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::inbox::{Inbox, Waiting};
use crate::input::append;
use crate::js::{Js, Value};
use crate::memory::Growing;
use crate::results::{optional, single};
use crate::shared::Refusal;
use crate::state::{Computing, NONE, Of, Parts, State};
use crate::walk::{Halves, Walk, Way};

/// The options that are numbers, from argument `first` on.
fn numbers(call: &Call<'_>, first: usize) -> Numbers {
    Numbers(std::array::from_fn(|at| call.js.get_f64(call.argument(first + at))))
}

fn inbox(state: &State, has_listener: bool) -> Option<Arc<Inbox>> {
    state.inbox.clone().filter(|_| has_listener)
}

fn cache<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<&'s Cache, Fault<'c>> {
    Ok(&state.thing::<Cached>(call.number(0))?.cache)
}

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // --- the caches themselves
    // `openCache(name, capacity, maxEntries, ttl, timeToIdle, staleFor, label, hasListener)`: the number of a cache. With a name it is
    // that of all threads.
    ("open_cache", |call, state| {
        let inbox = inbox(state, call.flag(7));
        let label = call.js.get_bytes(call.argument(6)).unwrap_or_default();
        let cached = Cached::open(call.optional(0)?, numbers(call, 1), label, inbox)?;
        call.give(state.add(NONE, Encodings::default(), cached)?)
    }),
    // `loadCache(source, capacity, maxEntries, ttl, timeToIdle, staleFor, name, hasListener * 2 + isLater)`: the number of a cache from
    // bytes, or from the file with this path.
    ("load_cache", |call, state| {
        let (numbers, name, flags) = (numbers(call, 1), call.optional(6)?, call.number(7));
        let inbox = inbox(state, flags & 2 != 0);
        let (path, mut bytes) = match call.js.get_bytes(call.argument(0)) {
            None => (Some(call.string(0)?), Vec::new()),
            Some(given) => {
                let mut copy = Vec::new();
                append(&mut copy, given)?;
                (None, copy)
            }
        };
        task::run(call.js, state, flags & 1 != 0, move || {
            let from: Box<dyn Read> = match &path {
                Some(path) => twindex_durable::read_file(path)?,
                None => Box::new(Cursor::new(std::mem::take(&mut bytes))),
            };
            let at_path = |error| match error {
                error @ Error::Corrupt { .. } => Refusal::Cache(error, path.as_ref().map(Into::into)),
                error => error.into(),
            };
            let saved = Saved::read(from).map_err(at_path)?;
            let options = saved.options();
            let load = |options| saved.load(options).map_err(at_path);
            Cached::load(name, numbers, options, inbox, load).map(Outcome::Cache)
        })
    }),
    // `saveCache(cache, path, isLater)`: writes it to a file, which is replaced in one step.
    ("save_cache", |call, state| {
        let (cache, path) = (cache(call, state)?.clone(), call.string(1)?);
        task::run(call.js, state, call.flag(2), move || {
            twindex_durable::save_cache(&cache, path)?;
            Ok(Outcome::Nothing)
        })
    }),
    // `dumpCache(cache, isLater)`: a `Buffer`.
    ("dump_cache", |call, state| {
        let cache = cache(call, state)?.clone();
        task::run(call.js, state, call.flag(1), move || {
            let mut bytes = Growing::default();
            cache.save(&mut bytes)?;
            Ok(Outcome::Bytes(bytes.0))
        })
    }),
    // `hasSharedCache(name)`: whether this copy of the package has a cache of that name. Another copy asks, whatever its version: this
    // keeps its name and meaning for ever.
    ("has_shared_cache", |call, _| call.give(Cached::is_named(&call.string(0)?))),
    // `cacheLabel(cache)`: a `Buffer` with the names of its codecs.
    ("cache_label", |call, state| Ok(call.js.buffer(cache(call, state)?.label())?)),
    // `cacheFigures(cache)`: an object as JSON.
    ("cache_figures", |call, state| {
        let cache = cache(call, state)?;
        let counted = cache.stats();
        call.give(&json!({
            "memory": counted.memory,
            "capacity": cache.capacity(),
            "maxEntries": cache.max_entries(),
            "ttl": cache.default_ttl().map(|ttl| ttl.as_secs_f64() * 1000.0),
            "hits": counted.hits,
            "misses": counted.misses,
            "writes": counted.writes,
            "evictions": counted.evictions,
            "expirations": counted.expirations,
            "rejected": counted.rejected,
        }))
    }),
    // `cachePeek(cache, key)`: the value, which is not counted as a use of the pair.
    ("cache_peek", |call, state| {
        let Parts { table, input, crossing, .. } = keyed::<Cached>(call, state)?;
        let value = table.thing.cache.peek(&input.key);
        optional(call.js, crossing, Column::Value, table.encodings.values, value.as_deref())
    }),
    // `shrinkCache(cache, capacity)`
    ("shrink_cache", |call, state| {
        call.give(cache(call, state)?.shrink_to(call.count(1).unwrap_or_default())?)
    }),
    // `openCacheWalk(cache, halves)`: the number of a walk past all pairs.
    ("open_cache_walk", |call, state| {
        let halves = Halves::of(call.number(1));
        let &Of { encodings, thing: ref cached, .. } = state.parts::<Cached>(call.number(0))?.table;
        let walk = Walk::new(Way::Cache(cached.cache.iter()), halves, usize::MAX);
        call.give(state.add(NONE, encodings, walk)?)
    }),
    // --- what other threads have for this one
    // `openInbox(wake)`: from now on `wake` is called when another thread has something for this one.
    ("open_inbox", |call, state| {
        state.inbox = Some(Inbox::open(call.js, call.argument(0))?);
        Ok(Value::UNDEFINED)
    }),
    // `keepAlive(isKept)`: whether the process stays alive for that.
    ("keep_alive", |call, state| {
        call.give(state.inbox.as_ref().ok_or_else(Fault::bug)?.keep_alive(call.js, call.flag(0))?)
    }),
    // `takeWoken()`: the number of results to take, the numbers of computations that others have ended.
    ("take_woken", |call, state| {
        let woken = state.inbox.as_ref().ok_or_else(Fault::bug)?.take_woken();
        state.results.begin(Encodings::default(), &[]);
        state.results.set_sums(woken.into_iter().map(|number| (number, false)));
        call.give(state.results.len())
    }),
    // `takeEvicted(cache)`: the number of results to take, three a pair: key, value and cause of those that the listener was not told.
    ("take_evicted", |call, state| {
        let Parts { table, results, .. } = state.parts::<Cached>(call.number(0))?;
        results.begin(table.encodings, &[Column::Key, Column::Value, Column::Name]);
        for (key, value, cause) in table.thing.evicted.iter().flat_map(|evicted| evicted.take()) {
            results.push(&key);
            results.push(&value);
            results.push(cause.name().as_bytes());
        }
        call.give(results.len())
    }),
    // --- computations
    // `beginComputation(cache, key)`: the value, if the first word says `VALUE`; else the number of a computation: with `LEAD` this
    // thread makes it, with `PENDING` another one does.
    ("begin_computation", |call, state| {
        let Parts { table, input, crossing, .. } = keyed::<Cached>(call, state)?;
        let encodings = table.encodings;
        let (kind, computing) = match table.thing.cache.begin(&input.key, Leader::Task)? {
            Begun::Value(value) => return value_of(call.js, crossing, encodings, &value),
            Begun::Lead(lead) => (LEAD, Computing::Lead(lead)),
            Begun::Wait(waiter) => (PENDING, Computing::Wait(waiter)),
        };
        crossing.note(0, kind);
        call.give(state.add(NONE, encodings, computing)?)
    }),
    ("free_computation", super::free::<Computing>),
    // `computationStands(computation)`: whether the cache would keep its value.
    ("computation_stands", |call, state| {
        let of = state.computations.get(call.number(0));
        call.give(matches!(of, Ok(Of { thing: Computing::Lead(lead), .. }) if lead.stands()))
    }),
    // `endComputation(computation, value, ttl)`: gives the value to all that wait, and to the cache unless the pair was written or
    // deleted since, or does not fit.
    ("end_computation", |call, state| {
        let State { computations, input, prepared, .. } = state;
        let of = computations.get(call.number(0))?;
        let crossing = &prepared.as_ref().ok_or_else(Fault::bug)?.crossing;
        let values = (Column::Value, of.encodings.values);
        input.read(call.js, crossing, Region::Value, values, call.argument(1))?;
        if let Some(Of { thing: Computing::Lead(lead), .. }) = computations.close(call.number(0)) {
            lead.end(&input.value, ttl(call, 2))?;
        }
        Ok(Value::UNDEFINED)
    }),
    // `failComputation(computation, error)`: gives the error, which is in bytes, to all that wait in other threads.
    ("fail_computation", |call, state| {
        let mut error = Vec::new();
        append(&mut error, call.js.get_bytes(call.argument(1)).unwrap_or_default())?;
        if let Some(Of { thing: Computing::Lead(lead), .. }) = state.computations.close(call.number(0)) {
            lead.fail(Arc::new(error));
        }
        Ok(Value::UNDEFINED)
    }),
    // `pollComputation(computation)`: how a computation of another thread ended, as the first word says: a value, the bytes of an
    // error, or nothing. With `PENDING` its number is among those of `takeWoken` later.
    ("poll_computation", poll_computation),
];

/// What the first word behind the crossing buffer says of a computation.
const PENDING: u32 = 0;
const VALUE: u32 = 1;
const FAILED: u32 = 2;
const ABANDONED: u32 = 3;
const LEAD: u32 = 4;

fn value_of<'c>(js: Js<'c>, crossing: &mut Crossing, encodings: Encodings, value: &[u8]) -> Answer<'c> {
    crossing.note(0, VALUE);
    single(js, crossing, Column::Value, encodings.values, value)
}

fn poll_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let State { computations, prepared, inbox, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let inbox = Arc::clone(inbox.as_ref().ok_or_else(Fault::bug)?);
    let Of { thing: Computing::Wait(waiter), encodings, .. } = computations.get_mut(number)? else {
        return Err(Fault::bug());
    };
    let waker = Waker::from(Arc::new(Waiting { inbox, number: number.into() }));
    let (kind, error) = match Pin::new(waiter).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(Ended::Value(value)) => return value_of(call.js, crossing, *encodings, &value),
        Poll::Ready(Ended::Failed(error)) => (FAILED, Some(error)),
        Poll::Ready(Ended::Abandoned) => (ABANDONED, None),
        Poll::Pending => (PENDING, None),
    };
    crossing.note(0, kind);
    let Some(error) = error else { return Ok(Value::UNDEFINED) };
    Ok(call.js.buffer(error.downcast_ref::<Vec<u8>>().map(Vec::as_slice).unwrap_or_default())?)
}
