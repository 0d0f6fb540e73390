//! Stores on a simulated disk.

mod faults;
mod following;
mod notices;
mod pace;
mod threads;
