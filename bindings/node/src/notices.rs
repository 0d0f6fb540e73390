//! What happened in the background, kept for JavaScript to ask for: whoever tells of it may hold locks of the engine, so
//! nothing of JavaScript's may run there.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use log::kv::Key;
use log::{LevelFilter, Log, Metadata, Record};
use twindex_durable::LOG_TARGET;

/// So many are kept, for threads that have not asked yet.
const KEPT: usize = 256;

/// What happened to a file.
#[derive(Clone)]
pub(crate) struct Notice {
    pub(crate) level: &'static str,
    pub(crate) event: String,
    pub(crate) path: String,
    pub(crate) message: String,
}

/// The last ones, and how many there were before them.
struct Notices {
    gone: u64,
    kept: VecDeque<Notice>,
}

static NOTICES: Mutex<Notices> = Mutex::new(Notices { gone: 0, kept: VecDeque::new() });

fn notices() -> MutexGuard<'static, Notices> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == LOG_TARGET
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let value =
            |key| record.key_values().get(Key::from_str(key)).map_or(String::new(), |it| it.to_string());
        let level = if record.level() == log::Level::Error { "error" } else { "warn" };
        let (event, path, message) = (value("event"), value("path"), record.args().to_string());
        let mut notices = notices();
        if notices.kept.len() == KEPT {
            notices.kept.pop_front();
            notices.gone += 1;
        }
        notices.kept.push_back(Notice { level, event, path, message });
    }

    fn flush(&self) {}
}

/// Keeps what happens from now on in this process.
pub(crate) fn keep() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        // The module has its own copy of the facade, so nobody else has set one.
        let _ = log::set_logger(&Keeper);
        log::set_max_level(LevelFilter::Warn);
    });
}

/// How many there were so far, and those behind the first so many, as far as they are kept.
pub(crate) fn behind(seen: u64) -> (u64, Vec<Notice>) {
    let notices = notices();
    let skip = usize::try_from(seen.saturating_sub(notices.gone)).unwrap_or(usize::MAX);
    (notices.gone + notices.kept.len() as u64, notices.kept.iter().skip(skip).cloned().collect())
}
