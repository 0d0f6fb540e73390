//! Bytes that are a dump of a store or of a cache, nearly one, or none: they are loaded or refused, and what is loaded can be dumped.
//!
//! Random bytes never pass a checksum, so most inputs are blocks that are given theirs here.

#![no_main]

#[path = "../../tests/common/dump_writer.rs"]
mod dump_writer;

#[path = "common/load_cache.rs"]
mod caches;
#[path = "common/load.rs"]
mod common;

use dump_writer::{
    Record, counted_table, dump, end, entry, file_of_version, lengths, pair, pairs, table_with_id, varint,
};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// A pair of a cache: its key, its value, when it expires, and its rank in the lowest bits.
type Saved = (Vec<u8>, Vec<u8>, Option<u16>, u8);

#[derive(Arbitrary, Debug)]
enum Input {
    Bytes(Vec<u8>),
    Begun(Vec<u8>),
    Blocks(Vec<Block>),
    Cache(Sizes, Vec<Block>),
}

/// What a cache was made with, and when it was saved.
#[derive(Arbitrary, Debug)]
struct Sizes(u8, [u64; 2], u64, u64);

impl Sizes {
    fn record(self) -> Record {
        let Self(id, [bytes, pairs], ttl, saved) = self;
        let numbers = [bytes | 1 << 20, pairs, ttl, saved % 2_000].map(u64::to_le_bytes);
        let entry = entry(0, b"str", b"bytes", b"c");
        (1, [varint(u64::from(id / 250)), varint(0), numbers.concat(), entry].concat())
    }
}

#[derive(Arbitrary, Debug)]
enum Block {
    Table(u8, u8, Vec<u8>),
    Counted(u8, u8, u64, Vec<u8>),
    Pairs(Vec<Token>),
    /// A pair whose lengths are of no concern to what follows them.
    Lengths([u64; 3], Vec<u8>),
    Any(u8, Vec<u8>),
    End(u8),
    /// Pairs of a cache: with their times, ranks and other bits.
    Cached(Vec<Saved>),
}

#[derive(Arbitrary, Debug)]
enum Token {
    New(u8, Vec<u8>, Vec<u8>),
    /// One that refers to pairs before, mostly near ones, and what may belong to that.
    Again(u8, Vec<u8>),
    Any(u8, Vec<u8>),
}

impl Token {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::New(shared, rest, value) => pair(u64::from(shared % 4), rest, value),
            Self::Again(token, more) => [&[0x80 | token & 0x5f], more.as_slice()].concat(),
            Self::Any(token, more) => [&[*token], more.as_slice()].concat(),
        }
    }
}

impl Block {
    fn record(self) -> Record {
        match self {
            Self::Table(id, index, name) => table_with_id(u64::from(id % 3), index % 3, &name),
            Self::Counted(id, index, count, name) => {
                counted_table(u64::from(id % 3), index % 2, count, &name)
            }
            Self::Pairs(list) => pairs(&list.iter().map(Token::bytes).collect::<Vec<_>>()),
            Self::Lengths([shared, key, value], rest) => pairs(&[lengths(shared, key, value), rest]),
            Self::Any(kind, payload) => (kind, payload),
            Self::End(pairs) => end(u64::from(pairs)),
            Self::Cached(list) => {
                let one = |(key, value, expires, bits): &(Vec<u8>, Vec<u8>, Option<u16>, u8)| {
                    let mut stored = value.clone();
                    stored.extend(expires.iter().flat_map(|at| u64::from(at % 4_000).to_le_bytes()));
                    stored.push(if *bits > 250 {
                        *bits
                    } else {
                        (bits % 4) | (u8::from(expires.is_some()) << 2)
                    });
                    pair(0, key, &stored)
                };
                pairs(&list.iter().map(one).collect::<Vec<_>>())
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Bytes(bytes) => bytes,
        Input::Begun(bytes) => [dump(&[]), bytes].concat(),
        Input::Cache(sizes, blocks) => {
            let records = [vec![sizes.record()], blocks.into_iter().map(Block::record).collect()].concat();
            return caches::load_cache(&file_of_version(2, 0, &records));
        }
        Input::Blocks(blocks) => dump(&blocks.into_iter().map(Block::record).collect::<Vec<_>>()),
    };
    common::load(&bytes);
    caches::load_cache(&bytes);
});
