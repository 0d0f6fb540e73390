//! What a dump keeps, and what the reader of dumps makes of bytes that are none.

#[path = "common/dump_writer.rs"]
mod dump_writer;
#[path = "common/scale.rs"]
mod scale;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};

use dump_writer::{block, end, header, pair, pairs, table, varint};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use scale::scaled;
use twindex::{Error, Index, MAX_KEY_BYTES, Store};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<String, (Index, Pairs)>;

fn store_of(tables: &Tables) -> Store {
    let store = Store::new();
    for (name, (index, pairs)) in tables {
        let table = store.table(name, *index).expect("the name is new");
        for (key, value) in pairs {
            assert!(table.insert(key, value).expect("there is no limit"));
        }
    }
    store
}

fn tables_of(store: &Store) -> Tables {
    let content = |table: &twindex::Table| (table.name().to_owned(), (table.index(), table.iter().collect()));
    store.tables().iter().map(content).collect()
}

fn dump(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.dump(&mut bytes).expect("memory takes any dump");
    bytes
}

fn load(mut bytes: &[u8]) -> twindex::Result<Store> {
    Store::load(&mut bytes)
}

/// The offset where the bytes are corrupt.
#[track_caller]
fn corrupt(bytes: &[u8]) -> u64 {
    match load(bytes) {
        Err(Error::Corrupt { offset, .. }) => {
            assert!(offset <= bytes.len() as u64, "{offset} is past the end");
            offset
        }
        other => panic!("{other:?}"),
    }
}

/// Two tables with a few pairs, keys that share prefixes among them.
fn small() -> Tables {
    let pairs =
        |pairs: &[(&[u8], &[u8])]| pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    let users = pairs(&[(b"", b"empty"), (b"ada", b"1815")]);
    let log = pairs(&[(b"2026-11-01", b"a"), (b"2026-11-02", b""), (b"2026-12", b"\xff\x00")]);
    [("users".into(), (Index::Hash, users)), ("log".into(), (Index::Sorted, log))].into()
}

// --- round trips

fn some_tables() -> impl Strategy<Value = Tables> {
    let key = prop_oneof![
        4 => vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 0..8),
        1 => vec(any::<u8>(), 0..300),
    ];
    let value = prop_oneof![8 => vec(any::<u8>(), 0..50), 1 => vec(any::<u8>(), 4000..20_000)];
    let index = prop::sample::select(vec![Index::Hash, Index::Sorted]);
    btree_map("[a-zé]{1,8}", (index, btree_map(key, value, 0..if cfg!(miri) { 5 } else { 60 })), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: scaled(60, 2) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_dump_keeps_everything(tables in some_tables()) {
        let store = store_of(&tables);
        let loaded = load(&dump(&store)).expect("a dump loads");
        assert!(tables_of(&loaded) == tables);
        assert_eq!(loaded.tables().len(), store.tables().len());
        for table in loaded.tables() {
            assert_eq!(table.len(), tables[table.name()].1.len());
        }
    }

    /// Blocks whose checksums are right, in any order and with anything in them.
    #[test]
    fn well_formed_nonsense_is_loaded_or_refused(
        blocks in vec((0..5_u8, nonsense()), 0..6),
        version in prop_oneof![9 => Just(1), 1 => any::<u32>()],
        end_of in 0..4_u64,
    ) {
        let mut bytes = header(version);
        for (kind, payload) in &blocks {
            bytes.extend(block(*kind, payload));
        }
        bytes.extend(end(end_of));
        match load(&bytes) {
            Ok(store) => assert!(tables_of(&load(&dump(&store)).expect("a dump loads")) == tables_of(&store)),
            Err(Error::Corrupt { offset, .. }) => assert!(offset <= bytes.len() as u64),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..500), begin_right in any::<bool>()) {
        corrupt(&if begin_right { [header(1), bytes].concat() } else { bytes });
    }
}

/// Payloads that are often right.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let pair = (0..4_u64, vec(any::<u8>(), 0..4), vec(any::<u8>(), 0..4))
        .prop_map(|(shared, rest, value)| pair(shared, &rest, &value));
    prop_oneof![
        3 => (0..3_u8, "[a-c]{0,2}").prop_map(|(index, name)| [&[index], name.as_bytes()].concat()),
        3 => vec(pair, 0..4).prop_map(|pairs| pairs.concat()),
        2 => vec(any::<u8>(), 0..20),
        1 => any::<u64>().prop_map(|number| [varint(number), vec![0; 4]].concat()),
    ]
}

#[test]
fn a_dump_of_large_pairs_and_many_blocks_keeps_them() {
    let long = if cfg!(miri) { 300 } else { MAX_KEY_BYTES };
    let mut pairs: Pairs = (0..scaled(5000, 20))
        .map(|number| (format!("key/{number:09}").into(), vec![7; number % 100]))
        .collect();
    pairs.insert(vec![b'l'; long], vec![8; scaled(3 << 20, 9000)]);
    pairs.insert(vec![b'l'; long - 1], vec![9; 65_536]);
    for index in [Index::Hash, Index::Sorted] {
        let tables = [("t".to_owned(), (index, pairs.clone()))].into();
        assert!(tables_of(&load(&dump(&store_of(&tables))).expect("a dump loads")) == tables);
    }
}

#[test]
fn an_empty_store_has_a_dump() {
    assert!(load(&dump(&Store::new())).expect("a dump loads").tables().is_empty());
}

#[test]
fn a_sorted_store_dumps_to_the_same_bytes_again() {
    let tables = [("log".to_owned(), small().remove("log").expect("it is there"))].into();
    let once = dump(&store_of(&tables));
    assert_eq!(dump(&load(&once).expect("a dump loads")), once);
}

#[test]
fn shared_prefixes_are_stored_once() {
    let prefix = "a/rather/long/prefix/that/every/key/has/".repeat(5);
    let pairs: Pairs = (0..1000).map(|number| (format!("{prefix}{number:04}").into(), vec![1])).collect();
    let bytes = dump(&store_of(&[("t".to_owned(), (Index::Sorted, pairs))].into()));
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
}

#[test]
fn a_reader_is_left_at_the_end_of_the_dump() {
    let (one, two) = (small(), Tables::new());
    let bytes = [dump(&store_of(&one)), dump(&store_of(&two)), b"rest".to_vec()].concat();
    let mut reader = bytes.as_slice();
    assert!(tables_of(&Store::load(&mut reader).expect("the first")) == one);
    assert!(tables_of(&Store::load(&mut reader).expect("the second")) == two);
    assert_eq!(reader, b"rest");
}

#[test]
fn a_dump_made_by_hand_loads() {
    let tables = small();
    let bytes = [
        header(1),
        table(1, b"log"),
        pairs(&[pair(0, b"2026-11-01", b"a"), pair(9, b"2", b""), pair(5, b"12", b"\xff\x00")]),
        table(0, b"users"),
        pairs(&[pair(0, b"", b"empty")]),
        pairs(&[pair(0, b"ada", b"1815")]),
        end(5),
    ];
    assert!(tables_of(&load(&bytes.concat()).expect("the format is this")) == tables);
}

// --- damage

#[test]
fn every_truncation_is_refused() {
    let bytes = dump(&store_of(&small()));
    for length in 0..bytes.len() {
        corrupt(&bytes[..length]);
    }
    assert!(load(&bytes).is_ok());
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = dump(&store_of(&small()));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        corrupt(&damaged);
    }
}

#[test]
fn every_byte_lost_or_doubled_is_refused() {
    let bytes = dump(&store_of(&small()));
    for at in 0..bytes.len() {
        corrupt(&[&bytes[..at], &bytes[at + 1..]].concat());
        if bytes[at + 1..].iter().any(|byte| *byte != bytes[at]) {
            corrupt(&[&bytes[..=at], &bytes[at..]].concat());
        }
    }
}

#[test]
fn what_is_no_dump_is_told_at_its_start() {
    assert_eq!(corrupt(b""), 0);
    assert_eq!(corrupt(b"SQLite format 3\0 and more"), 0);
    // What a text-mode transfer makes of it.
    let bytes = dump(&store_of(&small()));
    let text: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'\r').collect();
    assert_eq!(corrupt(&text), 0);
}

#[test]
fn an_unknown_version_is_refused() {
    for version in [0, 2, u32::MAX] {
        assert_eq!(corrupt(&[header(version), end(0)].concat()), 8);
    }
}

/// Each is whole but for what it says; the offset is the block's.
#[test]
fn a_dump_that_contradicts_itself_is_refused() {
    let begin = [header(1), table(1, b"t")].concat();
    let offset = begin.len() as u64;
    let one = pair(0, b"a", b"1");
    let long = [b'k'].repeat(40_000);
    let contradictions = [
        ("an unknown kind of block", block(0, b"")),
        ("another unknown kind of block", block(4, b"")),
        ("a table twice", table(1, b"t")),
        ("a table twice with another index", table(0, b"t")),
        ("an unknown index", table(2, b"u")),
        ("a table without an index", block(1, b"")),
        ("an empty name", table(0, b"")),
        ("a long name", table(0, &[b'n'; 256])),
        ("a name that is no UTF-8", table(0, b"\xff")),
        ("a key twice in a block", pairs(&[one.clone(), one.clone()])),
        ("a key twice through its prefix", pairs(&[one.clone(), pair(1, b"", b"2")])),
        ("more shared than the key before has", pairs(&[one.clone(), pair(2, b"", b"")])),
        ("shared bytes without a key before", pairs(&[pair(1, b"a", b"")])),
        ("a key over the limit", pairs(&[pair(0, &[b'k'].repeat(MAX_KEY_BYTES + 1), b"")])),
        ("a key over the limit through its prefix", pairs(&[pair(0, &long, b""), pair(40_000, &long, b"")])),
        ("a cut pair", pairs(&[one.clone(), vec![0]])),
        ("a key past its block", pairs(&[[varint(0), varint(9), varint(0), vec![b'k'; 8]].concat()])),
        ("a value past its block", pairs(&[[varint(0), varint(1), varint(9), vec![b'k'; 9]].concat()])),
        ("a value over the limit", pairs(&[[varint(0), varint(0), varint(1 << 32)].concat()])),
        ("lengths over 64 bits", pairs(&[vec![0xff; 40]])),
        ("lengths of 64 bits", pairs(&[[varint(u64::MAX), varint(u64::MAX), varint(u64::MAX)].concat()])),
        ("a number of pairs that is too high", end(1)),
        ("a number of pairs that is too short", block(3, &[0; 7])),
    ];
    for (name, contradiction) in contradictions {
        let found = load(&[begin.clone(), contradiction, end(0)].concat());
        assert!(matches!(found, Err(Error::Corrupt { offset: at, .. }) if at == offset), "{name}: {found:?}");
    }
}

#[test]
fn blocks_out_of_place_are_refused() {
    let one = pairs(&[pair(0, b"a", b"1")]);
    corrupt(&[header(1), one.clone(), end(1)].concat());
    corrupt(&[header(1), table(0, b"t"), one.clone(), one.clone(), end(2)].concat());
    corrupt(&[header(1), table(0, b"t"), one, end(0)].concat());
    corrupt(&[header(1), table(0, b"t")].concat());
}

// --- readers and writers that fail or do little at once

/// Passes on at most `at_once` bytes a call, and fails after `left`.
struct Reluctant<T> {
    inner: T,
    at_once: usize,
    left: usize,
    interrupt: bool,
}

impl<T> Reluctant<T> {
    fn new(inner: T, at_once: usize, left: usize) -> Self {
        Self { inner, at_once, left, interrupt: false }
    }

    /// How much of `wanted` to do now. Every other call is interrupted, as by a signal.
    fn admit(&mut self, wanted: usize) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(ErrorKind::Interrupted.into());
        }
        let admitted = wanted.min(self.at_once).min(self.left);
        if admitted == 0 && wanted > 0 {
            return Err(io::Error::new(ErrorKind::ConnectionReset, "the line is cut"));
        }
        self.left -= admitted;
        Ok(admitted)
    }
}

impl<R: Read> Read for Reluctant<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let admitted = self.admit(bytes.len())?;
        self.inner.read(&mut bytes[..admitted])
    }
}

impl<W: Write> Write for Reluctant<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let admitted = self.admit(bytes.len())?;
        self.inner.write(&bytes[..admitted])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[test]
fn short_reads_and_writes_change_nothing() {
    let tables = small();
    let store = store_of(&tables);
    for at_once in [1, 2, 7, 64] {
        let mut writer = Reluctant::new(Vec::new(), at_once, usize::MAX);
        store.dump(&mut writer).expect("it is slow, but works");
        assert_eq!(writer.inner, dump(&store));
        let mut reader = Reluctant::new(writer.inner.as_slice(), at_once, usize::MAX);
        assert!(tables_of(&Store::load(&mut reader).expect("it is slow, but works")) == tables);
    }
}

#[test]
fn errors_of_the_reader_and_the_writer_are_passed_on() {
    let store = store_of(&small());
    let bytes = dump(&store);
    let is_passed_on = |error: &Error| match error {
        Error::Io(error) => {
            error.kind() == ErrorKind::ConnectionReset && error.to_string() == "the line is cut"
        }
        _ => false,
    };
    for left in 0..bytes.len() {
        let error = Store::load(&mut Reluctant::new(bytes.as_slice(), 16, left)).expect_err("it is cut");
        assert!(is_passed_on(&error), "after {left}: {error:?}");
        let error = store.dump(&mut Reluctant::new(Vec::new(), 16, left)).expect_err("it is cut");
        assert!(is_passed_on(&error), "after {left}: {error:?}");
    }
    assert!(tables_of(&store) == small(), "a failed dump leaves the store as it was");
}

#[test]
fn a_writer_that_takes_nothing_fails() {
    let error = store_of(&small()).dump(&mut [0_u8; 20].as_mut_slice()).expect_err("it is full");
    assert!(matches!(error, Error::Io(error) if error.kind() == ErrorKind::WriteZero));
}
