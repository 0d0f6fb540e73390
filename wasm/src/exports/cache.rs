//! Caches, which belong to no store. A time of -1 is none or that of the cache.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use twindex::Write;
use twindex_cache::{Cache, CacheOptions, Cause, MAX_TTL, Saved};

use crate::block;
use crate::cached::{Cached, Evicted, millis};
use crate::failure::{Failed, Failure};
use crate::handles::{Handles, Object};
use crate::{reserve, time};

/// Stands for no capacity.
const NO_LIMIT: u64 = u64::MAX;

/// More than an empty cache takes.
const EMPTY_BYTES: usize = 64 * 1024;

/// The figure of a limit or time that a cache does not have.
const NONE: i64 = -1;

/// Two bounds, of which 2^64 - 1 is none.
type Bounds = [u64; 2];

/// The time to live, the time to idle, and how long stale pairs stay.
type Times = [Option<Duration>; 3];

/// Opens the cache that `make` makes of `options` with what the host gives in their place.
fn open(
    handles: &mut Handles,
    mut options: CacheOptions,
    [capacity, entries]: Bounds,
    [ttl, idle, stale]: Times,
    listens: u32,
    make: impl FnOnce(CacheOptions) -> twindex_cache::Result<Cache>,
) -> Result<i32, Failed> {
    // More than there is, and less than what stands for none.
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX).min(usize::MAX - EMPTY_BYTES);
    if capacity != NO_LIMIT {
        options = options.and_capacity(size(capacity));
    }
    if entries != NO_LIMIT {
        options = options.and_max_entries(size(entries));
    }
    if let Some(ttl) = ttl {
        options = options.ttl(ttl);
    }
    if let Some(idle) = idle.filter(|&idle| idle != Duration::MAX) {
        options = options.time_to_idle(idle);
    }
    if let Some(stale) = stale {
        options = options.stale_for(if stale == Duration::MAX { MAX_TTL } else { stale });
    }
    if time::now() > 0 {
        options = options.clock(time::now);
    }
    let evicted = Evicted::default();
    if listens != 0 {
        options = listen(options, &evicted);
    }
    handles.open_as_status(Object::Cache(Cached(make(options)?, evicted)))
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

exports! {
    fn twindex_cache_new(
        state,
        capacity: u64,
        max_entries: u64,
        ttl: ttl,
        time_to_idle: ttl,
        stale_for: ttl,
        label: bytes,
        listens: u32,
    ) {
        reserve::ensure(EMPTY_BYTES)?;
        let (options, times) = (CacheOptions::default().label(label), [ttl, time_to_idle, stale_for]);
        open(&mut state.handles, options, [capacity, max_entries], times, listens, Cache::new)?
    }

    fn twindex_cache_save(state, cache: u32) {
        let output = state.output.start();
        state.handles.cache(cache)?.0.save_at(&mut *output, Duration::from_millis(time::now()))?;
        output.finish(0);
    }

    fn twindex_cache_load(
        state,
        saved: bytes,
        capacity: u64,
        max_entries: u64,
        ttl: ttl,
        time_to_idle: ttl,
        stale_for: ttl,
        listens: u32,
    ) {
        reserve::ensure(EMPTY_BYTES)?;
        // The same type of reader as a dump of a store has, so that the module has one copy of the code.
        let mut bytes = saved;
        let saved = Saved::read(&mut bytes)?;
        let (options, times) = (saved.options(), [ttl, time_to_idle, stale_for]);
        let load = |options| saved.load_at(options, Duration::from_millis(time::now()));
        open(&mut state.handles, options, [capacity, max_entries], times, listens, load)?
    }

    fn twindex_cache_shrink(state, cache: u32, capacity: u64) {
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        state.handles.cache(cache)?.0.shrink_to(capacity)?;
    }

    fn twindex_cache_label(state, cache: u32) {
        state.output.start().push(state.handles.cache(cache)?.0.label())?;
        state.output.finish(0);
    }

    fn twindex_cache_stats(state, cache: u32) {
        let cache = &state.handles.cache(cache)?.0;
        let counts = cache.stats();
        let size = |size: Option<usize>| size.map_or(NONE, |size| (size as u64).cast_signed());
        let time = |time: Option<Duration>| time.map_or(NONE, millis);
        state.output.figures(&[
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
        ])?;
    }

    fn twindex_cache_evicted(state, cache: u32) {
        if let Ok(mut evicted) = state.handles.cache(cache)?.1.lock() {
            state.output = mem::take(&mut *evicted);
        }
        state.output.finish(0);
    }

    fn twindex_cache_write(state, cache: u32, verb: u32, key: bytes, value: bytes, ttl: ttl) {
        let verb = match verb {
            0 => Write::Insert,
            1 => Write::Replace,
            2 => Write::Upsert,
            given => return Err(Failure::Choice { what: "verb", given }.into()),
        };
        state.handles.cache(cache)?.write(verb, key, value, ttl)?
    }

    fn twindex_cache_peek(state, cache: u32, key: bytes, stale: u32) {
        let output = state.output.start();
        let cache = &state.handles.cache(cache)?.0;
        let show = |value: &[u8]| output.push(value);
        let shown = if stale == 0 { cache.peek_with(key, show) } else { cache.peek_stale_with(key, show) };
        let is_there = shown.transpose()?.is_some();
        output.finish(0);
        is_there
    }
}
