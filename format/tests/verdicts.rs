//! What readers make of files that are whole, torn, damaged, or break a rule under right checksums.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use twindex::{Error, IndexKind, Store};
use twindex_format::{
    HEAD_BYTES, Head, Kind, Operation, Operations, Position, ReadAt, TableEntry, check, open, salvage, seal,
    synced, write_tables,
};

const SALT: u64 = 0x0123_4567_89ab_cdef;
const LIMIT: usize = 1 << 30;

/// A file of two tables, "a" with the id 0 and "b" with the id 1, each with one pair, to which records are appended.
#[derive(Clone)]
struct File(Vec<u8>);

impl File {
    fn new() -> Self {
        let store = Store::new();
        for (name, index) in [("a", IndexKind::Hash), ("b", IndexKind::Sorted)] {
            store.table(name, index).unwrap().insert("key", name).unwrap();
        }
        let tables: Vec<_> = (0..).zip(store.tables()).collect();
        let mut bytes = Vec::new();
        write_tables(&tables, SALT, &mut bytes, &mut |_| {}).unwrap();
        Self(bytes)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn record(mut self, kind: Kind, payload: &[u8]) -> Self {
        let start = self.0.len();
        self.0.extend([0; HEAD_BYTES]);
        self.0.extend(payload);
        seal(kind, SALT, start as u64, &mut self.0[start..]);
        self
    }

    fn log(self, operations: &[(u32, Operation<'_>)]) -> Self {
        let mut all = Operations::default();
        for &(id, operation) in operations {
            all.push(id, operation);
        }
        let payload = all.payload().to_vec();
        self.record(Kind::Log, &payload)
    }

    fn put(self, key: &str, value: &[u8]) -> Self {
        self.log(&[(0, Operation::Put(key.as_bytes(), value))])
    }

    fn synced(mut self) -> Self {
        let at = self.len();
        self.0.extend(synced(SALT, at, at));
        self
    }

    fn open(&self) -> twindex::Result<(Store, Option<u64>)> {
        let found = open(&self.0.as_slice(), Store::new(), &|| false, &mut |_| {})?;
        Ok((found.loader.store().clone(), found.torn.map(|torn| torn.offset)))
    }

    /// The value of a key of the table "a" in what is saved, and the names of the tables.
    fn saved(&self, key: &str) -> (Option<Vec<u8>>, Vec<String>) {
        let (_, store) = salvage(&self.0.as_slice(), LIMIT, &|| false, &mut |_| {}).unwrap();
        let names = store.tables().iter().map(|table| table.name().to_owned()).collect();
        (store.find_table("a").and_then(|table| table.select(key)), names)
    }

    /// Where `open` finds damage, which `check` must find too.
    fn damage(&self) -> Option<u64> {
        let report = check(&self.0.as_slice(), LIMIT, &|| false, &mut |_| {}).unwrap();
        let opened = match self.open() {
            Ok(_) => None,
            Err(Error::Corrupt { offset, .. }) => Some(offset),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(report.damage.first().map(|damage| damage.offset), opened, "{report:?}");
        opened
    }
}

fn entry(name: &str) -> TableEntry<'_> {
    TableEntry { name, index: IndexKind::Hash, keys: "bytes", values: "bytes" }
}

type Break<'b> = Box<dyn Fn(File) -> File + 'b>;

#[test]
fn records_that_break_a_rule_are_damage() {
    let put = Operation::Put(b"k", b"v");
    let position = Operation::Position(Position { session: 7, sequence: 7 });
    let at = File::new().put("x", b"1").len();
    let far = (at + 1).to_le_bytes();
    let breaks: Vec<(&str, Break<'_>)> = vec![
        ("a put to no table", Box::new(|file| file.log(&[(9, put)]))),
        ("a delete in no table", Box::new(|file| file.log(&[(9, Operation::Delete(b"k"))]))),
        ("a clear of no table", Box::new(|file| file.log(&[(9, Operation::Clear)]))),
        ("a drop of no table", Box::new(|file| file.log(&[(9, Operation::Drop)]))),
        ("a put to a dropped table", Box::new(|file| file.log(&[(1, Operation::Drop), (1, put)]))),
        ("an id that a table has", Box::new(|file| file.log(&[(0, Operation::Create(entry("c")))]))),
        ("a name that a table has", Box::new(|file| file.log(&[(5, Operation::Create(entry("a")))]))),
        (
            "an id that a dropped table had",
            Box::new(|file| file.log(&[(1, Operation::Drop), (1, Operation::Create(entry("c")))])),
        ),
        ("a position behind another operation", Box::new(|file| file.log(&[(0, put), (0, position)]))),
        ("a position of a table", Box::new(|file| file.log(&[(1, position), (0, put)]))),
        ("an operation that there is not", Box::new(|file| file.record(Kind::Log, &[7]))),
        ("an operation that is cut", Box::new(|file| file.record(Kind::Log, &[0, 4, 4, b'k']))),
        ("a table in the log", Box::new(|file| file.record(Kind::Table, b"\x09\x00\x00\x05bytes\x05bytesc"))),
        ("pairs in the log", Box::new(|file| file.record(Kind::Pairs, &[0, 0, 1, 1, b'k', b'v']))),
        ("kept changes in the log", Box::new(|file| file.record(Kind::Kept, &[5; 17]))),
        ("an end in the log", Box::new(|file| file.record(Kind::End, &[0; 8]))),
        ("a synced of seven bytes", Box::new(|file| file.record(Kind::Synced, &[0; 7]))),
        ("a synced past itself", Box::new(|file| file.record(Kind::Synced, &far))),
    ];
    for (what, breaks) in breaks {
        let last = breaks(File::new().put("x", b"1"));
        assert_eq!(last.damage(), Some(at), "{what}");
        let inside = last.put("x", b"2").synced();
        assert_eq!(inside.damage(), Some(at), "{what}, with records behind it");
        let (saved, names) = inside.saved("x");
        assert_eq!(saved.as_deref(), Some(b"2".as_slice()), "{what}");
        assert!(names.iter().all(|name| ["a", "b", "c"].contains(&name.as_str())), "{what}: {names:?}");
    }
}

#[test]
fn open_and_check_agree_on_every_flip_and_every_cut() {
    let whole = File::new().put("x", b"1").synced().put("x", b"2").put("y", b"3").synced().put("z", b"4");
    let covered = whole.len() - File::new().put("z", b"4").len() + File::new().len();
    assert_eq!(whole.damage(), None);
    for at in 24..whole.0.len() {
        let mut flipped = whole.clone();
        flipped.0[at] ^= 0x10;
        let damage = flipped.damage();
        assert_eq!(damage.is_some(), (at as u64) < covered - 20, "a flip at {at}");
        let mut cut = whole.clone();
        cut.0.truncate(at);
        assert_eq!(cut.damage().is_some(), at < File::new().0.len(), "a cut at {at}");
    }
}

#[test]
fn values_that_look_like_records_are_not_taken_for_some() {
    let begun = File::new().put("x", b"1");
    // The value that follows knows the salt and where it will be.
    let value_at = begun.len() + HEAD_BYTES as u64 + 1 + 1 + 1 + 1;
    let mut operations = Operations::default();
    operations.push(0, Operation::Put(b"x", b"forged"));
    let mut forged = operations.seal(SALT, value_at).to_vec();
    forged.extend(synced(SALT, value_at + forged.len() as u64, value_at));
    let written = begun.clone().put("v", &forged);
    let head = Head::decode(SALT, value_at, written.0[value_at as usize..].first_chunk().unwrap());
    assert!(head.is_some(), "the test knows where the value is");
    // Torn: the last byte did not reach the disk.
    let mut torn = written.clone();
    let last = torn.0.pop().unwrap();
    assert_eq!(torn.damage(), None);
    assert_eq!(torn.open().unwrap().1, Some(begun.len()));
    // Damaged: a byte of the record was flipped, and others follow.
    let mut damaged = written.synced();
    let at = value_at as usize + forged.len() - 1;
    assert_eq!(damaged.0[at], last);
    damaged.0[at] ^= 1;
    assert_eq!(damaged.damage(), Some(begun.len()));
    assert_eq!(damaged.saved("x").0.as_deref(), Some(b"1".as_slice()));
}

/// A file that counts the bytes that are read of it.
struct Counted(Vec<u8>, AtomicU64);

impl ReadAt for Counted {
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.as_slice().read_at(offset, bytes)?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// Both took hours for a forged file of 64 MiB: each damaged record had the rest of the file read, or each head its payload.
#[test]
fn forged_damage_is_read_a_few_times() {
    let mut many = File::new();
    for _ in 0..2_000 {
        many = many.put("x", &[1; 1_000]).put("y", b"2");
        let damaged = many.0.len() - 100;
        many.0[damaged] ^= 1;
    }
    let mut heads = File::new();
    let (begin, length) = (heads.0.len(), 1 << 20);
    heads.0.resize(begin + 4 * length, 7);
    for at in (begin..).step_by(HEAD_BYTES).take(400) {
        // Each says that a payload follows, and has another checksum.
        let mut record = vec![1; length];
        seal(Kind::Log, SALT, at as u64, &mut record);
        heads.0[at..at + HEAD_BYTES].copy_from_slice(&record[..HEAD_BYTES]);
    }
    for (what, file) in [("damaged records", many.synced()), ("heads", heads.synced())] {
        let file = Counted(file.0, AtomicU64::new(0));
        let report = check(&file, LIMIT, &|| false, &mut |_| {}).unwrap();
        assert!(!report.damage.is_empty(), "{what}");
        let (read, length) = (file.1.into_inner(), file.0.len() as u64);
        assert!(read < 20 * length, "{what}: {read} bytes of {length} were read");
    }
}
