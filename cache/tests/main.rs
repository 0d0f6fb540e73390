//! The promises of a cache.

mod faults;
mod model;
mod saving;
mod sealed;
mod threads;
mod times;
mod vectors;
mod work;
