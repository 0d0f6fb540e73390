//! Many threads on one table: what holds under any interleaving.
//!
//! Every value that readers meet carries its key and a checksum, so that bytes of another pair, of freed
//! memory or of two writes at once are noticed. `TWINDEX_STRESS=100` makes a long run of it.

mod churned;
mod contended;
mod cursors;
mod disjoint;
#[path = "../common/history.rs"]
mod history;

mod readers;
#[path = "../common/scale.rs"]
mod scale;
mod scans;
#[path = "../common/sound.rs"]
mod sound;
mod stamped;
mod stores;
#[path = "../common/strategies.rs"]
mod strategies;

use std::ops::Deref;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};

use twindex::{IndexKind, Store, Table};

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];
/// More than there are cores, so that threads also stop in the middle of their work.
const THREADS: usize = if cfg!(miri) { 2 } else { 4 };

fn table(index: IndexKind) -> Sound {
    Sound(Store::new().table("t", index).expect("a new table"))
}

/// A table whose structures are checked at the end of the test.
struct Sound(Table);

impl Deref for Sound {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.0
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        if !thread::panicking() {
            sound::assert_sound(&self.0);
        }
    }
}

/// The environment's `TWINDEX_SEED`, for other random numbers in each long run.
fn seed() -> u64 {
    std::env::var("TWINDEX_SEED")
        .map_or(0, |text| text.parse::<u64>().expect("TWINDEX_SEED is a number") << 8)
}

/// Runs `work` on every thread at once, with the thread's number and its own random numbers.
fn on_threads<T: Send>(work: impl Fn(usize, fastrand::Rng) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(THREADS);
    let run = |number| {
        start.wait();
        work(number, fastrand::Rng::with_seed(number as u64 + 1 + seed()))
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(join).collect()
    })
}

/// Runs `read` again and again on one thread beside `write`, and once more when that is done.
fn beside<T: Send>(write: impl FnOnce() -> T + Send, mut read: impl FnMut() + Send) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                read();
            }
            read();
        });
        let finished = SetOnDrop(&done);
        let written = write();
        drop(finished);
        join(reader);
        written
    })
}

/// Ends the reader where the writer panics too.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Passes a thread's panic on with its own message.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
