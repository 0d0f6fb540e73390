//! The options that every host's standard tests take.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::fallible::Fallible;

/// One of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Test {
    /// `TestStrings`: inserts into a hash table, then selects.
    Strings,
    /// `TestSortedSet`: inserts into a sorted table, then scans.
    Sorted,
    /// Skytable's queries: inserts into a hash table, selects, then updates.
    Clients,
}

impl Test {
    /// What is measured, in this order: a write, a read, and for some tests an update.
    pub fn steps(self) -> &'static [&'static str] {
        match self {
            Self::Strings => &["unordered_write", "unordered_read"],
            Self::Sorted => &["sorted_write", "sorted_read"],
            Self::Clients => &["clients_write", "clients_read", "clients_update"],
        }
    }
}

/// The standard tests: how fast pairs are written and read.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Options {
    /// The tests to run: strings (hash table), sorted (sorted table), clients (hash table, with updates)
    #[arg(long = "test", value_name = "TEST", value_enum, value_delimiter = ',', default_values = ["strings", "sorted"])]
    pub tests: Vec<Test>,
    /// How many pairs; at most, with --keys-from
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: u32,
    /// Numbers of threads, each measured by itself
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Vec<u16>,
    /// The length of the random keys, lowercase hexadecimal text
    #[arg(long, value_name = "BYTES", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub key_bytes: u16,
    /// The length of the values
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    pub value_bytes: u32,
    /// How often each step is measured, on a fresh table; the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Takes the keys from a file, one per line; empty lines and duplicates are dropped
    #[arg(long, value_name = "FILE")]
    pub keys_from: Option<PathBuf>,
    /// Writes the results as JSON to a file too, or with - to standard output instead of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Shows no progress bar
    #[arg(long)]
    pub quiet: bool,
    /// What `cargo bench` adds to every call
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Options {
    /// Refuses more threads than the host has.
    pub(crate) fn check_threads(&self, host: &str, threads: bool) -> Fallible {
        match self.threads.iter().find(|&&count| count > 1) {
            Some(count) if !threads => {
                Err(format!("the host {host} has one thread, --threads {count} is not possible").into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_both_tests_at_a_million_pairs() {
        let options = Options::parse_from(["seeds"]);
        assert_eq!(options.tests, [Test::Strings, Test::Sorted]);
        assert_eq!((options.pairs, options.key_bytes, options.value_bytes), (1_000_000, 16, 16));
        assert_eq!((options.threads, options.rounds), (vec![1, 2], 3));
    }

    #[test]
    fn nothing_of_which_there_must_be_one_may_be_zero() {
        for option in ["--pairs", "--threads", "--key-bytes", "--rounds"] {
            assert!(Options::try_parse_from(["seeds", option, "0"]).is_err(), "{option} 0 was taken");
        }
    }

    #[test]
    fn a_host_of_one_thread_refuses_two() {
        let options = Options::parse_from(["seeds", "--threads", "1,2"]);
        assert!(options.check_threads("many", true).is_ok());
        let refusal = options.check_threads("one", false).unwrap_err().to_string();
        assert!(refusal.contains("--threads 2"), "{refusal}");
    }
}
