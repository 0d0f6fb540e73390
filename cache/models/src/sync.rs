//! What the cache's threads share and wait by, with a scheduling point before each access: as for the engine.

pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
pub(super) use shuttle::thread::{ThreadId, yield_now};

pub(super) fn this_thread() -> ThreadId {
    shuttle::thread::current().id()
}

pub(super) fn nap() {
    yield_now();
}

#[path = "../../../engine/models/src/sync.rs"]
#[allow(unused_imports, reason = "the engine uses more")]
mod engine;

pub(super) mod atomic {
    pub(crate) use super::engine::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
    pub(crate) use std::sync::atomic::Ordering;
}
