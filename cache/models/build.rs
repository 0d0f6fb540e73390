//! Sets how the cache is compiled here.

fn main() {
    for name in ["twindex_shuttle", "twindex_tiny", "twindex_plain_fences"] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        println!("cargo::rustc-cfg={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
