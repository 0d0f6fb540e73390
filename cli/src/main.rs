//! The command-line tool `twindex`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(twindex_cli::run(std::env::args_os()))
}
