//! Caches. A time to live is in whole milliseconds: negative for that of the cache, infinite for ever.

#![allow(clippy::cast_sign_loss, reason = "what is negative is 0 then, which is no capacity and no time")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twindex::{Cache, CacheOptions, Change, Store, check_key};
use twindex_format::{SavedCache, write_cache};

use crate::block;
use crate::buffers::Place;
use crate::handles::Object;
use crate::state::call;
use crate::{answer, reserve};

/// The time that the host gave last, in milliseconds, or 0.
static NOW: AtomicU64 = AtomicU64::new(0);

/// Gives caches the time, in milliseconds since 1970: theirs until the next call. Caches that were opened before the first call
/// have no clock, so that their pairs cannot expire.
#[unsafe(no_mangle)]
extern "C" fn twindex_set_time(milliseconds: f64) -> i32 {
    NOW.store(milliseconds as u64, Relaxed);
    0
}

fn ttl(milliseconds: f64) -> Option<Duration> {
    if milliseconds.is_nan() || milliseconds < 0.0 {
        None
    } else if milliseconds.is_infinite() {
        Some(Duration::MAX)
    } else {
        Some(Duration::from_millis(milliseconds as u64))
    }
}

/// Without the 128 bits of `as_millis`, which take a kilobyte of code.
fn millis(time: Duration) -> i64 {
    let whole = time.as_secs().saturating_mul(1000);
    whole.saturating_add(u64::from(time.subsec_millis())).cast_signed()
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
        let engine = state.handles.store(store)?;
        let found = engine.find_cache(name);
        let options = match (&found, pairs as usize, bytes as usize) {
            // It stays as it is, but for its codecs, which are compared.
            (Some(_), ..) => CacheOptions::pairs(1),
            (None, 0, 0) => return Ok(0),
            (None, 0, bytes) => CacheOptions::bytes(bytes),
            (None, pairs, _) => CacheOptions::pairs(pairs),
        };
        let options = match ttl(milliseconds) {
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
        let dump = state.buffers.bytes((dump, dump_length))?;
        let engine = state.handles.store(store)?;
        wind(engine);
        let saved = SavedCache::read(dump)?;
        let options = match (pairs as usize, bytes as usize) {
            (0, 0) => saved.options(),
            (0, bytes) => CacheOptions::bytes(bytes),
            (pairs, _) => CacheOptions::pairs(pairs),
        };
        let options = match ttl(milliseconds).or(saved.default_ttl()) {
            Some(ttl) => options.ttl(ttl),
            None => options,
        };
        let cache = saved.load(engine, name, options, time_of_day())?;
        state.handles.open_as_status(Object::Cache { store, cache })
    })
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

/// Writes the pair where `wants` it, which is told whether the key is there: 1 where it did, 0 where not. There is one thread, so
/// nobody comes between.
fn write(cache: u32, key: Place, value: Place, milliseconds: f64, wants: fn(bool) -> bool) -> i32 {
    call(|state| {
        let key = state.buffers.bytes(key)?;
        let value = state.buffers.bytes(value)?;
        reserve::ensure(key.len() + value.len())?;
        let cache = state.handles.cache(cache)?;
        if !wants(cache.contains(key)) {
            check_key(key)?;
            return Ok(0);
        }
        upsert(cache, key, value, milliseconds)?;
        Ok(1)
    })
}

fn upsert(cache: &Cache, key: &[u8], value: &[u8], milliseconds: f64) -> twindex::Result<bool> {
    let ttl = ttl(milliseconds).or(cache.default_ttl()).unwrap_or(Duration::MAX);
    cache.upsert_for(key, value, ttl)
}

/// Changes a pair, in one copy of the code for all that do.
fn alter(
    cache: &Cache,
    key: &[u8],
    change: &mut dyn FnMut(Option<&[u8]>) -> Change,
) -> twindex::Result<bool> {
    cache.alter(key, change)
}

/// Adds the pair where the key is absent: 1, or 0 where it is there.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_insert(
    cache: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
    ttl: f64,
) -> i32 {
    write(cache, (key, key_length), (value, value_length), ttl, |is_there| !is_there)
}

/// Replaces the value where the key is present: 1, or 0 where it is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_replace(
    cache: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
    ttl: f64,
) -> i32 {
    write(cache, (key, key_length), (value, value_length), ttl, |is_there| is_there)
}

/// Gives the key this value, present or not: 1.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_upsert(
    cache: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
    ttl: f64,
) -> i32 {
    write(cache, (key, key_length), (value, value_length), ttl, |_| true)
}

/// Removes the pair: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_delete(cache: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        Ok(alter(state.handles.cache(cache)?, key, &mut |_| Change::Delete)?.into())
    })
}

/// Answers with the key's value: 1, or 0 where the key is absent. It counts as a use of the pair.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_select(cache: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        // The value stays where it is until a call changes the cache.
        let found = state.handles.cache(cache)?.select_with(key, |value| answer::set_bytes(value, 0));
        Ok(found.is_some().into())
    })
}

/// As `twindex_cache_select`, but it does not count as a use of the pair.
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
        let cache = state.handles.cache(cache)?;
        check_key(key)?;
        let Some(value) = cache.peek(key) else { return Ok(0) };
        Ok(upsert(cache, key, &value, milliseconds)?.into())
    })
}

/// Adds `by` to the value, a decimal integer in ASCII, and answers with the sum as a number.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_increment(cache: u32, key: usize, key_length: usize, by: i64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        answer::set_number(state.handles.cache(cache)?.increment(key, by)?);
        Ok(0)
    })
}

/// As `twindex_compare_and_swap`. A pair that was there keeps the time at which it expires.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_compare_and_swap(
    cache: u32,
    key: usize,
    key_length: usize,
    expected: usize,
    expected_length: usize,
    new: usize,
    new_length: usize,
) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let expected = state.buffers.optional_bytes((expected, expected_length))?;
        let new = state.buffers.optional_bytes((new, new_length))?;
        reserve::ensure(key.len() + new.map_or(0, <[u8]>::len))?;
        let mut is_expected = false;
        alter(state.handles.cache(cache)?, key, &mut |old| {
            is_expected = old == expected;
            match new {
                Some(new) if is_expected => Change::Set(new.to_vec()),
                None if is_expected => Change::Delete,
                _ => Change::Keep,
            }
        })?;
        Ok(is_expected.into())
    })
}
