//! LMDB through heed. There is one writer at a time, so writers of other sessions wait. Keys have at most 511 bytes.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, Error, MdbError, PutFlags, RoTxn, RwTxn, WithTls};
use tempfile::TempDir;
use twindex_benches::{Options, Peer, Persistence, Session, SortedSession, shared};

/// Writes per transaction, where no file is to be kept.
const BATCH: usize = 1_000;

/// In memory, without syncing and with transactions of a thousand writes; or in a file, with one transaction a call.
pub struct Lmdb<const FILE: bool> {
    pub env: Arc<Env>,
    pub pairs: Database<Bytes, Bytes>,
    syncing: Option<(Sender<()>, JoinHandle<()>)>,
    _folder: TempDir,
}

pub type InMemory = Lmdb<false>;
pub type InFile = Lmdb<true>;

/// Opens the environment of a folder that no other process knows.
pub fn open(folder: &Path, flags: EnvFlags) -> Env {
    // SAFETY: no other process knows the folder, and this one has it open once at a time. Without syncing a crash may leave
    // a broken file, which is removed and never opened again. The size is reserved, not taken.
    unsafe { EnvOpenOptions::new().map_size(64 << 30).flags(flags).open(folder) }
        .expect("LMDB opens a folder")
}

impl<const FILE: bool> Peer for Lmdb<FILE> {
    const NAME: &'static str = if FILE { "lmdb-file" } else { "lmdb" };
    // An environment costs a file, a mapping and two descriptors.
    const MANY: bool = false;
    shared!(Transaction<'p>, |peer| Transaction {
        env: &peer.env,
        pairs: peer.pairs,
        read: None,
        write: None,
        writes: 0,
        is_file: FILE
    });

    fn open(options: &Options) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if !FILE && memory.is_dir() {
            Ok(TempDir::new_in(memory).expect("a folder"))
        } else {
            options.new_folder()
        };
        let folder = folder.expect("a folder can be made");
        let persistence = if FILE { options.persistence } else { Persistence::None };
        let flags = match persistence {
            Persistence::Always => EnvFlags::empty(),
            Persistence::None | Persistence::Everysec => EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC,
        };
        let env = Arc::new(open(folder.path(), flags));
        let mut txn = env.write_txn().expect("LMDB opens a transaction");
        let pairs = env.create_database(&mut txn, None).expect("LMDB creates its one database");
        txn.commit().expect("LMDB commits");
        let syncing = (persistence == Persistence::Everysec).then(|| sync_every_second(env.clone()));
        Self { env, pairs, syncing, _folder: folder }
    }

    /// The size of its file, of which little is mapped before it is read.
    fn bytes(&mut self) -> Option<u64> {
        self.env.real_disk_size().ok()
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

impl<const FILE: bool> Drop for Lmdb<FILE> {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.syncing.take() {
            drop(stop);
            thread.join().expect("LMDB synced");
        }
    }
}

/// A transaction that is opened when it is first needed, and kept. Reads go through the one for writes while it is open.
pub struct Transaction<'p> {
    env: &'p Env,
    pairs: Database<Bytes, Bytes>,
    read: Option<RoTxn<'p, WithTls>>,
    write: Option<RwTxn<'p>>,
    writes: usize,
    is_file: bool,
}

impl Transaction<'_> {
    fn write<R>(&mut self, work: impl FnOnce(&Database<Bytes, Bytes>, &mut RwTxn<'_>) -> R) -> R {
        self.read = None;
        let env = self.env;
        let txn = self.write.get_or_insert_with(|| env.write_txn().expect("LMDB opens a transaction"));
        let result = work(&self.pairs, txn);
        self.writes += 1;
        result
    }

    fn read(&mut self) -> &RoTxn<'_> {
        match &self.write {
            Some(txn) => txn,
            None => self.read.get_or_insert_with(|| self.env.read_txn().expect("LMDB opens a transaction")),
        }
    }

    /// Commits where that is due.
    fn end_call(&mut self) {
        if self.is_file || self.writes >= BATCH {
            self.commit();
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

impl Session for Transaction<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.insert_many(&[(key, value)]) == 1
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.write(|pairs, txn| pairs.put(txn, key, value)).expect("LMDB puts");
        self.end_call();
        true
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let is_deleted = self.write(|pairs, txn| pairs.delete(txn, key)).expect("LMDB deletes");
        self.end_call();
        is_deleted
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let pairs = self.pairs;
        pairs.get(self.read(), key).expect("LMDB gets").map(read)
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let mut count = 0;
        for (key, value) in pairs {
            match self.write(|all, txn| all.put_with_flags(txn, PutFlags::NO_OVERWRITE, key, value)) {
                Ok(()) => count += 1,
                Err(Error::Mdb(MdbError::KeyExist)) => {}
                Err(error) => panic!("LMDB failed to put: {error}"),
            }
        }
        self.end_call();
        count
    }
}

impl SortedSession for Transaction<'_> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let pairs = self.pairs;
        let range = (Bound::Included(first), Bound::Unbounded);
        let pairs = pairs.range(self.read(), &range).expect("LMDB opens a cursor").take(limit);
        pairs.map(|pair| pair.expect("LMDB moves a cursor")).map(|(key, value)| read(key, value)).count()
    }
}
