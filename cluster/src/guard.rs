//! For the bindings: calls whose panics become errors, since no panic may cross a language's border.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

use crate::error::{Error, Result};

/// Does a call that may wait. Locks under which it panics leave nothing half done.
#[doc(hidden)]
pub async fn guarded<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|panic| Err(internal(&*panic)))
}

/// Does a call that does not wait.
#[doc(hidden)]
pub fn guarded_now<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(internal(&*panic)))
}

fn internal(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Error::Bug { what: text.unwrap_or("a panic without a message").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panics_become_errors() {
        let index = std::hint::black_box(7);
        let error = guarded_now(|| Ok([1, 2][index])).expect_err("a panic");
        assert_eq!(error.code(), "TWINDEX_BUG");
        assert!(error.to_string().contains("index is 7"), "{error}");
        let error = guarded::<u8>(async { panic!("what {index}") }).await.expect_err("a panic");
        assert!(error.to_string().contains("what 7"), "{error}");
    }
}
