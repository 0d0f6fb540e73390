//! Keys and values as JSON, by the codec that their table remembers.
//!
//! | codec | in JSON |
//! |---|---|
//! | `int` | a number |
//! | `tuple` | an array; bytes in it are `{"base64": "..."}`, infinite floats `{"float": "inf"}` |
//! | `json`, as a value | itself |
//! | any other | a string |
//!
//! Bytes that are not text, or that the codec would not write, have no such form.

use std::borrow::Cow;
use std::fmt::Write;
use std::str;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use twindex_codec::tuple::{Reader, Token, Writer};
use twindex_codec::{Error, decimal, int};

pub(crate) fn key(codec: &str, stored: &[u8]) -> Option<Box<RawValue>> {
    match codec {
        "int" => to_raw_value(&int::decode(stored).ok()?).ok(),
        "tuple" => RawValue::from_string(tuple(stored)?).ok(),
        _ => to_raw_value(str::from_utf8(stored).ok()?).ok(),
    }
}

pub(crate) fn value(codec: &str, stored: &[u8]) -> Option<Box<RawValue>> {
    let text = str::from_utf8(stored).ok()?;
    match codec {
        "int" => {
            let number = decimal::decode(stored).ok()?;
            if *decimal::encode(number) == *stored { to_raw_value(&number).ok() } else { None }
        }
        // It has to stay on its line, and as it is.
        "json" if text.trim() == text && !text.contains(['\n', '\r']) && has_whole_text(text) => {
            RawValue::from_string(text.to_owned()).ok()
        }
        "json" => None,
        _ => to_raw_value(text).ok(),
    }
}

pub(crate) fn key_of(codec: &str, json: &RawValue) -> Result<Vec<u8>, String> {
    match codec {
        "int" => integer(json.get()).map(|number| int::encode(number).into()),
        "tuple" => {
            let mut to = Writer::new();
            items(json.get())?.into_iter().try_for_each(|item| write(&mut to, item.get()))?;
            to.finish().map_err(|error| error.to_string())
        }
        _ => text(json.get()).map(|text| text.into_owned().into()),
    }
}

pub(crate) fn value_of(codec: &str, json: &RawValue) -> Result<Vec<u8>, String> {
    match codec {
        "int" => integer(json.get()).map(|number| decimal::encode(number).as_bytes().into()),
        "json" if has_whole_text(json.get()) => Ok(json.get().into()),
        "json" => Err(format!("{} has half of a character", excerpt(json.get()))),
        _ => text(json.get()).map(|text| text.into_owned().into()),
    }
}

/// Whether this JSON has no half of a character, such as `"\ud800"`: no language would read it.
fn has_whole_text(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let mut string = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Cow<'_, str>>();
        if !matches!(string.next(), Some(Ok(_))) {
            return false;
        }
        rest = &rest[start + string.byte_offset()..];
    }
    true
}

fn integer(json: &str) -> Result<i64, String> {
    json.parse().map_err(|_| format!("{} is not an integer of 64 bits", excerpt(json)))
}

fn text(json: &str) -> Result<Cow<'_, str>, String> {
    #[derive(Deserialize)]
    struct Text<'j>(#[serde(borrow)] Cow<'j, str>);
    let read = serde_json::from_str(json);
    read.map(|Text(text)| text).map_err(|_| format!("{} is no string", excerpt(json)))
}

fn items(json: &str) -> Result<Vec<&RawValue>, String> {
    serde_json::from_str(json).map_err(|_| format!("{} is no array", excerpt(json)))
}

fn tuple(stored: &[u8]) -> Option<String> {
    let mut json = String::from("[");
    for token in Reader::new(stored) {
        let token = token.ok()?;
        if token != Token::End && !json.ends_with('[') {
            json.push(',');
        }
        match token {
            Token::Null => json.push_str("null"),
            Token::Bytes(bytes) => write!(json, r#"{{"base64":"{}"}}"#, STANDARD.encode(bytes)).ok()?,
            Token::Text(text) => json.push_str(&serde_json::to_string(&text).ok()?),
            Token::Int(number) => write!(json, "{number}").ok()?,
            Token::Float(number) if number.is_finite() => write!(json, "{number:?}").ok()?,
            Token::Float(number) => write!(json, r#"{{"float":"{number}"}}"#).ok()?,
            Token::Begin => json.push('['),
            Token::End => json.push(']'),
        }
    }
    json.push(']');
    Some(json)
}

fn write(to: &mut Writer, json: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Named<'j> {
        Base64(#[serde(borrow)] Cow<'j, str>),
        Float(#[serde(borrow)] Cow<'j, str>),
    }
    let wrong = || format!("{} cannot be an item of a tuple", excerpt(json));
    let written = match json.as_bytes() {
        [b'"', ..] => to.text(&text(json)?),
        [b'[', ..] => {
            let tuple = items(json)?;
            to.begin().map_err(|error| error.to_string())?;
            tuple.into_iter().try_for_each(|item| write(to, item.get()))?;
            to.end()
        }
        [b'{', ..] => match serde_json::from_str(json).map_err(|_| wrong())? {
            Named::Base64(text) => to.bytes(&STANDARD.decode(&*text).map_err(|_| wrong())?),
            Named::Float(text) => to.float(text.parse().map_err(|_| wrong())?),
        },
        b"null" => to.null(),
        [b'-' | b'0'..=b'9', ..] if json.contains(['.', 'e', 'E']) => {
            to.float(json.parse().map_err(|_| wrong())?)
        }
        [b'-' | b'0'..=b'9', ..] => to.int(integer(json)?),
        _ => return Err(wrong()),
    };
    written.map_err(|error: Error| error.to_string())
}

fn excerpt(json: &str) -> Cow<'_, str> {
    match json.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &json[..end]).into(),
        None => json.into(),
    }
}
