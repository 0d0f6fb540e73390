//! Huge pages under a module's memory, as any host of wasmtime can have them on Linux.

use std::io;

use wasmtime::{AsContext, Memory};

/// What wasmtime sets aside for a memory on 64 bits, unless its `Config` says otherwise.
const RESERVED: usize = 4 << 30;

/// Asks for huge pages under all of a memory, as far as it may grow. To be called before much of it is used: what has been
/// used until then stays where it is.
pub(crate) fn ask_for(memory: Memory, store: impl AsContext) -> io::Result<()> {
    let start = memory.data_ptr(store);
    // SAFETY: wasmtime keeps these bytes for this memory. The advice changes nothing but the size of pages.
    done(unsafe { libc::madvise(start.cast(), RESERVED, libc::MADV_HUGEPAGE) })
}

/// Has this process live without huge pages, whoever asks for them.
pub(crate) fn forbid_in_this_process() -> io::Result<()> {
    // SAFETY: this sets a flag of the process.
    done(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
