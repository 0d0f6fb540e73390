//! Sets up what is missing.

mod node;
mod python;
mod rust;
mod tools;

pub(crate) use node::{Runtime, npm, npm_ci, npm_ci_unbuilt};
pub(crate) use python::{Interpreter, Venv};
pub(crate) use rust::{COMPONENTS, Sanitizer, WASI, fuzzer, miri, require_wasi, require_wasm};
pub(crate) use tools::{Tool, need, output, require};
