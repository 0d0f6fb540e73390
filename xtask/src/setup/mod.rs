//! Sets up what is missing.

mod instruments;
mod node;
mod python;
mod runtimes;
mod tools;
mod wasm_target;

pub(crate) use instruments::{Fuzzer, Miri, Sanitizer};
pub(crate) use node::{npm, npm_ci, npm_ci_unbuilt};
pub(crate) use python::{Interpreter, Venv};
pub(crate) use runtimes::Runtime;
pub(crate) use tools::{Tool, output, require, works};
pub(crate) use wasm_target::{WasmTarget, require_wasi};
