//! How a call takes its arguments and gives its result.

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, ToNapiValue, Uint8Array, Uint32Array, spawn};
use napi::{Error, Result, Status};
use serde_json::json;
use twindex_cluster::{Answer, Pair, guarded, guarded_now};

use crate::inbox::Inbox;

/// Begins a call: a promise of what it gives. A panic is an error here and below, since none may reach Node.
pub(crate) fn answer<T: ToNapiValue + Send + 'static>(
    env: &Env,
    call: impl Future<Output = twindex_cluster::Result<T>> + Send + 'static,
) -> Result<PromiseRaw<'_, T>> {
    let inbox = Inbox::of(*env)?;
    let (promise, value) = inbox.promise(env)?;
    spawn(async move {
        let done = guarded(call).await;
        let make = move |env| match done {
            // SAFETY: this is the thread of `env`, in a call of its loop.
            Ok(done) => unsafe { T::to_napi_value(env, done) },
            Err(error) => Err(refused(&error)),
        };
        inbox.push(promise, Box::new(make));
    });
    Ok(PromiseRaw::new(env.raw(), value))
}

/// Does a call that waits for nothing.
pub(crate) fn now<T>(call: impl FnOnce() -> twindex_cluster::Result<T>) -> Result<T> {
    guarded_now(call).map_err(|error| refused(&error))
}

/// An error, its code before its message and the outcomes of items behind it: JavaScript makes one of its own of them.
fn refused(error: &twindex_cluster::Error) -> Error {
    let mut text = format!("{}\n{error}", error.code());
    if let twindex_cluster::Error::PartlyDone { outcomes } = error {
        let outcome = |one: &twindex_cluster::Result<Answer>| match one {
            Ok(Answer::Took(took)) => json!(took),
            Ok(Answer::Sum(sum)) => json!(sum.to_string()),
            Err(error) => json!([error.code(), error.to_string()]),
        };
        let outcomes: Vec<_> = outcomes.iter().map(outcome).collect();
        text = format!("{text}\n{}", json!(outcomes));
    }
    Error::new(Status::GenericFailure, text)
}

/// Copies, since the caller may write to its arrays while the call is under way.
pub(crate) fn owned(items: Vec<Uint8Array>) -> Vec<Vec<u8>> {
    items.iter().map(|item| item.to_vec()).collect()
}

/// A time that JavaScript gave.
pub(crate) fn millis(time: f64) -> Duration {
    Duration::try_from_secs_f64(time / 1000.0).unwrap_or(Duration::MAX)
}

/// The bytes of keys and values in turn, and how many each has.
pub(crate) type Block = (Buffer, Uint32Array);

/// One object for all: to make one takes a microsecond.
pub(crate) fn block(pairs: &[Pair]) -> Block {
    let items = || pairs.iter().flat_map(|(key, value)| [key, value]);
    let mut bytes = Vec::with_capacity(items().map(Vec::len).sum());
    items().for_each(|item| bytes.extend_from_slice(item));
    // No key or value has 4 GiB.
    let lengths: Vec<u32> = items().map(|item| item.len() as u32).collect();
    (bytes.into(), Uint32Array::new(lengths))
}
