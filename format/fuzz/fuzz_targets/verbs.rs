//! Any history of operations, on a table and on a `BTreeMap` at once.

#![no_main]

#[path = "../../../engine/tests/common/history.rs"]
mod history;
#[path = "../../../engine/tests/common/sound.rs"]
mod sound;

use std::ops::Bound;

use history::{Alteration, Bytes, Checked, Expected, Op, Range, SLOTS, Verb, Way};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use twindex::{IndexKind, Store};

fuzz_target!(|data: &[u8]| {
    let mut input = Unstructured::new(data);
    let index = if input.arbitrary().unwrap_or(false) { IndexKind::Sorted } else { IndexKind::Hash };
    let store = Store::new();
    let table = store.table("t", index).expect("a new table");
    let mut checked = Checked::new(store, table, b"");
    while !input.is_empty()
        && let Ok(op) = op(&mut input)
    {
        checked.run(&op);
    }
    checked.finish();
});

fn op(input: &mut Unstructured<'_>) -> Result<Op> {
    Ok(match input.int_in_range(0..=31_u8)? {
        0..=8 => Op::Each(verb(input)?),
        9..=14 => Op::Many(verb(input)?),
        15..=17 => Op::Many(run(input)?),
        18 => Op::Clear,
        19 => Op::Iter,
        20 => Op::Scan(range(input)?, list(input, way)?),
        21 => Op::Prefix(key(input)?, list(input, way)?),
        22 => Op::OpenCursor(slot(input)?, range(input)?),
        23 => Op::CloneCursor(slot(input)?, slot(input)?),
        24..=26 => Op::MoveCursor(slot(input)?, way(input)?),
        27 => Op::MoveCursorMany(slot(input)?, way(input)?, input.int_in_range(0..=300)?),
        28 => Op::IterateCursor(slot(input)?),
        29 => Op::OpenScan(slot(input)?, range(input)?),
        30 => Op::MoveScan(slot(input)?, way(input)?),
        _ => Op::Reload,
    })
}

fn verb(input: &mut Unstructured<'_>) -> Result<Verb> {
    let pair = |input: &mut Unstructured<'_>| Ok((key(input)?, value(input)?));
    Ok(match input.int_in_range(0..=8_u8)? {
        0 => Verb::Insert(list(input, pair)?),
        1 => Verb::Replace(list(input, pair)?),
        2 => Verb::Upsert(list(input, pair)?),
        3 => Verb::Delete(list(input, key)?),
        4 => Verb::Alter(list(input, |input| Ok((key(input)?, alteration(input)?)))?),
        5 => Verb::Increment(list(input, |input| Ok((key(input)?, amount(input)?)))?),
        6 => Verb::CompareAndSwap(list(input, swap)?),
        7 => Verb::Select(list(input, key)?),
        _ => Verb::Contains(list(input, key)?),
    })
}

/// Many keys that follow each other, upwards or downwards, written or removed.
fn run(input: &mut Unstructured<'_>) -> Result<Verb> {
    let (start, count) = (input.int_in_range(0..=3000_u32)?, input.int_in_range(1..=600_u32)?);
    let (downwards, value) = (input.arbitrary()?, value(input)?);
    let number = |at: u32| start + if downwards { count - 1 - at } else { at };
    let keys = (0..count).map(|at| Bytes(format!("run/{:06}", number(at)).into_bytes()));
    Ok(match input.int_in_range(0..=2_u8)? {
        0 => Verb::Insert(keys.map(|key| (key, value.clone())).collect()),
        1 => Verb::Upsert(keys.map(|key| (key, value.clone())).collect()),
        _ => Verb::Delete(keys.collect()),
    })
}

fn list<T>(
    input: &mut Unstructured<'_>,
    item: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..input.int_in_range(0..=12_u8)?).map(|_| item(input)).collect()
}

/// Short keys that collide, numbered ones that order, and long ones about the limit.
fn key(input: &mut Unstructured<'_>) -> Result<Bytes> {
    Ok(Bytes(match input.int_in_range(0..=15_u8)? {
        0..=5 => input.bytes(1)?.to_vec(),
        6..=9 => format!("run/{:06}", input.int_in_range(0..=3600_u32)?).into_bytes(),
        10..=14 => few_bytes(input)?,
        _ => [b"l".repeat(input.int_in_range(65_520..=65_540)?), few_bytes(input)?].concat(),
    }))
}

fn few_bytes(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=24)?;
    Ok(input.bytes(length)?.to_vec())
}

fn value(input: &mut Unstructured<'_>) -> Result<Bytes> {
    Ok(Bytes(match input.int_in_range(0..=7_u8)? {
        0..=2 => few_bytes(input)?,
        3..=5 => amount(input)?.to_string().into_bytes(),
        6 => input.bytes(1)?.repeat(input.int_in_range(0..=600)?),
        _ => input.bytes(1)?.repeat(input.int_in_range(3900..=12_000)?),
    }))
}

fn amount(input: &mut Unstructured<'_>) -> Result<i64> {
    if input.ratio(1, 8)? { input.arbitrary() } else { input.int_in_range(-5..=5) }
}

fn alteration(input: &mut Unstructured<'_>) -> Result<Alteration> {
    Ok(match input.int_in_range(0..=3_u8)? {
        0 => Alteration::Keep,
        1 => Alteration::Delete,
        2 => Alteration::Set(value(input)?),
        _ => Alteration::Append(value(input)?),
    })
}

fn swap(input: &mut Unstructured<'_>) -> Result<(Bytes, Expected, Option<Bytes>)> {
    let expected = match input.int_in_range(0..=3_u8)? {
        0 => Expected::Absent,
        1 => Expected::Value(value(input)?),
        _ => Expected::Current,
    };
    let new = if input.ratio(1, 3)? { None } else { Some(value(input)?) };
    Ok((key(input)?, expected, new))
}

fn slot(input: &mut Unstructured<'_>) -> Result<usize> {
    input.choose_index(SLOTS)
}

fn way(input: &mut Unstructured<'_>) -> Result<Way> {
    Ok(if input.arbitrary()? { Way::Asc } else { Way::Desc })
}

fn range(input: &mut Unstructured<'_>) -> Result<Range> {
    Ok((bound(input)?, bound(input)?))
}

fn bound(input: &mut Unstructured<'_>) -> Result<Bound<Bytes>> {
    Ok(match input.int_in_range(0..=2_u8)? {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(input)?),
        _ => Bound::Excluded(key(input)?),
    })
}
