//! Logs that are right, nearly right, or nonsense under a right checksum: they are replayed or refused, and what
//! is replayed can be dumped.

#![no_main]

#[path = "../../tests/common/dump_writer.rs"]
mod dump_writer;

#[path = "common/load.rs"]
mod common;

use dump_writer::{Record, end, file, pair, pairs, table, table_with_id};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use twindex::{IndexKind, TableOptions};
use twindex_format::{self as format, HEAD_BYTES, Operations, TableEntry, synced};

#[derive(Arbitrary, Debug)]
struct Input {
    records: Vec<Logged>,
    /// A byte that is changed, and how.
    damage: Option<(u16, u8)>,
    /// Where the file is cut.
    cut: Option<u16>,
    free: u8,
}

#[derive(Arbitrary, Debug)]
enum Logged {
    Operations(Vec<Operation>),
    /// Bytes under a right checksum.
    Any(Vec<u8>),
    Kind(u8, Vec<u8>),
    Synced(u64),
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Put(u8, Vec<u8>, Vec<u8>),
    Delete(u8, Vec<u8>),
    Create(u32, bool, String, String),
    Drop(u8),
    Clear(u8),
}

const SALT: u64 = 42;

impl Logged {
    fn record(self) -> Record {
        match self {
            Self::Operations(list) => {
                let mut operations = Operations::default();
                for operation in list {
                    match operation {
                        Operation::Put(table, key, value) => {
                            operations.push(table.into(), format::Operation::Put(&key, &value))
                        }
                        Operation::Delete(table, key) => {
                            operations.push(table.into(), format::Operation::Delete(&key))
                        }
                        Operation::Create(table, sorted, name, keys) => {
                            let keys: String = keys.chars().take(63).collect();
                            let options =
                                TableOptions::new(if sorted { IndexKind::Sorted } else { IndexKind::Hash });
                            let entry = TableEntry::new(&name, options.keys(&keys));
                            operations.push(table, format::Operation::Create(entry));
                        }
                        Operation::Drop(table) => operations.push(table.into(), format::Operation::Drop),
                        Operation::Clear(table) => operations.push(table.into(), format::Operation::Clear),
                    }
                }
                (4, operations.seal(SALT, 0)[HEAD_BYTES..].to_vec())
            }
            Self::Any(payload) => (4, payload),
            Self::Kind(kind, payload) => (kind, payload),
            Self::Synced(offset) => (5, synced(SALT, 0, offset)[HEAD_BYTES..].to_vec()),
        }
    }
}

fuzz_target!(|input: Input| {
    let dump = [table(0, b"hash"), table_with_id(1, 1, b"sorted"), pairs(&[pair(0, b"a", b"1")]), end(1)];
    let records: Vec<Record> =
        dump.into_iter().chain(input.records.into_iter().map(Logged::record)).collect();
    let mut bytes = file(SALT, &records);
    bytes.resize(bytes.len() + usize::from(input.free), 0);
    if let Some((at, change)) = input.damage {
        let at = usize::from(at) % bytes.len();
        bytes[at] ^= change;
    }
    if let Some(cut) = input.cut {
        bytes.truncate(usize::from(cut));
    }
    common::load(&bytes);
});
