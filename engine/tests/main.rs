//! The engine's tests in one program, which compiles and links far quicker than one of each file.

mod batches;
mod contract;

mod memory;
mod model;
mod shared_values;
mod snapshots;
mod streams;
mod transactions;
mod vectors;
mod verbs;

#[path = "common/history.rs"]
mod history;
#[path = "common/scale.rs"]
mod scale;
#[path = "common/sound.rs"]
mod sound;
#[path = "common/strategies.rs"]
mod strategies;
