//! Bytes that are a saved cache, nearly one, or none: they are loaded or refused, and what is loaded can be saved.
//!
//! Random bytes never pass a checksum, so most inputs are blocks that are given theirs here.

#![no_main]

#[path = "../../../cache/tests/sealed.rs"]
mod sealed;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// A pair: key, value, queue and uses, milliseconds left.
type Pair = (Vec<u8>, Vec<u8>, u8, u64);

#[derive(Arbitrary, Debug)]
enum Input {
    Bytes(Vec<u8>),
    Blocks([u64; 6], Vec<u8>, Vec<Vec<u8>>, u64),
    Pairs([u64; 6], Vec<Vec<Pair>>),
}

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Bytes(bytes) => bytes,
        Input::Blocks(numbers, label, blocks, count) => sealed::file(numbers, &label, &blocks, count),
        Input::Pairs(numbers, blocks) => {
            let count = blocks.iter().map(Vec::len).sum::<usize>() as u64;
            let block = |pairs: Vec<Pair>| {
                let one = |(key, value, uses, left): (Vec<u8>, Vec<u8>, _, _)| {
                    sealed::pair(&key, &value, uses, left)
                };
                pairs.into_iter().flat_map(one).collect()
            };
            sealed::file(numbers, b"", &blocks.into_iter().map(block).collect::<Vec<_>>(), count)
        }
    };
    sealed::load(&bytes);
});
