//! Lays the program of docs/wasmtime.md where a test includes it.

use std::path::Path;
use std::{env, fs};

fn main() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wasmtime.md");
    println!("cargo::rerun-if-changed={page}");
    let text = fs::read_to_string(page).expect("the page is there");
    let program = text.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let folder = env::var("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("page.rs"), program.expect("a block of Rust"))
        .expect("it is laid there");
}
