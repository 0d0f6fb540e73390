//! What happens in the background, for Python's `logging`.
//!
//! The reporting thread may hold locks of the engine, so it must not wait for the interpreter. It leaves that to a thread, which
//! lives for as long as there is something to tell.

use std::collections::VecDeque;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Instant;
use std::{ptr, thread};

use log::kv::Key;
use log::{Level, LevelFilter, Log, Metadata, Record};
use twindex_durable::LOG_TARGET;

use crate::fork;
use crate::prelude::*;

/// So many wait to be told. More than that are forgotten.
const MOST: usize = 1024;
/// How long the end of the interpreter waits for what is still to be told.
const LAST: Duration = Duration::from_secs(1);

/// What happened to a file.
struct Notice {
    level: Level,
    event: String,
    path: String,
    message: String,
}

/// What one process has to tell. A child of a fork has its own: another thread of its parent may have held the lock.
struct Queue {
    generation: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Notice>,
    /// A thread is at work.
    is_told: bool,
}

static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());
/// The interpreter is about to end.
static ENDED: AtomicBool = AtomicBool::new(false);

impl Queue {
    /// This process's.
    fn own() -> &'static Self {
        let seen = QUEUE.load(Ordering::Acquire);
        // SAFETY: what is stored there is never freed.
        if let Some(queue) = unsafe { seen.as_ref() }
            && queue.generation == fork::generation()
        {
            return queue;
        }
        let new = Box::leak(Box::new(Self { generation: fork::generation(), state: Mutex::default() }));
        match QUEUE.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            // SAFETY: as above; another thread of this very process was faster.
            Err(other) => unsafe { &*other },
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&'static self, notice: Notice) {
        let mut state = self.lock();
        if state.waiting.len() == MOST {
            return;
        }
        state.waiting.push_back(notice);
        if !state.is_told {
            let started = twindex_durable::spawn("twindex-log", || self.tell());
            // Where there is no thread to be had, the next one tells of this too.
            state.is_told = started.is_ok();
        }
    }

    /// Tells all that waits.
    fn tell(&self) {
        loop {
            let waiting = {
                let mut state = self.lock();
                if state.waiting.is_empty() || ENDED.load(Ordering::Relaxed) {
                    state.is_told = false;
                    return;
                }
                std::mem::take(&mut state.waiting)
            };
            // Where the interpreter has ended, nobody is left to be told.
            let _ = Python::try_attach(|py| {
                for notice in &waiting {
                    if let Err(error) = notice.tell(py) {
                        error.write_unraisable(py, None);
                    }
                }
            });
        }
    }
}

impl Notice {
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let level = if self.level == Level::Error { "error" } else { "warning" };
        let tell = py.import("twindex._log")?.getattr("tell")?;
        tell.call1((level, &self.message, &self.event, &self.path)).map(drop)
    }
}

struct Teller;

impl Log for Teller {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == LOG_TARGET && !ENDED.load(Ordering::Relaxed)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let value =
            |key| record.key_values().get(Key::from_str(key)).map_or(String::new(), |it| it.to_string());
        let (event, path, message) = (value("event"), value("path"), record.args().to_string());
        Queue::own().add(Notice { level: record.level(), event, path, message });
    }

    fn flush(&self) {}
}

/// Tells of what happens from now on.
pub(crate) fn watch() {
    // The module has its own copy of the facade, so nobody else has set one.
    let _ = log::set_logger(&Teller);
    log::set_max_level(LevelFilter::Warn);
}

/// Waits until all is told, and has nothing told any more: called before the interpreter ends.
#[pyfunction]
pub(crate) fn _end_telling(py: Python<'_>) {
    py.detach(|| {
        let end = Instant::now() + LAST;
        while Queue::own().lock().is_told && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        ENDED.store(true, Ordering::Relaxed);
    });
}
