//! Caches, which belong to no store. A time of -1 is none or that of the cache.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use twindex::Write;
use twindex_cache::{Cache, CacheOptions, Cause, MAX_TTL, Saved};

use crate::block;
use crate::cached::{Cached, Evicted, millis};
use crate::failure::{Failed, Failure};
use crate::handles::Object;
use crate::reserve;
use crate::state::call;
use crate::time::{self, ttl};

/// Stands for no capacity.
const NO_LIMIT: u64 = u64::MAX;

/// More than an empty cache takes.
const EMPTY_BYTES: usize = 64 * 1024;

/// Options as the host gives them: 2^64 - 1 is no capacity, and -1 no time.
struct Given {
    capacity: u64,
    entries: u64,
    ttl: f64,
    idle: f64,
    stale: f64,
}

impl Given {
    /// Puts what is given in the place of what `options` say.
    fn read(&self, mut options: CacheOptions) -> Result<CacheOptions, Failed> {
        // More than there is, and less than what stands for none.
        let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX).min(usize::MAX - EMPTY_BYTES);
        if self.capacity != NO_LIMIT {
            options = options.and_capacity(size(self.capacity));
        }
        if self.entries != NO_LIMIT {
            options = options.and_max_entries(size(self.entries));
        }
        if let Some(ttl) = ttl(self.ttl)? {
            options = options.ttl(ttl);
        }
        if let Some(idle) = ttl(self.idle)?.filter(|&idle| idle != Duration::MAX) {
            options = options.time_to_idle(idle);
        }
        if let Some(stale) = ttl(self.stale)? {
            options = options.stale_for(if stale == Duration::MAX { MAX_TTL } else { stale });
        }
        if time::now() > 0 {
            options = options.clock(time::now);
        }
        Ok(options)
    }
}

/// Has the pairs that a cache evicts kept for `twindex_cache_evicted`.
fn listen(options: CacheOptions, evicted: &Evicted) -> CacheOptions {
    let evicted = Arc::clone(evicted);
    options.eviction_listener(move |key, value, cause| {
        let cause = u32::from(cause != Cause::Size);
        let Ok(mut evicted) = evicted.lock() else { return };
        // Where there is no memory the host does not hear of this one.
        let before = evicted.len();
        let pushed = evicted.push(&cause.to_le_bytes());
        if pushed.and_then(|()| block::push_pair(&mut evicted, key, value)).is_err() {
            evicted.truncate(before);
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_new(
    capacity: u64,
    max_entries: u64,
    ttl: f64,
    time_to_idle: f64,
    stale_for: f64,
    label: usize,
    label_length: usize,
    listens: u32,
) -> i32 {
    call(|state| {
        reserve::ensure(EMPTY_BYTES)?;
        let given = Given { capacity, entries: max_entries, ttl, idle: time_to_idle, stale: stale_for };
        let label = state.buffers.bytes((label, label_length))?;
        let options = given.read(CacheOptions::default().label(label))?;
        let evicted = Evicted::default();
        let options = if listens == 0 { options } else { listen(options, &evicted) };
        state.handles.open_as_status(Object::Cache(Cached(Cache::new(options)?, evicted)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_save(cache: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        state.handles.cache(cache)?.0.save_at(&mut *output, Duration::from_millis(time::now()))?;
        output.finish(0);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_load(
    saved: usize,
    saved_length: usize,
    capacity: u64,
    max_entries: u64,
    ttl: f64,
    time_to_idle: f64,
    stale_for: f64,
    listens: u32,
) -> i32 {
    call(|state| {
        reserve::ensure(EMPTY_BYTES)?;
        // The same type of reader as a dump of a store has, so that the module has one copy of the code.
        let mut bytes = state.buffers.bytes((saved, saved_length))?;
        let saved = Saved::read(&mut bytes)?;
        let given = Given { capacity, entries: max_entries, ttl, idle: time_to_idle, stale: stale_for };
        let options = given.read(saved.options())?;
        let evicted = Evicted::default();
        let options = if listens == 0 { options } else { listen(options, &evicted) };
        let cache = saved.load_at(options, Duration::from_millis(time::now()))?;
        state.handles.open_as_status(Object::Cache(Cached(cache, evicted)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_shrink(cache: u32, capacity: u64) -> i32 {
    call(|state| {
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        state.handles.cache(cache)?.0.shrink_to(capacity)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_label(cache: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        output.push(state.handles.cache(cache)?.0.label())?;
        output.finish(0);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_stats(cache: u32) -> i32 {
    call(|state| {
        let cache = &state.handles.cache(cache)?.0;
        let counts = cache.stats();
        let size = |size: Option<usize>| size.map_or(-1, usize::cast_signed) as i64;
        let time = |time: Option<Duration>| time.map_or(-1, millis);
        let figures = [
            size(Some(counts.entries)),
            size(Some(counts.memory)),
            size(cache.capacity()),
            size(cache.max_entries()),
            time(cache.default_ttl()),
            time(cache.time_to_idle()),
            time(cache.stale_for()),
            counts.hits.cast_signed(),
            counts.misses.cast_signed(),
            counts.writes.cast_signed(),
            counts.evictions.cast_signed(),
            counts.expirations.cast_signed(),
            counts.rejected.cast_signed(),
        ];
        let output = state.output.start();
        output.push(figures.map(i64::to_le_bytes).as_flattened())?;
        output.finish(figures.len());
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_evicted(cache: u32) -> i32 {
    call(|state| {
        if let Ok(mut evicted) = state.handles.cache(cache)?.1.lock() {
            state.output = mem::take(&mut *evicted);
        }
        state.output.finish(0);
        Ok(0)
    })
}

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
        Ok(state.handles.cache(cache)?.write(verb, key, value, ttl)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cache_peek(cache: u32, key: usize, key_length: usize, stale: u32) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let output = state.output.start();
        let cache = &state.handles.cache(cache)?.0;
        let show = |value: &[u8]| output.push(value);
        let shown = if stale == 0 { cache.peek_with(key, show) } else { cache.peek_stale_with(key, show) };
        let is_there = shown.transpose()?.is_some();
        output.finish(0);
        Ok(is_there.into())
    })
}
