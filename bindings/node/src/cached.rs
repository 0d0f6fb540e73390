//! Caches, and how all threads of the process find the same one by its name.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Cause};

use crate::inbox::Inbox;
use crate::shared::{Refusal, lock};

/// The options of a cache that are numbers, as JavaScript gave them: times are in milliseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Numbers(pub(crate) [Option<f64>; NAMES.len()]);

const NAMES: [&str; 5] = ["capacity", "maxEntries", "ttl", "timeToIdle", "staleFor"];

/// How long a pair lives: `None` is the cache's time to live, in a table for ever, and so is [`Duration::MAX`].
pub(crate) type Ttl = Option<Duration>;

/// A time that JavaScript gave; infinity is for ever.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is above zero")]
pub(crate) fn duration(millis: f64) -> Duration {
    if millis.is_finite() { Duration::from_millis(millis as u64) } else { Duration::MAX }
}

impl Numbers {
    #[expect(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is a count")]
    pub(crate) fn add_to(self, mut options: CacheOptions) -> CacheOptions {
        let Self([capacity, entries, times @ ..]) = self;
        if let Some(capacity) = capacity {
            options = options.and_capacity(capacity as usize);
        }
        if let Some(entries) = entries {
            options = options.and_max_entries(entries as usize);
        }
        let [ttl, idle, stale] = times.map(|time| time.map(duration));
        if let Some(ttl) = ttl {
            options = options.ttl(ttl);
        }
        // Without such a time a pair may idle for ever.
        if let Some(idle) = idle.filter(|&idle| idle < Duration::MAX) {
            options = options.time_to_idle(idle);
        }
        match stale {
            Some(stale) => options.stale_for(stale.min(twindex_cache::MAX_TTL)),
            None => options,
        }
    }

    /// That nothing is asked for that is not so.
    fn check(self, name: &str, is: Self) -> Result<(), Refusal> {
        for (option, (asked, is)) in NAMES.iter().zip(self.0.iter().zip(is.0)) {
            if asked.is_some() && *asked != is {
                let shown = |number: Option<f64>| match number {
                    None => "none".into(),
                    Some(f64::INFINITY) => "Infinity".into(),
                    Some(number) => number.to_string(),
                };
                return Err(Refusal::Options(format!(
                    "the shared cache \"{name}\" has {option} {}, not {}",
                    shown(is),
                    shown(*asked)
                )));
            }
        }
        Ok(())
    }
}

static NAMED: Mutex<BTreeMap<String, Named>> = Mutex::new(BTreeMap::new());

struct Named {
    cache: Cache,
    numbers: Numbers,
    handles: usize,
}

/// A thread's handle of a cache that is its own, or one that others find.
pub(crate) struct Cached {
    pub(crate) cache: Cache,
    name: Option<String>,
    /// There in the handle that made the cache, if that has a listener.
    pub(crate) evicted: Option<Arc<Evicted>>,
}

impl Cached {
    /// The process's cache of this name, or one that no other thread finds.
    pub(crate) fn open(
        name: Option<String>,
        numbers: Numbers,
        label: &[u8],
        inbox: Option<Arc<Inbox>>,
    ) -> Result<Self, Refusal> {
        let make = |inbox| {
            let (options, evicted) = listen(numbers.add_to(CacheOptions::default()).label(label), inbox);
            Ok::<_, Refusal>((Cache::new(options)?, evicted))
        };
        let Some(name) = name else {
            let (cache, evicted) = make(inbox)?;
            return Ok(Self { cache, name: None, evicted });
        };
        let mut all = lock(&NAMED);
        if let Some(named) = all.get_mut(&name) {
            numbers.check(&name, named.numbers)?;
            named.handles += 1;
            return Ok(Self { cache: named.cache.clone(), name: Some(name), evicted: None });
        }
        let (cache, evicted) = make(inbox)?;
        all.insert(name.clone(), Named { cache: cache.clone(), numbers, handles: 1 });
        Ok(Self { cache, name: Some(name), evicted })
    }

    /// A cache that `load` makes with these options, under a name that no other one has.
    #[expect(clippy::cast_precision_loss, reason = "JavaScript gave the limits as such numbers")]
    pub(crate) fn load(
        name: Option<String>,
        numbers: Numbers,
        saved: CacheOptions,
        inbox: Option<Arc<Inbox>>,
        load: impl FnOnce(CacheOptions) -> Result<Cache, Refusal>,
    ) -> Result<Self, Refusal> {
        let (options, evicted) = listen(numbers.add_to(saved), inbox);
        let cache = load(options)?;
        if let Some(name) = &name {
            let mut all = lock(&NAMED);
            if all.contains_key(name) {
                return Err(Refusal::Options(format!(
                    "there is a shared cache \"{name}\": new Cache({{ shared: '{name}' }}) opens it"
                )));
            }
            let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
            let limits = [cache.capacity(), cache.max_entries()].map(|limit| limit.map(|limit| limit as f64));
            let times = [cache.default_ttl(), cache.time_to_idle(), cache.stale_for()].map(millis);
            let numbers = Numbers([limits[0], limits[1], times[0], times[1], times[2]]);
            all.insert(name.clone(), Named { cache: cache.clone(), numbers, handles: 1 });
        }
        Ok(Self { cache, name, evicted })
    }

    pub(crate) fn is_named(name: &str) -> bool {
        lock(&NAMED).contains_key(name)
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        let Some(name) = &self.name else { return };
        let mut all = lock(&NAMED);
        if let Some(named) = all.get_mut(name) {
            named.handles -= 1;
            if named.handles == 0 {
                // This handle still has the cache, which goes when the lock is free.
                all.remove(name);
            }
        }
    }
}

/// A pair that is gone, and why.
pub(crate) type Gone = (Vec<u8>, Vec<u8>, Cause);

/// What a listener is still to be told, in the thread that made the cache.
pub(crate) struct Evicted {
    gone: Mutex<Untold>,
    inbox: Arc<Inbox>,
}

#[derive(Default)]
struct Untold {
    pairs: VecDeque<Gone>,
    bytes: usize,
}

/// What pairs may wait that other threads have evicted, in bytes. Of those beyond it the listener is not told: its thread is
/// busy, and they would take any memory.
const MOST_UNTOLD: usize = 16 << 20;
/// So many bytes are taken at once.
const TAKEN_AT_ONCE: usize = 1 << 20;

fn size((key, value, _): &Gone) -> usize {
    size_of::<Gone>() + key.len() + value.len()
}

/// Options with a listener that tells this inbox. Once the handle is gone that the listener is of, it tells nobody.
fn listen(options: CacheOptions, inbox: Option<Arc<Inbox>>) -> (CacheOptions, Option<Arc<Evicted>>) {
    let Some(inbox) = inbox else { return (options, None) };
    let evicted = Arc::new(Evicted { gone: Mutex::default(), inbox });
    let handle = Arc::downgrade(&evicted);
    let listener = move |key: &[u8], value: &[u8], cause| {
        let Some(evicted) = handle.upgrade() else { return };
        let mut untold = lock(&evicted.gone);
        if untold.bytes < MOST_UNTOLD || evicted.inbox.is_here() {
            let gone = (key.to_vec(), value.to_vec(), cause);
            untold.bytes += size(&gone);
            untold.pairs.push_back(gone);
        }
        drop(untold);
        evicted.inbox.call();
    };
    (options.eviction_listener(listener), Some(evicted))
}

impl Evicted {
    pub(crate) fn take(&self) -> Vec<Gone> {
        let mut untold = lock(&self.gone);
        let (mut taken, before) = (Vec::new(), untold.bytes);
        while before - untold.bytes < TAKEN_AT_ONCE
            && let Some(gone) = untold.pairs.pop_front()
        {
            untold.bytes -= size(&gone);
            taken.push(gone);
        }
        taken
    }
}
