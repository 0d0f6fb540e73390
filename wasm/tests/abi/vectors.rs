//! Runs the published vector file against the module.
//!
//! An argument of a wrong type and two bounds on the same end cannot be said in this ABI: reading such a
//! step from the file fails here, with the code that the hosts above the ABI give.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::guest::{AbiError, Bound, EXCLUDED, Fallible, Guest, INCLUDED, NONE, PREFIX, pack, unpack_values};

/// What a step gave, in the vector file's own form, but for bytes, which are lists of numbers.
type Outcome = Fallible<Value>;

#[test]
fn every_case_of_the_vector_file_holds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/vectors.json");
    let text = std::fs::read(path).expect("the vector file is there");
    let file: Value = serde_json::from_slice(&text).expect("the vector file is JSON");
    let cases = items(&file["cases"]);
    assert!(!cases.is_empty());
    for case in cases {
        let indexes = items(&case["index"]);
        for index in indexes {
            run_case(case, index.as_str());
        }
        if indexes.is_empty() {
            run_case(case, None);
        }
    }
}

fn run_case(case: &Value, index: Option<&str>) {
    let mut runner = Runner::new(index);
    for step in items(&case["steps"]) {
        let outcome = runner.run(step);
        let context = || format!("{}, index {index:?}: {step:.300}\ngave {outcome:.300?}", case["name"]);
        let expect = step.get("expect").unwrap_or_else(|| panic!("no expectation: {}", context()));
        match (&outcome, expect.get("error").and_then(Value::as_str)) {
            (Ok(outcome), None) => assert!(*outcome == plain(expect), "{}", context()),
            (Err(error), Some(code)) => {
                assert_eq!(error.code, code, "{}", context());
                let mentions = expect.get("mentions").map_or("", text);
                assert!(error.text.contains(mentions), "{}", context());
            }
            _ => panic!("{}", context()),
        }
    }
}

/// An expectation with its bytes as lists of numbers.
fn plain(expect: &Value) -> Value {
    match expect {
        Value::String(_) | Value::Object(_) => bytes(expect).expect("bytes").into(),
        Value::Array(list) => list.iter().map(plain).collect(),
        other => other.clone(),
    }
}

struct Runner {
    guest: Guest,
    store: u32,
    tables: BTreeMap<String, u32>,
    cursors: HashMap<String, u32>,
}

impl Runner {
    fn new(index: Option<&str>) -> Self {
        let mut guest = Guest::new();
        let store = guest.store_new(None).expect("a store");
        let table = index.map(|index| guest.table(store, b"t", index).expect("a table"));
        let tables = table.map(|table| ("t".to_owned(), table)).into_iter().collect();
        Self { guest, store, tables, cursors: HashMap::new() }
    }

    fn run(&mut self, step: &Value) -> Outcome {
        match text(&step["do"]) {
            "table" => {
                let (name, index) = (typed_text(&step["name"])?, typed_text(&step["index"])?);
                let table = self.guest.table(self.store, name.as_bytes(), index)?;
                self.tables.insert(name.to_owned(), table);
                Ok(Value::Null)
            }
            "tables" => self.call(|guest, store| {
                let status = guest.exports.tables.call(&mut guest.store, (store,));
                guest.check(status)?;
                Ok(pairs_value(guest.answered_pairs()))
            }),
            "drop_table" => {
                let name = typed_text(&step["name"])?;
                let [(name, n)] = self.guest.put([name.as_bytes()]);
                self.call(|guest, store| {
                    let status = guest.exports.drop_table.call(&mut guest.store, (store, name, n));
                    guest.check(status).map(|status| (status == 1).into())
                })
            }
            "memory_limit" => {
                let limit = if step["bytes"].is_null() { u64::MAX } else { size(&step["bytes"])? };
                self.call(|guest, store| {
                    let status = guest.exports.set_memory_limit.call(&mut guest.store, (store, limit));
                    guest.check(status).map(|_| Value::Null)
                })
            }
            "reload" => self.reload(),
            "load" => {
                let store = self.guest.load(&bytes(&step["bytes"])?)?;
                self.guest.close(store).map(|()| Value::Null)
            }
            "close" => self.call(|guest, store| guest.close(store).map(|()| Value::Null)),
            "cursor" => {
                let (lower, upper) = range(step)?;
                let cursor = self.guest.cursor(self.table(step), as_bound(&lower), as_bound(&upper))?;
                self.cursors.insert(text(&step["id"]).to_owned(), cursor);
                Ok(Value::Null)
            }
            verb if verb.starts_with("scan_") => self.move_cursor(verb, step),
            verb if verb.ends_with("_many") => self.many(verb, step),
            verb => self.verb(verb, step),
        }
    }

    fn call(&mut self, work: impl FnOnce(&mut Guest, u32) -> Outcome) -> Outcome {
        work(&mut self.guest, self.store)
    }

    fn table(&self, step: &Value) -> u32 {
        self.tables[step.get("table").map_or("t", text)]
    }

    fn reload(&mut self) -> Outcome {
        let dump = self.guest.dump(self.store)?;
        let loaded = self.guest.load(&dump)?;
        self.guest.close(self.store)?;
        self.store = loaded;
        let status = self.guest.exports.tables.call(&mut self.guest.store, (loaded,));
        self.guest.check(status)?;
        self.tables.clear();
        for (name, index) in self.guest.answered_pairs() {
            let (name, index) = (String::from_utf8(name).unwrap(), String::from_utf8(index).unwrap());
            let table = self.guest.table(loaded, name.as_bytes(), &index)?;
            self.tables.insert(name, table);
        }
        Ok(Value::Null)
    }

    fn move_cursor(&mut self, verb: &str, step: &Value) -> Outcome {
        let cursor = self.cursors.get(text(&step["id"])).copied().unwrap_or(0); // no cursor's
        let guest = &mut self.guest;
        let status = match verb {
            "scan_asc_next" => guest.exports.scan_asc_next.call(&mut guest.store, (cursor,)),
            "scan_desc_next" => guest.exports.scan_desc_next.call(&mut guest.store, (cursor,)),
            "scan_asc_next_many" => {
                let arguments = (cursor, size(&step["limit"])? as u32, u32::MAX);
                guest.exports.scan_asc_next_many.call(&mut guest.store, arguments)
            }
            "scan_desc_next_many" => {
                let arguments = (cursor, size(&step["limit"])? as u32, u32::MAX);
                guest.exports.scan_desc_next_many.call(&mut guest.store, arguments)
            }
            _ => panic!("no such verb: {verb}"),
        };
        let status = guest.check(status)?;
        if verb.ends_with("_many") {
            return Ok(pairs_value(guest.answered_pairs()));
        }
        Ok(if status == 0 { Value::Null } else { pairs_value(guest.answered_pairs())[0].take() })
    }

    fn verb(&mut self, verb: &str, step: &Value) -> Outcome {
        let table = self.table(step);
        let key = || bytes(&step["key"]);
        let value = || bytes(&step["value"]);
        let guest = &mut self.guest;
        Ok(match verb {
            "insert" => guest.insert(table, &key()?, &value()?)?.into(),
            "replace" => guest.replace(table, &key()?, &value()?)?.into(),
            "upsert" => guest.upsert(table, &key()?, &value()?)?.into(),
            "delete" => guest.delete(table, &key()?)?.into(),
            "contains" => guest.contains(table, &key()?)?.into(),
            "select" => guest.select(table, &key()?)?.into(),
            "increment" => guest.increment(table, &key()?, integer(&step["by"])?)?.into(),
            "compare_and_swap" => {
                let (expected, new) = (optional_bytes(&step["expected"])?, optional_bytes(&step["new"])?);
                guest.compare_and_swap(table, &key()?, expected.as_deref(), new.as_deref())?.into()
            }
            "alter" => alter(guest, table, step)?.into(),
            "len" => guest.len(table)?.into(),
            "clear" => {
                let status = guest.exports.clear.call(&mut guest.store, (table,));
                guest.check(status).map(|_| Value::Null)?
            }
            "scan" => {
                let (lower, upper) = range(step)?;
                let limit = step.get("limit").map_or(Ok(u64::MAX), size)?;
                let reverse = step.get("reverse").is_some_and(|reverse| *reverse == true);
                let (lower, upper) = (as_bound(&lower), as_bound(&upper));
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                pairs_value(guest.scan(table, lower, upper, reverse, limit)?)
            }
            "iter" => {
                let mut pairs = guest.iterate(table, 7)?;
                pairs.sort();
                pairs_value(pairs)
            }
            _ => panic!("no such verb: {verb}"),
        })
    }

    fn many(&mut self, verb: &str, step: &Value) -> Outcome {
        let table = self.table(step);
        let block = packed(verb, step)?;
        let guest = &mut self.guest;
        let [(at, length)] = guest.put([&block]);
        let function = match verb {
            "insert_many" => &guest.exports.insert_many,
            "replace_many" => &guest.exports.replace_many,
            "upsert_many" => &guest.exports.upsert_many,
            "delete_many" => &guest.exports.delete_many,
            "contains_many" => &guest.exports.contains_many,
            "select_many" => &guest.exports.select_many,
            "increment_many" => &guest.exports.increment_many,
            "compare_and_swap_many" => &guest.exports.compare_and_swap_many,
            _ => panic!("no such verb: {verb}"),
        };
        let status = function.call(&mut guest.store, (table, at, length));
        guest.check(status)?;
        let answer = guest.answer_bytes();
        let outcomes: Vec<Value> = match verb {
            "select_many" => unpack_values(answer).into_iter().map(Value::from).collect(),
            "increment_many" => {
                answer.as_chunks().0.iter().map(|sum| i64::from_le_bytes(*sum).into()).collect()
            }
            _ => answer.iter().map(|outcome| (*outcome == 1).into()).collect(),
        };
        assert_eq!(outcomes.len(), guest.answer_count());
        Ok(outcomes.into())
    }
}

/// A host's `alter`: select, decide, compare and swap.
fn alter(guest: &mut Guest, table: u32, step: &Value) -> Fallible<bool> {
    let key = bytes(&step["key"])?;
    let old = guest.select(table, &key)?;
    let new = match step.get("append") {
        Some(more) => Some([old.clone().unwrap_or_default(), bytes(more)?].concat()),
        None if step.get("remove").is_some() => None,
        None => old.clone(),
    };
    let kept = step.get("keep").is_some() || (old.is_none() && new.is_none());
    let swapped = guest.compare_and_swap(table, &key, old.as_deref(), new.as_deref())?;
    assert!(swapped, "nobody else writes");
    Ok(!kept)
}

/// The arguments of a `_many` verb as a packed block.
fn packed(verb: &str, step: &Value) -> Fallible<Vec<u8>> {
    let mut block = Vec::new();
    match verb {
        "insert_many" | "replace_many" | "upsert_many" => {
            for pair in items(&step["pairs"]) {
                pack(&mut block, &[Some(&bytes(&pair[0])?), Some(&bytes(&pair[1])?)]);
            }
        }
        "increment_many" => {
            for amount in items(&step["amounts"]) {
                let (key, by) = (bytes(&amount[0])?, integer(&amount[1])?);
                block.extend((key.len() as u32).to_le_bytes());
                block.extend(by.to_le_bytes());
                block.extend(key);
            }
        }
        "compare_and_swap_many" => {
            for swap in items(&step["swaps"]) {
                let (expected, new) = (optional_bytes(&swap[1])?, optional_bytes(&swap[2])?);
                pack(&mut block, &[Some(&bytes(&swap[0])?), expected.as_deref(), new.as_deref()]);
            }
        }
        _ => {
            for key in items(&step["keys"]) {
                pack(&mut block, &[Some(&bytes(key)?)]);
            }
        }
    }
    Ok(block)
}

type OwnedBound = (u32, Vec<u8>);

fn as_bound((kind, key): &OwnedBound) -> Bound<'_> {
    (*kind, key)
}

/// The two ends of a step's range.
fn range(step: &Value) -> Fallible<(OwnedBound, OwnedBound)> {
    let end = |kinds: &[(&str, u32)]| {
        let mut end = (NONE, Vec::new());
        for (name, kind) in kinds {
            let Some(key) = step.get(*name) else { continue };
            if end.0 != NONE {
                return Err(cannot_say("TWINDEX_RANGE", step));
            }
            end = (*kind, bytes(key)?);
        }
        Ok(end)
    };
    let lower = end(&[("gt", EXCLUDED), ("gte", INCLUDED), ("prefix", PREFIX)])?;
    let upper = end(&[("lt", EXCLUDED), ("lte", INCLUDED), ("prefix", PREFIX)])?;
    Ok((lower, upper))
}

// --- reading the file

fn cannot_say(code: &str, value: &Value) -> AbiError {
    AbiError { number: 0, code: code.into(), text: format!("the ABI cannot say {value}") }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn typed_text(value: &Value) -> Fallible<&str> {
    value.as_str().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))
}

fn integer(value: &Value) -> Fallible<i64> {
    value.as_i64().ok_or_else(|| cannot_say("TWINDEX_TYPE", value))
}

fn size(value: &Value) -> Fallible<u64> {
    u64::try_from(integer(value)?).map_err(|_| cannot_say("TWINDEX_RANGE", value))
}

fn optional_bytes(value: &Value) -> Fallible<Option<Vec<u8>>> {
    if value.is_null() { Ok(None) } else { bytes(value).map(Some) }
}

fn bytes(value: &Value) -> Fallible<Vec<u8>> {
    if let Some(hex) = value.get("hex") {
        return Ok(from_hex(text(hex)));
    }
    if let Some(once) = value.get("repeat") {
        return Ok(from_hex(text(once)).repeat(size(&value["times"])? as usize));
    }
    typed_text(value).map(|text| text.as_bytes().to_vec())
}

fn from_hex(digits: &str) -> Vec<u8> {
    let (bytes, rest) = digits.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "hex has two digits a byte: {digits}");
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("hex") as u8;
    bytes.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}

fn pairs_value(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Value {
    pairs.into_iter().map(|(key, value)| Value::from(vec![Value::from(key), Value::from(value)])).collect()
}
