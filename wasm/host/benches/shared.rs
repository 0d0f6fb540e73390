//! Guests of a host that keep pairs in one shared store, in `wasmtime-wasi-keyvalue`, or in a map of their own: the time of a
//! call, and the memory of many instances. `cargo bench --profile wasmtime -p twindex-wasmtime --bench shared`

use std::process::Command;

use twindex_wasmtime::{Guest, KeyValue, durable};
use wasmtime::component::{Component, Instance, Linker, ResourceTable};
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi_keyvalue::{WasiKeyValue, WasiKeyValueCtx};

const TIMES: u32 = 1_000_000;
const INSTANCES: u32 = 1000;
/// What each of many instances sets and gets: every key of its thousand once.
const KEYS: u32 = 1000;
const RUNS: usize = 5;
/// Names the system that a process measures the memory of.
const ALONE: &str = "TWINDEX_SHARED_SYSTEM";

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

/// A number that Linux tells of this process.
fn told(file: &str, place: usize) -> u64 {
    let text = std::fs::read_to_string(file).ok();
    let number = text.and_then(|text| text.split_whitespace().nth(place)?.parse().ok());
    number.expect("Linux tells what a process takes")
}

/// The memory that lies in RAM.
fn resident() -> u64 {
    told("/proc/self/statm", 1) * 4096
}

/// The nanoseconds that this thread has run: of other programs it knows nothing.
fn ran() -> u64 {
    told("/proc/thread-self/schedstat", 0)
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
        keys.add_to_linker(&mut linker, |data| &mut data.guest)?;
        if bucket == "-" {
            // It takes the place of the first draft; `twindex:engine`, which the guest imports too, stays.
            linker.allow_shadowing(true);
            wasmtime_wasi_keyvalue::add_to_linker(&mut linker, |data: &mut Data| {
                WasiKeyValue::new(&data.peer, &mut data.table)
            })?;
        }
        systems.push(System { name, bucket, linker, keys });
    }

    // Each system's memory is that of a process of its own.
    if let Ok(number) = std::env::var(ALONE) {
        let system = &systems[number.parse::<usize>()?];
        let before = resident();
        let mut instances = Vec::new();
        for _ in 0..INSTANCES {
            instances.push(system.instance(&component)?);
        }
        let started = resident() - before;
        instances.iter_mut().try_for_each(|instance| system.work(instance, KEYS))?;
        println!("{} MiB | {} MiB |", started >> 20, (resident() - before) >> 20);
        return Ok(());
    }
    // Round after round, so that what else the machine does meets all alike; the best round counts.
    let mut best = vec![u64::MAX; systems.len()];
    for _ in 0..RUNS {
        for (system, best) in systems.iter().zip(&mut best) {
            let mut instance = system.instance(&component)?;
            system.work(&mut instance, KEYS)?;
            let begun = ran();
            system.work(&mut instance, TIMES)?;
            *best = (ran() - begun).min(*best);
        }
    }
    println!("| | ns a call | 1,000 instances | which have used 1,000 keys each |\n|---|---|---|---|");
    for (number, (system, best)) in systems.iter().zip(best).enumerate() {
        let memory = Command::new(std::env::current_exe()?).env(ALONE, number.to_string()).output()?;
        let memory = String::from_utf8_lossy(&memory.stdout).into_owned();
        println!("| {} | {} | {}", system.name, best / u64::from(2 * TIMES), memory.trim());
    }
    Ok(())
}
