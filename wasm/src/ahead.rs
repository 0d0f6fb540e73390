//! Memory that grows ahead of large blocks, for hosts that have huge pages for it.
//!
//! A host's system lays a huge page only where all of it is memory when it is first used. Were the memory to grow by just what a
//! block needs, the first use of each huge page would be the allocator's, at the end of what it got, which is within one. So the
//! memory grows by whole huge pages, and by one more than the block needs.

use std::arch::wasm32::memory_size;

use crate::reserve::try_for;

/// Smaller blocks are those of stores that would hardly fill a huge page.
const LARGE_BYTES: usize = 256 * 1024;
const HUGE_PAGE: usize = 2 * 1024 * 1024;
const PAGE: usize = 64 * 1024;
/// What the allocator adds for itself to what it is asked for, at most.
const OVERHEAD: usize = 256;

/// Makes the memory ready for a block of so many bytes. Where there is not so much memory left, the block may still fit.
pub(crate) fn grow(bytes: usize) {
    if bytes < LARGE_BYTES {
        return;
    }
    let now = memory_size(0) * PAGE;
    let ahead = now.checked_add(bytes + HUGE_PAGE).and_then(|end| end.checked_next_multiple_of(HUGE_PAGE));
    let _ = ahead.map(|end| try_for(end - now - OVERHEAD));
}
