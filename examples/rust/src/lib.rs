//! The examples of the Rust guide, which the tests of this crate run.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/tutorial.md")]
mod tutorial {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/files.md")]
mod files {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/migrate.md")]
mod migrate {}
