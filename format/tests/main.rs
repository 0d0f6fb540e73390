//! The tests of dumps and of saved caches in one program.

mod dump;
mod saved_cache;
mod verdicts;

#[path = "common/dump_writer.rs"]
mod dump_writer;
#[path = "../../engine/tests/common/scale.rs"]
mod scale;
