//! Feeds: the changes of a store, which threads of Node's read and JavaScript decodes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use serde_json::json;
use twindex_durable::{
    Changes, Effect, FeedFile, Position, Result, Store, TableChange, TableInfo, Watch, Watched,
};

/// A block of changes is closed once it has this many bytes.
const BLOCK_BYTES: usize = 1 << 18;

/// Reads changes, on one thread at a time.
#[derive(Clone)]
pub(crate) struct Reader(Arc<Mutex<Source>>);

enum Source {
    /// The file is open, unless that failed: then the next poll opens it.
    Begun(Origin, Option<FeedFile>),
    Found(Box<Changes>),
}

enum Origin {
    Store(Store, Position),
    File(String, Option<Position>),
}

#[derive(Default)]
pub(crate) struct Block {
    pub(crate) tables: Vec<Arc<TableInfo>>,
    /// For each batch of changes the position behind it, which a watch has none of, and how many they are.
    pub(crate) batches: Vec<(Option<Position>, u32)>,
    /// For each change what it is, then in four bytes each the number of its table, the length of its key and that of its
    /// value, then these two; a put whose pair expires has the time behind them, in eight bytes. `lib/changed.js` reads it.
    pub(crate) bytes: Vec<u8>,
}

impl Reader {
    /// The changes of a store behind a position, or from where it is now.
    pub(crate) fn of_store(store: &Store, from: Option<Position>) -> Result<Self> {
        let here = store.position()?;
        let file = store.feed_file(from).ok();
        Ok(Self::begun(Origin::Store(store.clone(), from.unwrap_or(here)), file))
    }

    /// The changes of a file behind a position, or behind the oldest that it has.
    pub(crate) fn of_file(path: String, from: Option<Position>) -> Self {
        let origin = Origin::File(path, from);
        let file = origin.file().ok();
        Self::begun(origin, file)
    }

    /// The file was opened at once, so that a compaction takes nothing away. It is left to a poll to find the position, since that
    /// reads the log, and to tell what went wrong.
    fn begun(origin: Origin, file: Option<FeedFile>) -> Self {
        Self(Arc::new(Mutex::new(Source::Begun(origin, file))))
    }

    /// The changes that are there, as many as fit into a block or fewer.
    pub(crate) fn poll(&self) -> Result<Block> {
        let mut source = self.lock();
        let changes = source.found()?;
        let mut block = Block::default();
        while block.bytes.len() < BLOCK_BYTES {
            match changes.poll() {
                Ok(None) => break,
                Ok(Some(set)) => {
                    block.batches.push((Some(set.position), set.changes.len() as u32));
                    for change in &set.changes {
                        block.push(change);
                    }
                }
                // It will be met again.
                Err(_) if !block.batches.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(block)
    }

    fn lock(&self) -> MutexGuard<'_, Source> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watch, and the store that it ends with.
pub(crate) struct Watching {
    pub(crate) store: u32,
    pub(crate) watch: Watch,
}

impl Watching {
    /// The next changes, as many as fit into a block, or `None` at the end. If there are none yet, wakes `waker` later.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Block> {
        let (mut block, mut context) = (Block::default(), Context::from_waker(waker));
        while block.bytes.len() < BLOCK_BYTES {
            match self.watch.poll_next(&mut context) {
                Poll::Ready(Some(item)) => block.push_watched(self.watch.table(), &item),
                Poll::Ready(None) if block.batches.is_empty() => return None,
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Some(block)
    }
}

impl Source {
    fn found(&mut self) -> Result<&mut Changes> {
        if let Self::Begun(origin, file) = self {
            let file = file.take().map_or_else(|| origin.file(), Ok)?;
            *self = Self::Found(Box::new(file.find()?));
        }
        match self {
            Self::Found(changes) => Ok(changes),
            Self::Begun(..) => unreachable!("it was just found"),
        }
    }
}

impl Origin {
    fn file(&self) -> Result<FeedFile> {
        match self {
            Self::Store(store, from) => store.feed_file(*from),
            Self::File(path, from) => FeedFile::open(path, *from),
        }
    }
}

impl Block {
    /// All in one: in four bytes how long the JSON behind them is, that JSON, `{ tables, batches }`, and the changes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let tables = self.tables.iter().map(|table| {
            json!({
                "name": table.name, "index": table.index.name(), "keys": table.keys, "values": table.values,
            })
        });
        let batches = self.batches.iter();
        let batches = batches.map(
            |(position, count)| json!({ "position": position.map(|it| it.to_string()), "count": count }),
        );
        let head = json!({ "tables": tables.collect::<Vec<_>>(), "batches": batches.collect::<Vec<_>>() });
        let head = head.to_string();
        let mut all = Vec::with_capacity(4 + head.len() + self.bytes.len());
        all.extend_from_slice(&(head.len() as u32).to_le_bytes());
        all.extend_from_slice(head.as_bytes());
        all.extend_from_slice(&self.bytes);
        all
    }

    fn push(&mut self, TableChange { table, effect, expires, .. }: &TableChange) {
        let nothing: &[u8] = &[];
        let (kind, key, value) = match effect {
            Effect::Put { key, value } if expires.is_some() => (6, key.as_slice(), value.as_slice()),
            Effect::Put { key, value } => (0, key.as_slice(), value.as_slice()),
            Effect::Delete { key } => (1, key.as_slice(), nothing),
            Effect::Create => (2, nothing, nothing),
            Effect::Drop => (3, nothing, nothing),
            _ => (4, nothing, nothing),
        };
        self.push_as(kind, table, key, value);
        self.bytes.extend(expires.iter().flat_map(|millis| millis.to_le_bytes()));
    }

    /// As a batch of its own, since one that cannot be decoded is not to keep others back.
    fn push_watched(&mut self, table: &Arc<TableInfo>, item: &Watched) {
        self.batches.push((None, 1));
        match item {
            Watched::Change(change) => self.push(change),
            Watched::Lost(count) => self.push_as(5, table, &count.to_le_bytes(), &[]),
        }
    }

    fn push_as(&mut self, kind: u8, table: &Arc<TableInfo>, key: &[u8], value: &[u8]) {
        let number = self.tables.iter().rposition(|known| Arc::ptr_eq(known, table)).unwrap_or_else(|| {
            self.tables.push(Arc::clone(table));
            self.tables.len() - 1
        });
        self.bytes.push(kind);
        // A value has less than 4 GiB.
        for word in [number, key.len(), value.len()] {
            self.bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }
}
