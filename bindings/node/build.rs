//! Tells the linker that Node itself provides the `napi_*` symbols.
fn main() {
    napi_build::setup();
}
