//! The verbs of a sorted table as commands: each partition is a HASH of pairs and a ZSET of their keys, which a function
//! writes together.

use std::ops::Range;

use redis::{Cmd, Value};

use crate::error::{Error, Result};
use crate::functions;
use crate::names::Layout;
use crate::pairs::Pairs;
use crate::router::{Op, Reply};

/// How many items one call of a function gets at most, and how many bytes about.
const ITEMS: usize = 500;
const BYTES: usize = 1 << 20;

/// One command for several items of one partition, and the items' places among all.
pub(crate) struct Chunk {
    pub(crate) op: Op,
    pub(crate) places: Vec<usize>,
}

/// Splits items by partition, and makes one command of those that go together.
///
/// `begin` begins a command, `add` adds an item to it and tells how many bytes that took.
pub(crate) fn chunks<T>(
    layout: &Layout,
    items: &[T],
    key: impl Fn(&T) -> &[u8],
    begin: impl Fn(&[u8], &[u8]) -> Cmd,
    add: impl Fn(&mut Cmd, &T) -> usize,
) -> Vec<Chunk> {
    let mut by_partition: Vec<Vec<usize>> = layout.partitions.iter().map(|_| Vec::new()).collect();
    for (place, item) in items.iter().enumerate() {
        by_partition[layout.partition(key(item))].push(place);
    }
    let mut chunks = Vec::new();
    for (partition, places) in layout.partitions.iter().zip(by_partition) {
        let mut rest = places.into_iter().peekable();
        while rest.peek().is_some() {
            let mut cmd = begin(&partition.pairs, &partition.order);
            let (mut taken, mut bytes) = (Vec::new(), 0);
            while taken.len() < ITEMS && bytes < BYTES {
                let Some(place) = rest.next() else { break };
                bytes += add(&mut cmd, &items[place]);
                taken.push(place);
            }
            chunks.push(Chunk { op: Op { slot: partition.slot, cmd }, places: taken });
        }
    }
    chunks
}

/// Begins a call of a function that gets both keys of a partition.
pub(crate) fn function(name: &str) -> impl Fn(&[u8], &[u8]) -> Cmd {
    move |pairs, order| functions::call(name, &[pairs, order])
}

/// Begins a command on the HASH of a partition.
pub(crate) fn command(name: &str) -> impl Fn(&[u8], &[u8]) -> Cmd {
    move |pairs, _| {
        let mut cmd = Cmd::new();
        cmd.arg(name).arg(pairs);
        cmd
    }
}

/// Puts the answers to chunks back in the order of the items.
pub(crate) fn gather<T>(
    count: usize,
    places: Vec<Vec<usize>>,
    replies: Vec<Reply>,
    decode: impl Fn(Value) -> Result<T>,
) -> Result<Vec<T>> {
    let mut gathered: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for (places, reply) in places.into_iter().zip(replies) {
        let Value::Array(answers) = reply.accepted()? else { return Err(Error::unexpected("list")) };
        for (place, answer) in places.into_iter().zip(answers) {
            gathered[place] = Some(decode(answer)?);
        }
    }
    gathered.into_iter().map(|item| item.ok_or_else(|| Error::unexpected("answer for every item"))).collect()
}

/// The number of pairs in each partition.
pub(crate) fn lengths(layout: &Layout) -> Vec<Op> {
    let length = |partition: &crate::names::Partition| {
        let mut cmd = redis::cmd("HLEN");
        cmd.arg(&partition.pairs[..]);
        Op { slot: partition.slot, cmd }
    };
    layout.partitions.iter().map(length).collect()
}

/// Up to `count` pairs of a partition between two bounds, as `ZRANGE` names them.
pub(crate) fn page(layout: &Layout, partition: usize, bounds: [&[u8]; 2], down: bool, count: usize) -> Op {
    let partition = &layout.partitions[partition];
    let mut cmd = functions::call("page", &[&partition.pairs, &partition.order]);
    cmd.arg(bounds[0]).arg(bounds[1]).arg(u8::from(down)).arg(count);
    Op { slot: partition.slot, cmd }
}

/// The pairs of a page.
pub(crate) fn pairs(value: Value) -> Result<Pairs> {
    let wrong = || Error::unexpected("page of pairs");
    let Value::Array(halves) = value else { return Err(wrong()) };
    let [Value::Array(keys), Value::Array(values)] = <[Value; 2]>::try_from(halves).map_err(|_| wrong())?
    else {
        return Err(wrong());
    };
    let pair = |pair| match pair {
        (Value::BulkString(key), Value::BulkString(value)) => Ok((key, value)),
        _ => Err(wrong()),
    };
    keys.into_iter().zip(values).map(pair).collect()
}

/// All partitions.
pub(crate) fn all(layout: &Layout) -> Range<usize> {
    0..layout.partitions.len()
}
