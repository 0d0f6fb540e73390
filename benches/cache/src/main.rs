//! Hit ratios, throughput and memory of Twindex's cache and of other libraries'.

mod peers;
mod shared;
mod trace;

use clap::Parser;
use peers::{Cache, Lru, MiniMoka, Moka, QuickCache, Twindex};
use std::path::PathBuf;
use trace::Trace;

/// Prints million operations a second, bytes an entry, and the hits of traces in percent: on a miss the pair is inserted.
#[derive(Parser)]
struct Options {
    /// A trace's file in one of libCacheSim's formats, by its name: oracleGeneral, .csv, .txt; or .lis. May be repeated.
    #[arg(long)]
    trace: Vec<PathBuf>,
    /// Only the files, not the made traces.
    #[arg(long)]
    no_made: bool,
    /// No throughput and no memory.
    #[arg(long)]
    no_speed: bool,
    /// No hit ratios.
    #[arg(long)]
    no_hits: bool,
    #[arg(long, hide = true)]
    memory_of: Option<String>,
}

fn ratio(trace: &Trace, cache: &mut dyn Cache) -> f64 {
    let mut hits = 0_usize;
    for (at, &key) in trace.keys.iter().enumerate() {
        let hit = cache.request(key);
        hits += usize::from(hit && at >= trace.warm_up);
    }
    100.0 * hits as f64 / (trace.keys.len() - trace.warm_up) as f64
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    if let Some(name) = &options.memory_of {
        return shared::print_memory_of(name);
    }
    if !options.no_speed {
        shared::print_throughput();
        println!();
        shared::print_memory()?;
        println!();
        shared::print_pauses().map_err(std::io::Error::other)?;
        println!();
    }
    if options.no_hits {
        return Ok(());
    }
    let mut traces = if options.no_made { Vec::new() } else { Trace::made() };
    for path in &options.trace {
        traces.push(Trace::read(path)?);
    }
    println!("| trace | capacity | Twindex | quick_cache | moka | mini-moka | LRU (schnellru) |");
    println!("|---|---|---|---|---|---|---|");
    let mut all: Vec<Vec<f64>> = Vec::new();
    for trace in &traces {
        for &capacity in &trace.capacities {
            let mut caches: [Box<dyn Cache>; 5] = [
                Box::new(Twindex::new(capacity)),
                Box::new(QuickCache::new(capacity)),
                Box::new(Moka::new(capacity)),
                Box::new(MiniMoka::new(capacity)),
                Box::new(Lru::new(capacity)),
            ];
            let row: Vec<f64> = caches.iter_mut().map(|cache| ratio(trace, &mut **cache)).collect();
            println!("| {} | {capacity} | {} |", trace.name, line(&row));
            all.push(row);
        }
    }
    let means: Vec<f64> =
        (0..5).map(|at| all.iter().map(|row| row[at]).sum::<f64>() / all.len() as f64).collect();
    println!("| mean | | {} |", line(&means));
    Ok(())
}

fn line(row: &[f64]) -> String {
    row.iter().map(|ratio| format!("{ratio:.1}")).collect::<Vec<_>>().join(" | ")
}
