//! The verbs of a sorted table as commands: each partition is a HASH of pairs and a ZSET of their keys, which a function
//! writes together.

use std::sync::atomic::Ordering::Relaxed;

use redis::{Cmd, Value};

use crate::error::{Error, Result};
use crate::functions;
use crate::names::Layout;
use crate::pairs::Pairs;
use crate::router::{Op, Reply};

/// How many items one call of a function gets at most, and how many bytes about.
const ITEMS: usize = 500;
const BYTES: usize = 1 << 20;

/// How many values of unknown length one command reads at most.
const READS: usize = 100;

/// Commands, each for several items of one partition, and the items' places among all.
pub(crate) type Chunks = (Vec<Op>, Vec<Vec<usize>>);

/// Splits items by partition, and makes one command of those that go together.
///
/// Each command calls this function; `add` adds an item to it and tells how many bytes that took.
pub(crate) fn chunks<T>(
    layout: &Layout,
    items: &[T],
    key: impl Fn(&T) -> &[u8],
    function: &str,
    add: impl Fn(&mut Cmd, &T) -> usize,
) -> Chunks {
    let begin = |pairs: &[u8], order: &[u8]| functions::call(function, &[pairs, order]);
    chunks_of(ITEMS, layout, items, key, begin, add)
}

/// The same for a command on the HASH of each partition that reads.
pub(crate) fn reads(layout: &Layout, keys: &[&[u8]], name: &str) -> Chunks {
    let add = |cmd: &mut Cmd, key: &&[u8]| {
        cmd.arg(*key);
        key.len()
    };
    let begin = |pairs: &[u8], _: &[u8]| {
        let mut cmd = Cmd::new();
        cmd.arg(name).arg(pairs);
        cmd
    };
    chunks_of(READS, layout, keys, |key| key, begin, add)
}

fn chunks_of<T>(
    most: usize,
    layout: &Layout,
    items: &[T],
    key: impl Fn(&T) -> &[u8],
    begin: impl Fn(&[u8], &[u8]) -> Cmd,
    add: impl Fn(&mut Cmd, &T) -> usize,
) -> Chunks {
    let mut by_partition: Vec<Vec<usize>> = layout.partitions.iter().map(|_| Vec::new()).collect();
    for (place, item) in items.iter().enumerate() {
        by_partition[layout.partition(key(item))].push(place);
    }
    let mut chunks = Chunks::default();
    for (partition, places) in layout.partitions.iter().zip(by_partition) {
        let mut rest = places.into_iter().peekable();
        while rest.peek().is_some() {
            let mut cmd = begin(&partition.pairs, &partition.order);
            let (mut taken, mut bytes) = (Vec::new(), 0);
            while taken.len() < most && bytes < BYTES {
                let Some(place) = rest.next() else { break };
                bytes += add(&mut cmd, &items[place]);
                taken.push(place);
            }
            let mut op = Op::new(partition.slot, cmd);
            op.bytes = bytes;
            chunks.0.push(op);
            chunks.1.push(taken);
        }
    }
    chunks
}

/// What became of each item of some chunks, in the order of the items.
pub(crate) fn gather<T>(
    count: usize,
    places: Vec<Vec<usize>>,
    outcomes: Vec<Result<Reply>>,
    decode: impl Fn(Value) -> Result<T>,
) -> Vec<Result<T>> {
    let mut gathered: Vec<Option<Result<T>>> = (0..count).map(|_| None).collect();
    for (places, outcome) in places.into_iter().zip(outcomes) {
        match outcome.and_then(Reply::items) {
            Ok(answers) => {
                for (place, answer) in places.into_iter().zip(answers) {
                    gathered[place] = Some(answer.and_then(&decode));
                }
            }
            Err(error) => places.into_iter().for_each(|place| gathered[place] = Some(Err(error.again()))),
        }
    }
    let none = || Err(Error::unexpected("answer for every item"));
    gathered.into_iter().map(|item| item.unwrap_or_else(none)).collect()
}

/// The number of pairs in each partition.
pub(crate) fn lengths(layout: &Layout) -> Vec<Op> {
    let length = |partition: &crate::names::Partition| {
        let mut cmd = redis::cmd("HLEN");
        cmd.arg(&partition.pairs[..]);
        Op::new(partition.slot, cmd)
    };
    layout.partitions.iter().map(length).collect()
}

/// Up to `count` pairs of a partition between two bounds, as `ZRANGE` names them, and of about so many bytes.
///
/// As many values are read in one step as probably fit. That costs the server no more than a page without a limit.
pub(crate) fn page(
    layout: &Layout,
    partition: usize,
    bounds: [&[u8]; 2],
    down: bool,
    (count, bytes): (usize, usize),
) -> Op {
    let group = bytes.checked_div(layout.pair_bytes.load(Relaxed)).unwrap_or(1).max(1);
    let partition = &layout.partitions[partition];
    let mut cmd = functions::call("page", &[&partition.pairs, &partition.order]);
    cmd.arg(bounds[0]).arg(bounds[1]).arg(u8::from(down)).arg(count).arg(bytes).arg(group);
    Op::new(partition.slot, cmd)
}

/// Makes the order of a partition anew.
pub(crate) fn mend(layout: &Layout, partition: usize) -> Op {
    let partition = &layout.partitions[partition];
    // No replica is waited for: if it is lost it is made again.
    let cmd = functions::call("mend", &[&partition.pairs, &partition.order]);
    Op::telling(partition.slot, cmd, |_| false)
}

/// The pairs of a page, and whether there may be more behind them; none if the order must be mended first.
pub(crate) fn pairs(value: Value) -> Result<Option<(Pairs, bool)>> {
    let wrong = || Error::unexpected("page of pairs");
    let Value::Array(parts) = value else { return Err(wrong()) };
    let Ok([Value::Int(more), Value::Array(keys), Value::Array(values)]) = <[Value; 3]>::try_from(parts)
    else {
        return Err(wrong());
    };
    let pair = |pair| match pair {
        (Value::BulkString(key), Value::BulkString(value)) => Ok((key, value)),
        _ => Err(wrong()),
    };
    let pairs = keys.into_iter().zip(values).map(pair).collect::<Result<_>>()?;
    Ok((more >= 0).then_some((pairs, more == 1)))
}
