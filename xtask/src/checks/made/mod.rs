//! What is built once and used by several rooms.

pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod wasm;
