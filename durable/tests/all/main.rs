//! The tests of stores in files that need no process of their own.

mod common;

mod attacks;
mod batch;
mod follow;
mod save;
mod store;
mod verify;
