//! The real cache under schedulers that choose at every access to shared memory which thread goes on.
//!
//! Constants are tiny, and memory that is given back is spoilt. Times the environment's `TWINDEX_STRESS` for a long run.

#[path = "../../../engine/models/tests/quarantine/mod.rs"]
mod quarantine;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU8, Ordering::Relaxed};
use shuttle::{Config, Runner, thread};
use twindex_cache::{Begun, Cache, CacheOptions, Change, Leader};

#[global_allocator]
static QUARANTINE: quarantine::Quarantine = quarantine::Quarantine;

/// Runs `body` under so many schedules of each kind.
fn model(schedules: usize, body: impl Fn() + Clone + Send + Sync + 'static) {
    let stress = std::env::var("TWINDEX_STRESS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let schedules = schedules * stress;
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.silence_warnings = true;
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(body.clone());
    Runner::new(PctScheduler::new(3, schedules), config).run(body);
}

fn on_threads(all: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = all.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

fn few(entries: usize) -> Cache {
    Cache::new(CacheOptions::max_entries(entries)).unwrap()
}

/// A value that shows its key and whether it is whole.
fn value(key: u8, length: usize) -> Vec<u8> {
    vec![key; length]
}

fn check(key: u8, found: &[u8]) {
    assert!(
        !found.is_empty() && found.iter().all(|&byte| byte == key),
        "a value that is not whole, or of another key"
    );
}

#[test]
fn hit_beside_the_retirement_of_its_segment_sees_the_whole_value() {
    model(300, || {
        let cache = few(2);
        // Segments of their own, and usual ones.
        for length in [700, 200] {
            cache.upsert([0], value(0, length)).unwrap();
            let (reader, writer) = (cache.clone(), cache.clone());
            on_threads(vec![
                Box::new(move || {
                    for key in [0, 1, 0] {
                        reader.get_with([key], |found| check(key, found));
                    }
                }),
                Box::new(move || {
                    for key in 1..5 {
                        writer.upsert([key], value(key, length)).unwrap();
                    }
                    writer.get_with([4], |found| check(4, found));
                }),
            ]);
            assert!(cache.len() <= 2);
        }
    });
}

#[test]
fn pair_written_anew_beside_evictions_is_never_absent() {
    model(200, || {
        let cache = few(3);
        cache.upsert([0], value(0, 700)).unwrap();
        let (reader, writer, other) = (cache.clone(), cache.clone(), cache.clone());
        on_threads(vec![
            Box::new(move || {
                for _ in 0..3 {
                    let found = reader.get_with([0], |found| check(0, found));
                    assert!(found.is_some(), "it was absent in between");
                }
            }),
            Box::new(move || {
                (0..3).for_each(|round| _ = writer.upsert([0], value(0, 600 + 50 * round)).unwrap())
            }),
            Box::new(move || (1..3).for_each(|key| _ = other.upsert([key], value(key, 700)).unwrap())),
        ]);
    });
}

#[test]
fn writes_of_two_threads_and_evictions_keep_the_bound_and_each_value_whole() {
    model(200, || {
        let cache = few(4);
        let all = (0..3_u8).map(|thread| {
            let cache = cache.clone();
            let work = move || {
                for step in 0..4_u8 {
                    let key = (step * 3 + thread * 2) % 7;
                    if step == 2 {
                        cache.remove([key]);
                    } else {
                        cache.upsert([key], value(key, 100 + 90 * usize::from(step))).unwrap();
                    }
                    cache.get_with([key], |found| check(key, found));
                    assert!(cache.len() <= 4);
                }
            };
            Box::new(work) as Box<dyn FnOnce() + Send>
        });
        on_threads(all.collect());
        cache.iter().for_each(|(key, found)| check(key[0], &found));
    });
}

#[test]
fn alter_of_two_threads_loses_no_change() {
    model(200, || {
        let cache = few(2);
        let all = (0..2).map(|_| {
            let cache = cache.clone();
            let work = move || {
                for _ in 0..2 {
                    let add = |old: Option<&[u8]>| Change::Set(vec![old.map_or(0, |old| old[0]) + 1]);
                    assert!(cache.alter("k", add).unwrap());
                }
            };
            Box::new(work) as Box<dyn FnOnce() + Send>
        });
        on_threads(all.collect());
        assert_eq!(cache.get("k"), Some(vec![4]));
    });
}

/// The source of the data is no more than relaxed: what orders it is the cache.
#[test]
fn value_computed_from_old_data_is_not_kept_when_the_key_was_removed_after_the_change() {
    model(300, || {
        let (cache, source) = (few(4), Arc::new(AtomicU8::new(1)));
        let mut all: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        for _ in 0..2 {
            let (cache, source) = (cache.clone(), Arc::clone(&source));
            all.push(Box::new(move || {
                let found = cache.get_or_compute("k", || Ok::<_, ()>([source.load(Relaxed)])).unwrap();
                assert!(found == [1] || found == [2]);
            }));
        }
        let (changed, data) = (cache.clone(), Arc::clone(&source));
        all.push(Box::new(move || {
            data.store(2, Relaxed);
            changed.remove("k");
        }));
        on_threads(all);
        assert!(cache.peek("k").is_none_or(|kept| kept == [2]), "an old value stays in the cache");
    });
}

#[test]
fn computation_that_panics_is_taken_over_by_one_that_waits() {
    model(100, || {
        let cache = few(4);
        let fails = cache.clone();
        let failing = thread::spawn(move || {
            let computed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                fails.get_or_compute("k", || {
                    thread::yield_now();
                    // Not the panic hook, which would end the model.
                    std::panic::resume_unwind(Box::new("fails"));
                    #[allow(unreachable_code)]
                    Ok::<Vec<u8>, ()>(Vec::new())
                })
            }));
            assert!(computed.is_err() || computed.is_ok_and(|value| value.is_ok()));
        });
        assert_eq!(cache.get_or_compute("k", || Ok::<_, ()>("v")).unwrap(), b"v");
        failing.join().unwrap();
        assert_eq!(cache.peek("k"), Some(b"v".to_vec()));
    });
}

#[test]
fn computations_that_ask_for_each_other_never_wait_for_ever() {
    model(200, || {
        let cache = few(4);
        let all = [("a", "b"), ("b", "a")].map(|(one, other)| {
            let cache = cache.clone();
            let work = move || {
                let outer = cache.get_or_compute(one, || {
                    thread::yield_now();
                    // It is computed, found, or a circle.
                    let _ = cache.get_or_compute(other, || Ok::<_, ()>("inner"));
                    Ok::<_, ()>("outer")
                });
                assert!(matches!(outer.as_deref(), Ok(b"outer" | b"inner")), "{outer:?}");
            };
            Box::new(work) as Box<dyn FnOnce() + Send>
        });
        on_threads(all.into());
    });
}

#[test]
fn lead_that_is_dropped_in_another_thread_wakes_all_that_wait() {
    model(200, || {
        let cache = few(4);
        let Begun::Lead(lead) = cache.begin("k", Leader::Task).unwrap() else { panic!("nobody computes") };
        let mut all: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(move || drop(lead))];
        for _ in 0..2 {
            let cache = cache.clone();
            all.push(Box::new(move || {
                assert_eq!(cache.get_or_compute("k", || Ok::<_, ()>("v")).unwrap(), b"v");
            }));
        }
        on_threads(all);
        assert_eq!(cache.peek("k"), Some(b"v".to_vec()));
    });
}
