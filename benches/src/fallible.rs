//! The errors of hosts and tests.

/// What a host or a test returns: any error will do, it is only shown.
pub type Fallible<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
