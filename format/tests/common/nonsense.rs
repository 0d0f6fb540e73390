//! Files whose checksums are right, with records in any order and anything in them.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::dump_writer::{end, entry, file_of_version, pair, pairs, table_with_id, varint};

pub(crate) fn files() -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![9 => Just(1), 1 => any::<u32>()];
    let salt = prop_oneof![Just(0), any::<u64>()];
    let dump = (vec((0..6_u8, payload()), 0..6), 0..4_u64);
    (version, salt, dump, vec((3..6_u8, payload()), 0..6)).prop_map(|(version, salt, (dump, pairs), log)| {
        file_of_version(version, salt, &[dump, vec![end(pairs)], log].concat())
    })
}

/// Payloads that are often right.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0..3_u64, 0..3_u8, "[a-c]{0,2}").prop_map(|(id, index, name)| table_with_id(id, index, name.as_bytes()).1),
        6 => vec(token(), 0..12).prop_map(|list| pairs(&list).1),
        3 => vec(operation(), 0..6).prop_map(|list| list.concat()),
        2 => vec(any::<u8>(), 0..20),
        1 => any::<u64>().prop_map(|number| [varint(number), vec![0; 4]].concat()),
    ]
}

/// A pair, or a reference to some before it with what may belong to that.
fn token() -> impl Strategy<Value = Vec<u8>> {
    let short = || vec(prop::sample::select(vec![b'a', b'b']), 0..3);
    prop_oneof![
        2 => (0..3_u64, short(), short()).prop_map(|(shared, rest, value)| pair(shared, &rest, &value)),
        2 => (0x80..=0xff_u8, short()).prop_map(|(token, rest)| [vec![token], rest].concat()),
    ]
}

/// One operation of a log.
fn operation() -> impl Strategy<Value = Vec<u8>> {
    let short = || vec(prop::sample::select(vec![0_u8, b'a', b'b']), 0..3);
    let counted = |bytes: &[u8]| [varint(bytes.len() as u64).as_slice(), bytes].concat();
    (0..6_u8, 0..3_u8, short(), short()).prop_map(move |(what, id, one, two)| {
        let rest = match what {
            0 => [vec![one.len() as u8, two.len() as u8], one, two].concat(),
            1 => counted(&one),
            2 => counted(&entry(id % 2, b"bytes", &two, &one)),
            _ => Vec::new(),
        };
        [vec![what | id << 3], rest].concat()
    })
}
