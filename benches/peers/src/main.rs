//! Twindex beside its peers: maps, LMDB, Redis and caches. `README.md` in the folder above says how this is measured.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unnecessary_wraps,
    reason = "figures are shown"
)]

mod caches;
mod files;
mod lmdb;
mod maps;
mod redis;
mod snapshots;

use std::process::ExitCode;

use twindex_benches::{System, usual};

const HERE: [System; 38] = [
    System::hash::<maps::Sharded>(),
    System::hash::<maps::Papaya>(),
    System::hash::<maps::Scc>(),
    System::hash::<maps::Dashmap>(),
    System::hash::<redis::Redis<redis::Strings>>(),
    System::sorted::<maps::BTreeRwLock>(),
    System::sorted::<maps::TreeIndex>(),
    System::sorted::<maps::Masstree>(),
    System::sorted::<maps::Skiplist>(),
    System::sorted::<maps::Indexset>(),
    System::sorted::<maps::Blart>(),
    System::sorted::<lmdb::InMemory>(),
    System::sorted::<redis::Redis<redis::Members>>(),
    System::sorted::<redis::Redis<redis::Records>>().named("redis-records"),
    System::list::<redis::Redis<redis::Lists>>().named("redis-lists"),
    System::list::<files::InFile<false>>(),
    System::list::<files::InFile<true>>(),
    System::list::<lmdb::InFile>(),
    System::special(
        "twindex",
        &[
            ("file", files::twindex_file),
            ("open", files::open),
            ("open-only", files::open_only),
            ("followers", files::followers),
            ("follow", files::follow),
        ],
    ),
    System::hash::<snapshots::Snapshotted>(),
    System::sorted::<snapshots::Snapshotted>(),
    System::sorted::<snapshots::Redb>(),
    System::special("twindex", &[("snapshots", snapshots::costs), ("transactions", snapshots::transactions)]),
    System::special("lmdb", &[("transactions", snapshots::transactions)]),
    System::special("redb", &[("transactions", snapshots::transactions)]),
    System::special("twindex-file", &[("transactions", snapshots::transactions)]),
    System::special("lmdb", &[("file", files::lmdb_file)]),
    System::special("redis", &[("file", files::redis_file)]),
    System::special("twindex", &[("cache-pauses", caches::pauses)]),
    cache("twindex"),
    cache("quick_cache"),
    cache("moka"),
    cache("mini-moka"),
    cache("schnellru"),
    cache("foyer-s3fifo"),
    cache("foyer-lfu"),
    cache("foyer-lru"),
    cache("foyer-sieve"),
];

const fn cache(name: &'static str) -> System {
    System::special(
        name,
        &[
            ("cache-hits", caches::hits),
            ("cache-speed", caches::speed),
            ("cache-memory", caches::memory),
            ("cache-sizes", caches::sizes),
        ],
    )
}

fn main() -> ExitCode {
    let systems: Vec<System> = usual::SYSTEMS.into_iter().chain(HERE).collect();
    twindex_benches::main(&systems)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use twindex_benches::{Index, Options};

    use super::*;

    /// Over few pairs; a wrong value would panic.
    #[test]
    fn every_system_does_every_work_and_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        for system in usual::SYSTEMS.into_iter().chain(HERE) {
            for (work, _) in system.works {
                // Parts of others, in processes of their own.
                if ["open", "open-only", "followers", "follow"].contains(work) {
                    continue;
                }
                let words = [
                    "peers",
                    work,
                    "--pairs",
                    "1000",
                    "--remote-pairs",
                    "60",
                    "--each",
                    "10",
                    "--batch",
                    "8",
                ];
                let mut options = Options::parse_from(words);
                options.folder = Some(folder.path().into());
                if system.index == Some(Index::Sorted) {
                    (options.index, options.workload) = (Index::Sorted, "E".into());
                }
                let is_shared = system.threads && system.index.is_some() && *work != "small";
                for threads in if is_shared { &[1, 3][..] } else { &[1] } {
                    let threads = *threads;
                    options.threads = threads;
                    let records = system
                        .run(&options)
                        .unwrap_or_else(|error| panic!("{} {work}: {error}", system.name));
                    // LMDB, Redis and files are not for many small tables.
                    assert!(!records.is_empty() || *work == "small", "{} {work}", system.name);
                    for record in records {
                        // No write takes less than a hundred nanoseconds at worst.
                        let least = if record.figure.ends_with("wall, worst") { 100.0 } else { 0.0 };
                        assert!(record.value.is_finite() && record.value >= least, "{work}: {record:?}");
                    }
                }
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files were left");
    }
}
