//! One instance of the module in wasmtime, called as any host would call it.

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use wasmtime::{Config, Engine, Instance, Memory, Module, Result, Store, StoreLimits, StoreLimitsBuilder};

use crate::exports::Exports;

/// Calls an export: its status, or the error that a negative one stands for.
macro_rules! call {
    ($guest:expr, $name:ident $(, $argument:expr)* $(,)?) => {{
        let guest = $guest.itself();
        let status = guest.exports.$name.call(&mut guest.store, ($($argument,)*));
        guest.check(status)
    }};
}
pub(crate) use call;

/// As far as addresses reach.
pub(crate) const ALL_MEMORY: usize = 1 << 32;

/// The length that stands for an absent value.
pub(crate) const ABSENT: u32 = u32::MAX;
/// The kinds of bound.
pub(crate) const NONE: u32 = 0;
pub(crate) const INCLUDED: u32 = 1;
pub(crate) const EXCLUDED: u32 = 2;
pub(crate) const PREFIX: u32 = 3;

pub(crate) type Pair = (Vec<u8>, Vec<u8>);
/// A bound's kind and key.
pub(crate) type Bound<'b> = (u32, &'b [u8]);

/// An error that the module told of: the number that the call returned, and what `twindex_last_error` said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AbiError {
    pub(crate) number: i32,
    pub(crate) code: String,
    pub(crate) text: String,
}

impl fmt::Display for AbiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.number, self.text)
    }
}

impl std::error::Error for AbiError {}

pub(crate) type Fallible<T> = std::result::Result<T, AbiError>;

/// An instance. A trap in it is a failure of the test, so it panics here.
pub(crate) struct Guest {
    pub(crate) store: Store<StoreLimits>,
    pub(crate) exports: Exports,
    pub(crate) memory: Memory,
    pub(crate) instance: Instance,
    answer: usize,
    input: u32,
    input_bytes: u32,
}

/// The bytes of the module that is tested.
pub(crate) fn module_bytes() -> Vec<u8> {
    let path = std::env::var_os("TWINDEX_WASM").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/npm/twindex.caches.wasm").into(),
        PathBuf::from,
    );
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}\nBuild the module with `node wasm/npm/scripts/build.mjs`, \
             or name one in the variable TWINDEX_WASM.",
            path.display()
        )
    })
}

/// The module, compiled once for all tests, with a meter of fuel so that a test can end a call half way.
fn metered() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let mut config = Config::new();
        config.consume_fuel(true);
        compile(&config).expect("the module compiles")
    })
}

/// The module, compiled under `config`.
pub(crate) fn compile(config: &Config) -> Result<Module> {
    Module::new(&Engine::new(config)?, module_bytes())
}

impl Guest {
    /// An instance whose memory may grow as far as addresses reach.
    pub(crate) fn new() -> Self {
        Self::with_memory(ALL_MEMORY)
    }

    /// An instance to which the host refuses more than `bytes` of memory.
    pub(crate) fn with_memory(bytes: usize) -> Self {
        let mut guest = Self::of(metered(), bytes).expect("the module has every export");
        guest.fuel(u64::MAX);
        guest
    }

    /// An instance of `module`.
    pub(crate) fn of(module: &Module, memory_bytes: usize) -> Result<Self> {
        let limits = StoreLimitsBuilder::new().memory_size(memory_bytes).build();
        let mut store = Store::new(module.engine(), limits);
        store.limiter(|limits| limits);
        if store.get_fuel().is_ok() {
            store.set_fuel(u64::MAX)?;
        }
        let instance = Instance::new(&mut store, module, &[])?;
        let exports = Exports::new(&instance, &mut store)?;
        let memory = instance.get_memory(&mut store, "memory").expect("the memory is exported");
        let answer = address(exports.answer.call(&mut store, ())?);
        let mut guest = Self { store, exports, memory, instance, answer, input: 0, input_bytes: 0 };
        guest.grow_input(64 * 1024);
        Ok(guest)
    }

    /// An instance with a store and its table `t`: the handles of both.
    pub(crate) fn with_table(memory_bytes: usize, index: &str) -> (Self, u32, u32) {
        let mut guest = Self::with_memory(memory_bytes);
        let store = guest.store_new(None).expect("a store");
        let table = guest.table(store, b"t", index).expect("a table");
        (guest, store, table)
    }

    /// For `call`, which is given an instance or a reference to one.
    pub(crate) fn itself(&mut self) -> &mut Self {
        self
    }

    /// Gives the instance so much fuel.
    pub(crate) fn fuel(&mut self, fuel: u64) {
        self.store.set_fuel(fuel).expect("the module is metered");
    }

    // --- bytes in

    /// A new buffer of the module, or the error that there is no memory for it.
    pub(crate) fn alloc(&mut self, length: u32) -> Fallible<u32> {
        match self.exports.alloc.call(&mut self.store, (length,)).expect("no trap") {
            0 => Err(self.last_error(0)),
            address => Ok(address.cast_unsigned()),
        }
    }

    fn grow_input(&mut self, bytes: u32) {
        if self.input != 0 {
            self.exports.free.call(&mut self.store, (self.input,)).expect("no trap");
        }
        (self.input, self.input_bytes) = (0, 0);
        self.input = self.alloc(bytes).expect("memory for the input");
        self.input_bytes = bytes;
    }

    /// Lays pieces into the input buffer, one after the other: the address and the length of each.
    pub(crate) fn put<const N: usize>(&mut self, pieces: [&[u8]; N]) -> [(u32, u32); N] {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let bytes = u32::try_from(bytes).expect("the input fits into the module");
        if bytes > self.input_bytes {
            self.grow_input(bytes.next_power_of_two());
        }
        let mut at = self.input;
        pieces.map(|piece| {
            let place = (at, piece.len() as u32);
            self.write(at, piece);
            at += piece.len() as u32;
            place
        })
    }

    /// Writes into the module's memory, wherever that is.
    pub(crate) fn write(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        self.memory.data_mut(&mut self.store)[at..at + bytes.len()].copy_from_slice(bytes);
    }

    // --- bytes out

    /// The status of a call, or the error that a negative one stands for.
    pub(crate) fn check(&mut self, status: Result<i32>) -> Fallible<i32> {
        let status = status.expect("no trap");
        if status < 0 { Err(self.last_error(-status)) } else { Ok(status) }
    }

    fn last_error(&mut self, number: i32) -> AbiError {
        let told = self.exports.last_error.call(&mut self.store, ()).expect("no trap");
        assert_ne!(told, 0, "a call failed and there is no last error");
        let pairs = unpack_pairs(self.answer_bytes());
        let [(code, text)] = pairs.as_slice() else { panic!("the last error is one pair: {pairs:?}") };
        let text_of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("an error is text");
        AbiError { number, code: text_of(code), text: text_of(text) }
    }

    fn answer_word(&self, position: usize) -> usize {
        let at = self.answer + 4 * position;
        let word = self.memory.data(&self.store)[at..].first_chunk().expect("the answer cell is in memory");
        u32::from_le_bytes(*word) as usize
    }

    /// The bytes of the last answer.
    pub(crate) fn answer_bytes(&self) -> &[u8] {
        let (address, length) = (self.answer_word(0), self.answer_word(1));
        &self.memory.data(&self.store)[address..address + length]
    }

    /// The number of the last answer.
    pub(crate) fn answer_number(&self) -> i64 {
        (self.answer_word(2) as u64 | (self.answer_word(3) as u64) << 32).cast_signed()
    }

    /// The number of the last answer, which counts something.
    pub(crate) fn answer_count(&self) -> usize {
        usize::try_from(self.answer_number()).expect("a count")
    }

    // --- stores and tables

    pub(crate) fn store_new(&mut self, memory_limit: Option<u64>) -> Fallible<u32> {
        call!(self, store_new, memory_limit.unwrap_or(u64::MAX)).map(i32::cast_unsigned)
    }

    pub(crate) fn table(&mut self, store: u32, name: &[u8], index: &str) -> Fallible<u32> {
        let [(name, n), (index, i)] = self.put([name, index.as_bytes()]);
        call!(self, table, store, name, n, index, i).map(i32::cast_unsigned)
    }

    /// A table with these codecs; `options` are the bits of `twindex_table_with`.
    pub(crate) fn table_with(&mut self, store: u32, texts: [&str; 4], options: u32) -> Fallible<u32> {
        let [(name, n), (index, i), (keys, k), (values, v)] = self.put(texts.map(str::as_bytes));
        call!(self, table_with, store, name, n, index, i, keys, k, values, v, options).map(i32::cast_unsigned)
    }

    pub(crate) fn codecs(&mut self, table: u32) -> Fallible<Pair> {
        call!(self, codecs, table)?;
        Ok(self.answered_pairs().pop().expect("one pair"))
    }

    pub(crate) fn tables(&mut self, store: u32) -> Fallible<Vec<Pair>> {
        call!(self, tables, store)?;
        Ok(self.answered_pairs())
    }

    pub(crate) fn drop_table(&mut self, store: u32, name: &str) -> Fallible<bool> {
        let [(name, length)] = self.put([name.as_bytes()]);
        call!(self, drop_table, store, name, length).map(yes)
    }

    pub(crate) fn close(&mut self, handle: u32) -> Fallible<()> {
        call!(self, close, handle).map(drop)
    }

    // --- verbs

    pub(crate) fn insert(&mut self, table: u32, key: &[u8], value: &[u8]) -> Fallible<bool> {
        let [(key, k), (value, v)] = self.put([key, value]);
        call!(self, insert, table, key, k, value, v).map(yes)
    }

    pub(crate) fn delete(&mut self, table: u32, key: &[u8]) -> Fallible<bool> {
        let [(key, k)] = self.put([key]);
        call!(self, delete, table, key, k).map(yes)
    }

    /// Shows the value to `read`, in the module's memory.
    pub(crate) fn select_with<T>(
        &mut self,
        table: u32,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Fallible<Option<T>> {
        let [(key, k)] = self.put([key]);
        Ok(yes(call!(self, select, table, key, k)?).then(|| read(self.answer_bytes())))
    }

    pub(crate) fn select(&mut self, table: u32, key: &[u8]) -> Fallible<Option<Vec<u8>>> {
        self.select_with(table, key, <[u8]>::to_vec)
    }

    pub(crate) fn compare_and_swap(
        &mut self,
        table: u32,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Fallible<bool> {
        let [(key, k), (e, e_bytes), (n, n_bytes)] =
            self.put([key, expected.unwrap_or_default(), new.unwrap_or_default()]);
        let e_bytes = expected.map_or(ABSENT, |_| e_bytes);
        let n_bytes = new.map_or(ABSENT, |_| n_bytes);
        call!(self, compare_and_swap, table, key, k, e, e_bytes, n, n_bytes).map(yes)
    }

    pub(crate) fn len(&mut self, table: u32) -> Fallible<usize> {
        call!(self, len, table)?;
        Ok(self.answer_count())
    }

    pub(crate) fn memory_of(&mut self, handle: u32) -> Fallible<usize> {
        call!(self, memory, handle)?;
        Ok(self.answer_count())
    }

    // --- order

    pub(crate) fn cursor(&mut self, table: u32, lower: Bound<'_>, upper: Bound<'_>) -> Fallible<u32> {
        let [(low, l), (up, u)] = self.put([lower.1, upper.1]);
        call!(self, cursor, table, lower.0, low, l, upper.0, up, u).map(i32::cast_unsigned)
    }

    /// A cursor over all pairs.
    pub(crate) fn whole_cursor(&mut self, table: u32) -> Fallible<u32> {
        self.cursor(table, (NONE, b""), (NONE, b""))
    }

    /// Shows the next pair, downwards where `down`, to `read`, in the module's memory.
    pub(crate) fn scan_next_with<T>(
        &mut self,
        cursor: u32,
        down: bool,
        read: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Fallible<Option<T>> {
        let status =
            if down { call!(self, scan_desc_next, cursor) } else { call!(self, scan_asc_next, cursor) };
        if !yes(status?) {
            return Ok(None);
        }
        let mut rest = self.answer_bytes();
        let (key, value) = take_pair(&mut rest);
        Ok(Some(read(key, value)))
    }

    /// Up to `count` pairs of a range.
    pub(crate) fn scan(
        &mut self,
        table: u32,
        lower: Bound<'_>,
        upper: Bound<'_>,
        reverse: bool,
        count: u32,
    ) -> Fallible<Vec<Pair>> {
        let [(low, l), (up, u)] = self.put([lower.1, upper.1]);
        let down = u32::from(reverse);
        call!(self, scan, table, lower.0, low, l, upper.0, up, u, down, count, u32::MAX)?;
        Ok(self.answered_pairs())
    }

    pub(crate) fn open_iter(&mut self, table: u32) -> Fallible<u32> {
        call!(self, iter, table).map(i32::cast_unsigned)
    }

    pub(crate) fn iter_next_many(&mut self, iter: u32, count: u32) -> Fallible<Vec<Pair>> {
        call!(self, iter_next_many, iter, count, u32::MAX)?;
        Ok(self.answered_pairs())
    }

    /// Every pair of a table, through an iterator in blocks of `count`.
    pub(crate) fn iterate(&mut self, table: u32, count: u32) -> Fallible<Vec<Pair>> {
        let iter = self.open_iter(table)?;
        let mut pairs = Vec::new();
        loop {
            let block = self.iter_next_many(iter, count)?;
            if block.is_empty() {
                break;
            }
            pairs.extend(block);
        }
        self.close(iter)?;
        Ok(pairs)
    }

    /// The packed pairs of the last answer, as many as its number says.
    pub(crate) fn answered_pairs(&self) -> Vec<Pair> {
        let pairs = unpack_pairs(self.answer_bytes());
        assert_eq!(pairs.len(), self.answer_count());
        pairs
    }

    // --- snapshots and transactions

    pub(crate) fn snapshot(&mut self, store: u32) -> Fallible<u32> {
        call!(self, snapshot, store).map(i32::cast_unsigned)
    }

    pub(crate) fn begin(&mut self, store: u32) -> Fallible<u32> {
        call!(self, begin, store).map(i32::cast_unsigned)
    }

    /// A table of a snapshot or a transaction.
    pub(crate) fn table_of(&mut self, owner: u32, name: &str) -> Fallible<u32> {
        const AS_THEY_ARE: u32 = 2 | 4 | 8;
        self.table_with(owner, [name, "hash", "bytes", "bytes"], AS_THEY_ARE)
    }

    pub(crate) fn commit(&mut self, transaction: u32) -> Fallible<()> {
        call!(self, commit, transaction).map(drop)
    }

    /// The open snapshots, the bytes kept for them, and the open transactions.
    pub(crate) fn snapshot_stats(&mut self, store: u32) -> [u64; 3] {
        call!(self, snapshot_stats, store).unwrap();
        let (figures, []) = self.answer_bytes().as_chunks() else { panic!("whole numbers") };
        let figures: Vec<_> = figures.iter().map(|figure| u64::from_le_bytes(*figure)).collect();
        figures.try_into().expect("three of them")
    }

    // --- the whole store

    pub(crate) fn dump(&mut self, store: u32) -> Fallible<Vec<u8>> {
        call!(self, dump, store)?;
        Ok(self.answer_bytes().to_vec())
    }

    pub(crate) fn load(&mut self, dump: &[u8]) -> Fallible<u32> {
        self.load_within(dump, None)
    }

    pub(crate) fn load_within(&mut self, dump: &[u8], limit: Option<u64>) -> Fallible<u32> {
        let [(dump, d)] = self.put([dump]);
        call!(self, load, dump, d, limit.unwrap_or(u64::MAX)).map(i32::cast_unsigned)
    }
}

/// A status of 1 or 0.
pub(crate) fn yes(status: i32) -> bool {
    assert!(status < 2, "neither 1 nor 0: {status}");
    status == 1
}

fn address(status: i32) -> usize {
    status.cast_unsigned() as usize
}

// --- packed blocks

/// Adds an item: its lengths, then its bytes.
pub(crate) fn pack(block: &mut Vec<u8>, pieces: &[Option<&[u8]>]) {
    for piece in pieces {
        block.extend(piece.map_or(ABSENT, |bytes| bytes.len() as u32).to_le_bytes());
    }
    for piece in pieces.iter().flatten() {
        block.extend(*piece);
    }
}

pub(crate) fn take_length(rest: &mut &[u8]) -> u32 {
    let (length, after) = rest.split_first_chunk().expect("a length");
    *rest = after;
    u32::from_le_bytes(*length)
}

pub(crate) fn take<'r>(rest: &mut &'r [u8], length: u32) -> &'r [u8] {
    rest.split_off(..length as usize).expect("as many bytes as the length says")
}

pub(crate) fn take_pair<'r>(rest: &mut &'r [u8]) -> (&'r [u8], &'r [u8]) {
    let (key, value) = (take_length(rest), take_length(rest));
    (take(rest, key), take(rest, value))
}

fn unpack_pairs(mut rest: &[u8]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let (key, value) = take_pair(&mut rest);
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

pub(crate) fn unpack_values(mut rest: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut values = Vec::new();
    while !rest.is_empty() {
        let length = take_length(&mut rest);
        values.push((length != ABSENT).then(|| take(&mut rest, length).to_vec()));
    }
    values
}
