//! What a dump keeps, and what the reader of dumps makes of bytes that are none.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::slice;

use crate::dump_writer::{
    Record, again, counted_table, create, dump as dump_of, end, entry, file, file_of_version, lengths, pair,
    pairs, table, table_with_id, varint,
};
use crate::nonsense::files;
use crate::scale::scaled;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use twindex::{Error, IndexKind, MAX_KEY_BYTES, Store};
use twindex_format::{Dump, Position, open, write_tables};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<String, (IndexKind, Pairs)>;

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

/// The reader of files agrees with that of streams, except that an empty file is an empty store.
fn load(mut bytes: &[u8]) -> twindex::Result<Store> {
    let opened = open(&bytes, Store::new(), &|| false, &mut |_| {});
    let is_whole = opened.as_ref().is_ok_and(|found| found.torn.is_none()) && !bytes.is_empty();
    let loaded = Store::load(&mut bytes);
    assert_eq!(is_whole, loaded.is_ok(), "{opened:?} {loaded:?}");
    loaded
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
    [("users".into(), (IndexKind::Hash, users)), ("log".into(), (IndexKind::Sorted, log))].into()
}

// --- round trips

fn some_tables() -> impl Strategy<Value = Tables> {
    let key = prop_oneof![
        4 => vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 0..8),
        1 => vec(any::<u8>(), 0..300),
        4 => ("[a-c]{0,2}", 0..1000, prop::sample::select(vec!["", "/name", "/size", "/type of it"]))
            .prop_map(|(folder, number, end)| format!("{folder:/<40}{number}{end}").into()),
    ];
    let value = prop_oneof![8 => vec(any::<u8>(), 0..50), 1 => vec(any::<u8>(), 4000..20_000)];
    let index = prop::sample::select(vec![IndexKind::Hash, IndexKind::Sorted]);
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

    #[test]
    fn well_formed_nonsense_is_loaded_or_refused(
        bytes in files(),
    ) {
        match load(&bytes) {
            Ok(store) => assert!(tables_of(&load(&dump(&store)).expect("a dump loads")) == tables_of(&store)),
            Err(Error::Corrupt { offset, .. }) => assert!(offset <= bytes.len() as u64),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..500), begin_right in any::<bool>()) {
        corrupt(&if begin_right { [file(0, &[]), bytes].concat() } else { bytes });
    }
}

#[test]
fn a_dump_of_large_pairs_and_many_blocks_keeps_them() {
    let long = if cfg!(miri) { 300 } else { MAX_KEY_BYTES };
    let mut pairs: Pairs = (0..scaled(5000, 20))
        .map(|number| (format!("key/{number:09}").into(), vec![7; number % 100]))
        .collect();
    pairs.insert(vec![b'l'; long], vec![8; scaled(3 << 20, 9000)]);
    pairs.insert(vec![b'l'; long - 1], vec![9; 65_536]);
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let tables = [("t".to_owned(), (index, pairs.clone()))].into();
        assert!(tables_of(&load(&dump(&store_of(&tables))).expect("a dump loads")) == tables);
    }
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
    let bytes = dump(&store_of(&[("t".to_owned(), (IndexKind::Sorted, pairs))].into()));
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
}

#[test]
fn ends_of_keys_that_recur_are_stored_once() {
    let names = ["", "/changed by", "/description", "/type"];
    let keys = scaled(1000, 100);
    let key = |at: usize| format!("a/rather/long/name/of/a/folder/key{:06}{}", at / 4, names[at % 4]);
    let pairs: Pairs = (0..4 * keys).map(|at| (key(at).into(), vec![7; 10])).collect();
    let tables = [("t".to_owned(), (IndexKind::Sorted, pairs))].into();
    let bytes = dump(&store_of(&tables));
    assert!(bytes.len() < keys * 4 * 11 + 200, "{} bytes for {keys} keys", bytes.len());
    assert!(tables_of(&load(&bytes).expect("a dump loads")) == tables);
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
    // Its lengths are 3 and 4, as before.
    let bob = [vec![0x60], b"bob1906".to_vec()].concat();
    let bytes = dump_of(&[
        table_with_id(0, 1, b"log"),
        pairs(&[pair(0, b"2026-11-01", b"a"), pair(9, b"2", b""), pair(5, b"12", b"\xff\x00")]),
        table_with_id(300, 0, b"users"),
        (2, [varint(300), pair(0, b"", b"empty")].concat()),
        (2, [varint(300), pair(0, b"ada", b"1815"), bob].concat()),
        end(6),
    ]);
    let found = load(&bytes).expect("the format is this");
    let users = found.find_table("users").expect("it is there");
    assert_eq!(users.select("bob").as_deref(), Some(b"1906".as_slice()));
    assert!(users.delete("bob").expect("it is there"));
    assert!(tables_of(&found) == tables);
}

/// The example of docs/file-format.md.
const SETTINGS: [(&str, &str); 7] = [
    ("key1", "v1"),
    ("key1/name", "one"),
    ("key1/size", "1"),
    ("key2", "v2"),
    ("key2/name", "two"),
    ("key2/size", "2"),
    ("key3", "v3"),
];

#[test]
fn references_made_by_hand_load() {
    let bytes = dump_of(&[
        counted_table(0, 1, 10, b"t"),
        pairs(&[
            pair(0, b"key1", b"v1"),
            pair(4, b"/name", b"one"),
            pair(5, b"size", b"1"),
            pair(3, b"2", b"v2"),
            // Two pairs with the ends of those three before them, and values of as many bytes.
            [again(2, 3), b"two2".to_vec()].concat(),
            // One with lengths as three before: six bytes cut off, one written, a value of two.
            [again(0, 3), b"3v3".to_vec()].concat(),
            // Two whose values have lengths of their own.
            b"\x92\x05three\x00".to_vec(),
            // A key as long as the one before, of which it has five bytes.
            b"\x25\x01type!".to_vec(),
        ]),
        end(10),
    ]);
    let more = [("key3/name", "three"), ("key3/size", ""), ("key3/type", "!")];
    let pairs: Pairs =
        SETTINGS.into_iter().chain(more).map(|(key, value)| (key.into(), value.into())).collect();
    let found = tables_of(&load(&bytes).expect("the format is this"));
    assert!(found == [("t".to_owned(), (IndexKind::Sorted, pairs))].into(), "{found:?}");
}

#[test]
fn pairs_are_packed_as_the_page_of_the_format_says() {
    let expected: Pairs = SETTINGS.map(|(key, value)| (key.into(), value.into())).into();
    let bytes = dump_of(&[
        counted_table(0, 1, 7, b"t"),
        pairs(&[
            b"\x00\x04\x02key1v1".to_vec(),
            b"\x04\x05\x03/nameone".to_vec(),
            b"\x25\x01size1".to_vec(),
            b"\x03\x01\x022v2".to_vec(),
            b"\xd2two2".to_vec(),
            b"\xd03v3".to_vec(),
        ]),
        end(7),
    ]);
    assert!(dump(&store_of(&[("t".to_owned(), (IndexKind::Sorted, expected))].into())) == bytes);
}

#[test]
fn references_to_no_pair_are_refused() {
    let refused = |list: &[Vec<u8>]| {
        let records = [table(1, b"t"), pairs(&[pair(0, b"a", b"")]), pairs(list), end(3)];
        assert_eq!(corrupt(&dump_of(&records)), dump_of(&records[..2]).len() as u64, "{list:?}");
    };
    for times in 0..8 {
        for distance in 1..=8 {
            let reference = [again(times, distance), b"cdefgh".to_vec()].concat();
            refused(slice::from_ref(&reference));
            if distance > 1 {
                refused(&[pair(0, b"b", b""), reference]);
            }
        }
        refused(&[pair(0, b"bbb", b""), pair(0, b"c", b""), again(times, 1), b"d".to_vec()]);
    }
}

/// Writers count a table's pairs before they write them, and others may write meanwhile.
#[test]
fn the_number_of_a_tables_pairs_is_a_hint() {
    for index in [0, 1] {
        for count in [0, 1, 2, 1 << 40, u64::MAX >> 1] {
            let bytes =
                dump_of(&[counted_table(0, index, count, b"t"), pairs(&[pair(0, b"a", b"1")]), end(1)]);
            let store = load(&bytes).expect("the number is none to rely on");
            assert_eq!(store.find_table("t").map(|table| table.len()), Some(1));
        }
    }
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
    for bytes in [dump(&store_of(&small())), file(SALT, &logged())] {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            corrupt(&damaged);
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
        assert_eq!(corrupt(&file_of_version(version, 0, &[end(0)])), 8);
    }
}

// --- logs

const SALT: u64 = 0x0123_4567_89ab_cdef;

/// A log of some operations of each kind, made by hand.
fn logged() -> Vec<Record> {
    let operations = |list: &[&[u8]]| (4, list.concat());
    vec![
        table_with_id(0, 0, b"users"),
        pairs(&[pair(0, b"ada", b"1815"), pair(0, b"bob", b"1900")]),
        table_with_id(31, 1, b"log"),
        end(2),
        operations(&[b"\x00\x03\x04ada1852", b"\x01\x03bob", b"\xf8\x00\x01\x00x"]),
        (5, 24_u64.to_le_bytes().to_vec()),
        operations(&[
            &create(2, &entry(1, b"str", b"json", b"new")),
            b"\x10\x01\x01kv",
            b"\xfc\x00",
            b"\xf8\x00\x01\x00y",
        ]),
        operations(&[&create(3, &entry(0, b"bytes", b"bytes", b"old")), b"\x1b"]),
    ]
}

#[test]
fn a_log_made_by_hand_is_replayed() {
    let expected: Tables = [
        ("users", IndexKind::Hash, vec![("ada", "1852")]),
        ("log", IndexKind::Sorted, vec![("y", "")]),
        ("new", IndexKind::Sorted, vec![("k", "v")]),
    ]
    .map(|(name, index, pairs)| {
        (name.to_owned(), (index, pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()))
    })
    .into();
    let bytes = file(SALT, &logged());
    assert!(tables_of(&load(&bytes).expect("the format is this")) == expected);
    // Space that was set aside for more.
    for free in [1, 11, 12, 100_000] {
        let store = load(&[bytes.clone(), vec![0; free]].concat()).expect("the rest is free");
        assert!(tables_of(&store) == expected);
    }
}

#[test]
fn a_log_that_is_cut_within_a_record_is_refused() {
    let records = logged();
    let bytes = file(SALT, &records);
    let ends: Vec<usize> = (4..=records.len()).map(|count| file(SALT, &records[..count]).len()).collect();
    for length in 0..=bytes.len() {
        if ends.contains(&length) {
            assert!(load(&bytes[..length]).is_ok(), "{length} bytes");
        } else {
            corrupt(&bytes[..length]);
        }
    }
}

#[test]
fn a_log_that_contradicts_itself_is_refused() {
    let made = |id, index, name| (4, create(id, &entry(index, b"bytes", b"str", name)));
    let contradictions: [(&str, Record); 16] = [
        ("a table behind the dump", table_with_id(9, 0, b"t")),
        ("pairs behind the dump", pairs(&[pair(0, b"x", b"")])),
        ("a second end", end(2)),
        ("a table that is not there", (4, b"\x08\x00\x00".to_vec())),
        ("a table that was dropped", (4, b"\xfb\x00\xfc\x00".to_vec())),
        ("a name that is taken", made(1, 0, b"users")),
        ("an id that is taken", made(0, 0, b"t")),
        ("an unknown index", made(1, 2, b"t")),
        ("a table without a codec", (4, create(1, &entry(0, b"", b"str", b"t")))),
        ("a codec that is no UTF-8", (4, create(1, &entry(0, b"str", b"\xff", b"t")))),
        ("a table without a name", made(1, 0, b"")),
        ("a table without an index", (4, b"\x0a\x00".to_vec())),
        ("an unknown operation", (4, b"\x05".to_vec())),
        ("a key past its record", (4, b"\x01\x02k".to_vec())),
        ("a key over the limit", (4, [b"\x01".to_vec(), varint(65_536), vec![b'k'; 65_536]].concat())),
        ("an id over 32 bits", (4, [b"\xfc".to_vec(), varint(u64::from(u32::MAX) - 30)].concat())),
    ];
    for (name, contradiction) in contradictions {
        let offset = file(SALT, &logged()).len() as u64;
        let found = load(&file(SALT, &[logged(), vec![contradiction]].concat()));
        assert!(matches!(found, Err(Error::Corrupt { offset: at, .. }) if at == offset), "{name}: {found:?}");
    }
}

#[test]
fn a_record_of_another_place_or_file_is_refused() {
    let records = logged();
    let whole = file(SALT, &records);
    let last = file(SALT, &records[..records.len() - 1]).len();
    corrupt(&[&whole[..], &whole[last..]].concat());
    let other = file(SALT + 1, &records);
    corrupt(&[&whole[..last], &other[last..]].concat());
}

#[test]
fn a_dump_that_contradicts_itself_is_refused() {
    let offset = dump_of(&[table(1, b"t")]).len() as u64;
    let one = pair(0, b"a", b"1");
    let long = [b'k'].repeat(40_000);
    let no_pair = |lengths: Vec<u8>| pairs(&[[lengths, vec![b'k'; 8]].concat()]);
    let with_codecs = |keys, values| (1, [vec![1, 0], entry(0, keys, values, b"u")].concat());
    let contradictions: [(&str, Record); 28] = [
        ("a table twice", table_with_id(1, 1, b"t")),
        ("a table twice with another index", table_with_id(1, 0, b"t")),
        ("an id twice", table(0, b"u")),
        ("an id over 32 bits", table_with_id(1 << 32, 0, b"u")),
        ("an unknown index", table_with_id(1, 2, b"u")),
        ("a table without an index", (1, b"\x01\x00".to_vec())),
        ("a table without codecs", (1, b"\x01\x00\x00".to_vec())),
        ("an empty codec", with_codecs(b"str", b"")),
        ("a codec that is no UTF-8", with_codecs(b"\xff", b"str")),
        ("an empty name", table_with_id(1, 0, b"")),
        ("a long name", table_with_id(1, 0, &[b'n'; 256])),
        ("a name that is no UTF-8", table_with_id(1, 0, b"\xff")),
        ("pairs of no table", (2, [varint(1), one.clone()].concat())),
        ("a key twice in a record", pairs(&[one.clone(), one.clone()])),
        ("a key twice through its prefix", pairs(&[one.clone(), pair(1, b"", b"2")])),
        ("more shared than the key before has", pairs(&[one.clone(), pair(2, b"", b"")])),
        ("more shared than the key has", pairs(&[one.clone(), vec![32 + 2, 0]])),
        ("shared bytes without a key before", pairs(&[pair(1, b"a", b"")])),
        ("a key over the limit", pairs(&[pair(0, &[b'k'].repeat(MAX_KEY_BYTES + 1), b"")])),
        ("a key over the limit through its prefix", pairs(&[pair(0, &long, b""), pair(40_000, &long, b"")])),
        ("a cut pair", pairs(&[one.clone(), vec![0]])),
        ("a key past its record", no_pair(lengths(0, 9, 0))),
        ("a value past its record", no_pair(lengths(0, 1, 8))),
        ("a value over the limit", no_pair(lengths(0, 0, 1 << 32))),
        ("lengths over 64 bits", pairs(&[vec![0x1f; 1], vec![0xff; 40]])),
        ("lengths of 64 bits", no_pair(lengths(u64::MAX, u64::MAX, u64::MAX))),
        ("a number of pairs that is too high", end(1)),
        ("a number of pairs that is too short", (3, vec![0; 7])),
    ];
    for (name, contradiction) in contradictions {
        let found = load(&dump_of(&[table(1, b"t"), contradiction, end(0)]));
        assert!(matches!(found, Err(Error::Corrupt { offset: at, .. }) if at == offset), "{name}: {found:?}");
    }
}

#[test]
fn records_out_of_place_are_refused() {
    let one = pairs(&[pair(0, b"a", b"1")]);
    corrupt(&dump_of(&[one.clone(), end(1)]));
    corrupt(&dump_of(&[table(0, b"t"), one.clone(), one.clone(), end(2)]));
    corrupt(&dump_of(&[table(0, b"t"), one, end(0)]));
    corrupt(&dump_of(&[table(0, b"t")]));
    for kind in [0, 4, 5, 7, 255] {
        corrupt(&dump_of(&[(kind, Vec::new()), end(0)]));
    }
}

// --- readers and writers that fail or do little at once

/// Passes on at most 16 bytes a call, and fails after so many.
struct Reluctant<T>(T, usize);

impl<T> Reluctant<T> {
    /// How much of `wanted` to do now.
    fn admit(&mut self, wanted: usize) -> io::Result<usize> {
        let admitted = wanted.min(16).min(self.1);
        if admitted == 0 && wanted > 0 {
            return Err(io::Error::new(ErrorKind::ConnectionReset, "the line is cut"));
        }
        self.1 -= admitted;
        Ok(admitted)
    }
}

impl<R: Read> Read for Reluctant<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let admitted = self.admit(bytes.len())?;
        self.0.read(&mut bytes[..admitted])
    }
}

impl<W: Write> Write for Reluctant<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let admitted = self.admit(bytes.len())?;
        self.0.write(&bytes[..admitted])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
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
        let error = Store::load(&mut Reluctant(bytes.as_slice(), left)).expect_err("it is cut");
        assert!(is_passed_on(&error), "after {left}: {error:?}");
        let error = store.dump(&mut Reluctant(Vec::new(), left)).expect_err("it is cut");
        assert!(is_passed_on(&error), "after {left}: {error:?}");
    }
    assert!(tables_of(&store) == small(), "a failed dump leaves the store as it was");
}

#[test]
fn dump_of_a_live_table_ends_although_pairs_are_appended() {
    struct Appending<'s>(&'s twindex::Table, u32);
    impl Write for Appending<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(self.1 < 100, "the dump follows the table's end");
            let pairs: Vec<_> =
                (0..2_000_u32).map(|n| ([self.1, n].map(u32::to_be_bytes).concat(), "v")).collect();
            self.0.upsert_many(&pairs).expect("there is no limit");
            self.1 += 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).expect("the name is new");
        let mut sink = Appending(&table, 1);
        sink.write_all(b"the first pairs").expect("it takes all");
        write_tables(&[(0, table.clone())], 0, &mut sink, &mut |_| {}).expect("it takes all");
    }
}

#[test]
fn a_writer_that_takes_nothing_fails() {
    let error = store_of(&small()).dump(&mut [0_u8; 20].as_mut_slice()).expect_err("it is full");
    assert!(matches!(error, Error::Io(error) if error.kind() == ErrorKind::WriteZero));
}

#[test]
fn a_forged_position_is_no_overflow() {
    let last = Position { session: 7, sequence: u64::MAX };
    assert_eq!(last.after(&[0; 8]), Position { session: 7, sequence: 0 });
}
