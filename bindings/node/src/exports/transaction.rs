//! Transactions, which JavaScript finds in `native.transaction`. The first argument is the number of one.

use std::cell::RefCell;
use std::rc::Rc;

use twindex_durable::AnyTable::{Expiring, Plain};
use twindex_durable::Transaction;

use super::scan::range;
use super::verbs::{Wanted, tell_any};
use crate::call::{Call, Native};
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::state::{Parts, State};
use crate::transacting::{Joined, Transacting};
use crate::walk::{DOWN, Halves};

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `begin(store)`: the number of a transaction.
    ("begin", |call, state| {
        let store = call.number(0);
        let begun = Rc::new(RefCell::new(Some(state.store(store)?.begin()?)));
        call.give(state.add(store, Encodings::default(), begun)?)
    }),
    // `open(transaction, name, index, keys, values)`: the number of a table in the transaction; results as of `openTable`.
    ("open", |call, state| {
        let wanted = Wanted::read(call)?;
        let of = state.transactions.get(call.number(0))?;
        let (owner, transaction) = (of.owner, Rc::clone(&of.thing));
        let table = wanted.open(state.store(owner.store)?, twindex::BYTES, false, None)?;
        tell_any(&table, &mut state.results);
        call.give(state.add(owner, Encodings::default(), Joined { transaction, table })?)
    }),
    // `hasConflict(transaction)`: whether it can only be begun again.
    ("has_conflict", |call, state| {
        let of = state.transactions.get(call.number(0));
        call.give(of.is_ok_and(|of| of.thing.borrow().as_ref().is_some_and(Transaction::has_conflict)))
    }),
    // `commit(transaction)`: fails with `TWINDEX_CONFLICT` if something that it read has changed.
    ("commit", |call, state| {
        let transaction = state.transactions.get(call.number(0))?.thing.borrow_mut().take();
        call.give(transaction.ok_or_else(Fault::bug)?.commit()?)
    }),
    ("free", super::free::<Transacting>),
];

/// What JavaScript finds in `native.joined`, the tables in transactions, beside the verbs.
pub(crate) const OF_TABLES: &[(&str, Native)] = &[("range", scan)];

/// `range(table, way, limit, from, low, to, high)`: the number of results to take, two a pair.
fn scan<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (is_down, limit) = (call.number(1) == DOWN, call.count(2).unwrap_or(usize::MAX));
    let Parts { table, input, results, crossing } = state.parts::<Joined>(call.number(0))?;
    let range = range(call, (input, crossing), table.encodings.keys, 3)?;
    let pairs = table.thing.run(|transaction, table| match table {
        Plain(table) => transaction.range(table, range, limit, is_down),
        Expiring(table) => transaction.expiring(table).range(range, limit, is_down),
    })?;
    results.begin(table.encodings, Halves::BOTH.columns());
    for (key, value) in &pairs {
        Halves::BOTH.push(results, key, value);
    }
    results.check()?;
    call.give(results.len())
}
