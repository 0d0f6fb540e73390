//! The command-line tool `twindex` as a function, so that `python -m twindex` and `npx twindex` are the same.
//!
//! | command | effect |
//! |---|---|
//! | `twindex info FILE` | lists the tables and sizes of a file |
//! | `twindex get FILE TABLE KEY` | prints a value |
//! | `twindex scan FILE TABLE` | prints the pairs of a table |
//! | `twindex set FILE TABLE KEY VALUE` | writes a pair |
//! | `twindex delete FILE TABLE KEY` | deletes a pair |
//! | `twindex shell FILE` | reads such commands |
//! | `twindex check FILE` | verifies every checksum and prints where the file is damaged |
//! | `twindex recover FILE TARGET` | writes what can be saved to a new file |
//! | `twindex export FILE [OUTPUT]` | writes every pair as a line of JSON |
//! | `twindex import FILE [INPUT]` | reads such lines |
//! | `twindex changes FILE` | prints the changes in order, as lines of JSON |
//! | `twindex compact FILE` | rewrites the file without overwritten and deleted pairs |
//! | `twindex push FILE URL` | copies a file's tables to a Valkey or Redis Cluster |
//! | `twindex pull URL FILE` | copies them back into a file |
//!
//! The last two need the feature `cluster`. WebAssembly has no shell.
//!
//! Exit codes: 0 success, 1 failure, 2 wrong command line, 3 damaged file.

mod bar;
mod commands;
mod json;
mod lines;
mod outcome;
mod pairs;
#[cfg(not(target_family = "wasm"))]
mod shell;
#[cfg(feature = "cluster")]
mod transfer;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::outcome::{Failure, OK, WRONG};

/// Inspects, edits and repairs stores in files.
#[derive(Parser)]
#[command(name = "twindex", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The most memory that the file's contents may take: bytes, or a number and K, M, G or T, as in 2G
    ///
    /// By default `info`, `check` and `recover` allow 256 MiB, or 32 bytes for each byte of the file if that is more, and
    /// the others have no limit.
    #[arg(long, global = true, value_name = "BYTES", value_parser = bytes)]
    memory_limit: Option<usize>,
}

/// A number of bytes, as people write it.
fn bytes(text: &str) -> Result<usize, String> {
    let shift = match text.bytes().last().map(|unit| unit.to_ascii_uppercase()) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        _ => 0,
    };
    let number = if shift == 0 { text } else { &text[..text.len() - 1] };
    let bytes =
        number.parse::<usize>().ok().and_then(|number| number.checked_mul(1_usize.checked_shl(shift)?));
    bytes.ok_or_else(|| "it is not a number of bytes, such as 500000, 512M or 2G".into())
}

#[derive(Subcommand)]
enum Command {
    /// Lists the tables of a file, their pairs, and the sizes of dump and log
    Info {
        /// The store's file
        file: PathBuf,
    },
    /// Prints a value
    ///
    /// In a terminal it is text on one line; into a pipe or a file go the bytes unchanged, and a line end.
    #[command(visible_alias = "select")]
    Get(pairs::OfFile<pairs::Get>),
    /// Prints the pairs of a table, those of a sorted one in order
    Scan(pairs::OfFile<pairs::Scan>),
    /// Writes a pair, whether the key is present or not
    #[command(visible_alias = "upsert")]
    Set(pairs::OfFile<pairs::Set>),
    /// Writes a pair; fails if the key is present
    Insert(pairs::OfFile<pairs::Set>),
    /// Deletes a pair
    Delete(pairs::OfFile<pairs::Delete>),
    /// Reads commands, with completion and a history
    #[cfg(not(target_family = "wasm"))]
    Shell {
        /// The store's file
        file: PathBuf,
        /// Opens the file for writing, so that no other process can
        #[arg(long)]
        write: bool,
    },
    /// Verifies every checksum of a file and prints where it is damaged
    Check {
        /// The store's file
        file: PathBuf,
    },
    /// Writes what can be saved of a damaged file to a new one; the old one stays unchanged
    Recover {
        /// The damaged file
        file: PathBuf,
        /// The new file, which must not exist or be empty
        target: PathBuf,
    },
    /// Writes every pair as a line of JSON
    ///
    /// A line {"table": "t", "index": "hash", "keys": "str", "values": "json"} with the codecs comes before a
    /// table's pairs, and each pair is a line {"table": "t", "key": "k", "value": [1]}. Integers are numbers,
    /// tuples are arrays, JSON is itself, text is a string. Anything else, such as bytes that are not text,
    /// is base64, under "key64" and "value64".
    #[command(verbatim_doc_comment)]
    Export {
        /// The store's file
        file: PathBuf,
        /// Where the lines go; the standard output by default
        output: Option<PathBuf>,
        /// This table alone
        #[arg(long)]
        table: Option<String>,
    },
    /// Reads lines of JSON, as `export` writes them, into a file, which may be new
    ///
    /// Existing keys get the new values. By default a new table has a hash index, and its keys and values are text.
    #[command(verbatim_doc_comment)]
    Import {
        /// The store's file
        file: PathBuf,
        /// Where the lines come from; the standard input by default
        input: Option<PathBuf>,
    },
    /// Prints the changes of a store in order, as lines of JSON, also while another process writes
    ///
    /// A line is a batch of changes that were made together, and the position after it:
    /// {"position": "f03a...-7", "changes": [{"kind": "put", "table": "t", "key": "k", "value": [1]}]}.
    /// The kinds are put, delete, create, drop and clear. Tables, keys and values are as `export` writes them.
    #[command(verbatim_doc_comment)]
    Changes {
        /// The store's file
        file: PathBuf,
        /// Only the changes after this position; by default all that the file has
        #[arg(long, value_name = "POSITION")]
        from: Option<String>,
        /// Waits for more at the end
        #[arg(long)]
        follow: bool,
    },
    /// Rewrites the file without overwritten and deleted pairs
    ///
    /// It keeps the last changes, for `changes` and for programs that follow the file: as many bytes as the pairs take, 1 to 16 MiB.
    Compact {
        /// The store's file
        file: PathBuf,
    },
    /// Copies the tables of a file to a Valkey or Redis Cluster, or one server
    ///
    /// Writes only pairs that are missing there or differ, so run it again if it was stopped.
    #[cfg(feature = "cluster")]
    Push {
        /// The store's file
        file: PathBuf,
        #[command(flatten)]
        servers: transfer::Servers,
    },
    /// Copies the tables of a Valkey or Redis Cluster, or of one server, to a file, which may be new
    #[cfg(feature = "cluster")]
    Pull {
        #[command(flatten)]
        servers: transfer::Servers,
        /// The store's file
        file: PathBuf,
    },
}

/// Runs the command of these arguments, the first of which is the program's name. Returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nobody is left to be told where that cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { WRONG } else { OK };
        }
    };
    let limit = arguments.memory_limit;
    let done = match arguments.command {
        Command::Info { file } => commands::info(&file, limit),
        Command::Get(of) => of.read(limit, pairs::get),
        Command::Scan(of) => of.read(limit, pairs::scan),
        Command::Set(of) => of.set(limit, pairs::set),
        Command::Insert(of) => of.set(limit, pairs::insert),
        Command::Delete(of) => of.write(limit, true, pairs::delete),
        #[cfg(not(target_family = "wasm"))]
        Command::Shell { file, write } => shell::run(&file, limit, write),
        Command::Check { file } => commands::check(&file, limit),
        Command::Recover { file, target } => commands::recover(&file, &target, limit),
        Command::Export { file, output, table } => {
            commands::export(&file, limit, output.as_deref(), table.as_deref())
        }
        Command::Import { file, input } => commands::import(&file, limit, input.as_deref()),
        Command::Changes { file, from, follow } => commands::changes(&file, from.as_deref(), follow),
        Command::Compact { file } => commands::compact(&file, limit),
        #[cfg(feature = "cluster")]
        Command::Push { file, servers } => transfer::push(&file, limit, &servers),
        #[cfg(feature = "cluster")]
        Command::Pull { servers, file } => transfer::pull(&servers, &file, limit),
    };
    done.unwrap_or_else(Failure::report)
}
