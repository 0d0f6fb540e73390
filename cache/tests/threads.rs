//! Many threads, and computations that they share.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use twindex_cache::{
    Begun, Cache, CacheOptions, ComputeError, Error, Lead, Leader, MIN_CAPACITY, Outcome, Waiter,
};

const ROUNDS: usize = if cfg!(miri) { 50 } else { 20_000 };

/// A value of any length that shows its key and whether it is whole.
fn value(key: u64, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut value = key.to_le_bytes().to_vec();
    let length = if random.u8(..) == 0 { 20_000 } else { 200 };
    value.resize(8 + random.usize(..length), key as u8);
    value
}

fn check(key: u64, value: &[u8]) {
    assert_eq!(value[..8], key.to_le_bytes());
    assert!(value[8..].iter().all(|&byte| byte == key as u8), "a value that is not whole");
}

#[test]
fn readers_see_whole_values_of_their_keys_while_writers_evict() {
    let all = [(CacheOptions::capacity(128 << 10), usize::MAX), (CacheOptions::max_entries(200), 200)];
    for (options, most) in all {
        let cache = Cache::new(options).unwrap();
        thread::scope(|scope| {
            for seed in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..ROUNDS {
                        let key = random.u64(..2000) * random.u64(..2000) / 2000;
                        let name = key.to_le_bytes();
                        let found = cache.get_with(name, |value| check(key, value));
                        match random.u8(..20) {
                            0 => _ = cache.remove(name),
                            1 => cache.get_many(&[name, [9; 8], name], |_, value| {
                                if let Some(value) = value {
                                    check(key, value);
                                }
                            }),
                            2 if key == 0 => cache.iter().take(3).for_each(drop),
                            3..6 => _ = cache.upsert(name, value(key, &mut random)).unwrap(),
                            _ if found.is_none() => _ = cache.upsert(name, value(key, &mut random)).unwrap(),
                            _ => {}
                        }
                        assert!(cache.len() <= most);
                    }
                });
            }
        });
    }
}

#[test]
fn many_forms_do_what_single_calls_do() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let pairs: Vec<_> = (0..100_u64).map(|key| (key.to_le_bytes(), key.to_string())).collect();
    assert_eq!(cache.upsert_many(&pairs, None).unwrap(), [true; 100]);
    let keys: Vec<_> = (50..150_u64).map(u64::to_le_bytes).collect();
    let mut seen = Vec::new();
    cache.get_many(&keys, |at, value| seen.push((at, value.map(<[u8]>::to_vec))));
    for (at, (number, value)) in seen.into_iter().enumerate() {
        assert_eq!((at, (at < 50).then(|| (at + 50).to_string().into_bytes())), (number, value));
    }
    let removed = cache.remove_many(&keys);
    assert_eq!(removed.iter().filter(|removed| **removed).count(), 50);
    assert_eq!((cache.len(), cache.stats().hits, cache.stats().misses), (50, 50, 50));
}

#[test]
fn one_thread_computes_and_the_others_get_its_value_or_its_error() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    for fails in [false, true] {
        let (computed, begin) = (AtomicUsize::new(0), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    begin.wait();
                    let done = cache.get_or_compute(if fails { "f" } else { "k" }, || {
                        computed.fetch_add(1, SeqCst);
                        // So that the others come to wait.
                        (0..1000).for_each(|_| thread::yield_now());
                        if fails { Err("no") } else { Ok("yes") }
                    });
                    match done {
                        Ok(value) => assert!(!fails && value == b"yes"),
                        Err(ComputeError::Failed(error)) => assert!(fails && *error == "no"),
                        Err(error) => panic!("{error:?}"),
                    }
                });
            }
        });
        assert!(fails || computed.load(SeqCst) == 1);
        assert!(!cache.contains("f"));
    }
}

#[test]
fn value_is_not_kept_if_its_key_was_removed_or_written_while_it_was_computed() {
    type Meanwhile = fn(&Cache);
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let all: [(Meanwhile, Option<&[u8]>); 6] = [
        (|cache| _ = cache.remove("k"), None),
        (|cache| cache.clear(), None),
        (|cache| _ = cache.remove_many(&["k"]), None),
        (|cache| _ = cache.upsert("k", "written").unwrap(), Some(b"written")),
        (|cache| _ = cache.increment("k", 3).unwrap(), Some(b"3")),
        (|cache| _ = cache.upsert_many(&[("k", "many")], None).unwrap(), Some(b"many")),
    ];
    for (meanwhile, kept) in all {
        let computed = cache.get_or_compute("k", || {
            meanwhile(&cache);
            Ok::<_, ()>("computed")
        });
        assert_eq!(computed.unwrap(), b"computed");
        assert_eq!(cache.peek("k").as_deref(), kept);
        cache.remove("k");
    }
}

#[test]
fn computations_that_wait_for_each_other_are_an_error() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let own = cache.get_or_compute("k", || cache.get_or_compute("k", || Ok::<_, ()>("never")));
    let Err(ComputeError::Failed(error)) = own else { panic!("it is an error") };
    assert!(matches!(*error, ComputeError::Cache(Error::Circle)));

    let both = Barrier::new(2);
    let circles = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (one, other) in [("a", "b"), ("b", "a")] {
            let (cache, both, circles) = (&cache, &both, &circles);
            scope.spawn(move || {
                cache.get_or_compute(one, || {
                    both.wait();
                    let inner = cache.get_or_compute(other, || Ok::<_, ()>("inner"));
                    if matches!(inner, Err(ComputeError::Cache(Error::Circle))) {
                        circles.fetch_add(1, SeqCst);
                    }
                    Ok::<_, ()>("outer")
                })
            });
        }
    });
    assert_eq!(circles.load(SeqCst), 1);
}

fn is_send(_: impl Send) {}

/// Polls futures in turns until all are ready.
fn run_all<T>(mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut context = Context::from_waker(Waker::noop());
    let mut done = Vec::new();
    while !tasks.is_empty() {
        tasks.retain_mut(|task| match task.as_mut().poll(&mut context) {
            Poll::Ready(value) => {
                done.push(value);
                false
            }
            Poll::Pending => true,
        });
    }
    done
}

/// Is pending so many times.
async fn pause(times: usize) {
    let mut left = times;
    std::future::poll_fn(|context| {
        left = left.saturating_sub(1);
        context.waker().wake_by_ref();
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn tasks_share_a_computation_and_take_over_a_dropped_one() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let computed = Arc::new(AtomicUsize::new(0));
    let task = || {
        let (cache, computed) = (cache.clone(), Arc::clone(&computed));
        let task = async move {
            let compute = || async move {
                computed.fetch_add(1, Relaxed);
                pause(3).await;
                Ok::<_, ()>("value")
            };
            cache.get_or_compute_async("k", None, compute).await
        };
        Box::pin(task) as std::pin::Pin<Box<dyn Future<Output = Result<Vec<u8>, ComputeError<()>>>>>
    };
    for done in run_all(vec![task(), task(), task()]) {
        assert_eq!(done.unwrap(), b"value");
    }
    assert_eq!(computed.load(SeqCst), 1);
    cache.remove("k");
    let mut first = task();
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut second = task();
    assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(first);
    assert_eq!(run_all(vec![second])[0].as_ref().unwrap(), b"value");
    assert_eq!(computed.load(SeqCst), 3);

    is_send(cache.get_or_compute_async("k", None, || async { Ok::<_, ()>("x") }));
    let mut ready = pin!(cache.get_or_compute_async("k", None, || async { Ok::<_, ()>("x") }));
    assert!(ready.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn future_that_waits_keeps_one_waker_until_it_is_dropped() {
    struct Task;
    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let mut lead = pin!(cache.get_or_compute_async("k", None, std::future::pending::<Result<&str, ()>>));
    assert!(lead.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let task = Arc::new(Task);
    for _ in 0..3 {
        let mut waits =
            Box::pin(cache.get_or_compute_async("k", None, std::future::pending::<Result<&str, ()>>));
        for _ in 0..3 {
            // Each poll has a waker of its own, as in a `select`.
            let inner = Arc::new(Task);
            let waker = Waker::from(Arc::clone(&inner));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            assert_eq!(Arc::strong_count(&inner), 2, "the last one is kept");
        }
        let waker = Waker::from(Arc::clone(&task));
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop((waker, waits));
        assert_eq!(Arc::strong_count(&task), 1, "a dropped future leaves its waker");
    }
}

#[test]
fn waker_that_panics_leaves_no_other_task_asleep() {
    struct Task(AtomicBool);
    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
            panic!("mine");
        }
    }
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let lead = lead(&cache, Leader::Task);
    let tasks: Vec<_> = (0..3).map(|_| Arc::new(Task(AtomicBool::new(false)))).collect();
    let mut waits: Vec<_> = tasks.iter().map(|_| Box::pin(waiter(&cache))).collect();
    for (wait, task) in waits.iter_mut().zip(&tasks) {
        let waker = Waker::from(Arc::clone(task));
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(lead)));
    assert_eq!(*ended.unwrap_err().downcast::<&str>().unwrap(), "mine");
    assert!(tasks.iter().all(|task| task.0.load(SeqCst)));
}

fn lead(cache: &Cache, leader: Leader) -> Lead {
    let Begun::Lead(lead) = cache.begin("k", leader).unwrap() else { panic!("nobody computes") };
    lead
}

fn waiter(cache: &Cache) -> Waiter {
    let Begun::Wait(waiter) = cache.begin("k", Leader::Thread).unwrap() else { panic!("somebody computes") };
    waiter
}

#[test]
fn waiters_learn_the_value_the_error_or_that_the_computation_was_given_up() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let ends: [fn(Lead); 3] =
        [|lead| assert!(lead.end("v", None).unwrap()), |lead| lead.fail(Arc::new(7)), drop];
    for (end, expected) in ends.into_iter().zip(["v", "7", "given up"]) {
        let lead = lead(&cache, Leader::Task);
        let (thread, mut task, slices) = (waiter(&cache), waiter(&cache), waiter(&cache));
        let mut context = Context::from_waker(Waker::noop());
        assert!(std::pin::Pin::new(&mut task).poll(&mut context).is_pending() && task.outcome().is_none());
        assert!(slices.wait_for(Duration::from_micros(1)).unwrap().is_none(), "the computation goes on");
        let thread = thread::spawn(move || thread.wait());
        // A lead may end in another thread.
        thread::spawn(move || end(lead)).join().unwrap();
        let Poll::Ready(task) = std::pin::Pin::new(&mut task).poll(&mut context) else { panic!("it ended") };
        let slices = slices.wait_for(Duration::from_mins(1)).unwrap().unwrap();
        for outcome in [thread.join().unwrap().unwrap(), task, slices] {
            let shown = match outcome {
                Outcome::Value(value) => String::from_utf8(value.to_vec()).unwrap(),
                Outcome::Failed(error) => error.downcast_ref::<i32>().unwrap().to_string(),
                Outcome::Abandoned => "given up".to_owned(),
            };
            assert_eq!(shown, expected);
        }
        cache.remove("k");
    }
}

#[test]
fn write_beside_shrinking_is_not_refused() {
    // With tiny constants there are no more than 255 segments.
    let most = if cfg!(twindex_tiny) { 250_000 } else { 1 << 20 };
    let cache = Cache::new(CacheOptions::capacity(most)).unwrap();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for capacity in [most / 5, 1 << 16, most / 16, most].into_iter().cycle() {
                cache.shrink_to(capacity.max(1 << 16)).unwrap();
                if has_ended.load(Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        // The old record of a pair that is written anew may be the next one to be swept.
        let mut random = fastrand::Rng::with_seed(3);
        let writes: usize = if cfg!(miri) { 300 } else { 60_000 };
        let refused = (0..writes).filter(|_| {
            let key = (random.u64(..1000) * random.u64(..1000) / 1000).to_le_bytes();
            cache.get(key);
            !cache.upsert(key, vec![0; random.usize(..45) * random.usize(..45)]).unwrap()
        });
        let refused = refused.count();
        has_ended.store(true, Relaxed);
        assert_eq!(refused, 0, "{:?}", cache.stats());
    });
    cache.shrink_to(MIN_CAPACITY).unwrap();
    assert!(cache.memory() <= MIN_CAPACITY, "{} bytes", cache.memory());
}

#[test]
fn thread_that_leads_finds_a_circle_and_a_task_does_not() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let thread = lead(&cache, Leader::Thread);
    assert!(matches!(waiter(&cache).wait_for(Duration::ZERO), Err(Error::Circle)));
    drop(thread);
    let _task = lead(&cache, Leader::Task);
    assert!(matches!(waiter(&cache).wait_for(Duration::ZERO), Ok(None)));
}

#[test]
fn computed_value_whose_time_is_refused_is_left_to_another_caller() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    let lead = lead(&cache, Leader::Task);
    let waiter = waiter(&cache);
    assert!(matches!(lead.end("v", Some(Duration::ZERO)), Err(Error::Ttl { .. })));
    assert!(matches!(waiter.outcome(), Some(Outcome::Abandoned)));
}
