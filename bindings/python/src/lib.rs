//! The native half of the Python package `twindex`: its classes, borrowed arguments and batches.
//!
//! No Python code ever runs while the engine holds a lock: what the engine's callbacks do here is make
//! `bytes`, `str` and `int` objects, which neither call back nor collect garbage. Everything else, JSON
//! and callbacks of `alter` among it, happens before or after.

#![allow(clippy::doc_link_with_quotes, reason = "the docs of classes and methods are Python docstrings")]
#![allow(clippy::needless_pass_by_value, reason = "arguments of Python's calls are extracted by value")]
#![allow(clippy::too_many_arguments, reason = "they are keywords in Python")]

mod allocation;
mod arena;
mod arguments;
mod attached;
mod batch;
mod buffer;
mod cache;
mod changes;
mod codec;
mod coder;
mod columns;
mod cursor;
mod dict;
mod error;
mod files;
mod fork;
mod groups;
mod interrupts;
mod layout;
mod notices;
mod objects;
mod paths;
mod popitem;
mod prelude;
mod progress;
mod range;
mod scan;
mod shared;
mod snapshot;
mod source;
mod store;
mod table;
mod transaction;
mod ttl;
mod value;
mod verbs;
mod views;
mod watch;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The native module behind the package `twindex`.
#[pymodule(gil_used = true)]
fn _twindex(module: &Bound<'_, PyModule>) -> PyResult<()> {
    check_interpreter()?;
    // The first store registers the process for a fence: 10 us while there is one thread, 10 ms later.
    drop(twindex::Store::new());
    fork::watch()?;
    notices::watch();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_KEY_BYTES", twindex::MAX_KEY_BYTES)?;
    module.add("MAX_VALUE_BYTES", twindex::MAX_VALUE_BYTES)?;
    module.add("MAX_NAME_BYTES", twindex::MAX_NAME_BYTES)?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<cache::Cache>()?;
    module.add_class::<cache::computing::Computation>()?;
    module.add_class::<cache::computing::Waiting>()?;
    module.add_class::<changes::Changes>()?;
    module.add_class::<coder::Coder>()?;
    module.add_class::<cursor::Cursor>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<snapshot::SnapshotTable>()?;
    module.add_class::<snapshot::ExpiringSnapshotTable>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::expiring::ExpiringTable>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<transaction::TransactionTable>()?;
    module.add_class::<watch::Watching>()?;
    module.add_function(wrap_pyfunction!(files::_run_command_line, module)?)?;
    module.add_function(wrap_pyfunction!(notices::_end_telling, module)?)?;
    module.add_function(wrap_pyfunction!(files::changes, module)?)?;
    module.add_function(wrap_pyfunction!(files::check, module)?)?;
    module.add_function(wrap_pyfunction!(files::open, module)?)?;
    module.add_function(wrap_pyfunction!(files::recover, module)?)
}

/// Refuses sub-interpreters. Classes and imported objects are kept once for the process, and those of an interpreter that
/// has ended would be of no use to the others.
fn check_interpreter() -> PyResult<()> {
    const MAIN: i64 = 0;
    // SAFETY: this thread runs an interpreter.
    if unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } == MAIN {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "twindex works only in the main interpreter, not in a sub-interpreter: use threads or processes",
    ))
}
