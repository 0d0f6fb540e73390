//! What only caches have: see [`super::verbs`] for the rest. Times are in milliseconds: `undefined` for the cache's own, `Infinity`
//! for ever. Where the last argument is `isLater`, the answer is a promise if that is 1.

use std::io::{Cursor, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde_json::json;
use twindex_cache::{Begun, Cache, Error, Leader, Outcome as Ended, Saved, Ttl};

use super::keyed;
use super::task::{self, Outcome};
use super::verbs::lifetime;
use crate::cached::{Cached, Numbers};
use crate::call::Call;
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

// --- the caches themselves

/// The options that are numbers, from argument `first` on.
fn numbers(call: &Call<'_>, first: usize) -> Numbers {
    Numbers(std::array::from_fn(|at| call.js.get_f64(call.argument(first + at))))
}

/// The inbox of a cache that has a listener.
fn inbox(state: &State, has_listener: bool) -> Option<Arc<Inbox>> {
    state.inbox.clone().filter(|_| has_listener)
}

/// `openCache(name, capacity, maxEntries, ttl, timeToIdle, staleFor, label, hasListener)`: the number of a cache. With a name it is
/// that of all threads.
pub(crate) fn open_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let inbox = inbox(state, call.flag(7));
    let label = call.js.get_bytes(call.argument(6)).unwrap_or_default();
    let cached = Cached::open(call.optional(0)?, numbers(call, 1), label, inbox)?;
    Ok(call.js.u32(state.add(NONE, Encodings::default(), cached)?)?)
}

/// `loadCache(source, capacity, maxEntries, ttl, timeToIdle, staleFor, name, hasListener * 2 + isLater)`: the number of a cache from
/// bytes, or from the file with this path.
pub(crate) fn load_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
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
    let task = move || {
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
    };
    task::run(call.js, state, flags & 1 != 0, Box::new(task))
}

/// `saveCache(cache, path, isLater)`: writes it to a file, which is replaced in one step.
pub(crate) fn save_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (cache, path) = (cache(call, state)?.clone(), call.string(1)?);
    let task = move || {
        twindex_durable::save_cache(&cache, path)?;
        Ok(Outcome::Nothing)
    };
    task::run(call.js, state, call.flag(2), Box::new(task))
}

/// `dumpCache(cache, isLater)`: a `Buffer`.
pub(crate) fn dump_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let cache = cache(call, state)?.clone();
    let task = move || {
        let mut bytes = Growing::default();
        cache.save(&mut bytes)?;
        Ok(Outcome::Bytes(bytes.0))
    };
    task::run(call.js, state, call.flag(1), Box::new(task))
}

/// `hasSharedCache(name)`: whether this copy of the package has a cache of that name. Another copy asks, whatever its version:
/// this keeps its name and meaning for ever.
pub(crate) fn has_shared_cache<'c>(call: &Call<'c>, _: &mut State) -> Answer<'c> {
    Ok(call.js.boolean(Cached::is_named(&call.string(0)?))?)
}

fn cache<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<&'s Cache, Fault<'c>> {
    Ok(&state.parts::<Cached>(call.number(0))?.table.thing.cache)
}

/// `cacheLabel(cache)`: a `Buffer` with the names of its codecs.
pub(crate) fn cache_label<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.buffer(cache(call, state)?.label())?)
}

/// `cacheFigures(cache)`: an object as JSON.
pub(crate) fn cache_figures<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let cache = cache(call, state)?;
    let counted = cache.stats();
    Ok(call.js.json(&json!({
        "memory": counted.memory,
        "capacity": cache.capacity(),
        "maxEntries": cache.max_entries(),
        "hits": counted.hits,
        "misses": counted.misses,
        "writes": counted.writes,
        "evictions": counted.evictions,
        "expirations": counted.expirations,
        "rejected": counted.rejected,
    }))?)
}

/// `cachePeek(cache, key)`: the value, which is not counted as a use of the pair.
pub(crate) fn cache_peek<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<Cached>(call, state)?;
    let value = table.thing.cache.peek(&input.key);
    optional(call.js, crossing, Column::Value, table.encodings.values, value.as_deref())
}

/// `cacheTtl(cache, key)`: in milliseconds, `Infinity` where the pair does not expire, `undefined` where it is absent.
pub(crate) fn cache_ttl<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<Cached>(call, state)?;
    show(call.js, parts.table.thing.cache.ttl(&parts.input.key))
}

/// How long a pair still lives, as `cacheTtl` returns it.
pub(super) fn show(js: Js<'_>, ttl: Ttl) -> Answer<'_> {
    Ok(match ttl {
        Ttl::Absent => Value::UNDEFINED,
        Ttl::Forever => js.f64(f64::INFINITY)?,
        Ttl::Left(left) => js.f64(left.as_secs_f64() * 1000.0)?,
    })
}

/// `cacheTouch(cache, key, ttl)`: whether the key was there.
pub(crate) fn cache_touch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, .. } = keyed::<Cached>(call, state)?;
    let ttl = lifetime::<Cached>(call, 2);
    Ok(call.js.boolean(table.thing.cache.touch(&input.key, ttl)?)?)
}

/// `shrinkCache(cache, capacity)`
#[expect(clippy::cast_sign_loss, reason = "lib/cache.js has checked that it is a count")]
pub(crate) fn shrink_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let capacity = call.js.get_f64(call.argument(1)).unwrap_or_default();
    cache(call, state)?.shrink_to(capacity as usize)?;
    Ok(Value::UNDEFINED)
}

/// `openCacheWalk(cache, halves)`: the number of a walk past all pairs.
pub(crate) fn open_cache_walk<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let halves = Halves::of(call.number(1));
    let &Of { encodings, thing: ref cached, .. } = state.parts::<Cached>(call.number(0))?.table;
    let walk = Walk::new(Way::Cache(cached.cache.iter()), halves, usize::MAX);
    Ok(call.js.u32(state.add(NONE, encodings, walk)?)?)
}

// --- what other threads have for this one

/// `openInbox(wake)`: from now on `wake` is called when another thread has something for this one.
pub(crate) fn open_inbox<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.inbox = Some(Inbox::open(call.js, call.argument(0))?);
    Ok(Value::UNDEFINED)
}

/// `keepAlive(isKept)`: whether the process stays alive for that.
pub(crate) fn keep_alive<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.inbox.as_ref().ok_or_else(Fault::bug)?.keep_alive(call.js, call.flag(0))?;
    Ok(Value::UNDEFINED)
}

/// `takeWoken()`: the number of results to take, the numbers of computations that others have ended.
pub(crate) fn take_woken<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let woken = state.inbox.as_ref().ok_or_else(Fault::bug)?.take_woken();
    state.results.begin(Encodings::default(), &[]);
    state.results.set_sums(woken.into_iter().map(|number| (number, false)));
    Ok(call.js.usize(state.results.len())?)
}

/// `takeEvicted(cache)`: the number of results to take, three a pair: key, value and cause of those that the listener was not told.
pub(crate) fn take_evicted<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, results, .. } = state.parts::<Cached>(call.number(0))?;
    results.begin(table.encodings, &[Column::Key, Column::Value, Column::Name]);
    for (key, value, cause) in table.thing.evicted.as_ref().map(|evicted| evicted.take()).unwrap_or_default()
    {
        results.push(&key);
        results.push(&value);
        results.push(cause.name().as_bytes());
    }
    Ok(call.js.usize(results.len())?)
}

// --- computations

/// What the first word behind the crossing buffer says of a computation.
const PENDING: u32 = 0;
const VALUE: u32 = 1;
const FAILED: u32 = 2;
const ABANDONED: u32 = 3;
const LEAD: u32 = 4;

/// `beginComputation(cache, key)`: the value, if the first word says `VALUE`; else the number of a computation: with `LEAD` this
/// thread makes it, with `PENDING` another one does.
pub(crate) fn begin_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<Cached>(call, state)?;
    let encodings = table.encodings;
    let (kind, computing) = match table.thing.cache.begin(&input.key, Leader::Task)? {
        Begun::Value(value) => return value_of(call.js, crossing, encodings, &value),
        Begun::Lead(lead) => (LEAD, Computing::Lead(lead)),
        Begun::Wait(waiter) => (PENDING, Computing::Wait(waiter)),
    };
    crossing.note(0, kind);
    Ok(call.js.u32(state.add(NONE, encodings, computing)?)?)
}

fn value_of<'c>(js: Js<'c>, crossing: &mut Crossing, encodings: Encodings, value: &[u8]) -> Answer<'c> {
    crossing.note(0, VALUE);
    single(js, crossing, Column::Value, encodings.values, value)
}

/// `computationStands(computation)`: whether the cache would keep its value.
pub(crate) fn computation_stands<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let of = state.computations.get(call.number(0));
    Ok(call.js.boolean(matches!(of, Ok(Of { thing: Computing::Lead(lead), .. }) if lead.stands()))?)
}

/// `endComputation(computation, value, ttl)`: gives the value to all that wait, and to the cache unless the pair was written or
/// deleted since, or does not fit.
pub(crate) fn end_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { computations, input, prepared, .. } = state;
    let of = computations.get(call.number(0))?;
    let crossing = &prepared.as_ref().ok_or_else(Fault::bug)?.crossing;
    let values = (Column::Value, of.encodings.values);
    input.read(call.js, crossing, Region::Value, values, call.argument(1))?;
    if let Some(Of { thing: Computing::Lead(lead), .. }) = computations.close(call.number(0)) {
        lead.end(&input.value, lifetime::<Cached>(call, 2))?;
    }
    Ok(Value::UNDEFINED)
}

/// `failComputation(computation, error)`: gives the error, which is in bytes, to all that wait in other threads.
pub(crate) fn fail_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut error = Vec::new();
    append(&mut error, call.js.get_bytes(call.argument(1)).unwrap_or_default())?;
    if let Some(Of { thing: Computing::Lead(lead), .. }) = state.computations.close(call.number(0)) {
        lead.fail(Arc::new(error));
    }
    Ok(Value::UNDEFINED)
}

/// `pollComputation(computation)`: how a computation of another thread ended, as the first word says: a value, the bytes of an
/// error, or nothing. With `PENDING` its number is among those of `takeWoken` later.
pub(crate) fn poll_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let State { computations, prepared, inbox, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let inbox = Arc::clone(inbox.as_ref().ok_or_else(Fault::bug)?);
    let Of { thing: Computing::Wait(waiter), encodings, .. } = computations.get_mut(number)? else {
        return Err(Fault::bug());
    };
    let waker = Waker::from(Arc::new(Waiting { inbox, number: number.into() }));
    match Pin::new(waiter).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(Ended::Value(value)) => value_of(call.js, crossing, *encodings, &value),
        Poll::Ready(Ended::Failed(error)) => {
            crossing.note(0, FAILED);
            let error = error.downcast_ref::<Vec<u8>>().map(Vec::as_slice).unwrap_or_default();
            Ok(call.js.buffer(error)?)
        }
        Poll::Ready(Ended::Abandoned) => {
            crossing.note(0, ABANDONED);
            Ok(Value::UNDEFINED)
        }
        Poll::Pending => {
            crossing.note(0, PENDING);
            Ok(Value::UNDEFINED)
        }
    }
}
