//! Caches in files and bytes. Where the last argument is `isLater`, the answer is a promise if that is 1.

use std::io::{Cursor, Read};
use std::time::SystemTime;

use twindex::{BYTES, Cache, CacheOptions};
use twindex_durable::format::{SavedCache, write_cache};

use super::task::{self, Outcome};
use crate::call::Call;
use crate::fault::{Answer, Fault};
use crate::input::append;
use crate::memory::Growing;
use crate::pairs::Pairs;
use crate::shared::Refusal;
use crate::state::State;

/// `saveCache(cache, path, isLater)`: writes it to a file, which is replaced in one step.
pub(crate) fn save_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (cache, path) = (state.parts::<Cache>(call.number(0))?.table.thing.clone(), call.string(1)?);
    let task = move || {
        twindex_durable::save_cache(&cache, path)?;
        Ok(Outcome::Nothing)
    };
    task::run(call.js, state, call.flag(2), Box::new(task))
}

/// `dumpCache(cache, isLater)`: a `Buffer`.
pub(crate) fn dump_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let cache = state.parts::<Cache>(call.number(0))?.table.thing.clone();
    let task = move || {
        let mut bytes = Growing::default();
        write_cache(&cache, SystemTime::now(), &mut bytes, &mut |_| {})?;
        Ok(Outcome::Bytes(bytes.0))
    };
    task::run(call.js, state, call.flag(1), Box::new(task))
}

/// What a cache is loaded from.
enum Source {
    Bytes(Vec<u8>),
    Path(String),
}

impl Source {
    fn read(self) -> twindex::Result<SavedCache<Box<dyn Read + Send>>> {
        match self {
            Self::Bytes(bytes) => SavedCache::read(Box::new(Cursor::new(bytes))),
            Self::Path(path) => twindex_durable::read_cache(path),
        }
    }
}

/// `loadCache(store, name, source, capacity, ttl, keys, values, isLater)`: loads a cache from bytes or from the file with this
/// path, into a store. The capacity is in pairs, or in bytes where it is negative. The capacity, the time to live and the codecs are those that were saved, where they are `undefined`.
#[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is a count")]
pub(crate) fn load_cache<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (store, name) = (state.store(call.number(0))?.in_memory().clone(), call.string(1)?);
    let source = match call.js.get_bytes(call.argument(2)) {
        Some(bytes) => {
            let mut copy = Vec::new();
            append(&mut copy, bytes)?;
            Source::Bytes(copy)
        }
        None => Source::Path(call.string(2)?),
    };
    let (capacity, ttl) = (call.js.get_f64(call.argument(3)), Cache::lifetime(call.js, call.argument(4)));
    // All caches may be opened as bytes.
    let named = |position| Ok::<_, Fault<'c>>(call.optional(position)?.unwrap_or_else(|| BYTES.into()));
    let (keys, values) = (named(5)?, named(6)?);
    let task = move || -> Result<Outcome, Refusal> {
        let saved = source.read()?;
        let options = match capacity {
            Some(pairs) if pairs > 0.0 => CacheOptions::pairs(pairs as usize),
            Some(bytes) => CacheOptions::bytes(-bytes as usize),
            None => saved.options(),
        };
        let options = match ttl.or(saved.default_ttl()) {
            Some(ttl) => options.ttl(ttl),
            None => options,
        };
        saved.load(&store, &name, options.codecs(&keys, &values), SystemTime::now())?;
        Ok(Outcome::Nothing)
    };
    task::run(call.js, state, call.flag(7), Box::new(task))
}
