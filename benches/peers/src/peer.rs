//! What the work needs of a system, and how threads get at it.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use twindex_benches::Reach;

use crate::clock::Clock;

/// A system that keeps pairs of byte strings, used the way its documents say is best.
pub(crate) trait Peer: Sized + 'static {
    /// Its name in options and tables.
    const NAME: &'static str;
    /// What a call goes through.
    const REACH: Reach = Reach::Process;
    /// Whether threads can share it.
    const THREADS: bool;
    /// What one thread works with, for as long as a step of the work lasts.
    type Session<'p>: Session;

    fn new() -> Self;

    /// Several small ones, held in the way that a program which needs many would hold them; `None` where
    /// that is no use of the system.
    fn several(count: usize) -> Option<Vec<Self>> {
        Some((0..count).map(|_| Self::new()).collect())
    }

    /// The bytes that it holds, where the process's resident size would not show them.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// Calls `work` once in each of `threads` threads, with the thread's index and a session that was
    /// opened there. One thread means the caller's.
    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
    ) -> Vec<R>;
}

/// The verbs. What a call returns is what the caller needs to check that it did its work.
pub(crate) trait Session {
    /// Adds a pair whose key is absent; whether it was.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool;

    /// Replaces the value of a key that is present; whether it was.
    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool;

    /// Removes a pair; whether it was there.
    fn delete(&mut self, key: &[u8]) -> bool;

    /// Shows the value to `read`, not copied where the system can; `None` where the key is absent.
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
pub(crate) trait SortedSession: Session {
    /// Shows up to `limit` pairs to `read`, one by one, from the first key on that is not less than
    /// `first`; how many there were.
    fn scan(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize;

    /// The same through the system's way to get many at once, where it has one.
    fn scan_many(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        self.scan(first, limit, read)
    }
}

/// [`Peer::each_thread`] of a system that threads cannot share.
pub(crate) fn alone<S, R>(threads: usize, mut session: S, work: impl Fn(usize, &mut S) -> R) -> Vec<R> {
    assert_eq!(threads, 1, "threads cannot share this system");
    vec![work(0, &mut session)]
}

/// [`Peer::each_thread`] of a system that they can.
pub(crate) fn spread<S, R: Send>(
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

/// The time from the first thread's start to the last one's end; by the processor's clock, of which every
/// thread has its own, the time of the thread that took longest.
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
