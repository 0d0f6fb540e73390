//! Functions on feeds.

use twindex_durable::{Error, Position};

use super::task::{self, Outcome};
use crate::call::Call;
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::feed::Reader;
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
