//! Hit ratios, throughput and memory of Twindex's cache and of other libraries'.

mod pauses;
mod peers;
mod report;
mod shared;
mod sizes;
mod trace;

use clap::Parser;
use peers::NAMES;
use std::path::PathBuf;
use trace::{Made, Trace};

/// Prints million operations a second, bytes an entry, and the hits of traces in percent: on a miss the pair is inserted.
#[derive(Parser)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches")]
struct Options {
    #[command(subcommand)]
    report: Option<report::Command>,
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
    /// Only how long writes take.
    #[arg(long)]
    pauses: bool,
    /// Only hits of values that differ in size, in caches that are limited by bytes.
    #[arg(long)]
    sizes: bool,
    #[arg(long, hide = true)]
    memory_of: Option<String>,
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    if let Some(command) = &options.report {
        return report::main(command);
    }
    if let Some(name) = &options.memory_of {
        println!("{:.0}", shared::memory_of(name, 1)?);
        return Ok(());
    }
    if options.pauses {
        return pauses::print();
    }
    if options.sizes {
        sizes::print();
        return Ok(());
    }
    if !options.no_speed {
        shared::print_throughput();
        println!();
        shared::print_memory()?;
        println!();
        pauses::print()?;
        println!();
    }
    if options.no_hits {
        return Ok(());
    }
    let mut traces = if options.no_made { Vec::new() } else { Made { divisor: 1 }.all() };
    for path in &options.trace {
        traces.push(Trace::read(path)?);
    }
    println!("| trace | capacity | {} |\n|---|---{}", NAMES.join(" | "), "|---".repeat(NAMES.len()) + "|");
    let mut all: Vec<Vec<f64>> = Vec::new();
    for trace in &traces {
        for &capacity in &trace.capacities {
            let row: Vec<f64> =
                NAMES.iter().map(|name| trace.hits(&mut *peers::make(name, capacity))).collect();
            println!("| {} | {capacity} | {} |", trace.name, line(&row));
            all.push(row);
        }
    }
    let means: Vec<f64> =
        (0..NAMES.len()).map(|at| all.iter().map(|row| row[at]).sum::<f64>() / all.len() as f64).collect();
    println!("| mean | | {} |", line(&means));
    Ok(())
}

fn line(row: &[f64]) -> String {
    row.iter().map(|ratio| format!("{ratio:.1}")).collect::<Vec<_>>().join(" | ")
}
