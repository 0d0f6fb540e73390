//! Any history of operations, on a table and on a `BTreeMap` at once: that of the property tests, made of the fuzzer's bytes.

#![no_main]

#[path = "../../../engine/tests/common/history.rs"]
mod history;
#[allow(dead_code, reason = "the number of cases is the fuzzer's")]
#[path = "../../../engine/tests/common/scale.rs"]
mod scale;
#[path = "../../../engine/tests/common/sound.rs"]
mod sound;
#[allow(dead_code, reason = "as above")]
#[path = "../../../engine/tests/common/strategies.rs"]
mod strategies;

use history::Checked;
use libfuzzer_sys::fuzz_target;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use twindex::{IndexKind, Store};

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let index = if first % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted };
    let random = TestRng::from_seed(RngAlgorithm::PassThrough, bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let Ok(operations) = strategies::history(b"").new_tree(&mut runner) else { return };
    let store = Store::new();
    let table = store.table("t", index).expect("a new table");
    let mut checked = Checked::new(store, table, b"");
    operations.current().iter().for_each(|operation| checked.run(operation));
    checked.finish();
});
