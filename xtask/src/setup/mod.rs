//! Sets up what is missing.

mod node;
mod python;
mod rust;
mod tools;

pub(crate) use node::{Runtime, npm, npm_ci};
pub(crate) use python::{Interpreter, Venv};
pub(crate) use rust::{Instrument, fuzzer, require_wasm};
pub(crate) use tools::{missing, need, output, require};
