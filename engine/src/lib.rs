//! An in-memory key-value engine with two kinds of index that lives inside the program that uses it.
//!
//! A [`Store`] is a set of named tables. A [`Table`] holds pairs of byte strings under one [`IndexKind`]:
//! `Hash` for single keys, `Sorted` for keys in order too. Every method takes `&self`, and both types
//! are cheap handles that threads clone and share.
//!
//! ```
//! use twindex::{IndexKind, Store};
//!
//! let store = Store::new();
//! let users = store.table("users", IndexKind::Hash)?;
//! assert!(users.insert(b"ada", b"1815")?);
//! assert_eq!(users.select(b"ada").as_deref(), Some(b"1815".as_slice()));
//!
//! let log = store.table("log", IndexKind::Sorted)?;
//! log.insert_many(&[("2026-11-02", "b"), ("2026-11-01", "a"), ("2025-12-31", "z")])?;
//! let mut cursor = log.cursor("2026"..)?;
//! assert_eq!(cursor.scan_asc_next(), Some((b"2026-11-01".as_slice(), b"a".as_slice())));
//! let newest = log.prefix("2026-")?.next_back();
//! assert_eq!(newest, Some((b"2026-11-02".to_vec(), b"b".to_vec())));
//! # Ok::<(), twindex::Error>(())
//! ```
//!
//! # Verbs
//!
//! | verb | takes effect if the key is | returns |
//! |---|---|---|
//! | [`insert`](Table::insert) | absent | whether it took effect |
//! | [`replace`](Table::replace) | present | whether it took effect |
//! | [`upsert`](Table::upsert) | either | |
//! | [`delete`](Table::delete) | present | whether it took effect |
//! | [`select`](Table::select), [`contains`](Table::contains) | | the value, or whether it is present |
//! | [`take`](Table::take), [`pop_first`](Table::pop_first), [`pop_last`](Table::pop_last) | present | the pair that it removed |
//! | [`get_or_insert_with`](Table::get_or_insert_with) | absent | the value, found or new |
//! | [`delete_range`](Table::delete_range), [`delete_prefix`](Table::delete_prefix), [`retain`](Table::retain) | | how many pairs it removed |
//! | [`alter`](Table::alter), [`increment`](Table::increment), [`compare_and_swap`](Table::compare_and_swap) | | read, change and write as one step |
//!
//! The verbs on one key up to `contains`, and the last three, have a `_many` form over a slice. It does what a loop would do, in the order of the slice, except that every length is checked before the first pair is written.
//!
//! # What threads see
//!
//! All threads see the changes of one key in the same order, and a thread sees its own changes at once. Changes that a thread
//! made before it signalled another one, by a lock, a channel or a join, are seen by that one. A value that a thread finds is
//! such a signal too: it then sees all that the writer of that value had done before.
//!
//! Between different keys and threads that do not signal each other, no order is promised: if two threads each insert a key and
//! then look for the other's key, both may miss it. To let exactly one of them win, let both `insert` one key,
//! and use the result.
//!
//! # Limits
//!
//! Keys of 0 to 65,535 bytes ([`MAX_KEY_BYTES`]), values of 0 to 4 GiB - 1 ([`MAX_VALUE_BYTES`]), table
//! names of 1 to 255 bytes ([`MAX_NAME_BYTES`]), as many pairs and tables as memory holds. A sorted table
//! orders keys by their unsigned bytes.
//!
//! # Building
//!
//! The crate has no features. It needs Rust 1.95 or later; a newer compiler is required only by a new minor version.
//!
//! # Misuse that does not compile
//!
//! A key is bytes; a number is not:
//! ```compile_fail,E0308
//! # let table = twindex::Store::new().table("t", twindex::IndexKind::Hash).unwrap();
//! table.insert(42, b"value");
//! ```
//! A closed store is a dropped one, so it cannot be used afterwards:
//! ```compile_fail,E0382
//! let store = twindex::Store::new();
//! drop(store);
//! store.table("t", twindex::IndexKind::Hash);
//! ```

// How this engine works
// =====================
//
// The promise: any number of threads read and write at once. A look-up and a scan take no lock. They write to no cache line but
// their thread's own, and to the count of owners of a large value that they keep. What they return is whole. Growth never stops
// the table. A pair costs little more than its bytes.
//
// A reader waits in two cases. Iterating a hash table locks the shard of a segment while it copies the segment's refs. In a sorted
// table, a look-up that finds nothing and a scan that enters a leaf wait while a writer shifts slots in that leaf: at most some
// hundred words, but the system may interrupt the writer there.
//
// What is not promised: one order of changes to different keys that all threads agree on. A look-up runs no fence where the
// platform has `membarrier`, so a processor may do it before the thread's last store has reached the other processors. Two
// threads that each insert a key and then look for the other's may thus both miss it. A fence in each look-up would prevent
// that, and slow down every hit.
//
// One rule makes that sound in Rust: bytes are written once, published by an atomic word, and never changed while a
// reader could see them. Every word that threads share and change is an atomic.
//
// Vital statistics, on 64 bits, as `Store::memory` counts
//
//   a pair of 16 + 16 bytes    44 to 48 bytes hashed; 39 to 42 sorted in random order, 27 in order
//   on top of key and value    hash: 4 bytes in the record, 5 in a bucket that is 43 to 87 % full
//                              sorted: 2 bytes in the cell, 4 in the slot beyond those of the key, less the leaf's prefix
//   a large pair               24 bytes and an allocation of its own: over 4 KiB; sorted, a block from 512 bytes on
//   a table without pairs      784 bytes, its name twice, its codecs' names; its first pair takes 1 KiB more, sorted 512 bytes
//   a thousand pairs           some 56 KiB hashed, 88 sorted
//   a look-up                  two cache misses that wait for each other: bucket and record, or leaf and cell
//   the longest insert         hash: doubling the directory with two locks held, some 256 KiB at ten million pairs; else a split,
//                              which moves some 670 refs. sorted: a split, which copies a leaf of 4 to 8 KiB, and nodes
//                              both: the system clears the next 2 MiB, in 0.1 to 1 ms; 4.6 ms if a virtual machine has to
//                              ask its host for them
//
//      Store ── names ──> Table ──> Shared ──> HashIndex   directory -> segment of buckets -> record
//                                              SortedIndex inner nodes -> leaf: slots -> cell
//                                                 |        ^ records, cells: written once     \-> Blob: large values
//                                                 v
//      Heap ── Space ── regions of up to 2 MiB (huge pages) ── blocks by size class, kept for reuse
//        \── Limbo: what was unlinked waits here until epoch shows that nobody can be in it
//
// The life of one insert. `Table::insert` checks the lengths, pins the epoch, loads the index and calls its `change`, with
// a closure that says what becomes of the old value. What the index then does stands at the head of its chapter. Back in
// the table the pin ends. If the index had to grow, `insist` tries again.
//
// Contents. Each line is a chapter below, under a ruler. The numbers are hundreds of lines.
//
//   Limits and errors       3  what can go wrong
//   Platform                3  mod platform: every cfg of a processor or system
//   Reclamation             3  mod epoch: pins, the present epoch, Limbo
//   Memory                  9  Memory counts, Lock, Space and Heap, Blob and Value
//   What both indexes use   2  Counter, comparing bytes, Shared
//   The hash index         22  mod hash: H1 to H4; buckets, directory, segments, records, shards, reading, writing, growing
//   The sorted index       32  mod sorted: S1 to S6; leaves, locks, inner nodes, reading, writing, hints, cells, cursors
//   Store                   3  the named tables
//   Table                  10  the verbs: one `change` for all single writes, then those over many, reads, order
//   Snapshots               7  V1 to V4; generations, what an index keeps, snapshots and their tables
//   Transactions            7  W1, W2; what was read, the commit
//   Cursors and iterators   3  positions that are keys
//   Internal                1  mod parts: for twindex-cache and twindex-format
//
// Glossary
//
//   pin        a thread's announcement that it reads, and maybe writes, in this epoch
//   retire     to put unlinked memory into a limbo, which frees it once no pinned thread can reach it
//   region     memory from the system; a block is a piece of one, with one owner
//   blob       a large value in an allocation of its own, with a count of its owners
//   tag        8 bits of a key's hash; a bucket compares twelve at once
//   ref        the number of a record within its shard: block and offset in 32 bits
//   shard      one lock, and the records of all segments whose hashes begin with its bits
//   slot, cell a leaf's slots are in order and name its cells, which have the rest of the keys and the values
//   run        pairs side by side on their way from one leaf into another
//   generation the time from the opening of one snapshot to that of the next
//   hint       a leaf at an end of which a thread wrote last, proved by the leaf's state
//
// What was unlinked is freed
//
//   by                            when                                                 what
//   `reuse` (hash)                a write needs a record                               up to two records that its lane removed
//   `maintain`                    after a write by which much was removed, or a        all blocks and blobs that wait in the heap;
//                                 region is nearly used up; no lock is held            it also allocates the next region
//   `reclaim`                     memory was refused; no lock is held                  all that waits in the index
//   `Shared::free_old`            a table was emptied; a write met its old index       whole indexes
//
// All but the first end an epoch before (`epoch::advance`), and all free only what no reader can be in: E2.
//
// The order of locks: a thread that holds one takes only those after it. `maintain`, `reclaim` and `advance` take long, so they are
// called without a lock of an index.
//
//   1  the store's map of tables
//   2  hash: shards, in ascending order. sorted: the root's lock to close the index, then leaves; else a leaf, or those of a
//      commit in ascending order, then what leads to it, upwards. A thread that goes another way only tries. Of several tables:
//      in the order of their addresses.
//   3  the old indexes of a `Shared`
//   4  the space of a `Heap`, which in a hash index guards the directory too
//   5  what an index keeps for snapshots
//   6  the list of open snapshots
//
// A snapshot is closed under a lock of its own, and opened or closed under that of the open snapshots. Both come before all of these,
// and nobody waits for either while writers are kept out, or with a lock of an index. (`Memory::without_writers`)
//
// Invariants that hold across chapters; those of an index stand at its head. A SAFETY comment names the one that it rests on
//
//   E1  A thread that follows a pointer that another thread may unlink is pinned from before it loaded the pointer until after
//       its last use. (epoch::pin)
//   E2  What is put into a Limbo was unlinked before, so only threads that were pinned then can reach it. It comes out once
//       none of them is pinned any more. (Limbo::pop)
//   M1  A block has one owner at a time: the Space's free lists, the index, or a limbo. (Space)
//   M2  In a sorted index, the first word of a block of up to 64 KiB stays an AtomicU64 as long as the index lives, free or not:
//       a thread may read it through a pointer that it remembers. (Space)
//   M3  Memory::used is the sum of all regions and blobs that are allocated, and what tables count for themselves. (Memory)
//   B1  A blob is whole and unchanged as long as it has an owner: its index, a cursor on its pair, a Value. (Blob)
//   T1  Each table has one index at a time. Emptying it puts a new one in place, and the old one lives as long as a pinned
//       reader may be in it. (Shared)
//   P1  mod platform uses an instruction only where its cfg says that the processor has it. A prefetch of any address is
//       harmless. Advice about pages changes no byte. (platform)
//   L1  What a lock guards is touched by its holder alone, and what a thread-local holds by its thread. (Lock, Shard, Hints)
//   R1  A length or a mask keeps within the memory that it was computed for, and what was so read was written. (slices)

#![expect(
    clippy::cast_ptr_alignment,
    reason = "blocks are aligned to 64, and what is in them by their layout"
)]
#![expect(clippy::inline_always, reason = "on the way to a hit a call costs more than it saves")]
#![allow(clippy::wildcard_imports, reason = "the modules are chapters of one text")]

use parts::{common, head4, lock, same_bytes};
use platform::{Hashing, SMALL, hashing, prefetch, prefetch_batch, prefetch_bytes};
use std::alloc::{self, Layout};
use std::borrow::{Borrow, Cow};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::hint::select_unpredictable;
use std::io;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ops::{Bound, Deref, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::ptr::{self, NonNull};
use std::str::FromStr;
use std::sync::{Arc, OnceLock, PoisonError, TryLockError};
use std::{fmt, slice};
use sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use sync::{Mutex, MutexGuard};

/// Atomics, locks and thread-locals. The models of interleavings replace them by their own.
#[cfg(not(twindex_shuttle))]
mod sync {
    pub(super) use std::hint::spin_loop;
    pub(super) use std::sync::{Mutex, MutexGuard, atomic};
    pub(super) use std::thread::yield_now;
    pub(super) use std::thread_local;

    /// Sleeps for a moment.
    pub(super) fn pause() {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}

#[cfg(twindex_shuttle)]
#[path = "../models/src/sync.rs"]
mod sync;

#[cfg(twindex_check)]
#[path = "../tests/check/mod.rs"]
mod check;

/// The measured value of a constant. Some tests take the tiny one instead: with it every few writes split, merge or grow
/// something.
const fn tuned(measured: usize, tiny: usize) -> usize {
    if cfg!(twindex_tiny) { tiny } else { measured }
}

// ---------------------------------------------------------------------------------------------------
// Limits and errors
// ---------------------------------------------------------------------------------------------------

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 65_535;
/// The longest value, in bytes.
pub const MAX_VALUE_BYTES: u64 = u32::MAX as u64;
/// The longest name of a table or a codec, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// Any error of the engine.
///
/// An operation that returns an error has changed nothing, but for a `_many` form that met the memory
/// limit: the pairs before the one that did not fit stay written, and of those after it some may be.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A key of more than [`MAX_KEY_BYTES`].
    KeyTooLong {
        /// Its length in bytes.
        len: usize,
        /// How it begins.
        start: String,
    },
    /// A value of more than [`MAX_VALUE_BYTES`].
    ValueTooLarge {
        /// Its length in bytes.
        len: u64,
    },
    /// A table name that is empty or longer than [`MAX_NAME_BYTES`].
    TableName {
        /// The name as given.
        name: String,
    },
    /// A table that has one index was asked for as, or used as if it had, the other.
    WrongIndex {
        /// The table's name.
        table: String,
        /// The index that it has.
        has: IndexKind,
        /// The index that the call needs.
        needs: IndexKind,
    },
    /// A table whose keys or values have one codec was asked for with another.
    WrongCodec {
        /// The table's name.
        table: String,
        /// `keys` or `values`.
        of: &'static str,
        /// The codec that the table has.
        has: String,
        /// The codec that the call names.
        needs: String,
    },
    /// A codec name that is empty or longer than [`MAX_NAME_BYTES`].
    CodecName {
        /// The name as given.
        name: String,
    },
    /// There is no such table, and the call is not to create one.
    NoTable {
        /// The name as given.
        name: String,
    },
    /// A name that is neither `hash` nor `sorted`.
    UnknownIndex {
        /// The name as given.
        name: String,
    },
    /// The table was dropped from its store, so a write to it would be lost.
    TableDropped {
        /// The table's name.
        table: String,
    },
    /// The write would take the store past its memory limit, or the system has no more memory.
    MemoryLimit {
        /// The limit in bytes, or `None` if it was the system that refused.
        limit: Option<usize>,
        /// The bytes that the store would hold after the write.
        needed: usize,
        /// How many of them only open snapshots need.
        kept: usize,
    },
    /// A write to a table of a [`Snapshot`].
    ReadOnly {
        /// The table's name.
        table: String,
    },
    /// A snapshot was opened, or a transaction committed, within a write of the same store. Hosts: also a nested transaction.
    InWrite,
    /// Something that a transaction read was changed before it could commit. It wrote nothing.
    Conflict {
        /// How often it was run.
        runs: usize,
    },
    /// [`Table::increment`] met a value that is not a decimal integer of 64 bits.
    NotAnInteger {
        /// How the value begins.
        start: String,
    },
    /// [`Table::increment`] would leave the range of a 64-bit integer.
    Overflow {
        /// The value as it is.
        value: i64,
        /// The increment that did not fit.
        by: i64,
    },
    /// The bytes are not a whole dump.
    Corrupt {
        /// Where, in bytes from the start.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
    /// Reading or writing failed underneath.
    Io(io::Error),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_KEY_TOO_LONG`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyTooLong { .. } => "TWINDEX_KEY_TOO_LONG",
            Self::ValueTooLarge { .. } => "TWINDEX_VALUE_TOO_LARGE",
            Self::TableName { .. } => "TWINDEX_TABLE_NAME",
            Self::WrongIndex { .. } => "TWINDEX_WRONG_INDEX",
            Self::WrongCodec { .. } => "TWINDEX_WRONG_CODEC",
            Self::CodecName { .. } => "TWINDEX_CODEC_NAME",
            Self::NoTable { .. } => "TWINDEX_NO_TABLE",
            Self::UnknownIndex { .. } => "TWINDEX_UNKNOWN_INDEX",
            Self::TableDropped { .. } => "TWINDEX_TABLE_DROPPED",
            Self::MemoryLimit { .. } => "TWINDEX_MEMORY_LIMIT",
            Self::ReadOnly { .. } => "TWINDEX_READ_ONLY",
            Self::InWrite => "TWINDEX_IN_WRITE",
            Self::Conflict { .. } => "TWINDEX_CONFLICT",
            Self::NotAnInteger { .. } => "TWINDEX_NOT_AN_INTEGER",
            Self::Overflow { .. } => "TWINDEX_OVERFLOW",
            Self::Corrupt { .. } => "TWINDEX_CORRUPT",
            Self::Io(_) => "TWINDEX_IO",
        }
    }
}

// --- what errors say

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { len, start } => write!(
                f,
                "a key of {len} bytes is too long, the limit is {MAX_KEY_BYTES} (it begins with \"{start}\")"
            ),
            Self::ValueTooLarge { len } => {
                write!(f, "a value of {len} bytes is too large, the limit is {MAX_VALUE_BYTES}")
            }
            Self::TableName { name } | Self::CodecName { name } => {
                let (of, start) = (
                    if let Self::TableName { .. } = self { "table" } else { "codec" },
                    excerpt(name.as_bytes()),
                );
                write!(
                    f,
                    "a {of} name has 1 to {MAX_NAME_BYTES} bytes, this one has {}: \"{start}\"",
                    name.len()
                )
            }
            Self::WrongIndex { table, has, needs } => {
                write!(f, "table \"{table}\" has a {has} index, this needs a {needs} index")
            }
            Self::WrongCodec { table, of, has, needs } => {
                write!(f, "the {of} of table \"{table}\" have the codec \"{has}\", this needs \"{needs}\"")
            }
            Self::NoTable { name } => write!(f, "there is no table \"{}\"", excerpt(name.as_bytes())),
            Self::UnknownIndex { name } => {
                write!(f, "unknown index \"{}\", it is \"hash\" or \"sorted\"", excerpt(name.as_bytes()))
            }
            Self::TableDropped { table } => write!(f, "table \"{table}\" was dropped"),
            Self::MemoryLimit { limit, needed, kept } => {
                write!(f, "the store would hold {needed} bytes, ")?;
                match limit {
                    Some(limit) => write!(f, "its memory limit is {limit}")?,
                    None => f.write_str("the system has no memory for them")?,
                }
                if *kept > 0 {
                    write!(f, " ({kept} of them for open snapshots)")?;
                }
                Ok(())
            }
            Self::Conflict { runs } => {
                write!(f, "others changed what the transaction read, in each of {runs} runs")
            }
            Self::ReadOnly { table } => {
                write!(f, "table \"{table}\" belongs to a snapshot, which cannot be written to")
            }
            Self::InWrite => f.write_str(
                "this cannot be done within another transaction of the same store, or a closure of alter",
            ),
            Self::NotAnInteger { start } => {
                write!(f, "the value is not a decimal integer of 64 bits (it begins with \"{start}\")")
            }
            Self::Overflow { value, by } => {
                write!(f, "{value} incremented by {by} does not fit into 64 bits")
            }
            Self::Corrupt { offset, what } => write!(f, "corrupt at byte {offset}: {what}"),
            // Where there is no system the texts of all its errors would be a part of every module.
            Self::Io(_) if cfg!(all(target_family = "wasm", target_os = "unknown")) => {
                f.write_str("reading or writing failed")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Box<Self>> for Error {
    fn from(error: Box<Self>) -> Self {
        *error
    }
}

/// The result of the engine's own functions. It is returned in registers. A result that holds a whole [`Error`] is returned
/// in memory, and reading it there waits for all earlier stores: that took 40 % of an insert's time.
type Boxed<T> = std::result::Result<T, Box<Error>>;

/// The start of some bytes, as text that is safe to print.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(32)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

/// Fails as a write of this key would, if it is too long. For callers that do something else before they write.
#[inline]
pub fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { len: key.len(), start: excerpt(key) });
    }
    Ok(())
}

/// Fails as a write of this value would, if it is too large.
#[inline]
pub fn check_value(value: &[u8]) -> Result<()> {
    if value.len() as u64 > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLarge { len: value.len() as u64 });
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------------
// Platform
// ---------------------------------------------------------------------------------------------------

/// Everything that differs between processors and systems: prefetches, vector compares, fences, pages, hashing.
mod platform {
    use super::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use super::sync::atomic::{AtomicU32, AtomicU64};
    use std::hint::select_unpredictable;

    /// Whether this is the small WebAssembly module. Programs download it, so it leaves out the fast paths that others have.
    pub(super) const SMALL: bool = cfg!(all(target_family = "wasm", not(target_feature = "simd128")));

    /// Whether regions are allocated before they are needed. WebAssembly has one thread, which would have to wait anyway.
    pub(super) const FETCHES_REGIONS: bool = !cfg!(target_family = "wasm");

    /// Prefetches one cache line.
    #[inline(always)]
    pub(super) fn prefetch<T>(at: *const T) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: P1. Every x86-64 has it, and any address will do.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: P1. Every aarch64 has it, and any address will do.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
        }
        #[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
        let _ = at;
    }

    /// Prefetches one of several lines. WebAssembly has no prefetch. There a plain load takes its place, and the processor
    /// overlaps several of them.
    #[inline(always)]
    pub fn prefetch_batch<T>(at: *const T) {
        #[cfg(target_arch = "wasm32")]
        if at.addr() >> 16 < std::arch::wasm32::memory_size(0) {
            // SAFETY: R1. The byte is within the memory. It is forgotten, so it may be anything.
            unsafe { at.cast::<std::mem::MaybeUninit<u8>>().read_volatile() };
        }
        #[cfg(not(target_arch = "wasm32"))]
        prefetch(at);
    }

    /// Prefetches the first lines of so many bytes, and the last one. A batch does not wait for more.
    #[inline(always)]
    pub(super) fn prefetch_bytes(at: *const u8, bytes: usize) {
        (0..bytes.min(256)).step_by(64).for_each(|line| prefetch_batch(at.wrapping_add(line)));
        prefetch_batch(at.wrapping_add(bytes - 1));
    }

    // --- vector compares

    /// Twelve tags that are compared at once, and a word. One thread at a time changes the tags.
    #[repr(C, align(16))]
    pub struct Tags {
        pub(super) low: AtomicU64,
        pub(super) high: AtomicU32,
        pub(super) passed: AtomicU32,
    }

    impl Tags {
        /// A bit for each of the 12 tags that is `tag`. The four bits above them mean nothing.
        #[inline(always)]
        pub fn matches(&self, tag: u8) -> u32 {
            #[cfg(all(target_arch = "x86_64", not(any(miri, twindex_shuttle))))]
            {
                use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};
                let line: __m128i;
                // SAFETY: P1. The load is aligned, so each of the three words comes whole, and loads of
                // this processor acquire. Told so word by word, the compiler takes five instructions.
                unsafe {
                    std::arch::asm!("movdqa {}, [{}]", lateout(xmm_reg) line, in(reg) self,
                        options(nostack, preserves_flags, readonly));
                    _mm_movemask_epi8(_mm_cmpeq_epi8(line, _mm_set1_epi8(tag.cast_signed()))).cast_unsigned()
                }
            }
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128", not(target_feature = "atomics")))]
            {
                use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_splat, v128_load};
                // SAFETY: P1, R1. There are no other threads.
                let line = unsafe { v128_load(std::ptr::from_ref(self).cast()) };
                u32::from(u8x16_bitmask(u8x16_eq(line, u8x16_splat(tag))))
            }
            #[cfg(not(any(
                all(target_arch = "x86_64", not(any(miri, twindex_shuttle))),
                all(target_arch = "wasm32", target_feature = "simd128", not(target_feature = "atomics"))
            )))]
            {
                /// A bit for each byte of `word` that is zero.
                fn zero_bytes(word: u64) -> u32 {
                    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
                    let zeros = !(((word & LOW) + LOW) | word | LOW);
                    // Gathers the top bits of the bytes in the top byte.
                    ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
                }
                let wanted = u64::from(tag) * 0x0101_0101_0101_0101;
                let high = u64::from(u32::from_le(self.high.load(Acquire))) ^ wanted;
                let low = u64::from_le(self.low.load(Acquire)) ^ wanted;
                zero_bytes(low) | zero_bytes(high) << 8
            }
        }

        /// Sets the tag of a free slot, or clears it again. What the thread wrote before is visible with it.
        #[inline]
        pub fn flip(&self, slot: usize, tag: u8) {
            let bits = u64::from(tag) << (slot % 8 * 8);
            let (low, high) = select_unpredictable(slot < 8, (bits, 0), (0, bits as u32));
            self.low.store(self.low.load(Relaxed) ^ low.to_le(), Release);
            self.high.store(self.high.load(Relaxed) ^ high.to_le(), Release);
        }

        /// The word beside the tags.
        #[inline(always)]
        pub fn word(&self) -> u32 {
            self.passed.load(Acquire)
        }

        /// Replaces the word.
        pub fn set_word(&self, word: u32) {
            self.passed.store(word, Release);
        }

        /// Replaces the word, unless it has changed. It may be changed by readers as well.
        pub fn swap_word(&self, old: u32, new: u32) {
            let _ = self.passed.compare_exchange(old, new, Relaxed, Relaxed);
        }
    }

    /// Key heads that are compared at once.
    pub(super) const ROW: usize = 16;

    /// How many numbers of a row, which is in order, are less than `head`.
    #[inline(always)]
    pub(super) fn less_in_row(row: &[i32; ROW], head: i32) -> usize {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{
                __m128i, _mm_cmplt_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
                _mm_packs_epi32, _mm_set1_epi32,
            };
            // SAFETY: P1, R1. The loads are of the row's four quarters.
            let less = unsafe {
                let quarter = |at| _mm_loadu_si128(row.as_ptr().cast::<__m128i>().add(at));
                let [a, b, c, d] = [0, 1, 2, 3].map(|at| _mm_cmplt_epi32(quarter(at), _mm_set1_epi32(head)));
                _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)))
            };
            less.trailing_ones() as usize
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        {
            use std::arch::wasm32::*;
            // SAFETY: P1, R1. The loads are of the row's four quarters.
            let quarter = |at| unsafe { v128_load(row.as_ptr().cast::<v128>().add(at)) };
            let [a, b, c, d] = [0, 1, 2, 3].map(|at| i32x4_lt(quarter(at), i32x4_splat(head)));
            let less = i8x16_narrow_i16x8(i16x8_narrow_i32x4(a, b), i16x8_narrow_i32x4(c, d));
            u8x16_bitmask(less).trailing_ones() as usize
        }
        #[cfg(not(any(
            all(target_arch = "x86_64", not(miri)),
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        row.iter().map(|&other| usize::from(other < head)).sum()
    }

    // --- pages

    /// Brings all pages of a region at once: touched one by one they take four times as long. With `huge` it first asks for
    /// a huge page.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn populate(region: *mut u8, bytes: usize, huge: bool) {
        const PAGE: usize = 4096;
        let skipped = region.addr().wrapping_neg() % PAGE;
        let (start, bytes) =
            (region.wrapping_add(skipped).cast(), bytes.saturating_sub(skipped) / PAGE * PAGE);
        // SAFETY: P1. The caller owns the region.
        unsafe {
            if huge {
                libc::madvise(start, bytes, libc::MADV_HUGEPAGE);
            }
            if bytes > 0 {
                libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE);
            }
        }
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn populate(_region: *mut u8, _bytes: usize, _huge: bool) {}

    // --- hashing

    /// How a hash table hashes its keys: with a random secret, so that nobody can choose keys that collide.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub type Hashing = foldhash::fast::RandomState;

    /// For a new table.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn hashing() -> Hashing {
        Hashing::default()
    }

    /// How a hash table hashes its keys.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub type Hashing = foldhash::fast::SeedableRandomState;

    /// A module without imports has no random numbers, so its host gives it a secret.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub(super) static SEED: std::sync::OnceLock<foldhash::SharedSeed> = std::sync::OnceLock::new();

    /// For a new table.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    pub fn hashing() -> Hashing {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let seed = SEED.get_or_init(|| foldhash::SharedSeed::from_u64(0));
        let table = TABLES.fetch_add(1, super::Relaxed);
        // A table's own seed depends on the secret too, or keys that begin with the seed would collide.
        let own = std::hash::BuildHasher::hash_one(&Hashing::with_seed(table, seed), table);
        Hashing::with_seed(own, seed)
    }

    // --- the fence between readers and a writer

    /// Linux runs a fence on all cores for the rare writer, so that readers need none. Elsewhere both run a fence.
    pub(super) mod barrier {
        use std::sync::OnceLock;
        use std::sync::atomic::{
            AtomicU8,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            compiler_fence, fence,
        };

        const MEMBARRIER: bool = cfg!(all(target_os = "linux", not(miri), not(twindex_plain_fences)));
        // The command for a fence on the cores that run threads of this process, and the one to register for it.
        const FENCE: i32 = 1 << 3;
        const REGISTER: i32 = 1 << 4;

        #[cfg(target_os = "linux")]
        fn membarrier(command: i32) -> isize {
            // SAFETY: P1. The call takes three integers and touches no memory.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) as isize }
        }

        #[cfg(not(target_os = "linux"))]
        fn membarrier(_command: i32) -> isize {
            -1
        }

        /// Whether readers need no more than `light`. The first call registers the process. That takes 10 us, or 8 to 14 ms
        /// if the process has more threads. The first store makes that call, so no write waits for it.
        pub(in super::super) fn has_light() -> bool {
            static ANSWER: OnceLock<bool> = OnceLock::new();
            !MEMBARRIER || *ANSWER.get_or_init(|| membarrier(REGISTER) == 0)
        }

        /// What has become of the fences that the system had agreed to run. A sandbox may forbid them later.
        static REFUSED: AtomicU8 = AtomicU8::new(RUNS);
        const RUNS: u8 = 0;
        const SETTLING: u8 = 1;
        const READERS_FENCE: u8 = 2;

        #[inline]
        fn readers_fence() -> bool {
            !MEMBARRIER || REFUSED.load(Relaxed) != RUNS
        }

        /// Between a pin and the reader's first load.
        #[inline(always)]
        pub(in super::super) fn light() {
            compiler_fence(SeqCst);
            if readers_fence() {
                fence(SeqCst);
            }
        }

        /// Between unlinking something and reading the present epoch.
        #[inline(always)]
        pub(in super::super) fn before_now() {
            if !readers_fence() && has_light() { compiler_fence(SeqCst) } else { fence(SeqCst) }
        }

        /// Runs a full fence on every other thread of the process. Returns whether it did.
        pub(in super::super) fn heavy() -> bool {
            fence(SeqCst);
            if !MEMBARRIER || !has_light() || REFUSED.load(Acquire) == READERS_FENCE {
                return true;
            }
            membarrier(FENCE) == 0 || has_settled()
        }

        /// Has readers run fences from now on, since the system refuses to. Returns false to others until that holds for all.
        #[cold]
        fn has_settled() -> bool {
            if REFUSED.compare_exchange(RUNS, SETTLING, SeqCst, Relaxed).is_err() {
                return false;
            }
            // A reader that loaded `REFUSED` before has stored its pin before that. A processor keeps a store back for less than
            // a microsecond, and no longer than until the system switches to another thread.
            std::thread::sleep(std::time::Duration::from_millis(10));
            REFUSED.store(READERS_FENCE, Release);
            true
        }
    }
}

/// Gives hash tables a secret that the host has chosen at random. Without one, somebody could choose keys that collide.
/// Returns false if there is a table already: then it is too late.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[doc(hidden)]
pub fn seed_hashing(secret: u64) -> bool {
    platform::SEED.set(foldhash::SharedSeed::from_u64(secret)).is_ok()
}

// ---------------------------------------------------------------------------------------------------
// Reclamation
// ---------------------------------------------------------------------------------------------------

/// Decides when unlinked memory may be used again: once no thread can still be reading it.
///
/// A reader *pins* the epoch for its store before it follows the first shared pointer, and unpins after its last use. A
/// writer unlinks memory and puts it into a [`Limbo`], which returns it once no pinned thread can reach it. So a slow
/// reader delays reuse in its own store, and in no other. A pin must be visible before the reader's first load. That
/// usually takes a fence for each read. On Linux the writer instead runs that fence on every core, so a pin is a store or two.
///
/// Why nothing is freed too early, where `e + 1` is the epoch after `e`: a writer unlinks an item and then reads epoch `e`. `push`
/// marks the item `e + 1`, and `pop` returns it once `safe`, which `advance` raises, is greater. `safe` is never above the epoch
/// that `advance` ended, nor above that of a pin that it saw.
///
/// 1. *From epoch `e + 2` on, all threads see that the item is unlinked.* Epoch `e + 1` ends after a thread has seen that it has
///    begun, and has then run the barrier. On the writer's core that barrier comes after the writer read `e`, or it would have
///    read `e + 1`. So it makes the unlinking visible.
/// 2. *A reader whose pin `advance` saw* holds `safe` at its epoch `p`. If `e + 1 < p`, it cannot reach the item, by 1.
/// 3. *A reader whose pin `advance` did not see* pinned after the barrier of `advance`, or the barrier would have made its pin
///    visible. So it sees all that was visible then: by 1, that all items are unlinked which are marked with an earlier epoch
///    than the one that `advance` ended.
mod epoch {
    use super::Memory;
    use super::platform::barrier;
    use super::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU64, AtomicUsize,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
        fence,
    };
    use super::sync::thread_local;
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::marker::PhantomData;
    use std::ptr;

    /// The present epoch. It only grows, and is odd. An even number in a slot says that it is not pinned.
    static NOW: AtomicU64 = AtomicU64::new(1);
    /// From one epoch to the next, which is `e + 1` above.
    const NEXT: u64 = 2;

    /// The list of all slots, newest first. Slots are reused and never freed.
    static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

    /// The number of the next new slot.
    static NUMBER: AtomicUsize = AtomicUsize::new(1);

    /// Where one thread announces its pin. It takes two cache lines, because processors fetch lines in pairs.
    #[repr(align(128))]
    struct Slot {
        /// The epoch it is pinned in. Between pins it is equal to `store`, so a thread that pins for the same store again
        /// compares one word and writes one. 0 before the first pin.
        pinned: AtomicU64,
        /// The address of the `Memory` of the store it was last pinned for, with `WRITES` if it may write there.
        store: AtomicUsize,
        taken: AtomicBool,
        /// The word that the guard of a nested pin resets.
        nested: AtomicU64,
        /// The thread that took it last.
        owner: AtomicUsize,
        next: *const Slot,
        number: usize,
    }

    // SAFETY: E1. `next` points to a slot, which lives for ever. The rest is atomics.
    unsafe impl Sync for Slot {}

    /// The slot that a thread has taken. It is given back when the thread ends.
    struct Seat(Cell<Option<&'static Slot>>);

    impl Drop for Seat {
        fn drop(&mut self) {
            let _ = OWN.try_with(|own| own.set(&NO_SLOT));
            if let Some(slot) = self.0.take() {
                slot.taken.store(false, Release);
            }
        }
    }

    /// Stands for no slot. It is always pinned, so the fast path needs no test for it.
    static NO_SLOT: Slot = Slot::new(u64::MAX, ptr::null(), 0);

    thread_local! {
        /// The thread's slot, if it has a seat and its pins need at most a light fence.
        static OWN: Cell<&'static Slot> = const { Cell::new(&NO_SLOT) };
        static SEAT: Seat = const { Seat(Cell::new(None)) };
    }

    /// A number that the calling thread has to itself. `OWN` has no destructor, so a thread that is about to end has it too.
    fn thread() -> usize {
        OWN.try_with(|own| ptr::from_ref(own).addr()).unwrap_or(0)
    }

    fn slots() -> impl Iterator<Item = &'static Slot> {
        // SAFETY: E1. The list holds leaked slots only, so each pointer is null or valid for ever.
        let slot = |at: *const Slot| unsafe { at.as_ref() };
        std::iter::successors(slot(SLOTS.load(Acquire).cast_const()), move |before| slot(before.next))
    }

    fn take_slot() -> &'static Slot {
        for slot in slots() {
            if !slot.taken.load(Relaxed) && !slot.taken.swap(true, AcqRel) {
                if !slot.is_pinned(Acquire) {
                    slot.owner.store(thread(), Relaxed);
                    return slot;
                }
                // A thread without a seat is reading. Its unpin is the last thing it does with the slot.
                slot.taken.store(false, Release);
            }
        }
        let slot = Slot::new(0, SLOTS.load(Acquire), NUMBER.fetch_add(1, Relaxed));
        let slot = Box::leak(Box::new(slot));
        slot.owner.store(thread(), Relaxed);
        while let Err(head) = SLOTS.compare_exchange(slot.next.cast_mut(), slot, AcqRel, Acquire) {
            slot.next = head;
        }
        slot
    }

    /// The calling thread's slot. `None` in a thread that is about to end.
    fn seat() -> Option<&'static Slot> {
        let seat = SEAT.try_with(|seat| {
            seat.0.get().unwrap_or_else(|| {
                let slot = take_slot();
                seat.0.set(Some(slot));
                if barrier::has_light() {
                    let _ = OWN.try_with(|own| own.set(slot));
                }
                slot
            })
        });
        seat.ok()
    }

    // --- pins

    /// Marks a pin of a thread that may write. A `Memory` is aligned, so this bit of its address is free.
    const WRITES: usize = 2;
    const _: () = assert!(align_of::<Memory>() > WRITES);

    /// A pin. While it lives, nothing is freed that the thread can reach in the store. Pins nest.
    pub(super) struct Guard {
        /// The word that says that the thread is pinned, and what it becomes when the pin ends.
        word: &'static AtomicU64,
        free: u64,
        not_send: PhantomData<*const ()>,
    }

    /// Begins a pin: E1.
    #[inline(always)]
    pub(super) fn pin(memory: &Memory) -> Guard {
        let store = ptr::from_ref(memory).addr();
        pin_anew(store).unwrap_or_else(|| pin_slowly(store))
    }

    /// Begins a pin of a thread that may write. `has_writers` finds it.
    #[inline(always)]
    pub(super) fn pin_to_write(memory: &Memory) -> Guard {
        let store = ptr::from_ref(memory).addr() | WRITES;
        pin_anew(store).unwrap_or_else(|| pin_slowly(store))
    }

    /// Begins a pin, if the thread has a slot and no other pin.
    #[inline(always)]
    fn pin_anew(store: usize) -> Option<Guard> {
        let slot = OWN.try_with(Cell::get).ok().filter(|slot| !slot.is_pinned(Relaxed))?;
        Some(slot.pin(store))
    }

    /// What `pin_again` needs to know of a store.
    pub(super) fn ticket(memory: &Memory) -> u64 {
        ptr::from_ref(memory).addr() as u64
    }

    /// A ticket with which nothing can be pinned.
    pub(super) const NO_TICKET: u64 = u64::MAX - 1;

    /// Begins a pin to read, if the thread's last pin was to read in the same store and has ended. `store` is right then.
    #[inline(always)]
    pub(super) fn pin_again(ticket: u64) -> Option<Guard> {
        let slot = OWN.try_with(Cell::get).ok().filter(|slot| slot.pinned.load(Relaxed) == ticket)?;
        Some(slot.begin(ticket))
    }

    #[cold]
    fn pin_slowly(store: usize) -> Guard {
        let seat = seat();
        let own = seat.unwrap_or_else(take_slot);
        // Two pins of a thread about to end may be nested too, but no snapshot is opened there.
        let outer = own.is_pinned(Relaxed).then(|| own.store.load(Relaxed));
        let guard = match outer {
            None => own.pin(store),
            Some(outer) if outer == store || outer == store | WRITES => {
                Guard { word: &own.nested, free: 0, not_send: PhantomData }
            }
            Some(_) => {
                let spare = take_slot();
                let guard = spare.pin(store);
                spare.taken.store(false, Release);
                guard
            }
        };
        fence(SeqCst);
        if seat.is_none() {
            // The thread is about to end. The next owner of the slot leaves a pin alone.
            own.taken.store(false, Release);
        }
        guard
    }

    impl Slot {
        const fn new(pinned: u64, next: *const Self, number: usize) -> Self {
            let (pinned, nested) = (AtomicU64::new(pinned), AtomicU64::new(0));
            let (store, taken) = (AtomicUsize::new(0), AtomicBool::new(true));
            let owner = AtomicUsize::new(0);
            Self { pinned, store, taken, nested, owner, next, number }
        }

        #[inline(always)]
        fn pin(&'static self, store: usize) -> Guard {
            self.store.store(store, Release);
            self.begin(store as u64)
        }

        #[inline(always)]
        fn begin(&'static self, free: u64) -> Guard {
            self.pinned.store(NOW.load(Acquire), Release);
            barrier::light();
            Guard { word: &self.pinned, free, not_send: PhantomData }
        }

        #[inline(always)]
        fn is_pinned(&self, ordering: Ordering) -> bool {
            self.pinned.load(ordering) & 1 != 0
        }
    }

    impl Guard {
        /// Whether an outer pin of the thread does what this one is for.
        pub(super) fn is_nested(&self) -> bool {
            self.word.load(Relaxed) == 0
        }
    }

    /// Whether a thread is pinned to write to the store. A thread that pins after a heavy barrier sees what came before that.
    pub(super) fn has_writers(memory: &Memory) -> bool {
        writers(memory).next().is_some()
    }

    /// How often the calling thread is, not counting nested pins.
    pub(super) fn own_writers(memory: &Memory) -> usize {
        // Most often the thread has no pin at all.
        if OWN.try_with(|own| own.get().is_pinned(Relaxed)) == Ok(false) {
            return 0;
        }
        writers(memory).filter(|slot| slot.owner.load(Relaxed) == thread()).count()
    }

    /// Whether the calling thread is in the store, so that waiting for its readers is in vain.
    pub(super) fn is_pinned(memory: &Memory) -> bool {
        let is_of = |slot: &Slot| slot.store.load(Relaxed) & !WRITES == ptr::from_ref(memory).addr();
        slots().any(|slot| slot.is_pinned(Relaxed) && slot.owner.load(Relaxed) == thread() && is_of(slot))
    }

    /// Whether another thread may begin a pin without a fence. One that takes a slot later runs a fence with its first pin.
    pub(super) fn has_others() -> bool {
        slots().any(|slot| slot.taken.load(Relaxed) && slot.owner.load(Relaxed) != thread())
    }

    fn writers(memory: &Memory) -> impl Iterator<Item = &'static Slot> {
        let store = ptr::from_ref(memory).addr() | WRITES;
        slots().filter(move |slot| slot.is_pinned(Acquire) && slot.store.load(Acquire) == store)
    }

    impl Drop for Guard {
        #[inline(always)]
        fn drop(&mut self) {
            self.word.store(self.free, Release);
        }
    }

    /// A small number that no other living thread has. It is 0 before the thread's first pin, and wherever pins need a fence.
    #[inline]
    pub fn lane() -> usize {
        OWN.try_with(|own| own.get().number).unwrap_or(0)
    }

    // --- epochs and limbo

    /// Ends the present epoch, and raises `Memory::safe` to the epoch of the store's oldest reader. While other threads run
    /// this takes microseconds, so no caller holds a lock.
    pub(super) fn advance(memory: &Memory) {
        let now = NOW.load(SeqCst);
        if !barrier::heavy() {
            return;
        }
        let _ = NOW.compare_exchange(now, now + NEXT, SeqCst, SeqCst);
        let mut oldest = u64::MAX;
        for slot in slots() {
            let pinned = slot.pinned.load(Acquire);
            let store = slot.store.load(Acquire) & !WRITES;
            if pinned & 1 != 0 && store == ptr::from_ref(memory).addr() {
                oldest = oldest.min(pinned);
            }
        }
        // The thread sanitizer does not know `fetch_max`: it would not see that readers come before what is freed.
        let _ = memory.safe.0.try_update(AcqRel, Relaxed, |safe| Some(safe.max(oldest.min(now))));
    }

    /// Advances until all that was retired before can be freed, unless a reader is in it. That may be the caller itself.
    pub(super) fn advance_far(memory: &Memory) {
        (0..3).for_each(|_| advance(memory));
    }

    /// What was unlinked and may still be in use, oldest first. Each item has the epoch after which no reader can find it.
    pub(super) struct Limbo<T>(VecDeque<(u64, T)>);

    impl<T> Default for Limbo<T> {
        fn default() -> Self {
            Self(VecDeque::new())
        }
    }

    impl<T> Limbo<T> {
        /// Adds an item. It is unlinked already: E2.
        pub(super) fn push(&mut self, item: T) {
            barrier::before_now();
            self.0.push_back((NOW.load(Relaxed) + NEXT, item));
        }

        pub(super) fn oldest(&self) -> Option<&T> {
            self.0.front().map(|(_, item)| item)
        }

        /// Removes and returns the oldest item, if `advance` has shown that no thread can reach it any more: E2.
        #[inline(always)]
        pub(super) fn pop(&mut self, memory: &Memory) -> Option<T> {
            let safe = memory.safe.0.load(Acquire);
            if self.0.front()?.0 < safe { self.0.pop_front().map(|(_, item)| item) } else { None }
        }

        pub(super) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        #[cfg(twindex_check)]
        pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
            self.0.iter().map(|(_, item)| item)
        }

        /// Takes out everything, reachable or not.
        pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
            self.0.drain(..).map(|(_, item)| item)
        }
    }
}

// ---------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------

/// How many bytes the tables of a store hold together, and how many they may hold: M3.
struct Memory {
    used: AtomicUsize,
    limit: AtomicUsize,
    /// The newest open snapshot's generation times two, 0 without one; and `CLOSED`, while writers are to wait. A write reads
    /// it once.
    newest: Line<AtomicU64>,
    snapshots: Snapshots,
    /// No reader of the store can reach what was retired in an earlier epoch than this. It only grows.
    safe: Line<AtomicU64>,
    /// For each lane of threads, what they have removed from hash tables since they last advanced the epoch.
    removed: [Line<hash::RemovedBytes>; hash::LANES],
}

/// Something in a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Line<T>(T);

impl Default for Memory {
    fn default() -> Self {
        platform::barrier::has_light();
        let limit = AtomicUsize::new(usize::MAX);
        let (used, safe) = (AtomicUsize::new(0), Line::default());
        let (newest, snapshots) = (Line::default(), Snapshots::default());
        Self { used, limit, newest, snapshots, safe, removed: Default::default() }
    }
}

sync::thread_local! {
    /// The address of a store's memory, and the limit that holds there for this thread.
    static OWN_LIMIT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

impl Memory {
    /// The most bytes that the calling thread may have the store hold.
    fn limit(&self) -> usize {
        let limit = self.limit.load(Relaxed);
        let own =
            if limit == usize::MAX { (0, 0) } else { OWN_LIMIT.try_with(Cell::get).unwrap_or_default() };
        if own.0 == ptr::from_ref(self).addr() { own.1 } else { limit }
    }

    /// Counts `bytes` more, unless that takes the store past its limit: M3.
    fn reserve(&self, bytes: usize) -> Boxed<()> {
        let limit = self.limit();
        let grown = |used: usize| used.checked_add(bytes).filter(|&needed| needed <= limit);
        let refused = |used: usize| Error::MemoryLimit {
            limit: Some(limit),
            needed: used.saturating_add(bytes),
            kept: self.kept(),
        };
        self.used.try_update(Relaxed, Relaxed, grown).map_err(|used| Box::new(refused(used)))?;
        Ok(())
    }

    /// The error for `bytes` more that were refused. If they are within the limit, the system refused them.
    #[cold]
    fn refused(&self, bytes: usize) -> Error {
        let (limit, used) = (self.limit(), self.used.load(Relaxed));
        let needed = used.saturating_add(bytes);
        Error::MemoryLimit { limit: (needed > limit).then_some(limit), needed, kept: self.kept() }
    }

    /// How many bytes more the limit allows.
    fn available(&self) -> usize {
        self.limit().saturating_sub(self.used.load(Relaxed))
    }

    /// Counts `bytes` less: M3.
    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }

    fn allocate(&self, layout: Layout) -> Boxed<NonNull<u8>> {
        self.reserve(layout.size())?;
        // SAFETY: R1. No layout of this crate has size 0.
        NonNull::new(unsafe { alloc::alloc(layout) }).ok_or_else(|| {
            self.release(layout.size());
            Box::new(self.refused(layout.size()))
        })
    }

    /// Counts bytes for an allocation that cannot report a failure. A WebAssembly module would abort there, so it first
    /// tries to allocate as much.
    fn allot(&self, bytes: usize) -> Boxed<()> {
        if !cfg!(target_family = "wasm") {
            return self.reserve(bytes);
        }
        let (region, layout) = Space::new_region(self, bytes)?;
        // Without this the optimiser removes both calls, or with link-time optimisation one of them.
        let region = std::hint::black_box(region);
        // SAFETY: M1. It was allocated with this layout.
        unsafe { alloc::dealloc(region.as_ptr(), layout) };
        Ok(())
    }

    /// # Safety
    /// `block` came from `allocate` of this object with this layout, and nobody uses it any more.
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: M1, the caller's promise.
        unsafe { alloc::dealloc(block.as_ptr(), layout) };
        self.release(layout.size());
    }
}

// --- waiting

/// A short critical section. Waiters spin, then let other threads run. The word is odd while a thread holds the lock, and else a
/// version that never comes again: W1.
#[derive(Default)]
struct Lock(AtomicU64);

impl Lock {
    #[inline]
    fn lock(&self) -> Locked<'_> {
        match self.try_lock() {
            Some(locked) => locked,
            None => self.wait(),
        }
    }

    #[inline]
    fn try_lock(&self) -> Option<Locked<'_>> {
        let version = self.0.load(Relaxed) & !1;
        let locked = self.0.compare_exchange(version, version + 1, Acquire, Relaxed);
        locked.is_ok().then(|| Locked(self, version + 2))
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> Locked<'_> {
        let mut waited = 0;
        loop {
            // It only reads. A try to lock would take the cache line away from the lock's holder.
            while self.0.load(Relaxed) & 1 != 0 {
                wait(&mut waited);
            }
            if let Some(locked) = self.try_lock() {
                return locked;
            }
        }
    }
}

/// A lock that the thread holds, and its next version.
struct Locked<'l>(&'l Lock, u64);

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(self.1, Release);
    }
}

/// One turn of waiting for another thread. That thread may not be running.
#[cold]
fn wait(turns: &mut u32) {
    *turns += 1;
    if turns.is_multiple_of(64) { sync::yield_now() } else { sync::spin_loop() }
}

// --- size classes

/// The number of size classes. Sizes count in units: 64 bytes in a [`Space`], 4 bytes in a shard. Each size up to 64 units
/// has a class. From there to 1,024 units each doubling has 32.
const CLASSES: usize = 64 + 32 * 4 + 1;

const _: () = assert!(CLASSES <= 1 << u8::BITS);

/// The smallest class that holds so many units, and how many it has.
#[inline]
fn class(units: usize) -> (usize, usize) {
    if units <= 64 {
        return (units, units);
    }
    let doubling = (units - 1).ilog2() - 6;
    let step = 2_usize << doubling;
    let units = units.next_multiple_of(step);
    (64 + 32 * doubling as usize + (units - (64 << doubling)) / step, units)
}

fn class_units(class: usize) -> usize {
    if class <= 64 {
        return class;
    }
    let (doubling, steps) = ((class - 65) / 32, (class - 65) % 32 + 1);
    (64 << doubling) + steps * (2 << doubling)
}

/// The classes of pieces that together have exactly so many units: as few pieces as possible.
fn classes_of(mut units: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let wanted = units.min(class_units(CLASSES - 1));
        let (least, has) = class(wanted);
        let class = least - usize::from(has > wanted);
        units -= class_units(class);
        (class > 0).then_some(class)
    })
}

// --- blocks

/// The blocks of one index, and what waits to be freed. Blocks are cut from large regions, and free ones are kept by size.
///
/// A region of 2 MiB asks for a huge page, which makes every cache miss a quarter to a third shorter. Blocks are cut but
/// never joined, so the first word of a block stays where it is: M2.
struct Space {
    memory: Arc<Memory>,
    /// The first free block of each class, or null. It is as long as the largest class that was ever free.
    free: Vec<*mut u8>,
    /// The bytes of the free blocks that are large enough for any leaf.
    reserved: usize,
    /// Where the rest of the current region begins, and its bytes.
    bump: *mut u8,
    bump_bytes: usize,
    /// The next region, if it is allocated already, and whether a thread is allocating it now.
    next: Option<Region>,
    coming: bool,
    regions: Vec<Region>,
    /// The block over `LARGEST` that was freed last. Each snapshot has a directory copied: fresh pages would take longer than that.
    spare: Option<(NonNull<u8>, usize)>,
    bytes: usize,
    /// Whether the index is closed to writers, because it was empty.
    closed: bool,
    limbo: epoch::Limbo<Retired>,
    /// How much has come into the limbo since `maintain` was last due.
    limbo_items: usize,
    limbo_bytes: usize,
}

type Region = (NonNull<u8>, Layout);

/// Memory that no pointer in the index leads to any more: a block and its size, or a blob.
#[derive(Clone, Copy)]
enum Retired {
    Block(NonNull<u8>, usize),
    Blob(Blob),
}

impl Retired {
    fn address(self) -> *const u8 {
        match self {
            Self::Block(block, _) => block.as_ptr(),
            Self::Blob(blob) => blob.0.as_ptr().cast(),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Block(_, size) => size,
            Self::Blob(blob) => blob.size(),
        }
    }
}

// SAFETY: M1. A `Space` owns its regions and what is retired, and gives blocks to one owner each.
unsafe impl Send for Space {}

impl Space {
    const MIN_REGION: usize = tuned(1024, 256);
    const HUGE_PAGE: usize = tuned(2 << 20, 8192);
    const LARGEST: usize = tuned(64 << 10, 1024);
    /// Blocks are aligned to this and have a multiple of it.
    const UNIT: usize = 64;
    /// So much free memory is reserved, at most, for leaves that replace others. Free blocks that are large enough for any
    /// leaf count towards it.
    const RESERVE: usize = tuned(256 << 10, 2048);
    const ANY_LEAF: usize = tuned(8192, 512);
    /// `maintain` is due after so many retired items, or once they are a thirty-second of the index between these bounds.
    const COLLECT_ITEMS: usize = tuned(64, 2);
    const COLLECT_FROM: usize = tuned(4 << 10, 256);
    const COLLECT_AT: usize = tuned(256 << 10, 256);

    fn new(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            free: Vec::new(),
            reserved: 0,
            bump: ptr::null_mut(),
            bump_bytes: 0,
            next: None,
            coming: false,
            regions: Vec::new(),
            spare: None,
            bytes: 0,
            closed: false,
            limbo: epoch::Limbo::default(),
            limbo_items: 0,
            limbo_bytes: 0,
        }
    }

    /// The class of blocks that hold `bytes`, and their size. Blocks over `LARGEST` are regions of their own.
    fn class(bytes: usize) -> (usize, usize) {
        let (class, units) = class(bytes.div_ceil(Self::UNIT).max(1));
        (class, units * Self::UNIT)
    }

    fn class_size(class: usize) -> usize {
        class_units(class) * Self::UNIT
    }

    /// How many bytes a block for `bytes` really has.
    fn rounded(bytes: usize) -> usize {
        if bytes > Self::LARGEST { bytes } else { Self::class(bytes).1 }
    }

    /// A block of at least `bytes`, and its size. It takes a free block that is up to a quarter too large. Otherwise blocks
    /// of sizes that nobody asks for any more would never be used again.
    fn take_about(&mut self, bytes: usize) -> Boxed<(NonNull<u8>, usize)> {
        let (least, size) = Self::class(bytes);
        let fits = |class: &usize| Self::class_size(*class) <= bytes + bytes / 4;
        let mut classes = (least..self.free.len()).take_while(fits);
        match classes.find_map(|class| Some((self.pop(class)?, Self::class_size(class)))) {
            Some(free) => Ok(free),
            None => Ok((self.take(bytes)?, size)),
        }
    }

    /// A block of at least `bytes`, aligned to 64.
    fn take(&mut self, bytes: usize) -> Boxed<NonNull<u8>> {
        if bytes > Self::LARGEST {
            let spare = self.spare.take_if(|spare| spare.1 == bytes);
            return spare.map_or_else(|| Ok(self.bring(bytes)?.0), |(block, _)| Ok(block));
        }
        let (class, size) = Self::class(bytes);
        if let Some(block) = self.pop(class) {
            return Ok(block);
        }
        if self.bump_bytes < size {
            let larger = (class + 1..self.free.len()).find_map(|class| Some((class, self.pop(class)?)));
            self.file_rest();
            if let Some((class, block)) = larger {
                // Its rest is carved up next. SAFETY: M1. The block is larger than `size`.
                self.bump = unsafe { block.as_ptr().add(size) };
                self.bump_bytes = Self::class_size(class) - size;
                return Ok(block);
            }
            let least = Self::MIN_REGION.max(size);
            let mut bytes = self.next_bytes().max(least);
            let (region, layout) = loop {
                match self.next.take().map_or_else(|| self.bring(bytes), Ok) {
                    // Near the memory limit less may be left.
                    Err(_) if bytes > least => bytes = (bytes / 2).max(least),
                    brought => break brought?,
                }
            };
            (self.bump, self.bump_bytes) = (region.as_ptr(), layout.size());
        }
        Ok(self.carve(size))
    }

    // --- the current region and free lists

    /// Fails if there would be too little memory left to replace leaves. A table that needs memory for more pairs asks this
    /// first, so that near the memory limit pairs can still be replaced.
    fn may_grow(&self) -> Boxed<()> {
        let reserve = (self.bytes / 16).min(Self::RESERVE);
        let available = self.memory.available().saturating_add(self.bump_bytes + self.reserved);
        if available >= reserve { Ok(()) } else { Err(Box::new(self.memory.refused(reserve))) }
    }

    /// Allocates the first region, with room for this block alone.
    fn begin(&mut self, bytes: usize) -> Boxed<()> {
        let (region, layout) = self.bring(bytes)?;
        (self.bump, self.bump_bytes) = (region.as_ptr(), layout.size());
        Ok(())
    }

    /// Cuts a block off the current region, which has room for it.
    fn carve(&mut self, size: usize) -> NonNull<u8> {
        let block = NonNull::new(self.bump).expect("there is room in a region");
        // SAFETY: M1. At least `size` bytes are left, so this stays within the region or at its end.
        self.bump = unsafe { self.bump.add(size) };
        self.bump_bytes -= size;
        // SAFETY: M2. The block is fresh and has 64 bytes or more.
        unsafe { block.cast::<AtomicU64>().write(AtomicU64::new(0)) };
        block
    }

    /// Turns the rest of the current region into free blocks.
    fn file_rest(&mut self) {
        for class in classes_of(self.bump_bytes / Self::UNIT) {
            let block = self.carve(Self::class_size(class));
            self.push(block, class);
        }
    }

    /// Adds a free block to its list. Behind its first word it holds the address of the next one.
    fn push(&mut self, block: NonNull<u8>, class: usize) {
        if self.free.len() <= class {
            self.free.resize(class + 1, ptr::null_mut());
        }
        // SAFETY: M1. A block has 64 bytes or more.
        unsafe { Self::next_of(block).write(self.free[class]) };
        self.free[class] = block.as_ptr();
        let size = Self::class_size(class);
        self.reserved += if size >= Self::ANY_LEAF { size } else { 0 };
    }

    /// Takes a free block of this class.
    fn pop(&mut self, class: usize) -> Option<NonNull<u8>> {
        let first = self.free.get_mut(class)?;
        let block = NonNull::new(*first)?;
        // SAFETY: M1. `push` wrote it.
        *first = unsafe { Self::next_of(block).read() };
        prefetch(*first);
        let size = Self::class_size(class);
        self.reserved -= if size >= Self::ANY_LEAF { size } else { 0 };
        Some(block)
    }

    /// Where a free block holds the address of the next one.
    fn next_of(block: NonNull<u8>) -> NonNull<*mut u8> {
        // SAFETY: R1. A block has 64 bytes or more.
        unsafe { block.add(size_of::<AtomicU64>()).cast() }
    }

    // --- regions

    /// How large the next region will be.
    fn next_bytes(&self) -> usize {
        let grown = (self.bytes / 8).max(self.bytes.min(4 * Self::MIN_REGION)) + 1;
        (grown.next_power_of_two() / 2).clamp(Self::MIN_REGION, Self::HUGE_PAGE)
    }

    /// Whether it is time to allocate the next region. The current one still has room for some dozen leaves. An earlier
    /// allocation would only take memory.
    fn ends(&self) -> bool {
        let bytes = self.next_bytes();
        let due = platform::FETCHES_REGIONS && bytes > Self::LARGEST && self.bump_bytes < bytes / 16;
        due && self.next.is_none() && !self.coming && self.memory.available() >= bytes
    }

    fn new_region(memory: &Memory, bytes: usize) -> Boxed<Region> {
        let huge = cfg!(target_os = "linux") && bytes == Self::HUGE_PAGE;
        let layout = Layout::from_size_align(bytes, if huge { bytes } else { 64 })
            .map_err(|_| memory.refused(bytes))?;
        let region = memory.allocate(layout)?;
        platform::populate(region.as_ptr(), bytes, huge);
        Ok((region, layout))
    }

    fn bring(&mut self, bytes: usize) -> Boxed<Region> {
        let region = Self::new_region(&self.memory, bytes)?;
        // SAFETY: M2. It is fresh, and has 64 bytes or more.
        unsafe { region.0.cast::<AtomicU64>().write(AtomicU64::new(0)) };
        Ok(self.own(region))
    }

    fn own(&mut self, region: Region) -> Region {
        self.regions.push(region);
        self.bytes += region.1.size();
        region
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from `take(bytes)` of this object, and nobody uses more of it than its first word.
    unsafe fn give(&mut self, block: NonNull<u8>, bytes: usize) {
        if bytes <= Self::LARGEST {
            #[cfg(twindex_check)]
            // SAFETY: M1, the caller's promise.
            unsafe {
                check::spoil(block.byte_add(8), Self::rounded(bytes) - 8);
            };
            self.push(block, Self::class(bytes).0);
        } else if let Some((unused, _)) = self.spare.replace((block, bytes))
            && let Some(at) = self.regions.iter().rposition(|&(region, _)| region == unused)
        {
            let (region, layout) = self.regions.swap_remove(at);
            self.bytes -= layout.size();
            // SAFETY: M1. The region was allocated with this layout.
            unsafe { self.memory.free(region, layout) };
        }
    }

    /// Queues what nobody can find any more. Returns whether `maintain` is due.
    fn retire(&mut self, retired: Retired) -> bool {
        self.limbo_items += 1;
        self.limbo_bytes += retired.size();
        self.limbo.push(retired);
        // In a small index, advancing the epoch costs more than the waiting memory is worth.
        let threshold = (self.bytes / 32).clamp(Self::COLLECT_FROM, Self::COLLECT_AT);
        let is_due = self.limbo_items >= Self::COLLECT_ITEMS || self.limbo_bytes >= threshold;
        if is_due {
            (self.limbo_items, self.limbo_bytes) = (0, 0);
        }
        is_due
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        for &(region, layout) in &self.regions {
            // SAFETY: M1. It was allocated with this layout, and the owner of the `Space` has no block left.
            unsafe { self.memory.free(region, layout) };
        }
    }
}

// --- the heap of an index

/// The memory of one index: its blocks and its blobs.
struct Heap {
    memory: Arc<Memory>,
    blob_bytes: AtomicUsize,
    /// Whether `maintain` is due: much was retired, or the current region is nearly used up.
    due: AtomicBool,
    /// It has a cache line of its own, since every search reads the fields before it.
    space: Line<Mutex<Space>>,
}

impl Heap {
    fn new(memory: Arc<Memory>) -> Self {
        let space = Line(Mutex::new(Space::new(Arc::clone(&memory))));
        Self { memory, blob_bytes: AtomicUsize::new(0), due: AtomicBool::new(false), space }
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        lock(&self.space.0)
    }

    fn bytes(&self) -> usize {
        self.space().bytes + self.blob_bytes.load(Relaxed)
    }

    /// Makes `maintain` due if the current region is nearly used up.
    fn check_end(&self, space: &Space) {
        if space.ends() {
            self.due.store(true, Relaxed);
        }
    }

    /// Frees these once no reader can be in them. Nobody can find them any more: E2.
    fn retire(&self, space: &mut Space, all: impl IntoIterator<Item = Retired>) {
        for retired in all {
            if space.retire(retired) {
                self.due.store(true, Relaxed);
            }
        }
    }

    /// Frees these at once.
    ///
    /// # Safety
    /// They came from this heap, and nobody can find them or is in them.
    unsafe fn free(&self, space: &mut Space, all: impl IntoIterator<Item = Retired>) {
        for retired in all {
            // SAFETY: M1, B1, the caller's promise.
            unsafe {
                match retired {
                    Retired::Block(block, size) => space.give(block, size),
                    Retired::Blob(blob) => self.free_blob(blob),
                }
            }
        }
    }

    /// Frees what no reader can be in any more. Returns whether there was any.
    fn free_unread(&self, space: &mut Space) -> bool {
        let mut any = false;
        while let Some(retired) = space.limbo.pop(&self.memory) {
            // SAFETY: E2. No reader is left in it.
            unsafe { self.free(space, [retired]) };
            any = true;
        }
        any
    }

    #[inline]
    fn maintain_if_due(&self) {
        if take_flag(&self.due) {
            self.maintain();
        }
    }

    /// Frees what no reader is in, and allocates the next region if it is time. Both take long, so the caller holds no lock.
    #[cold]
    fn maintain(&self) {
        epoch::advance(&self.memory);
        let bytes = {
            let mut space = self.space();
            self.free_unread(&mut space);
            if !space.ends() {
                return;
            }
            space.coming = true;
            space.next_bytes()
        };
        let region = Space::new_region(&self.memory, bytes);
        let mut space = self.space();
        space.coming = false;
        space.next = region.ok().map(|region| space.own(region));
    }

    /// Advances the epoch, and frees all that no reader can be in any more. Returns whether there was any.
    fn reclaim(&self) -> bool {
        epoch::advance_far(&self.memory);
        self.free_unread(&mut self.space())
    }

    fn add_blob(&self, key: &[u8], value: &[u8]) -> Boxed<Blob> {
        let layout =
            Blob::layout(key.len(), value.len()).ok_or_else(|| self.memory.refused(isize::MAX as usize))?;
        let blob = self.memory.allocate(layout)?.cast::<BlobHead>();
        self.blob_bytes.fetch_add(layout.size(), Relaxed);
        // SAFETY: B1. The layout has room for the header, the key and the value, in this order.
        unsafe {
            blob.write(BlobHead { owners: AtomicUsize::new(1), key_len: key.len(), value_len: value.len() });
            let bytes = blob.add(1).cast::<u8>().as_ptr();
            bytes.copy_from_nonoverlapping(key.as_ptr(), key.len());
            bytes.add(key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        Ok(Blob(blob))
    }

    /// Ends the index's ownership of a blob.
    ///
    /// # Safety
    /// `blob` came from `add_blob` of this object, and nobody finds it in the index any more.
    #[inline(never)]
    unsafe fn free_blob(&self, blob: Blob) {
        self.blob_bytes.fetch_sub(blob.size(), Relaxed);
        // SAFETY: B1. The index has owned it until now.
        unsafe { blob.disown(&self.memory) };
    }
}

/// An emptied table returns its memory if it has so many bytes. Less is soon used again.
const WORTH_RETURNING: usize = tuned(64 << 10, 1);

// --- blobs and values

/// A value too large for an index, with its key if that is too large as well: an allocation of its own, written once.
///
/// Its index owns it until it is retired and no reader is left. A cursor and a [`Value`] own it too while they show it.
/// B1: whoever has a `Blob` owns it, or has a pin or a lock that keeps an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
struct Blob(NonNull<BlobHead>);

/// The key and the value follow it.
#[repr(C)]
struct BlobHead {
    owners: AtomicUsize,
    key_len: usize,
    value_len: usize,
}

impl Blob {
    fn layout(key_len: usize, value_len: usize) -> Option<Layout> {
        let bytes = size_of::<BlobHead>().checked_add(key_len)?.checked_add(value_len)?;
        Layout::from_size_align(bytes, align_of::<BlobHead>()).ok()
    }

    fn head<'b>(self) -> &'b BlobHead {
        // SAFETY: B1. An owner keeps it while anybody has this handle.
        unsafe { self.0.as_ref() }
    }

    /// The key and the value.
    fn parts<'b>(self) -> (&'b [u8], &'b [u8]) {
        let &BlobHead { key_len, value_len, .. } = self.head();
        // SAFETY: B1. `add_blob` wrote a header and that many bytes behind it.
        unsafe {
            let bytes = self.0.as_ptr().add(1).cast::<u8>();
            (slice::from_raw_parts(bytes, key_len), slice::from_raw_parts(bytes.add(key_len), value_len))
        }
    }

    fn size(self) -> usize {
        size_of::<BlobHead>() + self.head().key_len + self.head().value_len
    }

    /// Removes an owner. The last one frees the blob.
    ///
    /// # Safety
    /// The blob came from `Heap::add_blob` with this memory, and the owner does not use it any more.
    unsafe fn disown(self, memory: &Memory) {
        // Read before the owner is gone, for whom alone the blob is kept.
        let layout = Self::layout(self.head().key_len, self.head().value_len);
        if self.head().owners.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: B1. It was allocated with this layout, and this was its last owner.
            unsafe { memory.free(self.0.cast(), layout.expect("it was allocated with it")) };
        }
    }
}

/// Where a value is: in its record or cell, in a block of so many bytes behind the first word, or in a blob.
#[derive(Clone, Copy)]
enum Body<'v> {
    Inline(&'v [u8]),
    Block(NonNull<u8>, usize),
    Blob(Blob),
}

/// The bytes of a block before its value. The first word stays an atomic: M2.
const BLOCK_HEAD: usize = size_of::<AtomicU64>();

impl<'v> Body<'v> {
    #[inline]
    fn bytes(self) -> &'v [u8] {
        match self {
            Body::Inline(value) => value,
            // SAFETY: S6. The pin or the lock that led to the pair keeps its block.
            Body::Block(block, bytes) => unsafe {
                slice::from_raw_parts(block.as_ptr().add(BLOCK_HEAD), bytes - BLOCK_HEAD)
            },
            Body::Blob(blob) => blob.parts().1,
        }
    }

    /// What has to be retired with the pair: its value, if that is out of line.
    fn out_of_line(self) -> Option<Retired> {
        match self {
            Body::Inline(_) => None,
            Body::Block(block, bytes) => Some(Retired::Block(block, bytes)),
            Body::Blob(blob) => Some(Retired::Blob(blob)),
        }
    }

    /// The value in a form that outlives the pin.
    fn keep(self, memory: &Arc<Memory>) -> Value {
        Value(match self {
            Body::Inline(_) | Body::Block(..) => Kept::Copy(self.bytes().into()),
            Body::Blob(blob) => {
                blob.head().owners.fetch_add(1, Relaxed);
                Kept::Blob { blob, memory: Arc::clone(memory) }
            }
        })
    }
}

/// A value that never changes, even if its pair does. See [`Table::select_shared`].
pub struct Value(Kept);

enum Kept {
    Copy(Box<[u8]>),
    Blob { blob: Blob, memory: Arc<Memory> },
}

// SAFETY: B1. The bytes never change, and the count of a blob's owners is atomic.
unsafe impl Send for Value {}
// SAFETY: B1, as above.
unsafe impl Sync for Value {}

impl Value {
    /// Whether these are the store's own bytes, rather than a copy. They count in [`Store::memory`] until the last
    /// `Value` of them is dropped.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Kept::Blob { .. })
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kept::Copy(bytes) => bytes,
            Kept::Blob { blob, .. } => blob.parts().1,
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Value {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl PartialEq<[u8]> for Value {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Default for Value {
    fn default() -> Self {
        Self(Kept::Copy(Box::default()))
    }
}

macro_rules! value_from {
    ($($bytes:ty),*) => {$(
        impl From<$bytes> for Value {
            fn from(bytes: $bytes) -> Self {
                Self(Kept::Copy(bytes.into()))
            }
        }
    )*};
}

value_from!(Vec<u8>, Box<[u8]>, &[u8]);

impl FromIterator<u8> for Value {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        Self(Kept::Copy(bytes.into_iter().collect()))
    }
}

impl From<Value> for Box<[u8]> {
    fn from(value: Value) -> Self {
        Vec::from(value).into()
    }
}

impl From<Value> for Vec<u8> {
    /// Copies the bytes only where they are the store's own.
    fn from(mut value: Value) -> Self {
        match &mut value.0 {
            Kept::Copy(bytes) => mem::take(bytes).into_vec(),
            Kept::Blob { .. } => value.to_vec(),
        }
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kept::Copy(bytes) => Kept::Copy(bytes.clone()),
            Kept::Blob { blob, memory } => return Body::Blob(*blob).keep(memory),
        })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Kept::Blob { blob, memory } = &self.0 {
            // SAFETY: B1. This was one of its owners, and the memory is its store's.
            unsafe { blob.disown(memory) };
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Value").field(&excerpt(self)).finish()
    }
}

// ---------------------------------------------------------------------------------------------------
// What both indexes use
// ---------------------------------------------------------------------------------------------------

/// What came of an attempt to change a pair.
enum Attempt {
    /// Whether a pair was written or removed.
    Done(bool),
    Failed(Box<Error>),
    /// Nothing was decided, since the index has just grown, closed or been replaced.
    Retry,
}

impl From<Boxed<bool>> for Attempt {
    #[inline(always)]
    fn from(changed: Boxed<bool>) -> Self {
        match changed {
            Ok(changed) => Self::Done(changed),
            Err(error) => Self::Failed(error),
        }
    }
}

/// Goes on with a change of an absent key for which the index had to grow. If it could not, a change that writes fails.
#[cold]
fn after_growth<V>(grown: Boxed<()>, decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>) -> Attempt {
    let Err(refused) = grown else { return Attempt::Retry };
    match decide(None) {
        Ok(Change::Set(_)) => Attempt::Failed(refused),
        other => other.map(|_| false).into(),
    }
}

/// A number that threads count up and down. It is one word. After `spread`, some threads have words of their own, which they
/// change without a locked addition.
#[derive(Default)]
struct Counter {
    shared: AtomicIsize,
    own: OnceLock<Box<[Line<AtomicIsize>; 8]>>,
}

impl Counter {
    fn add(&self, by: isize) {
        match self.own.get().and_then(|own| own.get(epoch::lane().wrapping_sub(1))) {
            Some(Line(own)) => own.store(own.load(Relaxed) + by, Relaxed),
            None => _ = self.shared.fetch_add(by, Relaxed),
        }
    }

    /// Adds the words. For tables that are so large that 512 bytes more do not matter.
    fn spread(&self) {
        if !cfg!(target_family = "wasm") {
            self.own.get_or_init(Box::default);
        }
    }

    fn get(&self) -> usize {
        let own = self.own.get().into_iter().flat_map(|own| &own[..]).map(|own| own.0.load(Relaxed));
        (own.sum::<isize>() + self.shared.load(Relaxed)).max(0).cast_unsigned()
    }
}

/// Whether a flag was set. Clears it. Most often it is not set, and this only reads.
#[inline]
fn take_flag(flag: &AtomicBool) -> bool {
    flag.load(Relaxed) && flag.swap(false, Relaxed)
}

/// A key or a value, without an allocation if it is short, as most are.
#[derive(Clone)]
enum Bytes {
    Short(u8, [u8; Self::SHORT]),
    Long(Vec<u8>),
}

impl Bytes {
    const SHORT: usize = 30;

    #[inline]
    fn of(bytes: &[u8]) -> Self {
        Self::new([bytes, &[]])
    }

    #[inline]
    fn new(parts: [&[u8]; 2]) -> Self {
        let [first, rest] = parts;
        let (len, mut bytes) = (first.len() + rest.len(), [0; Self::SHORT]);
        if SMALL || len > Self::SHORT {
            return Self::Long(parts.concat());
        }
        bytes[..first.len()].copy_from_slice(first);
        bytes[first.len()..len].copy_from_slice(rest);
        Self::Short(len as u8, bytes)
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => &bytes[..usize::from(*len)],
            Self::Long(bytes) => bytes,
        }
    }
}

/// What `read` returns, and the word, if that has none of the bits `busy` and does not change meanwhile: W1.
fn watched<T>(word: &AtomicU64, busy: u64, read: impl FnOnce() -> T) -> Option<(T, Word)> {
    let seen = word.load(Acquire);
    if seen & busy != 0 {
        return None;
    }
    let found = read();
    sync::atomic::fence(Acquire);
    (word.load(Relaxed) == seen).then_some((found, (ptr::from_ref(word), seen)))
}

/// An index that readers use while writers may replace it by another: T1. The field that readers need comes first.
#[repr(C)]
struct Shared<T> {
    now: AtomicPtr<T>,
    old: Mutex<epoch::Limbo<Arc<T>>>,
    /// The indexes that snapshots keep, each with the generation in which it was replaced, oldest first, and the bytes that were
    /// counted for that.
    past: Mutex<Vec<(u64, Arc<T>, usize)>>,
    memory: Arc<Memory>,
}

impl<T: Versioned> Shared<T> {
    fn new(first: T, memory: Arc<Memory>) -> Self {
        let now = AtomicPtr::new(Arc::into_raw(Arc::new(first)).cast_mut());
        Self { now, old: Mutex::default(), past: Mutex::default(), memory }
    }

    #[inline]
    fn get<'g>(&self, _pinned: &'g epoch::Guard) -> &'g T {
        // SAFETY: T1. What was current after the pin is dropped only once the pin has ended.
        unsafe { &*self.now.load(Acquire) }
    }

    fn get_arc(&self) -> Arc<T> {
        let _pinned = epoch::pin(&self.memory);
        let now = self.now.load(Acquire);
        // SAFETY: T1. It came from `Arc::into_raw`, and the pin keeps that count from reaching zero.
        unsafe {
            Arc::increment_strong_count(now);
            Arc::from_raw(now)
        }
    }

    /// Replaces `one` by `next`, unless another thread has replaced it already. Returns whether it did.
    fn replace(&self, one: &Arc<T>, next: T) -> bool {
        let writing = self.memory.enter();
        // All that replace it hold this lock.
        let mut past = lock(&self.past);
        if !ptr::eq(self.now.load(Relaxed), Arc::as_ptr(one)) {
            return false;
        }
        let generation = self.memory.generation();
        next.past().born.store(generation, Relaxed);
        let next = Arc::into_raw(Arc::new(next)).cast_mut();
        // SAFETY: T1. `now` owned a count of it, which is ours since the swap.
        let old = unsafe { Arc::from_raw(self.now.swap(next, AcqRel)) };
        if old.past().is_kept(self.memory.newest()) {
            let bytes = old.bytes().saturating_sub(old.past().bytes.load(Relaxed));
            self.memory.count_kept(bytes);
            past.push((generation, old, bytes));
            return true;
        }
        drop((past, writing));
        self.retire(old);
        true
    }

    /// Frees an index once no reader is in it.
    fn retire(&self, old: Arc<T>) {
        let mut limbo = lock(&self.old);
        limbo.push(old);
        // Most readers leave it within a microsecond. Only one that was interrupted there takes longer.
        for _ in 0..100 {
            self.free_unread(&mut limbo);
            if limbo.is_empty() {
                break;
            }
            sync::yield_now();
        }
    }

    fn free_unread(&self, old: &mut epoch::Limbo<Arc<T>>) {
        epoch::advance_far(&self.memory);
        while old.pop(&self.memory).is_some() {}
    }

    /// Frees indexes that were replaced while readers were in them, if the readers are gone. Returns whether there was any.
    fn free_old(&self) -> bool {
        self.old.try_lock().is_ok_and(|mut old| {
            let any = !old.is_empty();
            if any {
                self.free_unread(&mut old);
            }
            any
        })
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: T1. `now` owns a count, and no reader can be left: readers hold the `Shared`.
        drop(unsafe { Arc::from_raw(*self.now.get_mut()) });
        self.memory.uncount_kept(lock(&self.past).iter().map(|kept| kept.2).sum());
    }
}

// ---------------------------------------------------------------------------------------------------
// The hash index
// ---------------------------------------------------------------------------------------------------

/// Pairs found by the hash of their key.
///
/// The top bits of a hash choose an entry of the directory, which leads to a segment. The low byte is the tag. The bits
/// above the tag choose the home bucket in the segment.
///
/// ```text
///  directory                segment: 64 buckets, 4 KiB      bucket: one cache line
/// ┌───────────┐            ┌──────────┐                    ┌─────────────────────────────────────┐
/// │ ptr·shard ├───────────>│ bucket 0 │                    │ 12 tags of 8 bits                   │
/// │ ptr·shard ├─┐ same     │ bucket 1 │                    │ pairs that passed it, 12 marks (V4) │
/// │ ptr·shard ├─┘ segment  │    ...   │                    │ 12 refs of 32 bits ─────> record    │
/// └───────────┘            └──────────┘                    └─────────────────────────────────────┘
///  record, in its shard's blocks:  key length u16 · value length u16 · key · value
/// ```
///
/// A pair whose home bucket is full goes to the next bucket with room, and every bucket on the way counts it as passed. If
/// a pair would be too far from its home, its segment is split: two new segments take over its refs and its entries of the
/// directory. Readers that are still in the old segment find all that was in it.
///
/// The life of one insert: hash the key; find its segment by the directory; lock the segment's shard; check that the directory
/// still leads there; find a free slot near the home bucket; write the record; store its ref; count the pair; count it in the
/// buckets that it passed; set the slot's tag, which publishes it; unlock. Without a slot the segment grows first.
///
/// Invariants
///
/// - **H1** A slot has a record exactly if its tag is not 0. Its ref is stored before the tag, and names a record that is whole
///   and never changes. A record is freed only through a limbo, after its ref was replaced or its tag cleared, which leaves the
///   ref. So a pinned reader that has seen a tag may follow whatever ref it then loads.
/// - **H2** A segment changes only under the lock of its shard, and only while the directory leads to it and no thread is
///   splitting it. A segment that was replaced never changes again, but for the marks of V4.
/// - **H3** A pair stands at most once in its segment, between its home bucket and the first bucket from there that counts no
///   pair past it.
/// - **H4** A shard's records are those of segments whose hashes begin with the shard's bits. Its table of blocks names each
///   block that has one of them, by the same number for ever, and so do the tables of shards that were divided off it. The
///   index's table of shards leads to the same table. A free record belongs to one shard, which alone cuts it and joins it with
///   others.
#[path = "../tests/check"]
mod hash {
    use super::platform::Tags;
    use super::*;
    use std::collections::TryReserveError;

    #[cfg(twindex_check)]
    #[path = "hash.rs"]
    mod check;

    /// A ref has 32 bits and counts units of 4 bytes, so a shard holds up to 16 GiB. WebAssembly has one thread, for which
    /// one shard is enough.
    const SHARD_BITS: u32 = if cfg!(target_family = "wasm") { 0 } else { tuned(6, 2) as u32 };
    const SHARDS: usize = 1 << SHARD_BITS;

    /// Slots of a bucket. The layout has room for 12.
    const SLOTS: usize = tuned(12, 3);
    /// The buckets of a full segment and of the first one, and the factor by which a smaller one grows.
    const BUCKETS: usize = tuned(64, 4);
    const FIRST_BUCKETS: usize = 1;
    const GROWTH: usize = tuned(4, 2);
    /// A full segment is split if a pair would be further than this from its home. In a simulation of 400 segments, limits
    /// of 4, 6 and 8 split them on average with 81, 86 and 89 % of their slots taken. Of the segments 5 % were split below
    /// 73, 77 and 82 %.
    const MAX_STEPS: usize = tuned(7, 2);
    /// `reserve` splits segments until each has at most so many pairs to expect. They are not yet full then, so few are
    /// split once more.
    const RESERVED_PAIRS: usize = BUCKETS * SLOTS * 4 / 5;
    /// The bits of a bucket's count of passed pairs. Above them is a mark for each slot.
    const PASSED: u32 = u16::MAX as u32;
    const BUCKET: usize = size_of::<Bucket>();

    // --- buckets

    #[repr(C, align(64))]
    struct Bucket {
        /// The tag of each slot, 0 if the slot is free, and the count of pairs that passed: they found no room here on the way
        /// from their home bucket.
        tags: Tags,
        refs: [AtomicU32; SLOTS],
    }

    const _: () = assert!(BUCKET == 64);

    impl Bucket {
        /// A bit for each slot whose tag is `tag`.
        #[inline(always)]
        fn slots_with(&self, tag: u8) -> u32 {
            self.tags.matches(tag) & ((1 << SLOTS) - 1)
        }

        fn free_slots(&self) -> u32 {
            self.slots_with(0)
        }

        fn used_slots(&self) -> u32 {
            !self.free_slots() & ((1 << SLOTS) - 1)
        }

        #[inline]
        fn first(&self, slots: u32) -> &AtomicU32 {
            debug_assert!(slots != 0 && slots < 1 << SLOTS);
            // SAFETY: R1. The masks of `slots_with` have bits below `SLOTS` only, and callers pass none that is 0.
            unsafe { self.refs.get_unchecked(slots.trailing_zeros() as usize) }
        }

        /// These slots, each with its ref.
        #[inline(always)]
        fn refs_of(&self, mut slots: u32) -> impl Iterator<Item = (u32, u32)> {
            std::iter::from_fn(move || {
                let slot = (slots != 0).then(|| slots.trailing_zeros())?;
                let reference = self.first(slots).load(Acquire);
                slots &= slots - 1;
                Some((slot, reference))
            })
        }

        /// The slot with this key and its record.
        fn find<'s>(&self, shard: &'s Shard, tag: u8, key: &[u8]) -> Option<(u32, Record<'s>)> {
            let mut found = self.refs_of(self.slots_with(tag)).map(|(slot, at)| (slot, shard.record(at)));
            found.find(|(_, record)| record.is_key(key))
        }

        #[inline]
        fn passed(&self) -> u32 {
            self.tags.word() & PASSED
        }

        /// A bit for each slot with a mark. In a segment that a snapshot keeps, that says that the record has left the index: V4.
        /// In any other, the slot is promised to a pair of the commit that holds the lock.
        fn marks(&self) -> u32 {
            self.tags.word() >> PASSED.count_ones()
        }

        /// Promises a slot, or no longer does.
        fn flip_mark(&self, slot: u8) {
            self.tags.set_word(self.tags.word() ^ (PASSED + 1) << slot);
        }

        /// The slot with this ref, whose pair has this tag.
        fn slot_of(&self, tag: u8, reference: u32) -> Option<u32> {
            let mut slots = self.refs_of(self.slots_with(tag));
            slots.find(|&(_, at)| at == reference).map(|(slot, _)| slot)
        }

        /// Counts one more passed pair, or one less.
        fn count_passed(&self, more: bool) {
            let count = self.tags.passed.load(Relaxed);
            debug_assert!(more || count > 0);
            self.tags.set_word(if more { count + 1 } else { count - 1 });
        }
    }

    /// Spreads the hash of counters, whose top bits differ little, over the directory.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The hash of a key. Its low byte is not 0, so that it can be a tag.
    #[derive(Clone, Copy)]
    pub(super) struct Hash(u64);

    impl Hash {
        #[inline]
        fn tag(self) -> u8 {
            self.0 as u8
        }

        /// The offset of the home bucket in bytes. The segment's mask still has to cut it to whole buckets and to the
        /// segment's size.
        #[inline]
        fn home(self) -> usize {
            self.0 as usize >> (u8::BITS - BUCKET.ilog2())
        }

        #[inline]
        fn top(self, bits: u32) -> usize {
            // Shifted twice, as a shift by 64 is none.
            (self.0 >> 1 >> (63 - bits)) as usize
        }
    }

    // --- the directory

    /// An entry of the directory: a segment's address, which is a multiple of 64, and in its low bits its shard's number.
    type Entry = AtomicPtr<u8>;
    const ENTRY: usize = size_of::<Entry>();

    /// How a directory begins. It has two entries or more.
    #[repr(C)]
    struct DirectoryHead {
        /// A hash that is shifted down by this is the number of its entry. It is 64 less the directory's depth.
        shift: u32,
        /// The mask of all its segments. Only the first segments of a table have fewer than `BUCKETS` buckets.
        mask: u32,
        entries: [Entry; 2],
    }

    const ENTRIES_AT: usize = std::mem::offset_of!(DirectoryHead, entries);
    /// No table gets so deep, unless somebody has chosen keys whose hashes collide.
    const MAX_DEPTH: u32 = 31;

    /// The directory of a table without pairs. It saves readers the question whether there is one.
    static NO_DIRECTORY: DirectoryHead = DirectoryHead {
        shift: 63,
        mask: 0,
        entries: [const { AtomicPtr::new((&raw const NO_BUCKET).cast_mut().cast()) }; 2],
    };
    static NO_BUCKET: Bucket = Bucket {
        tags: Tags { low: AtomicU64::new(0), high: AtomicU32::new(0), passed: AtomicU32::new(0) },
        refs: [const { AtomicU32::new(0) }; SLOTS],
    };

    /// A directory. E1: whoever makes one has a pin or a lock that keeps it for `'d`, or is alone with it.
    #[derive(Clone, Copy)]
    struct Directory<'d>(*const DirectoryHead, PhantomData<&'d Entry>);

    impl<'d> Directory<'d> {
        const NONE: *const DirectoryHead = &raw const NO_DIRECTORY;

        /// The root of a snapshot.
        fn of(root: *mut u8) -> Self {
            Self(root.cast_const().cast(), PhantomData)
        }

        fn bytes_for(depth: u32) -> usize {
            ENTRIES_AT + (ENTRY << depth)
        }

        fn is_none(self) -> bool {
            ptr::eq(self.0, Self::NONE)
        }

        fn depth(self) -> u32 {
            // SAFETY: E1. The pin or lock by which this handle was made keeps the directory.
            64 - unsafe { (*self.0).shift }
        }

        fn len(self) -> usize {
            1 << self.depth()
        }

        #[inline(always)]
        fn entries(self) -> &'d [Entry] {
            // SAFETY: E1, R1. A directory of depth d has 2^d entries.
            unsafe { slice::from_raw_parts(self.0.byte_add(ENTRIES_AT).cast(), self.len()) }
        }

        #[inline(always)]
        fn segment(self, hash: Hash) -> Segment<'d> {
            // SAFETY: E1, R1. A hash that is shifted so far is an entry's number.
            unsafe {
                let entry = self.entries().get_unchecked((hash.0 >> ((*self.0).shift & 63)) as usize);
                Segment { entry: entry.load(Acquire), mask: (*self.0).mask, lifetime: PhantomData }
            }
        }

        /// The least hash that leads to an entry.
        fn first_hash(self, at: usize) -> u64 {
            (at as u64) << (64 - self.depth())
        }

        /// Which entries lead to a segment. The caller holds its lock, so they do not change: H2.
        fn span(self, segment: Segment<'_>, hash: Hash) -> Range<usize> {
            let leads_there = |&at: &usize| self.entries()[at].load(Relaxed) == segment.entry;
            let at = hash.top(self.depth());
            let before = (0..at).rev().take_while(leads_there).count();
            at - before..at + (at..self.len()).take_while(leads_there).count()
        }
    }

    // --- segments

    /// A segment with its shard's number, and the mask that keeps an offset within its buckets. E1, H2: whoever makes one has
    /// a pin or a lock that keeps it for `'s`, or is alone with it.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Segment<'s> {
        entry: *mut u8,
        mask: u32,
        lifetime: PhantomData<&'s Bucket>,
    }

    /// Where a key leads: its hash, segment and home bucket.
    type Home<'i> = (Hash, Segment<'i>, &'i Bucket);

    /// Where a pair is, or where it could be put. It is small enough for a register.
    #[derive(Clone, Copy)]
    struct Location {
        slot: u8,
        /// How far its bucket is from the key's home.
        steps: u8,
        /// Whether the key's pair is in the slot. If not, it is the first free slot for it.
        present: bool,
    }

    impl<'s> Segment<'s> {
        fn new(block: NonNull<u8>, buckets: usize, shard: usize) -> Self {
            debug_assert!(shard < SHARDS);
            let entry = block.as_ptr().map_addr(|address| address | shard);
            Self { entry, mask: ((buckets - 1) * BUCKET) as u32, lifetime: PhantomData }
        }

        #[inline]
        fn shard(self) -> usize {
            self.entry.addr() & (SHARDS - 1)
        }

        #[inline]
        fn first(self) -> *const Bucket {
            self.entry.map_addr(|address| address & !63).cast()
        }

        fn block(self) -> NonNull<u8> {
            NonNull::new(self.first().cast_mut().cast()).expect("a segment has an address")
        }

        fn bytes(self) -> usize {
            self.mask as usize + BUCKET
        }

        fn len(self) -> usize {
            self.bytes() / BUCKET
        }

        /// The bucket that is so many steps from a hash's home.
        #[inline]
        fn bucket(self, hash: Hash, steps: usize) -> &'s Bucket {
            let offset = hash.home().wrapping_add(steps * BUCKET) & self.mask as usize;
            // SAFETY: E1, R1. The mask keeps within the segment's buckets.
            unsafe { &*self.first().byte_add(offset) }
        }

        fn buckets(self) -> &'s [Bucket] {
            // SAFETY: E1, R1. It has so many.
            unsafe { slice::from_raw_parts(self.first(), self.len()) }
        }

        /// The refs of all pairs of the segment. Prefetches their records. The caller sees to it that no pair comes meanwhile.
        fn refs(self, shard: &Shard) -> Vec<u32> {
            let mut refs = Vec::with_capacity(self.len() * SLOTS);
            for bucket in self.buckets() {
                for (_, reference) in bucket.refs_of(bucket.used_slots()) {
                    prefetch_batch(shard.address(reference));
                    refs.push(reference);
                }
            }
            refs
        }

        /// Where `key` is, or where it could be put. The caller holds the shard's lock. `None` if the segment must grow
        /// first, or is growing.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn locate(self, shard: &Shard, hash: Hash, key: &[u8]) -> Option<Location> {
            if ptr::eq(shard.splitting.load(Relaxed), self.entry) {
                return None;
            }
            let bucket = self.bucket(hash, 0);
            let found = |slots: u32, present| {
                Some(Location { slot: slots.trailing_zeros() as u8, steps: 0, present })
            };
            let (slots, free) = (bucket.slots_with(hash.tag()), bucket.free_slots());
            if slots == 0 {
                if free != 0 && bucket.passed() == 0 {
                    return found(free, false);
                }
            } else {
                let record = shard.record(bucket.first(slots).load(Relaxed));
                if record.is_key(key) {
                    return found(slots, true);
                }
            }
            self.locate_slowly(shard, hash, key)
        }

        /// As `locate`, if the first slots of the home bucket do not tell.
        #[inline(never)]
        fn locate_slowly(self, shard: &Shard, hash: Hash, key: &[u8]) -> Option<Location> {
            let mut free = None;
            for steps in 0..self.len() {
                let bucket = self.bucket(hash, steps);
                let at =
                    |slot: u32, present| Some(Location { slot: slot as u8, steps: steps as u8, present });
                if let Some((slot, _)) = bucket.find(shard, hash.tag(), key) {
                    return at(slot, true);
                }
                if free.is_none() && steps <= MAX_STEPS {
                    free = at((bucket.free_slots() & !bucket.marks()).trailing_zeros(), false)
                        .filter(|free| free.slot < SLOTS as u8);
                }
                // H3: the key is in no bucket after this one.
                if bucket.passed() == 0 && (free.is_some() || steps > MAX_STEPS) {
                    break;
                }
            }
            free
        }

        /// Counts a pair in the buckets that it passed, so many from its home, or no longer counts it.
        fn count_steps(self, hash: Hash, steps: usize, more: bool) {
            (0..steps).for_each(|step| self.bucket(hash, step).count_passed(more));
        }
    }

    /// A segment that is being filled, which nobody else knows yet, and how many slots of each bucket have pairs.
    struct NewSegment<'s> {
        segment: Segment<'s>,
        used: [u8; BUCKETS],
    }

    impl NewSegment<'_> {
        fn new(space: &mut Space, buckets: usize, shard: usize) -> Boxed<Self> {
            let block = space.take(buckets * BUCKET)?;
            // SAFETY: M1. The block has room for the buckets, and a bucket of zeros is an empty one.
            unsafe { block.write_bytes(0, buckets * BUCKET) };
            Ok(Self { segment: Segment::new(block, buckets, shard), used: [0; BUCKETS] })
        }

        /// Puts a ref into the first free slot from its home on. There is one: the segment has more slots than the old one had
        /// pairs.
        #[inline]
        fn put(&mut self, hash: Hash, reference: u32) {
            let mut offset = hash.home() & self.segment.mask as usize;
            loop {
                let used = &mut self.used[offset / BUCKET];
                let slot = usize::from(*used);
                // SAFETY: M1. The mask keeps within the segment's buckets, and nobody else knows them.
                unsafe {
                    let bucket = self.segment.first().cast_mut().byte_add(offset);
                    if slot < SLOTS {
                        *used += 1;
                        bucket.cast::<u8>().add(slot).write(hash.tag());
                        (*bucket).refs[slot].store(reference, Relaxed);
                        return;
                    }
                    (*bucket).count_passed(true);
                }
                offset = (offset + BUCKET) & self.segment.mask as usize;
            }
        }
    }

    // --- records

    const REF_UNIT: usize = 4;
    /// With addresses of 32 bits, a ref is an address in units, and a shard's table of blocks stays empty.
    const REFS_ARE_ADDRESSES: bool = cfg!(target_arch = "wasm32");
    /// Otherwise a ref has the unit within the block in so many low bits, and the block's number above them.
    const BLOCK_UNITS_BITS: u32 = tuned(14, 8) as u32;
    const MAX_BLOCK: usize = REF_UNIT << BLOCK_UNITS_BITS;
    const MIN_BLOCK: usize = tuned(512, 64);
    const RECORD_HEAD: usize = 4;
    /// Larger pairs are blobs. For them the header of an allocation of their own hardly matters.
    const MAX_RECORD: usize = tuned(4096, 300);
    /// As a record's length of the key, this means that the pair is in a blob. Keys in records are shorter.
    const BLOB: u16 = u16::MAX;
    const BLOB_RECORD: usize = RECORD_HEAD + size_of::<Blob>();
    /// Records of this class and longer ones are prefetched before they are used again: 64 bytes.
    const LONG: usize = 16;

    /// A record. H1: whoever makes one has its ref from a slot, under a pin or a lock that lasts for `'r`, or is alone with it. So it
    /// is whole and does not change.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(super) struct Record<'r> {
        at: *const u8,
        lifetime: PhantomData<&'r [u8]>,
    }

    impl<'r> Record<'r> {
        /// The length of the key, or `BLOB`, and the length of the value.
        #[inline(always)]
        fn lengths(self) -> [u16; 2] {
            // SAFETY: H1. Each record begins with them.
            unsafe { self.at.cast::<[u16; 2]>().read() }
        }

        #[inline(always)]
        fn bytes(self, len: usize) -> &'r [u8] {
            // SAFETY: H1. Callers ask for no more than the lengths say.
            unsafe { slice::from_raw_parts(self.at.add(RECORD_HEAD), len) }
        }

        #[inline]
        fn blob(self) -> Option<Blob> {
            let is_blob = self.lengths()[0] == BLOB;
            // SAFETY: H1. There its address follows the lengths.
            is_blob.then(|| unsafe { self.at.add(RECORD_HEAD).cast::<Blob>().read_unaligned() })
        }

        /// The key and the value.
        #[inline]
        fn parts(self) -> (&'r [u8], &'r [u8]) {
            if let Some(blob) = self.blob() {
                return blob.parts();
            }
            let [key, value] = self.lengths().map(usize::from);
            self.bytes(key + value).split_at(key)
        }

        #[inline(always)]
        pub(super) fn body(self) -> Body<'r> {
            self.blob().map_or_else(|| Body::Inline(self.parts().1), Body::Blob)
        }

        /// The bytes of the whole record, without its blob.
        fn len(self) -> usize {
            let [key, value] = self.lengths();
            if key == BLOB { BLOB_RECORD } else { RECORD_HEAD + usize::from(key) + usize::from(value) }
        }

        /// The value, if the key is `key` and both are in the record.
        #[inline(always)]
        fn value_of(self, key: &[u8]) -> Option<&'r [u8]> {
            let [key_len, value_len] = self.lengths().map(usize::from);
            if key_len != key.len() || key_len == usize::from(BLOB) {
                return None;
            }
            let (own_key, value) = self.bytes(key.len() + value_len).split_at(key.len());
            same_bytes(own_key, key).then_some(value)
        }

        #[inline(always)]
        fn is_key(self, key: &[u8]) -> bool {
            self.value_of(key).is_some() || self.blob().is_some_and(|blob| blob.parts().0 == key)
        }
    }

    // --- shards and their lanes of free records

    /// The address of a table of blocks.
    type Blocks = AtomicPtr<AtomicPtr<u8>>;

    /// One lock, and the records of the segments whose hashes begin with its bits. All that an insert needs is in the first
    /// cache line, which often comes from another core.
    #[repr(C, align(64))]
    struct Shard {
        lock: Lock,
        /// Pairs inserted here less pairs removed here. A pair that a split moved to another shard stays counted here.
        len: AtomicIsize,
        /// The segment that a thread is splitting without the lock, or null. It changes under the lock.
        splitting: AtomicPtr<u8>,
        /// This shard. With `blocks` it is the index's table of shards while there is no other one.
        alone: AtomicPtr<Shard>,
        /// The table of the blocks' addresses, by number. When it is full, a longer one replaces it.
        blocks: Blocks,
        /// The first table of blocks. It is in a cache line that is read anyway.
        first_blocks: [AtomicPtr<u8>; FIRST_BLOCKS],
        state: UnsafeCell<ShardState>,
    }

    /// What only the holder of the shard's lock touches.
    #[repr(C)]
    #[derive(Default)]
    struct ShardState {
        /// What `len` is when the shard's segments have no pairs.
        empty_at: isize,
        block_count: usize,
        block_capacity: usize,
        /// A thread advances the epoch once it has removed so many bytes of records.
        collect_threshold: usize,
        /// The join that is under way, and after how many freed records the next one begins.
        joining: Option<Box<Joining>>,
        join_at: u32,
        lanes: [Lane; LANES],
    }

    /// How many blocks the first table of a shard has room for, and how many the second.
    const FIRST_BLOCKS: usize = 2;
    const NEXT_BLOCKS: usize = 8;

    /// Each thread takes records from its own lane and frees them there, so that their cache lines stay on one core.
    pub(super) const LANES: usize = if cfg!(target_family = "wasm") { 1 } else { tuned(4, 2) };

    /// A thread advances the epoch once it has removed a sixteenth of the store, but at least and at most so many bytes.
    const ADVANCE_FROM: usize = tuned(16 << 10, 256);
    const ADVANCE_AT: usize = tuned(128 << 10, 256);

    /// A join begins once so many records have become free. While one is under way, each write that needs a refill joins
    /// some records. If it finds no room then, it joins more at a time, at most so often, until a record fits. Each of
    /// these turns takes some 0.1 ms.
    const JOIN_FROM: u32 = tuned(64, 4) as u32;
    const JOIN_SOME: usize = tuned(256, 4);
    const JOIN_AT_A_TIME: usize = tuned(2048, 8);
    const JOIN_TURNS: usize = 4;

    // --- lanes

    #[repr(align(64))]
    #[derive(Default)]
    struct Lane {
        /// The free units from which records are cut: the rest of the newest block, or of a large free record.
        bump: u32,
        bump_end: u32,
        /// For each class the ref of the first free record, or 0. A free record begins with the ref of the next one.
        free: Option<Box<[u32; CLASSES]>>,
        bytes: usize,
        /// The class of the record that was taken last.
        last: u32,
        /// How many records became free since the last join began.
        freed: u32,
        limbo: epoch::Limbo<Removed>,
    }

    /// A record that was removed from the index, with all that freeing it needs: by then its lines have left the cache.
    struct Removed {
        reference: u32,
        class: u8,
        has_blob: bool,
    }

    impl Lane {
        fn pop(&mut self, shard: &Shard, class: usize) -> Option<u32> {
            let top = self.free.as_mut()?.get_mut(class).filter(|top| **top != 0)?;
            let below = shard.address(*top).cast::<u32>();
            // SAFETY: H4. `push` wrote it.
            Some(mem::replace(top, unsafe { below.read() }))
        }

        fn push(&mut self, shard: &Shard, class: usize, reference: u32) {
            let top = &mut self.free.get_or_insert_with(|| Box::new([0; CLASSES]))[class];
            let below = shard.address(reference).cast::<u32>().cast_mut();
            // SAFETY: H4. A record has a word or more, and nobody else uses it.
            unsafe { below.write(mem::replace(top, reference)) };
            self.freed = self.freed.wrapping_add(1);
        }

        /// Turns free units that are side by side into free records, as few as possible.
        fn file(&mut self, shard: &Shard, mut reference: u32, units: u32) {
            for class in classes_of(units as usize) {
                self.push(shard, class, reference);
                reference += class_units(class) as u32;
            }
        }

        /// Takes the shortest free record of this class or a larger one. Records can be cut from it.
        fn cut(&mut self, shard: &Shard, class: usize) -> Option<Range<u32>> {
            let class = class + self.free.as_ref()?[class..].iter().position(|&top| top != 0)?;
            let reference = self.pop(shard, class)?;
            Some(reference..reference + class_units(class) as u32)
        }

        /// The cache lines of the record that the next pair will probably use, if that is long. They are prefetched while
        /// the bucket and the old record are on their way.
        #[inline(always)]
        fn next_lines(&self, shard: &Shard) -> impl Iterator<Item = *const u8> + use<> {
            let mut next = (ptr::null(), 0);
            let last = self.last as usize;
            if !SMALL && last >= LONG {
                let removed = self.limbo.oldest().map(|removed| removed.reference);
                let free = || self.free.as_ref().map(|free| free[last]).filter(|&top| top != 0);
                if let Some(reference) = removed.or_else(free) {
                    next = (shard.address(reference), class_units(last) * REF_UNIT);
                }
            }
            (0..next.1).step_by(64).map(move |line| next.0.wrapping_add(line))
        }
    }

    /// Free records that are being joined with their neighbours in the shard. Without that, memory of sizes that nobody
    /// asks for any more would never be used again.
    struct Joining {
        /// How many free lists still have to be emptied.
        lists: usize,
        /// The refs and units of the records that were in the lists, by block.
        records: Vec<Vec<(u32, u32)>>,
    }

    impl Joining {
        /// Adds a free record. Fails if there is no memory for that.
        fn add(&mut self, reference: u32, units: u32) -> std::result::Result<(), TryReserveError> {
            let blocks = self.records.len().max((reference >> BLOCK_UNITS_BITS) as usize + 1);
            self.records.try_reserve(blocks - self.records.len())?;
            self.records.resize_with(blocks, Vec::new);
            let records = &mut self.records[(reference >> BLOCK_UNITS_BITS) as usize];
            records.try_reserve(1)?;
            records.push((reference, units));
            Ok(())
        }
    }

    // SAFETY: L1. The state is touched under `lock` alone.
    unsafe impl Sync for Shard {}
    // SAFETY: H4. It owns what it points to.
    unsafe impl Send for Shard {}

    impl Shard {
        /// Makes a shard that has no pairs and no blocks.
        ///
        /// # Safety
        /// There is room, of which nobody else knows.
        unsafe fn write<'s>(at: NonNull<Self>) -> &'s Self {
            let at = at.as_ptr();
            // SAFETY: M1, the caller's promise.
            unsafe {
                at.write(Self {
                    lock: Lock::default(),
                    len: AtomicIsize::new(0),
                    splitting: AtomicPtr::new(ptr::null_mut()),
                    alone: AtomicPtr::new(at),
                    blocks: AtomicPtr::new((&raw mut (*at).first_blocks).cast()),
                    first_blocks: [const { AtomicPtr::new(ptr::null_mut()) }; FIRST_BLOCKS],
                    state: UnsafeCell::new(ShardState { block_capacity: FIRST_BLOCKS, ..Default::default() }),
                });
                &*at
            }
        }

        #[inline]
        fn lock(&self) -> LockedShard<'_> {
            LockedShard { _locked: self.lock.lock(), shard: self, lane: epoch::lane(), due: false }
        }

        #[inline]
        fn record(&self, reference: u32) -> Record<'_> {
            Record { at: self.address(reference), lifetime: PhantomData }
        }

        /// The address of a record, which may be free.
        #[inline]
        fn address(&self, reference: u32) -> *const u8 {
            address_in(&self.blocks, reference)
        }
    }

    #[inline(always)]
    fn address_in(blocks: &Blocks, reference: u32) -> *const u8 {
        debug_assert!(reference != 0);
        if REFS_ARE_ADDRESSES {
            return ptr::with_exposed_provenance(reference as usize * REF_UNIT);
        }
        let number = (reference >> BLOCK_UNITS_BITS) as usize;
        let unit = (reference & ((1 << BLOCK_UNITS_BITS) - 1)) as usize;
        // SAFETY: H4. A ref is stored only after its block is in the table, so a table loaded after it has the block. The
        // pin or the lock keeps the table.
        unsafe { (*blocks.load(Acquire).add(number)).load(Relaxed).cast::<[u8; REF_UNIT]>().add(unit).cast() }
    }

    const _: () = assert!(mem::offset_of!(Shard, blocks) - mem::offset_of!(Shard, alone) == ENTRY);

    /// Where a table of shards, given by its middle, has a shard's address.
    ///
    /// # Safety
    /// The table has an entry of this number and is kept for `'s`.
    #[inline]
    unsafe fn shard_word<'s>(table: *const Blocks, number: usize) -> &'s AtomicPtr<Shard> {
        // SAFETY: H4, the caller's promise.
        unsafe { &*table.cast::<AtomicPtr<Shard>>().sub(1 + number) }
    }

    // --- the lock of a shard

    /// A shard whose lock the thread holds.
    struct LockedShard<'s> {
        shard: &'s Shard,
        /// The thread's number, which says its lane.
        lane: usize,
        /// Whether the epoch is to be advanced once the lock is given up, as much was removed.
        due: bool,
        _locked: Locked<'s>,
    }

    impl LockedShard<'_> {
        #[inline]
        fn state(&mut self) -> &mut ShardState {
            // SAFETY: L1. The lock is held, and nothing else leads there.
            unsafe { &mut *self.shard.state.get() }
        }

        #[inline]
        fn lane(&mut self) -> &mut Lane {
            let (lane, lanes) = (self.lane, &mut self.state().lanes);
            &mut lanes[lane % lanes.len()]
        }

        /// A copy of the shard's table of blocks, with room for so many.
        fn copy_blocks(&mut self, space: &mut Space, capacity: usize) -> Boxed<*mut AtomicPtr<u8>> {
            let table = self.shard.blocks.load(Relaxed);
            let copy = space.take(capacity * ENTRY)?.cast();
            for at in 0..self.state().block_count {
                // SAFETY: M1. Each has so many entries or more.
                unsafe { copy.add(at).write(AtomicPtr::new((*table.add(at)).load(Relaxed))) };
            }
            Ok(copy.as_ptr())
        }

        /// Takes a free record of this class or a larger one from the thread's lane, or else from another lane. One thread
        /// may need what another has freed.
        fn cut(&mut self, class: usize) -> Option<Range<u32>> {
            let shard = self.shard;
            let own = self.lane().cut(shard, class);
            own.or_else(|| self.state().lanes.iter_mut().find_map(|lane| lane.cut(shard, class)))
        }

        /// Joins some `budget` free records, up to the end of a block, with their neighbours, if enough have become free since
        /// the last join. The rest waits for the next call, so that no write takes long. Returns whether it did anything.
        fn join(&mut self, mut budget: usize) -> bool {
            if SMALL {
                return false;
            }
            let freed = |state: &ShardState| {
                state.lanes.iter().fold(0, |sum: u32, lane| sum.saturating_add(lane.freed))
            };
            let shard = self.shard;
            let state = self.state();
            let mut joining = match state.joining.take() {
                Some(joining) => joining,
                None if freed(state) < state.join_at.max(JOIN_FROM) => return false,
                None => {
                    state.lanes.iter_mut().for_each(|lane| lane.freed = 0);
                    Box::new(Joining { lists: LANES * CLASSES, records: Vec::new() })
                }
            };
            while budget > 0 && joining.lists > 0 {
                // The largest come last, as one of them may be used meanwhile.
                let emptied = LANES * CLASSES - joining.lists;
                #[allow(clippy::modulo_one, reason = "a target without threads has one lane")]
                let (class, lane) = (emptied / LANES, emptied % LANES);
                let Some(reference) = state.lanes[lane].pop(shard, class) else {
                    joining.lists -= 1;
                    continue;
                };
                if joining.add(reference, class_units(class) as u32).is_err() {
                    state.lanes[lane].push(shard, class, reference);
                    joining.lists = 0;
                }
                budget -= 1;
            }
            while budget > 0 {
                let Some(mut records) = joining.records.pop() else {
                    let state = self.state();
                    state.join_at = (freed(state) / 4).saturating_mul(5);
                    return true;
                };
                records.sort_unstable();
                for run in records.chunk_by(|one, next| one.0 + one.1 == next.0) {
                    let units: u32 = run.iter().map(|record| record.1).sum();
                    self.lane().file(shard, run[0].0, units);
                }
                budget = budget.saturating_sub(records.len());
            }
            self.state().joining = Some(joining);
            true
        }
    }

    // --- the index

    /// So many keys of a batch go through each step together.
    const KEYS_AT_ONCE: usize = 32;

    /// Prefetches the caller's keys, which may lie anywhere.
    #[inline(always)]
    fn prefetch_keys<'k>(keys: impl Iterator<Item = &'k [u8]>) {
        keys.for_each(|key| prefetch_bytes(key.as_ptr(), key.len().max(1)));
    }

    /// What a look-up needs comes first, so that it is in one cache line.
    #[repr(C)]
    pub(super) struct HashIndex {
        hasher: Hashing,
        directory: AtomicPtr<DirectoryHead>,
        /// The middle of the table of shards, by number. From there on it has their tables of blocks, so that a look-up need not
        /// read a shard's line, which writers change. Before, backwards, it has the shards. It has `SHARDS` of either, or one as
        /// long as there is one shard.
        shards: AtomicPtr<Blocks>,
        /// Whether a shard has become empty. Then the whole table may be.
        pub(super) emptied: AtomicBool,
        /// The lock of its space guards the directory too.
        pub(super) heap: Heap,
        past: Past<Self>,
    }

    /// What the threads of a lane have removed from a store's hash tables.
    #[derive(Default)]
    pub(super) struct RemovedBytes {
        bytes: AtomicUsize,
        /// `Memory::safe` when they last advanced the epoch.
        safe: AtomicU64,
    }

    impl HashIndex {
        pub(super) fn new(memory: Arc<Memory>, hasher: Hashing) -> Self {
            Self {
                hasher,
                directory: AtomicPtr::new(Directory::NONE.cast_mut()),
                shards: AtomicPtr::new(ptr::null_mut()),
                emptied: AtomicBool::new(false),
                past: Past::new(&memory),
                heap: Heap::new(memory),
            }
        }

        /// Another one, without pairs.
        pub(super) fn anew(&self) -> Self {
            Self::new(Arc::clone(&self.heap.memory), self.hasher.clone())
        }

        #[inline]
        fn hash(&self, key: &[u8]) -> Hash {
            let mut hasher = self.hasher.build_hasher();
            hasher.write(key);
            let hash = hasher.finish().wrapping_mul(SPREAD);
            Hash(hash + u64::from(hash as u8 == 0))
        }

        pub(super) fn len(&self) -> usize {
            let len = || self.all_shards().map(|shard| shard.len.load(Relaxed)).sum::<isize>();
            self.past.origin.as_ref().map_or_else(|| len().max(0).cast_unsigned(), |&(_, len)| len)
        }

        fn all_shards(&self) -> impl Iterator<Item = &Shard> {
            (0..SHARDS).filter_map(|number| self.shard_at(number))
        }

        fn shard_at(&self, number: usize) -> Option<&Shard> {
            let table = self.shards.load(Acquire);
            // SAFETY: H4. A table and its shards live as long as the index. The first shard is there as soon as a table is, and
            // the table within the shard has one entry.
            unsafe {
                let first = shard_word(NonNull::new(table)?.as_ptr(), 0).load(Acquire);
                if number == 0 || ptr::eq(table, &raw const (*first).blocks) {
                    return (number == 0).then(|| &*first);
                }
                shard_word(table, number).load(Acquire).as_ref()
            }
        }

        /// The caller's pin or lock keeps it.
        #[inline]
        fn directory(&self) -> Directory<'_> {
            Directory(self.directory.load(Acquire), PhantomData)
        }

        #[inline]
        fn shard(&self, segment: Segment<'_>) -> &Shard {
            // SAFETY: H4. A segment is reachable only after its shard is in the table. Both live as long as the index.
            unsafe { &*shard_word(self.shards.load(Acquire), segment.shard()).load(Acquire) }
        }

        // --- reading; callers are pinned

        /// The value of `key`, which lives as long as the caller's pin.
        #[inline(always)]
        pub(super) fn get(&self, key: &[u8]) -> Option<Body<'_>> {
            let found = self.get_at_once(key).map(|value| value.map(Body::Inline));
            found.unwrap_or_else(|hash| self.find(hash, key).map(Record::body))
        }

        /// As `get`, if the first slot of the home bucket with the key's tag tells, and the value is in the record.
        #[inline(always)]
        pub(super) fn get_at_once(&self, key: &[u8]) -> std::result::Result<Option<&[u8]>, Hash> {
            let hash = self.hash(key);
            let segment = self.directory().segment(hash);
            let home = segment.bucket(hash, 0);
            let slots = home.slots_with(hash.tag());
            if slots == 0 {
                return if home.passed() == 0 { Ok(None) } else { Err(hash) };
            }
            let reference = home.first(slots).load(Acquire);
            // SAFETY: H4, as in `shard`.
            let blocks = unsafe { &*self.shards.load(Acquire).add(segment.shard()) };
            let record = Record { at: address_in(blocks, reference), lifetime: PhantomData };
            record.value_of(key).map(Some).ok_or(hash)
        }

        #[inline(never)]
        pub(super) fn find(&self, hash: Hash, key: &[u8]) -> Option<Record<'_>> {
            let segment = self.directory().segment(hash);
            for steps in 0..segment.len() {
                let bucket = segment.bucket(hash, steps);
                // Without a pair there may be no shard.
                if bucket.slots_with(hash.tag()) != 0
                    && let Some((_, record)) = bucket.find(self.shard(segment), hash.tag(), key)
                {
                    return Some(record);
                }
                // H3: beyond a bucket that nothing passed the key is not.
                if bucket.passed() == 0 {
                    break;
                }
            }
            None
        }

        /// Shows `read` each key's value. Groups of keys go through each step together, so that their cache misses overlap.
        /// 32 misses at a time take little longer than one.
        pub(super) fn get_many<K: AsRef<[u8]>>(
            &self,
            keys: &[K],
            mut read: impl FnMut(usize, Option<&[u8]>),
        ) {
            for (group, keys) in keys.chunks(KEYS_AT_ONCE).enumerate() {
                let homes = self.homes(keys);
                let records = self.records(keys, &homes);
                for (at, (key, &record)) in keys.iter().zip(&records).enumerate() {
                    let key = key.as_ref();
                    // Another record may have the tag, or the key may be beyond the next bucket.
                    let record = record
                        .filter(|record| record.is_key(key))
                        .or_else(|| homes[at].and_then(|(hash, ..)| self.find(hash, key)));
                    read(group * KEYS_AT_ONCE + at, record.map(|record| record.parts().1));
                }
            }
        }

        /// Where each key of a group leads. Prefetches the buckets.
        #[inline(always)]
        fn homes<K: AsRef<[u8]>>(&self, keys: &[K]) -> [Option<Home<'_>>; KEYS_AT_ONCE] {
            let mut homes = [None; KEYS_AT_ONCE];
            prefetch_keys(keys.iter().map(AsRef::as_ref));
            for (home, key) in homes.iter_mut().zip(keys) {
                let hash = self.hash(key.as_ref());
                let segment = self.directory().segment(hash);
                let bucket = segment.bucket(hash, 0);
                prefetch_batch(bucket);
                *home = Some((hash, segment, bucket));
            }
            homes
        }

        /// For each key the first record with its tag, in the home bucket or the next one. Prefetches all records with the
        /// tag: one key in thirty shares it with another pair of the bucket.
        #[inline(always)]
        fn records<K: AsRef<[u8]>>(
            &self,
            keys: &[K],
            homes: &[Option<Home<'_>>; KEYS_AT_ONCE],
        ) -> [Option<Record<'_>>; KEYS_AT_ONCE] {
            let first = |key: &K, segment: Segment<'_>, bucket: &Bucket, hash: Hash| {
                let mut first = None;
                for (_, reference) in bucket.refs_of(bucket.slots_with(hash.tag())) {
                    let record = self.shard(segment).record(reference);
                    // Most records are shorter than a cache line, but many reach into the next one.
                    prefetch_bytes(record.at, RECORD_HEAD + key.as_ref().len() + 16);
                    first = first.or(Some(record));
                }
                first
            };
            let mut records = [None; KEYS_AT_ONCE];
            for ((record, home), key) in records.iter_mut().zip(homes).zip(keys) {
                let Some((hash, segment, bucket)) = *home else { continue };
                *record = first(key, segment, bucket, hash);
                if record.is_none() && bucket.passed() != 0 {
                    prefetch_batch(segment.bucket(hash, 1));
                }
            }
            let zipped = records.iter_mut().zip(homes).zip(keys);
            for ((record, home), key) in zipped.filter(|((record, _), _)| record.is_none()) {
                let Some((hash, segment, _)) = home.filter(|(.., home)| home.passed() != 0) else { continue };
                *record = first(key, segment, segment.bucket(hash, 1), hash);
            }
            records
        }

        /// Prefetches what the next verbs on these keys will need. Most writes are of keys that have no record yet.
        pub(super) fn prefetch(&self, keys: &[&[u8]]) {
            for keys in keys.chunks(KEYS_AT_ONCE) {
                let homes = self.homes(keys);
                if cfg!(target_family = "wasm") {
                    let _records = self.records(keys, &homes);
                }
            }
        }

        /// Shows `read` the pairs of the segment at `from` whose hashes are not less than `from`. The values live as long as
        /// the caller's pin. Returns where the next segment begins, or `None` after the last one.
        pub(super) fn walk(&self, from: u64, mut read: impl FnMut(&[u8], Body<'_>)) -> Option<u64> {
            let hash = Hash(from);
            let (shard, refs, span, directory) = loop {
                let directory = self.directory();
                if directory.is_none() {
                    return None;
                }
                let segment = directory.segment(hash);
                let shard = self.shard(segment);
                let _locked = shard.lock.lock();
                let directory = self.directory();
                if directory.segment(hash) == segment {
                    let span = directory.span(segment, hash);
                    break (shard, segment.refs(shard), span, directory);
                }
            };
            // Only after the table was emptied can a segment begin before `from`.
            let whole = from == directory.first_hash(span.start);
            for reference in refs {
                let record = shard.record(reference);
                let (key, _) = record.parts();
                if whole || self.hash(key).0 >= from {
                    read(key, record.body());
                }
            }
            (span.end < directory.len()).then(|| directory.first_hash(span.end))
        }

        // --- writing; callers are pinned

        /// Does with the pair of `key` what `decide` says. It sees the value under the shard's lock, and is asked at most once.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        pub(super) fn change<V: AsRef<[u8]>>(
            &self,
            key: &[u8],
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Attempt {
            let hash = self.hash(key);
            let directory = self.directory();
            if directory.is_none() {
                return after_growth(self.start(), decide);
            }
            let segment = directory.segment(hash);
            let shard = self.shard(segment);
            // The bucket comes at the same time as the lock, which no later load overtakes.
            prefetch(segment.bucket(hash, 0));
            let mut locked = shard.lock();
            // H2: only a segment that the directory leads to may change.
            if self.directory().segment(hash) != segment {
                return Attempt::Retry;
            }
            let segment = match self.writable(shard, segment, hash) {
                Ok(segment) => segment,
                Err(refused) => return Attempt::Failed(refused),
            };
            locked.lane().next_lines(shard).for_each(prefetch);
            let Some(location) = segment.locate(shard, hash, key) else {
                return after_growth(self.grow(locked, segment, hash), decide);
            };
            let changed = self.change_at(location, segment, &mut locked, hash, key, decide);
            let due = locked.due;
            drop(locked);
            if due {
                self.maintain();
            }
            changed.into()
        }

        /// What is due after a write that removed much, or took the last blocks of a region. The caller holds no lock.
        #[cold]
        fn maintain(&self) {
            self.advance();
            self.heap.maintain_if_due();
        }

        /// Advances the epoch, unless another thread has done so since the caller's last time. While others run that takes
        /// microseconds and disturbs them, so the caller holds no lock.
        #[cold]
        fn advance(&self) {
            let safe = || self.heap.memory.safe.0.load(Relaxed);
            let seen = &self.removed(epoch::lane()).safe;
            if cfg!(target_family = "wasm") || seen.swap(safe(), Relaxed) == safe() {
                epoch::advance(&self.heap.memory);
                seen.store(safe(), Relaxed);
            }
        }

        fn removed(&self, lane: usize) -> &RemovedBytes {
            let lanes = &self.heap.memory.removed;
            &lanes[lane % lanes.len()].0
        }

        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn change_at<V: AsRef<[u8]>>(
            &self,
            location: Location,
            segment: Segment<'_>,
            locked: &mut LockedShard<'_>,
            hash: Hash,
            key: &[u8],
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Boxed<bool> {
            let Location { slot, steps, present } = location;
            let old = segment.bucket(hash, steps.into()).refs[usize::from(slot)].load(Relaxed);
            match decide(present.then(|| locked.shard.record(old).parts().1))? {
                Change::Set(value) => {
                    let new = self.add_record(locked, key, value.as_ref())?;
                    self.put(location, segment, locked, hash, Some(new));
                }
                Change::Delete if present => self.put(location, segment, locked, hash, None),
                Change::Delete | Change::Keep => return Ok(false),
            }
            Ok(true)
        }

        /// Leads a slot to a new record, or to none.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn put(
            &self,
            Location { slot, steps, present }: Location,
            segment: Segment<'_>,
            locked: &mut LockedShard<'_>,
            hash: Hash,
            new: Option<usize>,
        ) {
            let shard = locked.shard;
            let (slot, steps) = (usize::from(slot), usize::from(steps));
            let bucket = segment.bucket(hash, steps);
            let old = bucket.refs[slot].load(Relaxed);
            if let Some(new) = new {
                bucket.refs[slot].store(new as u32, Release);
                if present {
                    self.retire_record(locked, hash, old, shard.record(old));
                } else {
                    // A pair is counted before it can be found.
                    shard.len.store(shard.len.load(Relaxed) + 1, Relaxed);
                    segment.count_steps(hash, steps, true);
                    bucket.tags.flip(slot, hash.tag());
                }
            } else {
                // H1: the ref stays, for readers that have seen the tag.
                bucket.tags.flip(slot, hash.tag());
                segment.count_steps(hash, steps, false);
                let len = shard.len.load(Relaxed) - 1;
                shard.len.store(len, Relaxed);
                if len == locked.state().empty_at {
                    self.emptied.store(true, Relaxed);
                }
                self.retire_record(locked, hash, old, shard.record(old));
                self.free_unread(shard, locked.lane(), 2);
            }
        }

        // --- writing many

        /// Writes each pair that `wants` accepts, and stores in `took` whether it did. It goes shard by shard, so that it
        /// takes a lock once for many pairs. Pairs with equal keys stay in their order. Returns the positions of the pairs
        /// that it could not reach.
        pub(super) fn write_many(
            &self,
            pairs: &[KeyValue<'_>],
            took: &mut [bool],
            may_write: impl Fn() -> bool,
            wants: &mut impl FnMut(usize, Option<&[u8]>) -> bool,
        ) -> Vec<u32> {
            /// How many pairs ahead a bucket is prefetched.
            const BUCKETS_AHEAD: usize = 8;
            let order = self.by_shard(pairs);
            let (mut done, mut failed) = (0, false);
            while let Some(&(first, _)) = order.get(done)
                && !failed
            {
                if self.directory().is_none() && (self.start().is_err() || self.directory().is_none()) {
                    break;
                }
                let shard = self.shard(self.directory().segment(first));
                let (mut locked, mut full) = (shard.lock(), None);
                failed = !may_write();
                while let Some(&(hash, at)) = order.get(done)
                    && !failed
                    && full.is_none()
                    && let directory = self.directory()
                    && let segment = directory.segment(hash)
                    && !directory.is_none()
                    && ptr::eq(self.shard(segment), shard)
                {
                    if let Some(&(soon, _)) = order.get(done + BUCKETS_AHEAD) {
                        prefetch(directory.segment(soon).bucket(soon, 0));
                    }
                    let Ok(segment) = self.writable(shard, segment, hash) else {
                        failed = true;
                        break;
                    };
                    let (key, value) = pairs[at as usize];
                    let decide = &mut |old: Option<&[u8]>| Ok(set_if(wants(at as usize, old), value));
                    match segment.locate(shard, hash, key) {
                        None => full = Some((segment, hash)),
                        Some(location) => {
                            match self.change_at(location, segment, &mut locked, hash, key, decide) {
                                Err(_) => failed = true,
                                Ok(written) => {
                                    took[at as usize] = written;
                                    done += 1;
                                }
                            }
                        }
                    }
                }
                let due = locked.due;
                failed |= full.is_some_and(|(segment, hash)| self.grow(locked, segment, hash).is_err());
                if due {
                    self.maintain();
                }
            }
            order[done..].iter().map(|&(_, at)| at).collect()
        }

        /// The hash and the position of each pair, sorted by shard. Those of one shard stay in their order. The shard of
        /// the first pair comes first, so that several threads do not go through the shards side by side.
        fn by_shard(&self, pairs: &[KeyValue<'_>]) -> Vec<(Hash, u32)> {
            let hashes = pairs.chunks(KEYS_AT_ONCE).flat_map(|pairs| {
                prefetch_keys(pairs.iter().map(|pair| pair.0));
                pairs.iter().map(|(key, _)| self.hash(key))
            });
            let hashes: Vec<Hash> = hashes.collect();
            let first = hashes.first().map_or(0, |hash| hash.top(SHARD_BITS));
            let number = |hash: Hash| hash.top(SHARD_BITS).wrapping_sub(first) & (SHARDS - 1);
            let mut starts = [0; SHARDS + 1];
            for &hash in &hashes {
                starts[number(hash) + 1] += 1;
            }
            for shard in 0..SHARDS {
                starts[shard + 1] += starts[shard];
            }
            let mut order = vec![(Hash(0), 0); pairs.len()];
            for (at, hash) in (0..).zip(hashes) {
                let position: &mut usize = &mut starts[number(hash)];
                order[*position] = (hash, at);
                *position += 1;
            }
            order
        }

        /// Closes the index to writers if it is empty and holds memory that is worth returning. Returns whether it did.
        pub(super) fn close_if_empty(&self) -> bool {
            if self.len() > 0 || self.heap.bytes() < WORTH_RETURNING {
                return false;
            }
            // In ascending order: a split holds its shard's lock and makes a shard with a higher number.
            let mut locked = Vec::new();
            for number in 0..SHARDS {
                locked.extend(self.shard_at(number).map(|shard| shard.lock.lock()));
            }
            if self.past.is_kept(self.heap.memory.newest()) {
                return false;
            }
            let mut space = self.heap.space();
            let splitting = self.all_shards().any(|shard| !shard.splitting.load(Relaxed).is_null());
            if self.len() > 0 || space.closed || splitting {
                return false;
            }
            space.closed = true;
            self.directory.store(Directory::NONE.cast_mut(), Release);
            true
        }

        // --- making and freeing records

        /// Writes a new record. Returns its ref, as a word, so that the result is passed in registers.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn add_record(&self, locked: &mut LockedShard<'_>, key: &[u8], value: &[u8]) -> Boxed<usize> {
            let bytes = RECORD_HEAD + key.len() + value.len();
            if bytes > MAX_RECORD {
                return self.add_blob_record(locked, key, value);
            }
            let (reference, record) = self.take_record(locked, bytes)?;
            // SAFETY: M1. The record has room for the lengths, the key and the value, and is ours.
            unsafe {
                record.cast::<[u16; 2]>().write([key.len() as u16, value.len() as u16]);
                let bytes = record.add(RECORD_HEAD);
                bytes.copy_from_nonoverlapping(key.as_ptr(), key.len());
                bytes.add(key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
            }
            Ok(reference as usize)
        }

        #[cold]
        fn add_blob_record(&self, locked: &mut LockedShard<'_>, key: &[u8], value: &[u8]) -> Boxed<usize> {
            let blob = self.heap.add_blob(key, value)?;
            let (reference, record) = self.take_record(locked, BLOB_RECORD).inspect_err(|_| {
                // SAFETY: B1. It was made above, and nobody else knows it.
                unsafe { self.heap.free_blob(blob) };
            })?;
            // SAFETY: M1. The record has room for the lengths and an address, and is ours.
            unsafe {
                record.cast::<[u16; 2]>().write([BLOB, 0]);
                record.add(RECORD_HEAD).cast::<Blob>().write_unaligned(blob);
            }
            Ok(reference as usize)
        }

        /// Room for a record: a removed or free one, or else a new one, cut off the lane's free units.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn take_record(&self, locked: &mut LockedShard<'_>, bytes: usize) -> Boxed<(u32, *mut u8)> {
            let (class, units) = class(bytes.div_ceil(REF_UNIT));
            let shard = locked.shard;
            let lane = locked.lane();
            lane.last = class as u32;
            if let Some(reference) = self.reuse(shard, lane, class) {
                return Ok((reference, shard.address(reference).cast_mut()));
            }
            if lane.bump + units as u32 > lane.bump_end {
                self.refill(locked, class)?;
            }
            let lane = locked.lane();
            let reference = lane.bump;
            lane.bump += units as u32;
            let record = shard.address(reference).cast_mut();
            // The next lock waits until all earlier writes are in the cache, as any atomic exchange does.
            prefetch(record.wrapping_add(units * REF_UNIT + 64));
            Ok((reference, record))
        }

        /// The oldest removed record, if it has this class and nobody reads it any more, or a free record. For each record
        /// that comes into the limbo two are taken out, so that none stays for ever.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn reuse(&self, shard: &Shard, lane: &mut Lane, class: usize) -> Option<u32> {
            for _ in 0..2 {
                let Some(unread) = self.unread(shard, lane) else { break };
                if usize::from(unread.class) == class {
                    return Some(unread.reference);
                }
                lane.push(shard, unread.class.into(), unread.reference);
            }
            lane.pop(shard, class)
        }

        /// Takes the oldest record out of a lane's limbo, if nobody reads it any more, and frees its blob.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn unread(&self, shard: &Shard, lane: &mut Lane) -> Option<Removed> {
            let unread = lane.limbo.pop(&self.heap.memory)?;
            if unread.has_blob
                && let Some(blob) = shard.record(unread.reference).blob()
            {
                // SAFETY: E2, B1. Nobody else knows the record any more, and it is whole.
                unsafe { self.heap.free_blob(blob) };
            }
            #[cfg(twindex_check)]
            // SAFETY: E2. No reader is left in the record.
            unsafe {
                let record = NonNull::new_unchecked(shard.address(unread.reference).cast_mut());
                super::check::spoil(record, class_units(unread.class.into()) * REF_UNIT);
            }
            Some(unread)
        }

        /// Frees up to `most` of the records that wait in a lane's limbo. Returns whether there was any.
        #[inline]
        fn free_unread(&self, shard: &Shard, lane: &mut Lane, most: usize) -> bool {
            let mut freed = 0;
            while freed < most
                && let Some(unread) = self.unread(shard, lane)
            {
                lane.push(shard, unread.class.into(), unread.reference);
                freed += 1;
            }
            freed > 0
        }

        // --- room for records

        /// Gives the lane free units for a record of a class: a free record of this class or a larger one, or else a new block.
        #[cold]
        fn refill(&self, locked: &mut LockedShard<'_>, class: usize) -> Boxed<()> {
            let shard = locked.shard;
            let lane = locked.lane();
            let rest = lane.bump_end - lane.bump;
            if lane.free.is_some() || rest >= LONG as u32 {
                lane.file(shard, lane.bump, rest);
            }
            lane.bump = lane.bump_end;
            if locked.state().joining.is_some() {
                locked.join(JOIN_SOME);
            }
            let mut found = locked.cut(class);
            if found.is_none() {
                // The limbo of a thread that has ended waits for others to empty it.
                for lane in &mut locked.state().lanes {
                    self.free_unread(shard, lane, 64);
                }
                found = locked.cut(class);
                let mut turns = 0..JOIN_TURNS;
                while found.is_none() && turns.next().is_some() && locked.join(JOIN_AT_A_TIME) {
                    found = locked.cut(class);
                }
            }
            let Some(range) = found else { return self.add_block(locked, class_units(class) * REF_UNIT) };
            let lane = locked.lane();
            (lane.bump, lane.bump_end) = (range.start, range.end);
            Ok(())
        }

        /// Gives the shard another block, an eighth as large as the lane's blocks together.
        #[cold]
        fn add_block(&self, locked: &mut LockedShard<'_>, at_least: usize) -> Boxed<()> {
            let wanted = (locked.lane().bytes / 8 + 1).next_power_of_two() / 2;
            let least = (at_least + REF_UNIT).max(MIN_BLOCK);
            let mut bytes = Space::rounded(wanted.clamp(least, MAX_BLOCK));
            let shard = locked.shard;
            let number = locked.state().block_count;
            if (number + 1) >> (32 - BLOCK_UNITS_BITS) != 0 {
                return Err(Box::new(self.heap.memory.refused(bytes)));
            }
            let mut space = self.heap.space();
            let mut table = shard.blocks.load(Relaxed);
            if number == locked.state().block_capacity && !REFS_ARE_ADDRESSES {
                let longer = (number * 2).max(NEXT_BLOCKS);
                let copy = locked.copy_blocks(&mut space, longer)?;
                shard.blocks.store(copy, Release);
                let of_shard = |&at: &usize| self.shard_at(at).is_some_and(|one| ptr::eq(one, shard));
                let at = (0..SHARDS).find(of_shard).expect("a shard is in the table");
                // SAFETY: H4. The table has an entry for each shard, and the space's lock keeps it.
                unsafe { (*self.shards.load(Relaxed).add(at)).store(copy, Release) };
                if number > FIRST_BLOCKS
                    && let Some(old) = NonNull::new(table)
                {
                    self.heap.retire(&mut space, [Retired::Block(old.cast(), number * ENTRY)]);
                }
                table = copy;
                locked.state().block_capacity = longer;
            }
            let block = space.take(bytes).or_else(|_| {
                bytes = Space::rounded(least);
                space.take(bytes)
            })?;
            self.heap.check_end(&space);
            locked.due |= self.heap.due.load(Relaxed);
            if !REFS_ARE_ADDRESSES {
                // SAFETY: H4. The table's capacity is greater than `number`, and no ref leads to this entry yet.
                unsafe { table.add(number).write(AtomicPtr::new(block.as_ptr())) };
            }
            let state = locked.state();
            state.block_count += 1;
            let used = self.heap.memory.used.load(Relaxed);
            state.collect_threshold = (used / 16).clamp(ADVANCE_FROM, ADVANCE_AT);
            let lane = locked.lane();
            lane.bytes += bytes;
            let first = if REFS_ARE_ADDRESSES {
                (block.expose_provenance().get() / REF_UNIT) as u32
            } else {
                (number << BLOCK_UNITS_BITS) as u32
            };
            // A ref of 0 ends a list of free records, so the first unit is not used.
            (lane.bump, lane.bump_end) = (first + u32::from(number == 0), first + (bytes / REF_UNIT) as u32);
            Ok(())
        }

        /// Queues a record, and its blob if it has one, to be freed once no reader has it. Its ref was taken out of the index: E2.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn retire_record(&self, locked: &mut LockedShard<'_>, hash: Hash, at: u32, record: Record<'_>) {
            if self.heap.memory.has_snapshots() && self.keep_record(hash, at, record) {
                return;
            }
            #[cfg(twindex_check)]
            self.check_unlinked(locked.shard, at);
            self.queue_record(locked, at, record);
        }

        /// Frees a record that no slot has led to.
        fn discard_record(&self, locked: &mut LockedShard<'_>, reference: u32) {
            let record = locked.shard.record(reference);
            let class = class(record.len().div_ceil(REF_UNIT)).0;
            if let Some(blob) = record.blob() {
                // SAFETY: B1. Nobody else knows it.
                unsafe { self.heap.free_blob(blob) };
            }
            let shard = locked.shard;
            locked.lane().push(shard, class, reference);
        }

        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn queue_record(&self, locked: &mut LockedShard<'_>, at: u32, record: Record<'_>) {
            let (bytes, blob) = (record.len(), record.blob());
            let class = class(bytes.div_ceil(REF_UNIT)).0 as u8;
            locked.lane().limbo.push(Removed { reference: at, class, has_blob: blob.is_some() });
            let bytes = bytes.max(64) + blob.map_or(0, Blob::size);
            // Threads that share a lane may lose each other's counts. That does no harm.
            let removed = &self.removed(locked.lane).bytes;
            let sum = removed.load(Relaxed) + bytes;
            let due = sum >= locked.state().collect_threshold;
            removed.store(if due { 0 } else { sum }, Relaxed);
            locked.due |= due;
        }

        /// Frees all that no reader can be in any more. Returns whether there was any.
        pub(super) fn reclaim(&self) -> bool {
            let mut any = self.heap.reclaim();
            for shard in self.all_shards() {
                for lane in &mut shard.lock().state().lanes {
                    any |= self.free_unread(shard, lane, usize::MAX);
                }
            }
            any
        }

        /// Whether anything waits for readers.
        pub(super) fn has_retired(&self) -> bool {
            let mut all = self.all_shards();
            let waits = |shard: &Shard| shard.lock().state().lanes.iter().any(|lane| !lane.limbo.is_empty());
            !self.heap.space().limbo.is_empty() || all.any(waits)
        }

        // --- growing

        /// Makes the first directory, with one small segment.
        pub(super) fn start(&self) -> Boxed<()> {
            let mut space = self.heap.space();
            if space.closed || !self.directory().is_none() {
                return Ok(());
            }
            self.prepare(&mut space)?;
            if self.shards.load(Relaxed).is_null() {
                let first = space.take(size_of::<Shard>())?.cast();
                // SAFETY: M1. The block has room for a shard, and nobody else knows it.
                let first = unsafe { Shard::write(first) };
                let table = ptr::from_ref(first).wrapping_byte_add(mem::offset_of!(Shard, blocks));
                self.shards.store(table.cast_mut().cast(), Release);
            }
            let first = NewSegment::new(&mut space, FIRST_BUCKETS, 0)?.segment;
            self.past.begun.fetch_add(1, AcqRel);
            self.install_directory(&mut space, 1, &|_| first).inspect_err(|_| space.give_segment(first))
        }

        /// Makes a new directory the current one. It leads each hash `to` a segment. The segments are all of one size.
        fn install_directory<'i>(
            &'i self,
            space: &mut Space,
            depth: u32,
            to: &dyn Fn(Hash) -> Segment<'i>,
        ) -> Boxed<()> {
            let old = self.directory();
            let block = space.take(Directory::bytes_for(depth))?;
            let head = block.as_ptr().cast::<DirectoryHead>();
            let directory = Directory(head, PhantomData);
            // SAFETY: M1. The block has room for the head and so many entries, and nobody else knows it.
            unsafe {
                (&raw mut (*head).shift).write(64 - depth);
                (&raw mut (*head).mask).write(to(Hash(0)).mask);
            }
            for (at, entry) in directory.entries().iter().enumerate() {
                entry.store(to(Hash(directory.first_hash(at))).entry, Release);
            }
            self.directory.store(head, Release);
            if !old.is_none() {
                let block = NonNull::new(old.0.cast_mut().cast()).expect("a directory has an address");
                self.heap.retire(space, [Retired::Block(block, Directory::bytes_for(old.depth()))]);
            }
            Ok(())
        }

        /// Replaces a full segment by a larger one or by two.
        #[cold]
        fn grow(&self, locked: LockedShard<'_>, segment: Segment<'_>, hash: Hash) -> Boxed<()> {
            let shard = locked.shard;
            if !shard.splitting.load(Relaxed).is_null() {
                drop(locked);
                let mut turns = 0;
                while !shard.splitting.load(Relaxed).is_null() {
                    wait(&mut turns);
                }
                return Ok(());
            }
            if segment.len() < BUCKETS {
                let mut space = self.heap.space();
                let mut larger = NewSegment::new(&mut space, segment.len() * GROWTH, segment.shard())?;
                self.each_hash(segment, shard, |reference, hash| larger.put(hash, reference));
                let larger = larger.segment;
                self.install_directory(&mut space, 1, &|_| larger)
                    .inspect_err(|_| space.give_segment(larger))?;
                self.retire_segment(&mut space, segment, hash);
                return Ok(());
            }
            let grown = self.split(locked, segment, hash);
            self.heap.maintain_if_due();
            grown
        }

        /// Replaces a segment by two. Its lock is not held while refs move: H2.
        fn split(&self, locked: LockedShard<'_>, segment: Segment<'_>, hash: Hash) -> Boxed<()> {
            let shard = locked.shard;
            let directory = self.directory();
            let depth = directory.depth() - directory.span(segment, hash).len().ilog2() + 1;
            self.deepen(depth)?;
            // In a small table, the upper half of a segment gets a shard of its own.
            let number = if SHARDS == 1 || depth > SHARD_BITS {
                segment.shard()
            } else {
                (hash.top(depth) | 1) << (SHARD_BITS - depth)
            };
            shard.splitting.store(segment.entry, Relaxed);
            drop(locked);
            let mut moved = 0;
            let halves = self.two_segments([segment.shard(), number]).map(|mut halves| {
                self.each_hash(segment, shard, |reference, hash| {
                    let half = hash.top(depth) & 1;
                    moved += half;
                    halves[half].put(hash, reference);
                });
                halves.map(|half| half.segment)
            });
            let mut locked = shard.lock();
            shard.splitting.store(ptr::null_mut(), Relaxed);
            let halves = halves?;
            if number != segment.shard() {
                self.divide(&mut locked, number, moved)
                    .inspect_err(|_| halves.iter().for_each(|&half| self.heap.space().give_segment(half)))?;
            }
            self.set_entries(segment, hash, halves);
            Ok(())
        }

        /// Makes the shard to which `moved` pairs of the shard `low` go. It has the same blocks under the same numbers, so
        /// their refs lead to the same records: H4.
        fn divide(&self, low: &mut LockedShard<'_>, number: usize, moved: usize) -> Boxed<()> {
            let space = &mut self.heap.space();
            if ptr::eq(self.shards.load(Relaxed), &raw const low.shard.blocks) {
                let table = space.take(2 * SHARDS * ENTRY)?.cast::<Blocks>();
                // SAFETY: M1. The block has room for so many addresses.
                unsafe {
                    table.write_bytes(0, 2 * SHARDS);
                    let middle = table.add(SHARDS).as_ptr();
                    shard_word(middle, 0).store(low.shard.alone.load(Relaxed), Relaxed);
                    (*middle).store(low.shard.blocks.load(Relaxed), Relaxed);
                    self.shards.store(middle, Release);
                }
            }
            let block = space.take(size_of::<Shard>())?;
            let capacity = low.state().block_capacity.max(NEXT_BLOCKS);
            let blocks = low.copy_blocks(space, capacity).inspect_err(|_| {
                // SAFETY: M1. It was just taken.
                unsafe { space.give(block, size_of::<Shard>()) };
            })?;
            // SAFETY: M1. The block has room for a shard, and nobody else knows it.
            let high = unsafe { Shard::write(block.cast()) };
            high.blocks.store(blocks, Relaxed);
            // SAFETY: M1, as above.
            let (state, high_state) = (low.state(), unsafe { &mut *high.state.get() });
            (high_state.block_count, high_state.block_capacity) = (state.block_count, capacity);
            for (low, high) in state.lanes.iter_mut().zip(&mut high_state.lanes) {
                high.bytes = low.bytes / 2;
                low.bytes -= high.bytes;
            }
            high_state.collect_threshold = state.collect_threshold;
            high_state.empty_at = -moved.cast_signed();
            state.empty_at += moved.cast_signed();
            // SAFETY: H4. The table has an entry for each shard.
            unsafe {
                (*self.shards.load(Relaxed).add(number)).store(blocks, Release);
                shard_word(self.shards.load(Relaxed), number).store(high.alone.load(Relaxed), Release);
            }
            Ok(())
        }

        // --- filling new segments, and leading the directory to them

        fn two_segments(&self, shards: [usize; 2]) -> Boxed<[NewSegment<'_>; 2]> {
            let mut space = self.heap.space();
            let low = NewSegment::new(&mut space, BUCKETS, shards[0])?;
            let high = NewSegment::new(&mut space, BUCKETS, shards[1])
                .inspect_err(|_| space.give_segment(low.segment))?;
            self.heap.check_end(&space);
            Ok([low, high])
        }

        /// Shows `put` the ref and the hash of each pair of a segment. The caller sees to it that the segment does not change.
        fn each_hash(&self, segment: Segment<'_>, shard: &Shard, mut put: impl FnMut(u32, Hash)) {
            let refs = segment.refs(shard);
            for (at, &reference) in refs.iter().enumerate() {
                let (key, _) = shard.record(reference).parts();
                // If one key is long, most are. Prefetches the other lines of a record that comes soon.
                let key_end = RECORD_HEAD + key.len();
                if key_end > 32
                    && let Some(&soon) = refs.get(at + 4)
                {
                    let record = shard.address(soon);
                    (32..key_end).step_by(64).for_each(|line| prefetch(record.wrapping_add(line)));
                    prefetch(record.wrapping_add(key_end));
                }
                put(reference, self.hash(key));
            }
        }

        /// Makes the directory at least so deep, by one level at a time.
        fn deepen(&self, depth: u32) -> Boxed<()> {
            let mut space = self.heap.space();
            let old = self.directory();
            if old.depth() >= depth {
                return Ok(());
            }
            if depth > MAX_DEPTH.min(usize::BITS - ENTRY.ilog2() - 2) {
                return Err(Box::new(self.heap.memory.refused(0)));
            }
            self.install_directory(&mut space, old.depth() + 1, &|hash| old.segment(hash))
        }

        /// Leads the entries of a segment to the two that replace it, one half each, and retires it.
        fn set_entries(&self, old: Segment<'_>, hash: Hash, halves: [Segment<'_>; 2]) {
            let mut space = self.heap.space();
            let directory = self.directory();
            let span = directory.span(old, hash);
            let middle = usize::midpoint(span.start, span.end);
            for at in span {
                directory.entries()[at].store(halves[usize::from(at >= middle)].entry, Release);
            }
            self.retire_segment(&mut space, old, hash);
        }

        // --- reserving

        /// Fails if there is no memory for the segments of so many pairs. `reserve` alone would find that out only after it
        /// had taken all that the system has.
        pub(super) fn check_room(&self, pairs: usize) -> Boxed<()> {
            let needed = (pairs / RESERVED_PAIRS).saturating_mul(BUCKETS * BUCKET);
            let bytes = needed.saturating_sub(self.heap.bytes());
            if bytes <= Space::HUGE_PAGE {
                return Ok(());
            }
            let memory = &self.heap.memory;
            // It is not counted: other threads would run into the limit meanwhile.
            let mut room: Vec<u8> = Vec::new();
            let fits = bytes <= memory.available() && room.try_reserve_exact(bytes).is_ok();
            // Without this the compiler would leave out the allocation.
            std::hint::black_box(&room);
            if fits { Ok(()) } else { Err(Box::new(memory.refused(bytes))) }
        }

        /// Splits the segment at `from`, before it is full, if the table is to hold so many pairs. Returns where to go on.
        /// The caller pins anew for each step, so that the memory of split segments is used again.
        pub(super) fn reserve(&self, pairs: usize, from: u64) -> Boxed<Option<u64>> {
            let depth = (pairs / RESERVED_PAIRS).checked_ilog2().map_or(0, |bits| bits + 1);
            let directory = self.directory();
            if directory.is_none() {
                self.start()?;
                // If there is still none, the index is being replaced.
                return Ok((!self.directory().is_none()).then_some(from));
            }
            let hash = Hash(from);
            let segment = directory.segment(hash);
            let locked = self.shard(segment).lock();
            if self.directory().is_none() || self.directory().segment(hash) != segment {
                return Ok(Some(from));
            }
            let segment = self.writable(locked.shard, segment, hash)?;
            let directory = self.directory();
            let span = directory.span(segment, hash);
            let is_small = depth > 0 && segment.len() < BUCKETS;
            if is_small || directory.depth() - span.len().ilog2() < depth {
                self.grow(locked, segment, hash)?;
                return Ok(Some(from));
            }
            Ok((span.end < directory.len()).then(|| directory.first_hash(span.end)))
        }

        // --- snapshots

        /// The directory of the newest snapshot, if a write has come since.
        fn past_directory(&self) -> Directory<'_> {
            Directory::of(self.past.root.load(Acquire))
        }

        /// Before the first write under a snapshot, a copy of the directory becomes the current one: V2.
        fn prepare(&self, space: &mut Space) -> Boxed<()> {
            self.past.prepare(&self.heap.memory, Directory::NONE.cast_mut().cast(), || {
                let old = self.directory();
                if !old.is_none() {
                    let bytes = Directory::bytes_for(old.depth());
                    let block = space.take(bytes)?;
                    // SAFETY: M1. The block is ours. The space's lock keeps entries from changing.
                    unsafe { ptr::copy_nonoverlapping(old.0.cast(), block.as_ptr(), bytes) };
                    self.past.count(&self.heap.memory, bytes);
                    self.directory.store(block.as_ptr().cast(), Release);
                }
                Ok((old.0.cast_mut().cast(), self.len()))
            })
        }

        /// The segment to be written to, whose shard is locked. If a snapshot needs this one, a copy takes its place: V3.
        #[inline(always)]
        fn writable<'s>(&'s self, shard: &Shard, segment: Segment<'s>, hash: Hash) -> Boxed<Segment<'s>> {
            let has_snapshots = self.heap.memory.has_snapshots();
            if has_snapshots { self.copied(shard, segment, hash) } else { Ok(segment) }
        }

        #[cold]
        #[inline(never)]
        fn copied<'s>(&'s self, shard: &Shard, segment: Segment<'s>, hash: Hash) -> Boxed<Segment<'s>> {
            if !self.past.is_prepared(&self.heap.memory) {
                self.prepare(&mut self.heap.space())?;
            }
            let is_old = self.heap.memory.newest() != 0 && self.past_directory().segment(hash) == segment;
            // A segment that is being split is about to be replaced anyway.
            if !is_old || ptr::eq(shard.splitting.load(Relaxed), segment.entry) {
                return Ok(segment);
            }
            self.past.reserve(&self.heap.memory, 1)?;
            let mut space = self.heap.space();
            let copy = NewSegment::new(&mut space, segment.len(), segment.shard())?.segment;
            // SAFETY: M1, H2. The copy is ours, and the shard's lock keeps the segment from changing.
            unsafe { copy.block().copy_from_nonoverlapping(segment.block(), segment.bytes()) };
            let directory = self.directory();
            for at in directory.span(segment, hash) {
                directory.entries()[at].store(copy.entry, Release);
            }
            self.retire_segment(&mut space, segment, hash);
            self.heap.check_end(&space);
            Ok(copy)
        }

        /// Frees a segment to which the directory no longer leads, once no reader is in it, or keeps it for snapshots.
        fn retire_segment(&self, space: &mut Space, segment: Segment<'_>, hash: Hash) {
            let block = Retired::Block(segment.block(), segment.bytes());
            let leads = |root| Directory::of(root).segment(hash).entry == segment.entry;
            if !self.past.keep(&self.heap.memory, block, segment.shard(), leads) {
                self.heap.retire(space, [block]);
            }
        }

        /// Marks a removed record in the newest snapshot's segment, if that has it: V4. Returns whether it has.
        #[cold]
        #[inline(never)]
        fn keep_record(&self, hash: Hash, reference: u32, record: Record<'_>) -> bool {
            let kept = self.heap.memory.newest() != 0 && Self::mark(self.past_directory(), hash, reference);
            if kept {
                self.past.count(&self.heap.memory, Self::kept_bytes_of(record));
            }
            kept
        }

        fn kept_bytes_of(record: Record<'_>) -> usize {
            class(record.len().div_ceil(REF_UNIT)).1 * REF_UNIT + record.blob().map_or(0, Blob::size)
        }

        /// Marks the slot of a record in the segment to which a snapshot's directory leads, if it is there.
        fn mark(directory: Directory<'_>, hash: Hash, reference: u32) -> bool {
            let segment = directory.segment(hash);
            for steps in 0..segment.len() {
                let bucket = segment.bucket(hash, steps);
                if let Some(slot) = bucket.slot_of(hash.tag(), reference) {
                    bucket.tags.passed.fetch_or((PASSED + 1) << slot, AcqRel);
                    return true;
                }
                if bucket.passed() == 0 {
                    break;
                }
            }
            false
        }

        /// The refs of a segment that a snapshot keeps whose records have left the index.
        fn marked(segment: Segment<'_>) -> impl Iterator<Item = u32> {
            segment.buckets().iter().flat_map(|bucket| bucket.refs_of(bucket.marks())).map(|(_, at)| at)
        }

        fn kept_segment(kept: &Preserved) -> Option<Segment<'_>> {
            let Retired::Block(block, bytes) = kept.what else { return None };
            Some(Segment::new(block, bytes / BUCKET, kept.shard))
        }

        /// The directory that is the root of snapshots.
        fn kept_directory(root: *mut u8) -> Option<Retired> {
            let directory = Directory::of(root);
            let block = NonNull::new(root).filter(|_| !directory.is_none());
            block.map(|block| Retired::Block(block, Directory::bytes_for(directory.depth())))
        }

        /// Queues a record that no snapshot needs any more. It left the index long ago.
        fn free_record(&self, hash: Hash, reference: u32, record: Record<'_>) {
            self.past.uncount(&self.heap.memory, Self::kept_bytes_of(record));
            let mut locked = loop {
                let directory = self.directory();
                if directory.is_none() {
                    // The index is about to be dropped, with its records.
                    if let Some(blob) = record.blob() {
                        // SAFETY: B1. Nobody else knows it.
                        unsafe { self.heap.free_blob(blob) };
                    }
                    return;
                }
                let segment = directory.segment(hash);
                let locked = self.shard(segment).lock();
                if self.directory().segment(hash) == segment {
                    break locked;
                }
            };
            self.queue_record(&mut locked, reference, record);
            if locked.due {
                self.heap.due.store(true, Relaxed);
            }
        }
    }

    /// What a transaction changes in an index, under the locks of all shards that this concerns.
    pub(super) struct Changes<'c> {
        index: &'c HashIndex,
        /// A bit for each of the shards, and the shards.
        numbers: u64,
        shards: Vec<LockedShard<'c>>,
        all: Vec<Planned<'c>>,
        /// The segments that have to grow, each with the hash of a key.
        full: Vec<(Hash, Segment<'c>)>,
    }

    struct Planned<'c> {
        hash: Hash,
        key: &'c [u8],
        value: Option<&'c [u8]>,
        /// Its slot, and the new record.
        place: Option<(Segment<'c>, Location)>,
        new: Option<usize>,
    }

    const _: () = assert!(SHARDS <= u64::BITS as usize);

    impl<'c> Changes<'c> {
        fn locked<'s>(
            shards: &'s mut [LockedShard<'c>],
            numbers: u64,
            segment: Segment<'_>,
        ) -> &'s mut LockedShard<'c> {
            &mut shards[(numbers & ((1 << segment.shard()) - 1)).count_ones() as usize]
        }
    }

    impl Indexed for HashIndex {
        /// A copy of the value of `key`, and a word that changes with the next write to it: W1.
        fn watch(&self, key: &[u8]) -> (Content, Word) {
            let (hash, mut turns) = (self.hash(key), 0);
            loop {
                let begun = self.past.begun.load(Acquire);
                let directory = self.directory();
                if directory.is_none() {
                    return (None, (&raw const self.past.begun, begun));
                }
                let segment = directory.segment(hash);
                let found = watched(&self.shard(segment).lock.0, 1, || {
                    // A split may have moved the key to another shard before.
                    let is_there = self.directory().segment(hash) == segment;
                    is_there.then(|| self.find(hash, key).map(|record| Bytes::of(record.parts().1)))
                });
                if let Some((Some(found), word)) = found {
                    return (found, word);
                }
                wait(&mut turns);
            }
        }

        /// Locks the shards of some keys, which a transaction sets or deletes. `None` if the index is closed, or a shard has just been
        /// split.
        fn lock_all<'c>(&'c self, writes: &mut dyn Iterator<Item = Put<'c>>) -> Boxed<Option<BoxedHeld<'c>>> {
            let number = |hash| {
                let directory = self.directory();
                (!directory.is_none()).then(|| directory.segment(hash).shard())
            };
            let (mut all, mut numbers) = (Vec::with_capacity(2), 0_u64);
            for (key, value) in writes {
                let hash = self.hash(key);
                let Some(number) = number(hash) else { return Ok(None) };
                numbers |= 1 << number;
                all.try_reserve(1).map_err(|_| self.heap.memory.refused(0))?;
                all.push(Planned { hash, key, value, place: None, new: None });
            }
            // In ascending order, as `close_if_empty` does.
            let mut shards = Vec::with_capacity(numbers.count_ones() as usize);
            let mut left = numbers;
            while left != 0 {
                let Some(shard) = self.shard_at(left.trailing_zeros() as usize) else { return Ok(None) };
                shards.push(shard.lock());
                left &= left - 1;
            }
            let changes = Changes { index: self, shards, numbers, all, full: Vec::new() };
            let still = |change: &Planned<'_>| number(change.hash).is_some_and(|at| numbers >> at & 1 != 0);
            Ok(changes.all.iter().all(still).then(|| Box::new(changes) as _))
        }

        fn begin(&self) -> Boxed<()> {
            self.start()
        }
    }

    impl Held for Changes<'_> {
        fn holds(&self, word: *const AtomicU64) -> bool {
            self.shards.iter().any(|locked| ptr::eq(&raw const locked.shard.lock.0, word))
        }

        fn prepare(&mut self) -> Boxed<bool> {
            let Self { index, numbers, shards, all, full } = self;
            for change in &mut *all {
                let segment = index.directory().segment(change.hash);
                let shard = index.shard(segment);
                let segment = index.writable(shard, segment, change.hash)?;
                let is_split = ptr::eq(shard.splitting.load(Relaxed), segment.entry);
                let found = (!is_split).then(|| segment.locate_slowly(shard, change.hash, change.key));
                change.place = found.flatten().map(|location| (segment, location));
                match change.place {
                    Some((_, Location { slot, steps, present: false })) if change.value.is_some() => {
                        segment.bucket(change.hash, steps.into()).flip_mark(slot);
                    }
                    None if is_split || change.value.is_some() => {
                        full.try_reserve(1).map_err(|_| index.heap.memory.refused(0))?;
                        full.push((change.hash, segment));
                    }
                    _ => {}
                }
            }
            if !full.is_empty() {
                return Ok(false);
            }
            for change in all {
                let (Some((segment, _)), Some(value)) = (change.place, change.value) else { continue };
                let locked = Self::locked(shards, *numbers, segment);
                change.new = Some(index.add_record(locked, change.key, value)?);
            }
            Ok(true)
        }

        fn end(&mut self, done: bool) {
            let Self { index, numbers, shards, all, .. } = self;
            for Planned { hash, value, place, new, .. } in mem::take(all) {
                let Some((segment, location)) = place else { continue };
                if value.is_some() && !location.present {
                    segment.bucket(hash, location.steps.into()).flip_mark(location.slot);
                }
                let locked = Self::locked(shards, *numbers, segment);
                if done && (new.is_some() || location.present) {
                    index.put(location, segment, locked, hash, new);
                } else if let Some(new) = new {
                    index.discard_record(locked, new as u32);
                }
            }
            let due = shards.iter().any(|locked| locked.due);
            shards.clear();
            if due {
                index.maintain();
            }
        }

        fn make_room(&mut self) -> Boxed<()> {
            self.end(false);
            let index = self.index;
            mem::take(&mut self.full).into_iter().try_for_each(|(hash, segment)| {
                let locked = index.shard(segment).lock();
                let is_there = index.directory().segment(hash) == segment;
                if is_there { index.grow(locked, segment, hash) } else { Ok(()) }
            })
        }
    }

    impl Versioned for HashIndex {
        fn past(&self) -> &Past<Self> {
            &self.past
        }

        fn bytes(&self) -> usize {
            self.heap.bytes()
        }

        fn showing(origin: &Arc<Self>, generation: u64) -> Self {
            let (root, len) =
                origin.past.root_of(generation, || (origin.directory().0.cast_mut().cast(), origin.len()));
            let memory = &origin.heap.memory;
            Self {
                hasher: origin.hasher.clone(),
                directory: AtomicPtr::new(root.cast()),
                shards: AtomicPtr::new(origin.shards.load(Acquire)),
                emptied: AtomicBool::new(false),
                past: Past { origin: Some((Arc::clone(origin), len)), ..Past::new(memory) },
                heap: Heap::new(Arc::clone(memory)),
            }
        }

        fn prune(&self, closed: u64, open: &Needed) {
            let memory = &self.heap.memory;
            let pinned = epoch::pin(memory);
            let (root, items) = self.past.take_unneeded(closed, open).unzip();
            let items = items.unwrap_or_default();
            for kept in &items {
                let Some(segment) = Self::kept_segment(kept) else { continue };
                let below = open.generations.partition_point(|&open| open < kept.from).checked_sub(1);
                let below = below.and_then(|at| self.past.root_before(open.generations[at], kept.from));
                let shard = self.shard(segment);
                for reference in Self::marked(segment) {
                    let record = shard.record(reference);
                    let hash = self.hash(record.parts().0);
                    // V4. An older snapshot may have it too.
                    if !below.is_some_and(|root| Self::mark(Directory::of(root), hash, reference)) {
                        self.free_record(hash, reference, record);
                    }
                }
            }
            let all =
                || root.and_then(Self::kept_directory).into_iter().chain(items.iter().map(|kept| kept.what));
            self.past.uncount(memory, all().map(Retired::size).sum());
            self.heap.retire(&mut self.heap.space(), all());
            drop(pinned);
            prune_end(&self.heap, &self.emptied, self.len(), || self.reclaim());
        }
    }

    impl Space {
        /// Takes back a new segment, to which no entry ever led.
        fn give_segment(&mut self, segment: Segment<'_>) {
            // SAFETY: M1. It was taken with these bytes, and nobody knows it.
            unsafe { self.give(segment.block(), segment.bytes()) };
        }
    }

    impl Drop for HashIndex {
        fn drop(&mut self) {
            if self.past.origin.is_some() {
                return;
            }
            // SAFETY: B1. One record owns each blob, and is whole, and nobody reads it any more.
            let free = |blob| unsafe { self.heap.free_blob(blob) };
            self.heap.memory.uncount_kept(self.past.bytes.load(Relaxed));
            for segment in
                lock(&self.past.kept).iter().flat_map(|saved| &saved.items).filter_map(Self::kept_segment)
            {
                let shard = self.shard(segment);
                Self::marked(segment).filter_map(|reference| shard.record(reference).blob()).for_each(free);
            }
            let directory = self.directory();
            let none = directory.is_none() || self.heap.blob_bytes.load(Relaxed) == 0;
            let mut at = if none { directory.len() } else { 0 };
            while at < directory.len() {
                let hash = Hash(directory.first_hash(at));
                let segment = directory.segment(hash);
                let shard = self.shard(segment);
                for reference in segment.refs(shard) {
                    shard.record(reference).blob().map(free);
                }
                at = directory.span(segment, hash).end;
            }
            for shard in self.all_shards() {
                // SAFETY: L1. Nobody else has it any more.
                let mut state = unsafe { mem::take(&mut *shard.state.get()) };
                let removed = state.lanes.iter_mut().flat_map(|lane| lane.limbo.drain());
                // H1: a removed record is whole until it is freed.
                let with_blobs = removed.filter(|removed| removed.has_blob);
                with_blobs.filter_map(|removed| shard.record(removed.reference).blob()).for_each(free);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------
// The sorted index
// ---------------------------------------------------------------------------------------------------

/// Pairs found by their key, and in the order of their keys.
///
/// A tree whose leaves hold the pairs themselves. The slots of a leaf are in the order of the keys, its cells in the order
/// in which they came. A new cell goes below the others, then the slots above its place move up by one. A leaf without room
/// is replaced by a larger one, or by two. One leaf takes a single store to the node above. Two leaves take a copy of that
/// node with one more child, or two such nodes, and the copy replaces the node in the same way. Each node has its own lock,
/// so writers wait for each other only if they change the same node.
///
/// ```text
/// leaf: head · prefix · slots, in order ──> ·      free      · <── cells
/// slot: first 4 key bytes after the prefix u32 · length of the key after it u16 · where its cell is u16
/// cell: length code u16 · the rest of the key · the value, or the address of its block or blob; the key too may be in the blob
///
/// inner node: head · first 4 bytes of each separator after the prefix · children · ends · prefix · separators.
///             Never changes but for its children.
/// ```
///
/// The life of one insert: ask the thread's hints for the key's leaf, or else walk down the tree; lock the leaf, unless it was
/// replaced; search it; count the pair; write the cell; mark the state as shifting; move the slots above up; store the new slot and
/// the count; unlock, which ends the shift. Without room a new leaf, or two, is filled and led to, and the old one is retired.
///
/// Invariants
///
/// - **S1** A cell is written before a slot that names it is stored, and never changes. A slot is whole from then on, also above
///   the count, where a reader may still be.
/// - **S2** A leaf changes only under its lock, and only while the tree leads to it. One that was replaced is marked so and never
///   changes again. It is freed through a limbo, so a pinned reader may read on in it. The separators at its sides stay as long as
///   it is in the tree.
/// - **S3** All keys of a leaf begin with its prefix, and each has one slot. While `SHIFTING` is set in `state`, a reader may see a
///   key twice, or in the slot just past `count`. A hit is genuine. A miss counts only if `state` did not change.
/// - **S4** A child pointer changes only under the lock of its node, and that of the root under the root's. A node is locked before
///   what leads to it; a thread that goes another way only tries. An inner node that was replaced is marked before its lock is given up,
///   and never changes again: so none of its children was changed after it was copied.
/// - **S5** The first word of a block is its `state` as long as the index lives, and no leaf has one that an earlier leaf in the
///   block had. So a thread that remembers a leaf can tell later whether it is unchanged.
/// - **S6** A slot below the count owns its block or blob, which is retired once the slot is gone or names another cell.
#[path = "../tests/check"]
mod sorted {
    use super::platform::{ROW, less_in_row};
    use super::*;

    #[cfg(twindex_check)]
    #[path = "sorted.rs"]
    mod check;

    /// A leaf with more bytes than `LEAF` is split in two. With no more than `FEW` pairs it may have twice as many.
    const LEAF: usize = tuned(4096, 256);
    const FEW: usize = tuned(48, 3);
    const MIN_LEAF: usize = tuned(256, 64);
    /// The size of a table's first leaf, and of its first region.
    const FIRST_LEAF: usize = tuned(512, 64);
    /// Two leaves are merged if the new one has no more bytes than this.
    const MERGED: usize = LEAF / 4 * 3;
    /// Up to this size, a leaf that grows gets a new prefix each time.
    const SMALL_LEAF: usize = tuned(1024, 128);
    /// Keys are taken to come in order once so many did.
    const IN_ORDER: usize = tuned(8, 2);
    /// A batch in order is written leaf by leaf, as long as each leaf gets at least so many of its pairs.
    const FEW_OF_RUN: usize = tuned(8, 2);
    /// Values of pairs with more bytes than this are out of line, so that a leaf holds several.
    const MAX_CELL: usize = tuned(512, 64);
    /// Values with more bytes than this are blobs.
    const MAX_BLOCK_VALUE: usize = tuned(4096, 128);
    /// The most separators of an inner node. With 64, 10 million pairs need a fourth level, and a look-up takes 380 ns
    /// instead of 336.
    const FANOUT: usize = tuned(79, 3);
    const MAX_PREFIX: usize = tuned(255, 6);
    /// A search in a leaf takes so many steps, even if fewer would do. They are enough for 128 pairs.
    const SEARCH_STEPS: u32 = 7;
    /// A short copy reads and writes so many bytes, more than it has to. So it needs no call.
    const OVER: usize = 32;

    const HEAD: usize = size_of::<LeafHead>();
    const SLOT: usize = size_of::<u64>();
    const CELL_HEAD: usize = 2;
    /// The length code of a cell is the value's length if the cell holds the value. `BLOCK` plus the length means that the
    /// value is in a block, `VALUE_BLOB` that it is in a blob, `PAIR_BLOB` that key and value are in a blob. The cell then
    /// holds the address.
    const BLOCK: u16 = 1 << 15;
    const VALUE_BLOB: u16 = u16::MAX - 1;
    const PAIR_BLOB: u16 = u16::MAX;
    const ADDRESS: usize = size_of::<Blob>();

    // --- leaves

    /// The head of a leaf. Prefix, slots and cells follow in the same block.
    #[repr(C)]
    struct LeafHead {
        /// The flags below. The bits above them are a number that grows with every change.
        state: AtomicU64,
        count: AtomicU16,
        /// The most slots that the leaf ever had: a reader may still be at the last of them. Only the lock's holder uses
        /// this and the next two.
        most: AtomicU16,
        floor: AtomicU16,
        /// Bytes of cells that no slot names.
        garbage: AtomicU16,
        size: u16,
        prefix_len: u16,
        slots: u16,
        born: u64,
    }

    const _: () = assert!(HEAD == 32);

    const LOCKED: u64 = 1;
    const REPLACED: u64 = 2;
    const SHIFTING: u64 = 4;
    const CHANGED: u64 = 8;
    /// While one of these is set, what is read of a leaf may be old, or of two moments.
    const BUSY: u64 = LOCKED | REPLACED | SHIFTING;

    /// A node with this kind of head. The code that makes an `At` keeps the node for `'g`, by a pin or a lock (E1, S2, S4). It is a
    /// pointer to the whole block: a reference would cover the head alone.
    struct At<'g, H> {
        head: NonNull<H>,
        lifetime: PhantomData<&'g H>,
    }

    type Leaf<'g> = At<'g, LeafHead>;
    type Inner<'g> = At<'g, InnerHead>;

    impl<H> Clone for At<'_, H> {
        fn clone(&self) -> Self {
            *self
        }
    }

    impl<H> Copy for At<'_, H> {}

    impl<H> Deref for At<'_, H> {
        type Target = H;

        #[inline]
        fn deref(&self) -> &H {
            // SAFETY: E1, S2, S4. It is there, and its head is never written but through atomics.
            unsafe { self.head.as_ref() }
        }
    }

    impl<H> At<'_, H> {
        #[inline]
        fn new(block: NonNull<u8>) -> Self {
            Self { head: block.cast(), lifetime: PhantomData }
        }

        #[inline]
        fn base(self) -> *mut u8 {
            self.head.as_ptr().cast()
        }
    }

    /// The word of a slot. The drawing above shows its parts.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Slot(u64);

    impl Slot {
        #[inline]
        fn new(head: u32, key_len: usize) -> Self {
            Self(u64::from(head) << 32 | (key_len as u64) << 16)
        }

        #[inline]
        fn head(self) -> u32 {
            (self.0 >> 32) as u32
        }

        /// The length of the key after the prefix.
        #[inline]
        fn key_len(self) -> usize {
            usize::from((self.0 >> 16) as u16)
        }

        #[inline]
        fn cell(self) -> usize {
            usize::from(self.0 as u16)
        }

        fn with_cell(self, cell: usize) -> Self {
            Self(self.0 & !0xffff | cell as u64)
        }
    }

    /// Words of a leaf's block, each of them a slot. S1: callers stay below the count, or below the cells.
    #[derive(Clone, Copy)]
    struct Words<'g>(*const AtomicU64, PhantomData<&'g AtomicU64>);

    impl<'g> Words<'g> {
        #[inline(always)]
        fn at(self, at: usize) -> &'g AtomicU64 {
            // SAFETY: S1, S2. The slots stand behind the prefix, in the leaf's block.
            unsafe { &*self.0.add(at) }
        }
    }

    /// The part of a key after its leaf's prefix, divided as slots and cells hold it.
    #[derive(Clone, Copy)]
    struct Suffix<'k> {
        head: u32,
        len: usize,
        rest: &'k [u8],
    }

    impl<'k> Suffix<'k> {
        #[inline]
        fn new(key: &'k [u8]) -> Self {
            Self { head: head4(key), len: key.len(), rest: key.get(4..).unwrap_or_default() }
        }

        /// Its slot, whose cell is still to be written.
        #[inline]
        fn slot(self) -> Slot {
            Slot::new(self.head, self.len)
        }
    }

    /// The bytes of an address, as a cell holds them.
    fn bytes_of(address: &*const u8) -> &[u8] {
        // SAFETY: R1. These are its bytes. They go nowhere but into cells.
        unsafe { slice::from_raw_parts(ptr::from_ref(address).cast(), ADDRESS) }
    }

    /// The place of a key's slot, and the slot; or the place where it would be.
    type Found = std::result::Result<(usize, Slot), usize>;

    /// A key in a leaf to which it belongs.
    #[derive(Clone, Copy)]
    struct Search<'k> {
        key: &'k [u8],
        /// The part after the leaf's prefix, or the whole key if it does not begin with that.
        suffix: Suffix<'k>,
        has_prefix: bool,
        found: Found,
        /// In a batch in order, the key that comes about one leaf later.
        far: Option<&'k [u8]>,
    }

    // --- prefixes

    /// The part of `key` after a node's prefix. If it does not begin with that, its order to all keys that do. `start` is
    /// the first 8 bytes of the prefix.
    #[inline(always)]
    fn strip<'k, 'p>(
        key: &'k [u8],
        start: u64,
        len: usize,
        prefix: impl FnOnce() -> &'p [u8],
    ) -> std::result::Result<&'k [u8], Ordering> {
        /// For each length of the prefix, a mask of its bytes in the word.
        const MASKS: [u64; 9] = {
            let mut masks = [u64::MAX; 9];
            let mut len = 0;
            while len < 8 {
                masks[len] = (!(u64::MAX >> (8 * len))).to_be();
                len += 1;
            }
            masks
        };
        if let Some(mask) = MASKS.get(len)
            && (first_word(key) ^ start) & mask == 0
            && let Some(rest) = key.get(len..)
        {
            return Ok(rest);
        }
        strip_slowly(key, prefix())
    }

    /// The first 8 bytes of a key, as in memory. Of a shorter key, the other bytes may have any value.
    #[inline(always)]
    fn first_word(key: &[u8]) -> u64 {
        if let Some(word) = key.first_chunk() {
            return u64::from_ne_bytes(*word);
        }
        let word = match (key.first_chunk(), key.last_chunk()) {
            (Some(first), Some(last)) => {
                let behind = u64::from(u32::from_le_bytes(*last)) << (8 * (key.len() - 4));
                u64::from(u32::from_le_bytes(*first)) | behind
            }
            _ => key.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        word.to_le()
    }

    /// As `strip`, for longer prefixes and for keys that do not begin with the prefix.
    #[inline(never)]
    fn strip_slowly<'k>(key: &'k [u8], prefix: &[u8]) -> std::result::Result<&'k [u8], Ordering> {
        match key.split_at_checked(prefix.len()) {
            Some((start, rest)) if same_bytes(start, prefix) => Ok(rest),
            _ => Err(key.cmp(prefix)),
        }
    }

    /// The bytes that a leaf has for its prefix: whole words, and at least the one that `strip` reads.
    fn prefix_room(len: usize) -> usize {
        len.max(1).next_multiple_of(size_of::<u64>())
    }

    // --- reading a leaf

    impl<'g> Leaf<'g> {
        /// The leaf's `state`. Of a leaf that is only remembered, nothing else may be read.
        #[inline]
        fn state(self) -> &'g AtomicU64 {
            // SAFETY: S5, M2. The word is a state whatever has become of the block.
            unsafe { &(*self.head.as_ptr()).state }
        }

        #[inline]
        fn count(self) -> usize {
            self.count.load(Acquire).into()
        }

        /// The words of the block from this byte on.
        #[inline]
        fn words(self, from: usize) -> Words<'g> {
            Words(self.base().wrapping_add(from).cast(), PhantomData)
        }

        /// The slots. Loops ask once: the compiler may not move the question beyond an atomic load.
        #[inline]
        fn slots(self) -> Words<'g> {
            self.words(self.slots.into())
        }

        #[inline]
        fn slot_word(self, at: usize) -> &'g AtomicU64 {
            self.slots().at(at)
        }

        #[inline]
        fn slot(self, at: usize) -> Slot {
            Slot(self.slot_word(at).load(Acquire))
        }

        /// The slot at this word of the block.
        #[inline]
        fn slot_behind(self, words: usize) -> Slot {
            Slot(self.words(0).at(words).load(Acquire))
        }

        #[inline]
        fn prefix(self) -> &'g [u8] {
            // SAFETY: S2. The prefix stands behind the head and never changes.
            unsafe { slice::from_raw_parts(self.base().add(HEAD), self.prefix_len.into()) }
        }

        /// The part of a key that slot and cell hold. If it lacks the leaf's prefix, on which side of all the leaf's keys
        /// it is.
        #[cfg_attr(not(target_feature = "simd128"), inline)]
        #[cfg_attr(target_feature = "simd128", inline(always))]
        fn strip(self, key: &[u8]) -> std::result::Result<Suffix<'_>, Ordering> {
            // SAFETY: S2. Behind the head is at least a word of the prefix.
            let start = unsafe { self.base().add(HEAD).cast::<u64>().read() };
            strip(key, start, self.prefix_len.into(), || self.prefix()).map(Suffix::new)
        }

        #[inline]
        fn cell(self, slot: Slot) -> (&'g [u8], Body<'g>) {
            // SAFETY: S1. The slot's cell is whole and never changes.
            unsafe {
                let cell = self.base().add(slot.cell());
                let code = cell.cast::<u16>().read_unaligned();
                let bytes = cell.add(CELL_HEAD);
                let rest = slot.key_len().saturating_sub(4);
                if code < BLOCK {
                    let value = slice::from_raw_parts(bytes.add(rest), code.into());
                    return (slice::from_raw_parts(bytes, rest), Body::Inline(value));
                }
                if code == PAIR_BLOB {
                    let blob = bytes.cast::<Blob>().read_unaligned();
                    return (&blob.parts().0[usize::from(self.prefix_len) + 4..], Body::Blob(blob));
                }
                let address = bytes.add(rest);
                let value = if code == VALUE_BLOB {
                    Body::Blob(address.cast::<Blob>().read_unaligned())
                } else {
                    Body::Block(
                        address.cast::<NonNull<u8>>().read_unaligned(),
                        BLOCK_HEAD + usize::from(code - BLOCK),
                    )
                };
                (slice::from_raw_parts(bytes, rest), value)
            }
        }

        // --- searching a leaf

        /// The order of keys. The heads of short keys end in zeros, so if all else is equal the length decides.
        fn cmp(self, slot: Slot, key: Suffix<'_>) -> Ordering {
            (slot.head().cmp(&key.head))
                .then_with(|| self.cell(slot).0.cmp(key.rest))
                .then_with(|| slot.key_len().cmp(&key.len))
        }

        #[inline(always)]
        fn is_key(self, slot: Slot, key: Suffix<'_>) -> bool {
            slot.head() == key.head && slot.key_len() == key.len && same_bytes(self.cell(slot).0, key.rest)
        }

        /// The first of `count` slots whose head is at least `head`.
        #[inline(always)]
        fn lower_bound(self, count: usize, head: u32) -> usize {
            if count == 0 {
                return 0;
            }
            let (slots, least) = (self.slots(), u64::from(head) << 32);
            let less = |at| slots.at(at).load(Acquire) < least;
            // No processor can predict which way a step goes, and a mispredicted branch costs more than all the steps. It
            // can predict how many steps there are, if the number is always the same.
            let step = |(at, len)| {
                let half = len / 2;
                (select_unpredictable(less(at + half), at + half, at), len - half)
            };
            let mut part = (0..SEARCH_STEPS).fold((0, count), |part, _| step(part));
            while part.1 > 1 {
                part = step(part);
            }
            part.0 + usize::from(less(part.0))
        }

        /// Finds the slot of `key` among the first `count`.
        #[inline(always)]
        fn seek(self, count: usize, key: Suffix<'_>) -> Found {
            let at = self.lower_bound(count, key.head);
            if at == count {
                return Err(at);
            }
            let slot = self.slot(at);
            if slot.head() != key.head {
                return Err(at);
            }
            if self.is_key(slot, key) {
                return Ok((at, slot));
            }
            self.seek_beyond(at, count, key)
        }

        /// Finds a key among the first `count` slots.
        #[inline(always)]
        fn search(self, count: usize, key: &[u8], from_ends: bool) -> Search<'_> {
            let stripped = self.strip(key);
            let found = match stripped {
                Ok(suffix) if from_ends => self.seek_from_ends(count, suffix),
                Ok(suffix) => self.seek(count, suffix),
                Err(Ordering::Less) => Err(0),
                Err(_) => Err(count),
            };
            let suffix = stripped.unwrap_or_else(|_| Suffix::new(key));
            Search { key, suffix, has_prefix: stripped.is_ok(), found, far: None }
        }

        /// As `seek`, for a key that is most likely behind all others or before them.
        #[inline(always)]
        fn seek_from_ends(self, count: usize, key: Suffix<'_>) -> Found {
            if count > 0 {
                if self.slot(count - 1).head() < key.head {
                    return Err(count);
                }
                if self.slot(0).head() > key.head {
                    return Err(0);
                }
            }
            self.seek(count, key)
        }

        /// As `seek`, from `at` on, for several keys with the same head.
        #[cold]
        fn seek_beyond(self, mut at: usize, mut end: usize, key: Suffix<'_>) -> Found {
            while at < end {
                let middle = usize::midpoint(at, end);
                let slot = self.slot(middle);
                match self.cmp(slot, key) {
                    Ordering::Less => at = middle + 1,
                    Ordering::Equal => return Ok((middle, slot)),
                    Ordering::Greater => end = middle,
                }
            }
            Err(at)
        }

        /// Whether no slot has moved or changed since `state` was loaded. The slots were loaded with `Acquire`.
        #[inline]
        fn is_unchanged(self, state: u64) -> bool {
            state & SHIFTING == 0 && (self.state.load(Acquire) ^ state) & !LOCKED == 0
        }

        /// The slot of a key, for a reader. S3: a miss waits while slots shift.
        #[inline]
        fn find(self, key: &[u8]) -> Option<Slot> {
            let suffix = self.strip(key).ok()?;
            let mut turns = 0;
            loop {
                let state = self.state.load(Acquire);
                if let Ok((_, slot)) = self.seek(self.count(), suffix) {
                    return Some(slot);
                }
                if self.is_unchanged(state) {
                    return None;
                }
                wait(&mut turns);
            }
        }

        /// Prefetches the cell that a look-up of a key will read. It reads the slots, so they should be in the cache already.
        #[inline]
        fn prefetch_cell(self, key: &[u8]) {
            let Ok(suffix) = self.strip(key) else { return };
            let count = self.count();
            let at = self.lower_bound(count, suffix.head);
            if at < count {
                let cell = self.base().wrapping_add(self.slot(at).cell());
                prefetch_batch(cell);
                prefetch_batch(cell.wrapping_add(32));
            }
        }

        /// Prefetches the place of the next cell.
        #[inline]
        fn prefetch_floor(self) {
            prefetch(self.base().wrapping_add(usize::from(self.floor.load(Relaxed)).wrapping_sub(32)));
        }

        // --- changing a leaf that is locked

        /// Bytes between the slots and the cells.
        fn room(self) -> usize {
            let slots = usize::from(self.most.load(Relaxed)) * SLOT;
            usize::from(self.floor.load(Relaxed)) - usize::from(self.slots) - slots
        }

        /// All bytes that are not between slots and cells.
        fn used(self) -> usize {
            usize::from(self.size) - self.room()
        }

        /// The bytes that another slot takes from the room.
        fn slot_room(self) -> usize {
            if self.count.load(Relaxed) < self.most.load(Relaxed) { 0 } else { SLOT }
        }

        /// Takes room for a cell below the others. The caller has checked that there is enough.
        fn take_cell(self, bytes: usize) -> usize {
            let at = usize::from(self.floor.load(Relaxed)) - bytes;
            self.floor.store(at as u16, Relaxed);
            at
        }

        #[inline]
        fn add_cell(self, cell: NewCell<'_>) -> usize {
            let at = self.take_cell(cell.len());
            // SAFETY: S1. There is room between the slots and the floor, where no reader is yet.
            unsafe { cell.write(self.base().add(at)) };
            at
        }

        /// Adds a slot before the one at `at`. There is room for it. If others know the leaf, then `at` is its end, or
        /// `state` says that slots shift.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn put(self, at: usize, slot: Slot) {
            let (count, slots) = (self.count(), self.slots());
            (at..count).rev().for_each(|at| slots.at(at + 1).store(slots.at(at).load(Relaxed), Release));
            self.slot_word(at).store(slot.0, Release);
            self.most.store(self.most.load(Relaxed).max(count as u16 + 1), Relaxed);
            self.count.store(count as u16 + 1, Release);
        }

        /// Removes a slot, while `state` says that slots shift.
        fn remove(self, at: usize) {
            let (count, slots) = (self.count(), self.slots());
            (at + 1..count).for_each(|at| slots.at(at - 1).store(slots.at(at).load(Relaxed), Release));
            self.count.store(count as u16 - 1, Release);
        }

        fn cell_len(self, slot: Slot) -> usize {
            // SAFETY: S1. The slot's cell is whole, and begins with the code.
            let code = unsafe { self.base().add(slot.cell()).cast::<u16>().read_unaligned() };
            cell_len(code, slot.key_len())
        }

        /// Whether the pairs of these slots came one after the other, and after all others.
        fn came_in_order(self, slots: impl DoubleEndedIterator<Item = usize>) -> bool {
            let mut floor = self.floor.load(Relaxed).into();
            slots.rev().map(|at| self.slot(at)).all(|slot| {
                let is_next = slot.cell() == floor;
                if is_next {
                    floor += self.cell_len(slot);
                }
                is_next
            })
        }

        fn add_garbage(self, bytes: usize) {
            self.garbage.store(self.garbage.load(Relaxed) + bytes as u16, Relaxed);
        }

        fn out_of_line(self) -> impl Iterator<Item = Retired> {
            (0..self.count()).filter_map(move |at| self.cell(self.slot(at)).1.out_of_line())
        }

        /// All pairs, to be copied into another leaf. The caller has the lock, and changes no slot meanwhile.
        fn run(self) -> Run<'g> {
            // SAFETY: S1, S2. Only the lock's holder stores slots.
            let slots: &[Slot] = unsafe { slice::from_raw_parts(self.slots().0.cast(), self.count()) };
            let free = self.floor.load(Relaxed) + self.garbage.load(Relaxed);
            let bytes = usize::from(self.size - free) + size_of_val(slots);
            Run { prefix: self.prefix(), slots, base: self.base(), bytes }
        }

        /// Copies pairs behind the others. The prefix of their run may be shorter. Nobody else knows the leaf, and it has room.
        fn append(self, run: Run<'_>) {
            let same_prefix = run.prefix.len() == usize::from(self.prefix_len);
            let (count, slots) = (self.count(), self.slots());
            self.most.store((count + run.slots.len()) as u16, Relaxed);
            self.count.store((count + run.slots.len()) as u16, Relaxed);
            // From this byte on, a copy may write more than it has to.
            let free = usize::from(self.floor.load(Relaxed)) - self.room() + OVER;
            for (at, pair) in run.pairs().enumerate() {
                let slot = if same_prefix { pair.copy(self, free) } else { pair.write(self) };
                slots.at(count + at).store(slot.0, Relaxed);
            }
        }

        /// Waits for the lock. `None` if the leaf was replaced.
        #[inline]
        fn lock(self) -> Option<LockedLeaf<'g>> {
            LockedNode::wait(self, self.state())
        }

        #[inline]
        fn try_lock(self) -> Option<LockedLeaf<'g>> {
            LockedNode::try_new(self, self.state())
        }
    }

    // --- the lock of a node

    /// The lock of a node or of the root, and the state that the node gets when it is given up.
    struct LockedNode<'l, N = ()> {
        node: N,
        state: &'l AtomicU64,
        next: u64,
    }

    type LockedLeaf<'l> = LockedNode<'l, Leaf<'l>>;

    impl<'l, N: Copy> LockedNode<'l, N> {
        /// Waits for the lock. `None` if the node was replaced.
        #[inline]
        fn wait(node: N, state: &'l AtomicU64) -> Option<Self> {
            let mut turns = 0;
            loop {
                let locked = Self::try_new(node, state);
                if locked.is_some() {
                    return locked;
                }
                if state.load(Relaxed) & REPLACED != 0 {
                    // Whoever has seen this also sees what replaced the node.
                    sync::atomic::fence(Acquire);
                    return None;
                }
                wait(&mut turns);
            }
        }

        #[inline]
        fn try_new(node: N, state: &'l AtomicU64) -> Option<Self> {
            let next = state.load(Relaxed);
            if next & (LOCKED | REPLACED) != 0 {
                return None;
            }
            // It is made only if the lock was won, since dropping it gives the lock up.
            Self::if_unchanged(node, state, next)
        }

        /// The lock of a node, if its state is still `next`.
        #[inline]
        fn if_unchanged(node: N, state: &'l AtomicU64, next: u64) -> Option<Self> {
            let locked = state.compare_exchange(next, next | LOCKED, Acquire, Relaxed);
            locked.is_ok().then(|| Self { node, state, next })
        }

        fn mark_changed(&mut self) {
            self.next += CHANGED;
        }

        /// Tells readers that slots shift from now on. The slots are then stored with `Release`.
        fn begin_shift(&mut self) {
            self.mark_changed();
            self.state.store(self.next | LOCKED | SHIFTING, Relaxed);
        }

        /// Tells readers that the slots have shifted.
        fn end_shift(&self) {
            self.state.store(self.next | LOCKED, Release);
        }

        fn mark_replaced(&mut self) {
            self.mark_changed();
            self.next |= REPLACED;
        }

        fn is_replaced(&self) -> bool {
            self.next & REPLACED != 0
        }
    }

    impl<N> Drop for LockedNode<'_, N> {
        #[inline]
        fn drop(&mut self) {
            self.state.store(self.next, Release);
        }
    }

    // --- inner nodes

    /// The head of an inner node. In the same block follow, for `count` separators: the state, `count + 1` children, where each
    /// separator ends, their common prefix, and their bytes after it.
    ///
    /// Child `n` leads to the keys from separator `n - 1` on that are less than separator `n`.
    #[repr(C)]
    struct InnerHead {
        /// S5. Inner nodes do not use it as their state: a writer that locks one would take its first cache line away from
        /// all who search in it.
        first: AtomicU64,
        size: u32,
        count: u16,
        prefix_len: u16,
        born: u64,
        /// The first bytes of the prefix.
        start: u64,
        /// The last head of each row but one.
        lasts: [i32; ROWS - 1],
        /// The first 4 bytes of each separator after the prefix, as numbers. At least one of them is not used. Those are
        /// `i32::MAX`.
        heads: [Row; ROWS],
    }

    /// Heads that are compared at once.
    #[repr(C, align(64))]
    #[derive(Clone, Copy)]
    struct Row([i32; ROW]);

    const CHILDREN: usize = size_of::<InnerHead>() + size_of::<AtomicU64>();
    const ROWS: usize = 5;
    /// The lines of a node that a search may read.
    const PREFETCH_LINES: usize = 13;

    const _: () = assert!(FANOUT < ROW * ROWS);

    /// The head of a separator as a signed number in the same order, since SSE2 compares signed numbers.
    #[inline(always)]
    fn signed_head(bytes: &[u8]) -> i32 {
        (head4(bytes) ^ 1 << 31).cast_signed()
    }

    /// Where the ends begin in an inner node with so many separators, and where the bytes begin. The prefix is the first of
    /// the bytes.
    fn inner_parts(count: usize) -> (usize, usize) {
        let ends = CHILDREN + size_of::<AtomicPtr<u8>>() * (count + 1);
        (ends, ends + size_of::<u32>() * count)
    }

    impl<'g> Inner<'g> {
        #[inline]
        fn state(self) -> &'g AtomicU64 {
            // SAFETY: S4. It stands behind the head.
            unsafe { self.head.add(1).cast().as_ref() }
        }

        #[inline]
        fn count(self) -> usize {
            self.count.into()
        }

        #[inline]
        fn child(self, at: usize) -> &'g AtomicPtr<u8> {
            debug_assert!(at <= self.count());
            // SAFETY: S4. `count + 1` children stand behind the state.
            unsafe { &*self.base().add(CHILDREN).cast::<AtomicPtr<u8>>().add(at) }
        }

        fn prefix(self) -> &'g [u8] {
            // SAFETY: S4. The bytes begin with the prefix.
            unsafe {
                slice::from_raw_parts(self.base().add(inner_parts(self.count()).1), self.prefix_len.into())
            }
        }

        fn rest(self, at: usize) -> &'g [u8] {
            let (ends, bytes) = inner_parts(self.count());
            // SAFETY: S4. `count` ends stand behind the children, and behind them the bytes up to the last end.
            unsafe {
                let ends = self.base().add(ends).cast::<u32>();
                let start = if at == 0 { self.prefix_len.into() } else { *ends.add(at - 1) as usize };
                slice::from_raw_parts(self.base().add(bytes + start), *ends.add(at) as usize - start)
            }
        }

        /// A separator in two parts: the prefix and the rest.
        fn separator(self, at: usize) -> [&'g [u8]; 2] {
            [self.prefix(), self.rest(at)]
        }

        fn rests(self) -> Vec<&'g [u8]> {
            (0..self.count()).map(|at| self.rest(at)).collect()
        }

        fn children(self) -> Vec<Child<'g>> {
            (0..=self.count()).map(|at| Child::of(self.child(at))).collect()
        }

        /// How many separators are less than `key`. With `or_equal` it also counts one that is equal.
        #[cfg_attr(any(not(target_family = "wasm"), target_feature = "simd128"), inline(always))]
        fn child_of(self, key: &[u8], or_equal: bool) -> usize {
            let key = match strip(key, self.start, self.prefix_len.into(), || self.prefix()) {
                Ok(rest) => rest,
                Err(Ordering::Less) => return 0,
                Err(_) => return self.count(),
            };
            let head = signed_head(key);
            // It finds the row, then compares all heads of the row at once. There is no branch to predict, and no step
            // waits for another.
            let row = self.lasts.iter().map(|&last| u32::from(last < head)).sum::<u32>() as usize;
            let at = row * ROW + less_in_row(&self.heads[row].0, head);
            // SAFETY: S4. Not all heads are less, as the last of them is `i32::MAX`.
            let found = unsafe { self.heads.as_ptr().cast::<i32>().add(at).read() };
            if found == head { self.child_among(at, key, or_equal) } else { at }
        }

        /// As `child_of`, from `at` on, if separators have the key's head. `key` is the part after the prefix.
        #[cold]
        fn child_among(self, mut at: usize, key: &[u8], or_equal: bool) -> usize {
            let mut end = self.count();
            while at < end {
                let middle = usize::midpoint(at, end);
                let order = self.rest(middle).cmp(key);
                if order.is_lt() || or_equal && order.is_eq() { at = middle + 1 } else { end = middle }
            }
            at
        }
    }

    // --- children

    /// A pointer to a node, which stays for `'g`: to a leaf, or with the lowest bit set to an inner node.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Child<'g>(*mut u8, PhantomData<&'g u8>);

    enum Node<'g> {
        Leaf(Leaf<'g>),
        Inner(Inner<'g>),
    }

    impl<'g> Child<'g> {
        #[inline]
        fn of(word: &'g AtomicPtr<u8>) -> Self {
            Self(word.load(Acquire), PhantomData)
        }

        fn of_leaf(leaf: Leaf<'g>) -> Self {
            Self(leaf.base(), PhantomData)
        }

        fn of_inner(inner: Inner<'g>) -> Self {
            Self(inner.base().map_addr(|address| address | 1), PhantomData)
        }

        /// The node. Only the root's word may be null. The callers check that.
        #[inline]
        fn node(self) -> Node<'g> {
            let block = self.0.map_addr(|address| address & !1);
            // SAFETY: S4. A child is not null.
            let block = unsafe { NonNull::new_unchecked(block) };
            if block.as_ptr() == self.0 {
                Node::Leaf(Leaf::new(block))
            } else {
                Node::Inner(Inner::new(block))
            }
        }

        fn retired(self) -> Retired {
            match self.node() {
                Node::Leaf(leaf) => Retired::Block(leaf.head.cast(), leaf.size.into()),
                Node::Inner(inner) => Retired::Block(inner.head.cast(), inner.size as usize),
            }
        }

        /// Shows `each` every leaf below. Some may have been replaced meanwhile.
        fn each_leaf(self, each: &mut impl FnMut(Leaf<'g>)) {
            match self.node() {
                Node::Leaf(leaf) => each(leaf),
                Node::Inner(inner) => inner.children().into_iter().for_each(|child| child.each_leaf(each)),
            }
        }

        /// Prefetches the lines of a node that a search will read.
        #[inline(always)]
        fn prefetch(self) {
            for line in 0..PREFETCH_LINES {
                prefetch_batch(self.0.wrapping_add(64 * line));
            }
        }
    }

    // --- the index

    /// So many keys of a batch go down the tree together.
    pub(super) const KEYS_AT_ONCE: usize = 16;

    pub(super) struct SortedIndex {
        /// Its number among all indexes, from 1 on. A cursor remembers the number, so it does not have to keep the index.
        number: u64,
        /// Null before the first pair.
        root: AtomicPtr<u8>,
        len: Counter,
        /// The lock of the root, as `state` is of a node: S4.
        top: AtomicU64,
        pub(super) heap: Heap,
        /// Whether a leaf has become empty. Then the whole table may be.
        pub(super) emptied: AtomicBool,
        past: Past<Self>,
    }

    /// The separator at a side of a leaf: its node, and its number there. The first leaf has none at its lower side, the
    /// last leaf none at its upper side.
    type Edge<'g> = Option<(Inner<'g>, usize)>;

    /// The second of two nodes that replace one, and the separator before it.
    type Sibling<'g> = (Vec<u8>, Child<'g>);

    /// The word that leads to a node, locked, so that it can be changed. It is the root, or a child of an inner node, with
    /// its number there.
    struct Link<'g> {
        locked: LockedNode<'g>,
        parent: Option<(Inner<'g>, usize)>,
        place: &'g AtomicPtr<u8>,
    }

    impl SortedIndex {
        pub(super) fn new(memory: Arc<Memory>) -> Self {
            static LAST: AtomicU64 = AtomicU64::new(0);
            Self {
                number: LAST.fetch_add(1, Relaxed) + 1,
                root: AtomicPtr::new(ptr::null_mut()),
                len: Counter::default(),
                top: AtomicU64::new(0),
                past: Past::new(&memory),
                heap: Heap::new(memory),
                emptied: AtomicBool::new(false),
            }
        }

        /// Another one, without pairs.
        pub(super) fn anew(&self) -> Self {
            Self::new(Arc::clone(&self.heap.memory))
        }

        pub(super) fn len(&self) -> usize {
            self.len.get()
        }

        // --- reading; callers are pinned

        /// Goes down the tree by the children that `choose` names. Returns the leaf.
        #[inline(always)]
        fn descend<'g>(
            root: &'g AtomicPtr<u8>,
            mut choose: impl FnMut(Inner<'g>) -> usize,
        ) -> Option<Leaf<'g>> {
            let mut at = Child::of(root);
            if at.0.is_null() {
                return None;
            }
            loop {
                match at.node() {
                    Node::Leaf(leaf) => return Some(leaf),
                    Node::Inner(inner) => {
                        at = Child::of(inner.child(choose(inner)));
                        at.prefetch();
                    }
                }
            }
        }

        #[inline(never)]
        fn leaf(&self, key: &[u8]) -> Option<Leaf<'_>> {
            Self::descend(&self.root, |inner| inner.child_of(key, true))
        }

        /// The value of `key`. It lives as long as the pin.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        #[cfg_attr(target_family = "wasm", inline(never))]
        pub(super) fn get(&self, key: &[u8]) -> Option<Body<'_>> {
            let leaf = self.leaf(key)?;
            Some(leaf.cell(leaf.find(key)?).1)
        }

        /// Shows `read` each key's value. The keys of a group go down the tree together, so that their cache misses overlap.
        pub(super) fn get_many<K: AsRef<[u8]>>(
            &self,
            keys: &[K],
            mut read: impl FnMut(usize, Option<&[u8]>),
        ) {
            for (group, keys) in keys.chunks(KEYS_AT_ONCE).enumerate() {
                let leaves = self.leaves_and_cells(keys);
                for (at, (leaf, key)) in leaves.into_iter().zip(keys).enumerate() {
                    let found = leaf.and_then(|leaf| Some(leaf.cell(leaf.find(key.as_ref())?).1));
                    read(group * KEYS_AT_ONCE + at, found.map(Body::bytes));
                }
            }
        }

        /// The leaf of each key of a group. Prefetches the key's cell in it.
        fn leaves_and_cells<K: AsRef<[u8]>>(&self, keys: &[K]) -> [Option<Leaf<'_>>; KEYS_AT_ONCE] {
            let leaves = self.leaves(&keys.iter().map(AsRef::as_ref));
            for (leaf, key) in leaves.iter().zip(keys) {
                if let Some(leaf) = leaf {
                    leaf.prefetch_cell(key.as_ref());
                }
            }
            leaves
        }

        /// The leaf of each key of a group.
        fn leaves<'k>(
            &self,
            keys: &(impl Iterator<Item = &'k [u8]> + Clone),
        ) -> [Option<Leaf<'_>>; KEYS_AT_ONCE] {
            let mut nodes = [Child::of(&self.root); KEYS_AT_ONCE];
            let mut inner_left = !nodes[0].0.is_null();
            while inner_left {
                inner_left = false;
                for (node, key) in nodes.iter_mut().zip(keys.clone()) {
                    if let Node::Inner(inner) = node.node() {
                        *node = Child::of(inner.child(inner.child_of(key, true)));
                        node.prefetch();
                        inner_left = true;
                    }
                }
            }
            nodes.map(|node| NonNull::new(node.0).map(Leaf::new))
        }

        /// The leaf where a scan from `from` begins, and the separator at its far side.
        fn leaf_at(&self, from: Bound<&[u8]>, down: bool) -> Option<(Leaf<'_>, Edge<'_>)> {
            let mut edge = None;
            let leaf = Self::descend(&self.root, |inner| {
                let child = match from {
                    Bound::Unbounded if down => inner.count(),
                    Bound::Unbounded => 0,
                    Bound::Excluded(key) if down => inner.child_of(key, false),
                    Bound::Included(key) | Bound::Excluded(key) => inner.child_of(key, true),
                };
                let at = if down { child.wrapping_sub(1) } else { child };
                if at < inner.count() {
                    edge = Some((inner, at));
                }
                child
            })?;
            Some((leaf, edge))
        }

        /// Prefetches what the next writes of these keys will need.
        pub(super) fn prefetch(&self, keys: &[&[u8]]) {
            for keys in keys.chunks(KEYS_AT_ONCE) {
                let _leaves = self.leaves_and_cells(keys);
            }
        }

        // --- writing; callers are pinned

        /// As the hash index's `change`.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        pub(super) fn change<V: AsRef<[u8]>>(
            &self,
            key: &[u8],
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Attempt {
            let hints = if SMALL { None } else { Hints::own() };
            if let Some(hints) = hints
                && hints.misses_left.get() > 0
                && let Some(changed) = self.change_hinted(hints, key, decide)
            {
                return changed.into();
            }
            let Some(leaf) = self.leaf(key) else { return after_growth(self.start(), decide) };
            leaf.prefetch_floor();
            self.change_at(leaf, hints, key, decide)
        }

        /// As `change`, in the key's leaf.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn change_at<V: AsRef<[u8]>>(
            &self,
            leaf: Leaf<'_>,
            hints: Option<&Hints>,
            key: &[u8],
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Attempt {
            let Some(mut locked) = leaf.lock() else { return Attempt::Retry };
            if self.is_old(leaf.born)
                && let Err(refused) = self.copy_leaf(&mut locked, key)
            {
                return Attempt::Failed(refused);
            }
            let leaf = locked.node;
            let search = leaf.search(leaf.count(), key, false);
            let changed = self.change_in(&mut locked, search, decide);
            if let (Some(hints), Err(at)) = (hints, search.found)
                && (at == 0 || at + 1 >= leaf.count())
            {
                self.remember_leaf(hints, &locked, key);
            }
            drop(locked);
            self.heap.maintain_if_due();
            changed.into()
        }

        /// Writes each pair of a group that `wants` accepts, and adds to `took` whether it did. The keys go down the tree
        /// together. It may stop at any pair. `change` can then write that one.
        pub(super) fn write_group(
            &self,
            pairs: &[KeyValue<'_>],
            took: &mut Vec<bool>,
            may_write: impl Fn() -> bool,
            wants: &mut impl FnMut(usize, Option<&[u8]>) -> bool,
        ) {
            let leaves = self.leaves(&pairs.iter().map(|&(key, _)| key));
            leaves.iter().zip(pairs).filter_map(|(leaf, _)| *leaf).for_each(Leaf::prefetch_floor);
            for (at, (leaf, &(key, value))) in leaves.into_iter().zip(pairs).enumerate() {
                let Some(leaf) = leaf.filter(|_| may_write()) else { return };
                let decide = &mut |old: Option<&[u8]>| Ok(set_if(wants(at, old), value));
                // S2: until it is replaced, it is the key's leaf.
                let Attempt::Done(changed) = self.change_at(leaf, None, key, decide) else { return };
                took.push(changed);
            }
        }

        /// As `write_group`, for keys in ascending order. It locks each leaf once for all its pairs. It also stops if a
        /// leaf gets few of them.
        pub(super) fn write_run(
            &self,
            pairs: &[KeyValue<'_>],
            took: &mut Vec<bool>,
            may_write: impl Fn() -> bool,
            wants: &mut impl FnMut(usize, Option<&[u8]>) -> bool,
        ) {
            let mut rest = pairs;
            while let Some(&(first, _)) = rest.first()
                && let Some((leaf, edge)) = self.leaf_at(Bound::Included(first), false)
                && let edge = edge.map(|(inner, at)| inner.separator(at).concat())
                && let here = rest.partition_point(|&(key, _)| edge.as_deref().is_none_or(|edge| key < edge))
                && here >= rest.len().min(FEW_OF_RUN)
                && let Some(mut locked) = leaf.lock()
                && may_write()
            {
                if self.is_old(leaf.born) && self.copy_leaf(&mut locked, first).is_err() {
                    return;
                }
                let (leaf, mut done) = (locked.node, 0);
                for (at, &(key, value)) in rest[..here].iter().enumerate() {
                    let mut search = leaf.search(leaf.count(), key, true);
                    let far = (at + leaf.count()).min(here - 1);
                    search.far = (far >= at + IN_ORDER).then(|| rest[far].0);
                    let number = pairs.len() - rest.len() + at;
                    let decide = &mut |old: Option<&[u8]>| Ok(set_if(wants(number, old), value));
                    let Ok(changed) = self.change_in(&mut locked, search, decide) else { return };
                    took.push(changed);
                    done += 1;
                    if locked.is_replaced() {
                        break;
                    }
                }
                drop(locked);
                rest = &rest[done..];
                self.heap.maintain_if_due();
            }
        }

        // --- setting and deleting a pair

        /// As `change`, in a leaf that is locked.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn change_in<V: AsRef<[u8]>>(
            &self,
            locked: &mut LockedLeaf<'_>,
            search: Search<'_>,
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Boxed<bool> {
            let Search { key, found, .. } = search;
            let old = found.ok().map(|(_, slot)| locked.node.cell(slot).1);
            match decide(old.map(Body::bytes))? {
                Change::Keep => return Ok(false),
                Change::Set(value) => {
                    let value = value.as_ref();
                    let code = length_code(key.len(), value.len());
                    if code < BLOCK {
                        self.set(locked, search, code, value)?;
                    } else {
                        self.set_out_of_line(locked, search, code, value)?;
                    }
                }
                Change::Delete => {
                    let Ok((at, slot)) = found else { return Ok(false) };
                    self.delete(locked, key, at, slot);
                }
            }
            // S6.
            if let Some(retired) = old.and_then(Body::out_of_line) {
                self.retire_value(key, retired);
            }
            Ok(true)
        }

        /// Gives the key a new value, in this leaf if it has room, else in a new leaf. `tail` is the value, or the address
        /// that `code` stands for.
        #[cfg_attr(not(target_family = "wasm"), inline(always))]
        fn set(&self, locked: &mut LockedLeaf<'_>, search: Search<'_>, code: u16, tail: &[u8]) -> Boxed<()> {
            let leaf = locked.node;
            // A closure, so that the cell is made where it is needed. A cell that is passed by address would always be
            // written to memory.
            let cell = || NewCell::new(code, search.suffix, tail);
            let (slot, bytes) = (search.suffix.slot(), cell().len());
            // A key without the leaf's prefix never fits into it.
            let room = if search.has_prefix { leaf.room() } else { 0 };
            // A pair is counted before it can be found.
            if search.found.is_err() {
                self.len.add(1);
            }
            match search.found {
                Ok((at, old)) if bytes <= room => {
                    leaf.slot_word(at).store(slot.with_cell(leaf.add_cell(cell())).0, Release);
                    leaf.add_garbage(leaf.cell_len(old));
                    locked.mark_changed();
                }
                Err(at) if bytes + leaf.slot_room() <= room => {
                    let slot = slot.with_cell(leaf.add_cell(cell()));
                    // Until the lock is given up.
                    if at < leaf.count() {
                        locked.begin_shift();
                    } else {
                        locked.mark_changed();
                    }
                    leaf.put(at, slot);
                }
                found => {
                    return self.replace_full(locked, search, cell()).inspect_err(|_| {
                        self.len.add(if found.is_err() { -1 } else { 0 });
                    });
                }
            }
            Ok(())
        }

        /// As `set`, for a value that does not fit into a cell.
        #[cold]
        fn set_out_of_line(
            &self,
            locked: &mut LockedLeaf<'_>,
            search: Search<'_>,
            code: u16,
            value: &[u8],
        ) -> Boxed<()> {
            let made = self.new_value(code, search.key, value)?;
            let done = self.set(locked, search, code, bytes_of(&made.address()));
            done.inspect_err(|_| self.discard([made]))
        }

        /// Removes a slot. If that leaves much garbage, the leaf is replaced.
        fn delete(&self, locked: &mut LockedLeaf<'_>, key: &[u8], at: usize, slot: Slot) {
            self.remove(locked, at, slot);
            self.shrink_if_worth(locked, key);
        }

        fn remove(&self, locked: &mut LockedLeaf<'_>, at: usize, slot: Slot) {
            let leaf = locked.node;
            locked.begin_shift();
            leaf.remove(at);
            locked.end_shift();
            leaf.add_garbage(leaf.cell_len(slot));
            self.len.add(-1);
            if leaf.count() == 0 {
                self.emptied.store(true, Relaxed);
            }
        }

        fn shrink_if_worth(&self, locked: &mut LockedLeaf<'_>, key: &[u8]) {
            let leaf = locked.node;
            let parts = if usize::from(leaf.size) > SMALL_LEAF { 4 } else { 2 };
            if leaf.count() == 0 || leaf.garbage.load(Relaxed) > leaf.size / parts {
                self.shrink(locked, key);
            }
        }

        // --- writing keys in order: the hints of a thread

        /// As `change`, if the thread remembers the leaf.
        #[inline(never)]
        fn change_hinted<V: AsRef<[u8]>>(
            &self,
            hints: &Hints,
            key: &[u8],
            decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
        ) -> Option<Boxed<bool>> {
            let (hint, suffix) = hints.find(self.number, key)?;
            let Some(block) = NonNull::new(hint.leaf.get()) else {
                hints.is_replaced.set(true);
                return None;
            };
            // S5: whatever became of the leaf, the first word of its block is still a state.
            let leaf = Leaf::new(block);
            let Some(mut locked) = LockedNode::if_unchanged(leaf, leaf.state(), hint.state.get()) else {
                hint.heads.set(NO_HEADS);
                return None;
            };
            if self.is_old(leaf.born) {
                hint.heads.set(NO_HEADS);
                return None;
            }
            let found = leaf.seek_from_ends(leaf.count(), suffix);
            let search = Search { key, suffix, has_prefix: true, found, far: None };
            let changed = self.change_in(&mut locked, search, decide);
            // The closure may have written to another table, and so have changed the hint.
            if hint.leaf.get() == leaf.base() && hint.index.get() == self.number {
                hint.state.set(locked.next);
                if locked.is_replaced() {
                    hint.leaf.set(ptr::null_mut());
                }
            }
            drop(locked);
            self.heap.maintain_if_due();
            Some(changed)
        }

        /// Remembers the leaf after a write has put a pair at one of its ends. The first such pair of a leaf only leaves a
        /// mark. The second one, or the first in a leaf that replaced a remembered one, makes a hint.
        #[cold]
        #[inline(never)]
        fn remember_leaf(&self, hints: &Hints, locked: &LockedLeaf<'_>, key: &[u8]) {
            let leaf = locked.node;
            let prefix = leaf.prefix();
            if prefix.len() > HINTED_PREFIX || locked.is_replaced() {
                return;
            }
            let is_of = |hint: &&Hint| hint.leaf.get() == leaf.base() && hint.index.get() == self.number;
            let hint = if hints.is_replaced.take() {
                &hints.all[hints.last.get()]
            } else if let Some(hint) = hints.all.iter().find(is_of) {
                // Others write to this leaf too. It is not worth another search for its separators.
                if hint.state.get() != ONE_PAIR {
                    return;
                }
                hint
            } else {
                hints.oldest().set(self.number, leaf.base(), ONE_PAIR);
                return;
            };
            hint.set(self.number, leaf.base(), locked.next);
            let (mut low, mut high) = (None, None);
            Self::descend(&self.root, |inner| {
                let child = inner.child_of(key, true);
                low = child.checked_sub(1).map(|at| (inner, at)).or(low);
                high = if child < inner.count() { Some((inner, child)) } else { high };
                child
            });
            // A separator that lacks the leaf's prefix is beyond all keys that have it.
            let fence = |edge: Edge<'_>| {
                let (inner, at) = edge?;
                inner.separator(at).concat().strip_prefix(prefix).map(head4)
            };
            // A key with the same head as the separator may be on either side.
            let low = fence(low).map_or(Some(0), |head| head.checked_add(1));
            let high = fence(high).map_or(Some(u32::MAX), |head| head.checked_sub(1));
            if let (Some(low), Some(high)) = (low, high) {
                let mut start = [0; HINTED_PREFIX];
                start[..prefix.len()].copy_from_slice(prefix);
                hint.prefix.set((start, prefix.len()));
                hint.heads.set((low, high));
                hints.misses_left.set(MISSES);
            }
        }

        // --- replacing leaves

        /// Replaces a leaf that has no room for a pair by one leaf, or two, with the pair. There are four ways. The first that
        /// applies is taken:
        ///
        /// 1. `enlarge`: the leaf may become larger. All cells go into a larger leaf in one copy.
        /// 2. `extend`: keys come in order beyond an end of the leaf. It stays full, and the key begins a leaf of its own.
        /// 3. `part`: keys come in order within the leaf. It is split at their place.
        /// 4. `rebuild`: the pairs are copied one by one, without garbage, into one leaf or two halves.
        ///
        /// Only the last one works in a leaf with much garbage or too long a prefix, replaces a value, and saves memory.
        #[inline(never)]
        fn replace_full(
            &self,
            locked: &mut LockedLeaf<'_>,
            search: Search<'_>,
            cell: NewCell<'_>,
        ) -> Boxed<()> {
            let leaf = locked.node;
            let (slot, prefix) = (search.suffix.slot(), if search.has_prefix { leaf.prefix() } else { &[] });
            let mut buffer = MaybeUninit::<[u8; OVER + MAX_CELL]>::uninit();
            let base = buffer.as_mut_ptr().cast::<u8>();
            // SAFETY: R1. The buffer has room for any cell.
            unsafe { cell.write(base.add(OVER)) };
            let new = Run { prefix, slots: &[slot.with_cell(OVER)], base, bytes: SLOT + cell.len() };
            let used = leaf.used() + new.bytes;
            let garbage = usize::from(leaf.garbage.load(Relaxed));
            let is_clean = garbage <= used / 16 && prefix.len() == usize::from(leaf.prefix_len);
            if let (Err(at), true) = (search.found, is_clean && used > SMALL_LEAF && self.may_grow().is_ok())
            {
                let (count, most) = (leaf.count(), largest(leaf.count() + 1));
                let after = at >= IN_ORDER && leaf.came_in_order(at - IN_ORDER..at);
                let before = at + IN_ORDER <= count && leaf.came_in_order((at..at + IN_ORDER).rev());
                let size = self.grown_size(leaf, used);
                if size <= most {
                    // If keys come in order, the leaf gets room for those to come.
                    let size = if after || before { size.max(most.min(2 * used)) } else { size };
                    return self.enlarge(locked, search.key, (at, slot), cell, size);
                }
                if (after || before) && (at == count || at == 0) {
                    return self.extend(locked, search, at, new);
                }
                if !SMALL && (after || before) {
                    return self.part(locked, search.key, (at, after), new);
                }
            }
            let (at, replaced) = search.found.map_or_else(|at| (at, 0), |(at, _)| (at, 1));
            let (low, rest) = leaf.run().split(at);
            self.rebuild(locked, search.key, &[low, new, rest.split(replaced).1])
        }

        /// Way 1 of `replace_full`.
        fn enlarge(
            &self,
            locked: &mut LockedLeaf<'_>,
            key: &[u8],
            (at, slot): (usize, Slot),
            cell: NewCell<'_>,
            size: usize,
        ) -> Boxed<()> {
            let larger = self.resized(locked.node, size)?;
            larger.put(at, slot.with_cell(larger.add_cell(cell)));
            self.replace(locked, key, larger, None)
        }

        /// Way 2 of `replace_full`.
        fn extend(
            &self,
            locked: &mut LockedLeaf<'_>,
            search: Search<'_>,
            at: usize,
            new: Run<'_>,
        ) -> Boxed<()> {
            let (leaf, key) = (locked.node, search.key);
            // The next keys will most likely share with this one what it shares with a key a quarter of a leaf away. The last
            // 4 bytes are left out: they will change, and a slot has room for them anyway.
            let mut room = KEY_ROOM;
            let near = leaf.run().pair(at.saturating_sub(1).abs_diff(leaf.count() / 4)).key(&mut room);
            let shared = common(key, search.far.unwrap_or(near));
            let prefix_len = shared.min(key.len().saturating_sub(4)).min(MAX_PREFIX);
            let size = if search.far.is_some() { largest(LEAF / new.bytes) } else { SMALL_LEAF };
            let fresh = self.new_leaf(&[new], prefix_len, size)?;
            // The old leaf is copied too. So a thread that waits for its lock finds out that it now ends where the new one begins.
            let same = self.resized(leaf, leaf.used()).inspect_err(|_| self.discard_leaf(fresh))?;
            let (low, high) = if at > 0 { (same, fresh) } else { (fresh, same) };
            self.replace(locked, key, low, Some((separator(low, high), high)))
        }

        /// Way 3 of `replace_full`. The keys that came in order, before `at` or from there on, get the new one.
        fn part(
            &self,
            locked: &mut LockedLeaf<'_>,
            key: &[u8],
            (at, after): (usize, bool),
            new: Run<'_>,
        ) -> Boxed<()> {
            let (low, high) = locked.node.run().split(at);
            let [low, high] = if after { [&[low, new], &[high][..]] } else { [&[low][..], &[new, high]] };
            self.replace_by_two(locked, key, low, high)
        }

        /// A copy of a leaf with more room, or less.
        fn resized(&self, leaf: Leaf<'_>, size: usize) -> Boxed<Leaf<'_>> {
            let fresh = self.empty_leaf(leaf.prefix(), size)?;
            let slots = leaf.run().slots;
            let floor = usize::from(leaf.floor.load(Relaxed));
            let cells = usize::from(leaf.size) - floor;
            let further = u64::from(fresh.size).wrapping_sub(leaf.size.into());
            // SAFETY: S1, M1. All cells go from the end of one block to the end of another, which has room for them and is ours.
            unsafe {
                let to = fresh.base().add(fresh.take_cell(cells));
                to.copy_from_nonoverlapping(leaf.base().add(floor), cells);
            }
            let to = fresh.slots();
            for (at, slot) in slots.iter().enumerate() {
                to.at(at).store(slot.0.wrapping_add(further), Relaxed);
            }
            fresh.garbage.store(leaf.garbage.load(Relaxed), Relaxed);
            fresh.most.store(slots.len() as u16, Relaxed);
            fresh.count.store(slots.len() as u16, Relaxed);
            Ok(fresh)
        }

        fn may_grow(&self) -> Boxed<()> {
            // Far from the limit, what is free does not matter.
            if self.heap.memory.available() >= Space::RESERVE {
                return Ok(());
            }
            self.heap.space().may_grow()
        }

        /// The size of a leaf with this content that replaces another.
        fn grown_size(&self, leaf: Leaf<'_>, content: usize) -> usize {
            let size = content + slack(content);
            // If it is the only leaf it doubles, so that small tables are quick too.
            let alone = ptr::eq(self.root.load(Relaxed), leaf.base());
            if alone { size.max((2 * content).min(LEAF)) } else { size }
        }

        /// Way 4 of `replace_full`. Replaces a leaf by one leaf, or two, with these pairs. If it has lost pairs and is small, it is merged with a
        /// neighbour that is small too.
        fn rebuild(&self, locked: &mut LockedLeaf<'_>, key: &[u8], runs: &[Run<'_>]) -> Boxed<()> {
            let leaf = locked.node;
            let (prefix_len, content) = leaf_content(runs);
            let had_more = leaf.garbage.load(Relaxed) > 0;
            if had_more && content <= LEAF / 2 && self.merge(locked, key, runs, content) {
                return Ok(());
            }
            // A leaf that was made for keys in order keeps its room for those to come.
            let least = if had_more { 0 } else { LEAF.min(leaf.size.into()) };
            let size = match self.may_grow() {
                Err(_) if content <= leaf.size.into() => content,
                may_grow => may_grow.map(|()| self.grown_size(leaf, content).max(least))?,
            };
            if size <= largest(count(runs)) || count(runs) < 2 {
                let fresh = self.new_leaf(runs, prefix_len, size)?;
                return self.replace(locked, key, fresh, None);
            }
            let (low, high) = split(runs);
            self.replace_by_two(locked, key, &low, &high)
        }

        fn replace_by_two(
            &self,
            locked: &mut LockedLeaf<'_>,
            key: &[u8],
            low: &[Run<'_>],
            high: &[Run<'_>],
        ) -> Boxed<()> {
            let part = |runs: &[Run<'_>]| {
                let (prefix_len, content) = leaf_content(runs);
                let size = (content + slack(content)).min(largest(count(runs)).max(content));
                self.new_leaf(runs, prefix_len, size)
            };
            let low = part(low)?;
            let high = part(high).inspect_err(|_| self.discard_leaf(low))?;
            self.replace(locked, key, low, Some((separator(low, high), high)))
        }

        /// Replaces a leaf with much garbage by a smaller one. If memory is refused it stays as it is.
        #[cold]
        fn shrink(&self, locked: &mut LockedLeaf<'_>, key: &[u8]) {
            let runs = [locked.node.run()];
            let (_, content) = leaf_content(&runs);
            if leaf_size(content + slack(content)) < locked.node.size.into() {
                let _refused = self.rebuild(locked, key, &runs);
            }
        }

        // --- making room for the writes of a transaction

        /// Whether there is room in a leaf for these pairs.
        fn fits(leaf: Leaf<'_>, writes: &[Planned<'_>]) -> bool {
            let prefix_len = leaf.prefix_len.into();
            let mut room = leaf.room();
            writes.iter().filter(|write| write.value.is_some()).all(|write| {
                let left = room.checked_sub(write.bytes(prefix_len));
                room = left.unwrap_or(0);
                left.is_some() && leaf.strip(write.key).is_ok()
            })
        }

        /// How long the prefix of a leaf with all these pairs would be, and the bytes of such a leaf, or more than one leaf has.
        fn joint_content(run: Run<'_>, writes: &[Planned<'_>]) -> (usize, usize) {
            let shared = common(&end_of(run, writes, false), &end_of(run, writes, true));
            let prefix_len = if run.slots.len() + writes.len() > 1 { shared.min(MAX_PREFIX) } else { 0 };
            let mut content = HEAD + prefix_room(prefix_len) + run.bytes(prefix_len);
            for write in writes {
                content += write.bytes(prefix_len);
                if content > 4 * LEAF {
                    break;
                }
            }
            (prefix_len, content)
        }

        /// A leaf with these pairs, and with room for those to be written, if one leaf can have that.
        fn roomy_leaf(&self, run: Run<'_>, writes: &[Planned<'_>]) -> Boxed<Leaf<'_>> {
            let (prefix_len, content) = Self::joint_content(run, writes);
            let largest = largest(run.slots.len() + writes.len());
            if content > largest {
                let (prefix_len, content) = leaf_content(&[run]);
                return self.new_leaf(&[run], prefix_len, content);
            }
            let size = (content + slack(content)).min(largest);
            let leaf = self.empty_leaf(&end_of(run, writes, false)[..prefix_len], size)?;
            leaf.append(run);
            Ok(leaf)
        }

        /// Replaces a leaf by one with room for these writes, or by two, of which each gets a part of the pairs and writes. Returns
        /// the lock of the second one, and how many writes go to the first.
        fn widen<'l>(
            &'l self,
            locked: &mut LockedLeaf<'l>,
            writes: &[Planned<'_>],
        ) -> Boxed<Option<(LockedLeaf<'l>, usize)>> {
            let (leaf, run, key) = (locked.node, locked.node.run(), writes[0].key);
            let (pairs, content) = (run.slots.len(), Self::joint_content(run, writes).1);
            // How many of the leaf's pairs come before a write, and whether it replaces the next one.
            let place = |write: &Planned<'_>| match leaf.search(pairs, write.key, false).found {
                Ok((at, _)) => (at, 1),
                Err(at) => (at, 0),
            };
            if writes.iter().any(|write| write.value.is_some() && place(write).1 == 0) {
                self.may_grow()?;
            }
            if content <= largest(pairs + writes.len()) {
                let roomy = self.roomy_leaf(run, writes)?;
                self.replace_locked(locked, key, roomy, None)?;
                return Ok(None);
            }
            // Half of it, or as much as one leaf has if there are many writes.
            let budget = (content / 2).min(LEAF / 8 * 7);
            let (mut cut, mut sum) = (None, HEAD);
            for number in 0..=writes.len() {
                let at = match writes.get(number) {
                    Some(write) => place(write).0,
                    None => writes.last().map(place).map_or(0, |(at, replaced)| at + replaced),
                };
                let is_whole = (number, at) == (0, 0) || (number, at) == (writes.len(), pairs);
                if cut.is_some() && sum + run.bytes * at / pairs.max(1) > budget {
                    break;
                }
                if !is_whole {
                    cut = Some((number, at));
                }
                sum += writes.get(number).map_or(0, |write| write.bytes(leaf.prefix_len.into()));
            }
            let (number, at) = cut.expect("two pairs can be parted, and one fits");
            let ((low, high), (first, then)) = (run.split(at), writes.split_at(number));
            let (last, next) = (end_of(low, first, true), end_of(high, then, false));
            let separator = next[..=common(&last, &next)].to_vec();
            let low = self.roomy_leaf(low, first)?;
            let high = self.roomy_leaf(high, then).inspect_err(|_| self.discard_leaf(low))?;
            let high = self.replace_locked(locked, key, low, Some((separator, high)))?;
            Ok(high.map(|high| (high, number)))
        }

        // --- merging leaves

        /// Replaces a leaf, which is to have these pairs, and one of its neighbours by one new leaf. Returns whether it did.
        fn merge(&self, locked: &mut LockedLeaf<'_>, key: &[u8], runs: &[Run<'_>], content: usize) -> bool {
            // It would have to copy nodes that a snapshot keeps.
            if self.heap.memory.newest() != 0 {
                return false;
            }
            let mut link = self.lock_link(key, Child::of_leaf(locked.node));
            let Some((parent, at)) = link.parent else { return false };
            for (first, other) in [(at, at + 1), (at.wrapping_sub(1), at.wrapping_sub(1))] {
                if first >= parent.count() {
                    continue;
                }
                // S4: as long as the parent is locked, the nodes to which it leads are in the tree.
                let Node::Leaf(other) = Child::of(parent.child(other)).node() else {
                    continue;
                };
                // The numbers in a leaf's head agree with each other only under its lock.
                let Some(mut other_locked) = other.try_lock() else { continue };
                // Most neighbours are far too full.
                if content + other.used() - usize::from(other.garbage.load(Relaxed)) > MERGED {
                    continue;
                }
                let others = &[other.run()][..];
                let runs = if first == at { [runs, others].concat() } else { [others, runs].concat() };
                let (prefix_len, content) = leaf_content(&runs);
                if content > MERGED {
                    continue;
                }
                let Ok(leaf) = self.new_leaf(&runs, prefix_len, content + slack(content)) else {
                    return false;
                };
                let edited = self.edited(parent, first..first + 2, &[], &[Child::of_leaf(leaf)]);
                let Ok((merged, _)) = edited.inspect_err(|_| self.discard_leaf(leaf)) else { return false };
                let old = Child::of_inner(parent);
                self.lock_link(key, old).place.store(merged.0, Release);
                link.locked.mark_replaced();
                locked.mark_replaced();
                other_locked.mark_replaced();
                self.retire_nodes([Child::of_leaf(locked.node), Child::of_leaf(other), old]);
                return true;
            }
            false
        }

        // --- leading the tree to other leaves

        /// Locks the word that leads to a node. The caller has locked the node, and `key` leads to it.
        fn lock_link(&self, key: &[u8], node: Child<'_>) -> Link<'_> {
            loop {
                let (mut parent, mut at) = (None, Child::of(&self.root));
                while at != node {
                    // This does not happen: the node is in the tree.
                    let Node::Inner(inner) = at.node() else { break };
                    let child = inner.child_of(key, true);
                    parent = Some((inner, child));
                    at = Child::of(inner.child(child));
                }
                let state = parent.map_or(&self.top, |(inner, _)| inner.state());
                if let Some(locked) = LockedNode::wait((), state) {
                    let place = parent.map_or(&self.root, |(inner, at)| inner.child(at));
                    if place.load(Relaxed) == node.0 {
                        return Link { locked, parent, place };
                    }
                }
            }
        }

        /// Leads the tree to the leaf that replaces a locked one, or to the two that do, with the separator between them. For two,
        /// the parent is replaced by a node with one more child. If that is one too many, it is split, and so on upwards.
        /// If memory is refused, the new leaves are freed again.
        fn replace(
            &self,
            locked: &mut LockedLeaf<'_>,
            key: &[u8],
            low: Leaf<'_>,
            high: Option<(Vec<u8>, Leaf<'_>)>,
        ) -> Boxed<()> {
            let mut link = self.lock_link(key, Child::of_leaf(locked.node));
            let mut split = high.map(|(separator, high)| (separator, Child::of_leaf(high)));
            let mut low = Child::of_leaf(low);
            if split.is_some() {
                self.len.spread();
            }
            let (mut made, mut below) = (Vec::new(), Vec::new());
            // V3. A snapshot keeps the parent that leads to the old leaf.
            while split.is_some() || link.parent.is_some_and(|(parent, _)| self.is_old(parent.born)) {
                made.push(low);
                made.extend(split.as_ref().map(|(_, high)| *high));
                let grown = match (link.parent, &split) {
                    (Some((parent, at)), Some((separator, high))) => {
                        self.edited(parent, at..at + 1, &[separator], &[low, *high])
                    }
                    (Some((parent, at)), None) => self.edited(parent, at..at + 1, &[], &[low]),
                    (None, Some((separator, high))) => {
                        self.new_inner(&[], &[separator], &[low, *high]).map(|root| (root, None))
                    }
                    (None, None) => unreachable!("there is a split or a parent"),
                };
                (low, split) = grown.inspect_err(|_| self.discard_nodes(&made))?;
                if let Some((parent, _)) = link.parent {
                    let old = Child::of_inner(parent);
                    below.push((link.locked, parent));
                    link = self.lock_link(key, old);
                }
            }
            link.place.store(low.0, Release);
            drop(link);
            locked.mark_replaced();
            let inners = below.into_iter().map(|(mut locked, inner)| {
                locked.mark_replaced();
                Child::of_inner(inner)
            });
            self.retire_nodes([Child::of_leaf(locked.node)].into_iter().chain(inners));
            Ok(())
        }

        /// As `replace`, but the new leaves are locked from the beginning, the lower one in the old one's stead.
        fn replace_locked<'l>(
            &'l self,
            locked: &mut LockedLeaf<'l>,
            key: &[u8],
            low: Leaf<'l>,
            high: Option<(Vec<u8>, Leaf<'l>)>,
        ) -> Boxed<Option<LockedLeaf<'l>>> {
            // If that fails their memory is free, and nobody gives up the locks.
            let lock =
                |leaf: Leaf<'l>| ManuallyDrop::new(leaf.try_lock().expect("nobody else knows the leaf"));
            let (next, second) = (lock(low), high.as_ref().map(|high| lock(high.1)));
            self.replace(locked, key, low, high)?;
            *locked = ManuallyDrop::into_inner(next);
            Ok(second.map(ManuallyDrop::into_inner))
        }

        /// A copy of an inner node, in which the children `new`, with `separators` between them, take the place of the
        /// children `replaced`. Returns a node, or the child if only one is left, or two nodes and the separator between
        /// them. The caller has locked the old node.
        fn edited<'g>(
            &'g self,
            node: Inner<'g>,
            replaced: Range<usize>,
            separators: &[&[u8]],
            new: &[Child<'g>],
        ) -> Boxed<(Child<'g>, Option<Sibling<'g>>)> {
            let (mut rests, mut children) = (node.rests(), node.children());
            let at = replaced.start;
            // A new separator may lack the end of the node's prefix. That end then becomes a part of all rests. This
            // happens seldom.
            let shared = separators.iter().map(|separator| common(node.prefix(), separator)).min();
            let (prefix, cut) = node.prefix().split_at(shared.unwrap_or(node.prefix().len()));
            let whole: Vec<Vec<u8>>;
            if !cut.is_empty() {
                whole = rests.iter().map(|rest| [cut, rest].concat()).collect();
                rests = whole.iter().map(Vec::as_slice).collect();
            }
            rests.splice(at..replaced.end - 1, separators.iter().map(|separator| &separator[prefix.len()..]));
            children.splice(replaced, new.iter().copied());
            if rests.is_empty() {
                return Ok((children[0], None));
            }
            if rests.len() <= FANOUT {
                return Ok((self.new_inner(prefix, &rests, &children)?, None));
            }
            // A split at the right edge leaves a full node behind, as with leaves.
            let middle = if at + 1 == rests.len() { at - 1 } else { rests.len() / 2 };
            let left = self.new_inner(prefix, &rests[..middle], &children[..=middle])?;
            let right = self
                .new_inner(prefix, &rests[middle + 1..], &children[middle + 1..])
                .inspect_err(|_| self.discard_nodes(&[left]))?;
            Ok((left, Some(([prefix, rests[middle]].concat(), right))))
        }

        // --- making and freeing nodes

        pub(super) fn start(&self) -> Boxed<()> {
            let _top = LockedNode::wait((), &self.top);
            self.prepare()?;
            {
                let mut space = self.heap.space();
                if space.closed || !self.root.load(Relaxed).is_null() {
                    return Ok(());
                }
                space.begin(FIRST_LEAF)?;
            }
            let leaf = self.empty_leaf(&[], FIRST_LEAF)?;
            self.past.begun.fetch_add(1, AcqRel);
            self.root.store(leaf.base(), Release);
            Ok(())
        }

        /// An empty leaf of at least `size` bytes, which nobody else knows yet.
        fn empty_leaf(&self, prefix: &[u8], size: usize) -> Boxed<Leaf<'_>> {
            let (block, size) = {
                let space = &mut self.heap.space();
                let taken = space.take_about(leaf_size(size))?;
                self.heap.check_end(space);
                taken
            };
            let slots = HEAD + prefix_room(prefix.len());
            // SAFETY: M1, M2. The block has `size` bytes, more than the prefix needs, and is ours. Its first word stays an atomic,
            // and gets a number that it never had: S5.
            unsafe {
                let state = block.cast::<AtomicU64>().as_ref();
                state.store((state.load(Relaxed) & !(CHANGED - 1)) + CHANGED, Relaxed);
                let head: *mut LeafHead = block.as_ptr().cast();
                (&raw mut (*head).count).write(AtomicU16::new(0));
                (&raw mut (*head).most).write(AtomicU16::new(0));
                (&raw mut (*head).floor).write(AtomicU16::new(size as u16));
                (&raw mut (*head).garbage).write(AtomicU16::new(0));
                (&raw mut (*head).size).write(size as u16);
                (&raw mut (*head).prefix_len).write(prefix.len() as u16);
                (&raw mut (*head).slots).write(slots as u16);
                (&raw mut (*head).born).write(self.heap.memory.generation());
                block.add(HEAD).write_bytes(0, slots - HEAD);
                block.add(HEAD).copy_from_nonoverlapping(NonNull::from(prefix).cast(), prefix.len());
            }
            Ok(Leaf::new(block))
        }

        /// A leaf of at least `size` bytes with these pairs. All their keys begin with the same `prefix_len` bytes.
        fn new_leaf(&self, runs: &[Run<'_>], prefix_len: usize, size: usize) -> Boxed<Leaf<'_>> {
            let mut room = KEY_ROOM;
            let leaf = self.empty_leaf(&nth_key(runs, 0, &mut room)[..prefix_len], size)?;
            for &run in runs {
                leaf.append(run);
            }
            Ok(leaf)
        }

        /// An inner node. Each separator is the prefix and one of these rests.
        fn new_inner(&self, prefix: &[u8], rests: &[&[u8]], children: &[Child<'_>]) -> Boxed<Child<'_>> {
            let count = rests.len();
            // They are in order, so all of them share what the first and the last one share.
            let more = common(rests[0], rests[count - 1]);
            let prefix = [prefix, &rests[0][..more]].concat();
            let lengths = rests.iter().map(|rest| rest.len() - more);
            let (ends, bytes) = inner_parts(count);
            let size = bytes + prefix.len() + lengths.sum::<usize>();
            let block = self.heap.space().take(size)?;
            let mut heads = [Row([i32::MAX; ROW]); ROWS];
            // SAFETY: M1, M2. The block has `size` bytes and is ours. The parts follow each other as `inner_parts` says, and each is
            // aligned. The first word stays an atomic.
            unsafe {
                let base = block.as_ptr();
                let head: *mut InnerHead = base.cast();
                head.add(1).cast::<AtomicU64>().write(AtomicU64::new(0));
                (&raw mut (*head).size).write(size as u32);
                (&raw mut (*head).count).write(count as u16);
                (&raw mut (*head).prefix_len).write(prefix.len() as u16);
                (&raw mut (*head).born).write(self.heap.memory.generation());
                (&raw mut (*head).start).write(first_word(&prefix));
                let ends = base.add(ends).cast::<u32>();
                let bytes = base.add(bytes);
                bytes.copy_from_nonoverlapping(prefix.as_ptr(), prefix.len());
                let mut end = prefix.len();
                for (at, rest) in rests.iter().map(|rest| &rest[more..]).enumerate() {
                    bytes.add(end).copy_from_nonoverlapping(rest.as_ptr(), rest.len());
                    end += rest.len();
                    ends.add(at).write(end as u32);
                    heads[at / ROW].0[at % ROW] = signed_head(rest);
                }
                (&raw mut (*head).lasts).write(std::array::from_fn(|row| heads[row].0[ROW - 1]));
                (&raw mut (*head).heads).write(heads);
                for (at, child) in children.iter().enumerate() {
                    base.add(CHILDREN).cast::<AtomicPtr<u8>>().add(at).write(AtomicPtr::new(child.0));
                }
            }
            Ok(Child::of_inner(Inner::new(block)))
        }

        // --- large values, and freeing

        /// Makes the part of a pair that is out of line, as its length code says.
        fn new_value(&self, code: u16, key: &[u8], value: &[u8]) -> Boxed<Retired> {
            if code == PAIR_BLOB || code == VALUE_BLOB {
                let key = if code == PAIR_BLOB { key } else { &[] };
                return self.heap.add_blob(key, value).map(Retired::Blob);
            }
            let bytes = BLOCK_HEAD + value.len();
            let block = {
                let space = &mut self.heap.space();
                space.may_grow()?;
                let block = space.take(bytes)?;
                self.heap.check_end(space);
                block
            };
            // SAFETY: M1, M2. The block has so many bytes and is ours. Its first word stays an atomic.
            unsafe {
                block.add(BLOCK_HEAD).copy_from_nonoverlapping(NonNull::from(value).cast(), value.len());
            };
            Ok(Retired::Block(block, bytes))
        }

        /// Frees what was made for a change that then failed.
        fn discard(&self, made: impl IntoIterator<Item = Retired>) {
            // SAFETY: M1. Nobody else knows it.
            unsafe { self.heap.free(&mut self.heap.space(), made) };
        }

        fn discard_nodes(&self, nodes: &[Child<'_>]) {
            self.discard(nodes.iter().map(|node| node.retired()));
        }

        fn discard_leaf(&self, leaf: Leaf<'_>) {
            self.discard_nodes(&[Child::of_leaf(leaf)]);
        }

        /// Queues nodes to which the tree no longer leads, to be freed once no reader is left in them: E2.
        fn retire_nodes<'g>(&self, nodes: impl IntoIterator<Item = Child<'g>>) {
            let mut space = self.heap.space();
            for node in nodes {
                let born = match node.node() {
                    Node::Leaf(leaf) => leaf.born,
                    Node::Inner(inner) => inner.born,
                };
                if self.is_old(born) {
                    self.past.keep_since(&self.heap.memory, node.retired(), born);
                } else {
                    self.heap.retire(&mut space, [node.retired()]);
                }
            }
        }

        // --- snapshots

        /// Whether the newest snapshot has a node that was made in this generation.
        #[inline(always)]
        fn is_old(&self, born: u64) -> bool {
            self.heap.memory.has_snapshots() && born <= self.heap.memory.newest()
        }

        /// Before the first write under a snapshot: V2.
        fn prepare(&self) -> Boxed<()> {
            let now = || Ok((self.root.load(Acquire), self.len()));
            self.past.prepare(&self.heap.memory, ptr::null_mut(), now)
        }

        /// Replaces a leaf that a snapshot needs by a copy, which is locked in its stead: V3.
        #[cold]
        #[inline(never)]
        fn copy_leaf<'l>(&'l self, locked: &mut LockedLeaf<'l>, key: &[u8]) -> Boxed<()> {
            /// The leaf, and the nodes above it.
            const NODES: usize = 16;
            self.prepare()?;
            self.past.reserve(&self.heap.memory, NODES)?;
            let used = locked.node.used();
            let size = (used + slack(used)).min(usize::from(locked.node.size).max(used));
            let copy = self.resized(locked.node, size)?;
            self.replace_locked(locked, key, copy, None).map(drop)
        }

        /// Frees a value that is out of line once no reader is in it, or keeps it for snapshots.
        #[cold]
        fn retire_value(&self, key: &[u8], value: Retired) {
            let leads = |root: *mut u8| {
                let root = AtomicPtr::new(root);
                let leaf = Self::descend(&root, |inner| inner.child_of(key, true));
                let found = leaf.and_then(|leaf| leaf.cell(leaf.find(key)?).1.out_of_line());
                found.is_some_and(|found| found.address() == value.address())
            };
            if !self.past.keep(&self.heap.memory, value, 0, leads) {
                self.heap.retire(&mut self.heap.space(), [value]);
            }
        }

        /// As the hash index's `reclaim`.
        pub(super) fn reclaim(&self) -> bool {
            self.heap.reclaim()
        }

        /// As the hash index's `has_retired`.
        pub(super) fn has_retired(&self) -> bool {
            !self.heap.space().limbo.is_empty()
        }

        /// As the hash index's `close_if_empty`.
        pub(super) fn close_if_empty(&self) -> bool {
            if self.len() > 0 || self.heap.bytes() < WORTH_RETURNING {
                return false;
            }
            // Keeps out other threads that close the index: each would wait for the other's leaves.
            let _top = LockedNode::wait((), &self.top);
            let root = Child::of(&self.root);
            if root.0.is_null() || self.past.is_kept(self.heap.memory.newest()) {
                return false;
            }
            let mut leaves = Vec::new();
            root.each_leaf(&mut |leaf| leaves.push(leaf));
            // Whoever has locked a leaf now will read this afterwards, and try again.
            self.emptied.store(true, Relaxed);
            let locked = leaves.iter().map(|leaf| leaf.try_lock().filter(|_| leaf.count() == 0));
            let Some(mut locked) = locked.collect::<Option<Vec<_>>>() else { return false };
            self.heap.space().closed = true;
            self.root.store(ptr::null_mut(), Release);
            locked.iter_mut().for_each(LockedNode::mark_replaced);
            self.retire_nodes(leaves.into_iter().map(Child::of_leaf));
            true
        }
    }

    /// What a transaction changes in an index, in the order of the keys, and the leaves that this concerns, which are locked.
    pub(super) struct Changes<'c> {
        index: &'c SortedIndex,
        /// Each with the numbers of its changes.
        leaves: Vec<(LockedLeaf<'c>, Range<usize>)>,
        all: Vec<Planned<'c>>,
    }

    struct Planned<'c> {
        key: &'c [u8],
        value: Option<&'c [u8]>,
        /// The value, if that is to be out of line.
        made: Option<Retired>,
    }

    impl Planned<'_> {
        /// The bytes that it takes in a leaf whose prefix has `prefix_len` bytes.
        fn bytes(&self, prefix_len: usize) -> usize {
            let key_len = self.key.len();
            let code = |value: &[u8]| length_code(key_len, value.len());
            self.value.map_or(0, |value| SLOT + cell_len(code(value), key_len.saturating_sub(prefix_len)))
        }
    }

    impl Indexed for SortedIndex {
        fn watch(&self, key: &[u8]) -> (Content, Word) {
            let mut turns = 0;
            loop {
                let begun = self.past.begun.load(Acquire);
                let Some(leaf) = self.leaf(key) else { return (None, (&raw const self.past.begun, begun)) };
                let value = || leaf.find(key).map(|slot| Bytes::of(leaf.cell(slot).1.bytes()));
                if let Some(found) = watched(leaf.state(), BUSY, value) {
                    return found;
                }
                wait(&mut turns);
            }
        }

        fn watch_range(
            &self,
            (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
            limit: usize,
            down: bool,
        ) -> (Vec<OwnedPair>, Vec<Word>) {
            let begun = (&raw const self.past.begun, self.past.begun.load(Acquire));
            let (mut found, mut words) = (Vec::new(), Vec::new());
            let mut position = Position::new((lower.map(Bytes::of), upper.map(Bytes::of)), None);
            while found.len() < limit
                && let Some((len, value)) =
                    position.next_slowly(self, down, false, &mut |word| words.push(word))
            {
                found.push((position.bytes[..len].to_vec(), value.bytes().to_vec()));
            }
            if words.is_empty() {
                words.push(begun);
            }
            (found, words)
        }

        /// Locks the leaves of some keys in ascending order, which a transaction sets or deletes. `None` if the index is closed, or a leaf
        /// has just been replaced.
        fn lock_all<'c>(&'c self, writes: &mut dyn Iterator<Item = Put<'c>>) -> Boxed<Option<BoxedHeld<'c>>> {
            let (mut leaves, mut all) = (Vec::<(LockedLeaf<'c>, Range<usize>)>::new(), Vec::with_capacity(2));
            let refused = |_| self.heap.memory.refused(0);
            for (key, value) in writes {
                all.try_reserve(1).map_err(refused)?;
                all.push(Planned { key, value, made: None });
            }
            all.sort_unstable_by_key(|planned| planned.key);
            for (at, planned) in all.iter().enumerate() {
                let Some(leaf) = self.leaf(planned.key) else { return Ok(None) };
                match leaves.last_mut() {
                    Some((last, writes)) if last.node.head == leaf.head => writes.end = at + 1,
                    _ => {
                        let Some(locked) = leaf.lock() else { return Ok(None) };
                        leaves.try_reserve(1).map_err(refused)?;
                        leaves.push((locked, at..at + 1));
                    }
                }
            }
            Ok(Some(Box::new(Changes { index: self, leaves, all })))
        }

        fn begin(&self) -> Boxed<()> {
            self.start()
        }
    }

    impl Held for Changes<'_> {
        fn holds(&self, word: *const AtomicU64) -> bool {
            self.leaves.iter().any(|(locked, _)| ptr::eq(locked.state, word))
        }

        fn prepare(&mut self) -> Boxed<bool> {
            let Self { index, leaves, all } = self;
            let mut at = 0;
            while let Some((locked, numbers)) = leaves.get_mut(at) {
                let writes = &all[numbers.clone()];
                if index.is_old(locked.node.born) {
                    index.copy_leaf(locked, writes[0].key)?;
                }
                if SortedIndex::fits(locked.node, writes) {
                    at += 1;
                } else if let Some((second, first)) = index.widen(locked, writes)? {
                    let middle = numbers.start + first;
                    let rest = (second, middle..mem::replace(&mut numbers.end, middle));
                    leaves.try_reserve(1).map_err(|_| index.heap.memory.refused(0))?;
                    leaves.insert(at + 1, rest);
                }
            }
            if index.heap.memory.has_snapshots() {
                index.past.reserve(&index.heap.memory, all.len())?;
            }
            for Planned { key, value, made, .. } in all {
                let code = value.map_or(0, |value| length_code(key.len(), value.len()));
                if code >= BLOCK {
                    *made = Some(index.new_value(code, key, value.unwrap_or_default())?);
                }
            }
            Ok(true)
        }

        fn end(&mut self, done: bool) {
            let Self { index, leaves, all } = self;
            for (locked, numbers) in leaves.iter_mut() {
                let writes = &all[numbers.clone()];
                for &Planned { key, value, made } in writes {
                    if !done {
                        if let Some(made) = made {
                            index.discard([made]);
                        }
                        continue;
                    }
                    let leaf = locked.node;
                    let search = leaf.search(leaf.count(), key, false);
                    let old = search.found.ok().and_then(|(_, slot)| leaf.cell(slot).1.out_of_line());
                    match (value, search.found) {
                        (Some(value), _) => {
                            let address = made.map(Retired::address);
                            let tail = address.as_ref().map_or(value, bytes_of);
                            let set = index.set(locked, search, length_code(key.len(), value.len()), tail);
                            debug_assert!(set.is_ok() && !locked.is_replaced(), "there is room");
                        }
                        (None, Ok((at, slot))) => index.remove(locked, at, slot),
                        (None, Err(_)) => {}
                    }
                    // S6.
                    if let Some(old) = old {
                        index.retire_value(key, old);
                    }
                }
                if done && writes.iter().any(|write| write.value.is_none()) {
                    index.shrink_if_worth(locked, writes[0].key);
                }
            }
            leaves.clear();
            index.heap.maintain_if_due();
        }
    }

    impl Versioned for SortedIndex {
        fn past(&self) -> &Past<Self> {
            &self.past
        }

        fn bytes(&self) -> usize {
            self.heap.bytes()
        }

        fn showing(origin: &Arc<Self>, generation: u64) -> Self {
            let (root, len) = origin.past.root_of(generation, || (origin.root.load(Acquire), origin.len()));
            let memory = &origin.heap.memory;
            let mut shown = Self::new(Arc::clone(memory));
            shown.len.add(len.cast_signed());
            shown.root = AtomicPtr::new(root);
            shown.past.origin = Some((Arc::clone(origin), len));
            shown
        }

        fn prune(&self, closed: u64, open: &Needed) {
            let items = self.past.take_unneeded(closed, open).map_or_else(Vec::new, |(_, items)| items);
            self.past.uncount(&self.heap.memory, items.iter().map(|kept| kept.what.size()).sum());
            self.heap.retire(&mut self.heap.space(), items.iter().map(|kept| kept.what));
            prune_end(&self.heap, &self.emptied, self.len(), || self.reclaim());
        }
    }

    impl Drop for SortedIndex {
        fn drop(&mut self) {
            if self.past.origin.is_some() {
                return;
            }
            let root = Child::of(&self.root);
            let mut space = self.heap.space();
            // One by one: memory for a list of them may be refused, and this must not fail.
            let free = |retired| {
                if let Retired::Blob(blob) = retired {
                    // SAFETY: S6, B1. Each blob has one slot or was retired once, and nobody reads it any more.
                    unsafe { self.heap.free_blob(blob) };
                }
            };
            space.limbo.drain().for_each(free);
            self.heap.memory.uncount_kept(self.past.bytes.load(Relaxed));
            lock(&self.past.kept).iter().flat_map(|saved| &saved.items).for_each(|kept| free(kept.what));
            if self.heap.blob_bytes.load(Relaxed) > 0 && !root.0.is_null() {
                root.each_leaf(&mut |leaf| leaf.out_of_line().for_each(free));
            }
        }
    }

    // --- hints

    /// A leaf at an end of which a thread has put pairs. For the next such pair the thread need not go down the tree.
    struct Hint {
        index: Cell<u64>,
        /// Null once the thread has replaced it.
        leaf: Cell<*mut u8>,
        /// The leaf's `state` as the thread has left it: S5.
        state: Cell<u64>,
        /// The leaf's prefix, and a range of heads. A key belongs to the leaf if it begins with the prefix and its next 4
        /// bytes are in the range: S2.
        prefix: Cell<([u8; HINTED_PREFIX], usize)>,
        heads: Cell<(u32, u32)>,
    }

    /// The leaves to which a thread writes keys in order.
    struct Hints {
        all: [Hint; HINTS],
        /// The hint that was found last, and the one that will be overwritten next.
        last: Cell<usize>,
        next: Cell<usize>,
        /// Whether the thread has replaced the leaf of the hint that it found last.
        is_replaced: Cell<bool>,
        /// After so many more keys without a hint, the thread stops searching for hints.
        misses_left: Cell<u32>,
    }

    /// The hints of a thread. Each follows one stream of keys in order. With four hints, five streams take 1,340
    /// instructions an insert, with eight hints 581.
    const HINTS: usize = 8;
    /// After so many keys in a row without a hint, keys are taken to be in no order, and a search for hints would be in vain.
    const MISSES: u32 = 16;
    /// The longest prefix that a hint has room for.
    const HINTED_PREFIX: usize = 32;
    /// A range without a head in it.
    const NO_HEADS: (u32, u32) = (1, 0);
    /// Stands in place of a state while the thread has put only one pair at an end of the leaf.
    const ONE_PAIR: u64 = 0;

    sync::thread_local! {
        static HINTS_OF_THREAD: Hints = const { Hints::new() };
    }

    impl Hints {
        const fn new() -> Self {
            const fn none() -> Hint {
                Hint {
                    index: Cell::new(0),
                    leaf: Cell::new(ptr::null_mut()),
                    state: Cell::new(0),
                    prefix: Cell::new(([0; HINTED_PREFIX], 0)),
                    heads: Cell::new(NO_HEADS),
                }
            }
            Self {
                all: [const { none() }; HINTS],
                last: Cell::new(0),
                next: Cell::new(0),
                is_replaced: Cell::new(false),
                misses_left: Cell::new(0),
            }
        }

        #[inline(always)]
        fn own<'h>() -> Option<&'h Self> {
            // SAFETY: L1. It is there until the thread ends. Callers do not keep it.
            HINTS_OF_THREAD.try_with(|own| unsafe { &*ptr::from_ref(own) }).ok()
        }

        /// The hint for a key, and the part of the key after the leaf's prefix.
        #[inline]
        fn find<'k>(&self, index: u64, key: &'k [u8]) -> Option<(&Hint, Suffix<'k>)> {
            for at in self.last.get()..self.last.get() + HINTS {
                let hint = &self.all[at % HINTS];
                if hint.index.get() == index
                    && let Some(suffix) = hint.suffix(key)
                {
                    self.last.set(at % HINTS);
                    self.misses_left.set(MISSES);
                    return Some((hint, suffix));
                }
            }
            self.misses_left.set(self.misses_left.get() - 1);
            None
        }

        fn oldest(&self) -> &Hint {
            let at = self.next.get();
            self.next.set((at + 1) % HINTS);
            &self.all[at]
        }
    }

    impl Hint {
        fn set(&self, index: u64, leaf: *mut u8, state: u64) {
            self.index.set(index);
            self.leaf.set(leaf);
            self.state.set(state);
            self.heads.set(NO_HEADS);
        }

        /// The part of the key after the leaf's prefix, if the key belongs to the leaf.
        #[inline]
        fn suffix<'k>(&self, key: &'k [u8]) -> Option<Suffix<'k>> {
            let (prefix, len) = self.prefix.get();
            let (start, rest) = key.split_at_checked(len)?;
            let (suffix, (low, high)) = (Suffix::new(rest), self.heads.get());
            let belongs = low <= suffix.head && suffix.head <= high && same_bytes(start, &prefix[..len]);
            belongs.then_some(suffix)
        }
    }

    // --- cells and runs

    /// A cell to be written: its length code, the rest of the key, and the value or an address.
    #[derive(Clone, Copy)]
    struct NewCell<'c> {
        code: u16,
        rest: &'c [u8],
        tail: &'c [u8],
    }

    impl<'c> NewCell<'c> {
        #[inline]
        fn new(code: u16, key: Suffix<'c>, tail: &'c [u8]) -> Self {
            Self { code, rest: if code == PAIR_BLOB { &[] } else { key.rest }, tail }
        }

        #[inline]
        fn len(&self) -> usize {
            CELL_HEAD + self.rest.len() + self.tail.len()
        }

        /// # Safety
        /// There is room for it at `to`.
        #[inline]
        unsafe fn write(&self, to: *mut u8) {
            // SAFETY: M1, the caller's promise.
            unsafe {
                to.cast::<u16>().write_unaligned(self.code);
                let rest = to.add(CELL_HEAD);
                rest.copy_from_nonoverlapping(self.rest.as_ptr(), self.rest.len());
                let tail = rest.add(self.rest.len());
                tail.copy_from_nonoverlapping(self.tail.as_ptr(), self.tail.len());
            }
        }
    }

    /// Pairs side by side that are copied into a new leaf: the prefix that slots and cells leave out, the slots, the byte from
    /// which they count their cells, and the bytes of slots and cells together. The `OVER` bytes before a cell may be read too.
    #[derive(Clone, Copy)]
    struct Run<'r> {
        prefix: &'r [u8],
        slots: &'r [Slot],
        base: *const u8,
        bytes: usize,
    }

    impl<'r> Run<'r> {
        #[inline]
        fn pairs(self) -> impl DoubleEndedIterator<Item = Pair<'r>> + ExactSizeIterator {
            // SAFETY: S1. The cell is in the block of which `base` is the first byte.
            let cell = move |slot: Slot| unsafe { self.base.add(slot.cell()) };
            self.slots.iter().map(move |&slot| Pair { prefix: self.prefix, slot, cell: cell(slot) })
        }

        fn pair(self, at: usize) -> Pair<'r> {
            self.pairs().nth(at).expect("it has such a slot")
        }

        /// The bytes that the pairs take in a leaf whose prefix has `prefix_len` bytes.
        fn bytes(self, prefix_len: usize) -> usize {
            if prefix_len == self.prefix.len() {
                return self.bytes;
            }
            self.pairs().map(|pair| SLOT + pair.cell_len(prefix_len)).sum()
        }

        /// Splits it before the pair at `at`.
        fn split(self, at: usize) -> (Self, Self) {
            let (low, high) = self.slots.split_at(at);
            let low = Self { slots: low, ..self };
            let bytes = low.pairs().map(|pair| SLOT + pair.cell_len(self.prefix.len())).sum();
            (Self { bytes, ..low }, Self { slots: high, bytes: self.bytes - bytes, ..self })
        }
    }

    fn count(runs: &[Run<'_>]) -> usize {
        runs.iter().map(|run| run.slots.len()).sum()
    }

    /// The key of the pair with this number. It is empty if there are not so many.
    fn nth_key<'k>(runs: &'k [Run<'k>], mut number: usize, room: &'k mut KeyRoom) -> &'k [u8] {
        for run in runs {
            if number < run.slots.len() {
                return run.pair(number).key(room);
            }
            number -= run.slots.len();
        }
        &[]
    }

    #[derive(Clone, Copy)]
    struct Pair<'r> {
        prefix: &'r [u8],
        slot: Slot,
        cell: *const u8,
    }

    impl<'r> Pair<'r> {
        #[inline]
        fn code(&self) -> u16 {
            // SAFETY: S1, as for all that follows: the cell is whole.
            unsafe { self.cell.cast::<u16>().read_unaligned() }
        }

        /// The rest of the key, if the cell has it, and the value or an address.
        #[inline]
        fn parts(&self) -> (&'r [u8], &'r [u8]) {
            let [rest, tail] = cell_parts(self.code(), self.slot.key_len());
            // SAFETY: S1. The cell has so many bytes behind its code.
            unsafe { slice::from_raw_parts(self.cell.add(CELL_HEAD), rest + tail) }.split_at(rest)
        }

        /// How long the cell is in a leaf whose prefix has `prefix_len` bytes.
        #[inline]
        fn cell_len(&self, prefix_len: usize) -> usize {
            cell_len(self.code(), self.prefix.len() + self.slot.key_len() - prefix_len)
        }

        /// The whole key. It is put together in `room`, unless a blob has it.
        fn key<'k>(&self, room: &'k mut KeyRoom) -> &'k [u8]
        where
            'r: 'k,
        {
            let (rest, tail) = self.parts();
            if self.code() == PAIR_BLOB {
                // SAFETY: S6. The pair is live, so its blob is.
                return unsafe { tail.as_ptr().cast::<Blob>().read_unaligned() }.parts().0;
            }
            // A shorter key than the head ends within it.
            let (head, end) = (self.prefix.len(), self.prefix.len() + self.slot.key_len());
            room[..head].write_copy_of_slice(self.prefix);
            room[head..head + 4].write_copy_of_slice(&self.slot.head().to_be_bytes());
            room[head + 4..][..rest.len()].write_copy_of_slice(rest);
            // SAFETY: R1. All of it was written above.
            unsafe { room[..end].assume_init_ref() }
        }

        /// Copies the cell into a leaf with the same prefix, which nobody else knows. Returns the slot. From `OVER` bytes
        /// before `free` on, the leaf has no slots.
        #[inline]
        fn copy(self, leaf: Leaf<'_>, free: usize) -> Slot {
            let len = cell_len(self.code(), self.slot.key_len());
            let at = leaf.take_cell(len);
            // SAFETY: S1. There is room for the cell, and for what else is copied with it. `Run` says that it may be read.
            unsafe {
                let (to, from) = (leaf.base().add(at + len), self.cell.add(len));
                if len <= OVER && at >= free {
                    to.sub(OVER).copy_from_nonoverlapping(from.sub(OVER), OVER);
                } else {
                    to.sub(len).copy_from_nonoverlapping(from.sub(len), len);
                }
            }
            self.slot.with_cell(at)
        }

        /// As `copy`, for a leaf with any prefix: it puts the key together and divides it anew.
        fn write(self, leaf: Leaf<'_>) -> Slot {
            let mut room = KEY_ROOM;
            let suffix = Suffix::new(&self.key(&mut room)[usize::from(leaf.prefix_len)..]);
            suffix.slot().with_cell(leaf.add_cell(NewCell::new(self.code(), suffix, self.parts().1)))
        }
    }

    // --- sizes

    /// Room to put a key together from its parts. Such a key is never longer than a cell.
    type KeyRoom = [MaybeUninit<u8>; MAX_CELL];

    const KEY_ROOM: KeyRoom = [MaybeUninit::uninit(); MAX_CELL];

    /// In a cell with this length code, the bytes of the rest of the key, and of the value or address behind it.
    #[inline]
    fn cell_parts(code: u16, key_len: usize) -> [usize; 2] {
        let rest = key_len.saturating_sub(4);
        if code < BLOCK {
            return [rest, code.into()];
        }
        [if code == PAIR_BLOB { 0 } else { rest }, ADDRESS]
    }

    fn cell_len(code: u16, key_len: usize) -> usize {
        let [rest, tail] = cell_parts(code, key_len);
        CELL_HEAD + rest + tail
    }

    /// The length code of a pair's cell.
    fn length_code(key_len: usize, value_len: usize) -> u16 {
        // The whole key counts, because the leaf's prefix may become shorter.
        if CELL_HEAD + key_len + value_len <= MAX_CELL {
            value_len as u16
        } else if CELL_HEAD + key_len + ADDRESS > MAX_CELL {
            PAIR_BLOB
        } else if value_len > MAX_BLOCK_VALUE {
            VALUE_BLOB
        } else {
            BLOCK + value_len as u16
        }
    }

    /// The shortest key that is above all of one leaf and above none of the next.
    fn separator(low: Leaf<'_>, high: Leaf<'_>) -> Vec<u8> {
        let (mut last, mut first) = (KEY_ROOM, KEY_ROOM);
        let last = low.run().pair(low.count() - 1).key(&mut last);
        let first = high.run().pair(0).key(&mut first);
        first[..=common(last, first)].to_vec()
    }

    /// The first or the last key of some pairs of a leaf and some writes.
    fn end_of(run: Run<'_>, writes: &[Planned<'_>], last: bool) -> Vec<u8> {
        let mut room = KEY_ROOM;
        let pair = if last { run.pairs().next_back() } else { run.pairs().next() };
        let write = if last { writes.last() } else { writes.first() };
        let keys =
            pair.iter().map(|pair| pair.key(&mut room).to_vec()).chain(write.map(|write| write.key.to_vec()));
        if last { keys.max() } else { keys.min() }.unwrap_or_default()
    }

    /// How long the prefix of a leaf with these pairs is, and how many bytes the leaf needs.
    fn leaf_content(runs: &[Run<'_>]) -> (usize, usize) {
        let (mut first, mut last) = (KEY_ROOM, KEY_ROOM);
        // They are in order, so all of them share what the first and the last one share.
        let count = count(runs);
        let shared = if count > 1 {
            common(nth_key(runs, 0, &mut first), nth_key(runs, count - 1, &mut last))
        } else {
            0
        };
        let prefix_len = shared.min(MAX_PREFIX);
        let bytes = runs.iter().map(|run| run.bytes(prefix_len));
        (prefix_len, HEAD + prefix_room(prefix_len) + bytes.sum::<usize>())
    }

    /// The size of a leaf for so many bytes. Large leaves have sizes in large steps, so that a leaf is seldom replaced for
    /// a little room.
    fn leaf_size(bytes: usize) -> usize {
        let step = if bytes > SMALL_LEAF { 256 } else { 64 };
        bytes.max(MIN_LEAF).next_multiple_of(step)
    }

    /// The size of the largest leaf with so many pairs.
    fn largest(pairs: usize) -> usize {
        if pairs <= FEW { 2 * LEAF } else { LEAF }
    }

    /// The free bytes that a new leaf gets. With more of them writes are quicker, with fewer the table is smaller.
    fn slack(content: usize) -> usize {
        content / 8 + 64
    }

    /// Splits pairs into two halves of about as many bytes. Neither half is empty.
    fn split<'r>(runs: &[Run<'r>]) -> (Vec<Run<'r>>, Vec<Run<'r>>) {
        let size = |pair: Pair<'_>| SLOT + pair.cell_len(pair.prefix.len());
        let first = runs.iter().find_map(|run| run.pairs().next()).map_or(0, size);
        let mut budget = (runs.iter().map(|run| run.bytes).sum::<usize>() / 2).max(first);
        let part = |run: &Run<'r>| {
            let whole = run.bytes <= budget;
            let fits = |pair: &Pair<'r>| {
                size(*pair) <= budget && {
                    budget -= size(*pair);
                    true
                }
            };
            let here = if whole { run.slots.len() } else { run.pairs().take_while(fits).count() };
            budget = if whole { budget - run.bytes } else { 0 };
            run.split(here)
        };
        runs.iter().map(part).unzip()
    }

    // --- scanning

    /// Whether a scan that continues at `from` has passed its bound `to`.
    fn beyond(from: &[u8], to: Bound<&[u8]>, down: bool) -> bool {
        match to {
            Bound::Unbounded => false,
            Bound::Included(to) if !down => from > to,
            Bound::Excluded(to) if !down => from >= to,
            Bound::Included(to) | Bound::Excluded(to) => from <= to,
        }
    }

    /// Copies the part of a pair's key after the prefix, and of the cell `tail` bytes: the rest of the key, and the value
    /// if so many are asked for.
    ///
    /// # Safety
    /// There is room, and for `OVER` bytes more.
    #[inline(always)]
    unsafe fn copy_pair(leaf: Leaf<'_>, slot: Slot, tail: usize, to: *mut u8) {
        let cell = slot.cell() + CELL_HEAD;
        // SAFETY: S1, and the caller's promise. It may read on within the block: what is behind a cell does not change either.
        unsafe {
            to.cast::<[u8; 4]>().write(slot.head().to_be_bytes());
            let (from, to) = (leaf.base().add(cell), to.add(slot.key_len().min(4)));
            if tail <= OVER && cell + OVER <= leaf.size.into() {
                // Two words are copied one by one. From two copies of different lengths the compiler would make one call.
                for at in [0, OVER / 2] {
                    to.add(at).cast::<u128>().write_unaligned(from.add(at).cast::<u128>().read_unaligned());
                }
            } else {
                to.copy_from_nonoverlapping(from, tail);
            }
        }
    }

    /// Which of a leaf's first `count` pairs are between two bounds.
    fn pairs_between(leaf: Leaf<'_>, count: usize, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Range<usize> {
        // The pairs below a key. With `or_equal` it also counts one with that key.
        let below = |key: &[u8], or_equal: bool| {
            leaf.search(count, key, false).found.map_or_else(|at| at, |(at, _)| at + usize::from(or_equal))
        };
        let side = |bound, open, with| match bound {
            Bound::Unbounded => open,
            Bound::Included(key) => below(key, with),
            Bound::Excluded(key) => below(key, !with),
        };
        let first = side(lower, 0, false);
        first..side(upper, count, true).max(first)
    }

    /// The first lines of a large value are prefetched so many pairs before it is shown. If it is to be copied, all its
    /// lines are prefetched one pair before.
    const VALUES_AHEAD: usize = 8;
    /// In its first leaf, a scan prefetches so many cells at a time. If it prefetched all, a scan of one pair would take
    /// 570 instead of 500 ns, and 1,000 instead of 700 with values of 400 bytes. If it prefetched none, a scan of fifty
    /// pairs would take 1,310 instead of 1,180 ns. In WebAssembly it prefetches all of a leaf.
    const CELLS: usize = if cfg!(target_family = "wasm") { LEAF } else { 16 };
    /// Room for a pair whose value is in its cell, and for the bytes that a short copy writes beyond it.
    const ROOM: usize = MAX_CELL + OVER;
    /// The bytes of a packed pair before its key.
    const PAIR_HEAD: usize = 2 * size_of::<u32>();

    /// A buffer with that room. If it began just before the end of a page, each step would write across the page's end, and
    /// take 30 ns instead of 15.
    fn pair_buffer() -> Vec<u8> {
        let buffer = Vec::<u8>::with_capacity(ROOM);
        let ends_page = !SMALL && buffer.as_ptr().addr() % 4096 > 4096 - 64;
        // It asks for another size. The allocator may have many places of the first size that are just as bad: with 100,000
        // cursors, trying them all took 200 us.
        if ends_page { Vec::with_capacity(ROOM + 256) } else { buffer }
    }

    pub(super) type Bounds = (Bound<Bytes>, Bound<Bytes>);

    // --- cursors

    /// Where a cursor is in relation to its key: on its pair, right before or after it, or at the key without being on its pair.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Side {
        On,
        Before,
        After,
        At,
    }

    /// Where a cursor is: its range, the key that it is on, and the slots of a leaf that come next, which count as long as
    /// the leaf has not changed.
    pub(super) struct Position {
        pub(super) range: Bounds,
        /// The key of the pair that it is on, and behind it the value, if that was copied.
        pub(super) bytes: Vec<u8>,
        /// The length of that key, if it is on a pair.
        on: Option<usize>,
        /// Where it is, if that is not on the pair but beside it.
        side: Side,
        leaf: NonNull<LeafHead>,
        state: u64,
        /// The number of the leaf's index, or 0 if there is no leaf.
        index: u64,
        down: bool,
        /// Which word of the leaf is the next pair's slot, and how many pairs there are from there on.
        at: usize,
        remaining: usize,
        /// The separator behind the leaf, if the scan continues there.
        edge: Option<Bytes>,
        /// The line to be prefetched at the next step, of the leaf that is likely to come next.
        next_line: *const u8,
        /// Once only so many pairs are left in the leaf, the next cells are prefetched.
        prefetch_at: usize,
        /// Once only so many are left, a step is not a plain one: it has to prefetch cells, or go to the next leaf, or show
        /// a large value.
        slow_at: usize,
    }

    // SAFETY: S5. Only `current` follows the pointer to the leaf, and only to an atomic. Nobody follows the pointer to the
    // line.
    unsafe impl Send for Position {}
    // SAFETY: S5, as above.
    unsafe impl Sync for Position {}

    impl Position {
        pub(super) fn new(range: Bounds, on: Option<&[u8]>) -> Self {
            Self {
                range,
                bytes: on.unwrap_or_default().to_vec(),
                on: on.map(<[u8]>::len),
                side: Side::On,
                leaf: NonNull::dangling(),
                state: 0,
                index: 0,
                down: false,
                at: 0,
                remaining: 0,
                edge: None,
                next_line: ptr::null(),
                prefetch_at: 0,
                slow_at: 0,
            }
        }

        /// The key that it is on or beside.
        #[inline]
        fn near(&self) -> Option<&[u8]> {
            Some(&self.bytes[..self.on?])
        }

        /// The key of the pair that it is on.
        #[inline]
        pub(super) fn on(&self) -> Option<&[u8]> {
            self.near().filter(|_| self.side == Side::On)
        }

        /// Another one at the same place, which remembers no leaf.
        pub(super) fn anew(&self) -> Self {
            Self { side: self.side, ..Self::new(self.range.clone(), self.near()) }
        }

        /// Whether a scan upwards from here would not come to this key.
        pub(super) fn is_past(&self, key: &[u8]) -> bool {
            self.near().is_some_and(|near| if self.side == Side::Before { key < near } else { key <= near })
        }

        /// Moves right before this key, or to the end of the range that is nearer.
        pub(super) fn seek_key(&mut self, key: &[u8]) {
            let (near, side) = match (as_slice(&self.range.0), as_slice(&self.range.1)) {
                (Bound::Included(first), _) if key < first => (first, Side::Before),
                (Bound::Excluded(first), _) if key <= first => (first, Side::At),
                (_, Bound::Included(last)) if key > last => (last, Side::After),
                (_, Bound::Excluded(last)) if key >= last => (last, Side::At),
                _ => (key, Side::Before),
            };
            *self = Self { side, ..Self::new(self.range.clone(), Some(near)) };
        }

        /// The leaf, if it has not changed: a new search in the tree would find the same.
        #[inline(always)]
        fn current<'g>(&self, index: &'g SortedIndex, down: bool) -> Option<Leaf<'g>> {
            if self.index != index.number || self.down != down {
                return None;
            }
            let leaf = Leaf::new(self.leaf.cast());
            // S5. A leaf that is locked does not count: its writer may have led the tree to another one.
            (leaf.state().load(Acquire) == self.state).then_some(leaf)
        }

        /// Whether the leaf has not changed since pairs were last packed in this direction.
        pub(super) fn is_unchanged(&self, index: &SortedIndex, down: bool) -> bool {
            self.current(index, down).is_some()
        }

        // --- steps

        /// Moves to the next pair, if it is in the same leaf and its value is in the cell, as most are. Copies key and
        /// value. Returns the key's length.
        #[inline(always)]
        pub(super) fn next_at_once(&mut self, index: &SortedIndex, down: bool) -> Option<usize> {
            if self.remaining <= self.slow_at {
                return None;
            }
            let leaf = self.current(index, down)?;
            Some(self.step(leaf, down, true)?.0)
        }

        /// Moves to the next pair of the leaf and copies its key, with `copy` its value too. Returns the key's length and
        /// the value. `None` if the value is not in the cell, or the leaf has changed.
        #[inline(always)]
        fn step<'g>(&mut self, leaf: Leaf<'g>, down: bool, copy: bool) -> Option<(usize, &'g [u8])> {
            let slot = leaf.slot_behind(self.at);
            let Body::Inline(value) = leaf.cell(slot).1 else { return None };
            if leaf.state().load(Acquire) != self.state {
                return None;
            }
            let key_len = self.put(leaf, slot, value, copy);
            self.advance(down);
            Some((key_len, value))
        }

        /// Moves to the next pair, wherever it is, and copies its key. With `copy` it copies the value too, if that is in
        /// the cell. Returns the key's length, and where the value is.
        #[cold]
        #[inline(never)]
        pub(super) fn next_slowly<'g>(
            &mut self,
            index: &'g SortedIndex,
            down: bool,
            copy: bool,
            seen: &mut dyn FnMut(Word),
        ) -> Option<(usize, Body<'g>)> {
            let leaf = if self.remaining == 0 { None } else { self.current(index, down) };
            let ready = leaf.map(|leaf| (leaf, leaf.slot_behind(self.at)));
            let ready = ready.filter(|(leaf, _)| leaf.is_unchanged(self.state));
            let fresh = ready.is_none();
            let (leaf, slot) = ready.or_else(|| self.seek(index, down, seen))?;
            if fresh {
                self.begin();
                self.bytes.extend_from_slice(leaf.prefix());
            }
            if self.remaining <= self.prefetch_at {
                self.prefetch_cells(leaf);
            }
            let (rest, value) = leaf.cell(slot);
            self.slow_at = self.prefetch_at;
            match value {
                Body::Inline(value) => _ = self.put(leaf, slot, value, copy),
                Body::Block(..) => _ = self.put(leaf, slot, &[], false),
                Body::Blob(_) => {
                    self.bytes.truncate(leaf.prefix_len.into());
                    self.bytes.extend_from_slice(&slot.head().to_be_bytes()[..slot.key_len().min(4)]);
                    self.bytes.extend_from_slice(rest);
                    self.on = Some(self.bytes.len());
                }
            }
            if !matches!(value, Body::Inline(_)) {
                // The next value is most likely large too.
                self.slow_at = usize::MAX;
                let first = if fresh { 1 } else { VALUES_AHEAD };
                (first..=VALUES_AHEAD).for_each(|ahead| self.prefetch_value(leaf, ahead, 1));
                if copy {
                    self.prefetch_value(leaf, 1, usize::MAX);
                }
            }
            self.advance(down);
            Some((self.on?, value))
        }

        #[inline(always)]
        fn advance(&mut self, down: bool) {
            self.at = if down { self.at.wrapping_sub(1) } else { self.at + 1 };
            self.remaining -= 1;
            self.prefetch_next_leaf();
        }

        /// Copies the key of a pair. With `copy` it copies the value too, which is in the cell. Returns the key's length.
        #[inline(always)]
        fn put(&mut self, leaf: Leaf<'_>, slot: Slot, value: &[u8], copy: bool) -> usize {
            let prefix_len = usize::from(leaf.prefix_len);
            let in_head = slot.key_len().min(4);
            let tail = slot.key_len() - in_head + if copy { value.len() } else { 0 };
            // SAFETY: S3. With its prefix, all that is in a cell has less than `MAX_CELL` bytes, for which there is room, and for
            // `OVER` bytes more. The prefix is there, since all pairs of the leaf share it.
            unsafe {
                copy_pair(leaf, slot, tail, self.bytes.as_mut_ptr().add(prefix_len));
                self.bytes.set_len(prefix_len + in_head + tail);
            }
            // The compiler leaves out this test where the copy was short.
            if tail > OVER {
                (0..tail / 64).for_each(|_| self.prefetch_next_leaf());
            }
            let key_len = prefix_len + slot.key_len();
            self.on = Some(key_len);
            key_len
        }

        /// Empties the buffer for the pairs of another leaf.
        fn begin(&mut self) {
            self.bytes.clear();
            if self.bytes.capacity() < ROOM {
                self.bytes = pair_buffer();
            }
        }

        /// Shows `read` the pairs that `next_at_once` would move to, without a copy of their values, until `done` is `end`
        /// or `read` returns false. Returns false in that case.
        #[inline(always)]
        pub(super) fn show(
            &mut self,
            index: &SortedIndex,
            down: bool,
            end: usize,
            done: &mut usize,
            read: &mut impl FnMut(&[u8], &[u8]) -> bool,
        ) -> bool {
            let most = self.remaining.saturating_sub(self.slow_at).min(end - *done);
            // Among large values there are none. Without this test, each step would load the leaf's state in vain.
            if most == 0 {
                return true;
            }
            let Some(leaf) = self.current(index, down) else { return true };
            for _ in 0..most {
                let Some((key_len, value)) = self.step(leaf, down, false) else { break };
                *done += 1;
                if !read(&self.bytes[..key_len], value) {
                    return false;
                }
            }
            true
        }

        // --- prefetches, and pairs in blocks

        /// Prefetches the cells of the next pairs.
        #[cold]
        fn prefetch_cells(&mut self, leaf: Leaf<'_>) {
            let count = self.remaining.min(CELLS);
            let first = if self.down { self.at + 1 - count } else { self.at };
            for at in first..first + count {
                prefetch_batch(leaf.base().wrapping_add(leaf.slot_behind(at).cell()));
            }
            self.prefetch_at = self.remaining - count;
        }

        /// Prefetches one more line of the leaf that is likely to come next.
        #[inline]
        fn prefetch_next_leaf(&mut self) {
            prefetch(self.next_line);
            self.next_line = self.next_line.wrapping_add(64);
        }

        /// Prefetches the first lines of the value that is so many pairs ahead, if it is large.
        fn prefetch_value(&self, leaf: Leaf<'_>, ahead: usize, lines: usize) {
            if ahead < self.remaining {
                let at = if self.down { self.at - ahead } else { self.at + ahead };
                match leaf.cell(leaf.slot_behind(at)).1 {
                    Body::Block(block, bytes) => (0..bytes)
                        .step_by(64)
                        .take(lines)
                        .for_each(|at| prefetch(block.as_ptr().wrapping_add(at))),
                    Body::Blob(blob) => prefetch(blob.0.as_ptr()),
                    Body::Inline(_) => {}
                }
            }
        }

        /// Moves over up to `limit` pairs and appends them to `packed`. Before each pair are the lengths of key and value, 4
        /// bytes each. It stops at the end of the leaf, at a value that is not in its cell, when the room is used up, and once
        /// `packed` has `bytes` bytes. Returns how many pairs it moved over. If there were none, a single step finds out why.
        #[inline]
        pub(super) fn pack(
            &mut self,
            index: &SortedIndex,
            down: bool,
            limit: usize,
            bytes: usize,
            packed: &mut Vec<u8>,
        ) -> usize {
            let ready = if self.remaining == 0 { None } else { self.current(index, down) };
            let fresh = ready.is_none();
            let Some(leaf) = ready.or_else(|| Some(self.seek(index, down, &mut |_| ())?.0)) else { return 0 };
            let prefix_len = usize::from(leaf.prefix_len);
            let (mut len, mut at, mut last) = (packed.len(), self.at, 0..0);
            let mut budget = self.remaining.min(limit);
            while budget > 0 && len < bytes {
                let slot = leaf.slot_behind(at);
                let Body::Inline(value) = leaf.cell(slot).1 else { break };
                let key_len = prefix_len + slot.key_len();
                let tail = slot.key_len().saturating_sub(4) + value.len();
                let whole = PAIR_HEAD + key_len + value.len();
                let is_unchanged = (leaf.state.load(Acquire) ^ self.state) & !LOCKED == 0;
                if !is_unchanged || packed.capacity() - len < whole + OVER {
                    break;
                }
                // SAFETY: S3. There is room for the pair and `OVER` bytes more. A leaf is longer than what is read of a short prefix.
                unsafe {
                    let to = packed.as_mut_ptr().add(len);
                    to.cast::<[u32; 2]>().write_unaligned([key_len as u32, value.len() as u32]);
                    let to = to.add(PAIR_HEAD);
                    let prefix = leaf.base().add(HEAD);
                    if prefix_len <= 8 {
                        to.cast::<u64>().write_unaligned(prefix.cast::<u64>().read_unaligned());
                    } else {
                        to.copy_from_nonoverlapping(prefix, prefix_len);
                    }
                    copy_pair(leaf, slot, tail, to.add(prefix_len));
                }
                last = len + PAIR_HEAD..len + PAIR_HEAD + key_len;
                len += whole;
                at = if down { at.wrapping_sub(1) } else { at + 1 };
                budget -= 1;
            }
            // SAFETY: R1. So much was written.
            unsafe { packed.set_len(len) };
            let done = self.remaining.min(limit) - budget;
            if done > 0 {
                self.begin();
                self.bytes.extend_from_slice(&packed[last.clone()]);
                (self.on, self.at, self.remaining) = (Some(last.len()), at, self.remaining - done);
            } else if fresh {
                // `bytes` still begins with the prefix of another leaf.
                self.index = 0;
            }
            done
        }

        /// Finds the leaf of the next pair, and its slot. Tells `seen` the word of each leaf in which it looked: W1. S3: it waits
        /// while slots shift there.
        #[cold]
        fn seek<'g>(
            &mut self,
            index: &'g SortedIndex,
            down: bool,
            seen: &mut dyn FnMut(Word),
        ) -> Option<(Leaf<'g>, Slot)> {
            let (lower, upper) = (as_slice(&self.range.0), as_slice(&self.range.1));
            let to = if down { lower } else { upper };
            let mut passed =
                self.edge.take().filter(|_| self.remaining == 0 && self.current(index, down).is_some());
            let mut turns = 0;
            loop {
                let facing = if down { Side::After } else { Side::Before };
                let from = match (&passed, self.near()) {
                    (Some(edge), _) if down => Bound::Excluded(&**edge),
                    (Some(edge), _) => Bound::Included(&**edge),
                    (None, Some(near)) if self.side == facing => Bound::Included(near),
                    (None, Some(near)) => Bound::Excluded(near),
                    (None, None) if down => upper,
                    (None, None) => lower,
                };
                let (leaf, edge) = index.leaf_at(from, down)?;
                let state = leaf.state.load(Acquire);
                let count = leaf.count();
                let next = if down {
                    pairs_between(leaf, count, to, from)
                } else {
                    pairs_between(leaf, count, from, to)
                };
                let at = if down { next.end.wrapping_sub(1) } else { next.start };
                let slot = (!next.is_empty()).then(|| leaf.slot(at));
                let at = at.wrapping_add(usize::from(leaf.slots) / SLOT);
                // In the tree of a snapshot the leaf may be replaced, but it never changes: V3.
                let replaced = state & REPLACED != 0 && index.past.origin.is_none();
                if replaced || !leaf.is_unchanged(state) {
                    wait(&mut turns);
                    continue;
                }
                // While a thread has the lock, the word is another one.
                seen((leaf.state(), state & !LOCKED));
                // If a bound of the range is in this leaf, the scan ends here.
                let whole = if down { next.start == 0 } else { next.end == count };
                let edge = edge.filter(|_| whole);
                let next_leaf = edge
                    .map_or(leaf.base(), |(inner, at)| inner.child(at + usize::from(!down)).load(Relaxed));
                let edge = edge.map(|(inner, at)| Bytes::new(inner.separator(at)));
                if let Some(slot) = slot {
                    (self.next_line, self.side) = (next_leaf, Side::On);
                    (self.leaf, self.state, self.index) = (leaf.head, state & !LOCKED, index.number);
                    (self.at, self.remaining, self.prefetch_at) = (at, next.len(), 0);
                    (self.down, self.edge) = (down, edge);
                    // In WebAssembly, steps do not prefetch the next leaf.
                    if passed.is_none() != cfg!(target_family = "wasm") {
                        self.prefetch_cells(leaf);
                    }
                    return Some((leaf, slot));
                }
                passed = Some(edge.filter(|edge| !beyond(edge, to, down))?);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------
// Store
// ---------------------------------------------------------------------------------------------------

// --- what a table is made with

/// The kind of index that a table has, chosen when the table is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Finds single keys.
    Hash,
    /// Finds single keys, and scans keys in the order of their unsigned bytes.
    Sorted,
}

impl IndexKind {
    /// `hash` or `sorted`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Sorted => "sorted",
        }
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IndexKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "hash" => Ok(Self::Hash),
            "sorted" => Ok(Self::Sorted),
            _ => Err(Error::UnknownIndex { name: name.into() }),
        }
    }
}

/// The codec of bytes, which are read as they are stored.
pub const BYTES: &str = "bytes";

/// Options of [`Store::table_with`]: how it opens a table, and the properties of a new one.
///
/// A codec says what the bytes of keys or values mean. The engine only remembers its name, so that every program and
/// every language reads a table as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions<'n> {
    index: IndexKind,
    any_index: bool,
    create: bool,
    keys: Codec<'n>,
    values: Codec<'n>,
}

/// The name of a codec that a caller asks for, and whether a table that exists already may have any other.
type Codec<'n> = (&'n str, bool);

impl<'n> TableOptions<'n> {
    /// A table with this index, which is created if there is none, with `bytes` as keys and values.
    pub fn new(index: IndexKind) -> Self {
        Self { index, any_index: false, create: true, keys: (BYTES, true), values: (BYTES, true) }
    }

    /// Whether a table that is there may have the other index.
    #[must_use]
    pub fn any_index(self, any_index: bool) -> Self {
        Self { any_index, ..self }
    }

    /// Whether to create a missing table.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Names the codec of the keys. A table that has another is an error; `bytes` opens any.
    #[must_use]
    pub fn keys(self, name: &'n str) -> Self {
        Self { keys: (name, false), ..self }
    }

    /// Names the codec of the values, as [`keys`](Self::keys).
    #[must_use]
    pub fn values(self, name: &'n str) -> Self {
        Self { values: (name, false), ..self }
    }

    /// Names the codec of the keys of a new table. An existing table keeps its own.
    #[must_use]
    pub fn keys_if_new(self, name: &'n str) -> Self {
        Self { keys: (name, true), ..self }
    }

    /// Names the codec that the values of a new table get, as [`keys_if_new`](Self::keys_if_new).
    #[must_use]
    pub fn values_if_new(self, name: &'n str) -> Self {
        Self { values: (name, true), ..self }
    }

    /// The index.
    pub fn index(&self) -> IndexKind {
        self.index
    }

    /// Whether to create a missing table.
    pub fn creates(&self) -> bool {
        self.create
    }

    fn check_names(&self, table: &str) -> Result<()> {
        let is_invalid = |name: &str| name.is_empty() || name.len() > MAX_NAME_BYTES;
        if is_invalid(table) {
            return Err(Error::TableName { name: table.into() });
        }
        let invalid = [self.keys.0, self.values.0].into_iter().find(|name| is_invalid(name));
        invalid.map_or(Ok(()), |name| Err(Error::CodecName { name: name.into() }))
    }

    /// For bindings: fails if a table, also one of a snapshot, is not as these options say.
    #[doc(hidden)]
    pub fn check(&self, table: &Table) -> Result<()> {
        if !self.any_index {
            table.needs(self.index)?;
        }
        let (keys, values) = table.codecs();
        for (of, (needs, any), has) in [("keys", self.keys, keys), ("values", self.values, values)] {
            // Every table may be opened as plain bytes.
            if !any && needs != BYTES && needs != has {
                let (table, has, needs) = (table.name().into(), has.into(), needs.into());
                return Err(Error::WrongCodec { table, of, has, needs });
            }
        }
        Ok(())
    }

    /// The codecs that a new table gets, of its keys and of its values.
    pub fn codecs(&self) -> (&'n str, &'n str) {
        (self.keys.0, self.values.0)
    }
}

// --- the store

/// A set of named tables in memory.
///
/// A handle: clones are the same store, and it lives as long as the last handle of it or of its tables.
///
/// # Waiting
///
/// Locks are held for microseconds. A thread that waits for one spins, then yields to other threads, but does not sleep. Under a
/// real-time scheduler, give the threads that write to one store the same priority: a waiting thread may otherwise keep its lock's
/// holder off the processor for ever.
///
/// A child of `fork` must not use a store of its parent: a lock that another thread held at the fork stays locked in the child. A store
/// that the child makes works.
#[derive(Clone, Default)]
pub struct Store {
    inner: Arc<StoreInner>,
}

#[derive(Default)]
struct StoreInner {
    /// Snapshots share them with the store until they change.
    tables: Mutex<Arc<Tables>>,
    memory: Arc<Memory>,
}

/// Tables by name. Dropped ones leave `None`, at most half: a map's removal is 1 kB of a compressed WebAssembly module.
#[derive(Clone, Default)]
struct Tables {
    by_name: BTreeMap<String, Option<Table>>,
    dropped: usize,
}

impl Tables {
    fn get(&self, name: &str) -> Option<&Table> {
        self.by_name.get(name)?.as_ref()
    }

    fn iter(&self) -> impl Iterator<Item = &Table> {
        self.by_name.values().flatten()
    }

    fn insert(&mut self, table: Table) {
        self.dropped -= usize::from(self.by_name.insert(table.name().into(), Some(table)).is_some());
    }

    fn remove(&mut self, name: &str) -> Option<Table> {
        let table = self.by_name.get_mut(name)?.take()?;
        self.dropped += 1;
        if self.dropped > self.by_name.len() / 2 {
            let all = std::mem::take(self);
            all.iter().cloned().for_each(|table| self.insert(table));
        }
        Some(table)
    }
}

impl Store {
    /// An empty store without a memory limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that holds at most `limit` bytes, as [`memory`](Self::memory) counts them.
    pub fn with_memory_limit(limit: usize) -> Self {
        let store = Self::new();
        store.set_memory_limit(Some(limit));
        store
    }

    /// Opens the table called `name`, or creates it with this index.
    ///
    /// Fails if a table of that name has the other index, the name is not 1 to 255 bytes long, or a new table would
    /// take the store past its memory limit: without pairs too, it counts some 800 bytes and its name.
    pub fn table(&self, name: &str, index: IndexKind) -> Result<Table> {
        self.table_with(name, TableOptions::new(index))
    }

    /// As [`table`](Self::table), with the codecs of its keys and values, and only an existing table if the options say so.
    ///
    /// Also fails with [`Error::WrongCodec`] if the table has another codec than the one named, and with [`Error::NoTable`].
    pub fn table_with(&self, name: &str, options: TableOptions<'_>) -> Result<Table> {
        options.check_names(name)?;
        let mut tables = lock(&self.inner.tables);
        let table = match tables.get(name) {
            Some(table) => table.clone(),
            None if !options.create => return Err(Error::NoTable { name: name.into() }),
            None => {
                let table = Table::new(name, options, &self.inner.memory)?;
                Arc::make_mut(&mut tables).insert(table.clone());
                table
            }
        };
        options.check(&table)?;
        Ok(table)
    }

    /// The table called `name`, if there is one.
    pub fn find_table(&self, name: &str) -> Option<Table> {
        lock(&self.inner.tables).get(name).cloned()
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        lock(&self.inner.tables).iter().cloned().collect()
    }

    /// Removes a table and its pairs. Returns whether there was one.
    ///
    /// From then on its handles find nothing, and their writes fail with [`Error::TableDropped`].
    pub fn drop_table(&self, name: &str) -> bool {
        let mut tables = lock(&self.inner.tables);
        let removed = tables.get(name).is_some().then(|| Arc::make_mut(&mut tables).remove(name)).flatten();
        drop(tables);
        removed.is_some_and(|table| {
            // A commit finds it dropped before it writes, or after that.
            let writing = self.inner.memory.enter();
            table.inner.dropped.store(true, Release);
            drop(writing);
            table.renew();
            true
        })
    }

    /// The bytes that the store holds: tables and their names, pairs, indexes, and free space for reuse.
    ///
    /// A table uses the memory of deleted and replaced pairs for others, and returns it once it is empty. So a table that has
    /// lost most of its pairs still keeps its memory; after a dump and a load it takes only the memory that it needs. Values that grow
    /// step by step leave gaps of their former sizes.
    pub fn memory(&self) -> usize {
        self.inner.memory.used.load(Relaxed)
    }

    /// The most bytes that the store may hold, or `None` if there is no limit.
    pub fn memory_limit(&self) -> Option<usize> {
        let limit = self.inner.memory.limit.load(Relaxed);
        (limit != usize::MAX).then_some(limit)
    }

    /// Sets the memory limit. A store that already holds more keeps its pairs, and refuses to grow. A write that finds no memory may wait
    /// some milliseconds for readers of replaced or deleted pairs.
    pub fn set_memory_limit(&self, limit: Option<usize>) {
        self.inner.memory.limit.store(limit.unwrap_or(usize::MAX), Relaxed);
    }

    /// Runs `write` with another memory limit, for this thread only.
    #[doc(hidden)]
    pub fn within<T>(&self, limit: usize, write: impl FnOnce() -> T) -> T {
        struct Ended;
        impl Drop for Ended {
            fn drop(&mut self) {
                let _ = OWN_LIMIT.try_with(|own| own.set((0, 0)));
            }
        }
        let _ended = Ended;
        let _ = OWN_LIMIT.try_with(|own| own.set((Arc::as_ptr(&self.inner.memory).addr(), limit)));
        write()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("tables", &self.tables()).field("memory", &self.memory()).finish()
    }
}

// ---------------------------------------------------------------------------------------------------
// Table
// ---------------------------------------------------------------------------------------------------

/// The change that [`Table::alter`] makes to a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<V = Vec<u8>> {
    /// Leaves it as it is.
    Keep,
    /// Gives the key this value, present or not.
    Set(V),
    /// Removes it.
    Delete,
}

/// A key, the value it should have, and the one it then gets, as in [`Table::compare_and_swap`].
pub type Swap<'a, K> = (K, Option<&'a [u8]>, Option<&'a [u8]>);

/// A key and its value, as they come in batches.
type KeyValue<'p> = (&'p [u8], &'p [u8]);

/// A batch is written in pieces of so many pairs. Larger pieces are no quicker.
const BATCH: usize = tuned(4096, 40);

/// The sum of a value that is a decimal integer and of `by`.
#[doc(hidden)]
pub fn incremented(text: &[u8], by: i64) -> Boxed<i64> {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let value = value.ok_or_else(|| Error::NotAnInteger { start: excerpt(text) })?;
    value.checked_add(by).ok_or_else(|| Box::new(Error::Overflow { value, by }))
}

/// What to do with a pair, as a closure says that is shown the key's value.
type Decision<V> = Boxed<Change<V>>;

/// One of the three verbs that give a key a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// [`Table::insert`].
    Insert,
    /// [`Table::replace`].
    Replace,
    /// [`Table::upsert`].
    Upsert,
}

impl Write {
    /// `insert`, `replace` or `upsert`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Replace => "replace",
            Self::Upsert => "upsert",
        }
    }

    /// Whether the verb takes effect, depending on whether the key is present.
    #[inline]
    pub const fn takes_effect(self, is_there: bool) -> bool {
        match self {
            Self::Insert => !is_there,
            Self::Replace => is_there,
            Self::Upsert => true,
        }
    }
}

#[inline]
fn set_if(wanted: bool, value: &[u8]) -> Change<&[u8]> {
    if wanted { Change::Set(value) } else { Change::Keep }
}

// --- closures that use the store whose lock they run under

/// While it lives, the thread runs the closure of an `alter`. A debug build remembers of which table.
struct Altering(Option<Table>);

sync::thread_local! {
    static ALTERED: RefCell<Option<Table>> = const { RefCell::new(None) };
}

impl Altering {
    fn begin(table: &Table) -> Self {
        let begun = || ALTERED.try_with(|altered| altered.replace(Some(table.clone()))).unwrap_or_default();
        Self(if cfg!(debug_assertions) { begun() } else { None })
    }

    /// Panics in a debug build if the closure of an `alter` in the same store is running.
    #[inline(always)]
    fn check(table: &Table) {
        if !cfg!(debug_assertions) {
            return;
        }
        let altered = ALTERED.try_with(|altered| altered.borrow().clone()).unwrap_or_default();
        if let Some(altered) = altered.filter(|one| Arc::ptr_eq(&one.inner.memory, &table.inner.memory)) {
            let name = altered.name();
            panic!("an alter of table \"{name}\" uses its own store, and would wait for itself for ever");
        }
    }
}

impl Drop for Altering {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            let _ended = ALTERED.try_with(|altered| altered.replace(self.0.take()));
        }
    }
}

// --- the table

/// A named set of pairs under one index.
///
/// A handle: clones are the same table.
#[derive(Clone)]
pub struct Table {
    inner: Arc<TableInner>,
}

/// The fields that every verb needs come first, so that they are in one cache line.
#[repr(C)]
struct TableInner {
    /// With which a look-up in a hash table is pinned. A sorted table has `NO_TICKET`, so one comparison serves both.
    ticket: u64,
    memory: Arc<Memory>,
    dropped: AtomicBool,
    pairs: Pairs,
    name: String,
    /// The names of the codecs of the keys and of the values.
    codecs: [Box<str>; 2],
    /// The snapshot that this table shows. Such a table counts as dropped for writes.
    moment: Option<Arc<Moment>>,
}

impl TableInner {
    /// What a table counts for itself: this struct, its index (of the two kinds the sorted one is larger), its name here
    /// and in the store, its codecs, and what the store's map and the allocator take for them.
    fn bytes(name: &str, (keys, values): (&str, &str)) -> usize {
        784 + 2 * name.len() + keys.len() + values.len()
    }
}

impl Drop for TableInner {
    fn drop(&mut self) {
        let [keys, values] = &self.codecs;
        self.memory.release(Self::bytes(&self.name, (keys, values)));
    }
}

/// The index of a table, with its pairs. A table that is emptied gets a new index.
enum Pairs {
    Hash(Shared<hash::HashIndex>),
    Sorted(Shared<sorted::SortedIndex>),
}

impl Pairs {
    fn ticket(&self, memory: &Memory) -> u64 {
        if let Self::Hash(_) = self { epoch::ticket(memory) } else { epoch::NO_TICKET }
    }
}

/// Runs the same code with either index.
macro_rules! with_index {
    ($pairs:expr, $index:ident => $do:expr) => {
        match &$pairs {
            Pairs::Hash($index) => $do,
            Pairs::Sorted($index) => $do,
        }
    };
}

impl Table {
    fn new(name: &str, options: TableOptions<'_>, memory: &Arc<Memory>) -> Result<Self> {
        let (keys, values) = options.codecs();
        memory.allot(TableInner::bytes(name, (keys, values)))?;
        let own = || Arc::clone(memory);
        let pairs = match options.index {
            IndexKind::Hash => Pairs::Hash(Shared::new(hash::HashIndex::new(own(), hashing()), own())),
            IndexKind::Sorted => Pairs::Sorted(Shared::new(sorted::SortedIndex::new(own()), own())),
        };
        let codecs = [keys.into(), values.into()];
        let (ticket, memory, dropped) = (pairs.ticket(memory), own(), AtomicBool::new(false));
        let inner = TableInner { ticket, name: name.into(), codecs, dropped, memory, pairs, moment: None };
        Ok(Self { inner: Arc::new(inner) })
    }

    #[inline(always)]
    fn pin(&self) -> epoch::Guard {
        Altering::check(self);
        epoch::pin(&self.inner.memory)
    }

    /// Begins a pin under which this thread may write. Snapshots and commits keep writers out for a moment.
    #[inline(always)]
    fn enter(&self) -> Boxed<epoch::Guard> {
        Altering::check(self);
        let pinned = epoch::pin_to_write(&self.inner.memory);
        if self.inner.memory.newest.0.load(Acquire) != 0 { self.enter_slowly(pinned) } else { Ok(pinned) }
    }

    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, pinned: epoch::Guard) -> Boxed<epoch::Guard> {
        if self.inner.moment.is_some() {
            return Err(self.refused());
        }
        Ok(self.inner.memory.wait_until_open(pinned))
    }

    /// Replaces the index by an empty one: T1. It repeats that until the new index is the one that this thread made. So a
    /// thread that finds it also sees what this thread did before, such as marking the table as dropped.
    fn renew(&self) {
        with_index!(self.inner.pairs, index => {
            let replace = |old: Arc<_>| index.replace(&old, old.anew());
            while !replace(index.get_arc()) {}
        });
    }

    /// Returns the memory of a table that has lost its last pair.
    #[cold]
    fn renew_if_empty(&self) {
        with_index!(self.inner.pairs, index => {
            let emptied = index.get_arc();
            let pinned = self.inner.memory.enter();
            let closed = emptied.close_if_empty();
            drop(pinned);
            if closed {
                index.replace(&emptied, emptied.anew());
            }
        });
    }

    /// Frees all that was deleted or replaced and that no reader can be in. Returns whether there was any. For durable: pairs that were
    /// cleared or dropped in [`alone`](Store::alone) wait for that, as the thread is a reader itself.
    #[doc(hidden)]
    #[cold]
    pub fn reclaim(&self) -> bool {
        with_index!(self.inner.pairs, index => index.free_old() | index.get_arc().reclaim())
    }

    /// The name it has in its store.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The index it was created with.
    pub fn index(&self) -> IndexKind {
        match self.inner.pairs {
            Pairs::Hash(_) => IndexKind::Hash,
            Pairs::Sorted(_) => IndexKind::Sorted,
        }
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        with_index!(self.inner.pairs, index => index.get(&self.pin()).len())
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that this table's pairs hold, its index, and free space for reuse: none before its first pair. A table that
    /// has become empty keeps up to 64 KiB.
    pub fn memory(&self) -> usize {
        with_index!(self.inner.pairs, index => {
            index.free_old();
            index.get(&self.pin()).heap.bytes()
        })
    }

    /// Removes all pairs and returns their memory.
    ///
    /// Pairs that other threads write meanwhile may stay.
    pub fn clear(&self) -> Result<()> {
        self.check_not_dropped()?;
        self.renew();
        Ok(())
    }

    /// Prepares a hash table for this many pairs in all, so that filling it is faster. A sorted table needs no preparation.
    ///
    /// Fails with [`Error::MemoryLimit`] if they do not fit; the pairs themselves need more.
    pub fn reserve(&self, pairs: usize) -> Result<()> {
        self.check_not_dropped()?;
        if let Pairs::Hash(index) = &self.inner.pairs {
            index.get(&self.pin()).check_room(pairs)?;
            let mut from = Some(0);
            while let Some(at) = from {
                from = index.get(&self.enter()?).reserve(pairs, at)?;
            }
        }
        Ok(())
    }

    /// The names of the codecs of the keys and of the values.
    pub fn codecs(&self) -> (&str, &str) {
        let [keys, values] = &self.inner.codecs;
        (keys, values)
    }

    fn needs(&self, needs: IndexKind) -> Result<()> {
        if self.index() == needs {
            return Ok(());
        }
        Err(Error::WrongIndex { table: self.inner.name.clone(), has: self.index(), needs })
    }

    /// Whether both are handles of the same table.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether the table was dropped from its store. Its handles find nothing then, and their writes fail.
    pub fn is_dropped(&self) -> bool {
        self.inner.dropped.load(Acquire) && self.inner.moment.is_none()
    }

    #[inline]
    fn check_not_dropped(&self) -> Result<()> {
        if self.inner.dropped.load(Acquire) { Err(*self.refused()) } else { Ok(()) }
    }

    /// The error of a write to a table that was dropped, out of line, so that the way of other writes stays short.
    #[expect(clippy::unnecessary_box_returns, reason = "a result holds it in a box")]
    #[cold]
    #[inline(never)]
    fn refused(&self) -> Box<Error> {
        let table = self.inner.name.clone();
        let is_shown = self.inner.moment.is_some();
        Box::new(if is_shown { Error::ReadOnly { table } } else { Error::TableDropped { table } })
    }

    // --- write verbs

    /// Adds the pair if the key is absent. Returns whether it was.
    #[must_use = "whether the key was absent: nothing is written where it was present"]
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Insert, key, value)
    }

    /// Replaces the value if the key is present. Returns whether it was.
    pub fn replace(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Replace, key, value)
    }

    /// Gives the key this value, present or not.
    pub fn upsert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.write(Write::Upsert, key, value).map(drop)
    }

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.change(key.as_ref(), true, |_| Ok(Change::<&[u8]>::Delete))
    }

    /// Removes the pair and returns its value, or `None` if the key was absent.
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let mut value = None;
        self.change(key.as_ref(), true, |old| {
            value = old.map(<[u8]>::to_vec);
            Ok(Change::<&[u8]>::Delete)
        })?;
        Ok(value)
    }

    /// The key's value. If the key is absent, adds the value that `make` returns.
    ///
    /// `make` runs without a lock. If another thread adds the key meanwhile, that thread's value is returned.
    pub fn get_or_insert_with<V: AsRef<[u8]>>(
        &self,
        key: impl AsRef<[u8]>,
        make: impl FnOnce() -> V,
    ) -> Result<Vec<u8>> {
        let key = key.as_ref();
        check_key(key)?;
        self.check_not_dropped()?;
        if let Some(value) = self.select(key) {
            return Ok(value);
        }
        let (value, mut theirs) = (make(), None);
        let value = value.as_ref();
        check_value(value)?;
        self.change(key, true, |old| {
            theirs = old.map(<[u8]>::to_vec);
            Ok(set_if(old.is_none(), value))
        })?;
        Ok(theirs.unwrap_or_else(|| value.to_vec()))
    }

    /// Removes the pair with the least key of a sorted table and returns it. Of several threads, each gets another pair.
    pub fn pop_first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(false)
    }

    /// Removes the pair with the greatest key of a sorted table and returns it, as [`pop_first`](Self::pop_first).
    pub fn pop_last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(true)
    }

    fn pop(&self, last: bool) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut cursor = self.cursor(..)?;
        self.check_not_dropped()?;
        while let Some((key, _)) = cursor.step(last) {
            let key = key.to_vec();
            // If another thread was quicker, the next pair is tried.
            if let Some(value) = self.take(&key)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }

    /// Removes the pairs of a sorted table with keys in `range`. Returns how many.
    ///
    /// It is not one step: other threads may see some of the pairs gone and others not. Pairs that they write meanwhile may
    /// stay. An error leaves the pairs that were not yet removed.
    pub fn delete_range(&self, range: impl KeyRange) -> Result<usize> {
        let mut cursor = self.cursor(range)?;
        self.check_not_dropped()?;
        let (mut removed, mut keys) = (0, Vec::new());
        // From the greatest key down, so that no slots of a leaf have to move.
        while cursor.steps(true, Cursor::PINNED, |key, _| {
            keys.push(key.to_vec());
            true
        }) > 0
        {
            removed += self.delete_many(&keys)?.into_iter().filter(|deleted| *deleted).count();
            keys.clear();
        }
        Ok(removed)
    }

    /// Removes the pairs of a sorted table whose keys start with `prefix`, as [`delete_range`](Self::delete_range).
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<usize> {
        self.delete_range(prefix_range(prefix.as_ref()))
    }

    /// Removes the pairs for which `keep` returns false. Returns how many.
    ///
    /// `keep` runs without a lock. A pair whose value other threads change meanwhile may stay.
    pub fn retain(&self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> Result<usize> {
        self.check_not_dropped()?;
        let mut removed = 0;
        for (key, value) in self.iter().filter(|(key, value)| !keep(key, value)) {
            removed += usize::from(self.compare_and_swap(key, Some(&value), None)?);
        }
        Ok(removed)
    }

    /// Shows `change` the value of the key, or `None` if it is absent, and does what it returns. No other write to the key
    /// comes in between. Returns whether a pair was written or removed.
    ///
    /// `change` runs once, under a lock. It must not use this store, or it may wait for itself for ever; a debug build panics
    /// instead. If the memory limit refused what it returned, another call may find memory that deletes have freed.
    pub fn alter(&self, key: impl AsRef<[u8]>, change: impl FnOnce(Option<&[u8]>) -> Change) -> Result<bool> {
        let mut change = Some(change);
        let done = self.change(key.as_ref(), false, |old| {
            let _altering = Altering::begin(self);
            let change = change.take().map_or(Change::Keep, |change| change(old));
            if let Change::Set(value) = &change {
                check_value(value)?;
            }
            Ok(change)
        });
        // The closure may have dropped a snapshot.
        self.inner.memory.close_dropped();
        done
    }

    /// Adds `by` to the value, a decimal integer in ASCII such as `-42`, and returns the sum. An absent key counts as 0.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let mut sum = by;
        self.change(key.as_ref(), true, |old| {
            sum = old.map_or(Ok(by), |text| incremented(text, by))?;
            Ok(Change::Set(sum.to_string().into_bytes()))
        })?;
        Ok(sum)
    }

    /// If the key has the value `expected`, gives it the value `new`. `None` stands for an absent key in both. Returns whether
    /// it had that value.
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        new.map_or(Ok(()), check_value)?;
        let mut matched = false;
        self.change(key.as_ref(), true, |old| {
            matched = old == expected;
            Ok(match new {
                _ if !matched => Change::Keep,
                Some(value) => Change::Set(value),
                None => Change::Delete,
            })
        })?;
        Ok(matched)
    }

    /// Does the verb that `write` names. Returns whether it took effect.
    #[inline(always)]
    pub fn write(&self, write: Write, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let (key, value) = (key.as_ref(), value.as_ref());
        check_value(value)?;
        let decide = |old: Option<&[u8]>| Ok(set_if(write.takes_effect(old.is_some()), value));
        // Programs download a WebAssembly module. Only the fast one has a copy of the write path for these verbs alone.
        if SMALL { self.change(key, true, decide) } else { self.change_at_once(key, true, decide) }
    }

    /// Changes a pair as `decide` says. Returns whether one was written or removed. All single writes go through here. If
    /// memory was refused and deletes have left some, it asks `decide` once more, but only if `again` allows that.
    fn change<'v, V: AsRef<[u8]> + Into<Cow<'v, [u8]>>>(
        &self,
        key: &[u8],
        again: bool,
        decide: impl FnMut(Option<&[u8]>) -> Decision<V>,
    ) -> Result<bool> {
        #[cfg(target_family = "wasm")]
        type Decide<'d, 'v> = &'d mut dyn FnMut(Option<&[u8]>) -> Decision<Cow<'v, [u8]>>;
        #[cfg(target_family = "wasm")]
        let mut decide = decide;
        #[cfg(target_family = "wasm")]
        let decide: Decide<'_, 'v> = &mut |old: Option<&[u8]>| {
            Ok(match decide(old)? {
                Change::Keep => Change::Keep,
                Change::Set(value) => Change::Set(value.into()),
                Change::Delete => Change::Delete,
            })
        };
        self.change_at_once(key, again, decide)
    }

    /// As `change`. The first attempt is inlined. It seldom needs another.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn change_at_once<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        again: bool,
        mut decide: impl FnMut(Option<&[u8]>) -> Decision<V>,
    ) -> Result<bool> {
        check_key(key)?;
        match self.attempt(key, &mut decide) {
            Attempt::Done(changed) => Ok(changed),
            other => self.insist(other, key, again, &mut decide),
        }
    }

    /// Tries again after the first attempt.
    #[cold]
    #[inline(never)]
    fn insist<V: AsRef<[u8]>>(
        &self,
        mut attempt: Attempt,
        key: &[u8],
        mut again: bool,
        mut decide: &mut dyn FnMut(Option<&[u8]>) -> Decision<V>,
    ) -> Result<bool> {
        let mut turns = 0;
        loop {
            match attempt {
                Attempt::Done(changed) => return Ok(changed),
                Attempt::Retry => {
                    with_index!(self.inner.pairs, index => _ = index.free_old());
                    wait(&mut turns);
                }
                Attempt::Failed(error) => {
                    let is_full = matches!(*error, Error::MemoryLimit { .. });
                    if !(is_full && self.reclaim_soon() && mem::take(&mut again)) {
                        return Err(*error);
                    }
                }
            }
            attempt = self.attempt(key, &mut decide);
        }
    }

    /// As `reclaim`. If readers keep all that could be freed, it waits for them, some milliseconds at most: most are there for less
    /// than a microsecond, but the system may have interrupted one.
    fn reclaim_soon(&self) -> bool {
        const TURNS: u32 = 32;
        for turn in 0..TURNS {
            if self.reclaim() {
                return true;
            }
            let is_kept = with_index!(self.inner.pairs, index => index.get_arc().has_retired());
            if !is_kept || epoch::is_pinned(&self.inner.memory) {
                break;
            }
            if turn < TURNS / 2 { sync::yield_now() } else { sync::pause() }
        }
        false
    }

    /// One attempt of a change.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn attempt<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        decide: &mut impl FnMut(Option<&[u8]>) -> Decision<V>,
    ) -> Attempt {
        let pinned = match self.enter() {
            Ok(pinned) => pinned,
            Err(error) => return Attempt::Failed(error),
        };
        let (changed, emptied) = with_index!(self.inner.pairs, index => {
            let index = index.get(&pinned);
            // T1: a thread that finds the index that a drop put in place also sees this.
            if self.inner.dropped.load(Acquire) {
                return Attempt::Failed(self.refused());
            }
            match index.change(key, decide) {
                Attempt::Done(changed) => (changed, &index.emptied),
                other => return other,
            }
        });
        if take_flag(emptied) {
            drop(pinned);
            self.renew_if_empty();
        }
        Attempt::Done(changed)
    }

    // --- write verbs over many

    /// [`insert`](Self::insert) for each pair. Returns whether each took effect.
    pub fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        self.write_many(Write::Insert, pairs)
    }

    /// [`replace`](Self::replace) for each pair. Returns whether each took effect.
    pub fn replace_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        self.write_many(Write::Replace, pairs)
    }

    /// [`upsert`](Self::upsert) for each pair.
    pub fn upsert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<()> {
        self.write_many(Write::Upsert, pairs).map(drop)
    }

    /// [`write`](Self::write) for each pair. Returns whether each took effect.
    pub fn write_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        write: Write,
        pairs: &[(K, V)],
    ) -> Result<Vec<bool>> {
        fn slices<K: AsRef<[u8]>, V: AsRef<[u8]>>((key, value): &(K, V)) -> KeyValue<'_> {
            (key.as_ref(), value.as_ref())
        }
        let check = |(key, value): KeyValue<'_>| check_key(key).and_then(|()| check_value(value));
        pairs.iter().map(slices).try_for_each(check)?;
        // Programs download a WebAssembly module, so it has one copy of the write path.
        if cfg!(target_family = "wasm") {
            let write_one = |(key, value): &(K, V)| self.write(write, key, value);
            return self.each(pairs, |(key, _)| key.as_ref(), write_one);
        }
        let mut results = Vec::with_capacity(pairs.len());
        for group in pairs.chunks(BATCH) {
            // Each key and value is taken from the caller's type once and then checked: asked again, the type might return
            // other bytes.
            let group: Vec<_> = group.iter().map(slices).collect();
            self.write_each(&group, &mut results, |_, old| write.takes_effect(old.is_some()))?;
        }
        Ok(results)
    }

    /// Writes each pair that `wants` accepts, and adds to `took` whether it did. `wants` gets the pair's position and,
    /// under the key's lock, the key's value. It is asked again if room had to be made first.
    ///
    /// If it fails, `took` says which pairs were written. Pairs beyond its end were not.
    #[doc(hidden)]
    pub fn write_each(
        &self,
        pairs: &[(&[u8], &[u8])],
        took: &mut Vec<bool>,
        mut wants: impl FnMut(usize, Option<&[u8]>) -> bool,
    ) -> Result<()> {
        pairs.iter().try_for_each(|(key, value)| check_key(key).and_then(|()| check_value(value)))?;
        for (number, group) in pairs.chunks(BATCH).enumerate() {
            let wants = &mut |at, old: Option<&[u8]>| wants(number * BATCH + at, old);
            self.write_batch(group, took, wants)?;
        }
        Ok(())
    }

    /// As [`write_each`](Self::write_each), for so many pairs whose lengths are checked.
    fn write_batch(
        &self,
        pairs: &[KeyValue<'_>],
        results: &mut Vec<bool>,
        wants: &mut impl FnMut(usize, Option<&[u8]>) -> bool,
    ) -> Result<()> {
        /// With fewer pairs it is not worth while to go shard by shard: too few are of the same one.
        const MIN_BY_SHARD: usize = tuned(64, 4);
        let before = results.len();
        let may_write = || !self.is_dropped();
        match &self.inner.pairs {
            Pairs::Hash(index) if pairs.len() >= MIN_BY_SHARD && !cfg!(target_family = "wasm") => {
                results.resize(before + pairs.len(), false);
                let took = &mut results[before..];
                let pinned = self.enter()?;
                let mut unwritten = index.get(&pinned).write_many(pairs, took, may_write, wants);
                drop(pinned);
                // The first pair that fails gives the error. Those before it are written.
                unwritten.sort_unstable();
                for at in unwritten {
                    took[at as usize] = self.write_one(pairs, at as usize, wants)?;
                }
            }
            Pairs::Sorted(index) if !cfg!(target_family = "wasm") => {
                let ascend = pairs.is_sorted_by(|one, next| one.0 <= next.0);
                while let from = results.len() - before
                    && let rest = &pairs[from..]
                    && !rest.is_empty()
                {
                    let done = results.len();
                    let wants = &mut |at, old: Option<&[u8]>| wants(from + at, old);
                    if ascend {
                        index.get(&self.enter()?).write_run(rest, results, may_write, wants);
                    }
                    if results.len() == done {
                        let group = &rest[..rest.len().min(sorted::KEYS_AT_ONCE)];
                        index.get(&self.enter()?).write_group(group, results, may_write, wants);
                    }
                    if results.len() == done {
                        results.push(self.write_one(rest, 0, wants)?);
                    }
                }
                // As in `attempt`: a thread that deleted the last pair may have met a leaf that was locked here.
                let pinned = self.pin();
                if take_flag(&index.get(&pinned).emptied) {
                    drop(pinned);
                    self.renew_if_empty();
                }
            }
            // WebAssembly comes here too, since its module has one copy of the write path.
            _ => {
                let mut positions = 0..pairs.len();
                let write_next =
                    |_: &KeyValue<'_>| self.write_one(pairs, positions.next().unwrap_or(0), wants);
                self.each_into(results, pairs, |(key, _)| key, write_next)?;
            }
        }
        Ok(())
    }

    /// Writes the pair at a position by itself, where `wants` it.
    #[inline]
    fn write_one(
        &self,
        pairs: &[KeyValue<'_>],
        at: usize,
        wants: &mut impl FnMut(usize, Option<&[u8]>) -> bool,
    ) -> Result<bool> {
        let (key, value) = pairs[at];
        self.change(key, true, |old| Ok(set_if(wants(at, old), value)))
    }

    // --- loops over many

    /// [`delete`](Self::delete) for each key. Returns whether each took effect.
    pub fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        self.each(keys, AsRef::as_ref, |key| self.delete(key))
    }

    /// [`alter`](Self::alter) for each key, with its position in `keys`. Returns whether each took effect.
    pub fn alter_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut change: impl FnMut(usize, Option<&[u8]>) -> Change,
    ) -> Result<Vec<bool>> {
        let mut positions = 0..;
        self.each(keys, AsRef::as_ref, |key| {
            let position = positions.next().unwrap_or_default();
            self.alter(key, |old| change(position, old))
        })
    }

    /// [`increment`](Self::increment) for each key and amount. Returns the sums. Stops at the first that fails.
    pub fn increment_many<K: AsRef<[u8]>>(&self, amounts: &[(K, i64)]) -> Result<Vec<i64>> {
        self.each(amounts, |(key, _)| key.as_ref(), |(key, by)| self.increment(key, *by))
    }

    /// [`compare_and_swap`](Self::compare_and_swap) for each key, expected and new value. Returns whether each took effect.
    pub fn compare_and_swap_many<K: AsRef<[u8]>>(&self, swaps: &[Swap<'_, K>]) -> Result<Vec<bool>> {
        swaps.iter().try_for_each(|(_, _, new)| new.map_or(Ok(()), check_value))?;
        self.each(
            swaps,
            |(key, ..)| key.as_ref(),
            |(key, expected, new)| self.compare_and_swap(key, *expected, *new),
        )
    }

    /// Checks all keys, then does `verb` with every item. It prefetches some items ahead.
    fn each<I, T>(
        &self,
        items: &[I],
        key: impl Fn(&I) -> &[u8],
        verb: impl FnMut(&I) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut results = Vec::with_capacity(items.len());
        self.each_into(&mut results, items, key, verb)?;
        Ok(results)
    }

    /// As `each`, but it appends to `results`. If an item fails, the results of those before it are there.
    fn each_into<I, T>(
        &self,
        results: &mut Vec<T>,
        items: &[I],
        key: impl Fn(&I) -> &[u8],
        mut verb: impl FnMut(&I) -> Result<T>,
    ) -> Result<()> {
        const PREFETCHED: usize = 16;
        items.iter().try_for_each(|item| check_key(key(item)))?;
        for group in items.chunks(PREFETCHED) {
            let mut keys = [&[][..]; PREFETCHED];
            keys.iter_mut().zip(group).for_each(|(to, item)| *to = key(item));
            self.prefetch(&keys[..group.len()]);
            for item in group {
                results.push(verb(item)?);
            }
        }
        Ok(())
    }

    /// Prefetches what verbs on these keys will need, so that their cache misses overlap.
    #[doc(hidden)]
    pub fn prefetch(&self, keys: &[&[u8]]) {
        let pinned = self.pin();
        match &self.inner.pairs {
            Pairs::Hash(index) => index.get(&pinned).prefetch(keys),
            // In WebAssembly, going down the tree already prefetches a whole leaf.
            Pairs::Sorted(_) if cfg!(target_family = "wasm") => {}
            Pairs::Sorted(index) => index.get(&pinned).prefetch(keys),
        }
    }

    // --- read verbs

    /// A copy of the key's value, or `None` if the key is absent.
    pub fn select(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.select_with(key, <[u8]>::to_vec)
    }

    /// Shows `read` the key's value, without a copy. Returns what `read` returns, or `None` if the key is absent.
    #[inline]
    pub fn select_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let key = key.as_ref();
        Altering::check(self);
        if !cfg!(target_family = "wasm")
            && let Some(pinned) = epoch::pin_again(self.inner.ticket)
        {
            // SAFETY: T1. Only a hash table has a ticket.
            let Pairs::Hash(index) = &self.inner.pairs else { unsafe { std::hint::unreachable_unchecked() } };
            let index = index.get(&pinned);
            return match index.get_at_once(key) {
                Ok(found) => found.map(read),
                Err(hash) => Self::select_beyond(index, hash, key, read),
            };
        }
        self.select_slowly(key, read)
    }

    /// As `select_with`. It is out of line, so that the usual look-up in a hash table is short enough to be inlined.
    #[inline(never)]
    fn select_slowly<T>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let pinned = self.pin();
        let value = with_index!(self.inner.pairs, index => index.get(&pinned).get(key));
        value.map(|value| read(value.bytes()))
    }

    /// As `select_with`, if one look in a hash table does not tell.
    #[inline(never)]
    fn select_beyond<T>(
        index: &hash::HashIndex,
        hash: hash::Hash,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        index.find(hash, key).map(|record| read(record.body().bytes()))
    }

    /// The key's value as it is now, or `None` if the key is absent. It stays the same whatever becomes of the pair.
    ///
    /// Values of more than some 4 KiB are shared with the store, not copied.
    pub fn select_shared(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        let pinned = self.pin();
        let value = with_index!(self.inner.pairs, index => index.get(&pinned).get(key.as_ref()));
        Some(value?.keep(&self.inner.memory))
    }

    /// Whether the key is present.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.select_with(key, |_| ()).is_some()
    }

    /// Shows `read` every key's position in `keys` and its value, or `None` if it is absent. The positions come in order.
    ///
    /// Look-ups overlap, so a value is one that the key had during the call. If `read` writes to the table, later values may include
    /// that or not.
    pub fn select_many<K: AsRef<[u8]>>(&self, keys: &[K], read: impl FnMut(usize, Option<&[u8]>)) {
        let pinned = self.pin();
        with_index!(self.inner.pairs, index => index.get(&pinned).get_many(keys, read));
    }

    /// Whether each key is present.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = vec![false; keys.len()];
        self.select_many(keys, |position, value| found[position] = value.is_some());
        found
    }

    // --- order

    /// A cursor over the keys in `range`, before its first pair and after its last at once.
    ///
    /// A range that ends before it starts is empty. A hash table has no order, so this fails with [`Error::WrongIndex`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a range is passed as the standard library's methods take it"
    )]
    pub fn cursor(&self, range: impl KeyRange) -> Result<Cursor> {
        self.needs(IndexKind::Sorted)?;
        let own = |bound: Bound<&[u8]>| bound.map(Bytes::of);
        let (start, end) = range.key_bounds();
        Ok(Cursor {
            table: self.clone(),
            position: sorted::Position::new((own(start), own(end)), None),
            large: None,
        })
    }

    /// The pair with the least key.
    pub fn first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(self.cursor(..)?.scan_asc_next().map(to_owned))
    }

    /// The pair with the greatest key.
    pub fn last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(self.cursor(..)?.scan_desc_next().map(to_owned))
    }

    /// The pairs with keys in `range`, in order; `.rev()` for the other way. Fails as [`cursor`](Self::cursor).
    pub fn scan(&self, range: impl KeyRange) -> Result<Scan> {
        Ok(self.cursor(range)?.into_iter())
    }

    /// The pairs whose keys start with `prefix`, as [`scan`](Self::scan).
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        self.scan(prefix_range(prefix.as_ref()))
    }

    /// Every pair: in the order of the keys in a sorted table, in no particular order in a hash table.
    ///
    /// A pair that stays in the table comes exactly once. One that other threads write meanwhile may come or not. The iterator
    /// of a hash table keeps the next large values, some hundreds, in memory until they have come.
    pub fn iter(&self) -> Iter {
        /// Values from this length on are copied one by one. The pairs with shorter ones are first copied into one buffer,
        /// and each again when it is its turn. That is quicker than hundreds of small allocations at a time.
        const LARGE: usize = 1024;
        let Pairs::Hash(_) = &self.inner.pairs else {
            let copied = |(key, value): (_, Vec<u8>)| (key, value.into());
            return Iter(Box::new(self.scan(..).into_iter().flatten().map(copied)));
        };
        let (table, mut next) = (self.clone(), Some(0));
        let segments = std::iter::from_fn(move || {
            let (mut bytes, mut pairs, mut at) = (Vec::new(), Vec::new(), 0);
            next = table.walk_bodies(next?, |key, body| {
                let value = body.bytes();
                let large = (value.len() >= LARGE).then(|| body.keep(&table.inner.memory));
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(if large.is_some() { &[] } else { value });
                pairs.push((key.len(), value.len(), large));
            });
            let mut take = move |len| {
                at += len;
                bytes[at - len..at].to_vec()
            };
            let pair = move |(key, value, large): (_, _, Option<Value>)| {
                (take(key), large.unwrap_or_else(|| take(value).into()))
            };
            Some(pairs.into_iter().map(pair))
        });
        Iter(Box::new(segments.flatten()))
    }

    /// Shows `read` some pairs of a hash table, without a copy. The first call begins at 0. Returns where the next call is
    /// to begin, if there are more pairs.
    #[doc(hidden)]
    pub fn walk(&self, from: u64, mut read: impl FnMut(&[u8], &[u8])) -> Option<u64> {
        self.walk_bodies(from, |key, body| read(key, body.bytes()))
    }

    fn walk_bodies(&self, from: u64, read: impl FnMut(&[u8], Body<'_>)) -> Option<u64> {
        let Pairs::Hash(index) = &self.inner.pairs else { return None };
        index.get(&self.pin()).walk(from, read)
    }
}

impl IntoIterator for &Table {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("index", &self.index())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A range of keys, such as `"a".."b"`, `b"2026".as_slice()..`, `..`, or a pair of bounds.
pub trait KeyRange {
    /// Where it starts and where it ends.
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

/// Implements it by the standard library's trait, which a plain `..` has for every type of key.
macro_rules! key_range {
    ($($range:ty),*) => {$(
        impl<K: AsRef<[u8]>> KeyRange for $range {
            fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
                use std::ops::RangeBounds;
                (self.start_bound().map(AsRef::as_ref), self.end_bound().map(AsRef::as_ref))
            }
        }
    )*};
}

key_range!(Range<K>, RangeInclusive<K>, RangeFrom<K>, RangeTo<K>, RangeToInclusive<K>, (Bound<K>, Bound<K>));

impl KeyRange for RangeFull {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

/// The bounds of the keys that start with `prefix`, as [`Table::cursor`] takes them.
pub fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    // The first key behind all of them: the prefix without trailing 0xff bytes, with its last byte increased by one.
    let upper = prefix.iter().rposition(|&byte| byte != 0xff).map_or(Bound::Unbounded, |last| {
        let mut next = prefix[..=last].to_vec();
        next[last] += 1;
        Bound::Excluded(next)
    });
    (Bound::Included(prefix.to_vec()), upper)
}

fn to_owned((key, value): (&[u8], &[u8])) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}

fn as_slice(bound: &Bound<impl Deref<Target = [u8]>>) -> Bound<&[u8]> {
    bound.as_ref().map(Deref::deref)
}

// ---------------------------------------------------------------------------------------------------
// Snapshots
// ---------------------------------------------------------------------------------------------------

// The life of a snapshot
//
// 1. *Opening.* `Store::snapshot` sets `CLOSED` in `Memory::newest`, a word that each write loads after its pin, and waits until no
//    thread is pinned to write. Readers may stay. The snapshot takes the store's generation, the store begins the next one, and
//    writers go on. Nothing is copied.
// 2. *The first write to an index* saves the index's root for the snapshot. A hash index copies its directory, and goes on with
//    the copy. A sorted index notes where its tree begins.
// 3. *The first write to a segment or leaf* puts a copy in its place, as a split does. In a sorted index it copies the nodes above
//    that too. The index keeps what was replaced in a list, with the generations that need it. A record that a later write
//    removes from a hash index is marked in the old segment, and stays with it.
// 4. *Reading.* `Snapshot::table` makes a second index over the same memory, with the saved root. It is read as any other.
// 5. *Closing.* When the last handle goes, writers are kept out once more. From then on none of them keeps anything for this
//    snapshot. What no open snapshot needs is freed.
//
// - **V1** A snapshot is opened and closed while no thread writes. While a thread is pinned to write, the newest open snapshot
//   stays the same. (Memory::without_writers)
// - **V2** No write changes an index before the newest snapshot's root is saved. Each open snapshot's root is the first one
//   saved in its generation or later, or else the current one. (Past::prepare)
// - **V3** A segment, leaf or inner node to which the newest snapshot's root leads does not change. So one to which an older
//   one's root leads does not change either. It stays until no open snapshot is left from the generation in which it was
//   made to that in which it was replaced. (Past::keep)
// - **V4** A record that leaves a hash index is marked in the newest snapshot's segment, if that names it. It is freed with that
//   segment, or marked in an older snapshot's segment that names it too. So each record is live, marked once, or in a limbo.

/// A bit of `Memory::newest`: writers are to wait.
const CLOSED: u64 = 1;

/// The snapshots of a store.
#[derive(Default)]
struct Snapshots {
    /// How many generations have ended. The first one is 1.
    ended: AtomicU64,
    open: Mutex<Open>,
    /// A copy of the open generations, for writers. It changes while none writes: V1.
    listed: Mutex<Vec<u64>>,
    /// Whether there are any to be closed: within a write this has to wait for its end.
    any_dropped: AtomicBool,
    /// Held while what closed snapshots kept is freed.
    pruning: Mutex<()>,
    /// The bytes that only snapshots need.
    kept: AtomicUsize,
    /// The open transactions.
    transactions: AtomicUsize,
    /// W2.
    batches: AtomicU64,
}

#[derive(Default)]
struct Open {
    /// The generations of the open snapshots, in ascending order.
    generations: Vec<u64>,
    /// Those of them that were dropped and are to be closed, with the tables that may keep something for them.
    dropped: Vec<(u64, Arc<Tables>)>,
}

impl Memory {
    /// Whether a write has more to find out than usual: a snapshot is open, or writers are kept out.
    #[inline(always)]
    fn has_snapshots(&self) -> bool {
        self.newest.0.load(Relaxed) != 0
    }

    /// The generation of the newest open snapshot, or 0.
    fn newest(&self) -> u64 {
        self.newest.0.load(Relaxed) >> 1
    }

    fn generation(&self) -> u64 {
        self.snapshots.ended.load(Relaxed) + 1
    }

    fn kept(&self) -> usize {
        self.snapshots.kept.load(Relaxed)
    }

    fn count_kept(&self, bytes: usize) {
        self.snapshots.kept.fetch_add(bytes, Relaxed);
    }

    fn uncount_kept(&self, bytes: usize) {
        self.snapshots.kept.fetch_sub(bytes, Relaxed);
    }

    /// Begins a pin under which this thread may write.
    fn enter(&self) -> epoch::Guard {
        self.wait_until_open(epoch::pin_to_write(self))
    }

    /// Waits while writers are kept out, unless an outer pin of the thread is what that waits for.
    fn wait_until_open(&self, mut pinned: epoch::Guard) -> epoch::Guard {
        if self.snapshots.any_dropped.load(Relaxed) && !pinned.is_nested() && epoch::own_writers(self) < 2 {
            drop(pinned);
            self.close_dropped();
            pinned = epoch::pin_to_write(self);
        }
        let is_closed = || self.newest.0.load(Acquire) & CLOSED != 0;
        let mut turns = 0;
        while is_closed() && !pinned.is_nested() && epoch::own_writers(self) < 2 {
            drop(pinned);
            while is_closed() {
                wait(&mut turns);
            }
            pinned = epoch::pin_to_write(self);
        }
        pinned
    }

    /// Closes the snapshots that were dropped, and frees what they alone needed. Within a write it does nothing: the end of that
    /// calls it, or the next write.
    #[inline]
    fn close_dropped(&self) {
        if self.snapshots.any_dropped.load(Acquire) {
            self.close();
        }
    }

    #[cold]
    fn close(&self) {
        let mut closing = Vec::new();
        let closed = self.without_writers(|open| {
            closing = mem::take(&mut open.dropped);
            for (closed, _) in &closing {
                let at = open.generations.binary_search(closed);
                at.map(|at| open.generations.remove(at)).expect("it was open");
            }
            self.snapshots.any_dropped.store(false, Relaxed);
        });
        if closed.is_err() {
            return;
        }
        let _alone = lock(&self.snapshots.pruning);
        let open = {
            let open = lock(&self.snapshots.open);
            Needed { generations: open.generations.clone(), next: self.generation() }
        };
        for (closed, tables) in &closing {
            for table in tables.iter() {
                with_index!(table.inner.pairs, index => index.prune(*closed, &open));
            }
        }
    }

    /// Runs `change` while no thread writes to the store: V1. If writers do not end soon, it lets others go on and tries again,
    /// so that none waits long.
    fn without_writers<T>(&self, change: impl FnOnce(&mut Open) -> T) -> Result<T> {
        const TURNS: u32 = 2048;

        /// Opens the store again, also after a panic.
        struct Reopen<'m>(&'m AtomicU64, u64);

        impl Drop for Reopen<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Release);
            }
        }

        if epoch::own_writers(self) > 0 {
            return Err(Error::InWrite);
        }
        let word = &self.newest.0;
        loop {
            let mut open = lock(&self.snapshots.open);
            let mut closed = Reopen(word, word.load(Relaxed));
            word.store(closed.1 | CLOSED, Relaxed);
            // Either a writer's pin is seen below, or the writer sees that the store is closed.
            sync::atomic::fence(SeqCst);
            let seen = !epoch::has_others() || platform::barrier::heavy();
            let mut turns = if seen { 0 } else { TURNS };
            while turns < TURNS && epoch::has_writers(self) {
                wait(&mut turns);
            }
            if turns < TURNS {
                // While it lives, this thread's writes do not wait.
                let writing = epoch::pin_to_write(self);
                let done = change(&mut open);
                drop(writing);
                lock(&self.snapshots.listed).clone_from(&open.generations);
                closed.1 = open.generations.last().copied().unwrap_or(0) << 1;
                return Ok(done);
            }
            drop((closed, open));
            sync::yield_now();
        }
    }
}

// --- what an index keeps

/// What snapshots keep of an index.
struct Past<I> {
    /// The generation in which the index was put in place.
    born: AtomicU64,
    /// The newest snapshot when the root was last saved, and its root: V2.
    root_of: AtomicU64,
    root: AtomicPtr<u8>,
    /// In the order of their snapshots.
    kept: Mutex<Vec<Saved>>,
    /// The bytes of all that is kept.
    bytes: AtomicUsize,
    /// Changes when an index that has nothing yet begins: W1.
    begun: AtomicU64,
    /// In an index that shows a snapshot: the index that it shows, and how many pairs that had.
    origin: Option<(Arc<I>, usize)>,
}

/// What is kept for the snapshots up to a generation, from the root before this one on.
struct Saved {
    to: u64,
    root: *mut u8,
    /// The count of pairs.
    len: usize,
    /// What these snapshots need and no newer one does. When they are closed, the root before takes what its snapshots need.
    items: Vec<Preserved>,
}

// SAFETY: V3. The root leads to what the index keeps as long as this is in its list.
unsafe impl Send for Saved {}

/// Memory that snapshots need since a generation.
struct Preserved {
    from: u64,
    what: Retired,
    /// Of a hash index's segment.
    shard: usize,
}

/// The generations of the snapshots that are open, and of those that will be.
struct Needed {
    generations: Vec<u64>,
    next: u64,
}

impl Needed {
    /// Whether a snapshot between two generations is or will be open. A writer may keep something for one that has opened since.
    fn by(&self, from: u64, to: u64) -> bool {
        to >= self.next || any_between(&self.generations, from, to)
    }
}

/// Whether one of these generations, which ascend, is between two others.
fn any_between(open: &[u64], from: u64, to: u64) -> bool {
    open.get(open.partition_point(|&open| open < from)).is_some_and(|&open| open <= to)
}

/// An index that snapshots can keep.
trait Versioned: Sized {
    fn past(&self) -> &Past<Self>;

    fn bytes(&self) -> usize;

    /// An index that shows what `origin` had in this generation.
    fn showing(origin: &Arc<Self>, generation: u64) -> Self;

    /// Frees what a closed snapshot needed and none of the open ones does.
    fn prune(&self, closed: u64, open: &Needed);
}

impl<I> Past<I> {
    fn new(memory: &Memory) -> Self {
        Self {
            born: AtomicU64::new(memory.generation()),
            root_of: AtomicU64::new(0),
            root: AtomicPtr::new(ptr::null_mut()),
            kept: Mutex::default(),
            bytes: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            origin: None,
        }
    }

    /// Counts bytes that are kept, and the store's with them.
    fn count(&self, memory: &Memory, bytes: usize) {
        self.bytes.fetch_add(bytes, Relaxed);
        memory.count_kept(bytes);
    }

    fn uncount(&self, memory: &Memory, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
        memory.uncount_kept(bytes);
    }

    /// Whether the newest snapshot has this index.
    fn is_kept(&self, newest: u64) -> bool {
        newest >= self.born.load(Relaxed) && newest != 0
    }

    #[inline]
    fn is_prepared(&self, memory: &Memory) -> bool {
        self.root_of.load(Acquire) == memory.newest()
    }

    /// Saves the root for the newest snapshot, unless that was done: V2. `none` leads nowhere. `save` makes sure that the current
    /// root is not changed any more, and returns it and the count of pairs.
    fn prepare(
        &self,
        memory: &Memory,
        none: *mut u8,
        save: impl FnOnce() -> Boxed<(*mut u8, usize)>,
    ) -> Boxed<()> {
        let newest = memory.newest();
        if newest == 0 || self.is_prepared(memory) {
            return Ok(());
        }
        let mut kept = lock(&self.kept);
        let root = match saved(&kept, newest) {
            _ if !self.is_kept(newest) => none,
            Some(saved) => saved.root,
            None => {
                kept.try_reserve(1).map_err(|_| Box::new(memory.refused(0)))?;
                let (root, len) = save()?;
                kept.push(Saved { to: newest, root, len, items: Vec::new() });
                root
            }
        };
        self.root.store(root, Release);
        self.root_of.store(newest, Release);
        Ok(())
    }

    /// The root of a snapshot of this generation, which is open, and the count of its pairs. `now` returns the current ones.
    fn root_of(&self, generation: u64, now: impl FnOnce() -> (*mut u8, usize)) -> (*mut u8, usize) {
        saved(&lock(&self.kept), generation).map_or_else(now, |saved| (saved.root, saved.len))
    }

    /// The root of an open snapshot, if it was saved before a generation.
    fn root_before(&self, open: u64, before: u64) -> Option<*mut u8> {
        saved(&lock(&self.kept), open).filter(|saved| saved.to < before).map(|saved| saved.root)
    }

    /// Keeps something to which the index no longer leads, if the newest snapshot's root `leads` there. Returns whether it does.
    fn keep(&self, memory: &Memory, what: Retired, shard: usize, leads: impl Fn(*mut u8) -> bool) -> bool {
        let newest = memory.newest();
        if !self.is_kept(newest) {
            return false;
        }
        let mut kept = lock(&self.kept);
        let last = position(&kept, newest);
        if last == kept.len() {
            return false;
        }
        let open = lock(&memory.snapshots.listed);
        let mut from = None;
        for at in (0..=last).rev() {
            let first = self.first(&kept, at);
            // A root that no open snapshot needs is about to go, and what it leads to may be free already.
            let needed = any_between(&open, first, kept[at].to);
            if needed && !leads(kept[at].root) {
                break;
            }
            from = if needed { Some(first) } else { from };
        }
        drop(open);
        let Some(from) = from else { return false };
        self.add(&mut kept, memory, Preserved { from, what, shard });
        true
    }

    /// Takes room for so many more items that are to be kept for the newest snapshot.
    fn reserve(&self, memory: &Memory, more: usize) -> Boxed<()> {
        let mut kept = lock(&self.kept);
        let at = position(&kept, memory.newest());
        let Some(saved) = kept.get_mut(at) else { return Ok(()) };
        Ok(saved.items.try_reserve(more).map_err(|_| memory.refused(0))?)
    }

    /// Keeps something that the newest snapshot has, and all others since this generation.
    fn keep_since(&self, memory: &Memory, what: Retired, from: u64) {
        self.add(&mut lock(&self.kept), memory, Preserved { from, what, shard: 0 });
    }

    /// Adds what the newest snapshot needs, whose root was saved.
    fn add(&self, list: &mut [Saved], memory: &Memory, kept: Preserved) {
        let at = position(list, memory.newest());
        debug_assert!(at < list.len(), "V2");
        // There is room, unless other threads have used it and the system refuses more. Then a block stays until the index's end, and a
        // blob for good.
        if let Some(saved) = list.get_mut(at)
            && saved.items.try_reserve(1).is_ok()
        {
            self.count(memory, kept.what.size());
            saved.items.push(kept);
        }
    }

    /// The first generation for which a root was saved.
    fn first(&self, kept: &[Saved], at: usize) -> u64 {
        at.checked_sub(1).map_or(self.born.load(Relaxed), |before| kept[before].to + 1)
    }

    /// If no open snapshot needs the root of a closed one, takes that out with the memory that none needs.
    fn take_unneeded(&self, closed: u64, open: &Needed) -> Option<(*mut u8, Vec<Preserved>)> {
        let mut kept = lock(&self.kept);
        let at = position(&kept, closed);
        if open.by(self.first(&kept, at), kept.get(at)?.to) {
            return None;
        }
        let Saved { root, mut items, .. } = kept.remove(at);
        let Some(before) = at.checked_sub(1) else { return Some((root, items)) };
        let older = &mut kept[before];
        let needed = items.extract_if(.., |item| item.from <= older.to);
        older.items.extend(needed);
        Some((root, items))
    }
}

/// Frees what an index has given up for good. The table may be empty since.
fn prune_end(heap: &Heap, emptied: &AtomicBool, len: usize, reclaim: impl FnOnce() -> bool) {
    if take_flag(&heap.due) {
        heap.maintain();
        reclaim();
    }
    if len == 0 {
        emptied.store(true, Relaxed);
    }
}

/// The place of what was saved for a generation, or the end.
fn position(kept: &[Saved], generation: u64) -> usize {
    kept.partition_point(|saved| saved.to < generation)
}

/// What was saved for a generation.
fn saved(kept: &[Saved], generation: u64) -> Option<&Saved> {
    kept.get(position(kept, generation))
}

impl<T: Versioned> Shared<T> {
    /// An index that shows what the table had in this generation.
    fn showing(&self, generation: u64) -> Self {
        let past = lock(&self.past);
        let kept = past.iter().find(|(replaced, ..)| *replaced > generation);
        let origin = kept.map_or_else(|| self.get_arc(), |(_, index, _)| Arc::clone(index));
        Self::new(T::showing(&origin, generation), Arc::clone(&self.memory))
    }

    /// Frees what a closed snapshot needed and none of the open ones does.
    fn prune(&self, closed: u64, open: &Needed) {
        let mut past = lock(&self.past);
        let at = past.partition_point(|&(replaced, ..)| replaced <= closed);
        let is_unneeded = |(replaced, index, _): &(u64, Arc<T>, usize)| {
            !open.by(index.past().born.load(Relaxed), replaced - 1)
        };
        if past.get(at).is_some_and(is_unneeded) {
            let (_, index, bytes) = past.remove(at);
            drop(past);
            self.memory.uncount_kept(bytes);
            self.retire(index);
        } else {
            let index = past.get(at).map_or_else(|| self.get_arc(), |(_, index, _)| Arc::clone(index));
            drop(past);
            index.prune(closed, open);
        }
    }
}

// --- snapshots and their tables

/// All tables of a store as they were at one moment between writes.
///
/// A handle: clones are the same snapshot, and threads share it. It stays as long as the last handle of it, of its tables, or of their
/// cursors and iterators. Until then the store keeps the values that writes replace. They count in [`Store::memory`].
///
/// ```
/// use twindex::{IndexKind, Store};
///
/// let store = Store::new();
/// let orders = store.table("orders", IndexKind::Sorted)?;
/// orders.insert("1", "apples")?;
/// let report = store.snapshot()?;
/// orders.insert("2", "pears")?;
/// assert_eq!(report.table("orders")?.len(), 1);
/// assert_eq!(orders.len(), 2);
/// # Ok::<(), twindex::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    moment: Arc<Moment>,
}

/// An open snapshot.
struct Moment {
    memory: Arc<Memory>,
    generation: u64,
    tables: Arc<Tables>,
}

/// The result of [`Store::snapshot_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotStats {
    /// The open snapshots.
    pub snapshots: usize,
    /// The bytes that only they need, with those of tables that were cleared or dropped. They count in [`Store::memory`].
    pub kept_bytes: usize,
    /// The transactions that have begun and not ended.
    pub transactions: usize,
}

impl Store {
    /// A snapshot of all tables. It takes microseconds and copies nothing: the first write to each part of an index copies that part
    /// later. Writers wait until it is open.
    ///
    /// Fails with [`Error::InWrite`] in a closure of a write, such as [`Table::alter`]'s.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.snapshot_with(|| ())?.0)
    }

    /// As [`snapshot`](Self::snapshot). `at` runs at the snapshot's moment, while no thread writes. It must not write either.
    #[doc(hidden)]
    pub fn snapshot_with<T>(&self, at: impl FnOnce() -> T) -> Result<(Snapshot, T)> {
        let memory = Arc::clone(&self.inner.memory);
        memory.without_writers(|open| {
            open.generations.try_reserve(1).map_err(io::Error::from)?;
            let told = at();
            let tables = lock(&self.inner.tables);
            let generation = memory.snapshots.ended.fetch_add(1, Relaxed) + 1;
            open.generations.push(generation);
            let moment = Moment { generation, tables: Arc::clone(&tables), memory: Arc::clone(&memory) };
            Ok((Snapshot { moment: Arc::new(moment) }, told))
        })?
    }

    /// The open snapshots, and the memory that they hold.
    pub fn snapshot_stats(&self) -> SnapshotStats {
        let memory = &self.inner.memory;
        let snapshots = {
            let open = lock(&memory.snapshots.open);
            open.generations.len() - open.dropped.len()
        };
        let transactions = memory.snapshots.transactions.load(Relaxed);
        SnapshotStats { snapshots, kept_bytes: memory.kept(), transactions }
    }

    /// Marks this thread as a writer of the store for as long as the result lives: no snapshot is opened and no transaction
    /// commits meanwhile. For hosts that do something beside each write.
    #[doc(hidden)]
    #[inline]
    pub fn writing(&self) -> impl Sized + use<> {
        self.inner.memory.enter()
    }

    /// Whether this thread is within a write, such as [`Table::alter`]'s closure.
    #[doc(hidden)]
    pub fn is_writing(&self) -> bool {
        epoch::own_writers(&self.inner.memory) > 0
    }

    /// Runs `writes`. No snapshot is opened meanwhile, so each one has all of its writes or none. Readers of the tables may see
    /// some of them earlier than others.
    pub fn atomically<T>(&self, writes: impl FnOnce() -> T) -> T {
        let memory = &self.inner.memory;
        let writing = memory.enter();
        let batch = memory.begin_batch();
        let done = writes();
        drop(batch);
        drop(writing);
        memory.close_dropped();
        done
    }

    /// As [`atomically`](Self::atomically), without any other writer of the store. Fails with [`Error::InWrite`] in a
    /// closure of a write.
    #[doc(hidden)]
    pub fn alone<T>(&self, writes: impl FnOnce() -> T) -> Result<T> {
        let memory = &self.inner.memory;
        let done = memory.without_writers(|_| {
            let _batch = memory.begin_batch();
            writes()
        });
        memory.close_dropped();
        done
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        let snapshots = &self.memory.snapshots;
        lock(&snapshots.open).dropped.push((self.generation, Arc::clone(&self.tables)));
        snapshots.any_dropped.store(true, Release);
        self.memory.close_dropped();
    }
}

impl Snapshot {
    /// The table that had this name.
    pub fn table(&self, name: &str) -> Result<SnapshotTable> {
        self.find_table(name).ok_or_else(|| Error::NoTable { name: name.into() })
    }

    /// The table that had this name, if there was one.
    pub fn find_table(&self, name: &str) -> Option<SnapshotTable> {
        self.moment.tables.get(name).map(|table| self.show(table))
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<SnapshotTable> {
        self.moment.tables.iter().map(|table| self.show(table)).collect()
    }

    fn show(&self, table: &Table) -> SnapshotTable {
        let (own, memory) = (&*table.inner, &self.moment.memory);
        let pairs = match &own.pairs {
            Pairs::Hash(index) => Pairs::Hash(index.showing(self.moment.generation)),
            Pairs::Sorted(index) => Pairs::Sorted(index.showing(self.moment.generation)),
        };
        let (keys, values) = table.codecs();
        // Reading is not refused at the memory limit.
        memory.used.fetch_add(TableInner::bytes(table.name(), (keys, values)), Relaxed);
        SnapshotTable {
            table: Table {
                inner: Arc::new(TableInner {
                    ticket: pairs.ticket(memory),
                    memory: Arc::clone(memory),
                    dropped: AtomicBool::new(true),
                    pairs,
                    name: own.name.clone(),
                    codecs: own.codecs.clone(),
                    moment: Some(Arc::clone(&self.moment)),
                }),
            },
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("tables", &self.tables()).finish_non_exhaustive()
    }
}

/// A table as it was at a snapshot's moment. It has the verbs of a [`Table`] that read.
#[derive(Clone, Debug)]
pub struct SnapshotTable {
    table: Table,
}

impl SnapshotTable {
    /// For bindings and dumps: a table that refuses to be written to.
    #[doc(hidden)]
    pub fn as_table(&self) -> &Table {
        &self.table
    }
}

/// The verbs of a [`Table`] that read.
macro_rules! reading_verbs {
    ($($name:ident [$($generic:tt)*] ($($argument:ident: $of:ty),*) $(-> $found:ty)?;)+) => {
        impl SnapshotTable {$(
            #[doc = concat!("As [`Table::", stringify!($name), "`].")]
            pub fn $name<$($generic)*>(&self, $($argument: $of),*) $(-> $found)? {
                self.table.$name($($argument),*)
            }
        )+}
    };
}

reading_verbs! {
    name[]() -> &str;
    index[]() -> IndexKind;
    codecs[]() -> (&str, &str);
    len[]() -> usize;
    is_empty[]() -> bool;
    select[](key: impl AsRef<[u8]>) -> Option<Vec<u8>>;
    select_with[T](key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T>;
    select_shared[](key: impl AsRef<[u8]>) -> Option<Value>;
    select_many[K: AsRef<[u8]>](keys: &[K], read: impl FnMut(usize, Option<&[u8]>));
    contains[](key: impl AsRef<[u8]>) -> bool;
    contains_many[K: AsRef<[u8]>](keys: &[K]) -> Vec<bool>;
    cursor[](range: impl KeyRange) -> Result<Cursor>;
    scan[](range: impl KeyRange) -> Result<Scan>;
    prefix[](prefix: impl AsRef<[u8]>) -> Result<Scan>;
    iter[]() -> Iter;
    first[]() -> Result<Option<(Vec<u8>, Vec<u8>)>>;
    last[]() -> Result<Option<(Vec<u8>, Vec<u8>)>>;
}

impl IntoIterator for &SnapshotTable {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

// ---------------------------------------------------------------------------------------------------
// Transactions
// ---------------------------------------------------------------------------------------------------

// The life of a transaction. It holds no lock and no pin. Each read copies what it finds, and remembers a word that changes
// with every write there: the version of the shard's lock, or the state of the leaf. After each read all those words are
// compared. If one has changed, everything is read again until all of it holds at one moment, or else the transaction has met
// a conflict. Writes stay in the transaction.
//
// A commit locks the shards and leaves that it writes to, in order. If all words are as they were, nothing that it read can
// have changed, and nobody who compares words later can miss what it writes. Then it takes the memory that all writes need, which may
// fail, and writes, which cannot. (`write_all`)
//
// Leaves get room under these locks. Where a segment has none, the commit first keeps out all writers, as opening a snapshot does. It
// compares what was read with what is there, and makes room until the same steps succeed. (`commit_with`)
//
// - **W1** A word changes with every write to what was read under it, never has the same value twice, and lives as long as its
//   index. (Lock, S5)
// - **W2** The word of batches is even more: it says how many are under way, and changes when one begins or ends. So a
//   transaction reads between batches and commits, never within one. (Memory::begin_batch)

/// The bits of the word of batches that count those under way.
const UNDER_WAY: u64 = (1 << 20) - 1;

/// A transaction is run so often before it fails with [`Error::Conflict`].
const RUNS: usize = 1000;

/// Reads and writes that take effect together, as if nothing had come in between, or not at all.
///
/// Reads see what the store held at one moment, and the transaction's own writes. See [`Store::transaction`].
pub struct Transaction {
    store: Store,
    tables: Vec<Touched>,
    ranges: Vec<ReadRange>,
    /// The words of what was read, as they looked then.
    words: Vec<Word>,
    conflict: bool,
}

// SAFETY: W1. The words live as long as the indexes and the store, which it holds.
unsafe impl Send for Transaction {}

/// A table, and the index that it had when the transaction first used it.
struct Touched {
    table: Table,
    index: Arc<dyn Indexed>,
    pairs: Vec<Used>,
    /// Where each key is in `pairs`, once there are more than `FEW_USED`.
    numbers: BTreeMap<Vec<u8>, usize>,
}

/// The value of a key, or that there is none.
type Content = Option<Bytes>;

/// Up to so many keys are searched one by one.
const FEW_USED: usize = 8;

/// What a transaction read under a key, and what it is to write there.
struct Used {
    key: Bytes,
    read: Option<Content>,
    write: Option<Content>,
}

impl Used {
    fn value(&self) -> Option<&[u8]> {
        self.write.as_ref().or(self.read.as_ref())?.as_deref()
    }
}

/// An index as transactions use it. Callers are pinned.
trait Indexed {
    /// A copy of the value of `key`, and the word that changes with every write to it.
    fn watch(&self, key: &[u8]) -> (Content, Word);

    /// Copies of up to `limit` pairs between two bounds, and the words that change with the next write among them.
    fn watch_range(
        &self,
        _: (Bound<&[u8]>, Bound<&[u8]>),
        _limit: usize,
        _down: bool,
    ) -> (Vec<OwnedPair>, Vec<Word>) {
        unreachable!("a hash index has no order")
    }

    /// Locks what some keys are in. `None` if that has just been replaced.
    fn lock_all<'c>(&'c self, writes: &mut dyn Iterator<Item = Put<'c>>) -> Boxed<Option<BoxedHeld<'c>>>;

    /// Makes an index that has nothing yet ready for the first pair.
    fn begin(&self) -> Boxed<()>;
}

/// What a transaction changes in an index, under the locks of all shards or leaves that this concerns.
trait Held {
    /// Whether this is the word of one of those locks.
    fn holds(&self, word: *const AtomicU64) -> bool;

    /// Takes all memory that the writes need, so that nothing can fail any more. `Ok(false)` if there is no room for a slot.
    fn prepare(&mut self) -> Boxed<bool>;

    /// Writes what was prepared, or takes that back, and gives up the locks.
    fn end(&mut self, done: bool);

    /// After `Ok(false)`, or if others do not have room, makes room for all writes instead, while no other thread writes. Gives up
    /// the locks.
    fn make_room(&mut self) -> Boxed<()> {
        self.end(false);
        Ok(())
    }
}

type BoxedHeld<'c> = Box<dyn Held + 'c>;

/// A key, and its new value or that it is to be deleted.
type Put<'c> = (&'c [u8], Option<&'c [u8]>);

struct ReadRange {
    table: usize,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    limit: usize,
    down: bool,
    pairs: Vec<OwnedPair>,
}

impl ReadRange {
    /// Whether the other one reads everything that this one can read.
    fn is_within(&self, other: &Self) -> bool {
        let place = |read: &Self| (read.table, read.down);
        place(self) == place(other) && self.limit <= other.limit && self.bounds == other.bounds
    }
}

/// A word that changes with every write, and how it was.
type Word = (*const AtomicU64, u64);

type OwnedPair = (Vec<u8>, Vec<u8>);

impl Store {
    /// Runs `run` and commits what it wrote. If something that it read was changed meanwhile, it is run again, up to a thousand
    /// times. Then this fails with [`Error::Conflict`].
    ///
    /// An error of `run` ends the transaction, and nothing is written. `run` may block, and may use the store freely. Writes outside
    /// the transaction are not a part of it.
    ///
    /// ```
    /// use twindex::{Error, IndexKind, Store};
    ///
    /// let store = Store::new();
    /// let accounts = store.table("accounts", IndexKind::Hash)?;
    /// accounts.insert("ada", "100")?;
    /// store.transaction(|tx| {
    ///     tx.increment(&accounts, "ada", -30)?;
    ///     tx.increment(&accounts, "bob", 30)?;
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(accounts.select("ada").as_deref(), Some(b"70".as_slice()));
    /// # Ok::<(), twindex::Error>(())
    /// ```
    pub fn transaction<T, E: From<Error>>(
        &self,
        mut run: impl FnMut(&mut Transaction) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        for runs in 0..RUNS {
            let mut transaction = self.begin();
            match run(&mut transaction) {
                _ if transaction.conflict => {}
                Err(error) => return Err(error),
                Ok(done) => match transaction.commit() {
                    Err(Error::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                    Ok(()) => return Ok(done),
                },
            }
            (0..runs.min(64)).for_each(|_| sync::yield_now());
        }
        Err(Error::Conflict { runs: RUNS }.into())
    }

    /// Begins a transaction that the caller commits, and begins again after [`Error::Conflict`]. It may live long, and move to
    /// another thread. To give it up, drop it.
    pub fn begin(&self) -> Transaction {
        self.inner.memory.snapshots.transactions.fetch_add(1, Relaxed);
        Transaction {
            store: self.clone(),
            tables: Vec::new(),
            ranges: Vec::new(),
            words: Vec::new(),
            conflict: false,
        }
    }
}

impl Memory {
    /// W2. Counts a batch of writes that is to be seen whole, until its end.
    fn begin_batch(&self) -> Batch<'_> {
        self.snapshots.batches.fetch_add(1, AcqRel);
        Batch(&self.snapshots.batches)
    }
}

struct Batch<'m>(&'m AtomicU64);

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(UNDER_WAY, AcqRel);
    }
}

impl Touched {
    /// Whether the table still has the index.
    fn is_current(&self) -> bool {
        let index = Arc::as_ptr(&self.index);
        with_index!(self.table.inner.pairs, now => ptr::addr_eq(now.now.load(Acquire), index))
    }

    /// The value of a key, and its word. `None` if the table has another index now.
    fn read(&self, key: &[u8]) -> Option<(Content, Word)> {
        let _pinned = self.table.pin();
        let watched = self.index.watch(key);
        self.is_current().then_some(watched)
    }

    fn read_range(&self, range: &ReadRange) -> Option<(Vec<OwnedPair>, Vec<Word>)> {
        let _pinned = self.table.pin();
        let bounds = (as_slice(&range.bounds.0), as_slice(&range.bounds.1));
        let watched = self.index.watch_range(bounds, range.limit, range.down);
        self.is_current().then_some(watched)
    }

    fn writes(&self) -> impl Iterator<Item = Put<'_>> {
        self.pairs.iter().filter_map(|used| Some((&*used.key, used.write.as_ref()?.as_deref())))
    }

    /// What the transaction did with a key.
    fn used(&mut self, key: &[u8]) -> Option<&mut Used> {
        let number = if self.pairs.len() <= FEW_USED {
            self.pairs.iter().position(|used| same_bytes(&used.key, key))?
        } else {
            *self.numbers.get(key)?
        };
        self.pairs.get_mut(number)
    }

    fn add(&mut self, used: Used) -> Result<()> {
        self.pairs.try_reserve(1).map_err(|_| self.table.inner.memory.refused(0))?;
        self.pairs.push(used);
        if self.pairs.len() > FEW_USED {
            for number in self.numbers.len()..self.pairs.len() {
                self.numbers.insert(self.pairs[number].key.to_vec(), number);
            }
        }
        Ok(())
    }
}

impl Transaction {
    /// The table called `name`. Handles that came from the store itself serve as well.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.store.find_table(name).ok_or_else(|| Error::NoTable { name: name.into() })
    }

    /// Whether it has met a conflict, and so can only be begun again.
    #[doc(hidden)]
    pub fn has_conflict(&self) -> bool {
        self.conflict
    }

    fn conflict<T>(&mut self) -> Result<T> {
        self.conflict = true;
        Err(Error::Conflict { runs: 1 })
    }

    /// The number of a table in this transaction.
    fn touch(&mut self, table: &Table) -> Result<usize> {
        if self.conflict {
            return self.conflict();
        }
        if self.words.is_empty() {
            let batches = &self.store.inner.memory.snapshots.batches;
            // W2. While one is under way, the word never looks like that.
            self.words.push((batches, batches.load(Acquire) & !UNDER_WAY));
        }
        if let Some(at) = self.tables.iter().position(|own| Arc::ptr_eq(&own.table.inner, &table.inner)) {
            return Ok(at);
        }
        if !Arc::ptr_eq(&table.inner.memory, &self.store.inner.memory) {
            return Err(Error::NoTable { name: table.name().into() });
        }
        table.check_not_dropped()?;
        self.tables.push(Touched {
            table: table.clone(),
            index: with_index!(table.inner.pairs, index => index.get_arc() as Arc<dyn Indexed>),
            pairs: Vec::new(),
            numbers: BTreeMap::new(),
        });
        Ok(self.tables.len() - 1)
    }

    /// Whether all words are as they were seen, or locked since by the caller, who says which those are.
    fn is_unchanged(&self, held: impl Fn(*const AtomicU64) -> bool) -> bool {
        let same = self.words.iter().all(|&(word, seen)| {
            // SAFETY: W1.
            let now = unsafe { &*word }.load(Acquire);
            now == seen || now == seen + 1 && held(word)
        });
        // Emptying a table changes no word, but puts another index in place, for good.
        same && self.tables.iter().all(Touched::is_current)
    }

    /// Remembers the word of a read. Returns whether all that was read holds at this moment.
    fn remember(&mut self, (word, seen): Word) -> bool {
        match self.words.iter().find(|known| known.0 == word) {
            Some(known) if known.1 != seen => return false,
            Some(_) => {}
            None => self.words.push((word, seen)),
        }
        self.is_unchanged(|_| false)
    }

    /// Reads all again until it holds at one moment. A conflict if something has changed. If others write too much, or batches are
    /// under way, it keeps writers out for that.
    #[cold]
    fn settle(&mut self) -> Result<()> {
        const ROUNDS: u32 = 16;
        if epoch::own_writers(&self.store.inner.memory) > 0 {
            return Err(Error::InWrite);
        }
        for _ in 0..ROUNDS {
            if self.has_settled()? {
                return Ok(());
            }
            (0..64).for_each(|mut turn| wait(&mut turn));
        }
        let store = self.store.clone();
        let memory = &store.inner.memory;
        let settled = memory.without_writers(|_| self.has_settled())?;
        if settled? { Ok(()) } else { self.conflict() }
    }

    fn has_settled(&mut self) -> Result<bool> {
        let batches = &self.store.inner.memory.snapshots.batches;
        let seen = batches.load(Acquire);
        if seen & UNDER_WAY != 0 {
            return Ok(false);
        }
        let Some(mut words) = self.check_values() else { return self.conflict() };
        words.push((batches, seen));
        words.sort_unstable();
        words.dedup();
        self.words = words;
        Ok(self.is_unchanged(|_| false))
    }

    /// Drops earlier ranges that the last one includes. Otherwise a transaction that takes pairs from a queue one by one would store
    /// all earlier ones again for each. Call it when everything that was read holds at one moment: only then the last range stands for
    /// the earlier ones.
    fn forget_covered_ranges(&mut self) {
        let before = self.ranges.len();
        if let Some(last) = self.ranges.pop() {
            self.ranges.retain(|old| !old.is_within(&last));
            self.ranges.push(last);
        }
        if self.ranges.len() < before {
            self.words.sort_unstable();
            self.words.dedup();
        }
    }

    /// Compares all that was read with what is there. Returns the words to watch; `None` if something differs.
    fn check_values(&self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        for touched in &self.tables {
            for used in &touched.pairs {
                let Some(value) = &used.read else { continue };
                let (found, word) = touched.read(&used.key)?;
                words.push((found.as_deref() == value.as_deref()).then_some(word)?);
            }
        }
        for range in &self.ranges {
            let (found, seen) = self.tables[range.table].read_range(range)?;
            words.extend((found == range.pairs).then_some(seen)?);
        }
        Some(words)
    }

    // --- reading

    /// A copy of the key's value, or `None` if the key is absent.
    pub fn select(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.look(table, key.as_ref())?.map(<[u8]>::to_vec))
    }

    /// Whether the key is present.
    pub fn contains(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.look(table, key.as_ref())?.is_some())
    }

    fn look(&mut self, table: &Table, key: &[u8]) -> Result<Option<&[u8]>> {
        let at = self.touch(table)?;
        check_key(key)?;
        if self.tables[at].used(key).is_none() {
            let Some((value, word)) = self.tables[at].read(key) else { return self.conflict() };
            self.tables[at].add(Used { key: Bytes::of(key), read: Some(value), write: None })?;
            if !self.remember(word) {
                self.settle()?;
            }
        }
        Ok(self.tables[at].used(key).and_then(|used| used.value()))
    }

    /// Up to `limit` pairs of a sorted table with keys in `range`, upwards or `down`. A pair that another thread puts among them
    /// before the commit is a conflict.
    #[allow(clippy::needless_pass_by_value, reason = "as the ranges of a table")]
    pub fn range(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        limit: usize,
        down: bool,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        table.needs(IndexKind::Sorted)?;
        let number = self.touch(table)?;
        let (start, end) = range.key_bounds();
        let bounds = (start.map(<[u8]>::to_vec), end.map(<[u8]>::to_vec));
        let is_own = |(key, _): &(&[u8], Option<&[u8]>)| {
            use std::ops::RangeBounds;
            (as_slice(&bounds.0), as_slice(&bounds.1)).contains(*key)
        };
        let own: Vec<_> = (self.tables[number].writes().filter(is_own))
            .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
            .collect();
        // Own deletes may take so many away.
        let wanted = limit.saturating_add(own.iter().filter(|(_, value)| value.is_none()).count());
        let mut read = ReadRange { table: number, bounds, limit: wanted, down, pairs: Vec::new() };
        let Some((found, words)) = self.tables[number].read_range(&read) else {
            return self.conflict();
        };
        read.pairs = found;
        let mut pairs: BTreeMap<_, _> =
            read.pairs.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        self.ranges.push(read);
        self.words.extend(words);
        if !self.is_unchanged(|_| false) {
            self.settle()?;
        }
        self.forget_covered_ranges();
        pairs.extend(own);
        let found = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
        Ok(if down { found.rev().take(limit).collect() } else { found.take(limit).collect() })
    }

    // --- writing

    fn set(&mut self, table: &Table, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        check_key(key)?;
        value.map_or(Ok(()), check_value)?;
        let at = self.touch(table)?;
        let (touched, write) = (&mut self.tables[at], Some(value.map(Bytes::of)));
        match touched.used(key) {
            Some(used) => used.write = write,
            None => touched.add(Used { key: Bytes::of(key), read: None, write })?,
        }
        Ok(())
    }

    /// As [`Table::insert`].
    pub fn insert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Insert, table, key, value)
    }

    /// As [`Table::replace`].
    pub fn replace(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Replace, table, key, value)
    }

    /// As [`Table::upsert`].
    pub fn upsert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.write(Write::Upsert, table, key, value).map(drop)
    }

    /// Does the verb that `write` names. Returns whether it takes effect.
    pub fn write(
        &mut self,
        write: Write,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<bool> {
        let key = key.as_ref();
        let wanted = write == Write::Upsert || write.takes_effect(self.contains(table, key)?);
        if wanted {
            self.set(table, key, Some(value.as_ref()))?;
        }
        Ok(wanted)
    }

    /// As [`Table::delete`].
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        let present = self.contains(table, key)?;
        if present {
            self.set(table, key, None)?;
        }
        Ok(present)
    }

    /// As [`Table::increment`].
    pub fn increment(&mut self, table: &Table, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let key = key.as_ref();
        let old = self.look(table, key)?;
        let sum = old.map_or(Ok(by), |text| incremented(text, by))?;
        self.set(table, key, Some(sum.to_string().as_bytes()))?;
        Ok(sum)
    }

    /// The keys that it read or writes, each with its table.
    #[doc(hidden)]
    pub fn used(&self) -> impl Iterator<Item = (&Table, &[u8])> {
        self.tables.iter().flat_map(|touched| touched.pairs.iter().map(|used| (&touched.table, &*used.key)))
    }

    /// What a commit would write: table, key, and the value or `None` for a delete.
    pub fn writes(&self) -> impl Iterator<Item = (&Table, &[u8], Option<&[u8]>)> {
        self.tables
            .iter()
            .flat_map(|touched| touched.writes().map(move |(key, value)| (&touched.table, key, value)))
    }

    // --- the commit

    /// Writes all that the transaction wrote, if nothing that it read has changed. Otherwise it fails with
    /// [`Error::Conflict`]. After any error nothing is written.
    pub fn commit(self) -> Result<()> {
        self.commit_with(true, || Ok(()), |_| ()).map(drop)
    }

    /// Writes all without keeping other writers out. Returns whether it did, or else something has changed. `None` if it takes more
    /// than that.
    fn commit_in_place<E>(
        &self,
        check: &mut impl FnMut() -> std::result::Result<(), E>,
        logged: impl FnOnce(&Self),
    ) -> std::result::Result<Option<bool>, E> {
        /// More writes would hold many locks for long.
        const MOST: usize = 64;
        let memory = &self.store.inner.memory;
        // With one thread there is nobody to be kept out.
        if cfg!(target_family = "wasm") || epoch::own_writers(memory) > 0 {
            return Ok(None);
        }
        let pinned = memory.enter();
        let is_dropped = |touched: &Touched| touched.table.check_not_dropped().is_err();
        if self.writes().count() > MOST || self.tables.iter().any(is_dropped) {
            return Ok(None);
        }
        check()?;
        let Ok(Some(done)) = self.write_all(false) else { return Ok(None) };
        if done {
            logged(self);
        }
        drop(pinned);
        self.after_writes();
        Ok(Some(done))
    }

    /// Writes all under the locks of the shards and leaves that this concerns, or nothing. Returns whether it did, or else what was
    /// read has changed. `None` if there was no room. If the caller is `alone`, there is some now.
    fn write_all(&self, alone: bool) -> Boxed<Option<bool>> {
        let is_written = |touched: &&Touched| touched.writes().next().is_some();
        let mut tables: Vec<_> = self.tables.iter().filter(is_written).collect();
        // In the order of their addresses, so that no two commits wait for each other.
        tables.sort_unstable_by_key(|touched| Arc::as_ptr(&touched.table.inner));
        let mut held = Vec::with_capacity(tables.len());
        for touched in &tables {
            match touched.index.lock_all(&mut touched.writes())? {
                Some(locked) => held.push(locked),
                // Another index is about to take its place.
                None => return Ok(alone.then_some(false)),
            }
        }
        // Of two commits that each read what the other one locks, one sees the other's lock.
        sync::atomic::fence(SeqCst);
        let same = alone || self.is_unchanged(|word| held.iter().any(|changes| changes.holds(word)));
        let mut ready = Ok(same);
        for changes in &mut held {
            if matches!(ready, Ok(true)) {
                ready = changes.prepare();
            }
        }
        let grows = alone && matches!(ready, Ok(false));
        for changes in &mut held {
            if grows {
                // Each takes back what it has prepared, even if another one fails.
                ready = changes.make_room().and(ready);
            } else {
                changes.end(matches!(ready, Ok(true)));
            }
        }
        let ready = ready?;
        Ok((ready || !same).then_some(ready))
    }

    /// Returns the memory of tables that have lost their last pair.
    fn after_writes(&self) {
        for Touched { table, .. } in &self.tables {
            if with_index!(table.inner.pairs, index => take_flag(&index.get(&table.pin()).emptied)) {
                table.renew_if_empty();
            }
        }
    }

    /// As [`commit`](Self::commit), for hosts with a log. `check` runs before the first write, and `logged` once all are done, and
    /// before a snapshot is opened. Neither may write to the store. Without writes they are not run. The host says whether the commit
    /// may do that `beside` others: what it appends to a log is then in the order of memory only if the host holds a lock of each key
    /// that the transaction [used](Self::used), and has read no range. If not, no other thread writes meanwhile.
    #[doc(hidden)]
    pub fn commit_with<T, E: From<Error>>(
        mut self,
        beside: bool,
        mut check: impl FnMut() -> std::result::Result<(), E>,
        logged: impl FnOnce(&Self) -> T,
    ) -> std::result::Result<Option<T>, E> {
        const ROUNDS: usize = 8;
        if self.conflict {
            self.conflict()?;
        }
        if self.writes().next().is_none() {
            // All that was read held at one moment.
            return Ok(None);
        }
        let (logged, told) = (Cell::new(Some(logged)), Cell::new(None));
        let logged = |own: &Self| told.set(logged.take().map(|logged| logged(own)));
        for _ in 0..if beside { ROUNDS } else { 0 } {
            match self.commit_in_place(&mut check, logged)? {
                Some(true) => return Ok(told.take()),
                Some(false) => self.settle()?,
                None => break,
            }
        }
        let memory = Arc::clone(&self.store.inner.memory);
        let done = memory.without_writers(|_| {
            check()?;
            for touched in &self.tables {
                touched.table.check_not_dropped()?;
            }
            let same = self.tables.iter().all(Touched::is_current)
                && (self.is_unchanged(|_| false) || self.check_values().is_some());
            if !same {
                self.conflict()?;
            }
            let _batch = memory.begin_batch();
            self.apply()?;
            logged(&self);
            Ok::<_, E>(())
        });
        memory.close_dropped();
        self.after_writes();
        done??;
        Ok(told.take())
    }

    /// Writes all, or nothing. No other thread writes.
    fn apply(&self) -> Result<()> {
        let mut again = true;
        loop {
            let started = self
                .tables
                .iter()
                .try_for_each(|touched| touched.writes().next().map_or(Ok(()), |_| touched.index.begin()));
            match started.and_then(|()| self.write_all(true)) {
                Ok(Some(true)) => return Ok(()),
                Ok(Some(false)) => return Err(Error::Conflict { runs: 1 }),
                Ok(None) => {}
                Err(refused) => {
                    let reclaimed =
                        self.tables.iter().fold(false, |any, touched| touched.table.reclaim() | any);
                    if !(reclaimed && mem::take(&mut again)) {
                        return Err(*refused);
                    }
                }
            }
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.store.inner.memory.snapshots.transactions.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("ranges", &self.ranges.len())
            .field("writes", &self.writes().count())
            .finish_non_exhaustive()
    }
}

// ---------------------------------------------------------------------------------------------------
// Cursors and iterators
// ---------------------------------------------------------------------------------------------------

/// A position in a sorted table.
///
/// The position is a key, not a place in memory. The cursor holds no lock, stays valid under any write, and sees every write
/// that ended before the call. At an end of its range it stays on the last pair. If pairs are appended later, the next call
/// finds them.
pub struct Cursor {
    table: Table,
    position: sorted::Position,
    /// The value that was returned last, if it is shared instead of copied.
    large: Option<Value>,
}

impl Cursor {
    /// A scan pins anew after so many pairs, because a pin delays the reuse of memory.
    const PINNED: usize = 256;

    /// Moves right before the first pair whose key is not less than `key`, within the cursor's range. The next step upwards goes
    /// to that pair, the next step downwards to the one before it.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.position.seek_key(key.as_ref());
        self.large = None;
    }

    /// The key of the pair that the cursor is on: `None` before the first step and after [`seek`](Self::seek).
    pub fn key(&self) -> Option<&[u8]> {
        self.position.on()
    }

    /// The value that this key has now, or `None` if it was deleted.
    pub fn value(&self) -> Option<Vec<u8>> {
        self.table.select(self.key()?)
    }

    /// Moves to the next pair upwards and returns it, or `None` at the end.
    ///
    /// A new cursor moves to the first pair of its range.
    #[inline]
    pub fn scan_asc_next(&mut self) -> Option<(&[u8], &[u8])> {
        self.step(false)
    }

    /// Moves to the next pair downwards and returns it, or `None` at the end.
    ///
    /// A new cursor moves to the last pair of its range.
    #[inline]
    pub fn scan_desc_next(&mut self) -> Option<(&[u8], &[u8])> {
        self.step(true)
    }

    #[inline(always)]
    fn step(&mut self, down: bool) -> Option<(&[u8], &[u8])> {
        let pinned = self.table.pin();
        let Pairs::Sorted(index) = &self.table.inner.pairs else { return None };
        let index = index.get(&pinned);
        let at_once =
            if SMALL || self.large.is_some() { None } else { self.position.next_at_once(index, down) };
        let key_len = match at_once {
            Some(key_len) => key_len,
            None => Self::step_slowly(&mut self.position, &mut self.large, &self.table, index, down)?,
        };
        let (key, value) = self.position.bytes.split_at(key_len);
        Some((key, if self.large.is_none() { value } else { self.large_value() }))
    }

    #[cold]
    #[inline(never)]
    fn step_slowly(
        position: &mut sorted::Position,
        large: &mut Option<Value>,
        table: &Table,
        index: &sorted::SortedIndex,
        down: bool,
    ) -> Option<usize> {
        let (key_len, place) = position.next_slowly(index, down, true, &mut |_| ())?;
        *large = None;
        match place {
            Body::Inline(_) => {}
            Body::Block(..) => position.bytes.extend_from_slice(place.bytes()),
            Body::Blob(_) => *large = Some(place.keep(&table.inner.memory)),
        }
        Some(key_len)
    }

    #[cold]
    fn large_value(&self) -> &[u8] {
        self.large.as_deref().unwrap_or_default()
    }

    /// Moves over up to `limit` pairs and appends them to `packed`, each with its lengths before it. Stops once `packed` is `bytes`
    /// long or full. Returns how many. If that is 0, the next single step finds out why.
    #[doc(hidden)]
    pub fn pack(&mut self, down: bool, limit: usize, bytes: usize, packed: &mut Vec<u8>) -> usize {
        let pinned = self.table.pin();
        let Pairs::Sorted(index) = &self.table.inner.pairs else { return 0 };
        self.position.pack(index.get(&pinned), down, limit, bytes, packed)
    }

    /// Whether the pairs that were last packed in this direction are still what comes next.
    #[doc(hidden)]
    pub fn is_unchanged(&self, down: bool) -> bool {
        let pinned = self.table.pin();
        let Pairs::Sorted(index) = &self.table.inner.pairs else { return false };
        self.position.is_unchanged(index.get(&pinned), down)
    }

    /// Moves back to a pair that it was on, by its key, or to where a new cursor is.
    #[doc(hidden)]
    pub fn go_back<'k>(&mut self, key: impl Into<Option<&'k [u8]>>) {
        let range = mem::replace(&mut self.position.range, (Bound::Unbounded, Bound::Unbounded));
        self.position = sorted::Position::new(range, key.into());
    }

    /// Shows `read` up to `limit` pairs, without a copy, as long as it returns true. Returns how many there were.
    #[doc(hidden)]
    pub fn steps(&mut self, down: bool, limit: usize, mut read: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let Pairs::Sorted(index) = &self.table.inner.pairs else { return 0 };
        let mut done = 0;
        while done < limit {
            let end = limit.min(done + Self::PINNED);
            let pinned = self.table.pin();
            let index = index.get(&pinned);
            while done < end {
                if !SMALL && !self.position.show(index, down, end, &mut done, &mut read) {
                    return done;
                }
                if done < end {
                    let Some((key_len, place)) = self.position.next_slowly(index, down, false, &mut |_| ())
                    else {
                        return done;
                    };
                    done += 1;
                    if !read(&self.position.bytes[..key_len], place.bytes()) {
                        return done;
                    }
                }
            }
        }
        done
    }

    /// [`scan_asc_next`](Self::scan_asc_next) up to `limit` times, and passes each pair to `read`. Returns how many there were. `read`
    /// gets each pair as it was at some moment of the call, even if it writes to the table.
    pub fn scan_asc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        self.steps(false, limit, |key, value| {
            read(key, value);
            true
        })
    }

    /// [`scan_desc_next`](Self::scan_desc_next) up to `limit` times, and passes each pair to `read`. Returns how many there were.
    /// `read` gets each pair as it was at some moment of the call, even if it writes to the table.
    pub fn scan_desc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        self.steps(true, limit, |key, value| {
            read(key, value);
            true
        })
    }
}

// --- iterators

impl IntoIterator for Cursor {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Scan;

    /// The pairs after the cursor's position, up to the end of its range.
    fn into_iter(self) -> Scan {
        let position = sorted::Position::new(self.position.range.clone(), None);
        let back = Self { table: self.table.clone(), position, large: None };
        Scan { front: self, back, has_ended: false }
    }
}

impl Clone for Cursor {
    /// A cursor on the same pair.
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), position: self.position.anew(), large: None }
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("table", &self.table.name())
            .field("on", &self.position.on().map(excerpt))
            .finish_non_exhaustive()
    }
}

/// The pairs of a range of a sorted table, either way. Like a [`Cursor`], it stays valid under any write. Once it has ended it
/// returns nothing more.
#[derive(Clone, Debug)]
pub struct Scan {
    front: Cursor,
    back: Cursor,
    has_ended: bool,
}

impl Iterator for Scan {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let pair = if self.has_ended { None } else { self.front.scan_asc_next() };
        let back = self.back.position.on();
        let pair = pair.filter(|(key, _)| back.is_none_or(|back| *key < back)).map(to_owned);
        self.has_ended = pair.is_none();
        pair
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        let pair = if self.has_ended { None } else { self.back.scan_desc_next() };
        let pair = pair.filter(|(key, _)| !self.front.position.is_past(key)).map(to_owned);
        self.has_ended = pair.is_none();
        pair
    }
}

impl FusedIterator for Scan {}

/// Every pair of a table. See [`Table::iter`].
pub struct Iter(Box<dyn Iterator<Item = (Vec<u8>, Value)> + Send + Sync>);

impl Iter {
    /// The next pair. A value of a hash table is shared with the store if it has more than some 4 KiB, as by
    /// [`Table::select_shared`]. All others are copies.
    pub fn next_shared(&mut self) -> Option<(Vec<u8>, Value)> {
        self.0.next()
    }
}

impl Iterator for Iter {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_shared().map(|(key, value)| (key, value.into()))
    }
}

impl FusedIterator for Iter {}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

// ---------------------------------------------------------------------------------------------------
// Internal
// ---------------------------------------------------------------------------------------------------

/// Items that the crates `twindex-cache` and `twindex-format` use besides the public interface. Not for programs: it changes without
/// notice.
#[doc(hidden)]
#[allow(missing_docs, missing_debug_implementations, clippy::new_without_default, reason = "hidden")]
pub mod parts {
    use super::sync::{Mutex, MutexGuard};
    use super::{Memory, PoisonError, TryLockError, epoch, wait};

    pub use super::epoch::lane;
    pub use super::platform::{Hashing, Tags, hashing, prefetch_batch as prefetch};

    /// The readers of one object. A pin of theirs delays what this object retires, and nothing else.
    pub struct Domain(Memory);

    pub struct Pin(#[expect(dead_code, reason = "its end unpins")] epoch::Guard);

    impl Domain {
        pub fn new() -> Self {
            Self(Memory::default())
        }

        /// E1.
        #[inline(always)]
        pub fn pin(&self) -> Pin {
            Pin(epoch::pin(&self.0))
        }

        /// Advances until all that was retired before can be freed, unless a reader is in it.
        pub fn advance(&self) {
            epoch::advance_far(&self.0);
        }
    }

    /// What was unlinked and may still be read: E2.
    pub struct Limbo<T>(epoch::Limbo<T>);

    impl<T> Default for Limbo<T> {
        fn default() -> Self {
            Self(epoch::Limbo::default())
        }
    }

    impl<T> Limbo<T> {
        pub fn push(&mut self, item: T) {
            self.0.push(item);
        }

        pub fn pop(&mut self, domain: &Domain) -> Option<T> {
            self.0.pop(&domain.0)
        }

        pub fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        pub fn drain(&mut self) -> impl Iterator<Item = T> {
            self.0.drain()
        }
    }

    /// Locks a mutex. A waiter spins first: most locks are held for a microsecond, and waking a thread takes dozens of them. A
    /// poisoned lock is used all the same: the closure that panicked ran before anything was changed.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        let mut turns = 0;
        while turns < 4096 && !cfg!(target_family = "wasm") {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                // Each try takes the cache line away from the lock's holder.
                Err(TryLockError::WouldBlock) => (0..8).for_each(|_| wait(&mut turns)),
                Err(TryLockError::Poisoned(_)) => break,
            }
        }
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether two byte strings are equal. It compares short ones word by word, without a call.
    #[inline(always)]
    pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
        /// Whether both begin and end with the same `N` bytes. The two parts may overlap.
        #[inline(always)]
        fn same_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
            (a.first_chunk::<N>() == b.first_chunk()) & (a.last_chunk::<N>() == b.last_chunk())
        }
        a.len() == b.len()
            && match a.len() {
                0 => true,
                1..=3 => (a[a.len() / 2] == b[b.len() / 2]) & same_ends::<1>(a, b),
                4..=7 => same_ends::<4>(a, b),
                8..=15 => same_ends::<8>(a, b),
                16..=32 => same_ends::<16>(a, b),
                _ => a == b,
            }
    }

    /// How many of their first bytes are the same.
    #[inline]
    pub fn common(one: &[u8], two: &[u8]) -> usize {
        let mut len = 0;
        for (a, b) in one.as_chunks::<8>().0.iter().zip(two.as_chunks::<8>().0) {
            let [a, b] = [a, b].map(|word| u64::from_le_bytes(*word));
            if a != b {
                return len + (a ^ b).trailing_zeros() as usize / 8;
            }
            len += 8;
        }
        len + one[len..].iter().zip(&two[len..]).take_while(|(a, b)| a == b).count()
    }

    /// The first 4 bytes as a number. These numbers have the order of the bytes.
    #[inline(always)]
    pub fn head4(bytes: &[u8]) -> u32 {
        if let Some(head) = bytes.first_chunk() {
            return u32::from_be_bytes(*head);
        }
        bytes.iter().zip([24, 16, 8]).fold(0, |head, (&byte, shift)| head | u32::from(byte) << shift)
    }
}
