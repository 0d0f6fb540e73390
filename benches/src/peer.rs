//! What the works need of a system, and how threads use it.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::options::{Clock, Options};

/// A system that keeps pairs of byte strings, used the way its documentation says is best.
pub trait Peer: Sized + 'static {
    /// Its name in options and tables.
    const NAME: &'static str;
    /// Whether each call goes over the loopback to a server.
    const REMOTE: bool = false;
    /// Whether threads can share it.
    const THREADS: bool;
    /// Whether a program would hold many small ones.
    const MANY: bool = true;
    /// What one thread works with for one step of the work.
    type Session<'p>: Session;

    /// An empty one.
    fn open(options: &Options) -> Self;

    /// Several small ones, held as a program that needs many would hold them. `None` where nobody would.
    fn several(count: usize, options: &Options) -> Option<Vec<Self>> {
        Self::MANY.then(|| (0..count).map(|_| Self::open(options)).collect())
    }

    /// The bytes that it holds, where the process's resident size would not show them.
    fn bytes(&mut self) -> Option<u64> {
        None
    }

    /// Calls `work` once in each of `threads` threads, with the thread's index and a session that was opened there. One
    /// thread means the caller's.
    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
    ) -> Vec<R>;
}

/// The verbs. The work checks what a call returns.
pub trait Session {
    /// Adds a pair whose key is absent; whether it was.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool;

    /// Replaces the value of a key that is present; whether it was. Lists have no keys.
    fn replace(&mut self, _key: &[u8], _value: &[u8]) -> bool {
        false
    }

    /// Removes a pair; whether it was there.
    fn delete(&mut self, _key: &[u8]) -> bool {
        false
    }

    /// Gives the value to `read`, not copied where the system can; `None` where the key is absent.
    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R>;

    /// [`insert`](Self::insert) for each pair; how many keys were absent.
    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        pairs.iter().filter(|(key, value)| self.insert(key, value)).count()
    }

    /// [`select`](Self::select) for each key, with its position.
    fn select_many(&mut self, keys: &[&[u8]], mut read: impl FnMut(usize, Option<&[u8]>)) {
        for (position, key) in keys.iter().enumerate() {
            if self.select(key, |value| read(position, Some(value))).is_none() {
                read(position, None);
            }
        }
    }
}

/// The verbs that need an order.
pub trait SortedSession: Session {
    /// Gives up to `limit` pairs to `read`, one by one, from the first key that is not less than `first`; how many.
    fn scan(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize;

    /// The same by the system's way to get many at once, where it has one.
    fn scan_many(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        self.scan(first, limit, read)
    }
}

/// A key or a value of a map.
pub type Bytes = Box<[u8]>;

/// The hasher of every hash map: fast, and the same for all, so that tables are compared and not hashes.
pub type Hasher = foldhash::fast::RandomState;

/// Copies a new value of the same length over the old one; one of another length takes its place.
pub fn replace(old: &mut Bytes, new: &[u8]) {
    if old.len() == new.len() {
        old.copy_from_slice(new);
    } else {
        *old = new.into();
    }
}

/// The part of [`Peer`] that is about threads, for a system that one thread owns.
#[macro_export]
macro_rules! alone {
    () => {
        const THREADS: bool = false;
        type Session<'p> = &'p mut Self;

        fn each_thread<R: Send>(
            &mut self,
            threads: usize,
            work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
        ) -> Vec<R> {
            $crate::alone(threads, self, work)
        }
    };
}

/// The same for a system that threads share, with the session that each opens.
#[macro_export]
macro_rules! shared {
    ($session:ty, |$peer:ident| $open:expr) => {
        const THREADS: bool = true;
        type Session<'p> = $session;

        fn each_thread<R: Send>(
            &mut self,
            threads: usize,
            work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
        ) -> Vec<R> {
            let $peer = &*self;
            $crate::spread(threads, || $open, work)
        }
    };
}

/// A map as a peer: `map!(TYPE, NAME, alone or shared, MAP, NEW, |map, key, value, read| { VERB: EXPRESSION, ... })`. A scan is an
/// iterator over the pairs from `key` on.
#[macro_export]
macro_rules! map {
    (@session alone $peer:ident) => { &mut $peer };
    (@session shared $peer:ident) => { &$peer };
    (@map alone $peer:ident) => { &mut $peer.0 };
    (@map shared $peer:ident) => { &$peer.0 };
    (@threads alone) => { $crate::alone!(); };
    (@threads shared) => { $crate::shared!(&'p Self, |peer| peer); };
    ($peer:ident, $name:literal, $threads:ident, $map:ty, $new:expr, |$it:ident, $key:ident, $value:ident, $read:ident| {
        insert: $insert:expr, replace: $replace:expr, delete: $delete:expr, select: $select:expr, $(scan: $scan:expr,)?
    }) => {
        #[doc = concat!("The map ", $name, ".")]
        pub struct $peer($map);

        impl $crate::Peer for $peer {
            const NAME: &'static str = $name;
            $crate::map!(@threads $threads);

            fn open(_: &$crate::Options) -> Self {
                Self($new)
            }
        }

        impl $crate::Session for $crate::map!(@session $threads $peer) {
            fn insert(&mut self, $key: &[u8], $value: &[u8]) -> bool {
                let this = self;
                let $it = $crate::map!(@map $threads this);
                $insert
            }

            fn replace(&mut self, $key: &[u8], $value: &[u8]) -> bool {
                let this = self;
                let $it = $crate::map!(@map $threads this);
                $replace
            }

            fn delete(&mut self, $key: &[u8]) -> bool {
                let this = self;
                let $it = $crate::map!(@map $threads this);
                $delete
            }

            fn select<R>(&mut self, $key: &[u8], $read: impl FnOnce(&[u8]) -> R) -> Option<R> {
                let $it = &self.0;
                $select
            }
        }

        $(impl $crate::SortedSession for $crate::map!(@session $threads $peer) {
            fn scan(&mut self, $key: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
                let $it = &self.0;
                $scan.take(limit).map(|(key, value)| read(key, value)).count()
            }
        })?
    };
}

/// [`Peer::each_thread`] of a system that threads cannot share.
pub fn alone<S, R>(threads: usize, mut session: S, work: impl Fn(usize, &mut S) -> R) -> Vec<R> {
    assert_eq!(threads, 1, "threads cannot share this system");
    vec![work(0, &mut session)]
}

/// [`Peer::each_thread`] of a system that they can.
pub fn spread<S, R: Send>(
    threads: usize,
    open: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> R + Sync,
) -> Vec<R> {
    if threads == 1 {
        return vec![work(0, &mut open())];
    }
    thread::scope(|scope| {
        let (open, work) = (&open, &work);
        let handles: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread, &mut open()))).collect();
        handles.into_iter().map(|handle| handle.join().expect("the work ends well")).collect()
    })
}

/// The time from the first thread's start to the last one's end. By the processor's clock, of which every thread has its
/// own, the time of the thread that took longest.
pub(crate) fn time<P: Peer>(
    clock: Clock,
    peer: &mut P,
    threads: usize,
    work: impl Fn(usize, &mut P::Session<'_>) + Sync,
) -> Duration {
    let barrier = Barrier::new(threads);
    let times = peer.each_thread(threads, |thread, session| {
        barrier.wait();
        let start = clock.now();
        work(thread, session);
        (start, clock.now())
    });
    let longest = match clock {
        Clock::Wall => {
            let start = times.iter().map(|time| time.0).min();
            times.iter().map(|time| time.1).max().zip(start).map(|(end, start)| end.saturating_sub(start))
        }
        Clock::Processor => times.iter().map(|(start, end)| end.saturating_sub(*start)).max(),
    };
    longest.expect("there is a thread")
}
