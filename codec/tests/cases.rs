//! The cases that every language runs.

use serde_json::Value;
use twindex_codec::tuple::{Reader, Token, Writer};
use twindex_codec::{Error, Json, Key, Result, decimal, int};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn write(to: &mut Writer, item: &Value) -> Result<()> {
    match item {
        Value::Null => to.null(),
        Value::String(text) => to.text(text),
        Value::Number(number) => to.int(number.as_i64().expect("an integer")),
        Value::Array(items) => {
            to.begin()?;
            items.iter().try_for_each(|item| write(to, item))?;
            to.end()
        }
        Value::Object(named) => {
            match named.iter().next().map(|(name, text)| (name.as_str(), text.as_str())) {
                Some(("hex" | "view", Some(hex))) => to.bytes(&bytes(hex)),
                Some(("int", Some(text))) => to.int(text.parse().expect("an integer")),
                Some(("float", Some(text))) => to.float(text.parse().expect("a float")),
                other => panic!("{other:?}"),
            }
        }
        Value::Bool(_) => panic!("no item is a truth value"),
    }
}

fn rewritten(key: &[u8]) -> Result<Vec<u8>> {
    let mut to = Writer::new();
    for token in Reader::new(key) {
        match token? {
            Token::Null => to.null(),
            Token::Bytes(bytes) => to.bytes(&bytes),
            Token::Text(text) => to.text(&text),
            Token::Int(number) => to.int(number),
            Token::Float(number) => to.float(number),
            Token::Begin => to.begin(),
            Token::End => to.end(),
        }?;
    }
    to.finish()
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Object(named) => named["int"].as_str().expect("text").parse().expect("an integer"),
        other => other.as_i64().expect("an integer"),
    }
}

/// The cases of a part of the file, with their codecs and columns.
fn cases(part: &str) -> Vec<(Value, String, String)> {
    let file: Value = serde_json::from_str(include_str!("../../conformance/codecs.json")).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let all = file[part].as_array().expect("a list").iter();
    all.map(|case| (case.clone(), text(&case["codec"]), text(&case["column"]))).collect()
}

#[test]
fn every_case_is_stored_as_it_says() -> Result<()> {
    let mut ran = 0;
    for (case, codec, column) in cases("cases") {
        if !matches!(&*codec, "int" | "tuple") {
            continue;
        }
        let expected = bytes(case["hex"].as_str().expect("text"));
        assert_eq!(stored(&codec, &column, &case["value"])?, expected, "{case}");
        assert_eq!(stored_again(&codec, &column, &expected)?, expected, "{case}");
        ran += 1;
    }
    assert!(ran > 30, "{ran} cases");
    Ok(())
}

/// Bytes that no writer makes were read, so a key that a scan had shown could not be looked up.
#[test]
fn bytes_that_no_writer_makes_are_refused() {
    let mut ran = 0;
    for (case, codec, column) in cases("refused") {
        if !matches!(&*codec, "int" | "tuple") {
            continue;
        }
        let refused = stored_again(&codec, &column, &bytes(case["hex"].as_str().expect("text")));
        assert!(refused.is_err(), "{case}");
        assert!(codec == "int" || matches!(refused, Err(Error::NotATuple { .. })), "{case}");
        ran += 1;
    }
    assert!(ran > 20, "{ran} cases");
}

/// Whether Rust's types have this: half of a character they do not have, nor a slice whose memory is gone.
fn can_be_said(value: &Value) -> bool {
    match value {
        Value::Bool(_) => false,
        Value::Array(items) => items.iter().all(can_be_said),
        Value::Object(named) => !named.contains_key("utf16") && !named.contains_key("detached"),
        _ => true,
    }
}

fn stored(codec: &str, column: &str, value: &Value) -> Result<Vec<u8>> {
    match (codec, column) {
        ("int", "key") => Ok(int::encode(integer(value)).into()),
        ("int", _) => Ok(decimal::encode(integer(value)).as_bytes().into()),
        _ => {
            let mut to = Writer::new();
            value.as_array().expect("a list").iter().try_for_each(|item| write(&mut to, item))?;
            to.finish()
        }
    }
}

/// The bytes that are stored for the value of these bytes, which may be others.
fn stored_again(codec: &str, column: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    match (codec, column) {
        ("int", "key") => int::decode(bytes).map(|number| int::encode(number).into()),
        ("int", _) => decimal::decode(bytes).map(|number| decimal::encode(number).as_bytes().into()),
        ("str", "key") => <String as Key>::decode(bytes).map(String::into_bytes),
        ("str", _) => <String as twindex_codec::Value>::decode(bytes).map(String::into_bytes),
        ("json", _) => {
            <Json<Value> as twindex_codec::Value>::decode(bytes).map(|value| value.to_string().into())
        }
        _ => rewritten(bytes),
    }
}

/// The languages once did these in different ways.
#[test]
fn every_case_is_as_it_was_decided() {
    let mut ran = 0;
    for (case, codec, column) in cases("decided") {
        let is_read = case["read"].is_string() && case["gives"]["value"].is_null();
        if !(matches!(&*codec, "int" | "tuple") || is_read && matches!(&*codec, "str" | "json"))
            || !can_be_said(&case["write"])
        {
            continue;
        }
        let made = match case["read"].as_str() {
            Some(hex) => stored_again(&codec, &column, &bytes(hex)),
            None => stored(&codec, &column, &case["write"]),
        };
        let gives = &case["gives"];
        match made {
            Ok(made) => {
                let expected = match gives["hex"].as_str() {
                    Some(hex) => bytes(hex),
                    None => stored(&codec, &column, &gives["value"]).expect("a value that can be written"),
                };
                assert_eq!(made, expected, "{case}");
            }
            Err(error) => {
                assert_eq!(gives["code"], error.code(), "{case}");
                let message = gives["message"].as_str();
                assert!(message.is_none_or(|message| message == error.to_string()), "{case}: {error}");
            }
        }
        ran += 1;
    }
    assert!(ran > 12, "{ran} cases");
}

#[test]
fn integers_and_text_of_them_are_read_strictly() {
    assert_eq!(decimal::decode(b"-0"), Ok(0));
    assert_eq!(decimal::decode(b"+7"), Ok(7));
    for text in ["", "-", "1.0", " 1", "9223372036854775808", "\u{663}"] {
        assert!(matches!(decimal::decode(text.as_bytes()), Err(Error::NotADecimal { .. })), "{text}");
    }
    assert!(matches!(int::decode(b"1234567"), Err(Error::NotAnInteger { len: 7, .. })));
}

#[test]
fn a_tuple_within_bounds_is_written_and_no_other() -> Result<()> {
    let mut to = Writer::new();
    (0..64).try_for_each(|_| to.begin())?;
    assert_eq!(to.begin(), Err(Error::TooDeep));
    (0..64).try_for_each(|_| to.end())?;
    assert_eq!(to.end(), Err(Error::Unbalanced));

    let mut deep = Writer::new();
    (0..64).try_for_each(|_| deep.begin())?;
    (0..64).try_for_each(|_| deep.end())?;
    let deep = deep.finish()?;
    assert_eq!(rewritten(&deep)?, deep);
    assert!(rewritten(&[[5].as_slice(), &deep, &[0]].concat()).is_err());

    let mut open = Writer::new();
    open.begin()?;
    assert_eq!(open.finish(), Err(Error::Unbalanced));

    let mut long = Writer::new();
    long.bytes(&vec![1; 65_533])?;
    assert_eq!(long.finish()?.len(), 65_535);
    let mut long = Writer::new();
    long.bytes(&vec![1; 65_534])?;
    let sought = long.clone().finish_sought()?;
    assert!(
        matches!(long.finish(), Err(Error::TooLong { len: 65_536, start }) if start.starts_with(r"\x02\x01\x01"))
    );
    assert_eq!((sought.len(), sought.last()), (65_536, Some(&0)));
    let mut longer = Writer::new();
    longer.bytes(&vec![1; 200_000])?;
    longer.text("more")?;
    assert_eq!(longer.finish_sought()?.len(), 65_536);
    assert_eq!(Writer::new().float(f64::NAN), Err(Error::NotANumber));
    Ok(())
}
