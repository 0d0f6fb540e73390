//! LMDB through heed, in a temporary folder in memory, without syncing: one transaction per batch.
//!
//! A session opens a transaction when it first needs one, keeps it, and commits after a thousand writes
//! and at its end. There is one writer at a time, so the writers of other sessions wait for that. Keys
//! have at most 511 bytes.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, Error, MdbError, PutFlags, RoTxn, RwTxn, WithTls};
use tempfile::TempDir;

use crate::peer::{Peer, Session, SortedSession, spread};

/// Writes per transaction.
const BATCH: usize = 1_000;
/// The room that is reserved, not taken.
const MAP_BYTES: usize = 64 << 30;

pub(crate) struct Lmdb {
    env: Env,
    pairs: Database<Bytes, Bytes>,
    _folder: TempDir,
}

/// Reads go through the write transaction while one is open.
pub(crate) struct Transaction<'p> {
    lmdb: &'p Lmdb,
    read: Option<RoTxn<'p, WithTls>>,
    write: Option<RwTxn<'p>>,
    writes: usize,
}

impl<'p> Transaction<'p> {
    fn new(lmdb: &'p Lmdb) -> Self {
        Self { lmdb, read: None, write: None, writes: 0 }
    }

    fn write<R>(&mut self, work: impl FnOnce(&Database<Bytes, Bytes>, &mut RwTxn<'_>) -> R) -> R {
        self.read = None;
        let lmdb = self.lmdb;
        let txn = self.write.get_or_insert_with(|| lmdb.env.write_txn().expect("LMDB opens a transaction"));
        let result = work(&lmdb.pairs, txn);
        self.writes += 1;
        if self.writes == BATCH {
            self.commit();
        }
        result
    }

    fn read(&mut self) -> &RoTxn<'_> {
        let lmdb = self.lmdb;
        match &self.write {
            Some(txn) => txn,
            None => self.read.get_or_insert_with(|| lmdb.env.read_txn().expect("LMDB opens a transaction")),
        }
    }

    fn commit(&mut self) {
        if let Some(txn) = self.write.take() {
            txn.commit().expect("LMDB commits");
        }
        self.writes = 0;
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.commit();
    }
}

impl Peer for Lmdb {
    const NAME: &'static str = "lmdb";
    const THREADS: bool = true;
    type Session<'p> = Transaction<'p>;

    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
        let folder = folder.expect("a temporary folder can be made");
        // SAFETY: no other process knows the folder, and this one opens it once. Without syncing a crash
        // may leave a broken file, which is then removed and never opened again.
        let env = unsafe {
            EnvOpenOptions::new()
                .map_size(MAP_BYTES)
                .flags(EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC)
                .open(folder.path())
                .expect("LMDB opens an empty folder")
        };
        let mut txn = env.write_txn().expect("LMDB opens a transaction");
        let pairs = env.create_database(&mut txn, None).expect("LMDB creates its one database");
        txn.commit().expect("LMDB commits");
        Self { env, pairs, _folder: folder }
    }

    /// An environment costs a file, a mapping and two descriptors.
    fn several(_count: usize) -> Option<Vec<Self>> {
        None
    }

    /// The size of its file, of which little is mapped before it is read.
    fn bytes(&self) -> Option<u64> {
        self.env.real_disk_size().ok()
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Transaction<'_>) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || Transaction::new(self), work)
    }
}

impl Session for Transaction<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        let put = self.write(|pairs, txn| pairs.put_with_flags(txn, PutFlags::NO_OVERWRITE, key, value));
        match put {
            Ok(()) => true,
            Err(Error::Mdb(MdbError::KeyExist)) => false,
            Err(error) => panic!("LMDB failed to put: {error}"),
        }
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.write(|pairs, txn| pairs.put(txn, key, value)).expect("LMDB puts");
        true
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.write(|pairs, txn| pairs.delete(txn, key)).expect("LMDB deletes")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let pairs = self.lmdb.pairs;
        pairs.get(self.read(), key).expect("LMDB gets").map(read)
    }
}

impl SortedSession for Transaction<'_> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let pairs = self.lmdb.pairs;
        let range = (Bound::Included(first), Bound::Unbounded);
        let pairs = pairs.range(self.read(), &range).expect("LMDB opens a cursor").take(limit);
        pairs.map(|pair| pair.expect("LMDB moves a cursor")).map(|(key, value)| read(key, value)).count()
    }
}
