//! Snapshots and transactions, and random verbs in them and beside them.

use std::ops::Bound;

use proptest::prelude::*;
use twindex_conformance::{Answer, Host, InMemory, Range, Verb};

use crate::guest::{ALL_MEMORY, Fallible, Guest, call};
use crate::host::run;

/// An instance with a store, and its table `t` with the pairs a, b and c.
fn with_pairs(index: &str) -> (Guest, u32, u32) {
    let (mut guest, store, table) = Guest::with_table(ALL_MEMORY, index);
    for key in ["a", "b", "c"] {
        guest.insert(table, key.as_bytes(), b"1").unwrap();
    }
    (guest, store, table)
}

fn code<T: std::fmt::Debug>(outcome: Fallible<T>) -> String {
    outcome.unwrap_err().code
}

fn upsert(guest: &mut Guest, table: u32, key: &[u8], value: &[u8]) -> Fallible<i32> {
    let [(key, k), (value, v)] = guest.put([key, value]);
    call!(guest, upsert, table, key, k, value, v)
}

/// What its tables show is in the vectors.
#[test]
fn snapshot_is_dumped_and_counted_until_it_is_closed() {
    for index in ["hash", "sorted"] {
        let (mut guest, store, table) = with_pairs(index);
        let snapshot = guest.snapshot(store).unwrap();
        for number in 0..1000_u32 {
            guest.insert(table, &number.to_be_bytes(), &[7; 100]).unwrap();
        }
        guest.table(store, b"new", index).unwrap();
        assert_eq!(guest.tables(snapshot).unwrap(), [(b"t".to_vec(), index.as_bytes().to_vec())]);
        let dump = guest.dump(snapshot).unwrap();
        let again = guest.load(&dump).unwrap();
        let loaded = guest.table(again, b"t", index).unwrap();
        assert_eq!(guest.len(loaded), Ok(3));
        let [snapshots, kept, _] = guest.snapshot_stats(store);
        assert!(snapshots == 1 && kept > 0, "{snapshots} snapshots keep {kept} bytes");
        guest.close(snapshot).unwrap();
        assert_eq!(guest.snapshot_stats(store), [0, 0, 0]);
    }
}

#[test]
fn what_was_opened_from_a_snapshot_or_a_transaction_closes_with_it_and_nothing_else() {
    for closes_store in [false, true] {
        let (mut guest, store, table) = with_pairs("sorted");
        let snapshot = guest.snapshot(store).unwrap();
        let shown = guest.table_of(snapshot, "t").unwrap();
        let (cursor, iter) = (guest.whole_cursor(shown).unwrap(), guest.open_iter(shown).unwrap());
        let transaction = guest.begin(store).unwrap();
        let part = guest.table_of(transaction, "t").unwrap();
        upsert(&mut guest, part, b"x", b"1").unwrap();
        let other = guest.snapshot(store).unwrap();
        for handle in if closes_store { vec![store] } else { vec![snapshot, transaction] } {
            guest.close(handle).unwrap();
        }
        for handle in [snapshot, shown, cursor, iter, transaction, part] {
            assert_eq!(code(guest.close(handle)), "TWINDEX_CLOSED");
        }
        if closes_store {
            assert_eq!(code(guest.table_of(other, "t")), "TWINDEX_CLOSED");
        } else {
            assert_eq!(guest.len(table), Ok(3));
            assert_eq!(guest.snapshot_stats(store)[0], 1);
            assert!(guest.table_of(other, "t").is_ok());
        }
    }
}

#[test]
fn committed_transaction_has_ended_until_its_handle_is_closed() {
    let (mut guest, store, table) = with_pairs("hash");
    let transaction = guest.begin(store).unwrap();
    let part = guest.table_of(transaction, "t").unwrap();
    assert_eq!(guest.insert(part, b"d", b"4"), Ok(true));
    assert_eq!((guest.len(table), guest.snapshot_stats(store)[2]), (Ok(3), 1));
    guest.commit(transaction).unwrap();
    assert_eq!((guest.len(table), guest.snapshot_stats(store)[2]), (Ok(4), 0));
    assert_eq!(code(guest.commit(transaction)), "TWINDEX_ENDED");
    assert_eq!(code(guest.select(part, b"b")), "TWINDEX_ENDED");
    assert_eq!(code(guest.insert(part, b"x", b"1")), "TWINDEX_ENDED");
    assert_eq!(code(guest.table_of(transaction, "t")), "TWINDEX_ENDED");
    guest.close(transaction).unwrap();
    assert_eq!(code(guest.commit(transaction)), "TWINDEX_CLOSED");
}

#[test]
fn handles_of_another_kind_are_refused() {
    let (mut guest, store, table) = with_pairs("sorted");
    let snapshot = guest.snapshot(store).unwrap();
    let transaction = guest.begin(store).unwrap();
    let part = guest.table_of(transaction, "t").unwrap();
    let [(name, n), (index, i)] = guest.put([&b"t"[..], b"hash"]);
    let calls = [
        call!(guest, snapshot, table),
        call!(guest, snapshot, snapshot),
        call!(guest, begin, snapshot),
        call!(guest, begin, transaction),
        call!(guest, table, part, name, n, index, i),
        call!(guest, table, table, name, n, index, i),
        call!(guest, commit, snapshot),
        call!(guest, commit, part),
        call!(guest, dump, transaction),
        call!(guest, tables, transaction),
        call!(guest, drop_table, snapshot, name, n),
        call!(guest, snapshot_stats, snapshot),
        call!(guest, len, part),
        call!(guest, clear, part),
        call!(guest, memory, part),
        call!(guest, iter, part),
        call!(guest, cursor, part, 0, 0, 0, 0, 0, 0),
        call!(guest, delete_range, part, 0, 0, 0, 0, 0, 0),
        call!(guest, pop_first, transaction),
        call!(guest, seek, table, name, n),
        call!(guest, cursor_pair, snapshot),
    ];
    for (number, outcome) in calls.into_iter().enumerate() {
        assert_eq!(code(outcome), "TWINDEX_TYPE", "call {number}");
    }
    assert_eq!(guest.len(table), Ok(3));
}

/// Few enough that operations meet.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 0..4),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => (-3_i64..4).prop_map(|number| number.to_string().into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..100_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ]
}

fn verb() -> impl Strategy<Value = Verb> {
    let pairs = || prop::collection::vec((key(), value()), 0..20);
    let keys = || prop::collection::vec(key(), 0..20);
    let bound = || {
        prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded)]
    };
    let range = || (bound(), bound()).prop_map(|(lower, upper)| Range::Between(lower, upper));
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| Verb::Insert(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Verb::Replace(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Verb::Upsert(key, value)),
        2 => key().prop_map(Verb::Delete),
        1 => (key(), any::<i64>()).prop_map(|(key, by)| Verb::Increment(key, by)),
        1 => (key(), prop::option::of(value()), prop::option::of(value()))
            .prop_map(|(key, expected, new)| Verb::CompareAndSwap(key, expected, new)),
        1 => pairs().prop_map(Verb::UpsertMany),
        1 => keys().prop_map(Verb::DeleteMany),
        1 => keys().prop_map(Verb::SelectMany),
        2 => (range(), any::<bool>(), 0..20_usize)
            .prop_map(|(range, reverse, limit)| Verb::Scan { range, reverse, limit: Some(limit) }),
    ]
}

/// A step of several transactions at once.
#[derive(Clone, Debug)]
enum Step {
    In(usize, Verb),
    Commit(usize),
    GiveUp(usize),
    /// A write beside all of them.
    Beside(Verb),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..3_usize, verb()).prop_map(|(which, verb)| Step::In(which, verb)),
        4 => (0..3_usize).prop_map(Step::Commit),
        1 => (0..3_usize).prop_map(Step::GiveUp),
        2 => verb().prop_map(Step::Beside),
    ]
}

/// A transaction, its table, what it did and how that came out, and how many changes there had been when it began.
struct Under {
    transaction: u32,
    part: u32,
    done: Vec<(Verb, Result<Answer, String>)>,
    since: usize,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// One that commits saw what it would have seen had it run as a whole at its commit.
    #[test]
    fn interleaved_transactions_are_as_if_one_after_the_other(
        index in prop::sample::select(vec!["hash", "sorted"]),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let (mut guest, store, table) = Guest::with_table(ALL_MEMORY, index);
        guest.table(store, b"noted", "hash").unwrap();
        let mut model = InMemory::default();
        let mut told = model.table("t", index).expect("a table");
        let mut open = [None::<Under>, None, None];
        let mut changes = 0;
        for step in steps {
            match step {
                Step::In(which, verb) => {
                    let under = open[which].get_or_insert_with(|| {
                        let transaction = guest.begin(store).unwrap();
                        let part = guest.table_of(transaction, "t").unwrap();
                        Under { transaction, part, done: Vec::new(), since: changes }
                    });
                    let outcome = run(&mut guest, under.part, verb.clone()).map_err(|error| error.code);
                    under.done.push((verb, outcome));
                }
                Step::Beside(verb) => {
                    let outcome = run(&mut guest, table, verb.clone()).map_err(|error| error.code);
                    prop_assert_eq!(outcome, model.run(&mut told, verb).map_err(|failure| failure.code));
                    changes += 1;
                }
                Step::GiveUp(which) => {
                    if let Some(under) = open[which].take() {
                        guest.close(under.transaction).unwrap();
                    }
                }
                Step::Commit(which) => {
                    let Some(under) = open[which].take() else { continue };
                    // One without writes need not hold at its commit.
                    let noted = guest.table_of(under.transaction, "noted").unwrap();
                    let _ = upsert(&mut guest, noted, b"k", b"v");
                    let committed = guest.commit(under.transaction);
                    guest.close(under.transaction).unwrap();
                    if let Err(error) = committed {
                        prop_assert_eq!(error.code, "TWINDEX_CONFLICT");
                        prop_assert!(under.since < changes, "nothing had changed");
                    } else {
                        for (verb, outcome) in under.done {
                            let expected = model.run(&mut told, verb).map_err(|failure| failure.code);
                            prop_assert_eq!(outcome, expected);
                        }
                        changes += 1;
                    }
                }
            }
            let pairs = run(&mut guest, table, Verb::Iter).unwrap();
            let expected = model.run(&mut told, Verb::Iter).expect("the model's pairs");
            prop_assert_eq!(pairs.sorted(), expected.sorted());
        }
    }
}
