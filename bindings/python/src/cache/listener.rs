//! What a program is told of pairs that went.

use std::cell::RefCell;

use pyo3::prelude::*;
use twindex::{CacheOptions, Cause};
use twindex_finalization::attach;

use crate::codec::Codecs;
use crate::error::{self, Failure, Result};
use crate::objects;

thread_local! {
    /// What the program's function raised in this thread, for the write that called it.
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Raises what the function raised while the engine wrote.
#[inline]
pub(super) fn raise_failure() -> Result<()> {
    FAILURE.take().map_or(Ok(()), Err)
}

/// Has the engine tell the program's function, if there is one.
pub(super) fn listen(
    options: CacheOptions,
    on_evict: Option<&Bound<'_, PyAny>>,
    codecs: &Codecs,
) -> Result<CacheOptions> {
    let Some(on_evict) = on_evict else { return Ok(options) };
    if !on_evict.is_callable() {
        return Err(error::wrong_type("on_evict", "callable", on_evict));
    }
    let (on_evict, codecs) = (on_evict.clone().unbind(), codecs.clone());
    Ok(options.eviction_listener(move |key, value, why| {
        let told = attach(|py| tell(on_evict.bind(py), &codecs, (key, value), why));
        if let Err(failure) = told {
            FAILURE.with_borrow_mut(|first| {
                first.get_or_insert(failure);
            });
        }
    }))
}

fn tell(
    on_evict: &Bound<'_, PyAny>,
    codecs: &Codecs,
    (key, value): (&[u8], &[u8]),
    why: Cause,
) -> Result<()> {
    let py = on_evict.py();
    let (key, value) = (codecs.keys.decode(py, key)?, codecs.values.decode(py, value)?);
    let why = match why {
        Cause::Size => "size",
        Cause::Expired => "expired",
    };
    on_evict.call1((key, value, objects::text(py, why)?))?;
    Ok(())
}
