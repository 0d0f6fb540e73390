//! The module in wasmtime, called from outside for each pair and in its forms for many, as a peer of the bench:
//! `cargo bench -p twindex-wasm --profile wasmtime --bench wasmtime -- fill --index sorted --system twindex`. `--system huge-pages`
//! asks for huge pages under the module's memory, as the native engine does.

use std::process::ExitCode;

use twindex_benches::{Options, Peer, Session, SortedSession, System, alone};
use wasmtime::{Config, TypedFunc, WasmParams};

#[path = "../tests/abi/guest.rs"]
#[expect(dead_code, reason = "the bench needs a few of the verbs that the tests call")]
mod guest;
#[cfg(target_os = "linux")]
#[path = "../tests/abi/huge_pages.rs"]
#[expect(dead_code, reason = "the bench forbids none")]
mod huge_pages;

use guest::{ALL_MEMORY, Guest, INCLUDED, NONE, call, pack, take, take_length, take_pair, yes};

/// An instance with one table.
struct Instance<const SORTED: bool, const HUGE: bool> {
    guest: Guest,
    replace: TypedFunc<(u32, u32, u32, u32, u32), i32>,
    next: TypedFunc<(u32,), i32>,
    store: u32,
    table: u32,
}

impl<const SORTED: bool, const HUGE: bool> Peer for Instance<SORTED, HUGE> {
    const NAME: &'static str = if HUGE { "huge-pages" } else { "twindex" };
    alone!();

    fn open(_: &Options) -> Self {
        let module = guest::compile(&Config::new()).expect("the module compiles");
        let mut guest = Guest::of(&module, ALL_MEMORY).expect("it runs");
        #[cfg(target_os = "linux")]
        if HUGE {
            huge_pages::ask_for(guest.memory, &guest.store).expect("the system takes advice");
        }
        let store = guest.store_new(None).expect("there is memory");
        let table =
            guest.table(store, b"pairs", if SORTED { "sorted" } else { "hash" }).expect("the name is valid");
        let replace = function(&mut guest, "twindex_replace");
        let next = function(&mut guest, "twindex_scan_asc_next");
        Self { guest, replace, next, store, table }
    }

    fn several(_: usize, _: &Options) -> Option<Vec<Self>> {
        None
    }

    fn bytes(&mut self) -> Option<u64> {
        self.guest.memory_of(self.store).ok().map(|bytes| bytes as u64)
    }
}

impl<const SORTED: bool, const HUGE: bool> Session for &mut Instance<SORTED, HUGE> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.guest.insert(self.table, key, value).expect("there is memory")
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        let [(key, k), (value, v)] = self.guest.put([key, value]);
        let status = self.replace.call(&mut self.guest.store, (self.table, key, k, value, v));
        yes(self.guest.check(status).expect("there is memory"))
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.guest.delete(self.table, key).expect("the key is not too long")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.guest.select_with(self.table, key, read).expect("the key is not too long")
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let mut block = Vec::new();
        for (key, value) in pairs {
            pack(&mut block, &[Some(key), Some(value)]);
        }
        call!(self.guest, insert_many, self.table, &block).expect("there is memory");
        self.guest.answer_bytes().iter().map(|&byte| usize::from(byte)).sum()
    }

    fn select_many(&mut self, keys: &[&[u8]], mut read: impl FnMut(usize, Option<&[u8]>)) {
        let mut block = Vec::new();
        for key in keys {
            pack(&mut block, &[Some(key)]);
        }
        call!(self.guest, select_many, self.table, &block).expect("there is memory");
        let mut answer = self.guest.answer_bytes();
        for position in 0..keys.len() {
            let length = take_length(&mut answer);
            read(position, Some(take(&mut answer, length)));
        }
    }
}

impl<const SORTED: bool, const HUGE: bool> SortedSession for &mut Instance<SORTED, HUGE> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let cursor = self.guest.cursor(self.table, (INCLUDED, first), (NONE, b"")).expect("it is sorted");
        let mut next = || {
            let status = self.next.call(&mut self.guest.store, (cursor,));
            let is_there = yes(self.guest.check(status).expect("the cursor is open"));
            let mut answer = self.guest.answer_bytes();
            if is_there {
                let (key, value) = take_pair(&mut answer);
                read(key, value);
            }
            is_there
        };
        (0..limit).take_while(|_| next()).count()
    }

    fn scan_many(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let cursor = self.guest.cursor(self.table, (INCLUDED, first), (NONE, b"")).expect("it is sorted");
        let mut count = 0;
        while count < limit {
            let block = (limit - count).min(1_000) as u32;
            call!(self.guest, scan_asc_next_many, cursor, block, u32::MAX).expect("the cursor is open");
            let mut answer = self.guest.answer_bytes();
            if answer.is_empty() {
                break;
            }
            while !answer.is_empty() {
                let (key, value) = take_pair(&mut answer);
                read(key, value);
                count += 1;
            }
        }
        count
    }
}

fn function<P: WasmParams>(guest: &mut Guest, name: &str) -> TypedFunc<P, i32> {
    guest.instance.get_typed_func(&mut guest.store, name).expect("the module exports it")
}

fn main() -> ExitCode {
    twindex_benches::main(&[
        System::hash::<Instance<false, false>>(),
        System::sorted::<Instance<true, false>>(),
        System::hash::<Instance<false, true>>(),
        System::sorted::<Instance<true, true>>(),
    ])
}
