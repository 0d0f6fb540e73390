//! The cases of `caches.json`.

use std::time::Duration;

use serde_json::Value;

use crate::decode::{bytes, expiring_verb, items, name, ttl, verb};
use crate::{Answer, Bytes, ExpiringVerb, Fallible, check};

/// What bounds a cache.
#[derive(Clone, Copy, Debug)]
pub enum Capacity {
    /// So many pairs.
    Pairs(usize),
    /// So many bytes.
    Bytes(usize),
}

/// How a case makes its cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheOptions {
    /// What bounds it.
    pub capacity: Capacity,
    /// The time to live of pairs, where they have one.
    pub ttl: Option<Duration>,
}

/// A step of a cache.
#[derive(Clone, Debug)]
pub enum CacheVerb {
    /// A verb that tables whose pairs expire have too.
    Shared(ExpiringVerb),
    /// Reads a value without a use.
    Peek(Bytes),
    /// Answers with hits, misses, writes, evictions and expirations.
    Stats,
    /// Lets time go by.
    Advance(Duration),
}

/// A cache in any form.
pub trait CacheHost {
    /// Does one step.
    fn run(&mut self, verb: CacheVerb) -> Fallible<Answer>;
}

/// A case of `caches.json`.
pub struct CacheCase {
    /// Its name in the file.
    pub name: String,
    /// How its cache is made.
    pub options: CacheOptions,
    steps: Vec<Value>,
}

/// All cases of `caches.json`.
///
/// # Panics
/// Where the file is not as its first line says.
pub fn cache_cases() -> Vec<CacheCase> {
    let file: Value = serde_json::from_str(include_str!("../caches.json")).expect("caches.json is JSON");
    let cases = items(&file["cases"]).iter().map(|case| {
        let options = &case["options"];
        let size = |name: &str| options[name].as_u64().map(|size| size as usize);
        let capacity = match size("max") {
            Some(pairs) => Capacity::Pairs(pairs),
            None => Capacity::Bytes(size("bytes").expect("a capacity")),
        };
        let options = CacheOptions { capacity, ttl: ttl(options).expect("a time to live") };
        CacheCase { name: name(&case["name"]), options, steps: items(&case["steps"]).to_vec() }
    });
    let cases: Vec<_> = cases.collect();
    assert!(!cases.is_empty(), "caches.json has no cases");
    cases
}

impl CacheCase {
    /// Runs the case on a new cache.
    ///
    /// # Panics
    /// Where an answer is not the expected one; the message names the case and the step.
    pub fn run(&self, host: &mut impl CacheHost) {
        for (number, step) in self.steps.iter().enumerate() {
            let is_unordered = verb(step) == "iter";
            let sorted = |answer: Answer| if is_unordered { answer.sorted() } else { answer };
            let outcome = decode(step).and_then(|verb| host.run(verb)).map(sorted);
            let mut step = step.clone();
            if let Some(stats) = step["expect"].as_object().filter(|_| verb(&step) == "stats") {
                let counts =
                    ["hits", "misses", "writes", "evictions", "expirations"].map(|name| stats[name].clone());
                step["expect"] = counts.to_vec().into();
            }
            check(&format!("caches.json: {:?}, step {number}", self.name), &step, &outcome);
        }
    }
}

fn decode(step: &Value) -> Fallible<CacheVerb> {
    Ok(match verb(step) {
        "peek" => CacheVerb::Peek(bytes(&step["key"])?),
        "stats" => CacheVerb::Stats,
        "advance" => CacheVerb::Advance(Duration::from_millis(step["ms"].as_u64().expect("a time"))),
        verb => CacheVerb::Shared(expiring_verb(verb, step)?),
    })
}
