//! The core module under wasmtime, through its exports alone.

mod exports;
mod guest;
mod hostile;
mod memory;
mod model;
mod surface;
mod vectors;
