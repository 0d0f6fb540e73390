//! The vectors of all hosts, on a store of the engine.

use twindex_conformance::{InMemory, cases};

#[test]
fn every_vector_holds() {
    // Large values take Miri for ever.
    for case in cases().iter().filter(|case| !cfg!(miri) || case.is_small()) {
        case.run(&mut InMemory::default());
    }
}
