//! The standard tests over the engine itself, in threads of this process; with `--beside` over what Rust programs use today.

mod usual;

use std::process::ExitCode;

use clap::Parser;
use twindex::{Cursor, Index, Store, Table};
use twindex_benches::{Fallible, Host, Options, Report, Test, Worker, run};

use crate::usual::Usual;

#[derive(Parser)]
struct Cli {
    /// Measures hashbrown and std's B-tree instead, with one thread
    #[arg(long)]
    beside: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Default)]
struct Native {
    store: Store,
    table: Option<Table>,
}

struct Thread {
    table: Table,
    cursor: Option<Cursor>,
}

impl Host for Native {
    const NAME: &'static str = "rust";
    const THREADS: bool = true;
    type Worker<'h> = Thread;

    fn renew(&mut self, test: Test) -> Fallible {
        *self = Self::default();
        let index = match test {
            Test::Strings | Test::Clients => Index::Hash,
            Test::Sorted => Index::Sorted,
        };
        self.table = Some(self.store.table("pairs", index)?);
        Ok(())
    }

    fn workers(&mut self, threads: usize) -> Fallible<Vec<Thread>> {
        let table = self.table.as_ref().ok_or("no table was made")?;
        Ok((0..threads).map(|_| Thread { table: table.clone(), cursor: None }).collect())
    }

    fn memory(&mut self) -> Fallible<Option<u64>> {
        Ok(Some(self.store.memory() as u64))
    }
}

impl Worker for Thread {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        Ok(self.table.insert(key, value)?)
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        Ok(self.table.replace(key, value)?)
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>> {
        Ok(self.table.select_with(key, read))
    }

    fn open(&mut self, first: &[u8]) -> Fallible {
        self.cursor = Some(self.table.try_cursor(first..)?);
        Ok(())
    }

    fn scan_asc_next<R>(&mut self, read: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>> {
        let cursor = self.cursor.as_mut().ok_or("no cursor was opened")?;
        Ok(cursor.scan_asc_next().map(|(key, value)| read(key, value)))
    }
}

fn main() -> ExitCode {
    let Cli { beside, options } = Cli::parse();
    let report =
        if beside { run(&mut Usual::default(), &options) } else { run(&mut Native::default(), &options) };
    Report::end(report, options.json.as_deref())
}
