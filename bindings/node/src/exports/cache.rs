//! Caches. The first argument of most functions is the number of a cache. A time to live is in milliseconds: `undefined` for
//! that of the cache, `Infinity` for ever.

use std::time::Duration;

use twindex::{Cache, CacheOptions, Change};

use super::table::encodings;
use crate::call::Call;
use crate::crossing::Region;
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::js::Value;
use crate::results::single;
use crate::state::{Of, Parts, State};
use crate::walk::{Halves, Walk, Way};

/// `openCache(store, name, bytes, pairs, ttl, keys, values, default)`: the number of a cache, whose two codecs are then results
/// to take. With neither `bytes` nor `pairs` it is one that is there, or `undefined`.
pub(crate) fn open<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
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
    let options = match ttl(call, 4) {
        Some(ttl) => options.ttl(ttl),
        None => options,
    };
    let default = call.string(7)?;
    let (keys, values) = found.as_ref().map_or((&*default, &*default), Cache::codecs);
    let named = |position, otherwise: &str| {
        if call.js.is_nothing(call.argument(position)) { Ok(otherwise.into()) } else { call.string(position) }
    };
    let cache = engine.cache(&name, options.codecs(&named(5, keys)?, &named(6, values)?))?;
    state.results.begin(Encodings::default(), &[Column::Name]);
    let (keys, values) = cache.codecs();
    state.results.push(keys.as_bytes());
    state.results.push(values.as_bytes());
    Ok(call.js.u32(state.caches.add(Of { store, encodings: Encodings::default(), thing: cache }))?)
}

#[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is a count")]
fn size(call: &Call<'_>, position: usize) -> Option<usize> {
    call.js.get_f64(call.argument(position)).map(|size| size as usize)
}

#[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is not negative")]
pub(super) fn ttl(call: &Call<'_>, position: usize) -> Option<Duration> {
    let millis = call.js.get_f64(call.argument(position))?;
    Some(if millis.is_finite() { Duration::from_millis(millis.ceil() as u64) } else { Duration::MAX })
}

/// `seeCache(cache, keysAreBytes, valuesAreBytes)`: as `seeTable`.
pub(crate) fn see<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.caches.get_mut(call.number(0)).ok_or_else(Fault::closed)?.encodings = encodings(call);
    Ok(Value::UNDEFINED)
}

/// `freeCache(cache)`
pub(crate) fn free<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.caches.free(call.number(0));
    Ok(Value::UNDEFINED)
}

/// `caches(store)`: the number of results to take, their names.
pub(crate) fn all<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let caches = state.store(call.number(0))?.in_memory().caches();
    state.results.begin(Encodings::default(), &[Column::Name]);
    for cache in caches {
        state.results.push(cache.name().as_bytes());
    }
    Ok(call.js.usize(state.results.len())?)
}

/// `dropCache(store, name)`: whether it was there.
pub(crate) fn drop<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?.in_memory();
    Ok(call.js.boolean(store.drop_cache(&call.string(1)?))?)
}

/// `cacheFigures(cache)`: results to take: the pairs, the bytes, the capacity in pairs and in bytes, the time to live in
/// milliseconds, each -1 for none; then the hits, misses, writes, evictions and expirations.
pub(crate) fn figures<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, results, .. } = state.cache_parts(call.number(0))?;
    let counted = cache.stats();
    let some = |figure: Option<usize>| figure.map_or(-1, usize::cast_signed) as i64;
    let ttl = cache.default_ttl().filter(|&ttl| ttl < Duration::MAX);
    let millis = ttl.map_or(-1, |ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
    let sizes = [some(Some(cache.len())), some(Some(cache.memory())), some(cache.capacity_pairs())];
    let counts = [counted.hits, counted.misses, counted.writes, counted.evictions, counted.expirations];
    results.begin(Encodings::default(), &[Column::Name]);
    let all = sizes.into_iter().chain([some(cache.capacity_bytes()), millis]);
    results.set_sums(all.chain(counts.map(u64::cast_signed)).map(|figure| (figure, false)));
    Ok(call.js.usize(results.len())?)
}

/// `cacheSize(cache)`: the number of pairs.
pub(crate) fn len<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.cache_parts(call.number(0))?.table.thing.len())?)
}

/// `clearCache(cache)`
pub(crate) fn clear<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.cache_parts(call.number(0))?.table.thing.clear()?;
    Ok(Value::UNDEFINED)
}

/// The cache, with the key in `input.key`.
fn keyed<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s, Cache>, Fault<'c>> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    let mut parts = state.cache_parts(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    Ok(parts)
}

/// As [`keyed`], with the value in `input.value`.
fn paired<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s, Cache>, Fault<'c>> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    state.input.ask(call.js, Region::Value, call.argument(2));
    let mut parts = state.cache_parts(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    parts.settle_value(call.js, call.argument(2))?;
    Ok(parts)
}

/// `cacheInsert(cache, key, value, ttl)`: whether it took effect.
pub(crate) fn insert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, input, .. } = paired(call, state)?;
    let done = match ttl(call, 3) {
        Some(ttl) => cache.insert_for(&input.key, &input.value, ttl),
        None => cache.insert(&input.key, &input.value),
    };
    Ok(call.js.boolean(done?)?)
}

/// `cacheReplace(cache, key, value, ttl)`: whether it took effect.
pub(crate) fn replace<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, input, .. } = paired(call, state)?;
    let done = match ttl(call, 3) {
        Some(ttl) => cache.replace_for(&input.key, &input.value, ttl),
        None => cache.replace(&input.key, &input.value),
    };
    Ok(call.js.boolean(done?)?)
}

/// `cacheUpsert(cache, key, value, ttl)`: true.
pub(crate) fn upsert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, input, .. } = paired(call, state)?;
    let done = match ttl(call, 3) {
        Some(ttl) => cache.upsert_for(&input.key, &input.value, ttl),
        None => cache.upsert(&input.key, &input.value),
    };
    Ok(call.js.boolean(done?)?)
}

/// `cacheDelete(cache, key)`: whether it took effect.
pub(crate) fn delete<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    Ok(call.js.boolean(parts.table.thing.delete(&parts.input.key)?)?)
}

/// `cacheContains(cache, key)`
pub(crate) fn contains<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    Ok(call.js.boolean(parts.table.thing.contains(&parts.input.key))?)
}

/// `cacheSelect(cache, key)`: the value, see [`single`], or `undefined`.
pub(crate) fn select<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed(call, state)?;
    let (key, out) = (&input.key, &mut input.value);
    out.clear();
    match table.thing.select_with(key, |value| out.extend_from_slice(value)) {
        Some(()) => single(call.js, crossing, Column::Value, table.encodings.values, out),
        None => Ok(Value::UNDEFINED),
    }
}

/// `cachePeek(cache, key)`: the same, which is not counted as a use of the pair.
pub(crate) fn peek<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed(call, state)?;
    match table.thing.peek(&input.key) {
        Some(value) => single(call.js, crossing, Column::Value, table.encodings.values, &value),
        None => Ok(Value::UNDEFINED),
    }
}

/// `cacheTtl(cache, key)`: in milliseconds, `Infinity` where the pair does not expire, 0 where it is absent.
pub(crate) fn remaining<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    let millis = match parts.table.thing.ttl(&parts.input.key) {
        None => 0.0,
        Some(None) => f64::INFINITY,
        Some(Some(left)) => left.as_secs_f64() * 1000.0,
    };
    Ok(call.js.f64(millis)?)
}

/// `cacheTouch(cache, key, ttl)`: whether the key was there.
pub(crate) fn touch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table: Of { thing: cache, .. }, input, .. } = keyed(call, state)?;
    let ttl = ttl(call, 2).or(cache.default_ttl()).unwrap_or(Duration::MAX);
    Ok(call.js.boolean(cache.touch(&input.key, Some(ttl))?)?)
}

/// `cacheIncrement(cache, key, by)`: the sum, a number or a bigint like `by`.
pub(crate) fn increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    let (by, is_bigint) = amount(call.js, call.argument(2))?;
    let sum = parts.table.thing.increment(&parts.input.key, by)?;
    Ok(if is_bigint { call.js.bigint(sum) } else { call.js.i64(sum) }?)
}

/// `cacheSwap(cache, key, expected, value)`: whether the value was as expected; `undefined` for none.
pub(crate) fn swap<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = keyed(call, state)?;
    let has_expected = parts.read_present(call.js, Region::Expected, call.argument(2))?;
    let has_value = parts.read_present(call.js, Region::Value, call.argument(3))?;
    let Parts { table: Of { thing: cache, .. }, input, .. } = parts;
    let expected = has_expected.then_some(input.expected.as_slice());
    let value = has_value.then_some(input.value.as_slice());
    let mut is_expected = false;
    cache.alter(&input.key, |old| {
        is_expected = old == expected;
        match value {
            Some(value) if is_expected => Change::Set(value.to_vec()),
            None if is_expected => Change::Delete,
            _ => Change::Keep,
        }
    })?;
    Ok(call.js.boolean(is_expected)?)
}

/// `openCacheWalk(cache, halves)`: the number of a walk past all pairs.
pub(crate) fn open_walk<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let halves = Halves::of(call.number(1));
    let Of { store, encodings, thing: cache } = state.cache_parts(call.number(0))?.table;
    let walk = Walk::new(Way::Any(cache.iter()), halves, usize::MAX);
    let walk = Of { store: *store, encodings: *encodings, thing: walk };
    Ok(call.js.u32(state.walks.add(walk))?)
}
