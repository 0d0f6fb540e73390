//! Memory that is kept back for when the system has no more.
//!
//! Pairs are allocated with an error at hand. What surrounds them has no way to fail: a node of a map, a short list, the text
//! of an error. If memory is refused for these, Rust ends the process. A library that lives in another's process must not
//! do that.
//!
//! Measured on 2026-11-26 on Linux, with processes that may have 160 or 170 MB of addresses and write pairs until 2,000 writes were
//! refused: hash and sorted tables, many tables, in memory and with a file. Without the reserve each of the ten ended within its
//! first refused writes, by an allocation of 96 to 6,144 bytes. With it none did.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The reserve. It takes no memory until it is used. A share of it is more than the locks of all of a store's keys take.
const BYTES: usize = 32 << 20;

/// An allocation gets no more than this share of what is left, so that large ones leave enough for small ones.
const SHARE: usize = 64;

/// The engine aligns its blocks to a cache line. Those of this size and more may be refused, so they get nothing.
const BLOCK_ALIGN: usize = 64;
const BLOCK_BYTES: usize = 8 << 10;

/// What an operation may take before the next [`Reserving::check`].
const ENOUGH: Layout = Layout::new::<[u8; 1 << 20]>();

#[repr(align(64))]
struct Arena(UnsafeCell<[u8; BYTES]>);

/// The system's allocator with a reserve, to be the `#[global_allocator]` of a library that other programs load.
///
/// An allocation that the system refuses is taken from the reserve if it is small. Whoever starts something that takes
/// memory calls [`check`](Self::check) first: it fails for as long as the reserve is in use and the system has no more
/// memory.
pub struct Reserving<S = System> {
    source: S,
    /// How many allocations are in the reserve, and below that in 32 bits, up to where it is used.
    state: AtomicU64,
    arena: Arena,
}

// SAFETY: what is in the arena belongs to who allocated it; all else is an atomic.
unsafe impl<S: Sync> Sync for Reserving<S> {}

impl Reserving {
    /// The system's.
    pub const fn new() -> Self {
        Self::with(System)
    }
}

impl Default for Reserving {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: GlobalAlloc> Reserving<S> {
    #[expect(clippy::large_stack_arrays, reason = "it is a static, and no stack has it")]
    const fn with(source: S) -> Self {
        Self { source, state: AtomicU64::new(0), arena: Arena(UnsafeCell::new([0; BYTES])) }
    }

    /// An error of the kind `OutOfMemory` if memory is so short that no more may be asked for. What frees memory needs no
    /// such check.
    #[inline]
    pub fn check(&self) -> io::Result<()> {
        if self.state.load(Relaxed) == 0 { Ok(()) } else { self.check_source() }
    }

    #[cold]
    fn check_source(&self) -> io::Result<()> {
        // SAFETY: the layout's size is not zero. The compiler would see that nothing comes of the block, and not ask for it.
        let block = black_box(unsafe { self.source.alloc(ENOUGH) });
        if block.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the block is from just there, with this layout.
        unsafe { self.source.dealloc(block, ENOUGH) };
        Ok(())
    }

    fn start(&self) -> *mut u8 {
        self.arena.0.get().cast()
    }

    /// How far from its start the block is in the reserve, `None` for one of the system.
    #[inline]
    fn offset(&self, block: *mut u8) -> Option<usize> {
        let offset = block.addr().wrapping_sub(self.start().addr());
        (offset < BYTES).then_some(offset)
    }

    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        let mut taken = 0;
        let more = |state: u64| {
            let (count, used) = (state >> 32, state as u32 as usize);
            taken = used.next_multiple_of(layout.align());
            let end = taken.checked_add(layout.size())?;
            let may_be_refused = layout.align() >= BLOCK_ALIGN && layout.size() >= BLOCK_BYTES;
            let fits = layout.size() <= BYTES.saturating_sub(taken) / SHARE && layout.align() <= BLOCK_ALIGN;
            (fits && !may_be_refused).then_some((count + 1) << 32 | end as u64)
        };
        match self.state.try_update(Relaxed, Relaxed, more) {
            Ok(_) => self.start().wrapping_add(taken),
            Err(_) => ptr::null_mut(),
        }
    }

    /// Takes back what [`take`](Self::take) gave. The last one's bytes are used again, and all once nobody has any.
    #[cold]
    fn give_back(&self, offset: usize, bytes: usize) {
        self.state.update(Relaxed, Relaxed, |state| {
            let (count, used) = ((state >> 32) - 1, state as u32 as usize);
            match count {
                0 => 0,
                _ if offset + bytes == used => count << 32 | offset as u64,
                _ => count << 32 | used as u64,
            }
        });
    }
}

// SAFETY: every block is either the source's, which is a sound allocator and gets it back with the same layout, or a range of the
// arena that no other block has: `take` moves the end of what is used by one atomic step, and it moves back only over what was
// given back.
unsafe impl<S: GlobalAlloc> GlobalAlloc for Reserving<S> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the source asks for.
        let block = unsafe { self.source.alloc(layout) };
        if block.is_null() { self.take(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.source.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = self.take(layout);
        if !block.is_null() {
            // SAFETY: the block has so many bytes. Others may have had them before.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.offset(block) {
            Some(offset) => self.give_back(offset, layout.size()),
            // SAFETY: the block is the source's, as it is not in the reserve.
            None => unsafe { self.source.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if self.offset(block).is_none() {
            // SAFETY: the block is the source's.
            let grown = unsafe { self.source.realloc(block, layout, bytes) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller promises that this is a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: its size is not zero, as the caller promises.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both have so many bytes, and are not the same. The old one is given back once.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// The system, where it has memory.
    struct Moody(AtomicBool);

    // SAFETY: the system's allocator is sound, and so is one that refuses.
    unsafe impl GlobalAlloc for Moody {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller's promises are the same.
            if self.0.load(Relaxed) { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            // SAFETY: every block came from there.
            unsafe { System.dealloc(block, layout) }
        }
    }

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).expect("a layout")
    }

    #[test]
    fn small_blocks_are_allocated_when_the_system_has_nothing() {
        static MEMORY: Reserving<Moody> = Reserving::with(Moody(AtomicBool::new(false)));
        // SAFETY: sizes are not zero, blocks have as many bytes as are written and read, and go back with their layouts.
        unsafe {
            let filled = |bytes: usize, fill: u8| {
                let block = MEMORY.alloc(layout(bytes, 8));
                assert!(!block.is_null());
                block.write_bytes(fill, bytes);
                block
            };
            let is_filled = |block: *mut u8, bytes: usize, fill: u8| {
                slice::from_raw_parts(block, bytes).iter().all(|&byte| byte == fill)
            };
            let before = filled(100, 1);
            MEMORY.source.0.store(true, Relaxed);
            MEMORY.check().expect("the reserve is whole");
            let blocks: Vec<_> =
                (2..100_u8).map(|fill| (filled(usize::from(fill) * 7, fill), fill)).collect();
            assert_eq!(MEMORY.check().expect_err("no memory").kind(), io::ErrorKind::OutOfMemory);
            for (bytes, align) in [(BYTES / SHARE, 8), (64, 2 * BLOCK_ALIGN), (BLOCK_BYTES, BLOCK_ALIGN)] {
                assert!(MEMORY.alloc(layout(bytes, align)).is_null(), "{bytes} bytes");
            }
            let table = layout(448, BLOCK_ALIGN);
            let block = MEMORY.alloc(table);
            assert!(!block.is_null() && block.addr().is_multiple_of(BLOCK_ALIGN));
            MEMORY.dealloc(block, table);
            let grown = MEMORY.realloc(before, layout(100, 8), 1000);
            let grown = MEMORY.realloc(grown, layout(1000, 8), 2000);
            assert!(is_filled(grown, 100, 1));
            MEMORY.dealloc(grown, layout(2000, 8));
            MEMORY.source.0.store(false, Relaxed);
            MEMORY.check().expect("there is memory again");
            for (block, fill) in blocks {
                assert!(is_filled(block, usize::from(fill) * 7, fill), "{fill}");
                MEMORY.dealloc(block, layout(usize::from(fill) * 7, 8));
            }
            assert_eq!(MEMORY.state.load(Relaxed), 0);
            // Large ones leave enough for those that follow.
            MEMORY.source.0.store(true, Relaxed);
            for bytes in [64 << 10, 5000, 500] {
                while !MEMORY.alloc(layout(bytes, 8)).is_null() {}
            }
            (0..50).for_each(|fill| assert!(is_filled(filled(64, fill), 64, fill)));
        }
    }
}
