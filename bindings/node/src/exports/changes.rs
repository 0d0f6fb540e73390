//! Functions on feeds and watches.

use std::sync::Arc;
use std::task::Waker;

use twindex_durable::{Position, WatchOptions};

use super::keyed;
use super::task::{self, Outcome};
use crate::call::{Call, Native};
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::feed::{Reader, Watching};
use crate::inbox::Waiting;
use crate::input::append;
use crate::js::Value;
use crate::pairs::Tabular;
use crate::state::{NONE, State};

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `openChanges(store, position)`: the number of a feed; from where the store is now, without a position.
    ("open_changes", |call, state| {
        let number = call.number(0);
        let reader = Reader::of_store(state.store(number)?, position(call)?)?;
        call.give(state.add(number, Encodings::default(), reader)?)
    }),
    // `openFileChanges(path, position)`: the same of a file; from the oldest that it has, without a position.
    ("open_file_changes", |call, state| {
        let reader = Reader::of_file(call.string(0)?, position(call)?);
        call.give(state.add(NONE, Encodings::default(), reader)?)
    }),
    ("free_changes", super::free::<Reader>),
    // `pollChanges(feed)`: a promise of a block of the changes that are there.
    ("poll_changes", |call, state| {
        let reader = state.feeds.get(call.number(0))?.thing.clone();
        task::run(call.js, state, true, move || Ok(Outcome::Changes(reader.poll()?)))
    }),
    ("free_watch", super::free::<Watching>),
    // `pollWatch(watch)`: a block of what is there, empty where the inbox is told later, or `undefined` at the end.
    ("poll_watch", |call, state| {
        let number = call.number(0);
        let inbox = Arc::clone(state.inbox.as_ref().ok_or_else(Fault::bug)?);
        let waker = Waker::from(Arc::new(Waiting { inbox, number: -1 - i64::from(number) }));
        match state.watches.get(number)?.thing.poll(&waker) {
            None => Ok(Value::UNDEFINED),
            Some(block) => Ok(call.js.adopt(block.into_bytes())?),
        }
    }),
];

fn position<'c>(call: &Call<'c>) -> Result<Option<Position>, Fault<'c>> {
    Ok(call.optional(1)?.map(|text| text.parse::<Position>()).transpose()?)
}

/// `openWatch(table, prefix, maxChanges, capacity)`: the number of a watch of the keys that begin with the prefix, or of all keys.
pub(super) fn open_watch<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut prefix = Vec::new();
    if !call.js.is_nothing(call.argument(1)) {
        append(&mut prefix, &keyed::<T>(call, state)?.input.key)?;
    }
    let table = state.parts::<T>(call.number(0))?.table;
    let options = WatchOptions::new();
    let options = call.count(2).map_or(options, |changes| options.max_changes(changes));
    let options = call.count(3).map_or(options, |bytes| options.capacity(bytes));
    let (store, watch) = (table.owner.store, table.thing.watch(prefix, options)?);
    // It outlives its store by what came before.
    call.give(state.add(NONE, Encodings::default(), Watching { store, watch })?)
}
