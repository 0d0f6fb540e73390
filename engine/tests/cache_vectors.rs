//! Runs the published file of what caches do alike, `conformance/caches.json`, with a clock that stands where the file puts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use twindex::{Cache, CacheOptions, Change, Index, Result, Store};

#[test]
fn every_case_of_the_file_holds() {
    let file: Value =
        serde_json::from_str(include_str!("../../conformance/caches.json")).expect("the file is JSON");
    let cases = file["cases"].as_array().expect("the file has cases");
    assert!(!cases.is_empty());
    for case in cases {
        let mut runner = Runner::new(&case["options"]);
        for step in case["steps"].as_array().expect("a case has steps") {
            let outcome = runner.run(step);
            let context = || format!("{}: {step:.300} gave {outcome:.300?}", case["name"]);
            let expect = &step["expect"];
            match (&outcome, expect["error"].as_str()) {
                (Err(error), Some(code)) => assert_eq!(error.code(), code, "{}", context()),
                (Ok(outcome), None) => match expect["most"].as_u64() {
                    Some(most) => {
                        let left = outcome.as_u64().expect("a time");
                        assert!(left > 0 && left <= most, "{}", context());
                    }
                    None => assert!(*outcome == plain(step, expect), "{}", context()),
                },
                _ => panic!("{}", context()),
            }
        }
    }
}

/// An expectation with its bytes as lists of numbers.
fn plain(step: &Value, expect: &Value) -> Value {
    match (step["do"].as_str(), expect) {
        (Some("ttl" | "stats" | "caches"), expect) => expect.clone(),
        (_, Value::String(_) | Value::Object(_)) => bytes(expect).into(),
        (_, Value::Array(list)) => list.iter().map(|item| plain(step, item)).collect(),
        (_, other) => other.clone(),
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    let Some(digits) = value["repeat"].as_str() else {
        return value.as_str().expect("a text").as_bytes().to_vec();
    };
    let once = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    let once: Vec<u8> = once.collect::<std::result::Result<_, _>>().expect("hex");
    once.repeat(value["times"].as_u64().expect("a count") as usize)
}

/// The time to live that a step says, if it does.
fn ttl(step: &Value) -> Option<Duration> {
    Some(step.get("ttl")?.as_u64().map_or(Duration::MAX, Duration::from_millis))
}

struct Runner {
    store: Store,
    cache: Cache,
    now: Arc<AtomicU64>,
}

impl Runner {
    fn new(options: &Value) -> Self {
        let (store, now) = (Store::new(), Arc::new(AtomicU64::new(1_000_000)));
        let read = Arc::clone(&now);
        assert!(store.set_clock(move || read.load(SeqCst)));
        let size = |name: &str| options[name].as_u64().map(|size| size as usize);
        let with = match (size("max"), size("bytes")) {
            (Some(pairs), _) => CacheOptions::pairs(pairs),
            (None, bytes) => CacheOptions::bytes(bytes.expect("a capacity")),
        };
        let with = ttl(options).map_or(with.clone(), |ttl| with.ttl(ttl));
        let cache = store.cache("c", with).expect("a cache");
        Self { store, cache, now }
    }

    fn run(&mut self, step: &Value) -> Result<Value> {
        let Self { store, cache, now } = self;
        let (key, value) = (|| bytes(&step["key"]), || bytes(&step["value"]));
        let text = |name: &str| step[name].as_str().expect("a text");
        let optional = |name: &str| Some(&step[name]).filter(|value| !value.is_null()).map(bytes);
        Ok(match (text("do"), ttl(step)) {
            ("insert", None) => cache.insert(key(), value())?.into(),
            ("insert", Some(ttl)) => cache.insert_for(key(), value(), ttl)?.into(),
            ("replace", None) => cache.replace(key(), value())?.into(),
            ("replace", Some(ttl)) => cache.replace_for(key(), value(), ttl)?.into(),
            ("upsert", None) => cache.upsert(key(), value())?.into(),
            ("upsert", Some(ttl)) => cache.upsert_for(key(), value(), ttl)?.into(),
            ("select", _) => cache.select(key()).into(),
            ("peek", _) => cache.peek(key()).into(),
            ("contains", _) => cache.contains(key()).into(),
            ("delete", _) => cache.delete(key())?.into(),
            ("increment", _) => cache.increment(key(), step["by"].as_i64().expect("an amount"))?.into(),
            ("compare_and_swap", _) => {
                let (expected, new) = (optional("expected"), optional("new"));
                let mut is_expected = false;
                cache.alter(key(), |old| {
                    is_expected = old == expected.as_deref();
                    match new {
                        Some(new) if is_expected => Change::Set(new),
                        None if is_expected => Change::Delete,
                        _ => Change::Keep,
                    }
                })?;
                is_expected.into()
            }
            ("touch", ttl) => {
                let ttl = ttl.or(cache.default_ttl()).unwrap_or(Duration::MAX);
                cache.touch(key(), Some(ttl))?.into()
            }
            ("ttl", _) => match cache.ttl(key()) {
                None => Value::Null,
                Some(None) => "ever".into(),
                Some(Some(left)) => (left.as_millis() as u64).into(),
            },
            ("len", _) => cache.len().into(),
            ("iter", _) => {
                let mut pairs: Vec<_> = cache.iter().collect();
                pairs.sort();
                pairs.into_iter().map(|(key, value)| json!([key, value])).collect()
            }
            ("stats", _) => {
                let stats = cache.stats();
                json!({
                    "hits": stats.hits,
                    "misses": stats.misses,
                    "writes": stats.writes,
                    "evictions": stats.evictions,
                    "expirations": stats.expirations,
                })
            }
            ("clear", _) => {
                cache.clear()?;
                Value::Null
            }
            ("advance", _) => {
                now.fetch_add(step["ms"].as_u64().expect("a time"), SeqCst);
                Value::Null
            }
            ("table", _) => store.table(text("name"), Index::Hash).map(|_| Value::Null)?,
            ("caches", _) => store.caches().iter().map(|cache| cache.name().to_owned()).collect(),
            ("drop_cache", _) => store.drop_cache(text("name")).into(),
            (other, _) => panic!("no such step: {other}"),
        })
    }
}
