//! Guests of a host that keep pairs in one shared store, in `wasmtime-wasi-keyvalue`, or in a map of their own: calls per second,
//! and the memory of many instances. `cargo bench --profile wasmtime -p twindex-wasmtime --bench shared`

use std::time::Instant;

use twindex_wasmtime::{Guest, KeyValue, durable};
use wasmtime::component::{Component, Instance, Linker, ResourceTable};
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi_keyvalue::{WasiKeyValue, WasiKeyValueCtx};

const TIMES: u32 = 1_000_000;
const INSTANCES: u32 = 1000;
/// What each of many instances sets and gets: every key of its thousand once.
const KEYS: u32 = 1000;
const RUNS: usize = 5;

/// What an instance of either host has.
struct Data {
    guest: Guest,
    peer: WasiKeyValueCtx,
    table: ResourceTable,
}

/// A system: its linker, and the bucket as the guest names it. The map of its own has no bucket.
struct System {
    name: &'static str,
    bucket: &'static str,
    linker: Linker<Data>,
    keys: KeyValue,
}

impl System {
    fn instance(&self, component: &Component) -> Result<(Store<Data>, Instance)> {
        let peer = WasiKeyValueCtx::builder().build();
        let data = Data { guest: self.keys.guest(), peer, table: ResourceTable::new() };
        let mut store = Store::new(component.engine(), data);
        let instance = self.linker.instantiate(&mut store, component)?;
        Ok((store, instance))
    }

    fn work(&self, (store, instance): &mut (Store<Data>, Instance), times: u32) -> Result<()> {
        let work = instance.get_typed_func::<(&str, u32), (Result<(), String>,)>(&mut *store, "work")?;
        let (done,) = work.call(store, (self.bucket, times))?;
        done.map_err(wasmtime::Error::msg)
    }
}

/// The memory of this process that lies in RAM.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.expect("Linux tells what a process takes") * 4096
}

fn main() -> Result<()> {
    let engine = Engine::default();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| format!("{root}/target"));
    let guest = format!("{target}/wasm32-unknown-unknown/release/twindex_host_guest.wasm");
    let component = Component::from_file(&engine, guest)?;
    let folder = tempfile::tempdir()?;
    let keys = KeyValue::new(durable::Store::new()).bucket("default", "default");
    let file = KeyValue::new(durable::open(folder.path().join("store.twx"))?).bucket("default", "default");
    let limited =
        KeyValue::new(durable::Store::new()).bucket("default", "default").max_pairs("default", 1 << 20);
    let mut systems = Vec::new();
    for (name, bucket, keys) in [
        ("twindex-wasmtime, in memory", "default", keys.clone()),
        ("twindex-wasmtime, with a quota", "default", limited),
        ("twindex-wasmtime, in a file (everysec)", "default", file),
        ("wasmtime-wasi-keyvalue", "-", keys.clone()),
        ("a map of the guest's own", "", keys),
    ] {
        let mut linker = Linker::<Data>::new(&engine);
        if bucket == "-" {
            wasmtime_wasi_keyvalue::add_to_linker(&mut linker, |data: &mut Data| {
                WasiKeyValue::new(&data.peer, &mut data.table)
            })?;
            linker.define_unknown_imports_as_traps(&component)?;
        } else {
            keys.add_to_linker(&mut linker, |data| &mut data.guest)?;
        }
        systems.push(System { name, bucket, linker, keys });
    }

    // Round after round, so that what else the machine does meets all alike; the best round counts.
    let mut best = vec![f64::INFINITY; systems.len()];
    for _ in 0..RUNS {
        for (system, best) in systems.iter().zip(&mut best) {
            let mut instance = system.instance(&component)?;
            system.work(&mut instance, KEYS)?;
            let begun = Instant::now();
            system.work(&mut instance, TIMES)?;
            *best = best.min(begun.elapsed().as_secs_f64());
        }
    }
    println!(
        "| | million calls a second | 1,000 instances of 1,000 keys | started a second |\n|---|---|---|---|"
    );
    for (system, best) in systems.iter().zip(best) {
        let (before, begun) = (resident(), Instant::now());
        let mut instances = Vec::new();
        for _ in 0..INSTANCES {
            instances.push(system.instance(&component)?);
        }
        let started = f64::from(INSTANCES) / begun.elapsed().as_secs_f64();
        instances.iter_mut().try_for_each(|instance| system.work(instance, KEYS))?;
        let taken = resident().saturating_sub(before) >> 20;
        let calls = f64::from(2 * TIMES) / best / 1e6;
        println!("| {} | {calls:.2} | {taken} MiB | {started:.0} |", system.name);
    }
    Ok(())
}
