//! The command-line tool `twindex` as a function, so that `python -m twindex` and `npx twindex` are the same.
//!
//! | command | what it does |
//! |---|---|
//! | `twindex info FILE` | tells what is in a file |
//! | `twindex get FILE TABLE KEY` | shows a value |
//! | `twindex scan FILE TABLE` | shows the pairs of a table |
//! | `twindex set FILE TABLE KEY VALUE` | writes a pair |
//! | `twindex delete FILE TABLE KEY` | deletes a pair |
//! | `twindex shell FILE` | takes such commands one after another |
//! | `twindex check FILE` | verifies every checksum and says where damage is |
//! | `twindex recover FILE TARGET` | writes what can be saved to a new file |
//! | `twindex export FILE [OUTPUT]` | writes every pair as a line of JSON |
//! | `twindex import FILE [INPUT]` | reads such lines |
//! | `twindex changes FILE` | writes the changes since the file was last written anew, as lines of JSON |
//! | `twindex compact FILE` | writes the file anew, without what has been overwritten |
//! | `twindex push FILE URL` | brings a file's tables into a Valkey or Redis Cluster |
//! | `twindex pull URL FILE` | brings them back into a file |
//!
//! The last two are there where the crate was built with its feature `cluster`, and the shell everywhere but in WebAssembly.
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
    /// Tells what is in a file: its tables, their pairs, and the sizes of dump and log
    Info {
        /// The store's file
        file: PathBuf,
    },
    /// Shows a value
    ///
    /// A terminal gets it as text on one line. A program gets its bytes as they are, and a line end.
    #[command(visible_alias = "select")]
    Get(pairs::OfFile<pairs::Get>),
    /// Shows pairs of a table: of a sorted one in order, of a hash table in any
    Scan(pairs::OfFile<pairs::Scan>),
    /// Writes a pair, whether its key was there or not
    #[command(visible_alias = "upsert")]
    Set(pairs::OfFile<pairs::Set>),
    /// Writes a pair, and fails if its key is there
    Insert(pairs::OfFile<pairs::Set>),
    /// Deletes a pair
    Delete(pairs::OfFile<pairs::Delete>),
    /// Takes commands one after another, with completion and a history
    #[cfg(not(target_family = "wasm"))]
    Shell {
        /// The store's file
        file: PathBuf,
        /// Opens the file for writing, so that no other process can
        #[arg(long)]
        write: bool,
    },
    /// Verifies every checksum of a file and says where damage is
    Check {
        /// The store's file
        file: PathBuf,
    },
    /// Writes what can be saved of a damaged file to a new one, and leaves the old one as it is
    Recover {
        /// The damaged file
        file: PathBuf,
        /// The file to write, which must not be there yet
        target: PathBuf,
    },
    /// Writes every pair as a line of JSON
    ///
    /// A line {"table": "t", "index": "hash", "keys": "str", "values": "json"} with the codecs comes before a
    /// table's pairs, and each pair is a line {"table": "t", "key": "k", "value": [1]}. Integers are numbers,
    /// tuples are arrays, JSON is itself, anything else is a string. What cannot be said so, such as bytes
    /// that are not text, is in base64, under "key64" and "value64".
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
    /// A key that is there gets the new value. Unless a line says otherwise, a new table has a hash index, and
    /// its keys and values are text.
    #[command(verbatim_doc_comment)]
    Import {
        /// The store's file
        file: PathBuf,
        /// Where the lines come from; the standard input by default
        input: Option<PathBuf>,
    },
    /// Writes the changes of a store, in order, as lines of JSON; its writer may go on
    ///
    /// A line is a batch of changes, which were made together, and the position behind it:
    /// {"position": "f03a...-7", "changes": [{"kind": "put", "table": "t", "key": "k", "value": [1]}]}.
    /// The kinds are put, delete, create, drop and clear. Tables, keys and values are as `export` writes them.
    #[command(verbatim_doc_comment)]
    Changes {
        /// The store's file
        file: PathBuf,
        /// Only those behind this position; by default all that the file has
        #[arg(long, value_name = "POSITION")]
        from: Option<String>,
        /// Waits for more at the end, until it is stopped
        #[arg(long)]
        follow: bool,
    },
    /// Writes the file anew, without what has been overwritten or deleted
    Compact {
        /// The store's file
        file: PathBuf,
    },
    /// Brings the tables of a file into a Valkey or Redis Cluster, or one server
    ///
    /// Only pairs that are missing there or differ are written, so what was stopped goes on when it is run again.
    #[cfg(feature = "cluster")]
    Push {
        /// The store's file
        file: PathBuf,
        #[command(flatten)]
        servers: transfer::Servers,
    },
    /// Brings the tables of a Valkey or Redis Cluster, or of one server, into a file, which may be new
    #[cfg(feature = "cluster")]
    Pull {
        #[command(flatten)]
        servers: transfer::Servers,
        /// The store's file
        file: PathBuf,
    },
}

/// Runs the command that `arguments`, the program's name first, ask for; the exit code.
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
