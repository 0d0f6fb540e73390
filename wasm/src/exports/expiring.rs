//! The time, and times to live of the pairs of tables and caches.

use crate::pairs::Pairs;
use crate::{answer, expiry, time};

exports! {
    fn twindex_set_time(_state, milliseconds: f64) {
        time::set(milliseconds)?;
    }

    fn twindex_expires(state, table: u32) {
        expiry::expires(state.handles.pairs(table)?.table()?)
    }

    fn twindex_set_ttl(state, table: u32, ttl: ttl) {
        state.handles.pairs(table)?.expiring()?.expiry.set_ttl(ttl)?;
    }

    fn twindex_ttl(state, handle: u32, key: bytes) {
        let left = match state.handles.pairs(handle)? {
            Pairs::Cache(cache) => cache.ttl(key),
            pairs => pairs.expiring()?.ttl(key)?,
        };
        left.map(answer::set_number).is_some()
    }

    fn twindex_touch(state, handle: u32, key: bytes, ttl: ttl) {
        match state.handles.pairs(handle)? {
            Pairs::Cache(cache) => cache.touch(key, ttl)?,
            pairs => pairs.expiring()?.touch(&mut state.log, key, ttl)?,
        }
    }

    fn twindex_remove_expired(state, table: u32, limit: usize) {
        answer::set_count(state.handles.pairs(table)?.expiring()?.remove_expired(&mut state.log, limit)?);
    }
}
