//! The arguments of steps, from JSON.

use std::ops::Bound;
use std::time::Duration;

use serde_json::Value;

use crate::{Alter, Bytes, ExpiringVerb, Failure, Fallible, Pair, Range, Swap, Verb};

fn no_such_type(code: &str, value: &Value) -> Failure {
    Failure::new(code, &format!("Rust's types do not admit {value}"))
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// Text that must be there in any case, right or wrong.
pub(crate) fn name(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

pub(crate) fn verb(step: &Value) -> &str {
    step["do"].as_str().unwrap_or_else(|| panic!("a step without a verb: {step}"))
}

/// A field of an object; none of anything else.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.as_object()?.get(name)
}

pub(crate) fn text(value: &Value) -> Fallible<&str> {
    value.as_str().ok_or_else(|| no_such_type("TWINDEX_TYPE", value))
}

pub(crate) fn integer(value: &Value) -> Fallible<i64> {
    value.as_i64().ok_or_else(|| no_such_type("TWINDEX_TYPE", value))
}

/// A number of bytes or pairs.
pub(crate) fn size(value: &Value) -> Fallible<usize> {
    usize::try_from(integer(value)?).map_err(|_| no_such_type("TWINDEX_RANGE", value))
}

pub(crate) fn optional<'v, T>(
    value: &'v Value,
    decode: impl FnOnce(&'v Value) -> Fallible<T>,
) -> Fallible<Option<T>> {
    if value.is_null() { Ok(None) } else { decode(value).map(Some) }
}

fn optional_bytes(value: &Value) -> Fallible<Option<Bytes>> {
    optional(value, bytes)
}

/// Bytes as text, as hex, or as hex repeated.
pub(crate) fn bytes(value: &Value) -> Fallible<Bytes> {
    if let Some(hex) = field(value, "hex") {
        return Ok(unhex(hex));
    }
    if let Some(once) = field(value, "repeat") {
        return Ok(unhex(once).repeat(size(&value["times"])?));
    }
    text(value).map(|text| text.as_bytes().to_vec())
}

fn unhex(digits: &Value) -> Bytes {
    let digits = name(digits);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "hex has two digits a byte: {digits}");
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("hex") as u8;
    pairs.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}

fn list<T>(value: &Value, decode: impl Fn(&Value) -> Fallible<T>) -> Fallible<Vec<T>> {
    value.as_array().ok_or_else(|| no_such_type("TWINDEX_TYPE", value))?.iter().map(decode).collect()
}

/// The largest number of bytes or items in a step.
pub(crate) fn largest_repeat(value: &Value) -> u64 {
    let of_all = |values: &mut dyn Iterator<Item = &Value>| values.map(largest_repeat).max().unwrap_or(0);
    match value {
        Value::Object(fields) => {
            let here = fields.get("times").and_then(Value::as_u64).unwrap_or(0);
            of_all(&mut fields.values()).max(here)
        }
        Value::Array(items) => of_all(&mut items.iter()).max(items.len() as u64),
        _ => 0,
    }
}

/// A step's `gt`, `gte`, `lt`, `lte` and `prefix`.
pub(crate) fn range(step: &Value) -> Fallible<Range> {
    let key = |name| field(step, name).map(bytes).transpose();
    let bound = |open, closed| match (key(open)?, key(closed)?) {
        (Some(_), Some(_)) => Err(no_such_type("TWINDEX_RANGE", step)),
        (Some(key), None) => Ok(Bound::Excluded(key)),
        (None, Some(key)) => Ok(Bound::Included(key)),
        (None, None) => Ok(Bound::Unbounded),
    };
    match (bound("gt", "gte")?, bound("lt", "lte")?, key("prefix")?) {
        (lower, upper, None) => Ok(Range::Between(lower, upper)),
        (Bound::Unbounded, Bound::Unbounded, Some(prefix)) => Ok(Range::Prefix(prefix)),
        _ => Err(no_such_type("TWINDEX_RANGE", step)),
    }
}

fn alter(step: &Value) -> Fallible<Alter> {
    if let Some(more) = field(step, "append") {
        return bytes(more).map(Alter::Append);
    }
    if field(step, "remove").is_some() {
        return Ok(Alter::Remove);
    }
    assert!(field(step, "keep").is_some(), "alter appends, removes or keeps: {step}");
    Ok(Alter::Keep)
}

/// The time to live in a step or in options, in milliseconds; null stands for ever.
pub(crate) fn ttl(step: &Value) -> Fallible<Option<Duration>> {
    let Some(ttl) = step.get("ttl") else { return Ok(None) };
    let of_millis = |millis| Duration::try_from_secs_f64(millis / 1000.0).ok();
    let time = match ttl {
        Value::Null => Some(Duration::MAX),
        Value::Number(millis) => {
            millis.as_u64().map(Duration::from_millis).or_else(|| of_millis(millis.as_f64()?))
        }
        Value::String(nan) => of_millis(nan.parse().expect("a text that stands for a number")),
        _ => return Err(no_such_type("TWINDEX_TYPE", ttl)),
    };
    time.map(Some).ok_or_else(|| no_such_type("TWINDEX_TTL", ttl))
}

/// A verb of a table whose pairs expire.
pub(crate) fn expiring_verb(verb: &str, step: &Value) -> Fallible<ExpiringVerb> {
    Ok(match verb {
        "touch" => ExpiringVerb::Touch(bytes(&step["key"])?, ttl(step)?),
        "ttl" => ExpiringVerb::Ttl(bytes(&step["key"])?),
        "remove_expired" => ExpiringVerb::RemoveExpired(size(&step["limit"])?),
        _ => ExpiringVerb::Shared(table_verb(verb, step)?, ttl(step)?),
    })
}

/// A verb of a table, with its arguments.
pub(crate) fn table_verb(verb: &str, step: &Value) -> Fallible<Verb> {
    let key = || bytes(&step["key"]);
    let value = || bytes(&step["value"]);
    let keys = || list(&step["keys"], bytes);
    let pairs =
        || list(&step["pairs"], |pair| -> Fallible<Pair> { Ok((bytes(&pair[0])?, bytes(&pair[1])?)) });
    Ok(match verb {
        "insert" => Verb::Insert(key()?, value()?),
        "replace" => Verb::Replace(key()?, value()?),
        "upsert" => Verb::Upsert(key()?, value()?),
        "delete" => Verb::Delete(key()?),
        "select" => Verb::Select(key()?),
        "contains" => Verb::Contains(key()?),
        "take" => Verb::Take(key()?),
        "first" => Verb::First,
        "last" => Verb::Last,
        "pop_first" => Verb::PopFirst,
        "pop_last" => Verb::PopLast,
        "delete_range" => Verb::DeleteRange(range(step)?),
        "delete_prefix" => Verb::DeletePrefix(bytes(&step["prefix"])?),
        "len" => Verb::Len,
        "clear" => Verb::Clear,
        "increment" => Verb::Increment(key()?, integer(&step["by"])?),
        "compare_and_swap" => {
            Verb::CompareAndSwap(key()?, optional_bytes(&step["expected"])?, optional_bytes(&step["new"])?)
        }
        "alter" => Verb::Alter(key()?, alter(step)?),
        "insert_many" => Verb::InsertMany(pairs()?),
        "replace_many" => Verb::ReplaceMany(pairs()?),
        "upsert_many" => Verb::UpsertMany(pairs()?),
        "delete_many" => Verb::DeleteMany(keys()?),
        "select_many" => Verb::SelectMany(keys()?),
        "contains_many" => Verb::ContainsMany(keys()?),
        "increment_many" => {
            Verb::IncrementMany(list(&step["amounts"], |item| Ok((bytes(&item[0])?, integer(&item[1])?)))?)
        }
        "compare_and_swap_many" => {
            let swap = |item: &Value| -> Fallible<Swap> {
                Ok((bytes(&item[0])?, optional_bytes(&item[1])?, optional_bytes(&item[2])?))
            };
            Verb::CompareAndSwapMany(list(&step["swaps"], swap)?)
        }
        "scan" => Verb::Scan {
            range: range(step)?,
            reverse: step["reverse"] == true,
            limit: optional(&step["limit"], size)?,
        },
        "iter" => Verb::Iter,
        _ => panic!("no such verb: {verb}"),
    })
}
