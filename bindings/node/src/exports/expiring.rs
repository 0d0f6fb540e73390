//! What only tables whose pairs expire have: see [`super::verbs`] for the rest.

use super::cache::show;
use super::keyed;
use super::verbs::lifetime;
use crate::call::{Call, Native};
use crate::fault::Answer;
use crate::state::{Parts, State};
use crate::table::Expiring;

pub(crate) const FUNCTIONS: [(&str, Native); 3] =
    [("ttl", ttl), ("touch", touch), ("remove_expired", remove_expired)];

/// `ttl(table, key)`: as `cacheTtl`.
fn ttl<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed::<Expiring>(call, state)?;
    show(call.js, parts.table.thing.in_memory().ttl(&parts.input.key))
}

/// `touch(table, key, ttl)`: whether the key was there.
fn touch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, .. } = keyed::<Expiring>(call, state)?;
    let ttl = lifetime::<Expiring>(call, 2);
    Ok(call.js.boolean(table.thing.live()?.touch(&input.key, ttl)?)?)
}

/// `removeExpired(table, limit)`: how many pairs that were.
#[expect(clippy::cast_sign_loss, reason = "lib/expiring.js has checked that it is a count")]
fn remove_expired<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let limit = call.js.get_f64(call.argument(1)).unwrap_or_default();
    let table = &state.parts::<Expiring>(call.number(0))?.table.thing;
    Ok(call.js.usize(table.live()?.remove_expired(limit as usize)?)?)
}
