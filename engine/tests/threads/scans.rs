//! Iterators, scans and cursors beside writers: in order, none twice, none missed.

use std::iter::from_fn;
use std::ops::Bound;

use twindex::{IndexKind, Table};

use crate::churned::Churned;

use crate::beside;
use crate::stamped::read_stamp;

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

#[test]
fn iterating_a_hash_table_meets_each_stable_pair_once() {
    let churned = Churned::new(IndexKind::Hash);
    beside(|| churned.churn(), || churned.check(&*churned.table, |_| true));
}

#[test]
fn iterating_a_sorted_table_meets_each_stable_pair_once() {
    let churned = Churned::new(IndexKind::Sorted);
    beside(|| churned.churn(), || churned.check(in_order(churned.table.iter().collect()), |_| true));
}

#[test]
fn scans_meet_each_stable_pair_once_and_in_order() {
    let churned = Churned::new(IndexKind::Sorted);
    let mut random = fastrand::Rng::with_seed(3);
    let read = || {
        let [one, two] = [0; 2].map(|_| Churned::key(random.usize(..churned.numbers)));
        let (low, high) = (one.as_slice().min(&two), one.as_slice().max(&two));
        let range = (Bound::Excluded(low), Bound::Included(high));
        let pairs = read_somehow(&churned.table, range, &mut random);
        churned.check(in_order(pairs), |key| low < key && key <= high);
    };
    beside(|| churned.churn(), read);
}

#[test]
fn prefixes_meet_each_stable_pair_once_and_in_order() {
    let churned = Churned::new(IndexKind::Sorted);
    let mut random = fastrand::Rng::with_seed(4);
    let read = || {
        let key = Churned::key(random.usize(..churned.numbers));
        let prefix = &key[..random.usize(..=key.len())];
        let up: Vec<_> = churned.table.prefix(prefix).unwrap().collect();
        churned.check(in_order(up), |key| key.starts_with(prefix));
        let mut down: Vec<_> = churned.table.prefix(prefix).unwrap().rev().collect();
        down.reverse();
        churned.check(in_order(down), |key| key.starts_with(prefix));
    };
    beside(|| churned.churn(), read);
}

/// Passes the pairs on where their keys go up, none twice.
fn in_order(pairs: Pairs) -> Pairs {
    assert!(pairs.is_sorted_by(|before, after| before.0 < after.0), "the keys are not in order");
    pairs
}

/// The pairs in the range by one of the ways of reading it, brought into order.
fn read_somehow(table: &Table, range: Bounds<'_>, random: &mut fastrand::Rng) -> Pairs {
    let copy = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let mut cursor = table.cursor(range).unwrap();
    let mut pairs = Vec::new();
    let mut read = |key: &[u8], value: &[u8]| pairs.push((key.to_vec(), value.to_vec()));
    match random.u8(..7) {
        0 => return table.scan(range).unwrap().collect(),
        1 => return from_both_ends(table, range, random),
        2 => return from_fn(|| cursor.scan_asc_next().map(copy)).collect(),
        3 => while cursor.scan_asc_next_many(random.usize(1..100), &mut read) > 0 {},
        4 => pairs.extend(table.scan(range).unwrap().rev()),
        5 => pairs.extend(from_fn(|| cursor.scan_desc_next().map(copy))),
        _ => while cursor.scan_desc_next_many(random.usize(1..100), &mut read) > 0 {},
    }
    if pairs.first() > pairs.last() {
        pairs.reverse();
    }
    pairs
}

fn from_both_ends(table: &Table, range: Bounds<'_>, random: &mut fastrand::Rng) -> Pairs {
    let (mut scan, mut front, mut back) = (table.scan(range).unwrap(), Vec::new(), Vec::new());
    loop {
        let (next, end) =
            if random.bool() { (scan.next(), &mut front) } else { (scan.next_back(), &mut back) };
        let Some(pair) = next else { break };
        end.push(pair);
    }
    front.into_iter().chain(back.into_iter().rev()).collect()
}

/// A cursor that turns round at random goes from key to key in its way, over no key that stays.
#[test]
fn a_turning_cursor_skips_no_stable_pair() {
    let churned = Churned::new(IndexKind::Sorted);
    let mut random = fastrand::Rng::with_seed(17);
    let mut cursor = churned.table.cursor(..).unwrap();
    let mut on: Option<Vec<u8>> = None;
    let step = |up: bool| {
        let next = if up { cursor.scan_asc_next() } else { cursor.scan_desc_next() };
        let passed = |from: &[u8], to: &[u8]| if up { from < to } else { from > to };
        let ahead = |key: &&Vec<u8>| on.as_ref().is_none_or(|on| passed(on, key));
        let mut stable = churned.stable.iter().filter(ahead);
        let due = if up { stable.next() } else { stable.next_back() };
        let Some((key, value)) = next else {
            assert_eq!(due, None, "the cursor stopped before a key that stays");
            return false;
        };
        read_stamp(key, value);
        assert!(on.as_ref().is_none_or(|on| passed(on, key)), "the cursor went the wrong way");
        assert!(due.is_none_or(|due| !passed(due, key)), "the cursor skipped a key that stays");
        on = Some(key.to_vec());
        true
    };
    let mut step = step;
    let read = || {
        let (up, steps) = (random.bool(), random.usize(1..40));
        (0..steps).all(|_| step(up));
    };
    beside(|| churned.churn(), read);
}
