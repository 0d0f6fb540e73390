//! A cache of byte strings with a true limit of memory. It lives inside the program and is shared by its threads.
//!
//! ```
//! use std::time::Duration;
//! use twindex_cache::{Cache, CacheOptions, Error};
//!
//! let cache = Cache::new(CacheOptions::capacity(64 << 20).ttl(Duration::from_secs(60)))?;
//! cache.upsert("/", "<h1>Hello")?;
//! assert_eq!(cache.get("/").as_deref(), Some(&b"<h1>Hello"[..]));
//!
//! let page = cache.get_or_compute("/news", || std::io::Result::Ok("read from the disk")).unwrap();
//! assert_eq!(page, b"read from the disk");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Promises
//!
//! - **Memory.** `capacity` is the resident memory of the whole cache: pairs, index and the memory of evicted keys.
//!   The cache stays within it whatever the sizes of the pairs are and however they change. [`CacheOptions::max_entries`]
//!   limits the number of pairs instead, or as well.
//! - **Writes are not refused** because of old pairs: the cache evicts. [`Cache::upsert`] returns false in two cases. The pair is
//!   larger than the cache can hold, or a reader has held memory for so long that none is free. Then everything stays as it was.
//! - **Time.** An expired pair is never returned, also when a clock goes back. Its memory comes back as the cache is used: each
//!   write and each 64th look-up removes some expired pairs.
//! - **Computing.** [`Cache::get_or_compute`] computes each value once. Other threads and tasks wait for it and share its fate.
//! - **Threads.** A look-up waits for no lock. Writes take one lock of the cache, for less than a microsecond each.
//!
//! # Limits
//!
//! Keys of 0 to 65,535 bytes, values of 0 to 4 GiB - 1, capacities from [`MIN_CAPACITY`] on.

// How this cache works
// ====================
//
// The promise: the capacity is memory that the cache really takes. Readers wait for no lock and write to no shared memory but
// two bits beside the pair's tag, and only if these change. Evicted memory serves pairs of any size. No write stops for long.
//
// Vital statistics, on 64 bits
//
//   a pair of 16 + 16 bytes   4 bytes of header; 7 bytes in a bucket that is 64 to 94 % full; 2 for ghosts
//   a pair that may expire    8 bytes more; in a cache with a time to idle 8 more
//   an empty cache            some 16 KiB
//   a hit                     two cache misses that wait for each other: bucket and record
//   a write                   evicts about as many bytes as it adds, some records at a time, ahead of the need
//   the longest write         reads 1,353 records of others: sweeps 256, expires 320, rebuilds a block that has few pairs;
//                             in a cache below 256 KiB 1,984: sweeps 256, rebuilds a full block
//
//   directory           block of the index: 1 to 3 pages            bucket: one cache line
//  +-----------+       +--------------------------------+          +--------------------------------------+
//  | ptr.pages |------>| 48 buckets a page              |--------->| 12 tags of 8 bits                    |
//  | ptr.pages |--+    | head: pairs, depth             |          | 12 x 2 use bits, 8 bits: pairs that  |
//  | ptr.pages |--+    | ghosts: 15 lines of the 16 left|          |   passed this bucket                 |
//  +-----------+       +--------------------------------+          | 12 positions of 32 bits              |
//                                                                  +--------|-----------------------------+
//   segment table      segment: a 512th of the capacity                     v
//  +-----------+       +--------+--------+--------+---------------+   segment number 12 bits, unit in it 20 bits
//  | ptr       |------>| record | record | record | free          |
//  | ptr       |       +--------+--------+--------+---------------+
//  +-----------+        record: head u32 = key length 16, flags 3, value length 13
//                               [value length u32] [deadline u64] [last use u32] key value
//
// *Records* are appended to an open segment and never change, but for the word of their last use. One that is nearly as
// large as a segment has a segment of its own length. Segments and the index are runs of pages, cut from chunks of memory. There are two queues of
// segments, as in S3-FIFO: new pairs go to the small one; pairs that were used there, or that come back soon after they
// were evicted, go to the main one. Pairs that expire at about the same time share segments, as far as there are enough open.
//
// *Sweeping* goes through a segment from its start. It drops records or copies them to the end of a queue. When it reaches
// the segment's end nothing of it is live: the segment is retired, and reused once no reader can be in it. Three things
// sweep: eviction (the oldest segment of a queue, by the policy), cleaning (a segment that is mostly dead: everything live
// stays), and `shrink_to`. A write sweeps a few records when memory is short, so that a free segment is there before it is
// needed.
//
// *Expiry* visits a segment when some of its pairs should be over. It drops these, and moves nothing; from the times that the
// others have left it sets the next visit. Writes look for segments to visit, and of the look-ups each 64th.
//
// *The index* is extendible hashing over blocks. The top bits of the hash choose a block; further bits choose the home
// bucket; the low byte is the tag. A pair whose home bucket is full goes to the next one with room, and each bucket on the way
// counts it as passed. If it goes far, its block is rebuilt with one page more, or as two: the next writes hash some of its keys
// each, then one moves the pairs. A small cache has no room for the hashes and does both at once. A block with few pairs is rebuilt
// smaller.
//
// *Ghosts* are 15 bits of an evicted key's hash and the queue that it left, in lines of 31 beside the buckets, each line a small
// ring. They grow and shrink with the block, so that remembering costs bounded steps too.
//
// The life of one upsert. Hash the key. Lock the state. Sweep some records if memory is short. Allot the record's
// bytes in the open segment of its queue and time class, evicting if there is none. Write the record. Store its position
// in the slot that the key has, which makes the old record dead, or in a free slot and then set the tag. Unlock. Tell the
// listener what was evicted.
//
// Contents. Each line is a chapter below, under a ruler.
//
//   The index              buckets, blocks, ghosts
//   The cache              what threads share; reading
//   The writer             the one lock: segments, sweeping, the index, writing
//   The verbs              reads, writes, many at once
//
// Files of their own: `options` (limits, errors, options), `clock`, `pages` (memory by the page), `policy` (of eviction),
// `compute` (one computes, the others wait), `saved` (save and load).
//
// Invariants
//
//   I1  A slot has a pair exactly if its tag is not 0. Its position is stored before the tag and names a whole record. A
//       block is retired only after the directory has no pointer to it. So a pinned reader, or the writer, that has seen a tag may
//       follow the position that it then loads.
//   I2  A segment is retired only when no slot of the index names a position in it, and leaves the limbo when no reader that
//       was pinned then is left. Only then is its memory reused or unmapped, and its number given to another segment.
//   I3  A record is written before its position is published, and never changes afterwards. The word of its last use is an atomic,
//       and nobody reads it in another way.
//   I4  `filled` bytes from a segment's start on are whole records, one after the other, each a multiple of the unit.
//   L1  State, block heads and ghosts are touched by the holder of the state's lock alone.
//   P1  Memory from `pages` belongs to one owner: a segment, the index, the limbo, or the free runs.

#![expect(clippy::cast_ptr_alignment, reason = "blocks are aligned to 64, and records to 4")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method's path is not general enough in its lifetime"
)]
#![expect(clippy::inline_always, reason = "on the way to a hit a call costs more than it saves")]

mod clock;
mod compute;
mod options;
mod pages;
mod policy;
mod record;
mod saved;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, mem};

use clock::Clock;
use compute::Flights;
pub use compute::{Begun, ComputeError, Lead, Leader, Outcome, Waiter};
pub use options::{
    CacheOptions, CacheStats, Cause, Error, MAX_KEY_BYTES, MAX_LABEL_BYTES, MAX_TTL, MAX_VALUE_BYTES,
    MIN_CAPACITY, Result,
};
use options::{check, copy, millis};
use pages::{PAGE, Pages};
use policy::POLICY;
use record::{EXPIRES, IDLES, NEVER, Pair, Record, UNIT};
pub use saved::Saved;
use sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use sync::{Mutex, MutexGuard};
use twindex::parts::{self, Domain, Hashing, Limbo, Tags, lock, prefetch, same_bytes};

/// Atomics and locks. The models of interleavings replace them by their own.
#[cfg(not(twindex_shuttle))]
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(super) use std::thread::{ThreadId, yield_now};

    pub(super) fn this_thread() -> ThreadId {
        std::thread::current().id()
    }

    /// Lets a thread go on that the system has interrupted.
    pub(super) fn nap() {
        if !cfg!(target_family = "wasm") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[cfg(twindex_shuttle)]
#[path = "../models/src/sync.rs"]
mod sync;

/// As the engine's checker fills free memory.
#[cfg(twindex_shuttle)]
mod check {
    pub(crate) const SPOILT: u8 = 0xa5;
}

/// The measured value of a constant. Some tests take the tiny one instead: with it every few writes do something rare.
const fn tuned(measured: usize, tiny: usize) -> usize {
    if cfg!(twindex_tiny) { tiny } else { measured }
}

// ---------------------------------------------------------------------------------------------------
// The index
// ---------------------------------------------------------------------------------------------------

/// Slots of a bucket. The layout has room for 12.
const SLOTS: usize = tuned(12, 3);
const ALL_SLOTS: u32 = (1 << SLOTS) - 1;
/// Buckets and ghost lines of a page. One of the block's ghost lines is its head.
const BUCKETS: usize = PAGE / LINE * 3 / 4;
const GHOST_LINES: usize = PAGE / LINE / 4;
/// The pages of the largest block, and of the two that take its place, which then have 71 % of their slots taken. With 5 and 3 pages
/// a rebuild moved 2,755 pairs instead of some 1,650.
const MOST_PAGES: usize = tuned(3, 5);
const SPLIT_PAGES: usize = tuned(2, 3);
/// A block with fewer pairs is rebuilt smaller.
const fn few(buckets: usize) -> usize {
    buckets * SLOTS * 45 / 100
}
/// No block gets so deep, unless somebody has chosen keys whose hashes collide.
const MAX_DEPTH: usize = 31;
/// A pair that is farther from its home shows that its block will soon be full. In a block of 3 pages the first one comes when 94 %
/// of the slots are taken in the mean. A miss then looks at 2.1 buckets in the mean, which are neighbours.
const MANY_STEPS: usize = tuned(31, 2);
/// The fingerprints of a ghost line. The first of its 32 words is the ring's hand.
const GHOSTS: usize = LINE / 2 - 1;
const LINE: usize = 64;
/// The low bits of the word of a bucket count the pairs that passed. A count that has reached this stays there.
const MANY_PASSED: u32 = 0xff;

#[repr(C, align(64))]
struct Bucket {
    tags: Tags,
    positions: [AtomicU32; SLOTS],
}

const _: () = assert!(size_of::<Bucket>() == LINE);

impl Bucket {
    #[inline(always)]
    fn slots_with(&self, tag: u8) -> u32 {
        self.tags.matches(tag) & ALL_SLOTS
    }

    fn taken(&self) -> u32 {
        !self.slots_with(0) & ALL_SLOTS
    }

    #[inline(always)]
    fn has_passed(&self) -> bool {
        self.tags.word() & MANY_PASSED != 0
    }

    fn count_passed(&self, more: bool) {
        let word = self.tags.word();
        if word & MANY_PASSED < MANY_PASSED {
            // A reader may count a use at the same time, which is lost.
            self.tags.set_word(if more { word + 1 } else { word - 1 });
        }
    }

    fn uses(&self, slot: usize) -> u32 {
        self.tags.word() >> Self::use_bits(slot) & 3
    }

    fn set_uses(&self, slot: usize, uses: u32) {
        let bits = Self::use_bits(slot);
        self.tags.set_word(self.tags.word() & !(3 << bits) | uses << bits);
    }

    /// Counts a use. If another thread changes the word at the same time, that is lost.
    #[inline(always)]
    fn count_use(&self, slot: usize) {
        let (word, bits) = (self.tags.word(), Self::use_bits(slot));
        if word >> bits & 3 < POLICY.most_uses {
            self.tags.swap_word(word, word + (1 << bits));
        }
    }

    const fn use_bits(slot: usize) -> u32 {
        8 + 2 * slot as u32
    }
}

/// The hash of a key. Its low byte is not 0, so that it can be a tag.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    #[inline(always)]
    fn tag(self) -> u8 {
        self.0 as u8
    }

    /// One of `count` places, in the order of the bits above the tag.
    #[inline(always)]
    fn place(self, count: usize) -> usize {
        (((self.0 >> 8 & 0xffff_ffff) * count as u64) >> 32) as usize
    }

    /// The top bits.
    #[inline(always)]
    fn top(self, bits: usize) -> usize {
        // Shifted twice, as a shift by 64 is none.
        (self.0 >> 1 >> (63 - bits)) as usize
    }

    /// The first hash behind those that have so many top bits in common with this one.
    fn next_block(self, bits: usize) -> Option<u64> {
        let next = self.top(bits) as u64 + 1;
        // Shifted twice, as a shift by 64 is none.
        (next >> bits == 0).then(|| next << (63 - bits) << 1)
    }

    /// What a ghost remembers of a key: 15 bits of its hash, and the queue that it was evicted from.
    fn ghost(self, from: Queue) -> u16 {
        (self.0 >> 1) as u16 & !1 | from as u16
    }
}

/// An address that is a multiple of a line, with a number below that in its low bits.
fn tagged(at: NonNull<u8>, number: usize) -> *mut u8 {
    at.as_ptr().map_addr(|at| at | number)
}

#[inline(always)]
fn untagged(word: *mut u8) -> (NonNull<u8>, usize) {
    let at = word.map_addr(|at| at & !(LINE - 1));
    // SAFETY: I1. `tagged` made it of an address.
    (unsafe { NonNull::new_unchecked(at) }, word.addr() % LINE)
}

/// Pages of buckets, then of ghosts. The first ghost line is the head.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    at: NonNull<u8>,
    pages: usize,
}

/// What the writer knows of a block, and walks read: its pairs, and how many top bits of their hashes are the same.
#[repr(C)]
struct BlockHead {
    live: AtomicU32,
    depth: AtomicU32,
}

impl Block {
    /// An entry of the directory: the address, and in its low bits the pages.
    fn entry(self) -> *mut u8 {
        tagged(self.at, self.pages)
    }

    #[inline(always)]
    fn of_entry(entry: *mut u8) -> Self {
        let (at, pages) = untagged(entry);
        Self { at, pages }
    }

    const fn bytes(self) -> usize {
        self.pages * PAGE
    }

    #[inline(always)]
    const fn buckets(self) -> usize {
        self.pages * BUCKETS
    }

    #[inline(always)]
    fn bucket<'b>(self, number: usize) -> &'b Bucket {
        debug_assert!(number < self.buckets());
        // SAFETY: I1. The caller is pinned or has the lock, and zeroes are a bucket.
        unsafe { &*self.at.as_ptr().cast::<Bucket>().add(number) }
    }

    /// The bucket that is so many steps from a home.
    #[inline(always)]
    fn after(self, home: usize, steps: usize) -> usize {
        let number = home + steps;
        if number < self.buckets() { number } else { number - self.buckets() }
    }

    fn head<'b>(self) -> &'b BlockHead {
        // SAFETY: I1, as in `bucket`.
        unsafe { &*self.at.as_ptr().add(self.buckets() * LINE).cast() }
    }

    fn live(self) -> usize {
        self.head().live.load(Relaxed) as usize
    }

    fn is_nearly_full(self) -> bool {
        self.live() * 32 > self.buckets() * SLOTS * 31
    }

    fn depth(self) -> usize {
        self.head().depth.load(Relaxed) as usize
    }

    /// How many ghost lines it has.
    const fn lines(self) -> usize {
        self.pages * GHOST_LINES - 1
    }

    fn line(self, number: usize) -> *mut [u16; GHOSTS + 1] {
        // SAFETY: the line is within the block.
        unsafe { self.at.as_ptr().add((self.buckets() + 1 + number) * LINE).cast() }
    }

    /// The ghost line of a hash.
    fn ghosts<'b>(self, hash: Hash) -> &'b mut [u16; GHOSTS + 1] {
        // SAFETY: L1. The caller has the lock and keeps no second reference.
        unsafe { &mut *self.line(hash.place(self.lines())) }
    }

    /// Adds a pair to a block that has room near its home. The tag makes it visible, last.
    fn add(self, hash: Hash, position: u32, uses: u32) -> Option<Found> {
        let home = hash.place(self.buckets());
        for steps in 0..self.buckets() {
            let bucket = self.bucket(self.after(home, steps));
            let free = bucket.slots_with(0);
            if free == 0 {
                continue;
            }
            let slot = free.trailing_zeros() as usize;
            bucket.positions[slot].store(position, Release);
            bucket.set_uses(slot, uses);
            (0..steps).for_each(|step| self.bucket(self.after(home, step)).count_passed(true));
            bucket.tags.flip(slot, hash.tag());
            self.head().live.store(self.live() as u32 + 1, Relaxed);
            return Some(Found { block: self, home, steps, slot });
        }
        None
    }

    /// Takes over the ghosts of another block's lines that cover the same hashes.
    fn inherit_ghosts(self, old: Self) {
        for number in 0..self.lines() {
            // The newest of each line that covers a part of this one, in turns.
            let from = number * old.lines() / self.lines();
            let to = ((number + 1) * old.lines()).div_ceil(self.lines()).min(old.lines());
            // SAFETY: L1. The two lines are of two blocks.
            let line = unsafe { &mut *self.line(number) };
            let (mut back, mut which) = (GHOSTS / (to - from), GHOSTS % (to - from));
            for _ in 0..GHOSTS {
                (back, which) = if which == 0 { (back - 1, to - from - 1) } else { (back, which - 1) };
                // SAFETY: L1.
                let old = unsafe { &*old.line(from + which) };
                let ghost = old[1 + (usize::from(old[0]) + 2 * GHOSTS - 1 - back) % GHOSTS];
                if ghost != 0 {
                    line[1 + usize::from(line[0])] = ghost;
                    line[0] = (line[0] + 1) % GHOSTS as u16;
                }
            }
        }
    }
}

/// The directory: entries, and in the low bits of the pointer its depth.
#[derive(Clone, Copy)]
struct Directory {
    at: NonNull<u8>,
    depth: usize,
}

impl Directory {
    fn word(self) -> *mut u8 {
        tagged(self.at, self.depth)
    }

    #[inline(always)]
    fn of_word(word: *mut u8) -> Self {
        let (at, depth) = untagged(word);
        Self { at, depth }
    }

    const fn bytes(depth: usize) -> usize {
        pages::whole(size_of::<AtomicPtr<u8>>() << depth)
    }

    #[inline(always)]
    fn entry<'d>(self, number: usize) -> &'d AtomicPtr<u8> {
        debug_assert!(number < 1 << self.depth);
        // SAFETY: I1. The caller is pinned or has the lock.
        unsafe { &*self.at.as_ptr().cast::<AtomicPtr<u8>>().add(number) }
    }

    #[inline(always)]
    fn block(self, number: usize) -> Block {
        Block::of_entry(self.entry(number).load(Acquire))
    }

    fn blocks(self) -> impl Iterator<Item = Block> {
        let mut number = 0;
        std::iter::from_fn(move || {
            let block = (number < 1 << self.depth).then(|| self.block(number))?;
            number += 1 << (self.depth - block.depth());
            Some(block)
        })
    }

    /// The entries that lead to the block of this hash.
    fn range(self, hash: Hash, depth: usize) -> std::ops::Range<usize> {
        let span = 1 << (self.depth - depth);
        let from = hash.top(depth) * span;
        from..from + span
    }
}

// ---------------------------------------------------------------------------------------------------
// The cache
// ---------------------------------------------------------------------------------------------------

/// The bits of a position that say where in its segment a record is, in units.
const OFFSET_BITS: u32 = 20;
/// How many segments there can be. A position has bits for 4,096.
const SEGMENTS: usize = tuned(1 << (32 - OFFSET_BITS), 1 << 8);
const NOWHERE: u32 = u32::MAX;

/// Something in a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Line<T>(T);

/// How many cache lines count hits and misses. The first one is shared; each other belongs to one thread.
const COUNTING: usize = if cfg!(target_family = "wasm") { 1 } else { 16 };

/// A set of pairs of bounded size, which evicts pairs instead of refusing writes, and whose pairs may expire.
///
/// A handle: clones are the same cache.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

#[repr(C)]
struct Inner {
    /// A `Directory`.
    directory: AtomicPtr<u8>,
    /// Where each segment begins. The entry of a number that is not in use means nothing.
    segments: SegmentTable,
    /// The logarithm of the unit of positions.
    unit: u32,
    hashing: Hashing,
    domain: Domain,
    clock: Clock,
    /// Milliseconds, or `NEVER`.
    ttl: u64,
    idle: Option<Idle>,
    stale: u64,
    counts: [Line<[AtomicU64; 2]>; COUNTING],
    entries: AtomicUsize,
    memory: AtomicUsize,
    /// As they were given. `shrink_to` changes the limits in the state alone.
    options: CacheOptions,
    /// When to look for expired pairs, or `NEVER`. Only the holder of the lock changes it.
    next_look: Line<AtomicU64>,
    state: Mutex<State>,
}

// A listener runs while no lock is held, and a clock does not panic, so a panic leaves the cache whole.
impl std::panic::UnwindSafe for Cache {}
impl std::panic::RefUnwindSafe for Cache {}

struct SegmentTable(NonNull<AtomicPtr<u8>>);

// SAFETY: the table is of atomics and lives as long as its cache.
unsafe impl Send for SegmentTable {}
// SAFETY: as above.
unsafe impl Sync for SegmentTable {}

impl SegmentTable {
    const BYTES: usize = pages::whole(SEGMENTS * size_of::<AtomicPtr<u8>>());

    #[inline(always)]
    fn start(&self, number: usize) -> &AtomicPtr<u8> {
        debug_assert!(number < SEGMENTS);
        // SAFETY: the table has an entry for each segment, and positions are of segments.
        unsafe { self.0.add(number).as_ref() }
    }
}

/// The time to idle: so many ticks of so many milliseconds.
#[derive(Clone, Copy)]
struct Idle {
    tick: u64,
    ticks: u64,
}

impl Idle {
    fn new(time: Duration) -> Result<Self> {
        let time = millis(time)?;
        let tick = (time / 64).max(1);
        Ok(Self { tick, ticks: time / tick })
    }

    fn now(self, clock: &Clock) -> u64 {
        clock.now() / self.tick
    }
}

/// Where a pair is in the index.
#[derive(Clone, Copy)]
struct Found {
    block: Block,
    home: usize,
    steps: usize,
    slot: usize,
}

impl Found {
    #[inline(always)]
    fn bucket<'b>(self) -> &'b Bucket {
        self.block.bucket(self.block.after(self.home, self.steps))
    }

    fn position<'b>(self) -> &'b AtomicU32 {
        &self.bucket().positions[self.slot]
    }
}

/// How a record stands in time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    Fresh,
    /// Expired, but `get_or_compute` may still return it.
    Stale,
    Over,
}

impl Inner {
    #[cfg_attr(any(not(target_family = "wasm"), target_feature = "simd128"), inline(always))]
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    fn hash(&self, key: &[u8]) -> Hash {
        let mut hasher = self.hashing.build_hasher();
        hasher.write(key);
        let hash = hasher.finish();
        Hash(hash + u64::from(hash as u8 == 0))
    }

    #[inline(always)]
    fn directory(&self) -> Directory {
        Directory::of_word(self.directory.load(Acquire))
    }

    #[inline(always)]
    fn block(&self, hash: Hash) -> Block {
        let directory = self.directory();
        directory.block(hash.top(directory.depth))
    }

    /// Fetches the home bucket of a hash from memory.
    #[inline(always)]
    fn prefetch(&self, hash: Hash) {
        let block = self.block(hash);
        prefetch(block.bucket(hash.place(block.buckets())));
    }

    /// Fetches its ghost line as well, which a write needs.
    #[inline(always)]
    fn prefetch_to_write(&self, hash: Hash) {
        let block = self.block(hash);
        self.prefetch(hash);
        prefetch(block.line(hash.place(block.lines())));
    }

    #[inline(always)]
    fn address(&self, position: u32) -> *const u8 {
        let start = self.segments.start((position >> OFFSET_BITS) as usize).load(Acquire);
        start.wrapping_add(((position & ((1 << OFFSET_BITS) - 1)) as usize) << self.unit)
    }

    /// The record of a position that the caller, who is pinned or has the lock, has found in the index.
    #[inline(always)]
    fn record<'r>(&self, position: u32) -> Record<'r> {
        // SAFETY: I1, I2.
        unsafe { Record::at(self.address(position)) }
    }

    /// Finds the slot of a hash whose position `is_it` takes. The caller is pinned or has the lock.
    #[inline(always)]
    fn probe<T>(&self, hash: Hash, is_it: impl Fn(u32) -> Option<T>) -> Option<(Found, T)> {
        let block = self.block(hash);
        let home = hash.place(block.buckets());
        for steps in 0..block.buckets() {
            let bucket = block.bucket(block.after(home, steps));
            let mut slots = bucket.slots_with(hash.tag());
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                if let Some(it) = is_it(bucket.positions[slot].load(Acquire)) {
                    return Some((Found { block, home, steps, slot }, it));
                }
                slots &= slots - 1;
            }
            if !bucket.has_passed() {
                break;
            }
        }
        None
    }

    /// Finds a pair by its key. The caller is pinned or has the lock.
    #[cfg_attr(any(not(target_family = "wasm"), target_feature = "simd128"), inline(always))]
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    fn find<'r>(&self, key: &[u8], hash: Hash) -> Option<(Found, Record<'r>)> {
        self.probe(hash, |position| {
            let record = self.record(position);
            same_bytes(record.key(), key).then_some(record)
        })
    }

    #[inline(always)]
    fn age(&self, record: Record<'_>) -> Age {
        if record.head() & (EXPIRES | IDLES) == 0 { Age::Fresh } else { self.age_now(record) }
    }

    fn age_now(&self, record: Record<'_>) -> Age {
        if self.clock.is_past(self.over(record)) {
            Age::Over
        } else if self.stale > 0 && self.clock.is_past(record.deadline()) {
            Age::Stale
        } else {
            Age::Fresh
        }
    }

    /// When a pair is of no more use, as it stands.
    fn over(&self, record: Record<'_>) -> u64 {
        let over = record.deadline().saturating_add(self.stale);
        match (self.idle, record.used()) {
            (Some(idle), Some(used)) => over.min((used.load() + idle.ticks) * idle.tick),
            _ => over,
        }
    }

    /// Shows `read` a pair that has not expired. It counts as a use if `uses`.
    #[cfg_attr(any(not(target_family = "wasm"), target_feature = "simd128"), inline(always))]
    fn read<T>(&self, key: &[u8], uses: bool, read: impl FnOnce(Record<'_>) -> T) -> Option<T> {
        let hash = self.hash(key);
        let _pinned = self.domain.pin();
        let (found, record) = self.find(key, hash)?;
        if self.age(record) != Age::Fresh {
            return None;
        }
        if uses {
            self.count_use(found, record);
        }
        Some(read(record))
    }

    #[inline(always)]
    fn count_use(&self, found: Found, record: Record<'_>) {
        found.bucket().count_use(found.slot);
        if let (Some(idle), Some(used)) = (self.idle, record.used()) {
            used.store(idle.now(&self.clock));
        }
    }

    #[cfg_attr(any(not(target_family = "wasm"), target_feature = "simd128"), inline(always))]
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    fn count(&self, is_hit: bool) {
        let lane = parts::lane();
        let before = if lane != 0 && lane < COUNTING {
            // No other living thread has this lane.
            let count = &self.counts[lane].0[usize::from(is_hit)];
            let before = count.load(Relaxed);
            count.store(before + 1, Relaxed);
            before
        } else {
            self.counts[0].0[usize::from(is_hit)].fetch_add(1, Relaxed)
        };
        if before % 64 == 63 {
            self.look();
        }
    }

    /// Now and then a look-up removes some expired pairs, unless another thread has the lock.
    #[cold]
    fn look(&self) {
        let next = self.next_look.0.load(Relaxed);
        if next != NEVER
            && self.clock.is_past(next)
            && let Ok(state) = self.state.try_lock()
        {
            self.write_with(state, |_| ());
        }
    }
}

// ---------------------------------------------------------------------------------------------------
// The writer
// ---------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Small,
    Main,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Free,
    /// Records are appended.
    Open,
    Sealed,
    /// It waits in the limbo.
    Retired,
}

/// A segment, as the writer sees it.
struct Segment {
    at: NonNull<u8>,
    /// Its length, and how much at its end was given back to the system.
    bytes: usize,
    discarded: usize,
    /// How far it has records, and how far it was swept.
    filled: usize,
    swept: usize,
    live: usize,
    live_bytes: usize,
    queue: Queue,
    /// How often it still goes to the end of the small queue as it is.
    turns: u8,
    phase: Phase,
    /// When to look for expired pairs in it, or `NEVER`.
    due: u64,
}

impl Segment {
    /// What a new number costs.
    const COST: usize = size_of::<Self>() + 3 * size_of::<usize>();

    const fn resident(&self) -> usize {
        self.bytes - self.discarded
    }

    /// The room behind its records.
    const fn room(&self) -> usize {
        self.bytes - self.filled
    }
}

/// A segment that takes records of one queue which are over at about the same time as its first one. Those that get more
/// turns in the small queue have segments of their own.
#[derive(Clone, Copy)]
struct Open {
    queue: Queue,
    stays: bool,
    over: u64,
    segment: usize,
}

/// How far a segment was looked through for expired pairs; of those that stay the number, and the sum of the logarithms of
/// the times that they have left.
#[derive(Clone, Copy)]
struct Visit {
    segment: usize,
    at: usize,
    stay: u32,
    logs: u32,
}

/// How a segment is swept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// Most of it is dead. What lives is copied.
    Clean,
    /// By the policy.
    Evict,
    /// All goes.
    Drop,
}

#[derive(Clone, Copy)]
struct Victim {
    segment: usize,
    task: Task,
}

/// The fate of a record that was swept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Dead,
    Dropped,
    Kept,
    /// The segment went to the end of a queue.
    Requeued,
}

/// How an attempt to rebuild a block ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rebuilt {
    Done,
    NoMemory,
    /// A pair would be too far from its home.
    NoSlot,
}

#[derive(Clone, Copy)]
enum Retired {
    Segment(usize),
    /// A block or a directory, and its length.
    Pages(NonNull<u8>, usize),
}

#[derive(Clone, Copy, Default)]
struct Total {
    pairs: usize,
    bytes: usize,
}

/// The hashes of a block that is about to be rebuilt. Each write reads some of its records: to read all took up to 216 us.
#[derive(Clone, Copy)]
struct Plan {
    block: Block,
    hash: Hash,
    hashes: NonNull<u8>,
    /// The buckets whose pairs are hashed.
    done: usize,
}

impl Plan {
    const fn bytes(block: Block) -> usize {
        pages::whole(block.buckets() * SLOTS * size_of::<Hash>())
    }

    /// The hash of the pair in a slot.
    fn of_slot<'p>(self, bucket: usize, slot: usize) -> &'p Cell<Hash> {
        // SAFETY: L1, P1. There is one for each slot, and zeroes are a hash.
        unsafe { &*self.hashes.as_ptr().cast::<Cell<Hash>>().add(bucket * SLOTS + slot) }
    }
}

/// A pair that the listener is to hear of.
type Gone = (Vec<u8>, Vec<u8>, Cause);

/// The state, which only the holder of the lock touches: L1.
#[derive(Default)]
struct State {
    /// The limits. `bytes` is above the capacity as long as `shrink_to` has still to evict.
    bytes: usize,
    capacity: usize,
    entries: usize,
    /// All memory of the cache. That of the index and the rest but segments and spare runs is a part of it.
    used: usize,
    overhead: usize,
    pages: Pages,
    /// The length of a usual segment.
    standard: usize,
    segments: Vec<Segment>,
    free: Vec<usize>,
    open: Vec<Open>,
    /// Segments, oldest first.
    queues: [VecDeque<usize>; 2],
    totals: [Total; 2],
    limbo: Limbo<Retired>,
    limbo_bytes: usize,
    /// Whether a write has waited in vain for what is in the limbo.
    is_held: bool,
    /// Segments that may have become empty.
    emptied: Vec<usize>,
    victim: Option<Victim>,
    /// The bytes that eviction has kept, less seven times those that it has dropped.
    kept: usize,
    /// The small queue's part, what may still be copied, and what was dropped from each queue: see `Policy`.
    share: f64,
    credit: f64,
    drops: [f64; 2],
    was_full: bool,
    random: u64,
    /// The position of the pair that is being written anew: it is not evicted.
    guarded: u32,
    /// The bytes that the index could not get when it last wanted to grow.
    wanted: usize,
    plan: Option<Plan>,
    /// The records that this write has read for others, and the most of a write.
    work: usize,
    most_work: usize,
    /// The first hash of the block that is next to be looked at for few pairs.
    hand: u64,
    /// The pages of all blocks, and how many blocks there are of each depth.
    index_pages: usize,
    depths: [u32; MAX_DEPTH + 1],
    /// The segment that is being looked through for expired pairs.
    visit: Option<Visit>,
    /// The running computations, once there are any.
    flights: Option<Box<dyn Flights>>,
    gone: Vec<Gone>,
    counts: CacheStats,
}

// SAFETY: L1, P1. The pointers are to memory that the state owns.
unsafe impl Send for State {}

impl State {
    /// What an empty cache takes.
    const fn bare() -> usize {
        // Of the table the first page is enough for most caches.
        let table = if pages::IS_VIRTUAL { PAGE } else { SegmentTable::BYTES };
        size_of::<Inner>() + table + Directory::bytes(0) + PAGE
    }

    /// The memory of segments, spare and retired ones included.
    const fn mapped(&self) -> usize {
        self.used - self.overhead
    }

    /// The memory of dead records.
    fn dead(&self) -> usize {
        let others = self.pages.spare() + self.limbo_bytes + self.totals[0].bytes + self.totals[1].bytes;
        self.mapped().saturating_sub(others)
    }

    fn pairs(&self) -> usize {
        self.totals[0].pairs + self.totals[1].pairs
    }

    /// Free memory, and memory that readers may still be in.
    fn available(&self) -> usize {
        (self.bytes - self.used.min(self.bytes))
            .saturating_add(self.pages.spare())
            .saturating_add(self.limbo_bytes)
    }

    /// Whether the blocks have few pairs.
    fn is_sparse(&self) -> bool {
        self.index_pages > 1 && self.pairs() < few(self.index_pages * BUCKETS)
    }

    /// Gives up free numbers of segments at the end of their list, since they cost memory, too. The next segments get the lowest
    /// ones. Returns whether there was any.
    fn give_up_numbers(&mut self) -> bool {
        let before = self.segments.len();
        while self.segments.last().is_some_and(|last| last.phase == Phase::Free) {
            self.segments.pop();
        }
        let cost = (before - self.segments.len()) * Segment::COST;
        if cost > 0 {
            (self.used, self.overhead) = (self.used - cost, self.overhead - cost);
            self.free.retain(|&number| number < self.segments.len());
            self.free.sort_unstable_by_key(|&number| std::cmp::Reverse(number));
            self.segments.shrink_to(self.segments.len());
        }
        cost > 0
    }

    /// Gives spare memory back to the system.
    fn release(&mut self) -> bool {
        let released = self.pages.release();
        self.used -= released;
        released > 0
    }

    fn unqueue(&mut self, number: usize) {
        let queue = &mut self.queues[self.segments[number].queue as usize];
        if let Some(at) = queue.iter().position(|&other| other == number) {
            queue.remove(at);
        }
    }

    /// The length of a usual segment of a cache with this capacity.
    fn standard_of(bytes: usize) -> usize {
        const LEAST: usize = tuned(16 << 10, 1024);
        /// 4,096 of these are 256 GiB.
        const MOST: usize = 64 << 20;
        pages::whole((bytes / 512).clamp(LEAST.min(bytes / 128), MOST))
    }

    /// Larger records get a segment of their own length.
    fn large(&self) -> usize {
        self.standard / 4 * 3
    }
}

/// The writer: it has the lock.
struct Writer<'c> {
    cache: &'c Inner,
    state: MutexGuard<'c, State>,
    /// The time, if a pair was ever given a deadline.
    now: u64,
    has_rebuilt: bool,
    has_retired: bool,
}

impl Inner {
    /// Does something as the writer, then a bit of the work that is due, and tells the listener what is gone.
    fn write<T>(&self, change: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        self.write_with(lock(&self.state), change)
    }

    fn write_with<T>(&self, state: MutexGuard<'_, State>, change: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let now = if self.next_look.0.load(Relaxed) == NEVER { 0 } else { self.clock.now() };
        let mut writer = Writer { cache: self, state, now, has_rebuilt: false, has_retired: false };
        let done = change(&mut writer);
        writer.end();
        done
    }

    #[cold]
    fn tell(&self, gone: &[Gone]) {
        if let Some(listener) = &self.options.listener {
            call_all(gone, |(key, value, cause)| listener(key, value, *cause));
        }
    }
}

/// Calls a function of the user's for each item, also after one call has panicked. At the end the first panic goes on, unless the
/// thread unwinds already: a second one would end the process.
fn call_all<T>(each: impl IntoIterator<Item = T>, mut call: impl FnMut(T)) {
    let mut panicked = None;
    for one in each {
        panicked = panicked.or(catch_unwind(AssertUnwindSafe(|| call(one))).err());
    }
    if let Some(panic) = panicked
        && !std::thread::panicking()
    {
        resume_unwind(panic);
    }
}

// --- memory

impl Writer<'_> {
    /// Does a bit of the work that is due, unlocks, and tells the listener what is gone.
    fn end(mut self) {
        self.tick();
        let cache = self.cache;
        cache.entries.store(self.state.pairs(), Relaxed);
        cache.memory.store(self.state.used, Relaxed);
        let gone = mem::take(&mut self.state.gone);
        let is_due = self.has_retired && self.state.limbo_bytes >= self.state.standard;
        drop(self);
        if is_due {
            // The system interrupts all threads for it, so no lock is held.
            cache.domain.advance();
        }
        if !gone.is_empty() {
            cache.tell(&gone);
        }
    }

    /// Takes memory, of which `reserve` bytes more must be free. Other spare memory is given up for it.
    fn map(&mut self, bytes: usize, reserve: usize) -> Option<NonNull<u8>> {
        let has_room = |state: &State| {
            let others = state.used - state.pages.spare();
            others.saturating_add(bytes).saturating_add(reserve) <= state.bytes
        };
        if !has_room(&self.state) {
            self.reclaim();
            if !has_room(&self.state) {
                return None;
            }
        }
        let mut has_reclaimed = false;
        let (at, spare) = loop {
            if let Some(taken) = self.state.pages.take(bytes) {
                break taken;
            }
            // The system has no more memory. Retired and spare memory may serve, also for another length.
            if !mem::replace(&mut has_reclaimed, true) {
                self.reclaim();
            } else if !self.state.release() {
                return None;
            }
        };
        let state = &mut *self.state;
        state.used += bytes - spare;
        while state.used > state.bytes && state.release() {}
        Some(at)
    }

    /// Takes memory for the index: zeroes.
    fn map_index(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let at = self.map(bytes, 0)?;
        // SAFETY: P1. It was taken above.
        unsafe { at.write_bytes(0, bytes) };
        self.state.overhead += bytes;
        Some(at)
    }

    /// # Safety
    /// It came from `map_index`, and nobody uses it any more.
    unsafe fn unmap_index(&mut self, at: NonNull<u8>, bytes: usize) {
        self.state.overhead -= bytes;
        // SAFETY: P1, the caller's promise.
        unsafe { self.state.pages.give(at, bytes, bytes) };
    }

    fn retire(&mut self, retired: Retired, bytes: usize) {
        self.state.limbo.push(retired);
        self.state.limbo_bytes += bytes;
    }

    /// Frees what no reader can be in any more.
    fn reclaim(&mut self) {
        if !self.state.limbo.is_empty() {
            self.cache.domain.advance();
            self.free_retired();
        }
    }

    /// Frees what no reader was in when the epoch last advanced.
    fn free_retired(&mut self) {
        while let Some(retired) = self.state.limbo.pop(&self.cache.domain) {
            self.state.is_held = false;
            match retired {
                Retired::Segment(number) => {
                    let segment = &mut self.state.segments[number];
                    segment.phase = Phase::Free;
                    let (at, bytes, resident) = (segment.at, segment.bytes, segment.resident());
                    self.state.limbo_bytes -= resident;
                    self.state.free.push(number);
                    // SAFETY: P1, I2. It was in the limbo.
                    unsafe { self.state.pages.give(at, bytes, resident) };
                }
                Retired::Pages(at, bytes) => {
                    self.state.limbo_bytes -= bytes;
                    // SAFETY: P1, I1. It was in the limbo.
                    unsafe { self.unmap_index(at, bytes) };
                }
            }
        }
    }

    /// A new segment at the end of a queue. If `moving`, it may use the memory that is kept for sweeping.
    fn take(&mut self, bytes: usize, queue: Queue, moving: bool) -> Option<usize> {
        let needs_number = |state: &State| state.free.is_empty() && state.segments.len() >= SEGMENTS - 1;
        if needs_number(&self.state) {
            self.reclaim();
            if needs_number(&self.state) {
                return None;
            }
        }
        let cost = if self.state.free.is_empty() { Segment::COST } else { 0 };
        let at = self.map(bytes, cost + if moving { 0 } else { self.state.standard })?;
        let state = &mut *self.state;
        let segment = Segment {
            at,
            bytes,
            discarded: 0,
            filled: 0,
            swept: 0,
            live: 0,
            live_bytes: 0,
            queue,
            turns: 0,
            phase: Phase::Open,
            due: NEVER,
        };
        let number = state.free.pop().unwrap_or(state.segments.len());
        if number < state.segments.len() {
            state.segments[number] = segment;
        } else {
            state.segments.push(segment);
            (state.used, state.overhead) = (state.used + cost, state.overhead + cost);
            while state.used > state.bytes && state.release() {}
        }
        // What a reader finds by a position in this segment it finds after this.
        self.cache.segments.start(number).store(at.as_ptr(), Release);
        state.queues[queue as usize].push_back(number);
        Some(number)
    }

    /// Ends appending to a segment, and gives its last pages back if they are many.
    fn seal(&mut self, number: usize) {
        let state = &mut *self.state;
        state.open.retain(|open| open.segment != number);
        let segment = &mut state.segments[number];
        segment.phase = Phase::Sealed;
        if segment.live == 0 {
            state.emptied.push(number);
        }
        let used = pages::whole(segment.filled);
        let free = segment.bytes - used;
        // SAFETY: I4, P1. No record is there.
        if free > 0 && free >= segment.bytes / 32 && unsafe { pages::discard(segment.at.add(used), free) } {
            segment.discarded = free;
            state.used -= free;
        }
    }

    const fn position(&self, segment: usize, offset: usize) -> u32 {
        (segment << OFFSET_BITS) as u32 | (offset >> self.cache.unit) as u32
    }

    /// Finds a place for a record of this size, which is over at this time, among new ones or those that stay.
    fn allot(&mut self, queue: Queue, stays: bool, over: u64, size: usize, moving: bool) -> Option<u32> {
        self.grow_standard();
        if size > self.state.large() {
            let number = self.take(pages::whole(size), queue, moving)?;
            let segment = &mut self.state.segments[number];
            (segment.filled, segment.phase) = (size, Phase::Sealed);
            return Some(self.position(number, 0));
        }
        let (grade, state) = (self.grade(over), &*self.state);
        let room = |open: &Open| state.segments[open.segment].room();
        // Its queue, how far its time is apart, and its room.
        let rank = |open: &Open| {
            let is_other = open.queue != queue || open.stays != stays;
            (is_other, self.grade(open.over).abs_diff(grade) / 2, room(open), open.segment)
        };
        let best = state.open.iter().filter(|open| room(open) >= size).map(rank).min();
        // If too many are open, pairs that are over at different times share one. A segment with few pairs would waste memory.
        // If memory is short they share one, too: to free a segment of 1 MB takes a millisecond and more.
        let is_short = state.available() < 2 * state.standard;
        let is_full = state.open.len() >= (state.mapped() / state.standard / 16).clamp(3, 16);
        // What has no room for a large record may have it for small ones.
        let fullest = state.open.iter().map(|open| (room(open), open.segment)).min();
        let fullest = fullest.filter(|&(room, _)| is_full || room < state.standard / 32);
        let number = match best {
            Some((false, apart, _, number)) if apart == 0 || is_full || is_short => number,
            _ => match self.take(self.state.standard, queue, moving) {
                Some(number) => {
                    if let Some((_, fullest)) = fullest {
                        self.seal(fullest);
                    }
                    self.state.open.push(Open { queue, stays, over, segment: number });
                    self.state.segments[number].turns = if stays { POLICY.turns - 1 } else { 0 };
                    number
                }
                // A place of another queue is better than to sweep a whole segment for one: that read 16,000 records.
                None => best?.3,
            },
        };
        let segment = &mut self.state.segments[number];
        segment.filled += size;
        let offset = segment.filled - size;
        Some(self.position(number, offset))
    }

    /// The logarithm of the time until then, in eighths, from a second on.
    fn grade(&self, over: u64) -> u32 {
        let left = over.saturating_sub(self.now) | 1 << 10;
        let log = left.ilog2();
        log * 8 + (left >> (log - 3) & 7) as u32
    }

    /// In a cache without a limit of bytes the segments grow with the memory that pairs take.
    fn grow_standard(&mut self) {
        let state = &mut *self.state;
        let most = 1 << (OFFSET_BITS + self.cache.unit);
        if state.bytes == usize::MAX
            && state.mapped() / (SEGMENTS / 8) > state.standard
            && state.standard * 2 <= most
        {
            state.standard *= 2;
        }
    }

    /// Counts a record that is about to be published, or was.
    fn enliven(&mut self, position: u32, size: usize) {
        let over = self.cache.over(self.cache.record(position));
        let state = &mut *self.state;
        let segment = &mut state.segments[(position >> OFFSET_BITS) as usize];
        segment.live += 1;
        segment.live_bytes += size;
        segment.due = segment.due.min(over);
        let total = &mut state.totals[segment.queue as usize];
        total.pairs += 1;
        total.bytes += size;
    }

    /// Counts a record that no slot names any more.
    fn kill(&mut self, position: u32) {
        let size = self.cache.record(position).size(self.cache.unit);
        let number = (position >> OFFSET_BITS) as usize;
        let state = &mut *self.state;
        let segment = &mut state.segments[number];
        segment.live -= 1;
        segment.live_bytes -= size;
        if segment.live == 0 && segment.phase == Phase::Sealed {
            state.emptied.push(number);
        }
        let total = &mut state.totals[segment.queue as usize];
        total.pairs -= 1;
        total.bytes -= size;
    }

    /// Retires the segments that have become empty, and frees what can be freed.
    fn collect(&mut self) {
        while let Some(number) = self.state.emptied.pop() {
            let state = &mut *self.state;
            let segment = &mut state.segments[number];
            if segment.phase != Phase::Sealed || segment.live > 0 {
                continue;
            }
            segment.phase = Phase::Retired;
            let bytes = segment.resident();
            state.unqueue(number);
            if state.victim.is_some_and(|victim| victim.segment == number) {
                state.victim = None;
            }
            if state.visit.is_some_and(|visit| visit.segment == number) {
                state.visit = None;
            }
            self.retire(Retired::Segment(number), bytes);
            self.has_retired = true;
        }
        self.free_retired();
    }
}

// --- sweeping

impl Writer<'_> {
    /// Finds the slot that names a position.
    fn find_position(&self, position: u32, hash: Hash) -> Option<Found> {
        let found = self.cache.probe(hash, |other| (other == position).then_some(()));
        found.map(|(found, ())| found)
    }

    /// Sweeps on in a segment, until it has gone through so many records or dropped so many pairs. Returns the bytes gone through.
    fn sweep(&mut self, number: usize, task: Task, records: usize, mut drops: usize) -> usize {
        const AHEAD: usize = 8;
        let (mut done, mut left) = (0, records);
        while left > 0 && drops > 0 {
            let segment = &self.state.segments[number];
            let (mut at, filled) = (segment.swept, segment.filled);
            let (mut ahead, mut count) = ([(0, Hash(0)); AHEAD], 0);
            while count < AHEAD.min(left) && at < filled {
                let position = self.position(number, at);
                let record = self.cache.record(position);
                let hash = self.cache.hash(record.key());
                self.cache.prefetch_to_write(hash);
                ahead[count] = (position, hash);
                count += 1;
                at += record.size(self.cache.unit);
            }
            if count == 0 {
                break;
            }
            prefetch(self.cache.address(self.position(number, at)));
            left -= count;
            for &(position, hash) in &ahead[..count] {
                let size = self.cache.record(position).size(self.cache.unit);
                self.state.segments[number].swept += size;
                done += size;
                match self.judge(number, task, position, hash) {
                    Verdict::Dead | Verdict::Kept => {}
                    Verdict::Dropped => drops -= 1,
                    // Nothing was copied.
                    Verdict::Requeued => return done - size,
                }
                if drops == 0 {
                    break;
                }
                // Each record tells where the next one is. So the heads of the next sweep are fetched meanwhile, one by one.
                if at < filled {
                    at += self.cache.record(self.position(number, at)).size(self.cache.unit);
                    prefetch(self.cache.address(self.position(number, at)));
                }
            }
        }
        done
    }

    /// Decides what becomes of a record, and does it.
    fn judge(&mut self, number: usize, task: Task, position: u32, hash: Hash) -> Verdict {
        self.state.work += 1;
        let Some(found) = self.find_position(position, hash) else { return Verdict::Dead };
        let (record, uses) = (self.cache.record(position), found.bucket().uses(found.slot));
        let queue = self.state.segments[number].queue;
        if self.cache.age(record) == Age::Over && position != self.state.guarded {
            self.drop_pair(found, hash);
            return Verdict::Dropped;
        }
        let size = record.size(self.cache.unit);
        let keeps = match task {
            Task::Clean => Some((queue, uses)),
            _ if position == self.state.guarded => Some((queue, uses)),
            // Bounds the work for one write: of eight bytes one goes, however much it was used.
            Task::Evict if self.state.kept <= 2 * self.state.standard => {
                self.state.verdict(queue, uses, size)
            }
            _ => None,
        };
        if let Some((to, uses)) = keeps {
            // The small queue keeps only what gets more turns.
            let stays = task == Task::Evict && to == Queue::Small;
            if let Some(kept) = self.keep(number, found, position, to, stays, uses) {
                self.state.kept += if task == Task::Evict { size } else { 0 };
                return kept;
            }
            // There is no room for a copy. Others make some first for the pair that is being written.
            if position == self.state.guarded {
                self.requeue(number, queue);
                return Verdict::Requeued;
            }
        }
        let line = found.block.ghosts(hash);
        line[1 + usize::from(line[0])] = hash.ghost(queue);
        line[0] = (line[0] + 1) % GHOSTS as u16;
        self.state.count_drop(queue);
        self.state.kept = self.state.kept.saturating_sub(7 * size);
        self.drop_pair(found, hash);
        Verdict::Dropped
    }

    /// Moves a segment to the end of a queue. It is swept from its start again.
    fn requeue(&mut self, number: usize, queue: Queue) {
        let state = &mut *self.state;
        state.unqueue(number);
        state.queues[queue as usize].push_back(number);
        let segment = &mut state.segments[number];
        segment.swept = 0;
        let (pairs, bytes) = (segment.live, segment.live_bytes);
        let from = mem::replace(&mut segment.queue, queue);
        state.totals[from as usize].pairs -= pairs;
        state.totals[from as usize].bytes -= bytes;
        state.totals[queue as usize].pairs += pairs;
        state.totals[queue as usize].bytes += bytes;
        if state.victim.is_some_and(|victim| victim.segment == number) {
            state.victim = None;
        }
    }

    /// Copies a record to the end of a queue, if there is room. A segment that has no other record goes there as it is.
    fn keep(
        &mut self,
        number: usize,
        found: Found,
        position: u32,
        queue: Queue,
        stays: bool,
        uses: u32,
    ) -> Option<Verdict> {
        let record = self.cache.record(position);
        let size = record.size(self.cache.unit);
        if self.state.segments[number].filled == size && size > self.state.large() {
            self.requeue(number, queue);
            found.bucket().set_uses(found.slot, uses);
            return Some(Verdict::Requeued);
        }
        let pair = record.pair();
        let over = pair.deadline.saturating_add(self.cache.stale);
        let copy = self.allot(queue, stays, over, size, true)?;
        self.write_record(copy, pair);
        self.enliven(copy, size);
        found.position().store(copy, Release);
        found.bucket().set_uses(found.slot, uses);
        if self.state.guarded == position {
            self.state.guarded = copy;
        }
        self.kill(position);
        Some(Verdict::Kept)
    }

    fn write_record(&mut self, position: u32, pair: Pair<'_>) {
        let at = self.cache.address(position).cast_mut();
        // SAFETY: I3. `allot` gave the place to this record alone, and segments begin at multiples of 64.
        unsafe { pair.write(NonNull::new_unchecked(at)) };
    }

    /// Removes a pair that the listener is to hear of.
    fn drop_pair(&mut self, found: Found, hash: Hash) {
        self.lose(self.cache.record(found.position().load(Relaxed)));
        self.unlink(found, hash);
    }

    /// Counts a pair that nobody has deleted, and notes it for the listener, if there is memory to copy it.
    fn lose(&mut self, record: Record<'_>) {
        let has_expired = self.cache.age(record) != Age::Fresh;
        let cause = if has_expired { Cause::Expired } else { Cause::Size };
        if self.cache.options.listener.is_some()
            && self.state.gone.try_reserve(1).is_ok()
            && let Some((key, value)) = copy(record.key()).zip(copy(record.value()))
        {
            self.state.gone.push((key, value, cause));
        }
        let counts = &mut self.state.counts;
        *(if has_expired { &mut counts.expirations } else { &mut counts.evictions }) += 1;
    }

    /// Chooses the segment to sweep for memory.
    fn choose(&mut self, task: Task) -> Option<Victim> {
        if self.state.victim.is_none() {
            let is_dead = task == Task::Clean && self.state.dead() > self.state.mapped() / 4;
            let cleaned = if is_dead { self.most_dead() } else { None };
            self.state.victim = cleaned.or_else(|| {
                let segment = self.next_segment()?;
                Some(Victim { segment, task: Task::Evict })
            });
            if let Some(Victim { segment, .. }) = self.state.victim
                && self.state.segments[segment].phase == Phase::Open
            {
                self.seal(segment);
            }
        }
        self.state.victim
    }

    /// The queue from which pairs are evicted next.
    fn next_queue(&self) -> Queue {
        let state = &*self.state;
        let is_small = state.size(Queue::Main) == 0.0
            || state.credit <= 0.0
            || state.size(Queue::Small) > state.share * state.whole();
        let queue = if is_small { Queue::Small } else { Queue::Main };
        let other = if is_small { Queue::Main } else { Queue::Small };
        // To sweep the pair that is being written would gain nothing.
        let guarded = (state.guarded != NOWHERE).then_some((state.guarded >> OFFSET_BITS) as usize);
        let has_others =
            |queue: Queue| state.queues[queue as usize].iter().take(2).any(|&one| Some(one) != guarded);
        if has_others(queue) || !has_others(other) { queue } else { other }
    }

    /// The segment from which pairs are evicted next: the oldest one that has no more turns.
    fn next_segment(&mut self) -> Option<usize> {
        let queue = self.next_queue() as usize;
        let state = &mut *self.state;
        for _ in 0..state.queues[queue].len() {
            let segment = &mut state.segments[state.queues[queue][0]];
            if segment.turns == 0 {
                break;
            }
            segment.turns -= 1;
            state.queues[queue].rotate_left(1);
        }
        state.queues[queue].front().copied()
    }

    /// The segment with the smallest live part, if that is less than half.
    fn most_dead(&self) -> Option<Victim> {
        let all = self.state.segments.iter().enumerate();
        let sealed = all.filter(|(_, segment)| segment.phase == Phase::Sealed && segment.live > 0);
        let part = |segment: &Segment| segment.live_bytes * 256 / segment.bytes;
        let (number, segment) = sealed.min_by_key(|(_, segment)| part(segment))?;
        (part(segment) < 128).then_some(Victim { segment: number, task: Task::Clean })
    }

    /// Sweeps so many records for memory, in no gentler way than this. Returns the bytes gone through, `None` if there is
    /// nothing to sweep.
    fn sweep_for_memory(&mut self, records: usize, least: Task) -> Option<usize> {
        let Victim { segment, task } = self.choose(least)?;
        let done = self.sweep(segment, task.max(least), records, usize::MAX);
        self.collect();
        self.end_sweep(segment);
        Some(done + 64)
    }

    /// The rest of a swept segment could not be kept: it starts again.
    fn end_sweep(&mut self, segment: usize) {
        let state = &mut *self.state;
        if state.victim.is_some_and(|victim| victim.segment == segment)
            && state.segments[segment].swept >= state.segments[segment].filled
        {
            state.segments[segment].swept = 0;
            state.victim = None;
        }
    }

    /// Sweeps a few records if memory will soon be short, so that a write of so many bytes need not wait for a whole segment.
    fn prepare(&mut self, bytes: usize) {
        // Where segments are small beside the whole, one more is free, so that few writes have to wait for a sweep's end.
        let spares = if self.state.bytes / 512 >= self.state.standard { 3 } else { 2 };
        let enough = spares * self.state.standard + self.state.wanted;
        let mut left = 8 * bytes;
        for _ in 0..32 {
            if self.state.available() >= enough {
                // The next write to a full block finds memory. If none comes, it serves pairs.
                if self.state.plan.is_none() {
                    self.state.wanted = 0;
                }
                return;
            }
            match self.sweep_for_memory(8, Task::Clean) {
                Some(swept) if swept < left => left -= swept,
                _ => return,
            }
        }
    }

    /// Finds a place for a record, and evicts for it. `None` after a bounded number of steps.
    fn allot_evicting(&mut self, queue: Queue, over: u64, size: usize) -> Option<u32> {
        /// How often to look whether readers have gone: in vain many times once, and then few times until one has gone. The system
        /// may have interrupted a reader for some milliseconds. A reader that sleeps must not slow down each write.
        const TURNS: usize = 150;
        const FEW_TURNS: usize = 4;
        let need = if size > self.state.large() { pages::whole(size) } else { self.state.standard };
        let most = 16 * (need + 4 * self.state.standard);
        let mut left = most;
        let (mut turns, mut is_last) = (0, false);
        loop {
            if let Some(position) = self.allot(queue, false, over, size, false) {
                return Some(position);
            }
            if self.state.available() >= need + self.state.standard && self.state.limbo_bytes > 0 {
                // There will be room once readers have gone. To evict more would be in vain.
                turns += 1;
                if turns > if self.state.is_held { FEW_TURNS } else { TURNS } {
                    self.state.is_held = true;
                    return None;
                }
                if turns < TURNS / 3 {
                    sync::yield_now();
                } else {
                    sync::nap();
                }
                continue;
            }
            // After it has shrunk, a cache may have more numbers than it needs.
            if self.state.free.len() > self.state.segments.len() / 2 && self.state.give_up_numbers() {
                continue;
            }
            if left == 0 {
                return None;
            }
            // Where segments are few and records large, copies may take as much memory as is freed.
            let task = match left * 4 / most {
                0 => Task::Drop,
                1 => Task::Evict,
                _ => Task::Clean,
            };
            match self.sweep_for_memory(64, task) {
                Some(swept) => left = left.saturating_sub(swept),
                None if is_last => return None,
                None => is_last = true,
            }
            // A large record may need what the index no longer does.
            if is_last || size > self.state.large() {
                self.thin_out_all();
            }
        }
    }

    /// Evicts until there is room for one more pair, that of this hash, within the limit of entries.
    fn evict_entries(&mut self, hash: Hash) {
        let most = self.state.entries;
        let batch = (most / 128).clamp(1, 16);
        for _ in 0..8 {
            let pairs = self.state.pairs();
            if pairs < most {
                return;
            }
            let Some(segment) = self.next_segment() else { return };
            let is_done = {
                let segment = &self.state.segments[segment];
                segment.swept >= segment.filled
            };
            if is_done {
                // Later segments are older: this one is open in a time class that is seldom used.
                if self.state.segments[segment].phase == Phase::Open {
                    self.seal(segment);
                }
                self.state.segments[segment].swept = 0;
            }
            self.sweep(segment, Task::Evict, 64, batch + pairs - most);
            self.collect();
        }
        // All were used of late. One goes all the same.
        if let Some(segment) = self.next_segment() {
            self.sweep(segment, Task::Drop, 64, 1);
        }
        // All were dead, of pairs that were written often.
        if self.state.pairs() >= most {
            self.evict_near(hash);
        }
    }

    /// Some of the work that is due: expired segments, dead and free memory, thin blocks.
    fn tick(&mut self) {
        const SPARE: usize = tuned(256 << 10, 4096);
        // To rebuild a block is enough for one write.
        if !self.has_rebuilt && self.now >= self.cache.next_look.0.load(Relaxed) {
            self.expire();
        }
        self.clean();
        if !self.state.emptied.is_empty() || !self.state.limbo.is_empty() {
            self.collect();
        }
        // What was freed may be used again at once. Much of it goes back, step by step.
        let most = if self.state.bytes == usize::MAX { 1 } else { 4 } * self.state.standard;
        if !self.has_rebuilt && self.state.pages.spare() > most.max(SPARE) {
            self.state.release();
        }
        if self.state.bytes > self.state.capacity {
            self.shrink(32);
        }
        if !self.has_rebuilt && self.state.is_sparse() {
            self.thin_out();
        }
        if let Some(plan) = self.state.plan
            && !self.has_rebuilt
        {
            self.carry_out(plan);
        }
        self.state.most_work = self.state.most_work.max(mem::take(&mut self.state.work));
    }

    /// Looks through some records of a segment that is due for expired pairs. Those that stay are not moved.
    #[cold]
    fn expire(&mut self) {
        /// How often to look for such a segment, in milliseconds, and how many records to look at; more if it is late.
        const EVERY: u64 = 250;
        const RECORDS: usize = 64;
        const AHEAD: usize = 8;
        let is_due = |segment: &Segment| {
            segment.due <= self.now && matches!(segment.phase, Phase::Open | Phase::Sealed)
        };
        let due = || self.state.segments.iter().position(is_due);
        let visit = self.state.visit;
        let visit = visit.or_else(|| due().map(|segment| Visit { segment, at: 0, stay: 0, logs: 0 }));
        let Some(mut visit) = visit else {
            self.cache.next_look.0.store(self.now.saturating_add(EVERY), Relaxed);
            return;
        };
        let is_late = self.now.saturating_sub(self.state.segments[visit.segment].due) > 2 * EVERY;
        let filled = self.state.segments[visit.segment].filled;
        for _ in 0..if is_late { 5 * RECORDS } else { RECORDS } / AHEAD {
            let (mut over, mut count) = ([(0, Hash(0)); AHEAD], 0);
            for _ in 0..AHEAD {
                if visit.at >= filled {
                    break;
                }
                self.state.work += 1;
                let position = self.position(visit.segment, visit.at);
                let record = self.cache.record(position);
                visit.at += record.size(self.cache.unit);
                let left = self.cache.over(record).saturating_sub(self.now);
                if left == 0 {
                    let hash = self.cache.hash(record.key());
                    self.cache.prefetch(hash);
                    over[count] = (position, hash);
                    count += 1;
                } else if left <= MAX_TTL.as_millis() as u64 * 2 {
                    visit.stay += 1;
                    visit.logs += left.ilog2();
                }
            }
            for &(position, hash) in &over[..count] {
                if let Some(found) = self.find_position(position, hash) {
                    self.drop_pair(found, hash);
                }
            }
        }
        self.state.visit = Some(visit);
        if visit.at >= filled {
            self.state.visit = None;
            let segment = &mut self.state.segments[visit.segment];
            // About half of those that stay are over then: with few visits little memory waits.
            let logs = visit.logs.checked_div(visit.stay);
            segment.due = logs.map_or(NEVER, |log| self.now.saturating_add(EVERY.max(1 << log)));
            if segment.phase == Phase::Open && segment.live == 0 {
                self.seal(visit.segment);
            }
        }
        self.collect();
    }

    /// Copies what lives in a segment that is mostly dead, if half of all is dead, and there is room for a copy.
    fn clean(&mut self) {
        let state = &*self.state;
        if state.dead() <= state.totals[0].bytes + state.totals[1].bytes + 8 * state.standard
            || state.bytes - state.used.min(state.bytes) < 2 * state.standard
        {
            return;
        }
        if self.state.victim.is_none() {
            self.state.victim = self.most_dead();
        }
        if self.state.victim.is_some() {
            self.sweep_for_memory(32, Task::Clean);
        }
    }
}

// --- changing the index

impl<'c> Writer<'c> {
    /// The slots, positions and hashes of a bucket's pairs. The records of a later bucket are prefetched meanwhile.
    fn pairs_of(
        &mut self,
        block: Block,
        number: usize,
    ) -> impl Iterator<Item = (usize, u32, Hash)> + use<'c> {
        /// How many buckets ahead.
        const AHEAD: usize = 3;
        let (cache, bucket) = (self.cache, block.bucket(number));
        let plan = self.state.plan.filter(|plan| plan.block == block && number < plan.done);
        if plan.is_none() {
            self.state.work += bucket.taken().count_ones() as usize;
            for position in &block.bucket(block.after(number, AHEAD)).positions {
                // A slot that was never taken has position 0, whose address is as good as any.
                prefetch(cache.address(position.load(Relaxed)));
            }
        }
        (0..SLOTS).filter(|&slot| bucket.taken() >> slot & 1 != 0).map(move |slot| {
            let position = bucket.positions[slot].load(Relaxed);
            let read = || cache.hash(cache.record(position).key());
            (slot, position, plan.map_or_else(read, |plan| plan.of_slot(number, slot).get()))
        })
    }

    /// Removes a pair from the index.
    fn unlink(&mut self, found: Found, hash: Hash) {
        let Found { block, home, steps, slot } = found;
        found.bucket().tags.flip(slot, hash.tag());
        (0..steps).for_each(|step| block.bucket(block.after(home, step)).count_passed(false));
        block.head().live.store(block.live() as u32 - 1, Relaxed);
        self.kill(found.position().load(Relaxed));
    }

    /// Adds a pair to the index, which grows if it must. Where it cannot grow, a neighbour goes.
    fn link(&mut self, hash: Hash, position: u32) -> bool {
        for _ in 0..64 {
            let block = self.cache.block(hash);
            if let Some(found) = block.add(hash, position, 0) {
                match self.state.plan {
                    Some(plan) if plan.block == block => {
                        plan.of_slot(block.after(found.home, found.steps), found.slot).set(hash);
                    }
                    None if found.steps > MANY_STEPS || block.is_nearly_full() => self.plan(hash),
                    _ => {}
                }
                return true;
            }
            let grows = self.grow(hash);
            if !grows && !self.evict_near(hash) {
                break;
            }
        }
        false
    }

    /// Gives the block of a hash more room. Returns false if there is no memory.
    fn grow(&mut self, hash: Hash) -> bool {
        let (pages, old_depth) = { (self.cache.block(hash).pages, self.cache.block(hash).depth()) };
        let longer = (pages + 1..=MOST_PAGES).map(|pages| (pages, old_depth));
        let deeper = (SPLIT_PAGES..=MOST_PAGES).map(|pages| (pages, old_depth + 1));
        for (pages, depth) in longer.chain(deeper).filter(|&(_, depth)| depth <= MAX_DEPTH) {
            match self.rebuild(hash, pages, depth) {
                Rebuilt::Done => {
                    self.state.wanted = 0;
                    return true;
                }
                Rebuilt::NoMemory => {
                    let directory = self.cache.directory().depth;
                    let directory = if depth > directory { Directory::bytes(depth) } else { 0 };
                    self.state.wanted = directory + (1 + depth - old_depth) * pages * PAGE;
                    return false;
                }
                Rebuilt::NoSlot => {}
            }
        }
        self.state.wanted = 0;
        false
    }

    /// Starts to hash the keys of a block.
    #[cold]
    fn plan(&mut self, hash: Hash) {
        let block = self.cache.block(hash);
        // The records of one page are few.
        if block.pages == 1 {
            return;
        }
        // A small cache would evict a large part of its pairs for the hashes.
        if Plan::bytes(block) > self.state.capacity / 16 {
            if self.state.available() >= self.state.wanted {
                self.grow(hash);
            }
            return;
        }
        match self.map_index(Plan::bytes(block)) {
            Some(hashes) => self.state.plan = Some(Plan { block, hash, hashes, done: 0 }),
            None => self.state.wanted = Plan::bytes(block),
        }
    }

    /// Hashes some more keys, or gives the block more room if all are hashed.
    #[cold]
    fn carry_out(&mut self, mut plan: Plan) {
        const BUCKETS: usize = tuned(24, 2);
        if plan.done == plan.block.buckets() {
            // It waits until there is memory.
            if self.state.available() >= self.state.wanted && (self.grow(plan.hash) || self.state.wanted == 0)
            {
                self.give_up_plan();
            }
            return;
        }
        for number in plan.done..plan.block.buckets().min(plan.done + BUCKETS) {
            self.pairs_of(plan.block, number)
                .for_each(|(slot, _, hash)| plan.of_slot(number, slot).set(hash));
            plan.done += 1;
        }
        self.state.plan = Some(plan);
    }

    fn give_up_plan(&mut self) {
        if let Some(plan) = self.state.plan.take() {
            // SAFETY: P1. `plan` mapped it.
            unsafe { self.unmap_index(plan.hashes, Plan::bytes(plan.block)) };
        }
    }

    /// Evicts the pair that was used least of a hash's home bucket, or of the next one that has any.
    fn evict_near(&mut self, hash: Hash) -> bool {
        let block = self.cache.block(hash);
        let home = hash.place(block.buckets());
        let least_used = |steps| {
            let bucket = block.bucket(block.after(home, steps));
            let candidates = (0..SLOTS).filter(|&slot| bucket.taken() & 1 << slot != 0);
            let positions = candidates.map(|slot| (bucket.uses(slot), bucket.positions[slot].load(Relaxed)));
            positions.filter(|&(_, position)| position != self.state.guarded).min()
        };
        let Some((_, position)) = (0..block.buckets()).find_map(least_used) else { return false };
        let other = self.cache.hash(self.cache.record(position).key());
        let Some(found) = self.find_position(position, other) else { return false };
        self.drop_pair(found, other);
        true
    }

    /// How many pages so many pairs need.
    fn pages_for(pairs: usize) -> usize {
        pairs.div_ceil(BUCKETS * SLOTS * 65 / 100).max(1)
    }

    /// Gives back the memory of the blocks that have few pairs, also of those that become neighbours thereby.
    fn thin_out_all(&mut self) {
        let blocks = |state: &State| state.depths.iter().sum::<u32>();
        let mut left = blocks(&self.state);
        while left > 0 && self.state.is_sparse() {
            left = if self.thin_out() { blocks(&self.state) } else { left - 1 };
        }
    }

    /// Looks at the next block. If it has few pairs, rebuilds it alone or together with its neighbour.
    #[cold]
    fn thin_out(&mut self) -> bool {
        let (hash, directory) = (Hash(self.state.hand), self.cache.directory());
        let block = self.cache.block(hash);
        let (live, depth) = (block.live(), block.depth());
        self.state.hand = hash.next_block(depth).unwrap_or(0);
        if live > few(block.buckets()) {
            return false;
        }
        if depth > 0 {
            let neighbour = Hash(hash.0 ^ 1 << (64 - depth));
            let other = directory.block(neighbour.top(directory.depth));
            let pages = Self::pages_for(live + other.live());
            if other.depth() == depth && pages < MOST_PAGES {
                return self.rebuild(hash, pages, depth - 1) == Rebuilt::Done;
            }
        }
        let pages = Self::pages_for(live);
        pages < block.pages && self.rebuild(hash, pages, depth) == Rebuilt::Done
    }

    /// Puts new blocks, of so many pages each, in the place of the block of this hash: one; or two that are deeper by one; or one
    /// that also takes the place of its neighbour.
    #[cold]
    fn rebuild(&mut self, hash: Hash, pages: usize, depth: usize) -> Rebuilt {
        let old = self.cache.block(hash);
        let old_depth = old.depth();
        if depth > self.cache.directory().depth && !self.resize_directory(depth) {
            return Rebuilt::NoMemory;
        }
        let count = if depth > old_depth { 2 } else { 1 };
        let mut news = [None; 2];
        for number in 0..count {
            let Some(at) = self.map_index(pages * PAGE) else {
                self.unmap_blocks(news);
                return Rebuilt::NoMemory;
            };
            let block = Block { at, pages };
            block.head().depth.store(depth as u32, Relaxed);
            news[number] = Some(block);
        }
        let directory = self.cache.directory();
        let first = directory.range(hash, depth.min(old_depth));
        let olds = [
            Some(old),
            (depth < old_depth)
                .then(|| directory.block(Hash(hash.0 ^ 1 << (64 - old_depth)).top(directory.depth))),
        ];
        for old in olds.into_iter().flatten() {
            news.iter().flatten().for_each(|new| new.inherit_ghosts(old));
            if !self.copy_pairs(old, news, old_depth) {
                self.unmap_blocks(news);
                return Rebuilt::NoSlot;
            }
        }
        self.has_rebuilt = true;
        self.give_up_plan();
        let half = first.start + first.len() / count;
        for number in first {
            let new = if number < half { news[0] } else { news[1] };
            if let Some(new) = new {
                directory.entry(number).store(new.entry(), Release);
            }
        }
        self.state.depths[depth] += count as u32;
        self.state.index_pages += count * pages;
        for old in olds.into_iter().flatten() {
            self.state.depths[old_depth] -= 1;
            self.state.index_pages -= old.pages;
            self.retire(Retired::Pages(old.at, old.bytes()), old.bytes());
        }
        // No block needs the last bit.
        let depth = self.cache.directory().depth;
        if depth > 0 && self.state.depths[depth] == 0 {
            self.resize_directory(depth - 1);
        }
        self.reclaim();
        Rebuilt::Done
    }

    /// Frees blocks that nobody knows.
    fn unmap_blocks(&mut self, blocks: [Option<Block>; 2]) {
        for block in blocks.into_iter().flatten() {
            // SAFETY: P1. The caller mapped it.
            unsafe { self.unmap_index(block.at, block.bytes()) };
        }
    }

    /// Copies the pairs of a block to the new one, or to the one of two that the hash's next bit names.
    /// Returns false if one of them finds no slot.
    fn copy_pairs(&mut self, old: Block, news: [Option<Block>; 2], depth: usize) -> bool {
        (0..old.buckets()).all(|number| {
            self.pairs_of(old, number).all(|(slot, position, hash)| {
                let bit = (hash.0 >> (63 - depth) & 1) as usize;
                let new = if news[1].is_some() { news[bit] } else { news[0] };
                new.is_some_and(|new| new.add(hash, position, old.bucket(number).uses(slot)).is_some())
            })
        })
    }

    /// Gives the directory another depth. No block may be deeper. Returns false if there is no memory.
    #[cold]
    fn resize_directory(&mut self, depth: usize) -> bool {
        let old = self.cache.directory();
        let Some(at) = self.map_index(Directory::bytes(depth)) else { return false };
        let new = Directory { at, depth };
        for number in 0..1 << depth {
            let entry = old.entry((number << old.depth) >> depth).load(Relaxed);
            new.entry(number).store(entry, Relaxed);
        }
        self.set_directory(new);
        true
    }

    fn set_directory(&mut self, new: Directory) {
        let old = Directory::of_word(self.cache.directory.swap(new.word(), Release));
        let bytes = Directory::bytes(old.depth);
        self.retire(Retired::Pages(old.at, bytes), bytes);
    }
}

// --- writing pairs

impl Writer<'_> {
    /// Finds a pair that is not over.
    fn get(&self, key: &[u8], hash: Hash) -> Option<(Found, Record<'_>)> {
        self.cache.find(key, hash).filter(|(_, record)| self.cache.age(*record) == Age::Fresh)
    }

    /// Whether a cache without other pairs can hold a record of so many bytes beside one of `old` bytes.
    fn fits(&self, size: usize, old: usize) -> bool {
        let state = &*self.state;
        let large = |size| if size > state.large() { pages::whole(size) } else { 0 };
        let numbers = (state.capacity / state.standard).min(SEGMENTS);
        let others = State::bare() + numbers * Segment::COST + 3 * state.standard;
        (large(size) + large(old)).saturating_add(others) <= state.capacity
    }

    /// A deadline so many milliseconds from now, or `NEVER`.
    fn deadline(&mut self, ttl: u64) -> u64 {
        if ttl == NEVER {
            return NEVER;
        }
        if self.cache.next_look.0.load(Relaxed) == NEVER {
            self.now = self.cache.clock.now();
            self.cache.next_look.0.store(self.now, Relaxed);
        }
        self.now.saturating_add(ttl)
    }

    /// Writes a pair, in the place of the one that its key has. Returns false, and changes nothing, if there is no room.
    fn put(&mut self, key: &[u8], hash: Hash, value: &[u8], deadline: u64) -> bool {
        let used = self.cache.idle.map(|idle| idle.now(&self.cache.clock));
        let pair = Pair { key, value, deadline, used };
        let (unit, over) = (self.cache.unit, deadline.saturating_add(self.cache.stale));
        let size = pair.size(unit);
        let old = self
            .cache
            .find(key, hash)
            .map(|(found, record)| (found.position().load(Relaxed), record.size(unit)));
        let is_kept = self.fits(size, 0) && {
            // Where there is no room for both, the old record is evicted as others are.
            let guarded = old.filter(|&(_, old)| self.fits(size, old));
            self.state.guarded = guarded.map_or(NOWHERE, |(position, _)| position);
            if old.is_none() && self.state.pairs() >= self.state.entries {
                self.evict_entries(hash);
            }
            self.prepare(size);
            let queue = if self.state.guarded == NOWHERE {
                let ghost = self.take_ghost(hash);
                self.state.queue_for(size, ghost)
            } else {
                self.state.segments[(self.state.guarded >> OFFSET_BITS) as usize].queue
            };
            self.allot_evicting(queue, over, size).is_some_and(|position| {
                self.write_record(position, pair);
                self.publish(key, hash, position, size)
            })
        };
        self.state.guarded = NOWHERE;
        if is_kept {
            self.state.counts.writes += 1;
        } else {
            self.state.counts.rejected += 1;
        }
        is_kept
    }

    /// Makes a record the one of its key. The record that the key had is dead then.
    fn publish(&mut self, key: &[u8], hash: Hash, position: u32, size: usize) -> bool {
        self.enliven(position, size);
        if let Some((found, record)) = self.cache.find(key, hash) {
            if self.cache.age(record) != Age::Fresh {
                self.lose(record);
            }
            let old = found.position().load(Relaxed);
            found.position().store(position, Release);
            self.kill(old);
            return true;
        }
        self.state.guarded = position;
        let is_there = self.link(hash, position);
        if !is_there {
            self.kill(position);
        }
        is_there
    }

    /// Takes the ghost of a key: the queue that it was evicted from, and whether it is in the newest quarter.
    fn take_ghost(&self, hash: Hash) -> Option<(Queue, bool)> {
        let line = self.cache.block(hash).ghosts(hash);
        let wanted = hash.ghost(Queue::Small);
        let at = line[1..].iter().position(|ghost| ghost & !1 == wanted)?;
        let from = if line[1 + at] & 1 == 0 { Queue::Small } else { Queue::Main };
        let age = (usize::from(line[0]) + GHOSTS - 1 - at) % GHOSTS;
        line[1 + at] = 0;
        Some((from, age <= GHOSTS / 4))
    }

    fn remove(&mut self, key: &[u8], hash: Hash) -> bool {
        let Some((found, record)) = self.cache.find(key, hash) else { return false };
        let is_fresh = self.cache.age(record) == Age::Fresh;
        if !is_fresh {
            self.lose(record);
        }
        self.unlink(found, hash);
        is_fresh
    }

    /// Removes the pairs of the block of a hash. Returns the first hash of the next block.
    fn clear_block(&mut self, from: u64) -> Option<u64> {
        let block = self.cache.block(Hash(from));
        for number in 0..block.buckets() {
            for (_, position, hash) in self.pairs_of(block, number) {
                if let Some(found) = self.find_position(position, hash) {
                    self.unlink(found, hash);
                }
            }
        }
        Hash(from).next_block(block.depth())
    }

    /// Removes all pairs, if there is memory for a second index. Results of running computations are never cached.
    fn clear(&mut self) -> bool {
        self.state.flights = None;
        self.give_up_plan();
        let Some(at) = self.map_index(Directory::bytes(0)) else { return false };
        let Some(block) = self.map_index(PAGE) else {
            // SAFETY: P1. It was mapped above.
            unsafe { self.unmap_index(at, Directory::bytes(0)) };
            return false;
        };
        let old = self.cache.directory();
        let directory = Directory { at, depth: 0 };
        directory.entry(0).store(Block { at: block, pages: 1 }.entry(), Relaxed);
        self.set_directory(directory);
        for block in old.blocks() {
            self.retire(Retired::Pages(block.at, block.bytes()), block.bytes());
        }
        let state = &mut *self.state;
        (state.depths, state.depths[0], state.index_pages) = ([0; MAX_DEPTH + 1], 1, 1);
        state.totals = [Total::default(); 2];
        state.open.clear();
        for number in 0..state.segments.len() {
            let segment = &mut self.state.segments[number];
            if matches!(segment.phase, Phase::Open | Phase::Sealed) {
                (segment.phase, segment.live, segment.live_bytes) = (Phase::Sealed, 0, 0);
                self.state.emptied.push(number);
            }
        }
        (self.state.hand, self.state.wanted) = (0, 0);
        self.collect();
        self.reclaim();
        true
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: P1. The cache owned it, and no reader is left: readers hold the cache.
        unsafe { pages::unmap(self.segments.0.cast(), SegmentTable::BYTES) };
    }
}

// ---------------------------------------------------------------------------------------------------
// The verbs
// ---------------------------------------------------------------------------------------------------

/// Tells [`Cache::alter`] how to change a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Writes this value. A pair that is there keeps its deadline; a new one gets the cache's time to live.
    Set(Vec<u8>),
    /// Writes this value, which lives for so long: `None` is the cache's time to live, [`Duration::MAX`] for ever.
    SetFor(Vec<u8>, Option<Duration>),
    /// Leaves everything as it is.
    Keep,
    /// Removes the pair.
    Delete,
}

/// Until when a pair lives: [`Cache::ttl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// There is no such pair.
    Absent,
    /// It does not expire.
    Forever,
    /// So long.
    Left(Duration),
}

/// How a writer changes a pair.
enum Step<'s> {
    /// Writes a value, which lives for so many milliseconds. `None` keeps the pair's deadline, or is the cache's time to live.
    Write(Cow<'s, [u8]>, Option<u64>),
    Keep,
    Delete,
}

/// How many keys are prefetched at once.
const BATCH: usize = 16;

impl Cache {
    /// Makes a cache.
    pub fn new(options: CacheOptions) -> Result<Self> {
        let refused = || Error::Capacity { bytes: options.bytes, entries: options.entries };
        match (options.bytes, options.entries) {
            (None, None) => return Err(refused()),
            (Some(bytes), _) if bytes < MIN_CAPACITY => {
                return Err(Error::Capacity { bytes: Some(bytes), entries: None });
            }
            (_, Some(0)) => return Err(Error::Capacity { bytes: None, entries: Some(0) }),
            _ => {}
        }
        let bytes = options.bytes.unwrap_or(usize::MAX);
        if options.label.len() > MAX_LABEL_BYTES {
            return Err(Error::LabelTooLong { len: options.label.len() });
        }
        let ttl = options.ttl.filter(|&ttl| ttl != Duration::MAX).map(millis).transpose()?.unwrap_or(NEVER);
        let idle = options.idle.map(Idle::new).transpose()?;
        let stale_for = options.stale.map(millis).transpose()?.unwrap_or(0);
        let clock = Clock::new(&options);
        if (ttl != NEVER || idle.is_some()) && !clock.is_there() {
            return Err(Error::NoClock);
        }
        let standard = State::standard_of(if bytes == usize::MAX { 0 } else { bytes });
        let standard = if bytes == usize::MAX { pages::whole(tuned(16 << 10, 1024)) } else { standard };
        let mut unit = UNIT;
        while standard > 1 << (OFFSET_BITS + unit) {
            unit += 1;
        }
        let mut pages = Pages::default();
        let mut map = |bytes| pages.take(bytes).map(|(at, _)| at).ok_or_else(refused);
        let (directory, block) = (map(Directory::bytes(0))?, map(PAGE)?);
        let table = pages::map(SegmentTable::BYTES).ok_or_else(refused)?;
        let directory = Directory { at: directory, depth: 0 };
        directory.entry(0).store(Block { at: block, pages: 1 }.entry(), Relaxed);
        let mut state = State {
            bytes,
            capacity: bytes,
            entries: options.entries.unwrap_or(usize::MAX),
            used: State::bare(),
            overhead: State::bare(),
            pages,
            standard,
            share: *POLICY.share.start(),
            drops: [1.0; 2],
            random: 0x9e37_79b9_7f4a_7c15,
            guarded: NOWHERE,
            index_pages: 1,
            ..State::default()
        };
        state.depths[0] = 1;
        let inner = Inner {
            directory: AtomicPtr::new(directory.word()),
            segments: SegmentTable(table.cast()),
            unit,
            hashing: parts::hashing(),
            domain: Domain::new(),
            clock,
            ttl,
            idle,
            stale: stale_for,
            counts: Default::default(),
            entries: AtomicUsize::new(0),
            memory: AtomicUsize::new(State::bare()),
            options,
            next_look: Line(AtomicU64::new(if idle.is_some() { 0 } else { NEVER })),
            state: Mutex::new(state),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    // --- reading

    /// The value of a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// Shows `read` the value of a key, without a copy.
    ///
    /// While `read` runs the cache cannot reuse memory that is evicted. So it should be short.
    #[inline]
    pub fn get_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let found = self.inner.read(key.as_ref(), true, |record| read(record.value()));
        self.inner.count(found.is_some());
        found
    }

    /// The value of a key. It does not count as a use.
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.inner.read(key.as_ref(), false, |record| record.value().to_vec())
    }

    /// Shows `read` the value of a key, as [`get_with`](Self::get_with) does. It does not count as a use.
    pub fn peek_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.inner.read(key.as_ref(), false, |record| read(record.value()))
    }

    /// Does the same also for a value that has expired, for [`CacheOptions::stale_for`] after its expiry.
    pub fn peek_stale_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let key = key.as_ref();
        let _pinned = self.inner.domain.pin();
        let (_, record) = self.inner.find(key, self.inner.hash(key))?;
        (self.inner.age(record) != Age::Over).then(|| read(record.value()))
    }

    /// Whether a key is present. It does not count as a use.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.inner.read(key.as_ref(), false, |_| ()).is_some()
    }

    /// How long a pair still lives.
    pub fn ttl(&self, key: impl AsRef<[u8]>) -> Ttl {
        match self.inner.read(key.as_ref(), false, |record: Record<'_>| record.deadline()) {
            None => Ttl::Absent,
            Some(NEVER) => Ttl::Forever,
            Some(deadline) => {
                Ttl::Left(Duration::from_millis(deadline.saturating_sub(self.inner.clock.now()).max(1)))
            }
        }
    }

    /// Shows `read` the value of each key, or `None`, with the key's place in the slice. Several keys at a time are fetched from
    /// memory, which is faster than one after the other.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K], mut read: impl FnMut(usize, Option<&[u8]>)) {
        let inner = &*self.inner;
        for (batch, keys) in keys.chunks(BATCH).enumerate() {
            let mut hashes = [Hash(0); BATCH];
            let pinned = inner.domain.pin();
            let mut hits = 0_u32;
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = inner.hash(key.as_ref());
                inner.prefetch(*hash);
            }
            for &hash in &hashes[..keys.len()] {
                let block = inner.block(hash);
                let bucket = block.bucket(hash.place(block.buckets()));
                let slots = bucket.slots_with(hash.tag());
                if slots != 0 {
                    prefetch(inner.address(bucket.positions[slots.trailing_zeros() as usize].load(Acquire)));
                }
            }
            for (at, (key, &hash)) in keys.iter().zip(&hashes).enumerate() {
                let found =
                    inner.find(key.as_ref(), hash).filter(|(_, record)| inner.age(*record) == Age::Fresh);
                hits |= u32::from(found.is_some()) << at;
                if let Some((found, record)) = found {
                    inner.count_use(found, record);
                }
                read(batch * BATCH + at, found.map(|(_, record)| record.value()));
            }
            // Counting may call the listener, which must not wait for us.
            drop(pinned);
            (0..keys.len()).for_each(|at| inner.count(hits >> at & 1 != 0));
        }
    }

    // --- writing

    /// Writes a pair, which lives for the cache's time to live. Returns whether the cache stored it.
    ///
    /// It does not store a pair that is too large for it, nor any pair while a reader holds all memory. Then everything, the old value
    /// too, is as it was.
    pub fn upsert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.upsert_until(key.as_ref(), value.as_ref(), self.inner.ttl)
    }

    /// Writes a pair that lives for so long; [`Duration::MAX`] is for ever.
    pub fn upsert_for(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, ttl: Duration) -> Result<bool> {
        self.upsert_until(key.as_ref(), value.as_ref(), self.life(Some(ttl))?)
    }

    fn upsert_until(&self, key: &[u8], value: &[u8], ttl: u64) -> Result<bool> {
        check(key, value)?;
        let hash = self.inner.hash(key);
        // What is fetched before the lock is taken keeps no other thread waiting.
        {
            let _pinned = self.inner.domain.pin();
            self.inner.prefetch_to_write(hash);
        }
        Ok(self.inner.write(|writer| writer.upsert(key, hash, value, ttl)))
    }

    /// The milliseconds that a pair lives, or `NEVER`. Without a time it is the cache's time to live.
    fn life(&self, ttl: Option<Duration>) -> Result<u64> {
        match ttl {
            None => Ok(self.inner.ttl),
            Some(Duration::MAX) => Ok(NEVER),
            Some(_) if !self.inner.clock.is_there() => Err(Error::NoClock),
            Some(ttl) => millis(ttl),
        }
    }

    /// Writes a pair if its key is absent. Returns whether it was. `ttl` is how long the pair lives: `None` is the cache's
    /// time to live, [`Duration::MAX`] for ever.
    pub fn insert(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Option<Duration>,
    ) -> Result<bool> {
        self.insert_where(false, key.as_ref(), value.as_ref(), ttl)
    }

    /// Writes a pair if its key is present. Returns whether it was. `ttl` is as for [`insert`](Self::insert).
    pub fn replace(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Option<Duration>,
    ) -> Result<bool> {
        self.insert_where(true, key.as_ref(), value.as_ref(), ttl)
    }

    fn insert_where(&self, is_there: bool, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check(key, value)?;
        let life = self.life(ttl)?;
        self.step(key, &mut |old| {
            let takes_effect = old.is_some() == is_there;
            Ok(if takes_effect { Step::Write(value.into(), Some(life)) } else { Step::Keep })
        })
    }

    /// Writes pairs. Returns for each whether the cache stored it. All lengths are checked before the first one is written.
    /// `ttl` is how long they live: `None` is the cache's time to live, [`Duration::MAX`] for ever.
    pub fn upsert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: &[(K, V)],
        ttl: Option<Duration>,
    ) -> Result<Vec<bool>> {
        let ttl = self.life(ttl)?;
        pairs.iter().try_for_each(|(key, value)| check(key.as_ref(), value.as_ref()))?;
        let upsert = |writer: &mut Writer<'_>, (key, value): &(K, V), hash| {
            writer.upsert(key.as_ref(), hash, value.as_ref(), ttl)
        };
        Ok(self.write_each(pairs, |(key, _)| key.as_ref(), upsert))
    }

    /// Removes pairs. Returns for each key whether it was present.
    pub fn remove_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        self.write_each(keys, K::as_ref, |writer, key, hash| {
            writer.forget(key.as_ref());
            writer.remove(key.as_ref(), hash)
        })
    }

    /// Does something with each item as the writer, some at a time: their buckets are prefetched before the lock is taken.
    fn write_each<I, T>(
        &self,
        items: &[I],
        key: impl Fn(&I) -> &[u8],
        mut change: impl FnMut(&mut Writer<'_>, &I, Hash) -> T,
    ) -> Vec<T> {
        let mut done = Vec::with_capacity(items.len());
        for items in items.chunks(BATCH) {
            let mut hashes = [Hash(0); BATCH];
            {
                let _pinned = self.inner.domain.pin();
                for (hash, item) in hashes.iter_mut().zip(items) {
                    *hash = self.inner.hash(key(item));
                    self.inner.prefetch_to_write(*hash);
                }
            }
            self.inner.write(|writer| {
                for (item, &hash) in items.iter().zip(&hashes) {
                    done.push(change(writer, item, hash));
                    writer.tick();
                }
            });
        }
        done
    }

    /// Removes a pair. Returns whether the key was present.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        let hash = self.inner.hash(key);
        self.inner.write(|writer| {
            writer.forget(key);
            writer.remove(key, hash)
        })
    }

    /// Removes a pair and returns its value.
    pub fn take(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let mut taken = None;
        // A key that is too long is absent.
        let _ = self.step(key.as_ref(), &mut |old| {
            taken = old.map(<[u8]>::to_vec);
            Ok(Step::Delete)
        });
        taken
    }

    /// Gives a pair a new time to live: `None` is the cache's, [`Duration::MAX`] for ever. Returns whether it is present.
    pub fn touch(&self, key: impl AsRef<[u8]>, ttl: Option<Duration>) -> Result<bool> {
        let ttl = self.life(ttl)?;
        let key = key.as_ref();
        if key.len() > MAX_KEY_BYTES {
            return Ok(false);
        }
        self.step(key, &mut |old| {
            Ok(old.map_or(Step::Keep, |value| Step::Write(value.to_vec().into(), Some(ttl))))
        })
    }

    /// Reads a value, changes it and writes it as one step. Returns whether a pair was written or removed.
    ///
    /// `change` gets the value, or `None`. No lock is held while it runs, so it may use the cache. If another thread
    /// has changed the value meanwhile, `change` runs again with the new one.
    pub fn alter(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Change,
    ) -> Result<bool> {
        let key = key.as_ref();
        check(key, &[])?;
        loop {
            let old = self.peek(key);
            let mut step = match change(old.as_deref()) {
                Change::Set(value) => Step::Write(value.into(), None),
                Change::SetFor(value, ttl) => Step::Write(value.into(), Some(self.life(ttl)?)),
                Change::Keep => Step::Keep,
                Change::Delete => Step::Delete,
            };
            let mut is_same = false;
            let done = self.step(key, &mut |now| {
                is_same = now == old.as_deref();
                Ok(if is_same { mem::replace(&mut step, Step::Keep) } else { Step::Keep })
            });
            if is_same || done.is_err() {
                return done;
            }
        }
    }

    /// Adds to a value, which is a decimal integer of 64 bits; an absent one counts as 0. Returns the new value.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let mut next = 0;
        self.step(key.as_ref(), &mut |old| {
            let text = std::str::from_utf8(old.unwrap_or(b"0")).map_err(|_| Error::NotAnInteger)?;
            let value: i64 = text.parse().map_err(|_| Error::NotAnInteger)?;
            next = value.checked_add(by).ok_or(Error::Overflow { value, by })?;
            Ok(Step::Write(next.to_string().into_bytes().into(), None))
        })?;
        Ok(next)
    }

    /// Replaces a value if it is `old`; `None` stands for an absent pair. Returns whether it did.
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let mut is_same = false;
        self.step(key.as_ref(), &mut |now| {
            is_same = now == old;
            let step = new.map_or(Step::Delete, |new| Step::Write(new.into(), None));
            Ok(if is_same { step } else { Step::Keep })
        })?;
        Ok(is_same)
    }

    /// Decides what is to happen to a pair and does it, under the lock. Returns whether a pair was written or removed.
    fn step<'s>(
        &self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<&[u8]>) -> Result<Step<'s>>,
    ) -> Result<bool> {
        check(key, &[])?;
        let hash = self.inner.hash(key);
        self.inner.write(|writer| {
            let old = writer.get(key, hash).map(|(_, record)| record);
            let (value, ttl) = match decide(old.map(|record| record.value()))? {
                Step::Keep => return Ok(false),
                Step::Delete => {
                    writer.forget(key);
                    return Ok(writer.remove(key, hash));
                }
                Step::Write(value, ttl) => (value, ttl),
            };
            check(key, &value)?;
            let deadline = match (ttl, old) {
                (None, Some(old)) => old.deadline(),
                (ttl, _) => writer.deadline(ttl.unwrap_or(self.inner.ttl)),
            };
            writer.forget(key);
            if writer.put(key, hash, &value, deadline) {
                return Ok(true);
            }
            Err(Error::NoRoom { needed: key.len() + value.len() })
        })
    }

    // --- the whole

    /// How many pairs it holds. Expired ones count until they are removed.
    pub fn len(&self) -> usize {
        self.inner.entries.load(Relaxed)
    }

    /// Whether it holds no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most records that one write has read but its own.
    #[doc(hidden)]
    pub fn longest_write(&self) -> usize {
        lock(&self.inner.state).most_work
    }

    /// Its size and its counts.
    pub fn stats(&self) -> CacheStats {
        let sum = |which: usize| self.inner.counts.iter().map(|line| line.0[which].load(Relaxed)).sum();
        let (misses, hits) = (sum(0), sum(1));
        self.inner.write(|writer| {
            let (entries, memory) = (writer.state.pairs(), writer.state.used);
            CacheStats { hits, misses, entries, memory, ..writer.state.counts }
        })
    }

    /// The capacity in bytes, if it has one.
    pub fn capacity(&self) -> Option<usize> {
        Some(lock(&self.inner.state).capacity).filter(|&bytes| bytes < usize::MAX)
    }

    /// The most pairs that it holds, if that is limited.
    pub fn max_entries(&self) -> Option<usize> {
        Some(lock(&self.inner.state).entries).filter(|&entries| entries < usize::MAX)
    }

    /// The bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.inner.memory.load(Relaxed)
    }

    /// How long a pair lives whose write does not say otherwise. `None` is for ever.
    pub fn default_ttl(&self) -> Option<Duration> {
        self.inner.options.ttl.filter(|&ttl| ttl != Duration::MAX)
    }

    /// How long a pair lives after it was last written or read, if that is limited.
    pub fn time_to_idle(&self) -> Option<Duration> {
        self.inner.options.idle
    }

    /// For how long after its expiry a value is still returned while one caller computes the new one.
    pub fn stale_for(&self) -> Option<Duration> {
        self.inner.options.stale
    }

    /// The label of [`CacheOptions::label`].
    pub fn label(&self) -> &[u8] {
        &self.inner.options.label
    }

    /// Removes all pairs, without calling a listener. The counts of [`stats`](Self::stats) stay.
    pub fn clear(&self) {
        let is_done = self.inner.write(|writer| writer.clear());
        // Where there is no memory for a second index, the pairs of one block after the other go.
        let mut next = (!is_done).then_some(0);
        while let Some(from) = next {
            next = self.inner.write(|writer| writer.clear_block(from));
        }
    }

    /// Changes the capacity in bytes. Evicts the pairs that no longer fit before it returns, some at a time.
    pub fn shrink_to(&self, bytes: usize) -> Result<()> {
        if bytes < MIN_CAPACITY {
            return Err(Error::Capacity { bytes: Some(bytes), entries: None });
        }
        self.inner.write(|writer| writer.resize(bytes));
        // Of eight pairs that are swept one goes at least, so this ends also while others write.
        let most = 1000 + self.len() / 64;
        let step = |writer: &mut Writer<'_>| writer.shrink((writer.state.pairs() / 16).clamp(16, 1024));
        (0..most).any(|_| self.inner.write(step));
        Ok(())
    }

    /// Shows `read` the pairs from a hash on of this hash's block. Returns the first hash of the next block.
    fn walk_block(&self, from: u64, read: &mut dyn FnMut(Record<'_>, u32)) -> Option<u64> {
        let inner = &*self.inner;
        let _pinned = inner.domain.pin();
        let block = inner.block(Hash(from));
        let begins = from << block.depth() == 0;
        for number in 0..block.buckets() {
            let bucket = block.bucket(number);
            let mut taken = bucket.taken();
            while taken != 0 {
                let slot = taken.trailing_zeros() as usize;
                let record = inner.record(bucket.positions[slot].load(Acquire));
                // The block may have been joined with the one before, which was shown.
                if inner.age(record) == Age::Fresh && (begins || inner.hash(record.key()).0 >= from) {
                    read(record, bucket.uses(slot));
                }
                taken &= taken - 1;
            }
        }
        Hash(from).next_block(block.depth())
    }

    /// Shows `read` some pairs, from 0 on, in no order, and returns where the next ones begin. Unlike [`iter`](Self::iter) it
    /// copies nothing.
    #[doc(hidden)]
    pub fn walk(&self, from: u64, read: &mut dyn FnMut(&[u8], &[u8])) -> Option<u64> {
        self.walk_block(from, &mut |record, _| read(record.key(), record.value()))
    }

    /// All pairs, in no order. A pair that is present throughout comes once; one that is written or removed meanwhile may come.
    pub fn iter(&self) -> Iter {
        Iter { cache: self.clone(), next: Some(0), pairs: Vec::new().into_iter() }
    }
}

impl IntoIterator for &Cache {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &self.len()).finish_non_exhaustive()
    }
}

/// The pairs of a cache: [`Cache::iter`].
#[derive(Debug)]
pub struct Iter {
    cache: Cache,
    next: Option<u64>,
    /// Those of a block of the index. A large value is copied when its turn comes.
    pairs: std::vec::IntoIter<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Iterator for Iter {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            for (key, value) in self.pairs.by_ref() {
                if let Some(value) = value.or_else(|| self.cache.peek(&key)) {
                    return Some((key, value));
                }
            }
            let mut pairs = Vec::new();
            self.next = self.cache.walk_block(self.next?, &mut |record, _| {
                let value = (record.value_len() < saved::LARGE).then(|| record.value().to_vec());
                pairs.push((record.key().to_vec(), value));
            });
            self.pairs = pairs.into_iter();
        }
    }
}

impl Writer<'_> {
    /// Writes a pair, whatever is being computed for its key.
    fn upsert(&mut self, key: &[u8], hash: Hash, value: &[u8], ttl: u64) -> bool {
        self.forget(key);
        let deadline = self.deadline(ttl);
        self.put(key, hash, value, deadline)
    }

    fn resize(&mut self, bytes: usize) {
        self.give_up_plan();
        let state = &mut *self.state;
        let most = 1 << (OFFSET_BITS + self.cache.unit);
        while state.release() {}
        (state.capacity, state.bytes) = (bytes, state.bytes.max(bytes));
        state.standard = State::standard_of(bytes).min(most);
        (state.was_full, state.wanted) = (false, 0);
    }

    /// Sweeps some records if the cache takes more than its capacity. Returns whether it no longer does. Its limit goes down step
    /// by step, so that writes have room meanwhile.
    fn shrink(&mut self, records: usize) -> bool {
        self.reclaim();
        let depth = self.cache.directory().depth;
        let state = &mut *self.state;
        while state.used > state.capacity && state.release() {}
        // To sweep and to rebuild a block takes memory first.
        let needs = 4 * state.standard + 2 * MOST_PAGES * PAGE + Directory::bytes(depth);
        let needs = if state.used > state.capacity { needs } else { 0 };
        state.bytes = state.bytes.min(state.used + needs).max(state.capacity);
        if state.used.saturating_sub(state.limbo_bytes) <= state.capacity {
            return true;
        }
        let was_empty = state.pairs() == 0;
        self.sweep_for_memory(records, Task::Clean);
        self.thin_out_all();
        self.state.give_up_numbers();
        was_empty && self.state.limbo_bytes == 0
    }
}
