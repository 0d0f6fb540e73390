//! Caches, which belong to no store. A time is in whole milliseconds: -1 for none or that of the cache, infinite for ever.

#![allow(
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "what is negative is refused before, but for -1"
)]

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use twindex::Write;
use twindex_cache::{Cache, CacheOptions, Cause, MAX_TTL, Saved, Ttl};

use crate::answer;
use crate::block;
use crate::cached::{Cached, Evicted};
use crate::failure::{Failed, Failure};
use crate::handles::Object;
use crate::reserve;
use crate::state::call;

/// The time that the host gave last, in milliseconds, or 0.
static NOW: AtomicU64 = AtomicU64::new(0);

/// Stands for no capacity.
const NO_LIMIT: u64 = u64::MAX;

/// More than an empty cache takes.
const EMPTY_BYTES: usize = 64 * 1024;

/// Gives caches the time, in milliseconds since 1970: theirs until the next call. Caches that were made before the first call
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

/// A time to live: -1 for that of the cache, infinite for ever.
fn ttl(milliseconds: f64) -> Result<Option<Duration>, Failed> {
    Ok(if milliseconds == -1.0 {
        None
    } else if milliseconds == f64::INFINITY {
        Some(Duration::MAX)
    } else {
        Some(Duration::from_millis(figure("a time", milliseconds)?))
    })
}

/// As an answer. Without the 128 bits of `as_millis`, which take a kilobyte of code.
fn millis(time: Duration) -> i64 {
    let whole = time.as_secs().saturating_mul(1000).saturating_add(time.subsec_millis().into());
    i64::try_from(whole).unwrap_or(i64::MAX)
}

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
        if NOW.load(Relaxed) > 0 {
            options = options.clock(|| NOW.load(Relaxed));
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

/// Makes a cache: its handle. `capacity` is in bytes of memory and `max_entries` in pairs, each 2^64 - 1 for none; `ttl`,
/// `time_to_idle` and `stale_for` are -1 for none. The label is saved with the cache. With `listens` other than 0, `twindex_cache_evicted` tells what it evicts.
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

/// Answers with the cache as bytes, which `twindex_cache_load` reads in any language.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_save(cache: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        state.handles.cache(cache)?.0.save_at(&mut *output, Duration::from_millis(NOW.load(Relaxed)))?;
        output.finish(0);
        Ok(0)
    })
}

/// Makes a cache of the bytes of a saved one: its handle. What is given is in the place of what was saved.
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
        let cache = saved.load_at(options, Duration::from_millis(NOW.load(Relaxed)))?;
        state.handles.open_as_status(Object::Cache(Cached(cache, evicted)))
    })
}

/// Changes the capacity in bytes. What does not fit is evicted before this returns.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_shrink(cache: u32, capacity: u64) -> i32 {
    call(|state| {
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        state.handles.cache(cache)?.0.shrink_to(capacity)?;
        Ok(0)
    })
}

/// Answers with the label of a cache.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_label(cache: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        output.push(state.handles.cache(cache)?.0.label())?;
        output.finish(0);
        Ok(0)
    })
}

/// Answers with thirteen numbers of 8 bytes: the pairs and the bytes; the capacity and the most pairs, the times to live, to
/// idle and to be stale in milliseconds, each -1 for none; then the hits, misses, writes, evictions, expirations and rejected writes.
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

/// Answers with the pairs that a cache made with `listens` has evicted since the last call of this, each behind a cause of 4
/// bytes: 0 for want of room, 1 when its time was over.
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

/// Does the verb 0 (insert), 1 (replace) or 2 (upsert) for a pair with a time to live in milliseconds: 1 where it took effect, 0 where
/// not.
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

/// As `twindex_select`, but it does not count as a use of the pair. With `stale` other than 0 it answers also with a value that has
/// expired, as long as `stale_for` keeps it.
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

/// Answers with how many milliseconds the pair still lives, -1 where it does not expire: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_ttl(cache: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let left = match state.handles.cache(cache)?.0.ttl(key) {
            Ttl::Absent => return Ok(0),
            Ttl::Forever => -1,
            Ttl::Left(left) => millis(left),
        };
        answer::set_number(left);
        Ok(1)
    })
}

/// Lets the pair live so many milliseconds from now on: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_cache_touch(cache: u32, key: usize, key_length: usize, milliseconds: f64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let ttl = ttl(milliseconds)?;
        let cache = state.handles.cache(cache)?;
        // The cache copies the value on the way.
        cache.peek(key, &mut |value| reserve::ensure(value.len()))?;
        Ok(cache.0.touch(key, ttl)?.into())
    })
}
