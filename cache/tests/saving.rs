//! Saved caches, whole, cut and flipped.

use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Error, Ttl};

fn options() -> CacheOptions {
    CacheOptions::capacity(1 << 20)
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn saved(pairs: usize) -> Vec<u8> {
    let cache = Cache::new(options()).unwrap();
    for number in 0..pairs {
        cache.insert_for(format!("mortal {number}"), [1; 30], at(100)).unwrap();
        cache.insert(format!("{number}"), [2; 30]).unwrap();
    }
    let mut bytes = Vec::new();
    cache.save_at(&mut bytes, at(1_000_000)).unwrap();
    bytes
}

#[test]
fn loaded_cache_has_all_pairs_and_the_time_that_each_still_lives() {
    let bytes = saved(1000);
    let cache = Cache::load_at(options(), &bytes[..], at(1_000_040)).unwrap();
    assert_eq!(cache.len(), 2000);
    assert_eq!(cache.get("7"), Some(vec![2; 30]));
    assert_eq!(cache.ttl("7"), Ttl::Forever);
    let Ttl::Left(left) = cache.ttl("mortal 7") else { panic!("it has a time to live") };
    assert!(left <= at(60) && left > at(50), "{left:?}");
    let late = Cache::load_at(options(), &bytes[..], at(1_000_100)).unwrap();
    assert_eq!(late.len(), 1000, "expired pairs are left out");
    let early = Cache::load_at(options(), &bytes[..], at(5)).unwrap();
    let Ttl::Left(left) = early.ttl("mortal 7") else { panic!("it has a time to live") };
    assert!(left <= at(100), "a wall clock that was set back gives no more time");
    let few = Cache::load_at(CacheOptions::max_entries(10), &bytes[..], at(1_000_000)).unwrap();
    assert_eq!(few.len(), 10);
}

#[test]
fn saved_cache_that_is_cut_flipped_or_followed_by_something_is_an_error() {
    let bytes = saved(6);
    for end in 0..bytes.len() {
        let error = Cache::load_at(options(), &bytes[..end], at(0)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{end}: {error}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(Cache::load_at(options(), &longer[..], at(0)), Err(Error::Corrupt { .. })));
    for at_byte in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut flipped = bytes.clone();
            flipped[at_byte] ^= 1 << bit;
            let error = Cache::load_at(options(), &flipped[..], at(0)).map(|_| ()).unwrap_err();
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
    assert_eq!(Cache::load(options(), Fails).map(|_| ()).unwrap_err().code(), "TWINDEX_IO");
    let mut empty = Vec::new();
    cache.save(&mut empty).unwrap();
    assert!(Cache::load(options(), &empty[..]).unwrap().is_empty());
}
