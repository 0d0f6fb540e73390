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

/// Chunks of memory, cut into runs. A run that is given back joins its free neighbours of its kind. It stays resident until there
/// is too much of that. Where memory goes back to the allocator, each run is a chunk.
#[derive(Default)]
pub(super) struct Pages {
    /// The chunks, and the free runs, by their addresses.
    chunks: Vec<(NonNull<u8>, usize)>,
    free: Vec<Run>,
    /// The bytes of all chunks, and those of resident runs.
    mapped: usize,
    spare: usize,
}

#[derive(Clone, Copy)]
struct Run {
    at: NonNull<u8>,
    bytes: usize,
    is_resident: bool,
}

impl Run {
    fn end(self) -> NonNull<u8> {
        after(self.at, self.bytes)
    }

    const fn spare(self) -> usize {
        if self.is_resident { self.bytes } else { 0 }
    }
}

fn after(at: NonNull<u8>, bytes: usize) -> NonNull<u8> {
    at.map_addr(|at| at.saturating_add(bytes))
}

impl Pages {
    pub(super) const fn spare(&self) -> usize {
        self.spare
    }

    /// Takes so many bytes, which are whole pages. Returns where, and how many of them were spare.
    pub(super) fn take(&mut self, bytes: usize) -> Option<(NonNull<u8>, usize)> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(PAGE));
        // The runs from each one on that touch and are long enough, and how much of them is resident.
        let (mut best, mut end, mut sum, mut spare) = (None, 0, 0, 0);
        for first in 0..self.free.len() {
            while sum < bytes && end < self.free.len() && (end == first || self.touch(end)) {
                (sum, spare) = (sum + self.free[end].bytes, spare + self.free[end].spare());
                end += 1;
            }
            if sum >= bytes && (IS_VIRTUAL || sum == bytes) {
                let over = sum - bytes;
                let resident = spare - self.free[end - 1].spare().min(over);
                // Pages that are not resident take time.
                let rank = (bytes - resident, over);
                if best.is_none_or(|(other, _, _)| rank < other) {
                    best = Some((rank, first, end));
                }
            }
            (sum, spare) = (sum - self.free[first].bytes, spare - self.free[first].spare());
        }
        let ((missing, over), first, end) = match best {
            Some(best) => best,
            None => self
                .map(bytes)
                .map(|number| ((bytes, self.free[number].bytes - bytes), number, number + 1))?,
        };
        let (at, last) = (self.free[first].at, &mut self.free[end - 1]);
        (last.at, last.bytes) = (after(last.at, last.bytes - over), over);
        self.free.drain(first..if over > 0 { end - 1 } else { end });
        self.spare -= bytes - missing;
        Some((at, bytes - missing))
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
        Some(self.put(Run { at, bytes: length, is_resident: false }))
    }

    /// # Safety
    /// The memory came from `take`, what follows so many resident bytes of it is not resident, and nobody uses it any more.
    pub(super) unsafe fn give(&mut self, at: NonNull<u8>, bytes: usize, resident: usize) {
        self.put(Run { at, bytes: resident, is_resident: true });
        self.put(Run { at: after(at, resident), bytes: bytes - resident, is_resident: false });
    }

    /// Adds a free run, which joins its neighbours if they are like that. Returns its number.
    fn put(&mut self, run: Run) -> usize {
        let mut number = self.free.partition_point(|other| other.at < run.at);
        if run.bytes == 0 {
            return number;
        }
        self.spare += run.spare();
        self.free.insert(number, run);
        for next in [number + 1, number] {
            if (1..self.free.len()).contains(&next)
                && self.free[next].is_resident == self.free[next - 1].is_resident
                && self.touch(next)
            {
                self.free[next - 1].bytes += self.free[next].bytes;
                self.free.remove(next);
                number = next - 1;
            }
        }
        number
    }

    /// Whether a free run touches the one before. A chunk is unmapped by itself, so runs of two stay apart.
    fn touch(&self, number: usize) -> bool {
        let at = self.free[number].at;
        self.free[number - 1].end() == at && self.chunk(at).is_err()
    }

    /// The number of the chunk that begins there.
    fn chunk(&self, at: NonNull<u8>) -> Result<usize, usize> {
        self.chunks.binary_search_by_key(&at, |&(at, _)| at)
    }

    /// Gives memory back to the system: the end of the longest resident run. Returns how much it was.
    pub(super) fn release(&mut self) -> usize {
        /// The system takes some 15 us for so much, and several times that on a busy machine.
        const STEP: usize = 256 << 10;
        let longest = self.free.iter().enumerate().max_by_key(|(_, run)| run.spare());
        let Some((number, &run)) = longest.filter(|(_, run)| run.is_resident) else { return 0 };
        let bytes = if IS_VIRTUAL { run.bytes.min(STEP) } else { run.bytes };
        let left = run.bytes - bytes;
        let at = after(run.at, left);
        // SAFETY: P1. The run is free.
        if IS_VIRTUAL && !unsafe { system::discard(at, bytes) } {
            return 0;
        }
        self.spare -= bytes;
        self.free[number].bytes = left;
        if left == 0 {
            self.free.remove(number);
        }
        let number = self.put(Run { at, bytes, is_resident: false });
        let run = self.free[number];
        if let Some(chunk) = self.chunk(run.at).ok().filter(|&chunk| self.chunks[chunk].1 == run.bytes) {
            self.chunks.remove(chunk);
            self.free.remove(number);
            self.mapped -= run.bytes;
            // SAFETY: P1. All of the chunk was free.
            unsafe { system::unmap(run.at, run.bytes) };
        }
        bytes
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
