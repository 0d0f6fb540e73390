//! A pair, or a batch of changes, as a line of JSON.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use twindex_durable::{ChangeSet, Effect, TableChange};

use crate::json;

pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// A table, or one of its pairs. What a key or a value has no form for in JSON is under `key64` and `value64`: its bytes
/// in base64.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'l> {
    #[serde(borrow)]
    pub(crate) table: Cow<'l, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Cow<'l, str>>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'l, RawValue>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key64: Option<Cow<'l, str>>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    value: Option<Cow<'l, RawValue>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value64: Option<Cow<'l, str>>,
}

/// `null` is a value too.
fn present<'l, D: Deserializer<'l>>(input: D) -> Result<Option<Cow<'l, RawValue>>, D::Error> {
    <&RawValue>::deserialize(input).map(|json| Some(Cow::Borrowed(json)))
}

impl<'l> Line<'l> {
    pub(crate) fn of_table(table: &'l str, index: &'static str, (keys, values): (&'l str, &'l str)) -> Self {
        Self {
            table: table.into(),
            index: Some(index.into()),
            keys: Some(keys.into()),
            values: Some(values.into()),
            ..Self::default()
        }
    }

    pub(crate) fn of_pair(
        table: &'l str,
        (keys, values): (&str, &str),
        (key, value): (&[u8], &[u8]),
    ) -> Self {
        let (key, key64) = json_or_base64(json::key(keys, key), key);
        let (value, value64) = json_or_base64(json::value(values, value), value);
        Self { table: table.into(), key, key64, value, value64, ..Self::default() }
    }

    pub(crate) fn of_key(table: &'l str, keys: &str, key: &[u8]) -> Self {
        let (key, key64) = json_or_base64(json::key(keys, key), key);
        Self { table: table.into(), key, key64, ..Self::default() }
    }

    /// Whether it is of a table alone.
    pub(crate) fn is_of_table(&self) -> bool {
        self.index.is_some() || self.keys.is_some() || self.values.is_some()
    }

    /// The pair, or `None` where the line is of a table alone.
    pub(crate) fn pair(&self, (keys, values): (&str, &str)) -> Result<Option<Pair>, String> {
        let key = bytes("key", self.key.as_deref(), self.key64.as_deref(), |key| json::key_of(keys, key))?;
        let value = bytes("value", self.value.as_deref(), self.value64.as_deref(), |value| {
            json::value_of(values, value)
        })?;
        match (key, value) {
            (Some(key), Some(value)) => Ok(Some((key, value))),
            (None, None) if self.is_of_table() => Ok(None),
            (None, _) => Err("there is no \"key\"".into()),
            (_, None) => Err("there is no \"value\"".into()),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct BatchLine<'l> {
    position: String,
    changes: Vec<ChangeLine<'l>>,
}

#[derive(Debug, Serialize)]
struct ChangeLine<'l> {
    kind: &'static str,
    #[serde(flatten)]
    line: Line<'l>,
}

impl<'l> BatchLine<'l> {
    pub(crate) fn of(batch: &'l ChangeSet) -> Self {
        let changes = batch.changes.iter().map(|TableChange { table, effect, .. }| {
            let codecs = (table.keys.as_str(), table.values.as_str());
            let of_name = || Line { table: table.name.as_str().into(), ..Line::default() };
            let (kind, line) = match effect {
                Effect::Put { key, value } => ("put", Line::of_pair(&table.name, codecs, (key, value))),
                Effect::Delete { key } => ("delete", Line::of_key(&table.name, codecs.0, key)),
                Effect::Create => ("create", Line::of_table(&table.name, table.index.name(), codecs)),
                Effect::Drop => ("drop", of_name()),
                _ => ("clear", of_name()),
            };
            ChangeLine { kind, line }
        });
        Self { position: batch.position.to_string(), changes: changes.collect() }
    }
}

fn json_or_base64<'l>(
    json: Option<Box<RawValue>>,
    bytes: &[u8],
) -> (Option<Cow<'l, RawValue>>, Option<Cow<'l, str>>) {
    match json {
        Some(json) => (Some(Cow::Owned(json)), None),
        None => (None, Some(STANDARD.encode(bytes).into())),
    }
}

fn bytes(
    name: &str,
    json: Option<&RawValue>,
    base64: Option<&str>,
    read: impl FnOnce(&RawValue) -> Result<Vec<u8>, String>,
) -> Result<Option<Vec<u8>>, String> {
    match (json, base64) {
        (Some(_), Some(_)) => Err(format!("there are both \"{name}\" and \"{name}64\"")),
        (Some(json), None) => read(json).map(Some).map_err(|what| format!("\"{name}\": {what}")),
        (None, Some(base64)) => match STANDARD.decode(base64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("\"{name}64\" is not base64: {error}")),
        },
        (None, None) => Ok(None),
    }
}
