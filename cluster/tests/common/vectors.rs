//! Runs the vector file that every host runs, on a cluster store.
//!
//! What other hosts refuse at run time does not compile in Rust; decoding such a step fails here with their code.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use serde_json::Value;
use twindex_cluster::blocking::{Cursor, Store, Table};
use twindex_cluster::{Change, Index, Options, prefix_range};

type Bytes = Vec<u8>;

/// A store in memory does these. A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
const VERBS_OF_MEMORY: [&str; 3] = ["memory_limit", "reload", "load"];

/// In the engine a batch is done one by one; here it is done by several servers at once.
const DONE_OTHERWISE: &str = "increment_many stops at the first that fails";

#[derive(Debug)]
struct Failure {
    code: &'static str,
    message: String,
}

impl From<twindex_cluster::Error> for Failure {
    fn from(error: twindex_cluster::Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

impl From<twindex::Error> for Failure {
    fn from(error: twindex::Error) -> Self {
        twindex_cluster::Error::from(error).into()
    }
}

fn cannot_say(code: &'static str, value: &Value) -> Failure {
    Failure { code, message: format!("Rust's types do not admit {value}") }
}

type Fallible<T> = Result<T, Failure>;

/// Runs every case, each in a namespace of its own.
pub(crate) fn run(url: &str) {
    let file: Value = serde_json::from_str(include_str!("../../../conformance/vectors.json")).expect("JSON");
    let mut left_out = 0;
    for (number, case) in file["cases"].as_array().expect("cases").iter().enumerate() {
        let steps = case["steps"].as_array().expect("steps");
        let is_of_memory = |step: &Value| VERBS_OF_MEMORY.contains(&step["do"].as_str().expect("a verb"));
        let is_closed = steps.iter().any(|step| step["do"] == "close");
        if case["name"] == DONE_OTHERWISE || (steps.iter().any(is_of_memory) && !is_closed) {
            left_out += 1;
            continue;
        }
        let indexes = case["index"].as_array().expect("indexes");
        let named =
            indexes.iter().map(|index| Some(index.as_str().expect("text").parse().expect("an index")));
        for index in named.chain(indexes.is_empty().then_some(None)) {
            let namespace = format!("case{number}{index:?}");
            let store = Options::new().namespace(&namespace).connect_blocking(url).expect("a store");
            run_case(case, Runner::new(store, index));
        }
    }
    assert_eq!(left_out, 15, "the cases that a cluster store cannot run, and no others, are left out");
}

fn run_case(case: &Value, mut runner: Runner) {
    for (position, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        if VERBS_OF_MEMORY.contains(&step["do"].as_str().expect("a verb")) {
            continue;
        }
        let outcome = runner.run(step);
        let context = || {
            let step = step.to_string();
            format!(
                "case {}, step {position}: {step:.300}\ngave {:.300}",
                case["name"],
                format!("{outcome:?}")
            )
        };
        let expect = expected(&step["expect"]);
        match (&outcome, step["expect"].get("error").and_then(Value::as_str)) {
            (Ok(outcome), None) => assert!(*outcome == expect, "{}", context()),
            (Err(failure), Some(code)) => {
                assert_eq!(failure.code, code, "{}", context());
                let mentions = step["expect"].get("mentions").map_or("", |text| text.as_str().expect("text"));
                assert!(failure.message.contains(mentions), "{}", context());
            }
            _ => panic!("{}", context()),
        }
    }
}

/// Expectations and outcomes are compared as JSON whose texts are hex.
fn expected(expect: &Value) -> Value {
    match expect {
        Value::Array(items) => items.iter().map(expected).collect(),
        Value::Number(_) | Value::Bool(_) | Value::Null => expect.clone(),
        _ if expect.get("error").is_some() => Value::Null,
        _ => shown(&bytes(expect).expect("bytes")),
    }
}

fn shown(bytes: &[u8]) -> Value {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte");
    Value::String(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
}

fn shown_pair((key, value): &(Bytes, Bytes)) -> Value {
    Value::Array(vec![shown(key), shown(value)])
}

fn shown_pairs(pairs: &[(Bytes, Bytes)]) -> Value {
    pairs.iter().map(shown_pair).collect()
}

struct Runner {
    store: Store,
    tables: BTreeMap<String, Table>,
    cursors: HashMap<String, Cursor>,
}

impl Runner {
    fn new(store: Store, index: Option<Index>) -> Self {
        let opened = index.map(|index| ("t".to_owned(), store.table("t", index).expect("a new table")));
        Self { store, tables: opened.into_iter().collect(), cursors: HashMap::new() }
    }

    fn table(&self, step: &Value) -> &Table {
        let name = step.get("table").map_or("t", |name| name.as_str().expect("a table is named"));
        self.tables.get(name).unwrap_or_else(|| panic!("table {name} was not opened"))
    }

    fn run(&mut self, step: &Value) -> Fallible<Value> {
        match step["do"].as_str().expect("a step does something") {
            "table" => {
                let (name, index) = (text(&step["name"])?, text(&step["index"])?);
                let table = self.store.table(name, index.parse()?)?;
                self.tables.insert(name.to_owned(), table);
                Ok(Value::Null)
            }
            "tables" => {
                let shown =
                    |table: &Table| Value::from(vec![table.name().to_owned(), table.index().to_string()]);
                let hex = |value: Value| expected(&value);
                Ok(self.store.tables()?.iter().map(shown).map(hex).collect())
            }
            "drop_table" => Ok(self.store.drop_table(text(&step["name"])?)?.into()),
            "close" => {
                self.store.close();
                Ok(Value::Null)
            }
            "cursor" => {
                let id = step["id"].as_str().expect("a cursor has an id").to_owned();
                let cursor = self.table(step).cursor(Range::of(step)?.bounds())?;
                self.cursors.insert(id, cursor);
                Ok(Value::Null)
            }
            verb if verb.contains("_next") => self.move_cursor(verb, step),
            verb => run_on_table(self.table(step), verb, step),
        }
    }

    fn move_cursor(&mut self, verb: &str, step: &Value) -> Fallible<Value> {
        let cursor =
            self.cursors.get_mut(step["id"].as_str().expect("an id")).expect("the cursor was opened");
        Ok(match verb {
            "scan_asc_next" => cursor.scan_asc_next()?.as_ref().map(shown_pair).into(),
            "scan_desc_next" => cursor.scan_desc_next()?.as_ref().map(shown_pair).into(),
            "scan_asc_next_many" => shown_pairs(&cursor.scan_asc_next_many(size(&step["limit"])?)?),
            _ => shown_pairs(&cursor.scan_desc_next_many(size(&step["limit"])?)?),
        })
    }
}

fn run_on_table(table: &Table, verb: &str, step: &Value) -> Fallible<Value> {
    let key = || bytes(&step["key"]);
    let value = || bytes(&step["value"]);
    let keys = || list(&step["keys"], bytes);
    let pairs = || list(&step["pairs"], pair);
    let shown_option = |value: Option<Bytes>| value.as_deref().map(shown).into();
    Ok(match verb {
        "insert" => table.insert(key()?, value()?)?.into(),
        "replace" => table.replace(key()?, value()?)?.into(),
        "upsert" => table.upsert(key()?, value()?)?.into(),
        "delete" => table.delete(key()?)?.into(),
        "contains" => table.contains(key()?)?.into(),
        "select" => shown_option(table.select(key()?)?),
        "len" => table.len()?.into(),
        "clear" => table.clear().map(|()| Value::Null)?,
        "increment" => table.increment(key()?, int(&step["by"])?)?.into(),
        "alter" => alter(table, &key()?, step)?.into(),
        "compare_and_swap" => {
            let (expected, new) = (optional_bytes(&step["expected"])?, optional_bytes(&step["new"])?);
            table.compare_and_swap(key()?, expected.as_deref(), new.as_deref())?.into()
        }
        "insert_many" => table.insert_many(&pairs()?)?.into(),
        "replace_many" => table.replace_many(&pairs()?)?.into(),
        "upsert_many" => table.upsert_many(&pairs()?)?.into(),
        "delete_many" => table.delete_many(&keys()?)?.into(),
        "contains_many" => table.contains_many(&keys()?)?.into(),
        "select_many" => table.select_many(&keys()?)?.into_iter().map(shown_option).collect(),
        "increment_many" => {
            let amounts = list(&step["amounts"], |item| Ok((bytes(&item[0])?, int(&item[1])?)))?;
            table.increment_many(&amounts)?.into()
        }
        "compare_and_swap_many" => {
            let swap =
                |item: &Value| Ok((bytes(&item[0])?, optional_bytes(&item[1])?, optional_bytes(&item[2])?));
            let swaps = list(&step["swaps"], swap)?;
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (&key[..], old.as_deref(), new.as_deref())).collect();
            table.compare_and_swap_many(&swaps)?.into()
        }
        "scan" => {
            let limit = optional(&step["limit"], size)?.unwrap_or(usize::MAX);
            let scan = table.scan(Range::of(step)?.bounds())?.limit(limit);
            let scan =
                if step.get("reverse").is_some_and(|reverse| reverse == true) { scan.rev() } else { scan };
            shown_pairs(&scan.collect::<Result<Vec<_>, _>>()?)
        }
        "iter" => {
            let mut pairs = table.iter().collect::<Result<Vec<_>, _>>()?;
            pairs.sort();
            shown_pairs(&pairs)
        }
        _ => panic!("no such verb: {verb}"),
    })
}

fn alter(table: &Table, key: &[u8], step: &Value) -> Fallible<bool> {
    if step.get("append").is_some() {
        let more = bytes(&step["append"])?;
        return Ok(table.alter(key, |old| Change::Set([old.unwrap_or_default(), &more].concat()))?);
    }
    let removes = step.get("remove").is_some();
    assert!(removes || step.get("keep").is_some(), "alter appends, removes or keeps: {step}");
    Ok(table.alter(key, |_| if removes { Change::Delete } else { Change::Keep })?)
}

/// A step's `gt`, `gte`, `lt`, `lte` and `prefix`.
struct Range(Bound<Bytes>, Bound<Bytes>);

impl Range {
    fn of(step: &Value) -> Fallible<Self> {
        let field = |name| step.get(name).map(bytes).transpose();
        let bound = |open, closed| match (field(open)?, field(closed)?) {
            (Some(_), Some(_)) => Err(cannot_say("TWINDEX_RANGE", step)),
            (Some(key), None) => Ok(Bound::Excluded(key)),
            (None, Some(key)) => Ok(Bound::Included(key)),
            (None, None) => Ok(Bound::Unbounded),
        };
        match (bound("gt", "gte")?, bound("lt", "lte")?, field("prefix")?) {
            (lower, upper, None) => Ok(Self(lower, upper)),
            (Bound::Unbounded, Bound::Unbounded, Some(prefix)) => {
                let (lower, upper) = prefix_range(&prefix);
                Ok(Self(lower, upper))
            }
            _ => Err(cannot_say("TWINDEX_RANGE", step)),
        }
    }

    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.0.as_ref().map(Vec::as_slice), self.1.as_ref().map(Vec::as_slice))
    }
}

// --- decoding

fn bytes(value: &Value) -> Fallible<Bytes> {
    let unhex = |value: &Value| -> Bytes {
        let digits = value.as_str().expect("hex").as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).expect("hex") as u8;
        digits.chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
    };
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(fields) if fields.contains_key("hex") => Ok(unhex(&fields["hex"])),
        Value::Object(fields) if fields.contains_key("repeat") => {
            Ok(unhex(&fields["repeat"]).repeat(fields["times"].as_u64().expect("a number of times") as usize))
        }
        _ => Err(cannot_say("TWINDEX_TYPE", value)),
    }
}

fn optional<T>(value: &Value, decode: impl FnOnce(&Value) -> Fallible<T>) -> Fallible<Option<T>> {
    if value.is_null() { Ok(None) } else { decode(value).map(Some) }
}

fn optional_bytes(value: &Value) -> Fallible<Option<Bytes>> {
    optional(value, bytes)
}

fn text(value: &Value) -> Fallible<&str> {
    value.as_str().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))
}

fn int(value: &Value) -> Fallible<i64> {
    value.as_i64().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))
}

fn size(value: &Value) -> Fallible<usize> {
    usize::try_from(int(value)?).map_err(|_| cannot_say("TWINDEX_RANGE", value))
}

fn pair(value: &Value) -> Fallible<(Bytes, Bytes)> {
    Ok((bytes(&value[0])?, bytes(&value[1])?))
}

fn list<T>(value: &Value, decode: impl Fn(&Value) -> Fallible<T>) -> Fallible<Vec<T>> {
    value.as_array().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))?.iter().map(decode).collect()
}
