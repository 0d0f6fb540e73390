//! The verbs of a hash table as commands: each pair is a string of its own.

use std::io::Write as _;
use std::time::Duration;

use redis::{Cmd, RedisWrite as _, Value};
use twindex::Write;

use crate::error::{Error, Result};
use crate::functions;
use crate::names::Layout;
use crate::pairs::Swap;
use crate::router::Op;

fn op(layout: &Layout, name: &str, key: &[u8]) -> Op {
    let mut cmd = Cmd::with_capacity(4, layout.prefix.len() + key.len() + 32);
    cmd.arg(name);
    // This cannot fail: it writes into the command.
    let mut whole = cmd.writer_for_next_arg();
    let _ = whole.write_all(&layout.prefix).and_then(|()| whole.write_all(key));
    drop(whole);
    Op::new(layout.slot(key), cmd)
}

pub(crate) fn put(layout: &Layout, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Op {
    let mut op = op(layout, "SET", key);
    op.cmd.arg(value);
    op.bytes = value.len();
    match write {
        Write::Insert => op.cmd.arg("NX"),
        Write::Replace => op.cmd.arg("XX"),
        Write::Upsert => &mut op.cmd,
    };
    if let Some(ttl) = ttl {
        op.cmd.arg("PX").arg(millis(ttl));
    }
    if write == Write::Upsert { op.certain() } else { op }
}

/// At least one, since none would be an error.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64 / 4)
}

pub(crate) fn delete(layout: &Layout, key: &[u8]) -> Op {
    op(layout, "DEL", key)
}

pub(crate) fn select(layout: &Layout, key: &[u8]) -> Op {
    op(layout, "GET", key)
}

pub(crate) fn contains(layout: &Layout, key: &[u8]) -> Op {
    op(layout, "EXISTS", key)
}

pub(crate) fn increment(layout: &Layout, key: &[u8], by: i64) -> Op {
    let mut op = op(layout, "INCRBY", key);
    op.cmd.arg(by);
    op.certain()
}

pub(crate) fn swap(layout: &Layout, (key, expected, new): Swap<'_>) -> Op {
    let name = if new.is_some() { "swap_one" } else { "unswap_one" };
    let mut cmd = functions::call(name, &[&layout.key(key)]);
    for value in [expected, new] {
        cmd.arg(u8::from(value.is_some())).arg(value.unwrap_or_default());
    }
    let mut op = Op::new(layout.slot(key), cmd);
    op.bytes = expected.map_or(0, <[u8]>::len) + new.map_or(0, <[u8]>::len);
    op
}

pub(crate) fn time_to_live(layout: &Layout, key: &[u8]) -> Op {
    op(layout, "PTTL", key)
}

/// With no time to live the pair stays for ever.
pub(crate) fn expire(layout: &Layout, key: &[u8], ttl: Option<Duration>) -> Op {
    match ttl {
        Some(ttl) => {
            let mut op = op(layout, "PEXPIRE", key);
            op.cmd.arg(millis(ttl));
            op
        }
        None => op(layout, "PERSIST", key),
    }
}

/// Whether a verb took effect.
#[allow(clippy::needless_pass_by_value, reason = "answers are decoded by value")]
pub(crate) fn took_effect(value: Value) -> Result<bool> {
    match value {
        Value::Okay => Ok(true),
        Value::Nil => Ok(false),
        Value::Int(count) => Ok(count > 0),
        _ => Err(Error::unexpected("outcome of a write")),
    }
}

/// A value, if there is one.
pub(crate) fn value(value: Value) -> Result<Option<Vec<u8>>> {
    match value {
        Value::BulkString(bytes) => Ok(Some(bytes)),
        Value::Nil => Ok(None),
        _ => Err(Error::unexpected("value")),
    }
}
