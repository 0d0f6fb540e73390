//! The modules beside the native engine, in the same run: the same pairs in the same order.
//!
//! `cargo bench -p twindex-wasm --profile wasmtime --bench ratios -- [--pairs N] [--rounds N] [--node] [MODULE...]`
//!
//! Nanoseconds a pair, in a loop over the verb on one key and in the forms for many, in blocks of a thousand pairs; and the
//! same verbs with a call through the ABI for every key. The loop over the module's verbs is in WebAssembly too, in
//! `driver.wat`. Each round makes new stores and takes its turn with all of them; the medians of the rounds are printed.
//!
//! A module's memory lies on small pages, unless its host asks for huge ones, as the native engine does. So on Linux there is
//! a host that does and one that does not, and the native engine has a process to itself in which the system gives it no huge
//! pages, beside one in which it does. The two ratios of a row are to these: with huge pages, and without.

#![expect(clippy::cast_precision_loss, reason = "no count of pairs comes near the 53rd bit")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use twindex::{Cursor, Index, Store, Table};
use wasmtime::{Config, Linker, Module, TypedFunc};

#[path = "../tests/abi/exports.rs"]
#[expect(dead_code, reason = "the bench needs a few of the exports that the tests call")]
mod exports;
#[path = "../tests/abi/guest.rs"]
#[expect(dead_code, reason = "the bench needs a few of the verbs that the tests call")]
mod guest;
#[cfg(target_os = "linux")]
#[path = "../tests/abi/huge_pages.rs"]
mod huge_pages;

use guest::{Guest, NONE, take, take_length, take_pair};

type Fallible<T = ()> = Result<T, Box<dyn Error>>;

/// Pairs of a block.
const BLOCK: usize = 1_000;
const KEY: usize = 16;
const VALUE: usize = 16;

const VERBS: [&str; 3] = ["insert", "select", "scan"];
/// What a pair took of each verb, in nanoseconds.
type Times = [f64; VERBS.len()];

struct Options {
    pairs: usize,
    rounds: usize,
    node: bool,
    modules: Vec<String>,
    /// Set where this process is to run the native engine with an index, and which pages it may have.
    native: Option<(Index, Pages)>,
}

/// What the system may give to a process or a memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pages {
    Huge,
    Small,
}

fn options() -> Fallible<Options> {
    let mut options = Options { pairs: 1_000_000, rounds: 5, node: false, modules: Vec::new(), native: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number =
            || -> Fallible<usize> { Ok(arguments.next().ok_or("a number is missing")?.parse()?) };
        match argument.as_str() {
            "--pairs" => options.pairs = number()?,
            "--rounds" => options.rounds = number()?,
            "--node" => options.node = true,
            "--native" => {
                let mut next = || arguments.next().ok_or("an index and pages are missing");
                let index = next()?.parse()?;
                options.native = Some((index, if next()? == "huge" { Pages::Huge } else { Pages::Small }));
            }
            "--bench" | "--test" => {} // what cargo passes
            name if !name.starts_with('-') => options.modules.push(argument),
            other => return Err(format!("{other} is not an option").into()),
        }
    }
    if options.modules.is_empty() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/npm");
        options.modules = ["twindex.fast.wasm", "twindex.wasm"].map(|name| format!("{folder}/{name}")).into();
    }
    Ok(options)
}

fn main() -> Fallible {
    let Options { pairs, rounds, node, modules, native } = options()?;
    let blocks = Blocks::new(pairs);
    if let Some((index, pages)) = native {
        return run_native(&blocks, index, pages);
    }
    let folder = tempfile::tempdir()?;
    if node {
        blocks.write_to(folder.path())?;
    }
    for path in modules {
        let module = Module::new(&wasmtime::Engine::new(&Config::new())?, fs::read(&path)?)?;
        let name = Path::new(&path).file_name().unwrap_or_default().display();
        println!("{name}: {pairs} pairs of {KEY} + {VALUE} bytes, {rounds} rounds, nanoseconds a pair\n");
        println!(
            "| host | index | verb | native | on small pages | inside | | native, many | on small pages | inside, many | \
             | a call each | |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
        for index in [Index::Hash, Index::Sorted] {
            let mut natives = [Vec::new(), Vec::new()];
            let mut hosts = vec![("wasmtime", Vec::new())];
            if cfg!(target_os = "linux") {
                hosts.push(("wasmtime, huge pages", Vec::new()));
            }
            if node {
                hosts.push(("Node", Vec::new()));
            }
            for _ in 0..rounds {
                natives[0].push(native_in_a_process(pairs, index, Pages::Huge)?);
                natives[1].push(native_in_a_process(pairs, index, Pages::Small)?);
                for (host, taken) in &mut hosts {
                    taken.push(match *host {
                        "Node" => in_node(&path, folder.path(), index)?,
                        "wasmtime" => in_wasmtime(&module, &blocks, index, Pages::Small)?,
                        _ => in_wasmtime(&module, &blocks, index, Pages::Huge)?,
                    });
                }
            }
            let natives = natives.map(|rounds| medians(&rounds));
            for (host, taken) in hosts {
                print_rows(host, index, natives, medians(&taken));
            }
        }
        println!();
    }
    Ok(())
}

fn print_rows(host: &str, index: Index, natives: [[Times; 2]; 2], taken: [Times; 3]) {
    for (at, verb) in VERBS.iter().enumerate().take(if index == Index::Hash { 2 } else { 3 }) {
        let [[one, many], [small_one, small_many]] = natives.map(|native| native.map(|times| times[at]));
        let [inside, inside_many, calls] = taken.map(|times| times[at]);
        println!(
            "| {host} | {} | {verb} | {one:.0} | {small_one:.0} | {inside:.0} | {:.2}x, {:.2}x | {many:.0} | \
             {small_many:.0} | {inside_many:.0} | {:.2}x, {:.2}x | {calls:.0} | {:.2}x |",
            index.name(),
            one / inside,
            small_one / inside,
            many / inside_many,
            small_many / inside_many,
            calls / inside,
        );
    }
}

/// Way by way and verb by verb.
fn medians<const WAYS: usize>(rounds: &[[Times; WAYS]]) -> [Times; WAYS] {
    std::array::from_fn(|way| median(&rounds.iter().map(|ways| ways[way]).collect::<Vec<_>>()))
}

/// The times of the native engine, one by one and many at once, in a process of its own.
fn native_in_a_process(pairs: usize, index: Index, pages: Pages) -> Fallible<[Times; 2]> {
    let pages = if pages == Pages::Huge { "huge" } else { "small" };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--pairs", &pairs.to_string(), "--native", index.name(), pages]);
    Ok(serde_json::from_slice(&output_of(&mut command)?)?)
}

/// What `native_in_a_process` asked for.
fn run_native(blocks: &Blocks, index: Index, pages: Pages) -> Fallible {
    #[cfg(target_os = "linux")]
    if pages == Pages::Small {
        huge_pages::forbid_in_this_process()?;
    }
    let table = || Store::new().table("pairs", index);
    let one = run(&mut Native(table()?), blocks, index)?;
    let many = run(&mut NativeMany(table()?), blocks, index)?;
    println!("{}", serde_json::to_string(&[one, many])?);
    Ok(())
}

/// The times of the module's three ways in wasmtime.
fn in_wasmtime(module: &Module, blocks: &Blocks, index: Index, pages: Pages) -> Fallible<[Times; 3]> {
    let open = || Open::new(module, index, pages);
    let inside = run(&mut Inside::new(open()?)?, blocks, index)?;
    let many = run(&mut InBlocks(open()?), blocks, index)?;
    Ok([inside, many, run(&mut Calls(open()?), blocks, index)?])
}

/// Verb by verb.
fn median(rounds: &[Times]) -> Times {
    [0, 1, 2].map(|verb| {
        let mut times: Vec<_> = rounds.iter().map(|times| times[verb]).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    })
}

/// The times of the module's three ways in Node, whose loops are in `ratios.mjs`.
fn in_node(module: &str, blocks: &Path, index: Index) -> Fallible<[Times; 3]> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ratios.mjs");
    let output = output_of(Command::new("node").arg(script).arg(module).arg(blocks).arg(index.name()))?;
    Ok(serde_json::from_slice(&output)?)
}

/// What a command prints.
fn output_of(command: &mut Command) -> Fallible<Vec<u8>> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(output.stdout)
}

/// Every pair, packed: to be inserted in one random order and read in another.
struct Blocks {
    pairs: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
}

impl Blocks {
    fn new(count: usize) -> Self {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut keys: Vec<_> = (0..count).map(|_| format!("{:016x}", rng.u64(..)).into_bytes()).collect();
        let packed = |keys: &[Vec<u8>], is_pair: bool| {
            let mut block = Vec::new();
            for key in keys {
                let value: Vec<u8> = key.iter().rev().copied().collect();
                if is_pair {
                    guest::pack(&mut block, &[Some(key), Some(&value)]);
                } else {
                    guest::pack(&mut block, &[Some(key)]);
                }
            }
            block
        };
        let pairs = keys.chunks(BLOCK).map(|keys| packed(keys, true)).collect();
        rng.shuffle(&mut keys);
        Self { pairs, keys: keys.chunks(BLOCK).map(|keys| packed(keys, false)).collect() }
    }

    /// As files in which each block has its length before it.
    fn write_to(&self, folder: &Path) -> Fallible {
        for (name, blocks) in [("pairs", &self.pairs), ("keys", &self.keys)] {
            let framed =
                blocks.iter().flat_map(|block| [(block.len() as u32).to_le_bytes().to_vec(), block.clone()]);
            fs::write(folder.join(name), framed.collect::<Vec<_>>().concat())?;
        }
        Ok(())
    }
}

/// One way to do the work. Each method says how many pairs there were.
trait Way {
    fn insert(&mut self, pairs: &[u8]) -> Fallible<usize>;
    fn select(&mut self, keys: &[u8]) -> Fallible<usize>;
    /// Goes up from the first pair to the last.
    fn scan(&mut self) -> Fallible<usize>;
}

fn run(way: &mut impl Way, blocks: &Blocks, index: Index) -> Fallible<Times> {
    let mut times = Times::default();
    let mut count = 0;
    for (verb, time) in times.iter_mut().enumerate() {
        if verb == 2 && index == Index::Hash {
            break;
        }
        let start = Instant::now();
        let mut done = 0;
        match verb {
            0 => {
                for block in &blocks.pairs {
                    done += way.insert(block)?;
                }
            }
            1 => {
                for block in &blocks.keys {
                    done += way.select(block)?;
                }
            }
            _ => done = way.scan()?,
        }
        if verb == 0 {
            count = done;
        }
        assert_eq!(done, count, "{} finds every pair", VERBS[verb]);
        *time = start.elapsed().as_secs_f64() * 1e9 / count as f64;
    }
    Ok(times)
}

/// The engine's verbs on one key.
struct Native(Table);

impl Way for Native {
    fn insert(&mut self, mut pairs: &[u8]) -> Fallible<usize> {
        let mut inserted = 0;
        while !pairs.is_empty() {
            let (key, value) = take_pair(&mut pairs);
            inserted += usize::from(self.0.insert(key, value)?);
        }
        Ok(inserted)
    }

    fn select(&mut self, mut keys: &[u8]) -> Fallible<usize> {
        let (mut found, mut answer) = (0, Vec::new());
        while !keys.is_empty() {
            let length = take_length(&mut keys);
            let key = take(&mut keys, length);
            answer.clear();
            found += usize::from(self.0.select_with(key, |value| answer.extend_from_slice(value)).is_some());
        }
        Ok(found)
    }

    fn scan(&mut self) -> Fallible<usize> {
        let mut cursor = self.0.cursor(..);
        let (mut pairs, mut answer) = (0, Vec::new());
        while let Some((key, value)) = cursor.scan_asc_next() {
            answer.clear();
            push_pair(&mut answer, key, value);
            pairs += 1;
        }
        Ok(pairs)
    }
}

fn push_pair(answer: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    answer.extend_from_slice(&(key.len() as u32).to_le_bytes());
    answer.extend_from_slice(&(value.len() as u32).to_le_bytes());
    answer.extend_from_slice(key);
    answer.extend_from_slice(value);
}

/// The engine's forms for many, over the same packed blocks and to the same packed answers.
struct NativeMany(Table);

impl Way for NativeMany {
    fn insert(&mut self, mut block: &[u8]) -> Fallible<usize> {
        let mut pairs = Vec::with_capacity(BLOCK);
        while !block.is_empty() {
            pairs.push(take_pair(&mut block));
        }
        Ok(self.0.insert_many(&pairs)?.into_iter().map(usize::from).sum())
    }

    fn select(&mut self, mut block: &[u8]) -> Fallible<usize> {
        let mut keys = Vec::with_capacity(BLOCK);
        while !block.is_empty() {
            let length = take_length(&mut block);
            keys.push(take(&mut block, length));
        }
        let (mut found, mut answer) = (0, Vec::new());
        self.0.select_many(&keys, |_, value| {
            let value = value.inspect(|_| found += 1).unwrap_or_default();
            answer.extend_from_slice(&(value.len() as u32).to_le_bytes());
            answer.extend_from_slice(value);
        });
        Ok(found)
    }

    fn scan(&mut self) -> Fallible<usize> {
        let mut cursor: Cursor = self.0.cursor(..);
        let (mut pairs, mut answer) = (0, Vec::new());
        loop {
            answer.clear();
            match cursor.scan_asc_next_many(BLOCK, |key, value| push_pair(&mut answer, key, value)) {
                0 => return Ok(pairs),
                more => pairs += more,
            }
        }
    }
}

/// An instance with a table.
struct Open {
    guest: Guest,
    table: u32,
}

impl Open {
    fn new(module: &Module, index: Index, pages: Pages) -> Fallible<Self> {
        let mut guest = Guest::of(module, 1 << 32)?;
        #[cfg(target_os = "linux")]
        if pages == Pages::Huge {
            huge_pages::ask_for(guest.memory, &guest.store)?;
        }
        let store = guest.store_new(None)?;
        let table = guest.table(store, b"pairs", index.name())?;
        Ok(Self { guest, table })
    }
}

/// A call for every block, of the driver, which calls the module for every pair.
struct Inside {
    open: Open,
    insert: TypedFunc<(u32, u32, u32), u32>,
    select: TypedFunc<(u32, u32, u32), u32>,
    scan: TypedFunc<u32, u32>,
}

impl Inside {
    fn new(mut open: Open) -> Fallible<Self> {
        let Guest { store, instance, .. } = &mut open.guest;
        let engine = store.engine().clone();
        let driver = Module::new(&engine, include_str!("driver.wat"))?;
        let mut linker = Linker::new(&engine);
        linker.instance(&mut *store, "twindex", *instance)?;
        let driver = linker.instantiate(&mut *store, &driver)?;
        let [insert, select] = ["insert", "select"].map(|name| driver.get_typed_func(&mut *store, name));
        let scan = driver.get_typed_func(&mut *store, "scan")?;
        Ok(Self { insert: insert?, select: select?, scan, open })
    }
}

impl Way for Inside {
    fn insert(&mut self, pairs: &[u8]) -> Fallible<usize> {
        let Open { guest, table } = &mut self.open;
        let [(at, length)] = guest.put([pairs]);
        Ok(self.insert.call(&mut guest.store, (*table, at, at + length))? as usize)
    }

    fn select(&mut self, keys: &[u8]) -> Fallible<usize> {
        let Open { guest, table } = &mut self.open;
        let [(at, length)] = guest.put([keys]);
        Ok(self.select.call(&mut guest.store, (*table, at, at + length))? as usize)
    }

    fn scan(&mut self) -> Fallible<usize> {
        let Open { guest, table } = &mut self.open;
        let cursor = guest.cursor(*table, (NONE, b""), (NONE, b""))?;
        Ok(self.scan.call(&mut guest.store, cursor)? as usize)
    }
}

/// The module's forms for many.
struct InBlocks(Open);

impl Way for InBlocks {
    fn insert(&mut self, pairs: &[u8]) -> Fallible<usize> {
        let Open { guest, table } = &mut self.0;
        let [(at, length)] = guest.put([pairs]);
        let status = guest.exports.insert_many.call(&mut guest.store, (*table, at, length));
        guest.check(status)?;
        Ok(guest.answer_bytes().iter().map(|&byte| usize::from(byte)).sum())
    }

    fn select(&mut self, keys: &[u8]) -> Fallible<usize> {
        let Open { guest, table } = &mut self.0;
        let [(at, length)] = guest.put([keys]);
        let status = guest.exports.select_many.call(&mut guest.store, (*table, at, length));
        guest.check(status)?;
        Ok(guest.answer_bytes().len() / (4 + VALUE))
    }

    fn scan(&mut self) -> Fallible<usize> {
        let Open { guest, table } = &mut self.0;
        let cursor = guest.cursor(*table, (NONE, b""), (NONE, b""))?;
        let mut pairs = 0;
        loop {
            let arguments = (cursor, BLOCK as u32, u32::MAX);
            let status = guest.exports.scan_asc_next_many.call(&mut guest.store, arguments);
            guest.check(status)?;
            match guest.answer_count() {
                0 => return Ok(pairs),
                more => pairs += more,
            }
        }
    }
}

/// A call from the host for every pair.
struct Calls(Open);

impl Way for Calls {
    fn insert(&mut self, mut pairs: &[u8]) -> Fallible<usize> {
        let mut inserted = 0;
        while !pairs.is_empty() {
            let (key, value) = take_pair(&mut pairs);
            inserted += usize::from(self.0.guest.insert(self.0.table, key, value)?);
        }
        Ok(inserted)
    }

    fn select(&mut self, mut keys: &[u8]) -> Fallible<usize> {
        let mut found = 0;
        while !keys.is_empty() {
            let length = take_length(&mut keys);
            let key = take(&mut keys, length);
            found += usize::from(self.0.guest.select_with(self.0.table, key, <[u8]>::len)?.is_some());
        }
        Ok(found)
    }

    fn scan(&mut self) -> Fallible<usize> {
        let Open { guest, table } = &mut self.0;
        let cursor = guest.cursor(*table, (NONE, b""), (NONE, b""))?;
        let mut pairs = 0;
        while guest.scan_next_with(cursor, false, |key, value| key.len() + value.len())?.is_some() {
            pairs += 1;
        }
        Ok(pairs)
    }
}
