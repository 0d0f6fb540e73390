//! Lets the module be loaded by Node.

fn main() {
    napi_build::setup();
}
