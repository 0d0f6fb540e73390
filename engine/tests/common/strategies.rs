//! Histories for proptest: keys that collide and share prefixes, values on both sides of every size class.

use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::history::{Alteration, Bytes, Expected, Op, Range, SLOTS, Verb, Way};
use crate::scale::scaled;

/// `cases` histories, or a few under Miri.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = scaled(cases as usize, 2) as u32;
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 10_000,
        max_shrink_time: 20_000,
        ..ProptestConfig::default()
    }
}

/// Longest history.
const OPS: usize = if cfg!(miri) { 12 } else { 120 };
/// Most keys of a batch.
const BATCH: usize = if cfg!(miri) { 8 } else { 40 };
/// Most keys of a batch of numbered keys: enough to split what holds a few dozens.
const RUN: u32 = if cfg!(miri) { 40 } else { 400 };

/// A history within the keys that start with `own`. Where that is every key, the history clears and
/// reloads the table too.
pub(crate) fn history(own: &'static [u8]) -> impl Strategy<Value = Vec<Op>> {
    let whole = u32::from(own.is_empty());
    vec(prop_oneof![40 => op(own), whole => Just(Op::Clear), whole => Just(Op::Reload)], 1..OPS)
}

fn op(own: &'static [u8]) -> impl Strategy<Value = Op> {
    let slot = || 0..SLOTS;
    let ways = || vec(way(), 0..12);
    prop_oneof![
        12 => verb(own, 1..4).prop_map(Op::Each),
        8 => verb(own, 0..BATCH).prop_map(Op::Many),
        3 => run(own).prop_map(Op::Many),
        1 => Just(Op::Iter),
        2 => (range(own), ways()).prop_map(|(range, ways)| Op::Scan(range, ways)),
        2 => (key(own), ways()).prop_map(|(prefix, ways)| Op::Prefix(prefix, ways)),
        2 => (slot(), range(own)).prop_map(|(slot, range)| Op::OpenCursor(slot, range)),
        1 => (slot(), slot()).prop_map(|(from, to)| Op::CloneCursor(from, to)),
        8 => (slot(), way()).prop_map(|(slot, way)| Op::MoveCursor(slot, way)),
        3 => (slot(), way(), 0..150_usize).prop_map(|(slot, way, limit)| Op::MoveCursorMany(slot, way, limit)),
        5 => (slot(), way(), 1..31_usize, 0..600_usize)
            .prop_map(|(slot, way, limit, room)| Op::PackCursor(slot, way, limit, room)),
        1 => slot().prop_map(Op::GoBack),
        1 => slot().prop_map(Op::IterateCursor),
        1 => (slot(), range(own)).prop_map(|(slot, range)| Op::OpenScan(slot, range)),
        4 => (slot(), way()).prop_map(|(slot, way)| Op::MoveScan(slot, way)),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    select(vec![Way::Asc, Way::Desc])
}

fn verb(own: &'static [u8], count: std::ops::Range<usize>) -> impl Strategy<Value = Verb> {
    let pairs = || vec((key(own), value()), count.clone());
    let keys = || vec(key(own), count.clone());
    prop_oneof![
        4 => pairs().prop_map(Verb::Insert),
        2 => pairs().prop_map(Verb::Replace),
        3 => pairs().prop_map(Verb::Upsert),
        3 => keys().prop_map(Verb::Delete),
        2 => vec((key(own), alteration()), count.clone()).prop_map(Verb::Alter),
        2 => vec((key(own), amount()), count.clone()).prop_map(Verb::Increment),
        2 => vec((key(own), expected(), prop::option::weighted(0.7, value())), count.clone())
            .prop_map(Verb::CompareAndSwap),
        2 => keys().prop_map(Verb::Select),
        1 => keys().prop_map(Verb::Contains),
    ]
}

/// Many keys that follow each other, upwards or downwards: an index grows and shrinks at one place. Or in no order, some twice.
fn run(own: &'static [u8]) -> impl Strategy<Value = Verb> {
    let keys = (0..1000_u32, 1..RUN, 0..4_u8, select(vec![1_u32, 3])).prop_map(
        move |(start, count, order, stride)| {
            let place = move |at| match order {
                0 => count - 1 - at,
                1 => at * 7919 % count / 2,
                _ => at,
            };
            let number = move |at| start + stride * place(at);
            (0..count)
                .map(|at| Bytes([own, format!("run/{:06}", number(at)).as_bytes()].concat()))
                .collect::<Vec<_>>()
        },
    );
    (keys, 0..5_u8, value()).prop_map(|(keys, verb, value)| {
        let pairs = |keys: Vec<Bytes>| keys.into_iter().map(|key| (key, value.clone())).collect();
        match verb {
            0 | 1 => Verb::Upsert(pairs(keys)),
            2 => Verb::Insert(pairs(keys)),
            3 => Verb::Replace(pairs(keys)),
            _ => Verb::Delete(keys),
        }
    })
}

fn key(own: &'static [u8]) -> impl Strategy<Value = Bytes> {
    let letters = || select(vec![b'a', b'b', 0, 0xff]);
    let long = if cfg!(miri) { 300_usize } else { 65_530 };
    let rest = prop_oneof![
        12 => vec(letters(), 0..6),
        4 => (0..200_usize, vec(letters(), 0..4)).prop_map(|(shared, end)| [vec![b'p'; shared], end].concat()),
        4 => (0..1400_u32).prop_map(|number| format!("run/{number:06}").into_bytes()),
        3 => vec(any::<u8>(), 0..200),
        1 => (long..long + 8, vec(letters(), 0..3)).prop_map(|(shared, end)| [vec![b'l'; shared], end].concat()),
    ];
    rest.prop_map(move |rest| Bytes([own, &rest].concat()))
}

fn value() -> impl Strategy<Value = Bytes> {
    let most = if cfg!(miri) { 5000 } else { 20_000 };
    prop_oneof![
        6 => amount().prop_map(|number| number.to_string().into_bytes()),
        6 => vec(any::<u8>(), 0..40),
        3 => filled(0..700),
        2 => filled(4080..4110),
        1 => filled(700..most),
    ]
    .prop_map(Bytes)
}

fn filled(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    (lengths, any::<u8>())
        .prop_map(|(length, first)| (0..length).map(|at| first.wrapping_add((at % 251) as u8)).collect())
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -10..10_i64, 1 => any::<i64>(), 1 => select(vec![i64::MIN, i64::MAX])]
}

fn expected() -> impl Strategy<Value = Expected> {
    prop_oneof![5 => Just(Expected::Current), 2 => Just(Expected::Absent), 1 => value().prop_map(Expected::Value)]
}

fn alteration() -> impl Strategy<Value = Alteration> {
    prop_oneof![
        1 => Just(Alteration::Keep),
        1 => Just(Alteration::Delete),
        2 => value().prop_map(Alteration::Set),
        3 => value().prop_map(Alteration::Append),
    ]
}

/// A range within the keys that start with `own`; it may end before it starts.
fn range(own: &'static [u8]) -> impl Strategy<Value = Range> {
    let (first, after) = twindex::prefix_range(own);
    let end = |open: Bound<Vec<u8>>| {
        prop_oneof![
            2 => Just(open.map(Bytes)),
            2 => key(own).prop_map(Bound::Included),
            2 => key(own).prop_map(Bound::Excluded),
        ]
    };
    (end(first), end(after))
}
