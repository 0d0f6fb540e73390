//! What happens when the host gives the module no more memory.
//!
//! The engine takes the large blocks in which it keeps pairs from the allocator with an error at hand. But what
//! surrounds them, a list that grows or a text, allocates where it has no way to fail, so that a refused
//! `memory.grow` would end the module with a trap. Hence a reserve is laid by before the first block.
//! The allocator gives it up when nothing else is left for what cannot fail, and refuses blocks until enough has been
//! freed that it can be laid by anew. Meanwhile reads, deletes, and writes into space that the engine has already go on.
//!
//! Measured in November 2026 with the programs of `tests/abi/memory.rs`, which fill 8 to 24 MiB in 13 ways. Without the reserve
//! seven of them end in a trap, after which every store of the instance is lost: a plain write into a full table, a dump, an
//! iterator, one table, store or cursor too many. With it none does. It costs 520 bytes of the compressed module.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::failure::{Failed, Failure};

/// Covers what one call can need beside blocks.
const RESERVE_BYTES: usize = 1024 * 1024;

/// From here on the engine may ask for room of its own for a pair, so that it is tried for before a write starts.
const LARGE_BYTES: usize = 512;

/// More than any object takes: a cursor has two bounds and a key.
const OBJECT_BYTES: usize = 256 * 1024;

/// The engine aligns what it cuts its blocks from to a cache line, and begins with so much. Nothing else of that size is so aligned.
const BLOCK_ALIGN: usize = 64;
const BLOCK_BYTES: usize = 512;

static RESERVE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Makes sure that there are `bytes` in one piece, where that is much, beside the reserve.
#[inline]
pub(crate) fn ensure(bytes: usize) -> Result<(), Failed> {
    if bytes < LARGE_BYTES { Ok(()) } else { ensure_many(bytes) }
}

#[inline(never)]
fn ensure_many(bytes: usize) -> Result<(), Failed> {
    if is_whole() { try_for(bytes) } else { Err(Failure::NoMemory { bytes }.into()) }
}

/// Makes sure that a store, a cursor or an iterator can be made, if need be out of the reserve.
pub(crate) fn ensure_object() -> Result<(), Failed> {
    if is_whole() { Ok(()) } else { try_for(OBJECT_BYTES) }
}

/// Whether the reserve is there, or can be laid by now.
fn is_whole() -> bool {
    !RESERVE.load(Ordering::Relaxed).is_null() || lay_by()
}

/// Whether the engine asks for a block, and so takes a refusal.
fn is_block(layout: Layout) -> bool {
    layout.align() >= BLOCK_ALIGN && layout.size() >= BLOCK_BYTES
}

const fn layout_of_reserve() -> Layout {
    Layout::new::<[u8; RESERVE_BYTES]>()
}

fn lay_by() -> bool {
    // SAFETY: the layout's size is not zero.
    let block = unsafe { System.alloc(layout_of_reserve()) };
    if block.is_null() {
        return false;
    }
    let already = RESERVE.swap(block, Ordering::Relaxed);
    give_back(already);
    true
}

/// Gives the reserve up; whether there was one.
fn spend() -> bool {
    give_back(RESERVE.swap(ptr::null_mut(), Ordering::Relaxed))
}

fn give_back(block: *mut u8) -> bool {
    if block.is_null() {
        return false;
    }
    // SAFETY: only `lay_by` puts blocks into RESERVE, from `System` with this layout, and whoever swapped
    // one out is the only one that has it.
    unsafe { System.dealloc(block, layout_of_reserve()) };
    true
}

/// Whether the system has `bytes` in one piece, without touching the reserve.
pub(crate) fn try_for(bytes: usize) -> Result<(), Failed> {
    let layout = Layout::array::<u8>(bytes).map_err(|_| Failure::NoMemory { bytes })?;
    // SAFETY: `bytes` is at least LARGE_BYTES, so the layout's size is not zero.
    let block = unsafe { System.alloc(layout) };
    if block.is_null() {
        return Err(Failure::NoMemory { bytes }.into());
    }
    // SAFETY: the block came from `System` with this layout, just above.
    unsafe { System.dealloc(block, layout) };
    Ok(())
}

/// The system's allocator, with the reserve to fall back on.
///
/// None of its methods may be inlined. The compiler takes a block that it sees allocated for an object of just
/// the size that was asked for; were it to see, in the same function, how the system's `dealloc` reads the
/// header before the block, it would take that for undefined and drop the code after it. (Seen with
/// opt-level 2: a function that allocated and freed one byte ended in a panic.)
struct Reserving;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

impl Reserving {
    /// Asks once more where the first answer was no and the reserve may help.
    fn or_spend(bytes: usize, mut ask: impl FnMut() -> *mut u8) -> *mut u8 {
        let block = ask();
        if block.is_null() && bytes <= RESERVE_BYTES && spend() { ask() } else { block }
    }
}

// SAFETY: every method hands its arguments on to `System`, which is a sound allocator, and returns what it
// returned. A second request follows only on one that was refused and so changed nothing.
unsafe impl GlobalAlloc for Reserving {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            #[cfg(target_family = "wasm")]
            ahead::grow(layout.size());
            // SAFETY: the caller's promises are those that `System` asks for.
            return if is_whole() { unsafe { System.alloc(layout) } } else { ptr::null_mut() };
        }
        // SAFETY: the caller's promises are those that `System` asks for.
        Self::or_spend(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            // SAFETY: as above.
            return if is_whole() { unsafe { System.alloc_zeroed(layout) } } else { ptr::null_mut() };
        }
        // SAFETY: as above.
        Self::or_spend(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; a refused request leaves the block as it was.
        Self::or_spend(size, || unsafe { System.realloc(block, layout, size) })
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; every block came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Memory that grows ahead of large blocks, for hosts that have huge pages for it.
///
/// A host's system lays a huge page only where all of it is memory when it is first used. Were the memory to grow by just what a
/// block needs, the first use of each huge page would be the allocator's, at the end of what it got, which is within one. So the
/// memory grows by whole huge pages, and by one more than the block needs.
#[cfg(target_family = "wasm")]
mod ahead {
    use std::arch::wasm32::memory_size;

    use super::try_for;

    /// Smaller blocks are those of stores that would hardly fill a huge page.
    const LARGE_BYTES: usize = 256 * 1024;
    const HUGE_PAGE: usize = 2 * 1024 * 1024;
    const PAGE: usize = 64 * 1024;
    /// What the allocator adds for itself to what it is asked for, at most.
    const OVERHEAD: usize = 256;

    /// Makes the memory ready for a block of so many bytes. Where there is not so much memory left, the block may still fit.
    pub(super) fn grow(bytes: usize) {
        if bytes < LARGE_BYTES {
            return;
        }
        let now = memory_size(0) * PAGE;
        let ahead =
            now.checked_add(bytes + HUGE_PAGE).and_then(|end| end.checked_next_multiple_of(HUGE_PAGE));
        let _ = ahead.map(|end| try_for(end - now - OVERHEAD));
    }
}
