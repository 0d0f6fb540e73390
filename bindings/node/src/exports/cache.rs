//! What only caches have: see [`super::verbs`] for the rest. A time to live is in milliseconds: `undefined` for that of the
//! cache, `Infinity` for ever.

use std::time::Duration;

use serde_json::json;
use twindex::{Cache, CacheOptions};

use super::verbs::keyed;
use crate::call::Call;
use crate::crossing::Region;
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::js::Value;
use crate::pairs::Pairs;
use crate::results::single;
use crate::state::{Computing, Of, Parts, State};
use crate::walk::{Halves, Walk, Way};

/// `openCache(store, name, bytes, pairs, ttl, keys, values, default)`: the number of a cache, whose two codecs are then results
/// to take. With neither `bytes` nor `pairs` it is one that is there, or `undefined`.
pub(crate) fn open_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (store, name) = (call.number(0), call.string(1)?);
    let engine = state.store(store)?.in_memory();
    let found = engine.find_cache(&name);
    let [bytes, pairs] = [2, 3].map(|position| size(call, position));
    let options = match (&found, bytes, pairs) {
        // It stays as it is, but for its codecs, which are compared.
        (Some(_), ..) => CacheOptions::pairs(1),
        (None, Some(bytes), _) => CacheOptions::bytes(bytes),
        (None, None, Some(pairs)) => CacheOptions::pairs(pairs),
        (None, None, None) => return Ok(Value::UNDEFINED),
    };
    let options = match Cache::lifetime(call.js, call.argument(4)) {
        Some(ttl) => options.ttl(ttl),
        None => options,
    };
    let default = call.string(7)?;
    let (keys, values) = found.as_ref().map_or((&*default, &*default), Cache::codecs);
    let (named_keys, named_values) = (call.optional(5)?, call.optional(6)?);
    let codecs = (named_keys.as_deref().unwrap_or(keys), named_values.as_deref().unwrap_or(values));
    let cache = engine.cache(&name, options.codecs(codecs.0, codecs.1))?;
    let (keys, values) = cache.codecs();
    state.results.set_names([keys, values]);
    Ok(call.js.u32(state.add(store, Encodings::default(), cache))?)
}

#[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is a count")]
fn size(call: &Call<'_>, position: usize) -> Option<usize> {
    call.js.get_f64(call.argument(position)).map(|size| size as usize)
}

/// `caches(store)`: the number of results to take, their names.
pub(crate) fn caches<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let caches = state.store(call.number(0))?.in_memory().caches();
    state.results.set_names(caches.iter().map(Cache::name));
    Ok(call.js.usize(state.results.len())?)
}

/// `dropCache(store, name)`: whether it was there.
pub(crate) fn drop_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?.in_memory();
    Ok(call.js.boolean(store.drop_cache(&call.string(1)?))?)
}

/// `cacheFigures(cache)`: an object as JSON.
pub(crate) fn cache_figures<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let cache = &state.parts::<Cache>(call.number(0))?.table.thing;
    let counted = cache.stats();
    let ttl = cache.default_ttl().filter(|&ttl| ttl < Duration::MAX);
    Ok(call.js.json(&json!({
        "size": cache.len(),
        "memory": cache.memory(),
        "max": cache.capacity_pairs(),
        "maxSize": cache.capacity_bytes(),
        "ttl": ttl.map(|ttl| ttl.as_millis() as u64),
        "hits": counted.hits,
        "misses": counted.misses,
        "writes": counted.writes,
        "evictions": counted.evictions,
        "expirations": counted.expirations,
    }))?)
}

/// `cachePeek(cache, key)`: the value, which is not counted as a use of the pair.
pub(crate) fn cache_peek<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed::<Cache>(call, state)?;
    match table.thing.peek(&input.key) {
        Some(value) => single(call.js, crossing, Column::Value, table.encodings.values, &value),
        None => Ok(Value::UNDEFINED),
    }
}

/// `cacheTtl(cache, key)`: in milliseconds, `Infinity` where the pair does not expire, 0 where it is absent.
pub(crate) fn cache_ttl<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<Cache>(call, state)?;
    let millis = match parts.table.thing.ttl(&parts.input.key) {
        None => 0.0,
        Some(None) => f64::INFINITY,
        Some(Some(left)) => left.as_secs_f64() * 1000.0,
    };
    Ok(call.js.f64(millis)?)
}

/// `cacheTouch(cache, key, ttl)`: whether the key was there.
pub(crate) fn cache_touch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, input, .. } = keyed::<Cache>(call, state)?;
    let ttl = Cache::lifetime(call.js, call.argument(2)).or(cache.default_ttl()).unwrap_or(Duration::MAX);
    Ok(call.js.boolean(cache.touch(&input.key, Some(ttl))?)?)
}

/// `openCacheWalk(cache, halves)`: the number of a walk past all pairs.
pub(crate) fn open_cache_walk<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let halves = Halves::of(call.number(1));
    let &Of { store, encodings, thing: ref cache } = state.parts::<Cache>(call.number(0))?.table;
    let walk = Walk::new(Way::Any(cache.iter()), halves, usize::MAX);
    Ok(call.js.u32(state.add(store, encodings, walk))?)
}

// --- computations

/// `beginComputation(cache, key, isRefresh)`: the number of a computation of the key's value: of one that is absent, or of one
/// that is to be newer than what is there now.
pub(crate) fn begin_computation<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, .. } = keyed::<Cache>(call, state)?;
    let &Of { store, encodings, thing: ref cache } = table;
    twindex::check_key(&input.key)?;
    // Before the value is looked at, so that no deletion in between is missed.
    let computation = cache.computation(&input.key, false);
    let seen = if call.flag(2) { cache.peek(&input.key) } else { None };
    let computing = Computing { computation, key: input.key.clone(), seen };
    Ok(call.js.u32(state.add(store, encodings, computing))?)
}

/// `computationStands(computation)`: whether what it computes is still wanted.
pub(crate) fn computation_stands<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let computing = state.computations.get(call.number(0));
    Ok(call.js.boolean(computing.is_some_and(|of| of.thing.computation.stands()))?)
}

/// `storeComputed(computation, value, ttl)`: writes the value, unless the pair was written or deleted since it began, and where
/// it fits.
pub(crate) fn store_computed<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { computations, input, prepared, .. } = state;
    // Its store was closed.
    let Some(of) = computations.get(call.number(0)) else { return Ok(Value::UNDEFINED) };
    let crossing = &prepared.as_ref().ok_or_else(Fault::bug)?.crossing;
    let values = (Column::Value, of.encodings.values);
    input.read(call.js, crossing, Region::Value, values, call.argument(1))?;
    let Computing { computation, key, seen } = &of.thing;
    match computation.store(key, seen.as_deref(), &input.value, Cache::lifetime(call.js, call.argument(2))) {
        Ok(_) | Err(twindex::Error::MemoryLimit { .. } | twindex::Error::TableDropped { .. }) => {
            Ok(Value::UNDEFINED)
        }
        Err(error) => Err(error.into()),
    }
}
