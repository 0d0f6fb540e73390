//! The tests of stores in files that need no process of their own.

mod common;
mod ends;

mod attacks;
mod batch;
mod cache;
mod expiring;
mod follow;
mod golden;
mod save;
mod snapshot;
mod store;
mod typed;
mod vectors;
mod verify;
mod watch;
