//! What an operation costs the servers and the client, by the processor time that they took: what
//! docs/cluster.md computes larger clusters from.

use twindex_cluster::{Options, Table};
use twindex_servers::{Cluster, Result};

use crate::measure::{fifty, print};
use crate::{PAIRS, pair, upsert};

/// The processor time of all servers, and of this process, in seconds.
fn spent(servers: &Cluster) -> Result<(f64, f64)> {
    let mut all = 0.0;
    for server in servers.servers() {
        let text: String = server.command(&["INFO", "cpu"])?;
        for line in text.lines() {
            if let Some(("used_cpu_user" | "used_cpu_sys", seconds)) = line.split_once(':') {
                all += seconds.trim().parse::<f64>()?;
            }
        }
    }
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<f64>().ok()).sum();
    Ok((all, ticks / 100.0))
}

/// Prints a row: what `count` operations cost that `call` makes.
async fn row(
    servers: &Cluster,
    what: &str,
    count: usize,
    call: impl Future<Output = Result<()>>,
) -> Result<()> {
    let before = spent(servers)?;
    call.await?;
    let after = spent(servers)?;
    for (side, seconds) in [("servers", after.0 - before.0), ("client", after.1 - before.1)] {
        print("twindex", &format!("processor time, {side}: {what}"), "ns", seconds * 1e9 / count as f64);
    }
    Ok(())
}

pub(crate) async fn measure(servers: &Cluster, hash: &Table, sorted: &Table) -> Result<()> {
    let select = async |number: usize| -> Result<()> {
        hash.select(&pair(number).0).await?;
        Ok(())
    };
    row(servers, "select, hash, 50 at once", 50_000, fifty(1000, select)).await?;
    for table in [hash, sorted] {
        let upserts = fifty(1000, async |number| upsert(table, number).await);
        row(servers, &format!("upsert, {}, 50 at once", table.index()), 50_000, upserts).await?;
    }
    let keys: Vec<Vec<u8>> = (0..1000).map(|number| pair(number * 13).0).collect();
    let batches = async {
        for _ in 0..100 {
            hash.select_many(&keys).await?;
        }
        Ok(())
    };
    row(servers, "a key of select_many of 1,000, hash", 100_000, batches).await?;
    for limit in [10, 100, 1000] {
        let scans = async {
            for number in 0..500 {
                let from = pair(number * 31 % PAIRS).0;
                sorted.scan(&from[..]..)?.limit(limit).all().await?;
            }
            Ok(())
        };
        row(servers, &format!("a scan of {limit} pairs of 16 partitions"), 500, scans).await?;
    }
    let whole = async {
        sorted.scan(..)?.all().await?;
        Ok(())
    };
    row(servers, "a pair of a whole scan", PAIRS, whole).await?;
    let mut listening = Vec::new();
    for _ in 0..8 {
        listening.push(Options::new().near_cache(1 << 20).connect(&servers.url()).await?);
    }
    let are_heard =
        || listening.iter().all(|store| store.near_stats().is_some_and(|stats| stats.servers == 3));
    while !are_heard() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let upserts = fifty(1000, async |number| upsert(hash, number).await);
    row(servers, "upsert, hash, while 8 near caches listen", 50_000, upserts).await
}
