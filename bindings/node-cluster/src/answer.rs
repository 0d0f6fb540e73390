//! How a call takes its arguments and gives its result.

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, ToNapiValue, Uint8Array};
use napi::{Error, Result, Status};
use twindex_cluster::Pair;

/// Begins a call: a promise of what it gives.
pub(crate) fn answer<T: ToNapiValue + Send + 'static>(
    env: &Env,
    call: impl Future<Output = twindex_cluster::Result<T>> + Send + 'static,
) -> Result<PromiseRaw<'_, T>> {
    env.spawn_future(async move { call.await.map_err(|error| refused(&error)) })
}

/// An error, its code before its message: JavaScript makes one of its own of them.
pub(crate) fn refused(error: &twindex_cluster::Error) -> Error {
    Error::new(Status::GenericFailure, format!("{}\n{error}", error.code()))
}

/// Copies, since the caller may write to its arrays while the call is under way.
pub(crate) fn owned(items: Vec<Uint8Array>) -> Vec<Vec<u8>> {
    items.iter().map(|item| item.to_vec()).collect()
}

/// A time that JavaScript gave.
pub(crate) fn millis(time: f64) -> Duration {
    Duration::try_from_secs_f64(time / 1000.0).unwrap_or(Duration::MAX)
}

/// Keys and values in turn.
pub(crate) fn flat(pairs: Vec<Pair>) -> Vec<Buffer> {
    pairs.into_iter().flat_map(|(key, value)| [key.into(), value.into()]).collect()
}
