//! Runs the published file of what caches do alike, `conformance/caches.json`, against the module, whose clock stands where
//! the file puts it.

use serde_json::{Value, json};

use crate::guest::{ABSENT, Fallible, Guest};

/// What stands for the time to live of the cache.
const OWN: f64 = -1.0;

#[test]
fn every_case_of_the_file_holds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/caches.json");
    let text = std::fs::read(path).expect("the file is there");
    let file: Value = serde_json::from_slice(&text).expect("the file is JSON");
    let cases = file["cases"].as_array().expect("the file has cases");
    assert!(!cases.is_empty());
    for case in cases {
        let mut runner = Runner::new(&case["options"]);
        for step in case["steps"].as_array().expect("a case has steps") {
            let outcome = runner.run(step);
            let context = || format!("{}: {step:.300} gave {outcome:.300?}", case["name"]);
            let expect = &step["expect"];
            match (&outcome, expect["error"].as_str()) {
                (Err(error), Some(code)) => assert_eq!(error.code, code, "{}", context()),
                (Ok(outcome), None) => match expect["most"].as_i64() {
                    Some(most) => {
                        let left = outcome.as_i64().expect("a time");
                        assert!(left > 0 && left <= most, "{}", context());
                    }
                    None => assert!(*outcome == plain(step, expect), "{}", context()),
                },
                _ => panic!("{}", context()),
            }
        }
    }
}

/// The time of day goes on between the two, and the pair that it expires with is gone.
#[test]
fn a_cache_comes_back_from_its_bytes() {
    let mut runner = Runner::new(&json!({ "max": 100 }));
    for (key, ttl) in [("short", 100.0), ("long", 1_000.0), ("ever", f64::INFINITY)] {
        let step = json!({ "do": "upsert", "key": key, "value": "1", "ttl": ttl_of(ttl) });
        assert_eq!(runner.run(&step).expect("no error"), true);
    }
    let status = runner.guest.exports.cache_dump.call(&mut runner.guest.store, (runner.cache,));
    assert_eq!(runner.guest.check(status).expect("no error"), 0);
    let dump = runner.guest.answer_bytes().to_vec();
    runner.advance(100.0);
    let refused = runner.load(&dump).expect_err("there is one of this name");
    assert_eq!(refused.code, "TWINDEX_NAME_IN_USE");
    runner.store = runner.guest.store_new(None).expect("a store");
    assert_eq!(runner.load(&dump[1..]).expect_err("it is damaged").code, "TWINDEX_CORRUPT");
    runner.cache = runner.load(&dump).expect("a cache");
    let mut left = |key: &str| runner.run(&json!({ "do": "ttl", "key": key })).expect("no error");
    assert_eq!([left("short"), left("long"), left("ever")], [Value::Null, json!(900), json!("ever")]);
}

#[test]
fn figures_that_are_no_sizes_and_no_times_are_errors() {
    let mut runner = Runner::new(&json!({ "max": 100 }));
    let is_range = |outcome: Fallible<u32>, mentions: &str| {
        let error = outcome.expect_err("no such figure");
        assert_eq!(error.code, "TWINDEX_RANGE", "{error}");
        assert!(error.text.contains(mentions), "{error}");
    };
    for (figure, mentions) in [(f64::NAN, "NaN"), (-2.0, "-2"), (f64::NEG_INFINITY, "-9")] {
        is_range(runner.open(figure, 0.0, OWN), mentions);
        is_range(runner.open(0.0, figure, OWN), mentions);
        is_range(runner.open(1.0, 0.0, figure), mentions);
        let Runner { guest, cache, .. } = &mut runner;
        let [(key, k)] = guest.put([b"key"]);
        let status = guest.exports.cache_write.call(&mut guest.store, (*cache, 2, key, k, key, k, figure));
        is_range(guest.check(status).map(i32::cast_unsigned), mentions);
        let status = guest.exports.cache_touch.call(&mut guest.store, (*cache, key, k, figure));
        is_range(guest.check(status).map(i32::cast_unsigned), mentions);
        let status = guest.exports.set_time.call(&mut guest.store, (figure,));
        is_range(guest.check(status).map(i32::cast_unsigned), mentions);
    }
    let Runner { guest, cache, .. } = &mut runner;
    let [(key, k)] = guest.put([b"key"]);
    let status = guest.exports.cache_write.call(&mut guest.store, (*cache, 3, key, k, key, k, OWN));
    is_range(guest.check(status).map(i32::cast_unsigned), "verb 3");
}

/// A pair that was to live for 2^64 - 1201 milliseconds answered with -1201.
#[test]
fn a_long_life_is_never_told_as_a_negative_number() {
    let mut runner = Runner::new(&json!({ "max": 100 }));
    for life in [9e18, 1.8e19, 1.844_674_407_370_955e19] {
        let step = json!({ "do": "upsert", "key": "k", "value": "1", "ttl": life });
        assert_eq!(runner.run(&step).expect("no error"), true);
        let left = runner.run(&json!({ "do": "ttl", "key": "k" })).expect("no error");
        assert!(left == "ever" || left.as_i64().expect("a time") > 1 << 60, "{left}");
    }
}

/// A time to live of a step: null stands for ever.
fn ttl_of(millis: f64) -> Value {
    if millis.is_finite() { millis.into() } else { Value::Null }
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
    let once: Vec<u8> = once.collect::<Result<_, _>>().expect("hex");
    once.repeat(value["times"].as_u64().expect("a count") as usize)
}

/// The time to live that a step says, if it does.
fn ttl(step: &Value) -> f64 {
    step.get("ttl").map_or(OWN, |ttl| ttl.as_f64().unwrap_or(f64::INFINITY))
}

struct Runner {
    guest: Guest,
    store: u32,
    cache: u32,
    now: f64,
}

impl Runner {
    fn new(options: &Value) -> Self {
        let mut guest = Guest::new();
        let store = guest.store_new(None).expect("a store");
        let size = |name: &str| options[name].as_f64().unwrap_or(0.0);
        let mut runner = Self { guest, store, cache: 0, now: 1_000_000.0 };
        runner.advance(0.0);
        assert_eq!(runner.open(0.0, 0.0, OWN).expect("no error"), 0, "there is no cache yet");
        runner.cache = runner.open(size("max"), size("bytes"), ttl(options)).expect("a cache");
        let again = runner.open(0.0, 0.0, OWN).expect("it is there");
        assert!(again > 0 && again != runner.cache);
        runner.guest.close(again).expect("a handle of its own");
        runner
    }

    fn open(&mut self, pairs: f64, bytes: f64, ttl: f64) -> Fallible<u32> {
        let guest = &mut self.guest;
        let [(name, n), (keys, k), (values, v)] = guest.put([b"c", b"", b""]);
        let call = (self.store, name, n, keys, k, values, v, pairs, bytes, ttl);
        let status = guest.exports.cache.call(&mut guest.store, call);
        guest.check(status).map(i32::cast_unsigned)
    }

    fn load(&mut self, dump: &[u8]) -> Fallible<u32> {
        let guest = &mut self.guest;
        let [(name, n), (dump, d)] = guest.put([b"c", dump]);
        let status =
            guest.exports.cache_load.call(&mut guest.store, (self.store, name, n, dump, d, 0.0, 0.0, OWN));
        guest.check(status).map(i32::cast_unsigned)
    }

    fn advance(&mut self, millis: f64) {
        self.now += millis;
        let status = self.guest.exports.set_time.call(&mut self.guest.store, (self.now,));
        assert_eq!(self.guest.check(status).expect("no error"), 0);
    }

    fn run(&mut self, step: &Value) -> Fallible<Value> {
        let verb = step["do"].as_str().expect("a step has a verb");
        if verb == "advance" {
            self.advance(step["ms"].as_f64().expect("a time"));
            return Ok(Value::Null);
        }
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let optional = |name: &str| Some(&step[name]).filter(|value| !value.is_null()).map(bytes);
        let (key, value) = (optional("key").unwrap_or_default(), optional("value").unwrap_or_default());
        let (expected, new) = (optional("expected"), optional("new"));
        let Self { guest, store, cache, .. } = self;
        let pieces: [&[u8]; 5] = [
            &key,
            &value,
            expected.as_deref().unwrap_or_default(),
            new.as_deref().unwrap_or_default(),
            text("name").as_bytes(),
        ];
        // Each is an address and a length.
        let [key, value, was, next, name] = guest.put(pieces);
        let was_len = if expected.is_some() { was.1 } else { ABSENT };
        let next_len = if new.is_some() { next.1 } else { ABSENT };
        let Guest { exports, store: memory, .. } = guest;
        let pair = (*cache, key.0, key.1, value.0, value.1);
        let for_ttl = |verb| (*cache, verb, key.0, key.1, value.0, value.1, ttl(step));
        let has_ttl = step.get("ttl").is_some();
        let status = match verb {
            "insert" if has_ttl => exports.cache_write.call(memory, for_ttl(0)),
            "replace" if has_ttl => exports.cache_write.call(memory, for_ttl(1)),
            "upsert" if has_ttl => exports.cache_write.call(memory, for_ttl(2)),
            "insert" => exports.insert.call(memory, pair),
            "replace" => exports.replace.call(memory, pair),
            "upsert" => exports.upsert.call(memory, pair),
            "select" => exports.select.call(memory, (*cache, key.0, key.1)),
            "peek" => exports.cache_peek.call(memory, (*cache, key.0, key.1)),
            "contains" => exports.contains.call(memory, (*cache, key.0, key.1)),
            "ttl" => exports.cache_ttl.call(memory, (*cache, key.0, key.1)),
            "delete" => exports.delete.call(memory, (*cache, key.0, key.1)),
            "increment" => {
                let by = step["by"].as_i64().expect("an amount");
                exports.increment.call(memory, (*cache, key.0, key.1, by))
            }
            "compare_and_swap" => exports
                .compare_and_swap
                .call(memory, (*cache, key.0, key.1, was.0, was_len, next.0, next_len)),
            "touch" => exports.cache_touch.call(memory, (*cache, key.0, key.1, ttl(step))),
            "len" => exports.len.call(memory, (*cache,)),
            "stats" => exports.cache_figures.call(memory, (*cache,)),
            "clear" => exports.clear.call(memory, (*cache,)),
            "caches" => exports.caches.call(memory, (*store,)),
            "drop_cache" => exports.drop_cache.call(memory, (*store, name.0, name.1)),
            "table" => return guest.table(*store, text("name").as_bytes(), "hash").map(|_| Value::Null),
            "iter" => {
                let mut pairs = guest.iterate(*cache, 2)?;
                pairs.sort();
                return Ok(pairs.into_iter().map(|(key, value)| json!([key, value])).collect());
            }
            other => panic!("no such step: {other}"),
        };
        let status = guest.check(status)?;
        Ok(match verb {
            "select" | "peek" if status == 1 => guest.answer_bytes().into(),
            "select" | "peek" | "clear" => Value::Null,
            "ttl" if status == 0 => Value::Null,
            "ttl" if guest.answer_number() < 0 => "ever".into(),
            "ttl" | "increment" | "len" => guest.answer_number().into(),
            "caches" => {
                let names = guest.answered_pairs().into_iter();
                names.map(|(name, _)| String::from_utf8(name).expect("a name is text")).collect()
            }
            "stats" => {
                let figures = guest.answer_bytes().as_chunks::<8>().0;
                let counts: Vec<_> = figures.iter().map(|figure| i64::from_le_bytes(*figure)).collect();
                ["hits", "misses", "writes", "evictions", "expirations"]
                    .into_iter()
                    .zip(&counts[5..])
                    .map(|(name, &count)| (name.to_owned(), Value::from(count)))
                    .collect()
            }
            _ => (status == 1).into(),
        })
    }
}
