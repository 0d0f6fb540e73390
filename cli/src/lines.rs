//! A pair as a line of JSON.

use std::borrow::Cow;
use std::str;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A key and a value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// A table, or one of its pairs. Bytes are under `key` and `value` where they are text, and in base64 under
/// `key64` and `value64` where they are not.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'l> {
    #[serde(borrow)]
    pub(crate) table: Cow<'l, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key64: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value: Option<Cow<'l, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value64: Option<Cow<'l, str>>,
}

impl<'l> Line<'l> {
    pub(crate) fn of_table(table: &'l str, index: &'static str) -> Self {
        Self {
            table: table.into(),
            index: Some(index.into()),
            key: None,
            key64: None,
            value: None,
            value64: None,
        }
    }

    pub(crate) fn of_pair(table: &'l str, key: &'l [u8], value: &'l [u8]) -> Self {
        let (key, key64) = text_or_base64(key);
        let (value, value64) = text_or_base64(value);
        Self { table: table.into(), index: None, key, key64, value, value64 }
    }

    /// The pair, or `None` where the line is of a table alone.
    pub(crate) fn pair(&self) -> Result<Option<Pair>, String> {
        let key = bytes("key", self.key.as_deref(), self.key64.as_deref())?;
        let value = bytes("value", self.value.as_deref(), self.value64.as_deref())?;
        match (key, value) {
            (Some(key), Some(value)) => Ok(Some((key, value))),
            (None, None) if self.index.is_some() => Ok(None),
            (None, _) => Err("there is no \"key\"".into()),
            (_, None) => Err("there is no \"value\"".into()),
        }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    match str::from_utf8(bytes) {
        Ok(text) => (Some(text.into()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes).into())),
    }
}

fn bytes(name: &str, text: Option<&str>, base64: Option<&str>) -> Result<Option<Vec<u8>>, String> {
    match (text, base64) {
        (Some(_), Some(_)) => Err(format!("there are both \"{name}\" and \"{name}64\"")),
        (Some(text), None) => Ok(Some(text.into())),
        (None, Some(base64)) => match STANDARD.decode(base64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("\"{name}64\" is no base64: {error}")),
        },
        (None, None) => Ok(None),
    }
}
