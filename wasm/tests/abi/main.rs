//! The core module under wasmtime, through its exports alone.

mod caches;
mod guest;
mod hostile;
#[cfg(target_os = "linux")]
#[expect(dead_code, reason = "the bench needs a process without huge pages")]
mod huge_pages;
mod memory;
mod snapshots;
mod surface;
