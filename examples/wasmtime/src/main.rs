//! Runs components that share a store in a file: `cargo run -p twindex-example-wasmtime -- visits.twx guest.wasm ...`. Each
//! exports `visit`, which this calls for the visitors `ada` and `bob`, and prints what it says.

use std::env::args;

use twindex_wasmtime::{GetMany, Guest, KeyValue, durable};
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Result, Store, format_err};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// What one instance has: its handles of buckets, and the WASI that Rust's standard library asks for.
struct Data {
    guest: Guest,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Data {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

fn main() -> Result<()> {
    let mut arguments = args().skip(1);
    let path = arguments.next().ok_or_else(|| format_err!("usage: STORE.twx GUEST.wasm..."))?;
    let store = durable::open(path)?;
    let keys = KeyValue::new(store.clone()).bucket("visits", "visits").max_bytes("visits", 1 << 20);
    let engine = Engine::default();
    for file in arguments {
        let component = Component::from_file(&engine, &file)?;
        let mut linker = Linker::<Data>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
        let keys = keys.clone().get_many(GetMany::of(&component));
        keys.add_to_linker(&mut linker, |data| &mut data.guest)?;
        for visitor in ["ada", "bob"] {
            // An instance for each call, which forgets everything but what is in the store.
            let data =
                Data { guest: keys.guest(), wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
            let mut instance_store = Store::new(&engine, data);
            let instance = linker.instantiate(&mut instance_store, &component)?;
            let visit = instance.get_typed_func::<(&str,), (String,)>(&mut instance_store, "visit")?;
            let (said,) = visit.call(&mut instance_store, (visitor,))?;
            println!("{said}");
        }
    }
    store.close()?;
    Ok(())
}
