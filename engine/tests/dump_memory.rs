//! A false length in a dump must not claim memory. In a file of its own, since it counts what the whole
//! process allocates.

#[path = "common/dump_writer.rs"]
mod dump_writer;

use std::io::Read;

use dump_writer::{end, header, pair, pairs, table, varint};
use peak_alloc::PeakAlloc;
use twindex::{Error, Store};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What the reader may claim beside what is really there.
const ALLOWANCE: usize = 1 << 20;

#[test]
fn false_lengths_claim_no_memory() {
    let begin = [header(1), table(0, b"t")].concat();
    let whole = [begin.clone(), pairs(&[pair(0, b"a", b"1")]), end(1)].concat();
    assert!(Store::load(&mut whole.as_slice()).is_ok(), "the dumps below are wrong in their lengths alone");
    for length in [1 << 20, 1 << 24, 1 << 31, 1 << 32, 1 << 40, u64::MAX >> 1, u64::MAX] {
        for kind in 1..=3 {
            let head = [[kind].as_slice(), &length.to_le_bytes(), b"a few bytes"].concat();
            check(&[begin.as_slice(), &head].concat());
        }
        let [no, one] = [varint(0), varint(1)];
        let lengths = [
            [varint(length), one.clone(), no.clone()],
            [no.clone(), varint(length), no.clone()],
            [no, one, varint(length)],
        ];
        for pair in lengths {
            check(&[begin.clone(), pairs(&[pair.concat(), b"ab".to_vec()])].concat());
        }
    }
}

fn check(bytes: &[u8]) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let found = Store::load(&mut bytes.take(u64::MAX));
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
    let claimed = ALLOCATOR.peak_usage() - before;
    assert!(claimed < ALLOWANCE + 20 * bytes.len(), "{claimed} bytes were claimed for {}", bytes.len());
}
