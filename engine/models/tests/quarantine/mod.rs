//! An allocator that spoils what is given back and keeps it for a while, so that who still reads there is found out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// As the engine's checker fills free memory.
const SPOILT: u8 = 0xa5;
/// How many allocations are kept, the oldest of which makes room for the next.
const KEPT: usize = 1 << 14;

pub(crate) struct Quarantine;

type Block = (*mut u8, Layout);

/// What was given back last, in a ring.
struct Ring {
    busy: AtomicBool,
    /// The blocks, and where the newest is.
    kept: UnsafeCell<([Option<Block>; KEPT], usize)>,
}

// SAFETY: `kept` is touched while `busy` is held alone.
unsafe impl Sync for Ring {}

static RING: Ring = Ring { busy: AtomicBool::new(false), kept: UnsafeCell::new(([None; KEPT], 0)) };

impl Ring {
    /// Keeps a block; the one whose place it took.
    fn swap(&self, block: Block) -> Option<Block> {
        while self.busy.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: `busy` is held.
        let (kept, at) = unsafe { &mut *self.kept.get() };
        *at = (*at + 1) % KEPT;
        let oldest = kept[*at].replace(block);
        self.busy.store(false, Ordering::Release);
        oldest
    }
}

// SAFETY: the system's allocator does the work; what it gets back nobody has any more.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: nobody uses the block, which has that many bytes.
        unsafe { block.write_bytes(SPOILT, layout.size()) };
        if let Some((block, layout)) = RING.swap((block, layout)) {
            // SAFETY: it was given back with this layout, and only the ring has it.
            unsafe { System.dealloc(block, layout) };
        }
    }
}
