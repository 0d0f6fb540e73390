//! Bytes that are a dump of a store, nearly one, or none: they are loaded or refused, and what is loaded can be dumped.
//!
//! Random bytes never pass a checksum, so most inputs are blocks that are given theirs here.

#![no_main]

#[path = "../../tests/common/dump_writer.rs"]
mod dump_writer;

#[path = "common/load.rs"]
mod common;

use dump_writer::{Record, counted_table, dump, end, lengths, pair, pairs, table_with_id};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input {
    Bytes(Vec<u8>),
    Begun(Vec<u8>),
    Blocks(Vec<Block>),
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
        }
    }
}

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Bytes(bytes) => bytes,
        Input::Begun(bytes) => [dump(&[]), bytes].concat(),
        Input::Blocks(blocks) => dump(&blocks.into_iter().map(Block::record).collect::<Vec<_>>()),
    };
    common::load(&bytes);
});
