//! One instance of the module in wasmtime, called as any host would call it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use wasmtime::{
    Config, Engine, Instance, Memory, Module, Result, Store, StoreLimits, StoreLimitsBuilder, TypedFunc, Val,
};

/// An argument of an export. Bytes go in as their address and their length.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    Value(Val),
    Bytes(&'a [u8]),
    Absent,
}

macro_rules! arguments {
    ($($of:ty: $name:ident => $argument:expr;)*) => {
        $(impl<'a> From<$of> for Argument<'a> {
            fn from($name: $of) -> Self {
                $argument
            }
        })*
    };
}

arguments! {
    i32: number => Self::Value(Val::I32(number));
    u32: number => Self::Value(Val::I32(number.cast_signed()));
    i64: number => Self::Value(Val::I64(number));
    u64: number => Self::Value(Val::I64(number.cast_signed()));
    f64: number => Self::Value(Val::F64(number.to_bits()));
    &'a [u8]: bytes => Self::Bytes(bytes);
    &'a Vec<u8>: bytes => Self::Bytes(bytes);
    &'a str: text => Self::Bytes(text.as_bytes());
    Option<&'a [u8]>: bytes => bytes.map_or(Self::Absent, Self::Bytes);
}

impl<'a, const N: usize> From<&'a [u8; N]> for Argument<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

/// Calls an export: its status, or the error that a negative one stands for.
macro_rules! call {
    ($guest:expr, $name:ident $(, $argument:expr)* $(,)?) => {{
        let status = $guest.try_call(
            concat!("twindex_", stringify!($name)),
            &[$($crate::guest::Argument::from($argument)),*],
        );
        $guest.check(status)
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
    pub(crate) memory: Memory,
    pub(crate) instance: Instance,
    /// The most used exports, by type.
    insert: TypedFunc<(u32, u32, u32, u32, u32), i32>,
    delete: TypedFunc<(u32, u32, u32), i32>,
    select: TypedFunc<(u32, u32, u32), i32>,
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
pub(crate) fn metered() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let mut config = Config::new();
        config.consume_fuel(true);
        compile(&config).expect("the module compiles")
    })
}

/// The functions that a module exports.
pub(crate) fn functions(module: &Module) -> BTreeSet<String> {
    let functions = module.exports().filter(|export| export.ty().func().is_some());
    functions.map(|export| export.name().to_owned()).collect()
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
        Self::of(metered(), bytes).expect("the module can be instantiated")
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
        let memory = instance.get_memory(&mut store, "memory").expect("the memory is exported");
        let insert = instance.get_typed_func(&mut store, "twindex_insert")?;
        let [delete, select] = ["twindex_delete", "twindex_select"]
            .map(|name| instance.get_typed_func(&mut store, name).expect("it is exported"));
        let (answer, input, input_bytes) = (0, 0, 0);
        let mut guest = Self { store, memory, instance, insert, delete, select, answer, input, input_bytes };
        guest.answer = guest.try_call("twindex_answer", &[])?.cast_unsigned() as usize;
        guest.make_room(64 * 1024);
        Ok(guest)
    }

    /// An instance with a store and its table `t`: the handles of both.
    pub(crate) fn with_table(memory_bytes: usize, index: &str) -> (Self, u32, u32) {
        let mut guest = Self::with_memory(memory_bytes);
        let store = guest.store_new(None).expect("a store");
        let table = guest.table(store, b"t", index).expect("a table");
        (guest, store, table)
    }

    // --- calls

    /// Calls an export, whose name begins with `twindex_`: its status, or a trap.
    pub(crate) fn try_call(&mut self, name: &str, arguments: &[Argument<'_>]) -> Result<i32> {
        let lengths = arguments.iter().map(|argument| match argument {
            Argument::Bytes(bytes) => bytes.len(),
            _ => 0,
        });
        self.make_room(u32::try_from(lengths.sum::<usize>()).expect("the input fits into the module"));
        let mut at = self.input;
        let mut values = Vec::with_capacity(2 * arguments.len());
        for &argument in arguments {
            match argument {
                Argument::Value(value) => values.push(value),
                Argument::Bytes(bytes) => {
                    self.write(at, bytes);
                    values.extend([at, bytes.len() as u32].map(|number| Val::I32(number.cast_signed())));
                    at += bytes.len() as u32;
                }
                Argument::Absent => values.extend([at, ABSENT].map(|number| Val::I32(number.cast_signed()))),
            }
        }
        let function = self.instance.get_func(&mut self.store, name);
        let function = function.unwrap_or_else(|| panic!("there is no export {name}"));
        let mut results = [Val::I32(0)];
        function.call(&mut self.store, &values, &mut results)?;
        Ok(results[0].unwrap_i32())
    }

    /// A new buffer of the module, or the error that there is no memory for it.
    pub(crate) fn alloc(&mut self, length: u32) -> Fallible<u32> {
        match self.try_call("twindex_alloc", &[length.into()]).expect("no trap") {
            0 => Err(self.last_error(0)),
            address => Ok(address.cast_unsigned()),
        }
    }

    /// Has the input buffer take so many bytes.
    fn make_room(&mut self, bytes: u32) {
        if bytes <= self.input_bytes {
            return;
        }
        let old = std::mem::take(&mut self.input);
        if old != 0 {
            call!(self, free, old).expect("it is the buffer");
        }
        let bytes = bytes.next_power_of_two();
        (self.input, self.input_bytes) = (self.alloc(bytes).expect("memory for the input"), bytes);
    }

    /// Lays pieces into the input buffer, one after the other: the address and the length of each.
    pub(crate) fn put<const N: usize>(&mut self, pieces: [&[u8]; N]) -> [(u32, u32); N] {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.make_room(u32::try_from(bytes).expect("the input fits into the module"));
        let mut at = self.input;
        pieces.map(|piece| {
            let place = (at, piece.len() as u32);
            self.write(at, piece);
            at += piece.len() as u32;
            place
        })
    }

    /// Writes into the module's memory, wherever that is.
    fn write(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        self.memory.data_mut(&mut self.store)[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The status of a call, or the error that a negative one stands for.
    pub(crate) fn check(&mut self, status: Result<i32>) -> Fallible<i32> {
        let status = status.expect("no trap");
        if status < 0 { Err(self.last_error(-status)) } else { Ok(status) }
    }

    fn last_error(&mut self, number: i32) -> AbiError {
        let told = self.try_call("twindex_last_error", &[]).expect("no trap");
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

    // --- what tests call most

    pub(crate) fn store_new(&mut self, memory_limit: Option<u64>) -> Fallible<u32> {
        call!(self, store_new, memory_limit.unwrap_or(u64::MAX)).map(i32::cast_unsigned)
    }

    pub(crate) fn table(&mut self, store: u32, name: &[u8], index: &str) -> Fallible<u32> {
        call!(self, table, store, name, index).map(i32::cast_unsigned)
    }

    /// A table with these codecs; `options` are the bits of `twindex_table_with`.
    pub(crate) fn table_with(&mut self, store: u32, texts: [&str; 4], options: u32) -> Fallible<u32> {
        let [name, index, keys, values] = texts;
        call!(self, table_with, store, name, index, keys, values, options).map(i32::cast_unsigned)
    }

    /// A table of a snapshot or a transaction.
    pub(crate) fn table_of(&mut self, owner: u32, name: &str) -> Fallible<u32> {
        const AS_THEY_ARE: u32 = 2 | 4 | 8;
        self.table_with(owner, [name, "hash", "bytes", "bytes"], AS_THEY_ARE)
    }

    pub(crate) fn codecs(&mut self, table: u32) -> Fallible<Vec<Pair>> {
        call!(self, codecs, table).map(|_| self.answered_pairs())
    }

    pub(crate) fn insert(&mut self, table: u32, key: &[u8], value: &[u8]) -> Fallible<bool> {
        let [(key, k), (value, v)] = self.put([key, value]);
        let status = self.insert.call(&mut self.store, (table, key, k, value, v));
        self.check(status).map(yes)
    }

    pub(crate) fn delete(&mut self, table: u32, key: &[u8]) -> Fallible<bool> {
        let [(key, k)] = self.put([key]);
        let status = self.delete.call(&mut self.store, (table, key, k));
        self.check(status).map(yes)
    }

    /// Shows the value to `read`, in the module's memory.
    pub(crate) fn select_with<T>(
        &mut self,
        table: u32,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Fallible<Option<T>> {
        let [(key, k)] = self.put([key]);
        let status = self.select.call(&mut self.store, (table, key, k));
        Ok(yes(self.check(status)?).then(|| read(self.answer_bytes())))
    }

    pub(crate) fn select(&mut self, table: u32, key: &[u8]) -> Fallible<Option<Vec<u8>>> {
        self.select_with(table, key, <[u8]>::to_vec)
    }

    pub(crate) fn len(&mut self, table: u32) -> Fallible<usize> {
        call!(self, len, table).map(|_| self.answer_count())
    }

    pub(crate) fn memory_of(&mut self, handle: u32) -> Fallible<usize> {
        call!(self, memory, handle).map(|_| self.answer_count())
    }

    pub(crate) fn cursor(&mut self, table: u32, lower: Bound<'_>, upper: Bound<'_>) -> Fallible<u32> {
        call!(self, cursor, table, lower.0, lower.1, upper.0, upper.1).map(i32::cast_unsigned)
    }

    /// A cursor over all pairs.
    pub(crate) fn whole_cursor(&mut self, table: u32) -> Fallible<u32> {
        self.cursor(table, (NONE, b""), (NONE, b""))
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
        let down = i32::from(reverse);
        call!(self, scan, table, lower.0, lower.1, upper.0, upper.1, down, count, u32::MAX)
            .map(|_| self.answered_pairs())
    }

    pub(crate) fn open_iter(&mut self, table: u32) -> Fallible<u32> {
        call!(self, iter, table).map(i32::cast_unsigned)
    }

    pub(crate) fn iter_next_many(&mut self, iter: u32, count: u32) -> Fallible<Vec<Pair>> {
        call!(self, iter_next_many, iter, count, u32::MAX).map(|_| self.answered_pairs())
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

    /// The figures of 8 bytes of the last answer.
    pub(crate) fn answered_figures(&self) -> Vec<i64> {
        let (figures, []) = self.answer_bytes().as_chunks() else { panic!("whole numbers") };
        figures.iter().map(|figure| i64::from_le_bytes(*figure)).collect()
    }

    pub(crate) fn snapshot(&mut self, store: u32) -> Fallible<u32> {
        call!(self, snapshot, store).map(i32::cast_unsigned)
    }

    pub(crate) fn begin(&mut self, store: u32) -> Fallible<u32> {
        call!(self, begin, store).map(i32::cast_unsigned)
    }

    /// The open snapshots, the bytes kept for them, and the open transactions.
    pub(crate) fn snapshot_stats(&mut self, store: u32) -> Vec<i64> {
        call!(self, snapshot_stats, store).expect("the store is open");
        self.answered_figures()
    }

    pub(crate) fn dump(&mut self, store: u32) -> Fallible<Vec<u8>> {
        call!(self, dump, store).map(|_| self.answer_bytes().to_vec())
    }

    pub(crate) fn load_within(&mut self, dump: &[u8], limit: Option<u64>) -> Fallible<u32> {
        call!(self, load, dump, limit.unwrap_or(u64::MAX)).map(i32::cast_unsigned)
    }

    pub(crate) fn close(&mut self, handle: u32) -> Fallible<()> {
        call!(self, close, handle).map(drop)
    }
}

/// A status of 1 or 0.
pub(crate) fn yes(status: i32) -> bool {
    assert!(status < 2, "neither 1 nor 0: {status}");
    status == 1
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
