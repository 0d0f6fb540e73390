//! The native half of the Python package `twindex`: its classes, borrowed arguments and batches.
//!
//! No Python code ever runs while the engine holds a lock: what the engine's callbacks do here is make
//! `bytes`, `str` and `int` objects, which neither call back nor collect garbage. Everything else, JSON
//! and callbacks of `alter` among it, happens before or after.

#![allow(clippy::doc_link_with_quotes, reason = "the docs of classes and methods are Python docstrings")]

mod arena;
mod arguments;
mod attached;
mod batch;
mod cli;
mod codec;
mod cursor;
mod error;
mod fork;
mod groups;
mod objects;
mod range;
mod room;
mod scan;
mod store;
mod table;
mod value;

/// The native module behind the package `twindex`.
#[pyo3::pymodule(gil_used = true)]
mod _twindex {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        batch::Batch, cli::_run_command_line, cursor::Cursor, scan::Scan, store::Store, store::open,
        table::Table,
    };

    #[pymodule_export]
    const MAX_KEY_BYTES: usize = twindex::MAX_KEY_BYTES;
    #[pymodule_export]
    const MAX_VALUE_BYTES: u64 = twindex::MAX_VALUE_BYTES;
    #[pymodule_export]
    const MAX_NAME_BYTES: usize = twindex::MAX_NAME_BYTES;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::fork::watch()?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
