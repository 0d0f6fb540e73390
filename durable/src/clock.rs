//! The clock of caches.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Gives a store's caches their clock, unless they have one.
pub(crate) fn wind(store: &twindex::Store) {
    // False where the program gave its own clock before.
    let _ = store.set_clock(now);
}

/// Milliseconds since 1970. Who sets the system's clock neither lengthens nor shortens what is left of a time to live: the
/// first call reads it, and later calls add the time that went by since.
fn now() -> u64 {
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    let (instant, since_1970) = START.get_or_init(|| {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (Instant::now(), millis(since_1970.as_millis()))
    });
    since_1970.saturating_add(millis(instant.elapsed().as_millis()))
}

fn millis(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use twindex::CacheOptions;

    #[test]
    fn every_store_has_a_clock() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("app.twx");
        let given = twindex::Store::new();
        assert!(given.set_clock(|| 7));
        for store in [
            crate::Store::new(),
            crate::Store::from(given.clone()),
            crate::Store::open(&path).expect("a new file"),
        ] {
            let options = CacheOptions::pairs(10).ttl(Duration::from_mins(1));
            let cache = store.in_memory().cache("c", options).expect("a name and a capacity");
            assert!(cache.upsert("a", "1").expect("a clock"));
            assert!(cache.ttl("a").flatten().is_some_and(|left| left > Duration::from_secs(1)));
        }
    }

    #[test]
    fn time_goes_by_since_1970() {
        let (start, in_2020) = (super::now(), 1_577_836_800_000);
        assert!(start > in_2020);
        std::thread::sleep(Duration::from_millis(3));
        assert!(super::now() > start);
    }
}
