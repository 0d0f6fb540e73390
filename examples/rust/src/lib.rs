//! The examples of the Rust guide and of the crates' first pages, which the tests of this crate run.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/tutorial.md")]
mod tutorial {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/files.md")]
mod files {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/follow.md")]
mod follow {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust/migrate.md")]
mod migrate {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/transactions.md")]
mod transactions {}

#[cfg(doctest)]
#[doc = include_str!("../../../engine/README.md")]
mod engine {}

#[cfg(doctest)]
#[doc = include_str!("../../../codec/README.md")]
mod codec {}

#[cfg(doctest)]
#[doc = include_str!("../../../durable/README.md")]
mod durable {}

#[cfg(doctest)]
#[doc = include_str!("../../../cluster/README.md")]
mod cluster {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/cache.md")]
mod cache {}
