//! The tests of dumps in one program.

mod dump;
mod verdicts;

#[path = "common/dump_writer.rs"]
mod dump_writer;
#[path = "common/nonsense.rs"]
mod nonsense;
#[path = "../../engine/tests/common/scale.rs"]
mod scale;
