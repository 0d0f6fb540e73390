//! Each thread on keys of its own, checked against its own model while the others write.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use proptest::prelude::*;
use twindex::{IndexKind, Store};

use crate::history::{Checked, Op};
use crate::{BOTH, Sound, join, strategies};

proptest! {
    #![proptest_config(strategies::config(24))]

    #[test]
    fn threads_on_their_own_keys_do_not_meet(
        index in prop::sample::select(&BOTH[..]),
        histories in OWN.map(strategies::history),
    ) {
        check(index, &histories);
    }
}

/// What the keys of each thread start with.
const OWN: [&[u8]; 3] = [b"a", b"b", b"\xff"];

fn check(index: IndexKind, histories: &[Vec<Op>; 3]) {
    let store = Store::new();
    let table = Sound(store.table("t", index).expect("a new table"));
    let start = Barrier::new(OWN.len());
    let run = |own, history: &[Op]| {
        let mut checked = Checked::new(store.clone(), table.clone(), own);
        start.wait();
        for op in history {
            checked.run(op);
        }
        checked.finish()
    };
    let models: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let work = OWN.into_iter().zip(histories);
        let threads: Vec<_> = work.map(|(own, history)| scope.spawn(move || run(own, history))).collect();
        threads.into_iter().map(join).collect()
    });
    let merged: BTreeMap<_, _> = models.into_iter().flatten().collect();
    assert_eq!(table.len(), merged.len());
    assert!(table.iter().collect::<BTreeMap<_, _>>() == merged);
}
