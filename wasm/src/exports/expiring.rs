//! The time, and times to live of the pairs of tables and caches.

use crate::pairs::Pairs;
use crate::state::call;
use crate::{answer, expiry, time};

#[unsafe(no_mangle)]
extern "C" fn twindex_set_time(milliseconds: f64) -> i32 {
    call(|_| time::set(milliseconds).map(|()| 0))
}

#[unsafe(no_mangle)]
extern "C" fn twindex_expires(table: u32) -> i32 {
    call(|state| Ok(expiry::expires(state.handles.pairs(table)?.table()?).into()))
}

#[unsafe(no_mangle)]
extern "C" fn twindex_set_ttl(table: u32, milliseconds: f64) -> i32 {
    call(|state| {
        let ttl = time::ttl(milliseconds)?;
        state.handles.pairs(table)?.expiring()?.expiry.set_ttl(ttl)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_ttl(handle: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let left = match state.handles.pairs(handle)? {
            Pairs::Cache(cache) => cache.ttl(key),
            pairs => pairs.expiring()?.ttl(key)?,
        };
        let Some(left) = left else { return Ok(0) };
        answer::set_number(left);
        Ok(1)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_touch(handle: u32, key: usize, key_length: usize, milliseconds: f64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let ttl = time::ttl(milliseconds)?;
        let is_there = match state.handles.pairs(handle)? {
            Pairs::Cache(cache) => cache.touch(key, ttl)?,
            pairs => pairs.expiring()?.touch(&mut state.log, key, ttl)?,
        };
        Ok(is_there.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_remove_expired(table: u32, limit: usize) -> i32 {
    call(|state| {
        let removed = state.handles.pairs(table)?.expiring()?.remove_expired(&mut state.log, limit)?;
        answer::set_count(removed);
        Ok(0)
    })
}
