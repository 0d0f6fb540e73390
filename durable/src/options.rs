//! How a store is opened.

use std::fmt;
use std::str::FromStr;

use twindex_format::Progress;

use crate::error::{Error, Result};

/// When a change reaches the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// When [`Store::save`](crate::Store::save) or [`Store::close`](crate::Store::close) is called, and not otherwise.
    None,
    /// Within two seconds, usually one: a power cut loses at most the changes of that time, a killed process none.
    /// Writers wait while a sync takes longer.
    #[default]
    EverySec,
    /// Before the write returns. Writers that wait at the same time share one sync.
    Always,
}

impl Durability {
    /// `none`, `everysec` or `always`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::EverySec => "everysec",
            Self::Always => "always",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Durability {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::None, Self::EverySec, Self::Always]
            .into_iter()
            .find(|durability| durability.name() == name)
            .ok_or_else(|| Error::UnknownDurability { name: name.into() })
    }
}

/// How to open a store's file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.twx");
/// use twindex_durable::{Durability, Options};
///
/// let store = Options::new().durability(Durability::Always).memory_limit(1 << 30).open(path)?;
/// # store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) read_only: bool,
    pub(crate) existing: bool,
    pub(crate) memory_limit: Option<usize>,
    pub(crate) compact_by_hand: bool,
    pub(crate) progress: Option<Box<ProgressFn>>,
}

pub(crate) type ProgressFn = dyn FnMut(Progress) + Send;

impl Options {
    /// Durability [`EverySec`](Durability::EverySec), for writing, with a new file if there is none.
    pub fn new() -> Self {
        Self::default()
    }

    /// When a change reaches the disk.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Read-only: takes no lock, changes nothing, and sees the file as it is now. Others may write to
    /// it meanwhile.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Fails if there is no file, instead of creating one.
    #[must_use]
    pub fn existing(mut self, existing: bool) -> Self {
        self.existing = existing;
        self
    }

    /// The most bytes that the store may hold in memory. A write that would pass it is refused.
    ///
    /// A file whose store stayed within this limit always opens. Loaded pairs may take more memory than written ones, so up to half
    /// the limit and a mebibyte more are allowed; then writes that need memory are refused until the store holds less. A file that
    /// needs still more is refused.
    #[must_use]
    pub fn memory_limit(mut self, limit: usize) -> Self {
        self.memory_limit = Some(limit);
        self
    }

    /// Compacts the file when [`Store::compact`](crate::Store::compact) is called, not in the background.
    #[must_use]
    pub fn compact_by_hand(mut self, by_hand: bool) -> Self {
        self.compact_by_hand = by_hand;
        self
    }

    /// Gets the progress of the loading, from one thread at a time.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("read_only", &self.read_only)
            .field("existing", &self.existing)
            .field("memory_limit", &self.memory_limit)
            .field("compact_by_hand", &self.compact_by_hand)
            .finish_non_exhaustive()
    }
}
