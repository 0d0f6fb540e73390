//! The standard tests in wasmtime: every call goes through the ABI, one by one.
//!
//! `cargo bench -p twindex-wasm --bench seeds -- --threads 1 --pairs 1000000`

use std::process::ExitCode;

use twindex_benches::{Fallible, Host, Test, Worker};
use wasmtime::{Config, Module};

#[path = "../tests/abi/exports.rs"]
#[expect(dead_code, reason = "the bench needs a few of the exports that the tests call")]
mod exports;
#[path = "../tests/abi/guest.rs"]
#[expect(dead_code, reason = "the bench needs a few of the verbs that the tests call")]
mod guest;

use guest::{Guest, INCLUDED, NONE};

/// One instance at a time, so that each round starts on fresh memory.
struct Wasmtime {
    module: Module,
    running: Option<Running>,
}

struct Running {
    guest: Guest,
    store: u32,
    table: u32,
    cursor: u32,
}

impl Host for Wasmtime {
    const NAME: &'static str = "wasmtime";
    const THREADS: bool = false;
    type Worker<'h> = &'h mut Running;

    fn renew(&mut self, test: Test) -> Fallible {
        let index = match test {
            Test::Strings | Test::Clients => "hash",
            Test::Sorted => "sorted",
        };
        self.running = None;
        let mut guest = Guest::of(&self.module, 1 << 32)?;
        let store = guest.store_new(None)?;
        let table = guest.table(store, b"pairs", index)?;
        self.running = Some(Running { guest, store, table, cursor: 0 });
        Ok(())
    }

    fn workers(&mut self, _threads: usize) -> Fallible<Vec<&mut Running>> {
        Ok(vec![self.running.as_mut().ok_or("no table was made")?])
    }

    fn memory(&mut self) -> Fallible<Option<u64>> {
        let running = self.running.as_mut().ok_or("no table was made")?;
        Ok(Some(running.guest.memory_of(running.store)? as u64))
    }
}

impl Worker for &mut Running {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        Ok(self.guest.insert(self.table, key, value)?)
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        Ok(self.guest.replace(self.table, key, value)?)
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>> {
        Ok(self.guest.select_with(self.table, key, read)?)
    }

    fn open(&mut self, first: &[u8]) -> Fallible {
        self.cursor = self.guest.cursor(self.table, (INCLUDED, first), (NONE, b""))?;
        Ok(())
    }

    fn scan_asc_next<R>(&mut self, read: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>> {
        Ok(self.guest.scan_next_with(self.cursor, false, read)?)
    }
}

fn main() -> ExitCode {
    match guest::compile(&Config::new()) {
        Ok(module) => twindex_benches::main(Wasmtime { module, running: None }),
        Err(error) => {
            eprintln!("error: the module does not compile: {error:?}");
            ExitCode::FAILURE
        }
    }
}
