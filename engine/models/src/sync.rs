//! What the engine's threads share and wait by, with a scheduling point before each access.
//!
//! Locks and thread-locals are shuttle's. Its atomics are larger than the words that the engine lays into its blocks,
//! so these are the standard library's with a scheduling point of shuttle's in front: every interleaving of them can
//! come up, each of them sequentially consistent. What weaker orderings allow is for the models in `tests/protocols.rs`.

pub(super) use shuttle::hint::spin_loop;
pub(super) use shuttle::sync::{Mutex, MutexGuard};
pub(super) use shuttle::thread::{yield_now, yield_now as pause};
pub(super) use shuttle::thread_local;

pub(super) mod atomic {
    pub(crate) use std::sync::atomic::{Ordering, fence};

    use crate::check::SPOILT;

    /// Lets the scheduler run another thread. One that panics goes on to its end.
    fn schedule() {
        if !std::thread::panicking() {
            shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::SeqCst);
        }
    }

    /// Passes on what was read in memory that was not given back meanwhile.
    fn sound<T: Copy>(value: T) -> T {
        let bytes = size_of::<T>();
        // SAFETY: integers, booleans and pointers have no bytes that are not initialised.
        let read = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), bytes) };
        let spoilt = bytes >= 4 && read.iter().all(|&byte| byte == SPOILT);
        assert!(!spoilt || std::thread::panicking(), "memory was used after it was given back");
        value
    }

    macro_rules! atomic {
        ($name:ident $(<$of:ident>)?, $value:ty) => {
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub(crate) struct $name $(<$of>)? (std::sync::atomic::$name $(<$of>)?);

            #[allow(dead_code, reason = "each kind has all that an atomic has")]
            impl $(<$of>)? $name $(<$of>)? {
                pub(crate) const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                pub(crate) fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                pub(crate) fn load(&self, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.load(order))
                }

                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    // Not checked: the first store to a block that is used again writes over what spoilt it.
                    schedule();
                    self.0.store(value, order);
                }

                pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.swap(value, order))
                }

                pub(crate) fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    schedule();
                    self.0.compare_exchange(current, new, success, failure).map(sound).map_err(sound)
                }

                pub(crate) fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(current, new, success, failure)
                }

                pub(crate) fn try_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    update: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    schedule();
                    self.0.try_update(set, fetch, update).map(sound).map_err(sound)
                }
            }
        };
    }

    macro_rules! number {
        ($name:ident, $value:ty) => {
            atomic!($name, $value);

            #[allow(dead_code, reason = "each kind has all that an atomic has")]
            impl $name {
                pub(crate) fn fetch_add(&self, by: $value, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.fetch_add(by, order))
                }

                pub(crate) fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.fetch_or(bits, order))
                }

                pub(crate) fn fetch_sub(&self, by: $value, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.fetch_sub(by, order))
                }

                pub(crate) fn fetch_min(&self, value: $value, order: Ordering) -> $value {
                    schedule();
                    sound(self.0.fetch_min(value, order))
                }
            }
        };
    }

    atomic!(AtomicBool, bool);
    atomic!(AtomicPtr<T>, *mut T);
    number!(AtomicU16, u16);
    number!(AtomicU32, u32);
    number!(AtomicU64, u64);
    number!(AtomicUsize, usize);
    number!(AtomicIsize, isize);
}
