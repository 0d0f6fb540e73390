//! Saved caches, whole, cut and flipped.

use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Error, MAX_LABEL_BYTES, Saved, Ttl};

use crate::sealed;

fn options() -> CacheOptions {
    CacheOptions::capacity(1 << 20)
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn load(options: CacheOptions, bytes: &[u8], wall: Duration) -> Result<Cache, Error> {
    Saved::read(bytes)?.load_at(options, wall)
}

fn saved(pairs: usize) -> Vec<u8> {
    let cache = Cache::new(options()).unwrap();
    for number in 0..pairs {
        cache.upsert_for(format!("mortal {number}"), [1; 30], at(100)).unwrap();
        cache.upsert(format!("{number}"), [2; 30]).unwrap();
    }
    let mut bytes = Vec::new();
    cache.save_at(&mut bytes, at(1_000_000)).unwrap();
    bytes
}

#[test]
fn loaded_cache_has_all_pairs_and_the_time_that_each_still_lives() {
    let bytes = saved(1000);
    let cache = load(options(), &bytes, at(1_000_040)).unwrap();
    assert_eq!(cache.len(), 2000);
    assert_eq!(cache.get("7"), Some(vec![2; 30]));
    assert_eq!(cache.ttl("7"), Ttl::Forever);
    let Ttl::Left(left) = cache.ttl("mortal 7") else { panic!("it has a time to live") };
    assert!(left <= at(60) && left > at(50), "{left:?}");
    let late = load(options(), &bytes, at(1_000_100)).unwrap();
    assert_eq!(late.len(), 1000, "expired pairs are left out");
    let early = load(options(), &bytes, at(5)).unwrap();
    let Ttl::Left(left) = early.ttl("mortal 7") else { panic!("it has a time to live") };
    assert!(left <= at(100), "a wall clock that was set back gives no more time");
    let few = load(CacheOptions::max_entries(10), &bytes, at(1_000_000)).unwrap();
    assert_eq!(few.len(), 10);
}

#[test]
fn saved_cache_that_is_cut_flipped_or_followed_by_something_is_an_error() {
    let bytes = saved(6);
    for end in 0..bytes.len() {
        let error = load(options(), &bytes[..end], at(0)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{end}: {error}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(load(options(), &longer, at(0)), Err(Error::Corrupt { .. })));
    for at_byte in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut flipped = bytes.clone();
            flipped[at_byte] ^= 1 << bit;
            let error = load(options(), &flipped, at(0)).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{at_byte}: {error}");
        }
    }
}

#[test]
fn reader_and_writer_that_fail_give_their_error() {
    struct Fails;
    impl std::io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::TimedOut.into())
        }
    }
    impl std::io::Write for Fails {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let cache = Cache::new(options()).unwrap();
    assert_eq!(cache.save(Fails).unwrap_err().code(), "TWINDEX_IO");
    assert_eq!(Cache::load(Fails).map(|_| ()).unwrap_err().code(), "TWINDEX_IO");
    let mut empty = Vec::new();
    cache.save(&mut empty).unwrap();
    assert!(Cache::load(&empty[..]).unwrap().is_empty());
}

#[test]
fn saved_cache_carries_its_options_and_its_label() {
    let all = CacheOptions::capacity(3 << 20).and_max_entries(70).label(*b"json");
    let all = all.ttl(at(7)).time_to_idle(at(8)).stale_for(Duration::from_millis(9));
    for options in [all, CacheOptions::max_entries(5), CacheOptions::capacity(1 << 20).ttl(Duration::MAX)] {
        let cache = Cache::new(options).unwrap();
        cache.upsert("k", "v").unwrap();
        let mut bytes = Vec::new();
        cache.save(&mut bytes).unwrap();
        let shown = |cache: &Cache| {
            let times = [cache.default_ttl(), cache.time_to_idle(), cache.stale_for()];
            (cache.capacity(), cache.max_entries(), times, cache.label().to_vec())
        };
        let loaded = Cache::load(&bytes[..]).unwrap();
        assert_eq!((shown(&loaded), loaded.get("k")), (shown(&cache), Some(b"v".to_vec())));
        let saved = Saved::read(&bytes[..]).unwrap();
        assert_eq!(saved.label(), cache.label());
        let other = saved.options().and_capacity(5 << 20).ttl(Duration::MAX);
        let other = saved.load(other).unwrap();
        assert_eq!((other.capacity(), other.default_ttl(), other.len()), (Some(5 << 20), None, 1));
    }
    let long = CacheOptions::max_entries(5).label(vec![0; MAX_LABEL_BYTES + 1]);
    assert!(matches!(Cache::new(long), Err(Error::LabelTooLong { len }) if len == MAX_LABEL_BYTES + 1));
}

#[test]
fn values_larger_than_the_new_capacity_are_left_out_and_the_file_still_checked() {
    let cache = Cache::new(CacheOptions::max_entries(100)).unwrap();
    cache.upsert("large", vec![1; 3 << 20]).unwrap();
    (0..50_u8).for_each(|number| assert!(cache.upsert([number], [number; 900]).unwrap()));
    let mut bytes = Vec::new();
    cache.save_at(&mut bytes, at(0)).unwrap();
    let small = load(options(), &bytes, at(0)).unwrap();
    assert_eq!((small.len(), small.get([7])), (50, Some(vec![7; 900])));
    let middle = bytes.windows(1000).position(|window| window == [1; 1000]).unwrap() + (1 << 20);
    bytes[middle] ^= 1;
    assert!(matches!(load(options(), &bytes, at(0)), Err(Error::Corrupt { .. })));
}

/// `TWINDEX_GOLDEN` names the folder to which the file is to be written.
#[test]
fn saved_cache_of_version_1_is_read() {
    let long = Duration::from_hours(100 * 365 * 24);
    let options = CacheOptions::capacity(1 << 20).ttl(long).label(*b"\x03str\x04json");
    let cache = Cache::new(options).unwrap();
    cache.upsert("", "\"the empty key\"").unwrap();
    cache.upsert_for("gone", "1", at(1)).unwrap();
    cache.upsert_for("ever", "", Duration::MAX).unwrap();
    for number in 0..300 {
        cache.upsert(format!("page/{}/{number:03}", number % 30 + 1), format!("{number}")).unwrap();
    }
    cache.upsert("large", vec![b'1'; 70_000]).unwrap();
    let then = at(1_700_000_000);
    let mut written = Vec::new();
    cache.save_at(&mut written, then).unwrap();
    if let Ok(folder) = std::env::var("TWINDEX_GOLDEN") {
        std::fs::write(std::path::Path::new(&folder).join("version-1-cache.twx"), &written).unwrap();
    }
    let golden = include_bytes!("../../conformance/golden/version-1-cache.twx");
    for bytes in [&golden[..], &written] {
        let saved = Saved::read(bytes).unwrap();
        assert_eq!(saved.label(), cache.label());
        let options = saved.options();
        let loaded = saved.load_at(options, then + at(1)).unwrap();
        assert_eq!((loaded.capacity(), loaded.default_ttl()), (cache.capacity(), cache.default_ttl()));
        let pairs = |cache: &Cache| {
            let lasting = cache.iter().filter(|(key, _)| key != b"gone");
            let shown = |(key, value)| {
                let forever = cache.ttl(&key) == Ttl::Forever;
                (key, value, forever)
            };
            lasting.map(shown).collect::<std::collections::BTreeSet<_>>()
        };
        assert!(pairs(&loaded) == pairs(&cache) && loaded.len() == 303 && !loaded.contains("gone"));
        assert!(matches!(loaded.ttl("large"), Ttl::Left(left) if left < long && left + at(60) > long));
    }
}

#[test]
fn files_with_right_checksums_are_loaded_or_refused_whatever_is_in_them() {
    let mut random = fastrand::Rng::with_seed(5);
    let (mut loaded, rounds) = (0, if cfg!(miri) { 30 } else { 600 });
    for _ in 0..rounds {
        let numbers = [0; 6].map(|_| [0, 1, 2000, 1 << 20, 1 << 50, u64::MAX][random.usize(..6)]);
        let mut count = 0;
        let mut block = |_| {
            let mut block = Vec::new();
            for _ in 0..random.usize(1..20) {
                let left = [0, 1, 999_999, 1 << 30, u64::MAX][random.usize(..5)];
                let (key, value) = ([random.u8(..)], vec![7; random.usize(..300)]);
                block.extend(sealed::pair(&key, &value, random.u8(..), left));
                count += 1;
            }
            if random.u8(..) < 30 {
                let at = random.usize(..block.len());
                block[at] = random.u8(..);
            }
            block
        };
        let blocks: Vec<_> = (0..3).map(&mut block).collect();
        loaded += usize::from(sealed::load(&sealed::file(numbers, b"label", &blocks, count)).is_some());
    }
    assert!(loaded > rounds / 4, "{loaded} of {rounds} were loaded");
}
