//! Runs the published vector file, `vectors.json`, as every other host does.
//!
//! What other hosts refuse at run time does not compile in Rust: an argument of a wrong type, two bounds
//! on the same end, a store used after it was closed. Decoding such a step into Rust's types fails here
//! with the code that those hosts give, so the file's expectations of it are checked all the same.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use serde_json::Value;
use twindex::{Change, Cursor, Index, Store, Table, prefix_range};
use twindex_format::Dump;

type Bytes = Vec<u8>;

/// What a step gave.
#[derive(Debug, PartialEq)]
enum Outcome {
    Nothing,
    Bool(bool),
    Bools(Vec<bool>),
    Int(i64),
    Ints(Vec<i64>),
    Bytes(Option<Bytes>),
    BytesMany(Vec<Option<Bytes>>),
    Pair(Option<(Bytes, Bytes)>),
    Pairs(Vec<(Bytes, Bytes)>),
    Tables(Vec<(String, String)>),
}

/// Why a step gave nothing: the engine refused it, or it cannot be said in Rust.
#[derive(Debug)]
struct Failure {
    code: &'static str,
    message: String,
}

impl From<twindex::Error> for Failure {
    fn from(error: twindex::Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

fn cannot_say(code: &'static str, value: &Value) -> Failure {
    Failure { code, message: format!("Rust's types do not admit {value}") }
}

type Fallible<T> = Result<T, Failure>;

#[test]
fn every_case_of_the_vector_file_holds() {
    let file: Value =
        serde_json::from_str(include_str!("../../conformance/vectors.json")).expect("the file is JSON");
    let cases = file["cases"].as_array().expect("the file has cases");
    assert!(!cases.is_empty());
    for case in cases.iter().filter(|case| !cfg!(miri) || largest_repeat(case) <= 1024) {
        let indexes = case["index"].as_array().expect("a case has a list of indexes");
        for index in indexes {
            let index = index.as_str().expect("an index is named").parse().expect("an index is known");
            run_case(case, Some(index));
        }
        if indexes.is_empty() {
            run_case(case, None);
        }
    }
}

/// Large values take Miri for ever.
fn largest_repeat(value: &Value) -> u64 {
    match value {
        Value::Object(fields) => {
            let here = fields.get("times").and_then(Value::as_u64).unwrap_or(0);
            fields.values().map(largest_repeat).max().unwrap_or(0).max(here)
        }
        Value::Array(items) => items.iter().map(largest_repeat).max().unwrap_or(0).max(items.len() as u64),
        _ => 0,
    }
}

fn run_case(case: &Value, index: Option<Index>) {
    let mut runner = Runner::new(index);
    for (position, step) in case["steps"].as_array().expect("a case has steps").iter().enumerate() {
        let outcome = runner.run(step);
        let context = || {
            let place = format!("case {}, index {index:?}, step {position}", case["name"]);
            format!("{place}: {:.300}\ngave {:.300}", step.to_string(), format!("{outcome:?}"))
        };
        let expect = step.get("expect").unwrap_or_else(|| panic!("no expectation: {}", context()));
        match (&outcome, expect.get("error").and_then(Value::as_str)) {
            (Ok(outcome), None) => assert!(*outcome == expected(outcome, expect), "{}", context()),
            (Err(failure), Some(code)) => {
                assert_eq!(failure.code, code, "{}", context());
                let mentions = expect.get("mentions").map_or("", |text| text.as_str().expect("text"));
                assert!(failure.message.contains(mentions), "{}", context());
            }
            _ => panic!("{}", context()),
        }
    }
}

/// The expectation, read as the kind of outcome that the step gave.
fn expected(like: &Outcome, expect: &Value) -> Outcome {
    const WRONG: &str = "the expectation is of the outcome's kind";
    match like {
        Outcome::Nothing => {
            assert!(expect.is_null(), "{WRONG}");
            Outcome::Nothing
        }
        Outcome::Bool(_) => Outcome::Bool(expect.as_bool().expect(WRONG)),
        Outcome::Bools(_) => {
            Outcome::Bools(list(expect, |item| Ok(item.as_bool().expect(WRONG))).expect(WRONG))
        }
        Outcome::Int(_) => Outcome::Int(expect.as_i64().expect(WRONG)),
        Outcome::Ints(_) => Outcome::Ints(list(expect, int).expect(WRONG)),
        Outcome::Bytes(_) => Outcome::Bytes(optional_bytes(expect).expect(WRONG)),
        Outcome::BytesMany(_) => Outcome::BytesMany(list(expect, optional_bytes).expect(WRONG)),
        Outcome::Pair(_) if expect.is_null() => Outcome::Pair(None),
        Outcome::Pair(_) => Outcome::Pair(Some(pair(expect).expect(WRONG))),
        Outcome::Pairs(_) => Outcome::Pairs(list(expect, pair).expect(WRONG)),
        Outcome::Tables(_) => Outcome::Tables(
            list(expect, |item| Ok((text(&item[0])?.to_owned(), text(&item[1])?.to_owned()))).expect(WRONG),
        ),
    }
}

struct Runner {
    /// None once it was closed.
    store: Option<Store>,
    tables: BTreeMap<String, Table>,
    cursors: HashMap<String, Cursor>,
}

impl Runner {
    fn new(index: Option<Index>) -> Self {
        let store = Store::new();
        let opened = index.map(|index| ("t".to_owned(), store.table("t", index).expect("a new table")));
        Self { store: Some(store), tables: opened.into_iter().collect(), cursors: HashMap::new() }
    }

    fn run(&mut self, step: &Value) -> Fallible<Outcome> {
        let verb = step["do"].as_str().expect("a step does something");
        let Some(store) = self.store.clone() else {
            return Err(Failure { code: "TWINDEX_CLOSED", message: "the store is closed".into() });
        };
        match verb {
            "table" => self.open_table(&store, step),
            "tables" => Ok(Outcome::Tables(
                store.tables().iter().map(|table| (table.name().into(), table.index().to_string())).collect(),
            )),
            "drop_table" => Ok(Outcome::Bool(store.drop_table(text(&step["name"])?))),
            "memory_limit" => {
                store.set_memory_limit(optional(&step["bytes"], size)?);
                Ok(Outcome::Nothing)
            }
            "reload" => self.reload(&store),
            "load" => Ok(Store::load(&mut bytes(&step["bytes"])?.as_slice()).map(|_| Outcome::Nothing)?),
            "close" => {
                *self = Self { store: None, tables: BTreeMap::new(), cursors: HashMap::new() };
                Ok(Outcome::Nothing)
            }
            "cursor" => self.open_cursor(step),
            "scan_asc_next" | "scan_desc_next" | "scan_asc_next_many" | "scan_desc_next_many" => {
                self.move_cursor(verb, step)
            }
            _ => {
                let name = step.get("table").map_or("t", |name| name.as_str().expect("a table is named"));
                let table = self.tables.get(name).unwrap_or_else(|| panic!("table {name} was not opened"));
                run_on_table(table, verb, step)
            }
        }
    }

    fn open_table(&mut self, store: &Store, step: &Value) -> Fallible<Outcome> {
        let (name, index) = (text(&step["name"])?, text(&step["index"])?);
        let table = store.table(name, index.parse()?)?;
        self.tables.insert(name.to_owned(), table);
        Ok(Outcome::Nothing)
    }

    fn reload(&mut self, store: &Store) -> Fallible<Outcome> {
        let mut dump = Vec::new();
        store.dump(&mut dump)?;
        let loaded = Store::load(&mut dump.as_slice())?;
        self.tables = loaded.tables().into_iter().map(|table| (table.name().to_owned(), table)).collect();
        self.store = Some(loaded);
        Ok(Outcome::Nothing)
    }

    fn open_cursor(&mut self, step: &Value) -> Fallible<Outcome> {
        let name = step.get("table").map_or("t", |name| name.as_str().expect("a table is named"));
        let id = step["id"].as_str().expect("a cursor has an id").to_owned();
        let range = Range::of(step)?;
        let cursor = self.tables[name].try_cursor(range.bounds())?;
        self.cursors.insert(id, cursor);
        Ok(Outcome::Nothing)
    }

    fn move_cursor(&mut self, verb: &str, step: &Value) -> Fallible<Outcome> {
        let id = step["id"].as_str().expect("a cursor has an id");
        let cursor = self.cursors.get_mut(id).unwrap_or_else(|| panic!("cursor {id} was not opened"));
        let copy = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        let mut pairs = Vec::new();
        let read = |key: &[u8], value: &[u8]| pairs.push((key.to_vec(), value.to_vec()));
        let count = match verb {
            "scan_asc_next" => return Ok(Outcome::Pair(cursor.scan_asc_next().map(copy))),
            "scan_desc_next" => return Ok(Outcome::Pair(cursor.scan_desc_next().map(copy))),
            "scan_asc_next_many" => cursor.scan_asc_next_many(size(&step["limit"])?, read),
            _ => cursor.scan_desc_next_many(size(&step["limit"])?, read),
        };
        assert_eq!(count, pairs.len());
        Ok(Outcome::Pairs(pairs))
    }
}

fn run_on_table(table: &Table, verb: &str, step: &Value) -> Fallible<Outcome> {
    let key = || bytes(&step["key"]);
    let value = || bytes(&step["value"]);
    let keys = || list(&step["keys"], bytes);
    let pairs = || list(&step["pairs"], pair);
    Ok(match verb {
        "insert" => Outcome::Bool(table.insert(key()?, value()?)?),
        "replace" => Outcome::Bool(table.replace(key()?, value()?)?),
        "upsert" => Outcome::Bool(table.upsert(key()?, value()?)?),
        "delete" => Outcome::Bool(table.delete(key()?)?),
        "contains" => Outcome::Bool(table.contains(key()?)),
        "select" => Outcome::Bytes(table.select(key()?)),
        "len" => Outcome::Int(i64::try_from(table.len()).expect("few pairs")),
        "clear" => table.clear().map(|()| Outcome::Nothing)?,
        "increment" => Outcome::Int(table.increment(key()?, int(&step["by"])?)?),
        "alter" => alter(table, &key()?, step)?,
        "compare_and_swap" => {
            let (expected, new) = (optional_bytes(&step["expected"])?, optional_bytes(&step["new"])?);
            Outcome::Bool(table.compare_and_swap(key()?, expected.as_deref(), new.as_deref())?)
        }
        "insert_many" => Outcome::Bools(table.insert_many(&pairs()?)?),
        "replace_many" => Outcome::Bools(table.replace_many(&pairs()?)?),
        "upsert_many" => Outcome::Bools(table.upsert_many(&pairs()?)?),
        "delete_many" => Outcome::Bools(table.delete_many(&keys()?)?),
        "contains_many" => Outcome::Bools(table.contains_many(&keys()?)),
        "select_many" => select_many(table, &keys()?),
        "increment_many" => {
            let amounts = list(&step["amounts"], |item| Ok((bytes(&item[0])?, int(&item[1])?)))?;
            Outcome::Ints(table.increment_many(&amounts)?)
        }
        "compare_and_swap_many" => {
            let swaps = list(&step["swaps"], |item| {
                Ok((bytes(&item[0])?, optional_bytes(&item[1])?, optional_bytes(&item[2])?))
            })?;
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (key, old.as_deref(), new.as_deref())).collect();
            Outcome::Bools(table.compare_and_swap_many(&swaps)?)
        }
        "scan" => scan(table, step)?,
        "iter" => {
            let mut pairs: Vec<_> = table.iter().collect();
            pairs.sort();
            Outcome::Pairs(pairs)
        }
        _ => panic!("no such verb: {verb}"),
    })
}

fn alter(table: &Table, key: &[u8], step: &Value) -> Fallible<Outcome> {
    let change = if step.get("append").is_some() {
        let more = bytes(&step["append"])?;
        table.alter(key, |old| Change::Set([old.unwrap_or_default(), &more].concat()))
    } else if step.get("remove").is_some() {
        table.alter(key, |_| Change::Delete)
    } else {
        assert!(step.get("keep").is_some(), "alter appends, removes or keeps: {step}");
        table.alter(key, |_| Change::Keep)
    };
    Ok(Outcome::Bool(change?))
}

fn select_many(table: &Table, keys: &[Bytes]) -> Outcome {
    let mut values = Vec::new();
    table.select_many(keys, |position, value| {
        assert_eq!(position, values.len(), "the positions come in order");
        values.push(value.map(<[u8]>::to_vec));
    });
    Outcome::BytesMany(values)
}

fn scan(table: &Table, step: &Value) -> Fallible<Outcome> {
    let range = Range::of(step)?;
    let limit = optional(&step["limit"], size)?.unwrap_or(usize::MAX);
    let scan = table.try_cursor(range.bounds())?.into_iter();
    Ok(Outcome::Pairs(match step.get("reverse").and_then(Value::as_bool) {
        Some(true) => scan.rev().take(limit).collect(),
        _ => scan.take(limit).collect(),
    }))
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
    let unhex = |value: &Value| {
        let digits = value.as_str().filter(|digits| digits.len() % 2 == 0).expect("hex");
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex"))
            .collect()
    };
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(fields) if fields.contains_key("hex") => Ok(unhex(&fields["hex"])),
        Value::Object(fields) if fields.contains_key("repeat") => {
            let once: Bytes = unhex(&fields["repeat"]);
            Ok(once.repeat(fields["times"].as_u64().expect("a number of times") as usize))
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

/// A number of bytes or pairs. That it is negative is a wrong range in other hosts.
fn size(value: &Value) -> Fallible<usize> {
    usize::try_from(int(value)?).map_err(|_| cannot_say("TWINDEX_RANGE", value))
}

fn pair(value: &Value) -> Fallible<(Bytes, Bytes)> {
    Ok((bytes(&value[0])?, bytes(&value[1])?))
}

fn list<T>(value: &Value, decode: impl Fn(&Value) -> Fallible<T>) -> Fallible<Vec<T>> {
    value.as_array().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))?.iter().map(decode).collect()
}
