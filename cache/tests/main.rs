//! The promises of a cache.

mod faults;
mod model;
mod saving;
mod threads;
mod times;
mod vectors;
