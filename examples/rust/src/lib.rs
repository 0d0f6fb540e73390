//! The examples of the Rust guide and of the crates' first pages, which the tests of this crate run.

/// A module for each page, so that a failure names it.
macro_rules! pages {
    ($($name:ident $path:literal)*) => {$(
        #[cfg(doctest)]
        #[doc = include_str!($path)]
        mod $name {}
    )*};
}

pages! {
    tutorial "../../../docs/rust/tutorial.md"
    migrate "../../../docs/rust/migrate.md"
    files "../../../docs/files.md"
    follow "../../../docs/follow.md"
    transactions "../../../docs/transactions.md"
    cache "../../../docs/cache.md"
    expiring "../../../docs/expiring.md"
    engine "../../../engine/README.md"
    codec "../../../codec/README.md"
    durable "../../../durable/README.md"
    format "../../../format/README.md"
    cluster "../../../cluster/README.md"
}
