//! The functions that JavaScript sees.

pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod changes;
pub(crate) mod cli;
pub(crate) mod scan;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod task;
pub(crate) mod transaction;
pub(crate) mod verbs;

use crate::call::Call;
use crate::crossing::{Crossing, Region};
use crate::fault::{Answer, Fault};
use crate::js::Value;
use crate::pairs::Verbs;
use crate::state::{Parts, Prepared, State, Thing};

/// `prepare(raise)`: takes the function that makes errors, `(code, message, details, value?) => Error`, and returns the
/// crossing buffer.
pub(crate) fn prepare<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let raise = call.js.keep(call.argument(0))?;
    let (crossing, buffer) = Crossing::new(call.js)?;
    state.prepared = Some(Prepared { raise, crossing });
    Ok(buffer)
}

/// `free...(number)`: lets go of a thing, and of its number.
pub(crate) fn free<'c, T: Thing>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    T::all(state).0.free(call.number(0));
    Ok(Value::UNDEFINED)
}

/// The table or cache, with the key in `input.key`.
#[inline]
fn keyed<'c, 's, T: Verbs>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s, T>, Fault<'c>> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    let mut parts = state.parts::<T>(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    Ok(parts)
}
