//! Snapshots and transactions, as far as the module has a part in them. What they mean is in the vectors and the engine's tests.

use crate::guest::{ALL_MEMORY, Fallible, Guest, NONE, call};

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
        call!(guest, tables, snapshot).unwrap();
        assert_eq!(guest.answered_pairs(), [(b"t".to_vec(), index.as_bytes().to_vec())]);
        let dump = guest.dump(snapshot).unwrap();
        let again = guest.load_within(&dump, None).unwrap();
        let loaded = guest.table(again, b"t", index).unwrap();
        assert_eq!(guest.len(loaded), Ok(3));
        let stats = guest.snapshot_stats(store);
        assert!(stats[0] == 1 && stats[1] > 0, "snapshots, and bytes kept for them: {stats:?}");
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
        call!(guest, upsert, part, b"x", b"1").unwrap();
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
    call!(guest, commit, transaction).unwrap();
    assert_eq!((guest.len(table), guest.snapshot_stats(store)[2]), (Ok(4), 0));
    assert_eq!(code(call!(guest, commit, transaction)), "TWINDEX_ENDED");
    assert_eq!(code(guest.select(part, b"b")), "TWINDEX_ENDED");
    assert_eq!(code(guest.insert(part, b"x", b"1")), "TWINDEX_ENDED");
    assert_eq!(code(guest.table_of(transaction, "t")), "TWINDEX_ENDED");
    guest.close(transaction).unwrap();
    assert_eq!(code(call!(guest, commit, transaction)), "TWINDEX_CLOSED");
}

/// The bits of `twindex_table_with` that create a table whose pairs expire.
const EXPIRING: u32 = 1 | 16;
const MINUTE: f64 = 60_000.0;

/// An instance at the time 1 with a store and an expiring table, whose pair `k` has a minute to live.
fn with_expiring(index: &str) -> (Guest, u32, u32) {
    let (mut guest, store, _) = Guest::with_table(ALL_MEMORY, index);
    call!(guest, set_time, 1.0).unwrap();
    let table = guest.table_with(store, ["e", index, "bytes", "bytes"], EXPIRING).unwrap();
    call!(guest, set_ttl, table, MINUTE).unwrap();
    guest.insert(table, b"k", b"1").unwrap();
    (guest, store, table)
}

#[test]
fn deadlines_pass_between_transactions_not_within_one() {
    for index in ["hash", "sorted"] {
        let (mut guest, store, table) = with_expiring(index);
        let transaction = guest.begin(store).unwrap();
        let part = guest.table_of(transaction, "e").unwrap();
        call!(guest, set_ttl, part, MINUTE).unwrap();
        assert_eq!(guest.insert(part, b"own", b"2"), Ok(true));
        call!(guest, set_time, 2.0 * MINUTE).unwrap();
        let again = guest.table_of(transaction, "e").unwrap();
        for part in [part, again] {
            assert_eq!(guest.select(part, b"k"), Ok(Some(b"1".to_vec())));
            assert_eq!(guest.select(part, b"own"), Ok(Some(b"2".to_vec())));
            assert_eq!(guest.insert(part, b"k", b"9"), Ok(false));
            assert_eq!((call!(guest, ttl, part, b"k"), guest.answer_number()), (Ok(1), 1));
        }
        let touched = call!(guest, touch, part, b"own", 3.0 * MINUTE);
        assert_eq!(touched, Ok(1), "its own write was there all the time");
        call!(guest, commit, transaction).unwrap();
        assert_eq!(guest.select(table, b"k"), Ok(None));
        assert_eq!(guest.select(table, b"own"), Ok(Some(b"2".to_vec())));
    }
}

#[test]
fn a_transaction_renews_no_pair_that_has_expired_by_its_commit() {
    let (mut guest, store, table) = with_expiring("hash");
    let mut now = 0.0;
    for renews in [
        |guest: &mut Guest, part| call!(guest, touch, part, b"k", f64::INFINITY),
        |guest: &mut Guest, part| call!(guest, replace, part, b"k", b"2"),
    ] {
        let transaction = guest.begin(store).unwrap();
        let part = guest.table_of(transaction, "e").unwrap();
        assert_eq!(renews(&mut guest, part), Ok(1));
        now += 2.0 * MINUTE;
        call!(guest, set_time, now).unwrap();
        assert_eq!(code(call!(guest, commit, transaction)), "TWINDEX_CONFLICT");
        assert_eq!(guest.select(table, b"k"), Ok(None));
        guest.insert(table, b"k", b"1").unwrap();
    }
}

#[test]
fn a_removal_before_the_commit_does_not_forget_what_a_transaction_wrote() {
    let (mut guest, store, table) = with_expiring("sorted");
    let transaction = guest.begin(store).unwrap();
    let part = guest.table_of(transaction, "e").unwrap();
    call!(guest, set_ttl, part, MINUTE).unwrap();
    assert_eq!(guest.insert(part, b"own", b"2"), Ok(true));
    call!(guest, set_time, 2.0 * MINUTE).unwrap();
    call!(guest, remove_expired, table, 9).unwrap();
    assert_eq!((guest.answer_count(), guest.len(table)), (1, Ok(0)), "k");
    call!(guest, commit, transaction).unwrap();
    assert_eq!(guest.len(table), Ok(1));
    call!(guest, remove_expired, table, 9).unwrap();
    assert_eq!((guest.answer_count(), guest.len(table)), (1, Ok(0)), "own");
}

#[test]
fn handles_of_another_kind_are_refused() {
    let (mut guest, store, table) = with_pairs("sorted");
    let snapshot = guest.snapshot(store).unwrap();
    let transaction = guest.begin(store).unwrap();
    let part = guest.table_of(transaction, "t").unwrap();
    let calls = [
        call!(guest, snapshot, table),
        call!(guest, snapshot, snapshot),
        call!(guest, begin, snapshot),
        call!(guest, begin, transaction),
        call!(guest, table, part, b"t", b"hash"),
        call!(guest, table, table, b"t", b"hash"),
        call!(guest, commit, snapshot),
        call!(guest, commit, part),
        call!(guest, dump, transaction),
        call!(guest, tables, transaction),
        call!(guest, drop_table, snapshot, b"t"),
        call!(guest, snapshot_stats, snapshot),
        call!(guest, len, part),
        call!(guest, clear, part),
        call!(guest, memory, part),
        call!(guest, iter, part),
        call!(guest, cursor, part, 0, 0, 0, 0, 0, 0),
        call!(guest, delete_range, part, 0, 0, 0, 0, 0, 0),
        call!(guest, pop_first, transaction),
        call!(guest, seek, table, b"t"),
        call!(guest, cursor_pair, snapshot),
    ];
    for (number, outcome) in calls.into_iter().enumerate() {
        assert_eq!(code(outcome), "TWINDEX_TYPE", "call {number}");
    }
    assert_eq!(guest.len(table), Ok(3));
}

/// The module reads a range some pairs at a time, and has the engine lay the writes over each part.
#[test]
fn scan_of_a_transaction_has_what_it_wrote_and_deleted_in_every_part() {
    let (mut guest, store, table) = Guest::with_table(ALL_MEMORY, "sorted");
    for number in 0..500_u32 {
        guest.insert(table, &number.to_be_bytes(), &[1; 1500]).unwrap();
    }
    let transaction = guest.begin(store).unwrap();
    let part = guest.table_of(transaction, "t").unwrap();
    let mut expected: Vec<_> = (0..500_u32).map(|number| (number.to_be_bytes().to_vec(), 1500)).collect();
    for number in (0..500_u32).step_by(3) {
        guest.delete(part, &number.to_be_bytes()).unwrap();
        call!(guest, upsert, part, &[&number.to_be_bytes()[..], b"+"].concat(), b"new").unwrap();
        expected[number as usize] = ([&number.to_be_bytes()[..], b"+"].concat(), 3);
    }
    for reverse in [false, true] {
        for count in [1, 7, 64, 65, 1000] {
            let found = guest.scan(part, (NONE, b""), (NONE, b""), reverse, count).unwrap();
            let found: Vec<_> = found.into_iter().map(|(key, value)| (key, value.len())).collect();
            assert_eq!(found, expected[..expected.len().min(count as usize)], "{count} {reverse}");
        }
        expected.reverse();
    }
    call!(guest, commit, transaction).unwrap();
    assert_eq!(guest.len(table), Ok(500));
}
