//! One caller computes a value, and the others wait for it.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{fmt, mem};

use twindex::parts::lock;

use super::sync::{Condvar, Mutex, ThreadId, this_thread};
use super::{Age, Cache, Error, Result, State, Writer, check};

/// Why [`Cache::get_or_compute`] has no value.
#[derive(Debug)]
pub enum ComputeError<E> {
    /// The computation failed. All callers that waited for it have the same error.
    Failed(Arc<E>),
    /// The cache refused the key, the value or the time to live; or the computation waits for itself.
    Cache(Error),
}

impl<E: fmt::Display> fmt::Display for ComputeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Cache(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ComputeError<E> {}

impl<E> From<Error> for ComputeError<E> {
    fn from(error: Error) -> Self {
        Self::Cache(error)
    }
}

/// In what a computation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leader {
    /// In the thread that begins it. If it waits for a value whose computation waits for this thread, that is [`Error::Circle`].
    Thread,
    /// In a task, or anywhere else. Such circles are not found.
    Task,
}

/// The result of [`Cache::begin`]: a value, or what the caller must do.
#[derive(Debug)]
pub enum Begun {
    /// The value is there.
    Value(Vec<u8>),
    /// The caller computes the value.
    Lead(Lead),
    /// Another caller computes the value.
    Wait(Waiter),
}

/// How a computation ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// With this value.
    Value(Arc<[u8]>),
    /// With this error of the host: [`Lead::fail`].
    Failed(Arc<dyn Any + Send + Sync>),
    /// Its caller gave up. Begin again.
    Abandoned,
}

/// The computations under way, by key. They are behind a trait, so that a program without any has no code for them.
pub(super) trait Flights: Send {
    fn get(&self, key: &[u8]) -> Option<&Arc<Flight>>;
    fn insert(&mut self, key: &[u8], flight: Arc<Flight>);
    fn remove(&mut self, key: &[u8]);
}

impl Flights for BTreeMap<Box<[u8]>, Arc<Flight>> {
    fn get(&self, key: &[u8]) -> Option<&Arc<Flight>> {
        self.get(key)
    }

    fn insert(&mut self, key: &[u8], flight: Arc<Flight>) {
        self.insert(key.into(), flight);
    }

    fn remove(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

/// A computation under way. The state has it as long as its value is to be kept: a write or a removal of its key takes it out.
#[derive(Debug)]
pub(super) struct Flight {
    /// The thread that computes. A task has none.
    leader: Option<ThreadId>,
    progress: Mutex<Progress>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    outcome: Option<Outcome>,
    /// The wakers of the tasks that wait, each with its number.
    wakers: BTreeMap<u64, Waker>,
}

impl State {
    fn flight(&self, key: &[u8]) -> Option<&Arc<Flight>> {
        self.flights.as_ref()?.get(key)
    }
}

impl Writer<'_> {
    /// A value that is being computed for this key will not be kept.
    pub(super) fn forget(&mut self, key: &[u8]) {
        if let Some(flights) = &mut self.state.flights {
            flights.remove(key);
        }
    }
}

/// The threads that wait, each with the flight that it waits for. It is a list for all caches, since computations of one may
/// ask another one.
#[cfg(not(twindex_shuttle))]
static WAITING: Mutex<Waiting> = Mutex::new(Vec::new());
#[cfg(twindex_shuttle)]
shuttle::lazy_static! {
    static ref WAITING: Mutex<Waiting> = Mutex::new(Vec::new());
}

type Waiting = Vec<(ThreadId, Arc<Flight>)>;

/// The thread is in the list for as long as this lives.
struct Waits(ThreadId);

impl Waits {
    /// Begins to wait for a flight, unless the thread that computes it waits for us. A thread whose flight has landed waits for
    /// nobody, even if it does not run yet.
    fn begin(flight: &Arc<Flight>) -> Result<Self> {
        let (me, mut all) = (this_thread(), lock(&WAITING));
        let mut last = Some(Arc::clone(flight));
        while let Some(leader) =
            last.as_ref().filter(|flight| flight.outcome().is_none()).and_then(|flight| flight.leader)
        {
            if leader == me {
                return Err(Error::Circle);
            }
            last = all.iter().find(|(thread, _)| *thread == leader).map(|(_, flight)| Arc::clone(flight));
        }
        all.push((me, Arc::clone(flight)));
        Ok(Self(me))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        lock(&WAITING).retain(|(thread, _)| *thread != self.0);
    }
}

impl Flight {
    fn land(&self, outcome: Outcome) {
        let mut progress = lock(&self.progress);
        progress.outcome = Some(outcome);
        let wakers = mem::take(&mut progress.wakers);
        drop(progress);
        self.landed.notify_all();
        crate::call_all(wakers.into_values(), Waker::wake);
    }

    fn outcome(&self) -> Option<Outcome> {
        lock(&self.progress).outcome.clone()
    }
}

/// Waits for the computation of another caller: as a thread by [`wait`](Self::wait), or as a future.
#[derive(Debug)]
pub struct Waiter {
    flight: Arc<Flight>,
    /// It has a number once its waker is kept.
    number: Option<u64>,
}

impl Waiter {
    /// How the computation ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.flight.outcome()
    }

    /// Waits for the end, as a thread.
    pub fn wait(&self) -> Result<Outcome> {
        loop {
            if let Some(outcome) = self.wait_while(None)? {
                return Ok(outcome);
            }
        }
    }

    /// Waits for the end, as a thread, and not much longer than so long. `None` if the computation goes on.
    pub fn wait_for(&self, time: Duration) -> Result<Option<Outcome>> {
        self.wait_while(Some(time))
    }

    /// Waits until somebody wakes this thread, which may be too early.
    fn wait_while(&self, time: Option<Duration>) -> Result<Option<Outcome>> {
        let flight = &self.flight;
        if let Some(outcome) = flight.outcome() {
            return Ok(Some(outcome));
        }
        let _waits = Waits::begin(flight)?;
        if cfg!(all(target_family = "wasm", not(target_feature = "atomics"))) {
            // There is no other thread that could compute.
            return Err(Error::Circle);
        }
        let mut progress = lock(&flight.progress);
        if progress.outcome.is_none() {
            let poisoned = std::sync::PoisonError::into_inner;
            progress = match time {
                None => flight.landed.wait(progress).unwrap_or_else(poisoned),
                Some(time) => flight
                    .landed
                    .wait_timeout(progress, time)
                    .map_or_else(|error| error.into_inner().0, |woken| woken.0),
            };
        }
        Ok(progress.outcome.clone())
    }
}

impl Future for Waiter {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let Self { flight, number } = &mut *self;
        let mut progress = lock(&flight.progress);
        if let Some(outcome) = &progress.outcome {
            return Poll::Ready(outcome.clone());
        }
        let wakers = &mut progress.wakers;
        let number = *number.get_or_insert_with(|| wakers.last_key_value().map_or(0, |(last, _)| last + 1));
        let before = wakers.insert(number, context.waker().clone());
        // To drop a waker may drop its task, and that another future of this flight.
        drop(progress);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let waker = lock(&self.flight.progress).wakers.remove(&number);
        drop(waker);
    }
}

/// The duty to compute a value. If it is dropped, the computation is abandoned, and another caller computes.
#[derive(Debug)]
pub struct Lead {
    cache: Cache,
    key: Box<[u8]>,
    flight: Arc<Flight>,
    has_ended: bool,
}

impl Lead {
    /// The key whose value is to be computed.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether the cache would store the value: the key was not written or removed since the computation began.
    pub fn stands(&self) -> bool {
        let flight = &self.flight;
        let state = lock(&self.cache.inner.state);
        state.flight(&self.key).is_some_and(|other| Arc::ptr_eq(other, flight))
    }

    /// Ends the computation with a value. All that wait get it. Returns whether the cache stored it: not if the key was written
    /// or removed since the computation began, or if there is no room.
    ///
    /// `ttl` is how long it lives: `None` is the cache's time to live, [`Duration::MAX`] for ever. If the time or the value
    /// is refused, the computation is abandoned.
    pub fn end(mut self, value: impl AsRef<[u8]>, ttl: Option<Duration>) -> Result<bool> {
        let (value, ttl) = (value.as_ref(), self.cache.life(ttl)?);
        check(&self.key, value)?;
        let (key, hash) = (self.key.clone(), self.cache.inner.hash(&self.key));
        Ok(self.land(Outcome::Value(value.into()), |writer| writer.upsert(&key, hash, value, ttl)))
    }

    /// Ends the computation with an error. All that wait get it, and nothing is cached.
    pub fn fail(mut self, error: Arc<dyn Any + Send + Sync>) {
        self.land(Outcome::Failed(error), |_| false);
    }

    fn finish<V: AsRef<[u8]>, E: Send + Sync + 'static>(
        self,
        computed: std::result::Result<V, E>,
        ttl: Option<Duration>,
    ) -> std::result::Result<Vec<u8>, ComputeError<E>> {
        match computed {
            Ok(value) => {
                self.end(&value, ttl)?;
                Ok(value.as_ref().to_vec())
            }
            Err(error) => {
                let error = Arc::new(error);
                self.fail(Arc::clone(&error) as _);
                Err(ComputeError::Failed(error))
            }
        }
    }

    /// Ends the flight, and does something as the writer in the same step if nothing has ended it before. Waiters go on also
    /// if a listener panics.
    fn land(&mut self, outcome: Outcome, keep: impl FnOnce(&mut Writer<'_>) -> bool) -> bool {
        struct Land<'l>(&'l Flight, Option<Outcome>);
        impl Drop for Land<'_> {
            fn drop(&mut self) {
                if let Some(outcome) = self.1.take() {
                    self.0.land(outcome);
                }
            }
        }
        self.has_ended = true;
        let _land = Land(&self.flight, Some(outcome));
        self.cache.inner.write(|writer| {
            let flight = writer.state.flight(&self.key);
            if flight.is_none_or(|flight| !Arc::ptr_eq(flight, &self.flight)) {
                return false;
            }
            writer.forget(&self.key);
            keep(writer)
        })
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.has_ended {
            self.land(Outcome::Abandoned, |_| false);
        }
    }
}

impl Cache {
    /// The value of a key. If it is absent, `compute` computes it, and the cache stores it for its time to live.
    ///
    /// One caller computes. Others that need the same key meanwhile wait, and get the same value or the same error. If `compute`
    /// panics, one of them computes instead. If the key is written or removed meanwhile, or the cache cleared, the callers get
    /// the computed value, but the cache does not store it. The same holds for a value that is too large.
    ///
    /// In a cache with [`stale_for`](crate::CacheOptions::stale_for), callers do not wait if they can have an expired value.
    ///
    /// `compute` may use other keys of the cache. If a computation needs a value that waits for its own, that is [`Error::Circle`].
    pub fn get_or_compute<V: AsRef<[u8]>, E: Send + Sync + 'static>(
        &self,
        key: impl AsRef<[u8]>,
        compute: impl FnOnce() -> std::result::Result<V, E>,
    ) -> std::result::Result<Vec<u8>, ComputeError<E>> {
        self.compute(key.as_ref(), None, compute)
    }

    /// Like [`get_or_compute`](Self::get_or_compute), with a time to live for the computed value; [`Duration::MAX`] is for ever.
    pub fn get_or_compute_for<V: AsRef<[u8]>, E: Send + Sync + 'static>(
        &self,
        key: impl AsRef<[u8]>,
        ttl: Duration,
        compute: impl FnOnce() -> std::result::Result<V, E>,
    ) -> std::result::Result<Vec<u8>, ComputeError<E>> {
        self.compute(key.as_ref(), Some(ttl), compute)
    }

    fn compute<V: AsRef<[u8]>, E: Send + Sync + 'static>(
        &self,
        key: &[u8],
        ttl: Option<Duration>,
        compute: impl FnOnce() -> std::result::Result<V, E>,
    ) -> std::result::Result<Vec<u8>, ComputeError<E>> {
        self.life(ttl)?;
        let mut begun = self.begin(key, Leader::Thread)?;
        loop {
            match begun {
                Begun::Value(value) => return Ok(value),
                Begun::Lead(lead) => return lead.finish(compute(), ttl),
                Begun::Wait(waiter) => {
                    if let Some(done) = Self::shared(waiter.wait()?) {
                        return done;
                    }
                }
            }
            begun = self.turn(key, Leader::Thread);
        }
    }

    /// Like [`get_or_compute`](Self::get_or_compute), for tasks of any executor. If the task that computes is dropped, another one
    /// computes. `ttl` is how long the value lives: `None` is the cache's time to live, [`Duration::MAX`] for ever.
    ///
    /// Circles between tasks are not found: they wait for each other for ever.
    pub async fn get_or_compute_async<V: AsRef<[u8]>, E: Send + Sync + 'static, F>(
        &self,
        key: impl AsRef<[u8]>,
        ttl: Option<Duration>,
        compute: impl FnOnce() -> F,
    ) -> std::result::Result<Vec<u8>, ComputeError<E>>
    where
        F: Future<Output = std::result::Result<V, E>>,
    {
        self.life(ttl)?;
        let key: Box<[u8]> = key.as_ref().into();
        let mut begun = self.begin(&key, Leader::Task)?;
        loop {
            match begun {
                Begun::Value(value) => return Ok(value),
                Begun::Lead(lead) => {
                    let computed = compute().await;
                    return lead.finish(computed, ttl);
                }
                Begun::Wait(waiter) => {
                    if let Some(done) = Self::shared(waiter.await) {
                        return done;
                    }
                }
            }
            begun = self.turn(&key, Leader::Task);
        }
    }

    /// The value of a key, or the duty to compute it, or something to wait with for another caller who computes it.
    ///
    /// This is what [`get_or_compute`](Self::get_or_compute) is made of, for hosts with their own way to compute. If a wait
    /// ends with [`Outcome::Abandoned`], begin again.
    pub fn begin(&self, key: impl AsRef<[u8]>, leader: Leader) -> Result<Begun> {
        let key = key.as_ref();
        check(key, &[])?;
        Ok(self.get(key).map_or_else(|| self.turn(key, leader), Begun::Value))
    }

    /// The part of [`begin`](Self::begin) after a look-up has missed the key. It counts no second one.
    pub fn begin_missed(&self, key: impl AsRef<[u8]>, leader: Leader) -> Result<Begun> {
        check(key.as_ref(), &[])?;
        Ok(self.turn(key.as_ref(), leader))
    }

    /// What the caller is to do for a key. It is decided under the lock: no write, removal or computation comes in between.
    fn turn(&self, key: &[u8], leader: Leader) -> Begun {
        let hash = self.inner.hash(key);
        self.inner.write(|writer| {
            let found = writer.cache.find(key, hash).map(|(_, record)| record);
            let age = found.map_or(Age::Over, |record| writer.cache.age(record));
            let under_way = writer.state.flight(key);
            match (found, age, under_way) {
                (Some(record), Age::Fresh, _) | (Some(record), Age::Stale, Some(_)) => {
                    Begun::Value(record.value().to_vec())
                }
                (_, _, Some(flight)) => Begun::Wait(Waiter { flight: Arc::clone(flight), number: None }),
                _ => {
                    let leader = (leader == Leader::Thread).then(this_thread);
                    let (progress, landed) = (Mutex::new(Progress::default()), Condvar::new());
                    let flight = Arc::new(Flight { leader, progress, landed });
                    let flights = writer.state.flights.get_or_insert_with(|| Box::new(BTreeMap::new()));
                    flights.insert(key, Arc::clone(&flight));
                    Begun::Lead(Lead { cache: self.clone(), key: key.into(), flight, has_ended: false })
                }
            }
        })
    }

    /// The outcome of another caller's computation. `None` if this caller is to try itself: that one was abandoned, or its
    /// error is of another type.
    fn shared<E: Send + Sync + 'static>(
        outcome: Outcome,
    ) -> Option<std::result::Result<Vec<u8>, ComputeError<E>>> {
        match outcome {
            Outcome::Value(value) => Some(Ok(value.to_vec())),
            Outcome::Failed(error) => error.downcast().ok().map(|error| Err(ComputeError::Failed(error))),
            Outcome::Abandoned => None,
        }
    }
}
