//! Tells the code for which Python it is compiled: `Py_GIL_DISABLED` is one without a global lock.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
