//! What happened in the background, kept for JavaScript to ask for: whoever tells of it may hold locks of the engine, so
//! nothing of JavaScript's may run there.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use log::kv::Key;
use log::{LevelFilter, Log, Metadata, Record};
use serde_json::{Value as Json, json};
use twindex_durable::LOG_TARGET;

/// So many are kept, for threads that have not asked yet.
const KEPT: usize = 256;

/// The last ones, as `{ event, level, message, path }`, and how many there were before them.
struct Notices {
    gone: usize,
    kept: VecDeque<Json>,
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
        let notice = json!({
            "event": value("event"), "level": level, "message": record.args().to_string(), "path": value("path"),
        });
        let mut notices = notices();
        if notices.kept.len() == KEPT {
            notices.kept.pop_front();
            notices.gone += 1;
        }
        notices.kept.push_back(notice);
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

/// `{ count, notices }`: how many there were so far, and those behind the first so many, as far as they are kept.
pub(crate) fn behind(seen: usize) -> Json {
    let Notices { gone, kept } = &*notices();
    let new: Vec<_> = kept.iter().skip(seen.saturating_sub(*gone)).collect();
    json!({ "count": gone + kept.len(), "notices": new })
}
