//! Functions on feeds.

use std::sync::Arc;
use std::task::Waker;

use twindex_durable::{Error, Position, WatchOptions};

use super::keyed;
use super::task::{self, Outcome};
use crate::call::Call;
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::feed::{Reader, Watching};
use crate::inbox::Waiting;
use crate::input::append;
use crate::js::Value;
use crate::pairs::Tabular;
use crate::shared::Refusal;
use crate::state::{NONE, State};

fn position<'c>(call: &Call<'c>, at: usize) -> Result<Option<Position>, Fault<'c>> {
    Ok(call.optional(at)?.map(|text| text.parse::<Position>()).transpose()?)
}

/// `openChanges(store, position)`: the number of a feed; from where the store is now, without a position.
pub(crate) fn open_changes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let store = state.store(number)?;
    let reader = Reader::of_store(store, position(call, 1)?)?;
    Ok(call.js.u32(state.add(number, Encodings::default(), reader)?)?)
}

/// `openFileChanges(path, position)`: the same of a file; from the oldest that it has, without a position.
pub(crate) fn open_file_changes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let reader = Reader::of_file(call.string(0)?, position(call, 1)?);
    Ok(call.js.u32(state.add(NONE, Encodings::default(), reader)?)?)
}

/// `pollChanges(feed)`: a promise of a block of the changes that are there.
pub(crate) fn poll_changes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let reader = state.feeds.get(call.number(0))?.thing.clone();
    let task = move || reader.poll().map(Outcome::Changes).map_err(|error: Error| Refusal::from(error));
    task::run(call.js, state, true, Box::new(task))
}

/// `openWatch(table, prefix, maxChanges, capacity)`: the number of a watch of the keys that begin with the prefix, or of all keys.
#[expect(clippy::cast_sign_loss, reason = "lib/watch.js has checked that both are at least 1")]
pub(super) fn open_watch<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut prefix = Vec::new();
    if !call.js.is_nothing(call.argument(1)) {
        append(&mut prefix, &keyed::<T>(call, state)?.input.key)?;
    }
    let table = state.parts::<T>(call.number(0))?.table;
    let bound = |at| call.js.get_f64(call.argument(at)).map(|bound| bound as usize);
    let mut options = WatchOptions::new();
    options = bound(2).map_or(options, |changes| options.max_changes(changes));
    options = bound(3).map_or(options, |bytes| options.capacity(bytes));
    let (store, watch) = (table.owner.store, table.thing.watch(prefix, options)?);
    // It outlives its store by what came before.
    Ok(call.js.u32(state.add(NONE, Encodings::default(), Watching { store, watch })?)?)
}

/// `pollWatch(watch)`: a block of what is there, empty where the inbox is told later, or `undefined` at the end.
pub(crate) fn poll_watch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let inbox = Arc::clone(state.inbox.as_ref().ok_or_else(Fault::bug)?);
    let waker = Waker::from(Arc::new(Waiting { inbox, number: -1 - i64::from(number) }));
    match state.watches.get(number)?.thing.poll(&waker) {
        None => Ok(Value::UNDEFINED),
        Some(block) => Ok(call.js.adopt(block.into_bytes())?),
    }
}
