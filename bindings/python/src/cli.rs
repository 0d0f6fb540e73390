//! The command-line tool.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs `twindex` with these arguments, the program's name first: the exit code.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn _run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| twindex_cli::run(arguments))
}
