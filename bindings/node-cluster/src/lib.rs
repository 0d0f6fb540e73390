//! The native half of the Node package `@twindex/cluster`: keys and values are bytes here, and every call a promise.

#![allow(missing_docs, reason = "the macro's functions are documented where they are seen, in index.d.ts")]
#![allow(unreachable_pub, reason = "Node sees them, and no crate does")]
#![allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
#![cfg_attr(test, allow(dead_code, reason = "in tests nothing is registered with Node"))]

mod answer;
mod batch;
mod cursor;
mod inbox;
mod store;
mod table;

/// One thread speaks to the servers: a call then wakes no second one on its way.
#[napi_derive::module_init]
fn set_up() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    // Without a thread the default is tried, and fails loudly.
    if let Ok(runtime) = runtime {
        napi::bindgen_prelude::create_custom_tokio_runtime(runtime);
    }
}
