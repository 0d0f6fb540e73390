//! Memory by the page. On Linux it comes from the system and goes back there; elsewhere the allocator has it.

use std::ptr::NonNull;

use super::tuned;

pub(super) const PAGE: usize = tuned(4096, 512);

/// Whether memory that is given back leaves the process, and untouched memory takes none.
pub(super) const IS_VIRTUAL: bool =
    cfg!(all(target_os = "linux", not(any(miri, twindex_tiny, twindex_shuttle))));

/// So many bytes rounded up to whole pages.
pub(super) const fn whole(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

pub(super) use system::{discard, map, unmap};

#[cfg(all(target_os = "linux", not(any(miri, twindex_tiny, twindex_shuttle))))]
mod system {
    use std::ptr::NonNull;

    pub(in super::super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: P1. A new mapping touches no memory that anybody has.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, how, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        // A huge page would take memory that nobody has counted.
        // SAFETY: P1. It was mapped above.
        unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
        NonNull::new(at.cast())
    }

    pub(in super::super) unsafe fn unmap(at: NonNull<u8>, bytes: usize) {
        // SAFETY: P1, the caller's promise.
        unsafe { libc::munmap(at.as_ptr().cast(), bytes) };
    }

    pub(in super::super) unsafe fn discard(at: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: P1, the caller's promise.
        unsafe { libc::madvise(at.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, twindex_tiny, twindex_shuttle)))))]
mod system {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    pub(in super::super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes, 64).ok()?;
        // SAFETY: P1. The size is not 0.
        NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
    }

    pub(in super::super) unsafe fn unmap(at: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes, 64) {
            // SAFETY: P1, the caller's promise.
            unsafe { std::alloc::dealloc(at.as_ptr(), layout) };
        }
    }

    pub(in super::super) unsafe fn discard(_at: NonNull<u8>, _bytes: usize) -> bool {
        false
    }
}

/// Chunks of memory, cut into runs of pages. A run that is given back joins its free neighbours and then serves any length. It
/// stays resident until there is too much of that. Where memory goes back to the allocator, each run is a chunk.
#[derive(Default)]
pub(super) struct Pages {
    /// The chunks, and the free runs, by their addresses.
    chunks: Vec<(NonNull<u8>, usize)>,
    free: Vec<Run>,
    /// The bytes of all chunks, and those of free runs that may be resident.
    mapped: usize,
    spare: usize,
}

#[derive(Clone, Copy)]
struct Run {
    at: NonNull<u8>,
    bytes: usize,
    /// No more of it than this is resident.
    resident: usize,
}

impl Run {
    fn end(self) -> NonNull<u8> {
        self.at.map_addr(|at| at.saturating_add(self.bytes))
    }
}

impl Pages {
    pub(super) const fn spare(&self) -> usize {
        self.spare
    }

    /// Takes so many bytes, which are whole pages. Returns where, and how many of them were spare.
    pub(super) fn take(&mut self, bytes: usize) -> Option<(NonNull<u8>, usize)> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(PAGE));
        let runs = self.free.iter().enumerate();
        let fitting = runs.filter(|(_, run)| run.bytes == bytes || IS_VIRTUAL && run.bytes > bytes);
        // Pages that are not resident take time.
        let best = fitting.min_by_key(|(_, run)| (bytes.saturating_sub(run.resident), run.bytes));
        let number = match best {
            Some((number, _)) => number,
            None => self.map(bytes)?,
        };
        let run = self.free[number];
        let left = run.bytes - bytes;
        let spare = run.resident - run.resident.min(left);
        self.spare -= spare;
        if left > 0 {
            let at = run.at.map_addr(|at| at.saturating_add(bytes));
            self.free[number] = Run { at, bytes: left, resident: run.resident - spare };
        } else {
            self.free.remove(number);
        }
        Some((run.at, spare))
    }

    /// Makes a chunk for so many bytes, and of it a free run. Returns the run's number.
    fn map(&mut self, bytes: usize) -> Option<usize> {
        const LEAST: usize = 64 << 10;
        const MOST: usize = 64 << 20;
        let length = (self.mapped / 4).clamp(LEAST, MOST).next_multiple_of(LEAST);
        let length = if IS_VIRTUAL { bytes.max(length) } else { bytes };
        let at = system::map(length)?;
        self.mapped += length;
        self.chunks.insert(self.chunks.partition_point(|&(other, _)| other < at), (at, length));
        let number = self.free.partition_point(|run| run.at < at);
        self.free.insert(number, Run { at, bytes: length, resident: 0 });
        Some(number)
    }

    /// # Safety
    /// The memory came from `take`, so much of it is resident, and nobody uses it any more.
    pub(super) unsafe fn give(&mut self, at: NonNull<u8>, bytes: usize, resident: usize) {
        self.spare += resident;
        self.put(Run { at, bytes, resident }, |_| true);
    }

    /// Adds a free run, which joins its neighbours if they are like that.
    fn put(&mut self, mut run: Run, joins: impl Fn(Run) -> bool) {
        let mut number = self.free.partition_point(|other| other.at < run.at);
        if let Some(&after) = self.free.get(number)
            && joins(after)
            && self.touch(run, after)
        {
            (run.bytes, run.resident) = (run.bytes + after.bytes, run.resident + after.resident);
            self.free.remove(number);
        }
        if let Some(&Run { at, bytes, resident }) = self.free[..number].last()
            && joins(self.free[number - 1])
            && self.touch(self.free[number - 1], run)
        {
            run = Run { at, bytes: bytes + run.bytes, resident: resident + run.resident };
            number -= 1;
            self.free.remove(number);
        }
        self.free.insert(number, run);
    }

    /// A chunk is unmapped by itself, so runs of two stay apart.
    fn touch(&self, before: Run, after: Run) -> bool {
        before.end() == after.at && self.chunk(after.at).is_err()
    }

    /// The number of the chunk that begins there.
    fn chunk(&self, at: NonNull<u8>) -> Result<usize, usize> {
        self.chunks.binary_search_by_key(&at, |&(at, _)| at)
    }

    /// Gives memory back to the system: the run of which most is resident, or the end of that. Returns how much it was.
    pub(super) fn release(&mut self) -> usize {
        /// The system takes some 15 us for so much, and several times that on a busy machine.
        const STEP: usize = 256 << 10;
        let Some((number, &run)) = self.free.iter().enumerate().max_by_key(|(_, run)| run.resident) else {
            return 0;
        };
        let chunk = self.chunk(run.at).ok().filter(|&chunk| self.chunks[chunk].1 == run.bytes);
        if let Some(chunk) = chunk.filter(|_| run.resident <= STEP || !IS_VIRTUAL) {
            self.chunks.remove(chunk);
            self.free.remove(number);
            self.mapped -= run.bytes;
            self.spare -= run.resident;
            // SAFETY: P1. All of the chunk was free.
            unsafe { system::unmap(run.at, run.bytes) };
            return run.resident;
        }
        // Of a run that is partly resident nobody knows which part that is.
        let bytes = if run.resident == run.bytes { run.bytes.min(STEP) } else { run.bytes };
        let at = run.at.map_addr(|at| at.saturating_add(run.bytes - bytes));
        // SAFETY: P1. The run is free.
        if run.resident == 0 || !unsafe { system::discard(at, bytes) } {
            return 0;
        }
        let released = run.resident.min(bytes);
        self.spare -= released;
        if bytes == run.bytes {
            self.free.remove(number);
        } else {
            self.free[number] = Run { bytes: run.bytes - bytes, resident: run.resident - released, ..run };
        }
        self.put(Run { at, bytes, resident: 0 }, |other| other.resident == 0);
        released
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        for &(at, bytes) in &self.chunks {
            // SAFETY: P1. The cache owned it, and no reader is left: readers hold the cache.
            unsafe { system::unmap(at, bytes) };
        }
    }
}
