//! The time, which the host gives, and times as it gives them: whole milliseconds, -1 for none, infinite for ever.

#![allow(
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "what is negative is refused before, but for -1"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::failure::{Failed, Failure};

/// The time, in milliseconds since 1970, or 0 if the host has never given one.
static NOW: AtomicU64 = AtomicU64::new(0);
/// Added to the host's clock because it was set back.
static AHEAD: AtomicU64 = AtomicU64::new(0);
/// Going back by less is no setting of a clock.
const JITTER: u64 = 1000;
const LAST: u64 = 1 << 62;

/// The time never goes back: when the host's clock is set back, it goes on from where it was.
pub(crate) fn set(milliseconds: f64) -> Result<(), Failed> {
    let (given, now) = (figure("the time", milliseconds)?.min(LAST), now());
    let time = given + AHEAD.load(Relaxed);
    if time + JITTER < now {
        AHEAD.store(now - given, Relaxed);
    }
    NOW.store(now.max(time), Relaxed);
    Ok(())
}

pub(crate) fn now() -> u64 {
    NOW.load(Relaxed)
}

/// A number that is 0 or more.
#[inline(never)] // one copy, not one in every export
pub(crate) fn figure(what: &'static str, figure: f64) -> Result<u64, Failed> {
    if figure >= 0.0 { Ok(figure as u64) } else { Err(Failure::Figure { what, figure }.into()) }
}

/// A time to live: `None` for -1, `Duration::MAX` for ever.
pub(crate) fn ttl(milliseconds: f64) -> Result<Option<Duration>, Failed> {
    Ok(if milliseconds == -1.0 {
        None
    } else if milliseconds == f64::INFINITY {
        Some(Duration::MAX)
    } else {
        Some(Duration::from_millis(figure("a time", milliseconds)?))
    })
}
