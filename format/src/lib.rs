//! A Twindex store as bytes.
//!
//! ```
//! use twindex::{IndexKind, Store};
//! use twindex_format::Dump;
//!
//! let store = Store::new();
//! store.table("users", IndexKind::Hash)?.insert("ada", "1815")?;
//! let mut bytes = Vec::new();
//! store.dump(&mut bytes)?;
//! let copy = Store::load(&mut bytes.as_slice())?;
//! assert_eq!(copy.table("users", IndexKind::Hash)?.select("ada").as_deref(), Some(b"1815".as_slice()));
//! # Ok::<(), twindex::Error>(())
//! ```
//!
//! Most programs need only [`Dump`]. The rest are the parts of a store's file, with which `twindex-durable` builds and reads one,
//! and anyone else may. `docs/file-format.md` describes them byte by byte.
//!
//! A file is a header and a sequence of records. A record has a checksum of its head and one of the whole. Both include the file's
//! salt and the record's offset, so a record is valid only in its own file and at its own place. First comes the dump: tables, their
//! pairs, and an end record. The log follows: operations, and how much of the file was on disk. A salt of 0 means that there is no
//! log.
//!
//! | to | use |
//! |---|---|
//! | frame records | [`Header`], [`Head`], [`seal`], [`synced`] |
//! | write a dump | [`write_tables`] |
//! | write a log | [`Operations`] of [`Operation`]s |
//! | read the changes of a file in order, copy them to another file | [`LogCursor`], [`History`], [`write_tables_after`] |
//! | apply records to a store | [`Loader`] |
//! | decode and insert the pairs of a record | [`Unpacked`], on several threads |
//! | open a file that can be read at any offset | [`open`], [`LogReader`] |
//! | look for damage, and save what is left | [`check`], [`salvage`] |

mod check;
mod checksum;
mod entry;
mod expiring;
mod history;
mod load;
mod loader;
mod log;
mod memory;
mod operation;
mod progress;
mod record;
mod replay;
mod source;
mod step;
mod stream;
mod unpack;
mod varint;
mod writer;

use std::io::{Read, Write};

use twindex::{Result, Store};

pub use crate::check::{Damage, Report, check, salvage};
pub use crate::entry::{TableEntry, decode_codecs, encode_codecs};
pub use crate::expiring::{
    Due, FOREVER, MAX_TTL, Pass, deadline_of, expiring_codec, has_expired, split_deadline,
    values_that_expire, with_deadline, with_expiring_codec, without_expiring_codec,
};
pub use crate::history::{Each, History, LogCursor, Place, Rest, TableInfo, TableInfos};
pub use crate::load::{Found, LogEnd, limit_while_loading, load_into, name_limit, open};
pub use crate::loader::{Loader, table_of_pairs};
pub use crate::log::{LogReader, Torn};
pub use crate::operation::{Operation, Operations, Position};
pub use crate::progress::{Progress, ProgressFn};
pub use crate::record::{
    CACHE_MAGIC, HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, VERSION, seal, synced, synced_by,
};
pub use crate::source::{ReadAt, Stamp};
pub use crate::unpack::Unpacked;
pub use crate::writer::{write_tables, write_tables_after};

/// A store as bytes.
pub trait Dump: Sized {
    /// Writes every table to `writer`, in a form that [`load`](Self::load) reads on any platform.
    ///
    /// The dump is of one moment. Writes go out in blocks of 64 KiB to 1 MiB, so `writer` need
    /// not be buffered; it is not flushed.
    fn dump<W: Write + ?Sized>(&self, writer: &mut W) -> Result<()>;

    /// A store from the bytes that [`dump`](Self::dump) wrote, read up to the end of the dump.
    ///
    /// Fails with [`Error::Corrupt`](twindex::Error::Corrupt) on anything but a whole, undamaged dump. A dump writes what keys share
    /// once, so it can be far smaller than its store: one that somebody else made is better loaded by
    /// [`load_within`](Self::load_within).
    fn load<R: Read + ?Sized>(reader: &mut R) -> Result<Self> {
        Self::load_within(reader, usize::MAX)
    }

    /// As [`load`](Self::load), into a store with this memory limit. Fails with
    /// [`Error::MemoryLimit`](twindex::Error::MemoryLimit) if the dump has more than [`limit_while_loading`] allows: the dump of a
    /// store always loads with its limit.
    fn load_within<R: Read + ?Sized>(reader: &mut R, limit: usize) -> Result<Self>;
}

/// The tables of a snapshot, numbered, for [`write_tables`].
pub fn tables_of(snapshot: &twindex::Snapshot) -> Vec<(u32, twindex::Table)> {
    (0..).zip(snapshot.tables().iter().map(|table| table.as_table().clone())).collect()
}

impl Dump for Store {
    fn dump<W: Write + ?Sized>(&self, writer: &mut W) -> Result<()> {
        write_tables(&tables_of(&self.snapshot()?), 0, writer, &mut |_| {}).map(drop)
    }

    fn load_within<R: Read + ?Sized>(reader: &mut R, limit: usize) -> Result<Self> {
        let store = Self::new();
        load_into(&store, Some(limit), |store| stream::read_store(store, reader))?;
        Ok(store)
    }
}
