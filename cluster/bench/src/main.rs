//! Cluster stores beside redis-rs doing the same by hand, on three masters with a replica each that this starts on
//! loopback: `cargo xtask bench cluster`.

#![allow(clippy::cast_precision_loss, reason = "counts here are far below 2 to the 52nd")]

mod costs;
mod hand;
mod measure;

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use redis::Cmd;
use twindex_cluster::{IndexKind, Options, Store, Table};
use twindex_servers::{Cluster, Result, Server};

use crate::hand::Hand;
use crate::measure::{Times, beside, fifty, print};

/// How many pairs the tables have.
const PAIRS: usize = 200_000;

/// A key and a value of 16 bytes.
fn pair(number: usize) -> (Vec<u8>, Vec<u8>) {
    // Spread over the whole range, each number once.
    let key = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (format!("{key:016x}").into_bytes(), format!("{number:016}").into_bytes())
}

fn main() -> Result<()> {
    let servers = Cluster::start(3, 1)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Options::new().connect(&servers.url()).await?;
        let hand = Hand::connect(&servers).await?;
        let (hash, sorted) = load(&servers, &store, &hand).await?;
        single_verbs(&hash, &sorted, &hand).await?;
        batches(&hash, &hand).await?;
        scans(&servers, &sorted, &hand).await?;
        near(&servers).await?;
        costs::measure(&servers, &hash, &sorted).await
    })
}

/// A number of all servers together, which stands so many words behind the name of a line of `INFO`.
fn sum(servers: &[Server], name: &str, at: usize) -> Result<f64> {
    servers.iter().try_fold(0.0, |sum, server| {
        let line = server.info(name)?.unwrap_or_default();
        let number = line.split([',', '=']).nth(at).and_then(|text| text.trim().parse::<f64>().ok());
        Ok(sum + number.unwrap_or(0.0))
    })
}

fn memory(servers: &Cluster) -> Result<f64> {
    sum(&servers.servers()[..3], "used_memory", 0)
}

/// Loads the tables, beside the same by hand.
async fn load(servers: &Cluster, store: &Store, hand: &Hand) -> Result<(Table, Table)> {
    let pairs: Vec<_> = (0..PAIRS).map(pair).collect();
    let mut theirs = 0.0;
    // The first is not counted.
    for name in ["", "warm"] {
        let started = Instant::now();
        for some in pairs.chunks(10_000) {
            let set = |(key, value): &(Vec<u8>, Vec<u8>)| {
                let key = [b"hand", name.as_bytes(), b":", &key[..]].concat();
                let cmd = command(&[b"SET", &key, value]);
                (key, cmd)
            };
            hand.by_node(some.iter().map(set).collect()).await?;
        }
        theirs = started.elapsed().as_secs_f64();
    }
    let mut tables = Vec::new();
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = store.table(index.name(), index).await?;
        let before = memory(servers)?;
        let started = Instant::now();
        for some in pairs.chunks(10_000) {
            table.upsert_many(some).await?;
        }
        let ours = started.elapsed().as_secs_f64();
        let per_million = 1e6 / PAIRS as f64;
        beside(&format!("load a million pairs, {index}"), "s", ours * per_million, theirs * per_million);
        let bytes = (memory(servers)? - before) / PAIRS as f64;
        print("twindex", &format!("memory a pair of 16 + 16, {index}"), "bytes", bytes);
        tables.push(table);
    }
    let sorted = tables.pop().ok_or("no table")?;
    Ok((tables.pop().ok_or("no table")?, sorted))
}

/// A command of these words.
fn command(words: &[&[u8]]) -> Cmd {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    cmd
}

async fn single_verbs(hash: &Table, sorted: &Table, hand: &Hand) -> Result<()> {
    for (name, table) in
        [("upsert, hash: SET", hash), ("select, hash: GET", hash), ("upsert, sorted: FCALL", sorted)]
    {
        let ours = async |number: usize| -> Result<()> {
            if !name.starts_with("select") {
                return upsert(table, number).await;
            }
            table.select(&pair(number * 7 % PAIRS).0).await?;
            Ok(())
        };
        let theirs = async |number: usize| -> Result<()> {
            let (key, value) = pair(number * 7 % PAIRS);
            let by_hand = [b"hand:", &key[..]].concat();
            // A partition of theirs is of two keys in one slot, as ours are.
            let [all, order] = ["pairs", "order"].map(|part| format!("{{{}}}{part}", number % 16));
            let command = match name {
                "upsert, hash: SET" => command(&[b"SET", &by_hand, &value]),
                "select, hash: GET" => command(&[b"GET", &by_hand]),
                _ => {
                    let mut call = command(&[b"FCALL", b"twindex_4_upsert", b"2"]);
                    call.arg(all).arg(order).arg(key).arg(value);
                    call
                }
            };
            command.query_async::<redis::Value>(&mut hand.cluster.clone()).await?;
            Ok(())
        };
        let (one, two) = (Times::of(1500, ours).await?.median(), Times::of(1500, theirs).await?.median());
        beside(&format!("{name}, one at a time"), "ns", one, two);
        let one = rate(async |number| ours(number).await).await?;
        beside(&format!("{name}, 50 at once"), "/s", one, rate(async |number| theirs(number).await).await?);
    }
    Ok(())
}

/// Writes the pair of a number.
pub(crate) async fn upsert(table: &Table, number: usize) -> Result<()> {
    let (key, value) = pair(number * 7 % PAIRS);
    table.upsert(&key, &value).await?;
    Ok(())
}

/// How many calls a second 50 tasks make.
async fn rate(call: impl AsyncFn(usize) -> Result<()>) -> Result<f64> {
    let (started, each) = (Instant::now(), 300);
    fifty(each, call).await?;
    Ok(50.0 * each as f64 / started.elapsed().as_secs_f64())
}

async fn batches(hash: &Table, hand: &Hand) -> Result<()> {
    for (writes, name, verb) in [(false, "1,000 reads", "GET"), (true, "1,000 writes", "SET")] {
        let mut times = [const { Vec::new() }; 2];
        for round in 0..60 {
            let pairs: Vec<_> = (0..1000).map(|number| pair((round * 1000 + number * 13) % PAIRS)).collect();
            let keys: Vec<&Vec<u8>> = pairs.iter().map(|pair| &pair.0).collect();
            let command = |(key, value): &(Vec<u8>, Vec<u8>)| {
                let key = [b"hand:", &key[..]].concat();
                let words = [verb.as_bytes(), &key, value];
                let cmd = command(&words[..if writes { 3 } else { 2 }]);
                (key, cmd)
            };
            let commands: Vec<_> = pairs.iter().map(command).collect();
            let started = Instant::now();
            if writes {
                hash.upsert_many(&pairs).await?;
            } else {
                hash.select_many(&keys).await?;
            }
            times[0].push(started.elapsed());
            let started = Instant::now();
            hand.by_node(commands).await?;
            times[1].push(started.elapsed());
        }
        let [ours, by_node] = times.map(|times| Times::from(times).median());
        beside(name, "ns", ours, by_node);
    }
    Ok(())
}

/// Calls of functions so far.
fn calls(servers: &Cluster) -> Result<f64> {
    sum(servers.servers(), "cmdstat_fcall", 1)
}

async fn scans(servers: &Cluster, sorted: &Table, hand: &Hand) -> Result<()> {
    let before = calls(servers)?;
    let rounds = 1000;
    let times = Times::of(rounds, async |number| {
        let from = pair(number * 31 % PAIRS).0;
        sorted.scan(&from[..]..)?.limit(100).all().await?;
        Ok(())
    })
    .await?;
    let trips = (calls(servers)? - before) / (rounds + rounds / 10) as f64 / 16.0;
    print("twindex", "100 pairs of a sorted table, 16 partitions", "ns", times.median());
    print("twindex", "round trips of each", "trips", trips);
    let started = Instant::now();
    let (mut scan, mut count) = (sorted.scan(..)?, 0);
    loop {
        match scan.next_many(1000).await?.len() {
            0 => break,
            more => count += more,
        }
    }
    let ours = count as f64 / started.elapsed().as_secs_f64();
    let started = Instant::now();
    assert_eq!((count, unmerged(servers, hand).await?), (PAIRS, PAIRS));
    let theirs = PAIRS as f64 / started.elapsed().as_secs_f64();
    beside("whole scan; redis-rs: pages of all partitions, unmerged", "/s", ours, theirs);
    Ok(())
}

/// All pairs of the sorted table by pages of 1,024, all partitions at once, in no order: what a scan costs without merging.
async fn unmerged(servers: &Cluster, hand: &Hand) -> Result<usize> {
    let mut names = Vec::new();
    for server in &servers.servers()[..3] {
        names.extend(server.command::<Vec<String>>(&["KEYS", "tw~sorted:*:pairs"])?);
    }
    let read = names.into_iter().map(|pairs| async move {
        let order = pairs.replace("}:pairs", "}:order");
        let (mut from, mut count) = (b"-".to_vec(), 0);
        loop {
            let [pairs, order] = [&pairs, &order].map(String::as_bytes);
            let mut page = command(&[b"FCALL", b"twindex_4_page", b"2", pairs, order, &from]);
            page.arg("+").arg(0).arg(1024).arg(1 << 18).arg(1024);
            let (_, keys, _): (u8, Vec<Vec<u8>>, Vec<Vec<u8>>) =
                page.query_async(&mut hand.cluster.clone()).await?;
            count += keys.len();
            match keys.last() {
                Some(last) if keys.len() == 1024 => from = [b"(", &last[..]].concat(),
                _ => return Ok::<usize, redis::RedisError>(count),
            }
        }
    });
    Ok(try_join_all(read).await?.into_iter().sum())
}

async fn near(servers: &Cluster) -> Result<()> {
    let store = Options::new().near_cache(256 << 20).connect(&servers.url()).await?;
    let writer = Options::new().connect(&servers.url()).await?;
    let own = twindex_cache::Cache::new(twindex_cache::CacheOptions::capacity(256 << 20))?;
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let (table, other) = (store.table("near", index).await?, writer.table("near", index).await?);
        while store.near_stats().is_none_or(|stats| stats.servers < 3) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(600)).await;
        let mut times = Vec::new();
        for round in 0..1000 {
            let told = |store: &Store| store.near_stats().map_or(0, |stats| stats.invalidations);
            let (key, before) = (format!("key{}", round % 50), told(&store));
            let started = Instant::now();
            other.upsert(&key, "value").await?;
            while told(&store) == before {
                tokio::task::yield_now().await;
            }
            times.push(started.elapsed());
        }
        let times = Times::from(times);
        for (name, percent) in [("p50", 50), ("p99", 99)] {
            let figure = format!("a write until its invalidation arrives, {index}, {name}");
            print("twindex", &figure, "ns", times.percentile(percent));
        }
        let keys: Vec<Vec<u8>> = (0..1000).map(|number| pair(number).0).collect();
        for key in &keys {
            other.upsert(key, "0123456789abcdef").await?;
            own.upsert(key, "0123456789abcdef")?;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        for key in &keys {
            table.select(key).await?;
        }
        let rounds = 1_500;
        let nanoseconds =
            |started: Instant| started.elapsed().as_secs_f64() * 1e9 / (rounds * keys.len()) as f64;
        let started = Instant::now();
        for _ in 0..rounds {
            for key in &keys {
                std::hint::black_box(table.select(key).await?);
            }
        }
        let ours = nanoseconds(started);
        let started = Instant::now();
        for _ in 0..rounds {
            for key in &keys {
                std::hint::black_box(own.get(key));
            }
        }
        let theirs = nanoseconds(started);
        let figure = format!("a hit of the near cache, {index}; beside it a cache of the process");
        print("twindex", &figure, "ns", ours);
        print("twindex-cache", &figure, "ns", theirs);
        writer.drop_table("near").await?;
    }
    Ok(())
}
