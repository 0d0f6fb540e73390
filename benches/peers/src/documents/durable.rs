//! Redis as a store of blobs, with persistence: off, every second and always.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags};
use tempfile::TempDir;
use twindex::Index;
use twindex_benches::{Reach, Record, claim_memory};
use twindex_durable::{Durability, Options, Store, Table};

use super::blobs::{BATCH, BLOBS, LISTS, append_all};
use super::test::{Job, System, per_second, record, special};
use crate::clock::Clock;
use crate::peer::{Peer, Session, spread, time};
use crate::peers::{self, redis};
use crate::server::Persistence;

pub(super) const SYSTEMS: &[System] = &[
    special("twindex", Reach::Process, durable::<Twindex>),
    special("lmdb", Reach::Process, durable::<Lmdb>),
    special("redis", Reach::Loopback, durable::<peers::Redis<redis::Lists>>),
];

/// A system that writes what is appended to a disk, each batch as a whole.
trait Durable: Peer {
    fn open(persistence: Persistence, folder: &Path) -> Self;
}

/// Eight writers append batches of 256 blobs of 100 bytes.
fn durable<P: Durable>(job: &Job) -> Vec<Record> {
    let blob = BLOBS[0];
    Persistence::ALL
        .into_iter()
        .map(|persistence| {
            let batches = match persistence {
                Persistence::Always => job.sizes.synced_batches,
                Persistence::Off | Persistence::EverySecond => job.sizes.unsynced_batches,
            };
            let each = (batches / LISTS).max(1) * BATCH;
            // Their memory, and that of the system for their file.
            claim_memory(4 * (each * LISTS * blob) as u64);
            let mut peer = P::open(persistence, job.folder);
            let time = time(Clock::Wall, &mut peer, LISTS, |list, session| {
                append_all(session, list, 0..each as u64, blob, BATCH);
            });
            record::<P>("append_durable", each * LISTS)
                .with("persistence", persistence.name())
                .with("blob_bytes", blob)
                .figure("messages_per_second", per_second(each * LISTS, time))
        })
        .collect()
}

impl Durable for peers::Redis<redis::Lists> {
    fn open(persistence: Persistence, folder: &Path) -> Self {
        Self::with(persistence, folder)
    }
}

/// Twindex in a file.
struct Twindex {
    store: Store,
    table: Table,
    _folder: TempDir,
}

impl Durable for Twindex {
    fn open(persistence: Persistence, folder: &Path) -> Self {
        let folder = TempDir::new_in(folder).expect("a folder can be made");
        let durability = match persistence {
            Persistence::Off => Durability::None,
            Persistence::EverySecond => Durability::EverySec,
            Persistence::Always => Durability::Always,
        };
        let store = Options::new().durability(durability).open(folder.path().join("blobs.twx"));
        let store = store.unwrap_or_else(|error| panic!("{error}"));
        let table = store.table("messages", Index::Sorted).expect("the name is valid");
        Self { store, table, _folder: folder }
    }
}

impl Drop for Twindex {
    fn drop(&mut self) {
        self.store.close().expect("the file is written");
    }
}

impl Peer for Twindex {
    const NAME: &'static str = "twindex";
    const THREADS: bool = true;
    type Session<'p> = &'p Table;

    fn new() -> Self {
        Self::open(Persistence::Off, &std::env::temp_dir())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Table) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &self.table, work)
    }
}

impl Session for &Table {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::insert(self, key, value).expect("the log is written")
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::replace(self, key, value).expect("the log is written")
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        Table::delete(self, key).expect("the log is written")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.select_with(key, read).expect("the store is open")
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let took_effect = Table::insert_many(self, pairs).expect("the log is written");
        took_effect.into_iter().filter(|&effect| effect).count()
    }
}

/// LMDB in a folder, a transaction for each call; every second by a thread that syncs.
struct Lmdb {
    env: Arc<Env>,
    pairs: Database<Bytes, Bytes>,
    syncing: Option<(Sender<()>, JoinHandle<()>)>,
    _folder: TempDir,
}

impl Durable for Lmdb {
    fn open(persistence: Persistence, folder: &Path) -> Self {
        let folder = TempDir::new_in(folder).expect("a folder can be made");
        let flags = match persistence {
            Persistence::Always => EnvFlags::empty(),
            Persistence::Off | Persistence::EverySecond => EnvFlags::NO_SYNC,
        };
        // SAFETY: no other process knows the folder, and this one opens it once. Without syncing a crash may leave a
        // broken file, which is never opened again.
        let env = unsafe { EnvOpenOptions::new().map_size(16 << 30).flags(flags).open(folder.path()) };
        let env = Arc::new(env.expect("LMDB opens an empty folder"));
        let mut txn = env.write_txn().expect("LMDB opens a transaction");
        let pairs = env.create_database(&mut txn, None).expect("LMDB creates its one database");
        txn.commit().expect("LMDB commits");
        let syncing = (persistence == Persistence::EverySecond).then(|| sync_every_second(env.clone()));
        Self { env, pairs, syncing, _folder: folder }
    }
}

fn sync_every_second(env: Arc<Env>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            env.force_sync().expect("LMDB syncs");
        }
    });
    (stop, thread)
}

impl Drop for Lmdb {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.syncing.take() {
            drop(stop);
            thread.join().expect("LMDB synced");
        }
    }
}

impl Peer for Lmdb {
    const NAME: &'static str = "lmdb";
    const THREADS: bool = true;
    type Session<'p> = &'p Lmdb;

    fn new() -> Self {
        Self::open(Persistence::Off, &std::env::temp_dir())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Lmdb) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Lmdb {
    fn write<R>(&self, work: impl FnOnce(&mut heed::RwTxn<'_>) -> R) -> R {
        let mut txn = self.env.write_txn().expect("LMDB opens a transaction");
        let result = work(&mut txn);
        txn.commit().expect("LMDB commits");
        result
    }
}

impl Session for &Lmdb {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.insert_many(&[(key, value)]) == 1
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.write(|txn| self.pairs.put(txn, key, value)).expect("LMDB puts");
        true
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.write(|txn| self.pairs.delete(txn, key)).expect("LMDB deletes")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let txn = self.env.read_txn().expect("LMDB opens a transaction");
        self.pairs.get(&txn, key).expect("LMDB gets").map(read)
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        self.write(|txn| {
            let put = |(key, value): &&(&[u8], &[u8])| {
                self.pairs.put_with_flags(txn, PutFlags::NO_OVERWRITE, key, value).is_ok()
            };
            pairs.iter().filter(put).count()
        })
    }
}
