//! The vectors of all hosts, and random work beside the engine.

use std::ops::Bound;

use proptest::prelude::*;
use twindex_conformance::{Answer, Fallible, Host, InMemory, Range, Verb, cases};

use crate::host::InModule;

#[test]
fn every_vector_holds() {
    for case in cases() {
        case.run(&mut InModule::new());
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Verb(Verb),
    /// Moves the cursor, by a block of pairs where `at_once`.
    Step {
        down: bool,
        count: usize,
        at_once: bool,
    },
    Reload,
}

/// Few enough that operations meet.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 0..4),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => (-3_i64..4).prop_map(|number| number.to_string().into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..100_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ]
}

pub(crate) fn verb() -> impl Strategy<Value = Verb> {
    let pairs = || prop::collection::vec((key(), value()), 0..20);
    let keys = || prop::collection::vec(key(), 0..20);
    let bound = || {
        prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded)]
    };
    let range = || (bound(), bound()).prop_map(|(lower, upper)| Range::Between(lower, upper));
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| Verb::Insert(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Verb::Replace(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Verb::Upsert(key, value)),
        2 => key().prop_map(Verb::Delete),
        1 => (key(), any::<i64>()).prop_map(|(key, by)| Verb::Increment(key, by)),
        1 => (key(), prop::option::of(value()), prop::option::of(value()))
            .prop_map(|(key, expected, new)| Verb::CompareAndSwap(key, expected, new)),
        1 => pairs().prop_map(Verb::UpsertMany),
        1 => keys().prop_map(Verb::DeleteMany),
        1 => keys().prop_map(Verb::SelectMany),
        2 => (range(), any::<bool>(), 0..20_usize)
            .prop_map(|(range, reverse, limit)| Verb::Scan { range, reverse, limit: Some(limit) }),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        16 => verb().prop_map(Operation::Verb),
        4 => (any::<bool>(), 1..30_usize, prop::bool::weighted(0.2))
            .prop_map(|(down, count, at_once)| Operation::Step { down, count, at_once }),
        1 => Just(Operation::Reload),
    ]
}

/// What each operation gives: an answer, or the code of an error.
fn run<H: Host>(mut host: H, index: &str, operations: &[Operation]) -> Vec<Result<Answer, String>> {
    let whole = || Range::Between(Bound::Unbounded, Bound::Unbounded);
    let mut table = host.table("t", index).expect("a table");
    let mut cursor = host.cursor(&mut table, whole()).ok();
    let mut given = Vec::new();
    let mut give = |outcome: Fallible<Answer>| given.push(outcome.map_err(|failure| failure.code));
    for operation in operations {
        match operation {
            Operation::Verb(verb) => give(host.run(&mut table, verb.clone())),
            Operation::Step { down, count, at_once } => {
                let Some(cursor) = &mut cursor else { continue };
                if *at_once {
                    give(host.next_many(cursor, *down, *count).map(Answer::from));
                } else {
                    (0..*count).for_each(|_| give(host.next(cursor, *down).map(Answer::from)));
                }
            }
            Operation::Reload => {
                host.reload().expect("a dump");
                table = host.table("t", index).expect("the table");
                cursor = host.cursor(&mut table, whole()).ok();
            }
        }
    }
    give(host.run(&mut table, Verb::Iter).map(Answer::sorted));
    give(host.run(&mut table, Verb::Len));
    given
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_work_gives_what_it_gives_in_the_engine(
        index in prop::sample::select(vec!["hash", "sorted"]),
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let in_module = run(InModule::new(), index, &operations);
        let in_engine = run(InMemory::default(), index, &operations);
        prop_assert_eq!(in_module.len(), in_engine.len());
        for (module, engine) in in_module.iter().zip(&in_engine) {
            prop_assert!(module == engine, "{:.2000}\n{:.2000}", format!("{module:?}"), format!("{engine:?}"));
        }
    }
}
