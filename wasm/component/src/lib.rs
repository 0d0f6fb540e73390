//! Twindex as a WebAssembly component: `twindex:engine`, and `wasi:keyvalue` over it. It imports nothing.

mod caches;
mod keyvalue;
mod stores;

#[expect(clippy::pedantic, reason = "written by a generator")]
mod bindings {
    wit_bindgen::generate!({ world: "twindex", path: "wit", generate_all });
    export!(Component);

    use super::Component;
}

/// What exports the interfaces.
struct Component;
