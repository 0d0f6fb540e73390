//! The native half of the Python package `twindex_cluster`: keys and values are `bytes` here.
//!
//! A store made by `connect` waits for each call with the interpreter's lock released. One made by `connect_aio` gives
//! awaitables of asyncio. The verbs are the same functions for both.

mod answer;
mod batch;
mod cursor;
mod error;
mod store;
mod table;

use pyo3::prelude::*;

/// The native module behind the package `twindex_cluster`.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<cursor::Cursor>()?;
    module.add_class::<cursor::Pairs>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(store::connect, module)?)
}
