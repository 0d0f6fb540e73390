//! What callers may rely on beyond the results of the verbs: limits, closures that panic or use the
//! store, handles that outlive each other.

use std::cell::{Cell, RefCell};
use std::iter::FusedIterator;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::thread;

use twindex::{
    Change, Cursor, Error, IndexKind, Iter, MAX_KEY_BYTES, Scan, Snapshot, SnapshotTable, Store, Table,
    TableOptions, Transaction, Value,
};
use twindex_format::Dump;

use crate::sound::assert_sound;

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];
/// Past the size from which an engine may keep values apart.
const LARGE: usize = 100_000;

fn table(index: IndexKind) -> Table {
    Store::new().table("t", index).expect("a new table")
}

fn three_pairs(index: IndexKind) -> Table {
    let table = table(index);
    table.insert_many(&[("a", "1"), ("b", "2"), ("c", "3")]).expect("there is no limit");
    table
}

/// Bytes that are others whenever they are asked for, once they were asked for so many times.
struct Fickle<'a> {
    honest: &'a Cell<usize>,
    own: Vec<u8>,
    others: &'a [Vec<u8>],
}

impl AsRef<[u8]> for Fickle<'_> {
    fn as_ref(&self) -> &[u8] {
        let turn = self.honest.replace(self.honest.get().wrapping_sub(1)).cast_signed();
        if turn > 0 { &self.own } else { &self.others[turn.unsigned_abs() * 7 % self.others.len()] }
    }
}

/// A batch was once asked for each key several times, and a key that was another one in between went to a place that was
/// not its own: into a sorted leaf, say, with whose prefix it did not begin.
#[test]
fn keys_that_change_while_they_are_written_break_nothing() {
    const TURNS: usize = if cfg!(miri) { 20 } else { 1000 };
    let others: Vec<_> = (0..40_usize)
        .map(|at| [format!("{:03}", at * 37 % 100).into_bytes(), vec![b'k'; at % 7 * (at % 5) * 20]].concat())
        .chain([vec![], vec![b'x'; MAX_KEY_BYTES + 1]])
        .collect();
    for index in BOTH {
        for turns in (0..TURNS).step_by(13) {
            let table = table(index);
            for round in 0..3 {
                let honest = Cell::new(turns);
                let fickle = |number: usize| Fickle {
                    honest: &honest,
                    own: format!("{round}/{number:04}").into_bytes(),
                    others: &others,
                };
                let pairs: Vec<_> = (0..120).map(|number| (fickle(number), fickle(number))).collect();
                let _some = table.insert_many(&pairs);
                let _some = table.upsert_many(&pairs);
                assert_sound(&table);
            }
            for (key, _) in table.iter().collect::<Vec<_>>() {
                assert!(table.delete(key).unwrap(), "what is there is found");
            }
            assert_sound(&table);
            assert!(table.is_empty());
        }
    }
}

// --- codecs

#[test]
fn a_table_remembers_its_codecs() {
    let store = Store::new();
    let options = TableOptions::new(IndexKind::Sorted);
    let table = store.table_with("t", options.keys("int").values_if_new("json")).unwrap();
    assert_eq!(table.codecs(), ("int", "json"));
    assert_eq!(store.table("plain", IndexKind::Hash).unwrap().codecs(), ("bytes", "bytes"));
    // It opens without codecs, with the same ones, and as bytes.
    for (keys, values) in [("int", "json"), ("bytes", "json"), ("int", "bytes"), ("bytes", "bytes")] {
        let found = store.table_with("t", options.keys(keys).values(values)).unwrap();
        assert_eq!(found.codecs(), ("int", "json"));
    }
    store.table_with("t", options.keys_if_new("str").values_if_new("str").create(false)).unwrap();
    store.table("t", IndexKind::Sorted).unwrap();
    let other = TableOptions::new(IndexKind::Hash);
    assert_eq!(store.table_with("t", other.any_index(true)).unwrap().index(), IndexKind::Sorted);
    assert!(matches!(store.table_with("t", other), Err(Error::WrongIndex { .. })));
    let refused = store.table_with("t", options.keys("int").values("msgpack")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the values of table \"t\" have the codec \"json\", this needs \"msgpack\""
    );
    assert!(matches!(
        store.table_with("t", options.keys("tuple")),
        Err(Error::WrongCodec { of: "keys", has, needs, .. }) if has == "int" && needs == "tuple"
    ));
    let mut bytes = Vec::new();
    store.dump(&mut bytes).unwrap();
    let loaded = Store::load(&mut bytes.as_slice()).unwrap();
    assert_eq!(loaded.find_table("t").unwrap().codecs(), ("int", "json"));
}

#[test]
fn codec_names_have_1_to_255_bytes() {
    let store = Store::new();
    let options = TableOptions::new(IndexKind::Hash);
    for name in [String::new(), "n".repeat(256)] {
        for options in [options.keys(&name), options.values(&name)] {
            let refused = store.table_with("t", options).unwrap_err();
            assert!(matches!(&refused, Error::CodecName { name: told } if *told == name), "{refused}");
        }
    }
    assert!(store.tables().is_empty());
    assert!(store.table_with("t", options.keys(&"n".repeat(255))).is_ok());
}

#[test]
fn a_table_is_created_only_where_that_is_asked_for() {
    let store = Store::new();
    let only = TableOptions::new(IndexKind::Hash).create(false);
    let refused = store.table_with("users", only).unwrap_err();
    assert!(matches!(&refused, Error::NoTable { name } if name == "users"), "{refused}");
    assert!(store.tables().is_empty());
    store.table_with("users", only.create(true)).unwrap();
    store.table_with("users", only).unwrap();
}

// --- limits

#[test]
#[cfg(all(target_pointer_width = "64", not(miri)))]
fn a_value_over_the_limit_is_refused_before_anything_is_written() {
    let too_large = vec![0_u8; twindex::MAX_VALUE_BYTES as usize + 1];
    for index in BOTH {
        let table = three_pairs(index);
        let too_large = too_large.as_slice();
        let refused = [
            table.insert("d", too_large),
            table.replace("a", too_large),
            table.upsert("a", too_large).map(|()| true),
            table.compare_and_swap("a", Some(b"1"), Some(too_large)),
            table.insert_many(&[("d", b"4".as_slice()), ("e", too_large)]).map(|_| true),
            table.replace_many(&[("a", b"4".as_slice()), ("b", too_large)]).map(|_| true),
            table.upsert_many(&[("a", b"4".as_slice()), ("b", too_large)]).map(|()| true),
            table
                .compare_and_swap_many(&[("a", Some(b"1"), None), ("b", None, Some(too_large))])
                .map(|_| true),
        ];
        for result in refused {
            assert!(matches!(result, Err(Error::ValueTooLarge { len }) if len == 1 << 32));
        }
        let left: std::collections::BTreeMap<_, _> = table.iter().collect();
        assert!(left == three_pairs(index).iter().collect());
    }
}

#[test]
fn what_needs_an_order_fails_on_a_hash_table() {
    let table = table(IndexKind::Hash);
    let errors = [
        table.cursor(..).map(drop),
        table.scan(..).map(drop),
        table.prefix("a").map(drop),
        table.first().map(drop),
        table.last().map(drop),
        table.pop_first().map(drop),
        table.pop_last().map(drop),
        table.delete_range(..).map(drop),
        table.delete_prefix("a").map(drop),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert_eq!(error.to_string(), "table \"t\" has a hash index, this needs a sorted index");
    }
}

#[test]
fn a_long_key_is_excerpted_in_its_error() {
    let error = table(IndexKind::Hash).insert(vec![b'\n'; MAX_KEY_BYTES + 1], b"").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "a key of 65536 bytes is too long, the limit is 65535 (it begins with \"{}...\")",
            "\\n".repeat(32)
        )
    );
}

// --- closures that panic

fn panics(call: impl FnOnce()) {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    let message = outcome.expect_err("the closure's panic reaches the caller");
    assert_eq!(message.downcast_ref::<&str>(), Some(&"on purpose"));
}

fn on_purpose<T>() -> T {
    std::panic::panic_any("on purpose")
}

#[test]
fn a_panic_in_alter_changes_nothing_and_locks_nothing() {
    for index in BOTH {
        let table = three_pairs(index);
        panics(|| drop(table.alter("b", |_| on_purpose())));
        panics(|| drop(table.alter("absent", |_| on_purpose())));
        assert_eq!(table.select("b").unwrap(), b"2");
        assert!(!table.contains("absent"));
        assert!(table.replace("b", "new").unwrap());
        assert!(table.insert("absent", "new").unwrap());
        assert!(table.delete("a").unwrap());
        assert_eq!(table.len(), 3);
        assert_eq!(table.iter().count(), 3);
    }
}

/// A release build waits for ever instead.
#[cfg(debug_assertions)]
#[test]
fn an_alter_that_uses_its_own_store_panics_and_names_its_table() {
    type Use = fn(&Store, &Table);
    let uses: [Use; 5] = [
        |_, table| _ = table.select("b"),
        |_, table| table.upsert("b", "new").unwrap(),
        |store, _| _ = store.find_table("other").unwrap().contains("x"),
        |_, table| _ = table.iter().count(),
        |_, table| _ = table.len(),
    ];
    for index in BOTH {
        let store = Store::new();
        let table = store.table("a table", index).unwrap();
        store.table("other", index).unwrap();
        for used in uses {
            let call = || {
                table.alter("b", |_| {
                    used(&store, &table);
                    Change::Keep
                })
            };
            let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            let message = panic.downcast_ref::<String>().unwrap();
            assert!(message.contains("alter of table \"a table\" uses its own store"), "{message}");
        }
        let elsewhere = Store::new().table("t", index).unwrap();
        let change = |_: Option<&[u8]>| Change::Set(elsewhere.increment("n", 1).unwrap().to_string().into());
        assert!(table.alter("b", change).unwrap());
        assert_eq!(table.select("b").unwrap(), b"1");
    }
}

#[test]
fn a_panic_in_alter_many_keeps_what_was_done_before() {
    for index in BOTH {
        let table = three_pairs(index);
        panics(|| {
            let change = |position, _: Option<&[u8]>| match position {
                0 => Change::Set(b"new".to_vec()),
                1 => Change::Delete,
                _ => on_purpose(),
            };
            drop(table.alter_many(&["a", "b", "c"], change));
        });
        assert_eq!(table.select("a").unwrap(), b"new");
        assert!(!table.contains("b"));
        assert_eq!(table.select("c").unwrap(), b"3");
        table.upsert_many(&[("a", "x"), ("b", "y"), ("c", "z")]).unwrap();
        assert_eq!(table.len(), 3);
    }
}

#[test]
fn a_panic_in_a_reader_locks_nothing() {
    for index in BOTH {
        let table = three_pairs(index);
        panics(|| assert!(table.select_with("a", |_| on_purpose()).unwrap_or(true)));
        panics(|| table.select_many(&["a", "b"], |_, _| on_purpose()));
        if index == IndexKind::Sorted {
            let mut cursor = table.cursor(..).unwrap();
            panics(|| assert_eq!(cursor.scan_asc_next_many(2, |_, _| on_purpose()), 2));
            panics(|| assert_eq!(table.cursor(..).unwrap().scan_desc_next_many(2, |_, _| on_purpose()), 2));
        }
        assert!(table.replace("a", vec![1; LARGE]).unwrap());
        assert!(table.delete("b").unwrap());
        table.clear().unwrap();
        assert!(table.is_empty());
    }
}

// --- closures that use the store

#[test]
fn a_reader_may_write_and_goes_on_reading_what_it_was_shown() {
    for index in BOTH {
        for length in [3, 5000, LARGE] {
            let table = three_pairs(index);
            let old = vec![b'o'; length];
            table.upsert("a", &old).unwrap();
            let compared = table.select_with("a", |shown| {
                table.upsert("a", vec![b'n'; length]).unwrap();
                assert!(table.delete("a").unwrap());
                (0..200).for_each(|number| assert!(table.insert(format!("x{number}"), &old).unwrap()));
                table.clear().unwrap();
                assert!(table.insert("a", b"newest").unwrap());
                assert!(shown == old);
            });
            assert!(compared.is_some());
            assert_eq!(table.select("a").unwrap(), b"newest");
        }
    }
}

#[test]
fn select_many_may_write() {
    for index in BOTH {
        let table = three_pairs(index);
        let mut shown = Vec::new();
        table.select_many(&["a", "b", "c", "d"], |position, value| {
            shown.push(value.is_some());
            table.upsert(format!("new{position}"), vec![b'x'; 5000]).unwrap();
            assert!(value.is_none_or(|value| value == (position + 1).to_string().as_bytes()));
        });
        assert_eq!(shown, [true, true, true, false]);
        assert_eq!(table.len(), 7);
    }
}

#[test]
fn a_cursor_s_pair_outlives_its_deletion() {
    let table = three_pairs(IndexKind::Sorted);
    table.upsert("a", vec![b'o'; LARGE]).unwrap();
    let mut cursor = table.cursor(..).unwrap();
    let (key, value) = cursor.scan_asc_next().unwrap();
    table.upsert("a", vec![b'n'; LARGE]).unwrap();
    table.clear().unwrap();
    assert!(key == b"a" && value == vec![b'o'; LARGE]);
    assert_eq!(cursor.scan_asc_next(), None);
}

#[test]
fn a_cursor_shown_many_pairs_may_write() {
    let table = three_pairs(IndexKind::Sorted);
    let mut cursor = table.cursor(..).unwrap();
    let mut shown = Vec::new();
    let count = cursor.scan_asc_next_many(10, |key, _| {
        shown.push(key.to_vec());
        assert!(table.delete(key).unwrap());
        assert!(table.insert([b"A", key].concat(), b"before the cursor").unwrap());
    });
    assert_eq!(count, 3);
    assert_eq!(shown, [b"a", b"b", b"c"]);
    let left: Vec<_> = table.iter().map(|(key, _)| key).collect();
    assert_eq!(left, [b"Aa", b"Ab", b"Ac"]);
}

#[test]
fn a_table_may_be_changed_while_it_is_iterated() {
    for index in BOTH {
        let table = table(index);
        (0..500).for_each(|number| assert!(table.insert(format!("key/{number:03}"), b"old").unwrap()));
        let mut seen = 0;
        for (key, _) in table.iter().filter(|(key, _)| key.starts_with(b"key/")) {
            seen += 1;
            table.delete(&key).unwrap();
            table.upsert([b"A", key.as_slice()].concat(), vec![1; 50]).unwrap();
        }
        assert_eq!(seen, 500, "no pair changed before it came");
        assert!(!table.iter().any(|(key, _)| key.starts_with(b"key/")));
    }
}

// --- handles

#[test]
fn handles_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    fn survives_panics<T: UnwindSafe + RefUnwindSafe>() {}
    fn moves<T: Send>() {}
    moves::<Transaction>();
    crosses::<(Store, Table, Snapshot, SnapshotTable)>();
    crosses::<(Cursor, Scan, Iter, Value, Error)>();
    survives_panics::<(Store, Table, Snapshot, SnapshotTable, Value)>();
}

#[test]
fn values_are_used_like_boxed_slices() {
    let text = b"some bytes".as_slice();
    let all = [
        Value::from(text),
        Value::from(text.to_vec()),
        Box::<[u8]>::from(text).into(),
        text.iter().copied().collect(),
    ];
    assert!(all.iter().all(|value| value == text && !value.is_shared() && value == &all[0]));
    assert!(Value::default().is_empty());
    assert_eq!(Box::<[u8]>::from(all[0].clone()), Vec::from(all[1].clone()).into());
}

#[test]
fn iterators_that_have_ended_stay_at_their_end() {
    fn fused<I: FusedIterator>(mut ended: I, write: impl Fn()) {
        assert_eq!(ended.by_ref().count(), 3);
        write();
        assert!(ended.next().is_none());
    }
    for index in BOTH {
        let table = three_pairs(index);
        fused(table.iter(), || table.upsert("z", "4").unwrap());
    }
    let table = three_pairs(IndexKind::Sorted);
    fused(table.scan(..).unwrap(), || table.upsert("z", "4").unwrap());
    let table = three_pairs(IndexKind::Sorted);
    fused(table.scan(..).unwrap().rev(), || table.upsert("A", "4").unwrap());
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// What a thread does as it ends, when where it would say that it reads is gone already.
struct Last {
    tables: [Table; 2],
    number: u8,
}

impl Drop for Last {
    fn drop(&mut self) {
        let [one, other] = &self.tables;
        for turn in 0..if cfg!(miri) { 10 } else { 500_u16 } {
            let key = [&turn.to_be_bytes()[..], &[self.number]].concat();
            let value = vec![self.number; usize::from(turn % 7) * 100];
            assert!(one.insert(&key, &value).unwrap());
            let seen = one.select_with(&key, |seen| {
                // While it reads the one, it reads and writes the other, and takes away what it reads.
                other.upsert(&key, seen).unwrap();
                assert!(one.delete(&key).unwrap());
                one.upsert([self.number], [0; 300]).unwrap();
                other.select_with(&key, <[u8]>::to_vec).is_some_and(|copy| copy == seen) && seen == value
            });
            assert_eq!(seen, Some(true));
        }
    }
}

#[test]
fn threads_may_use_stores_as_they_end() {
    const THREADS: u8 = 4;
    for indexes in [BOTH, [IndexKind::Sorted, IndexKind::Hash]] {
        let tables = indexes.map(table);
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let last = Last { tables: tables.clone(), number };
                thread::spawn(move || {
                    LAST.set(Some(last));
                    LAST.with_borrow(|last| last.as_ref().map(|last| last.tables[0].len()))
                })
            })
            .collect();
        for thread in threads {
            assert!(thread.join().unwrap().is_some());
        }
        assert_eq!(tables[0].len(), usize::from(THREADS));
        assert_eq!(tables[1].len() % usize::from(THREADS), 0);
        tables.iter().for_each(assert_sound);
    }
}

#[test]
fn clones_are_the_same_store_and_table() {
    let store = Store::new();
    let users = store.table("users", IndexKind::Hash).unwrap();
    let again = store.clone().table("users", IndexKind::Hash).unwrap();
    users.clone().insert("ada", "1815").unwrap();
    assert_eq!(again.select("ada").unwrap(), b"1815");
    assert_eq!(store.find_table("users").unwrap().len(), 1);
    store.clone().drop_table("users");
    assert_eq!(again.insert("bob", "").unwrap_err().code(), "TWINDEX_TABLE_DROPPED");
}

#[test]
fn what_reads_a_table_outlives_every_other_handle() {
    for index in BOTH {
        let table = three_pairs(index); // whose store is gone already
        let mut iter = table.iter();
        let first = iter.next();
        drop(table);
        assert_eq!(first.into_iter().chain(iter).count(), 3);
    }
    let table = three_pairs(IndexKind::Sorted);
    let (mut cursor, mut scan) = (table.cursor(..).unwrap(), table.scan(..).unwrap());
    let clone = cursor.clone();
    drop(table);
    assert_eq!(cursor.scan_asc_next().unwrap(), (b"a".as_slice(), b"1".as_slice()));
    drop(cursor);
    assert_eq!(scan.next_back().unwrap(), (b"c".to_vec(), b"3".to_vec()));
    assert_eq!(clone.into_iter().count(), 3);
}

#[test]
fn what_is_open_on_a_dropped_table_finds_nothing_more() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    table.insert_many(&[("a", "1"), ("b", "2")]).unwrap();
    let mut cursor = table.cursor(..).unwrap();
    let (key, value) = cursor.scan_asc_next().unwrap();
    assert!(store.drop_table("t"));
    assert_eq!((key, value), (b"a".as_slice(), b"1".as_slice()));
    assert_eq!(cursor.scan_asc_next(), None);
    assert_eq!(table.iter().count() + table.scan(..).unwrap().count() + table.len(), 0);
}
