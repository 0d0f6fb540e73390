//! Twindex beside what Rust programs use today; `benches/peers` has many more systems, and takes longer to build.

fn main() -> std::process::ExitCode {
    twindex_benches::main(&twindex_benches::usual::SYSTEMS)
}
