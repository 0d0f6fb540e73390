//! The memory of this half. What Rust or Node cannot do without is left to them: where they are refused memory, the process
//! ends.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::io;

use twindex_durable::Reserving;

use crate::fault::Fault;
use crate::shared::Refusal;

#[global_allocator]
static MEMORY: Memory = Memory(Reserving::new());

/// The system's allocator with a reserve for what is small, and with something left for Node where we ask for much.
struct Memory(Reserving);

/// Large allocations: the engine's blocks, whose failure is handled, and vectors that have grown long.
const BLOCK: usize = 64 << 10;
const BLOCK_ALIGN: usize = 64;
const LONG: usize = 4 << 20;
/// So many calls may take what is little each.
const CALLS: u32 = 1024;
/// V8 takes memory in pieces of up to 8 MiB on some paths where it cannot fail.
#[cfg(target_os = "linux")]
const LEFT: usize = 64 << 20;

/// Whether the system would give so much more than is asked for. Under a limit, address space is what counts.
#[cfg(target_os = "linux")]
#[cold]
fn leaves_enough(bytes: usize) -> bool {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    let Some(bytes) = bytes.checked_add(LEFT) else { return false };
    // SAFETY: the system chooses the place, where nothing else is then; it is given back before anybody knows of it.
    unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
        .and_then(|start| munmap(start, bytes))
        .is_ok()
    }
}

/// Elsewhere there is no such cheap question.
#[cfg(not(target_os = "linux"))]
fn leaves_enough(_: usize) -> bool {
    true
}

impl Memory {
    #[inline]
    fn may_have(align: usize, bytes: usize) -> bool {
        bytes < BLOCK || (bytes < LONG && align < BLOCK_ALIGN) || leaves_enough(bytes)
    }
}

// SAFETY: every block is the reserve's, which is a sound allocator; to refuse one is always allowed.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::may_have(layout.align(), layout.size()) {
            // SAFETY: the caller's promises are those that it asks for, here and below.
            unsafe { self.0.alloc(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::may_have(layout.align(), layout.size()) {
            // SAFETY: as above.
            unsafe { self.0.alloc_zeroed(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes <= layout.size() || Self::may_have(layout.align(), bytes) {
            // SAFETY: as above.
            unsafe { self.0.realloc(block, layout, bytes) }
        } else {
            std::ptr::null_mut()
        }
    }
}

/// How many calls an environment has had since it was looked whether there is memory.
#[derive(Default)]
pub(crate) struct Calls(Cell<u32>);

impl Calls {
    /// An error where memory is so short that nothing may be begun that takes more. What frees some is not asked.
    #[inline]
    pub(crate) fn check<'c>(&self) -> Result<(), Fault<'c>> {
        let Some(left) = self.0.get().checked_sub(1) else { return self.look() };
        self.0.set(left);
        MEMORY.0.check().map_err(|_| refused())
    }

    /// Where there is none, the next call looks again.
    #[cold]
    fn look<'c>(&self) -> Result<(), Fault<'c>> {
        if !leaves_enough(0) {
            return Err(refused());
        }
        self.0.set(CALLS);
        self.check()
    }
}

#[cold]
pub(crate) fn refused<'c>() -> Fault<'c> {
    Refusal::Memory.into()
}

pub(crate) fn reserve<'c, T>(out: &mut Vec<T>, more: usize) -> Result<(), Fault<'c>> {
    out.try_reserve(more).map_err(|_| refused())
}

pub(crate) fn collected<'c, T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Fault<'c>> {
    let mut all = Vec::new();
    all.try_reserve_exact(items.len()).map_err(|_| refused())?;
    all.extend(items);
    Ok(all)
}

/// Bytes that grow as they are written, as far as there is memory.
#[derive(Default)]
pub(crate) struct Growing(pub(crate) Vec<u8>);

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
