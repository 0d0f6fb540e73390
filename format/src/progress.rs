//! How far something has come.

/// How far a dump or a load has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The pairs that were written or read.
    pub pairs: u64,
    /// The bytes of the file that were written or read.
    pub bytes: u64,
}

/// Gets the progress of a load, from one thread at a time.
pub type ProgressFn<'p> = dyn FnMut(Progress) + Send + 'p;
