//! The files that this process has locked, so that an open can wait for a close, and a child of `fork` lets go of them.
//!
//! A child walks the list before anything else, where it may neither allocate nor wait for a lock. So entries are never
//! freed, only used again, and every field is an atomic.

use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Tells a file from every other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(crate) u64, pub(crate) u64);

/// A file that is locked, or about to be.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    used: AtomicBool,
    #[cfg(unix)]
    descriptor: std::sync::atomic::AtomicI32,
    identity: [AtomicU64; 2],
    closing: AtomicBool,
    next: OnceLock<Box<Entry>>,
}

static FIRST: OnceLock<Entry> = OnceLock::new();
/// How often this process was forked off from one that had locked files, itself included.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Differs in a child of `fork` from what it was in its parent.
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Relaxed)
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    std::iter::successors(FIRST.get(), |entry| entry.next.get().map(|next| &**next))
}

/// Enters a file, before it is locked.
pub(crate) fn enter(file: &File, Identity(one, two): Identity) -> &'static Entry {
    let mut entry = FIRST.get_or_init(|| {
        #[cfg(unix)]
        // SAFETY: the handler allocates nothing and takes no lock, as a child of `fork` demands.
        unsafe {
            libc::pthread_atfork(None, None, Some(let_go_in_child));
        }
        Entry::default()
    });
    while entry.used.swap(true, Acquire) {
        entry = entry.next.get_or_init(Box::default);
    }
    entry.identity[0].store(one, Relaxed);
    entry.identity[1].store(two, Relaxed);
    #[cfg(unix)]
    entry.descriptor.store(std::os::fd::AsRawFd::as_raw_fd(file) + 1, Release);
    entry
}

/// Whether a store of this process that is being closed has the file.
pub(crate) fn is_closing(Identity(one, two): Identity) -> bool {
    entries().any(|entry| {
        let [a, b] = &entry.identity;
        entry.used.load(Acquire)
            && entry.closing.load(Acquire)
            && (a.load(Relaxed), b.load(Relaxed)) == (one, two)
    })
}

impl Entry {
    pub(crate) fn set_closing(&self, closing: bool) {
        self.closing.store(closing, Release);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Acquire)
    }

    /// The file is unlocked, and still open.
    pub(crate) fn leave(&self) {
        #[cfg(unix)]
        self.descriptor.store(0, Release);
        self.closing.store(false, Release);
        self.used.store(false, Release);
    }
}

/// A lock belongs to all processes that have the file open, so a child would keep it when its parent has ended. Each of
/// the child's descriptors becomes one that has nothing to read and cannot be written to.
#[cfg(unix)]
extern "C" fn let_go_in_child() {
    FORKS.fetch_add(1, Relaxed);
    // SAFETY: the path ends with a zero. The call is allowed in a child of `fork`.
    let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    for entry in entries() {
        let descriptor = entry.descriptor.swap(0, Acquire) - 1;
        if descriptor >= 0 && null >= 0 {
            // SAFETY: both are open: an entry has its descriptor while that is so. Whoever holds the number in the child
            // holds an open file still.
            unsafe {
                libc::dup2(null, descriptor);
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
    // SAFETY: it was opened above, and nobody else knows it.
    unsafe { libc::close(null) };
}
