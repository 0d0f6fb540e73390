//! What caches have and tables have not. A time to live is in whole milliseconds: -1 for that of the cache, infinite for ever.

#![allow(
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "what is negative is refused before, but for -1"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twindex::{Cache, CacheOptions, Store, Write, check_key};
use twindex_format::{SavedCache, write_cache};

use crate::block;
use crate::failure::{Failed, Failure};
use crate::handles::{Handles, Object};
use crate::journal::no_cache;
use crate::pairs::Pairs;
use crate::state::call;
use crate::{answer, reserve};

/// The time that the host gave last, in milliseconds, or 0.
static NOW: AtomicU64 = AtomicU64::new(0);

/// Gives caches the time, in milliseconds since 1970: theirs until the next call. Caches that were opened before the first call
/// have no clock, so that their pairs cannot expire.
#[unsafe(no_mangle)]
extern "C" fn twindex_set_time(milliseconds: f64) -> i32 {
    call(|_| {
        NOW.store(figure("the time", milliseconds)?, Relaxed);
        Ok(0)
    })
}

/// A number that is 0 or more.
#[inline(never)] // one copy, not one in every export
fn figure(what: &'static str, figure: f64) -> Result<u64, Failed> {
    if figure >= 0.0 { Ok(figure as u64) } else { Err(Failure::Figure { what, figure }.into()) }
}

/// A capacity of at most so many pairs or bytes, where each is 0 for none.
fn capacity(pairs: f64, bytes: f64) -> Result<Option<CacheOptions>, Failed> {
    let pairs = figure("the capacity in pairs", pairs)?;
    let bytes = figure("the capacity in bytes", bytes)?;
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    Ok(match (pairs, bytes) {
        (0, 0) => None,
        (0, bytes) => Some(CacheOptions::bytes(size(bytes))),
        (pairs, _) => Some(CacheOptions::pairs(size(pairs))),
    })
}

/// A time to live: -1 for that of the cache, infinite for ever.
fn ttl(milliseconds: f64) -> Result<Option<Duration>, Failed> {
    Ok(if milliseconds == -1.0 {
        None
    } else if milliseconds == f64::INFINITY {
        Some(Duration::MAX)
    } else {
        Some(Duration::from_millis(figure("a time to live", milliseconds)?))
    })
}

/// As an answer. Without the 128 bits of `as_millis`, which take a kilobyte of code.
fn millis(time: Duration) -> i64 {
    let whole = time.as_secs().saturating_mul(1000).saturating_add(time.subsec_millis().into());
    i64::try_from(whole).unwrap_or(i64::MAX)
}

/// Opens the cache called `name`, or creates one of at most `pairs` pairs or `bytes` bytes, where each is 0 for none: its handle,
/// or 0 where there is none and neither is given. One that is there keeps its capacity and its time to live, and its codecs where
/// the length of their names is 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache(
    store: u32,
    name: usize,
    name_length: usize,
    keys: usize,
    keys_length: usize,
    values: usize,
    values_length: usize,
    pairs: f64,
    bytes: f64,
    milliseconds: f64,
) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let name = state.buffers.text((name, name_length))?;
        let keys = state.buffers.text((keys, keys_length))?;
        let values = state.buffers.text((values, values_length))?;
        let engine = unkept(&mut state.handles, store)?;
        let found = engine.find_cache(name);
        let options = match (&found, capacity(pairs, bytes)?) {
            // It stays as it is, but for its codecs, which are compared.
            (Some(_), _) => CacheOptions::pairs(1),
            (None, None) => return Ok(0),
            (None, Some(options)) => options,
        };
        let options = match ttl(milliseconds)? {
            Some(ttl) => options.ttl(ttl),
            None => options,
        };
        let (own_keys, own_values) = found.as_ref().map_or(("bytes", "bytes"), Cache::codecs);
        let named = |name, own| if str::is_empty(name) { own } else { name };
        let options = options.codecs(named(keys, own_keys), named(values, own_values));
        wind(engine);
        let cache = engine.cache(name, options)?;
        state.handles.open_as_status(Object::Cache { store, cache })
    })
}

/// The time that the host gave last, as a time of day.
fn time_of_day() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(NOW.load(Relaxed))
}

/// Answers with the cache as bytes, which `twindex_cache_load` reads.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_dump(cache: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        write_cache(state.handles.cache(cache)?, time_of_day(), output, &mut |_| {})?;
        output.finish(0);
        Ok(0)
    })
}

/// Loads a cache from the bytes of a dump into the store, under this name, and opens it: its handle. Its capacity and its time to
/// live are those that were saved where `pairs` and `bytes` are 0, and `milliseconds` negative.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_load(
    store: u32,
    name: usize,
    name_length: usize,
    dump: usize,
    dump_length: usize,
    pairs: f64,
    bytes: f64,
    milliseconds: f64,
) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let name = state.buffers.text((name, name_length))?;
        let mut dump = state.buffers.bytes((dump, dump_length))?;
        let engine = unkept(&mut state.handles, store)?;
        wind(engine);
        // The same type of reader as a dump of a store has, so that the module has one copy of the code.
        let saved = SavedCache::read(&mut dump)?;
        let options = capacity(pairs, bytes)?.unwrap_or_else(|| saved.options());
        let options = match ttl(milliseconds)?.or(saved.default_ttl()) {
            Some(ttl) => options.ttl(ttl),
            None => options,
        };
        let cache = saved.load(engine, name, options, time_of_day())?;
        state.handles.open_as_status(Object::Cache { store, cache })
    })
}

/// A store that is kept in no file, where a cache would be lost.
fn unkept(handles: &mut Handles, handle: u32) -> Result<&Store, Failed> {
    let (store, journal) = handles.kept(handle)?;
    journal.as_ref().map_or(Ok(store), |journal| Err(no_cache(journal)))
}

/// Gives the store's caches their clock, once the host has given the time.
fn wind(engine: &Store) {
    if NOW.load(Relaxed) > 0 {
        // The first clock stays.
        let _ = engine.set_clock(|| NOW.load(Relaxed));
    }
}

/// Answers with the caches' names, by name, as packed pairs with an empty value, and their number.
#[unsafe(no_mangle)]
extern "C" fn twindex_caches(store: u32) -> i32 {
    call(|state| {
        let caches = state.handles.store(store)?.caches();
        let output = state.output.start();
        for cache in &caches {
            block::push_pair(output, cache.name().as_bytes(), &[])?;
        }
        output.finish(caches.len());
        Ok(0)
    })
}

/// Removes the cache called `name` and its pairs: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_drop_cache(store: u32, name: usize, name_length: usize) -> i32 {
    call(|state| {
        let name = state.buffers.text((name, name_length))?;
        Ok(state.handles.store(store)?.drop_cache(name).into())
    })
}

/// Answers with ten numbers of 8 bytes: the pairs, the bytes, the capacity in pairs and in bytes and the time to live in
/// milliseconds, each -1 for none; then the hits, misses, writes, evictions and expirations.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_figures(cache: u32) -> i32 {
    call(|state| {
        let cache = state.handles.cache(cache)?;
        let counts = cache.stats();
        let size = |size: Option<usize>| size.map_or(-1, usize::cast_signed) as i64;
        let ttl = cache.default_ttl().filter(|&ttl| ttl < Duration::MAX);
        let output = state.output.start();
        for figure in [
            size(Some(cache.len())),
            size(Some(cache.memory())),
            size(cache.capacity_pairs()),
            size(cache.capacity_bytes()),
            ttl.map_or(-1, millis),
            counts.hits.cast_signed(),
            counts.misses.cast_signed(),
            counts.writes.cast_signed(),
            counts.evictions.cast_signed(),
            counts.expirations.cast_signed(),
        ] {
            output.push(&figure.to_le_bytes())?;
        }
        output.finish(10);
        Ok(0)
    })
}

/// Does the verb 0 (insert), 1 (replace) or 2 (upsert) for a pair that is to be shown so many milliseconds: 1 where it took effect,
/// 0 where not.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_write(
    cache: u32,
    verb: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
    milliseconds: f64,
) -> i32 {
    call(|state| {
        let verb = match verb {
            0 => Write::Insert,
            1 => Write::Replace,
            2 => Write::Upsert,
            given => return Err(Failure::Choice { what: "verb", given }.into()),
        };
        let key = state.buffers.bytes((key, key_length))?;
        let value = state.buffers.bytes((value, value_length))?;
        let ttl = ttl(milliseconds)?;
        reserve::ensure(key.len() + value.len())?;
        let cache = state.handles.cache(cache)?;
        Ok(Pairs::Cache(cache).write_for(verb, key, value, ttl)?.into())
    })
}

/// As `twindex_select`, but it does not count as a use of the pair.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_peek(cache: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let Some(value) = state.handles.cache(cache)?.peek(key) else { return Ok(0) };
        let output = state.output.start();
        output.push(&value)?;
        output.finish(0);
        Ok(1)
    })
}

/// Answers with how many milliseconds the pair is still shown, -1 where it does not expire: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_ttl(cache: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let Some(left) = state.handles.cache(cache)?.ttl(key) else { return Ok(0) };
        answer::set_number(left.map_or(-1, millis));
        Ok(1)
    })
}

/// Lets the pair be shown so many milliseconds from now on: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_touch(cache: u32, key: usize, key_length: usize, milliseconds: f64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let ttl = ttl(milliseconds)?;
        let cache = state.handles.cache(cache)?;
        check_key(key)?;
        let Some(value) = cache.peek(key) else { return Ok(0) };
        let ttl = ttl.or(cache.default_ttl()).unwrap_or(Duration::MAX);
        Ok(cache.upsert_for(key, &value, ttl)?.into())
    })
}
