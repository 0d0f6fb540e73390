//! Verbs of the vectors' form, for random work beside a model. The vectors themselves run on this interface in `examples/go` and
//! `examples/java`, and through the npm package.

use std::ops::Bound;

use twindex_conformance::{Answer, Range, Verb};

use crate::guest::{self, EXCLUDED, Guest, INCLUDED, NONE, call, pack, unpack_values, yes};

pub(crate) fn run(guest: &mut Guest, table: u32, verb: Verb) -> guest::Fallible<Answer> {
    let [(key, k), (value, v)] = match &verb {
        Verb::Insert(key, value) | Verb::Replace(key, value) | Verb::Upsert(key, value) => {
            guest.put([key, value])
        }
        Verb::Delete(key) | Verb::Increment(key, _) => guest.put([key, b""]),
        _ => [(0, 0); 2],
    };
    Ok(match verb {
        Verb::Insert(..) => yes(call!(guest, insert, table, key, k, value, v)?).into(),
        Verb::Replace(..) => yes(call!(guest, replace, table, key, k, value, v)?).into(),
        Verb::Upsert(..) => yes(call!(guest, upsert, table, key, k, value, v)?).into(),
        Verb::Delete(_) => yes(call!(guest, delete, table, key, k)?).into(),
        Verb::Increment(_, by) => {
            call!(guest, increment, table, key, k, by)?;
            guest.answer_number().into()
        }
        Verb::CompareAndSwap(key, expected, new) => {
            guest.compare_and_swap(table, &key, expected.as_deref(), new.as_deref())?.into()
        }
        Verb::Scan { range, reverse, limit } => {
            let (lower, upper) = bounds(&range);
            let limit = limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
            guest.scan(table, lower, upper, reverse, limit)?.into()
        }
        Verb::Iter => guest.iterate(table, 7)?.into(),
        many => run_many(guest, table, &many)?,
    })
}

/// A verb whose arguments go in as a packed block.
fn run_many(guest: &mut Guest, table: u32, verb: &Verb) -> guest::Fallible<Answer> {
    let mut block = Vec::new();
    match verb {
        Verb::UpsertMany(pairs) => {
            for (key, value) in pairs {
                pack(&mut block, &[Some(key), Some(value)]);
            }
        }
        Verb::DeleteMany(keys) | Verb::SelectMany(keys) => {
            for key in keys {
                pack(&mut block, &[Some(key)]);
            }
        }
        other => unreachable!("{other:?} has no block"),
    }
    let [(at, length)] = guest.put([&block]);
    match verb {
        Verb::UpsertMany(_) => call!(guest, upsert_many, table, at, length),
        Verb::DeleteMany(_) => call!(guest, delete_many, table, at, length),
        _ => call!(guest, select_many, table, at, length),
    }?;
    let answer = guest.answer_bytes();
    let outcomes: Vec<Answer> = match verb {
        Verb::SelectMany(_) => unpack_values(answer).into_iter().map(Answer::from).collect(),
        _ => answer.iter().map(|outcome| yes(i32::from(*outcome)).into()).collect(),
    };
    assert_eq!(outcomes.len(), guest.answer_count());
    Ok(Answer::List(outcomes))
}

/// The two ends of a range as the module takes them.
fn bounds(range: &Range) -> (guest::Bound<'_>, guest::Bound<'_>) {
    fn end(bound: &Bound<Vec<u8>>) -> guest::Bound<'_> {
        match bound {
            Bound::Unbounded => (NONE, b""),
            Bound::Included(key) => (INCLUDED, key),
            Bound::Excluded(key) => (EXCLUDED, key),
        }
    }
    let Range::Between(lower, upper) = range else { unreachable!("no prefixes are made") };
    (end(lower), end(upper))
}
