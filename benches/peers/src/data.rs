//! What the pairs are like, as options.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::clock::Clock;

/// What the pairs are like, and how they are measured.
#[derive(Args, Clone, Debug)]
pub(crate) struct Data {
    /// What the keys are: random hexadecimal text, a row of decimal numbers, file paths, or words of a file
    #[arg(long, value_name = "KIND", value_enum, default_value_t = KeyKind::Hex)]
    pub(crate) key_kind: KeyKind,
    /// The file of words, one per line
    #[arg(long, value_name = "FILE", required_if_eq("key_kind", "words"))]
    pub(crate) keys_from: Option<PathBuf>,
    /// The length of hex and seq keys
    #[arg(long, value_name = "BYTES", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) key_bytes: u16,
    /// The length of the values
    #[arg(long, value_name = "BYTES", default_value_t = 16, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) value_bytes: u32,
    /// What time is: the clock on the wall, or the processor's time of the thread, which other programs
    /// disturb less; for one thread only
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = Clock::Wall)]
    pub(crate) clock: Clock,
    /// The length of the values of the YCSB rows
    #[arg(long, value_name = "BYTES", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) ycsb_value_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyKind {
    /// Random hexadecimal text
    Hex,
    /// Decimal numbers from 0 on with leading zeros
    Seq,
    /// Made-up paths of files, of different lengths, with long common beginnings
    Paths,
    /// The lines of the file of --keys-from
    Words,
}

impl Data {
    /// The same options again, for a process that the driver starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = vec![
            format!("--key-kind={}", name(&self.key_kind)),
            format!("--clock={}", name(&self.clock)),
            format!("--key-bytes={}", self.key_bytes),
            format!("--value-bytes={}", self.value_bytes),
            format!("--ycsb-value-bytes={}", self.ycsb_value_bytes),
        ];
        args.extend(self.keys_from.as_ref().map(|path| format!("--keys-from={}", path.display())));
        args
    }
}

fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().expect("no choice is hidden").get_name().to_owned()
}
