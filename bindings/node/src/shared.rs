//! Stores, and how all threads of the process find the same one by its name or its file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use twindex_durable::{Durability, Error, Options, Store};

/// Why the store said no. It may be told to another thread, unlike a [`Fault`].
pub(crate) enum Refusal {
    Store(Error),
    /// A cache did, perhaps while it was read from a file.
    Cache(twindex_cache::Error, Option<PathBuf>),
    /// A shared cache has other options.
    Options(String),
    Memory,
    /// The file is open in this process, in another way.
    OpenOtherwise {
        path: PathBuf,
        is: Durability,
        asked: Durability,
    },
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(twindex::Error::Io(error)) if error.kind() == io::ErrorKind::OutOfMemory => {
                Self::Memory
            }
            error => Self::Store(error),
        }
    }
}

impl From<twindex::Error> for Refusal {
    fn from(error: twindex::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<twindex_cache::Error> for Refusal {
    fn from(error: twindex_cache::Error) -> Self {
        match error {
            twindex_cache::Error::Io(error) => twindex::Error::Io(error).into(),
            error => Self::Cache(error, None),
        }
    }
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Cache(error, _) => error.code(),
            Self::Options(_) => "TWINDEX_RANGE",
            Self::Memory => "TWINDEX_MEMORY_LIMIT",
            Self::OpenOtherwise { .. } => "TWINDEX_IN_USE",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Cache(error, None) => error.fmt(f),
            Self::Cache(error, Some(path)) => write!(f, "{}: {error}", path.display()),
            Self::Options(message) => f.write_str(message),
            Self::Memory => f.write_str("the system has no more memory"),
            Self::OpenOtherwise { path, is, asked } => write!(
                f,
                "{} is open in this process with durability \"{is}\", so it cannot be with \"{asked}\"",
                path.display()
            ),
        }
    }
}

/// The places that some thread has open, or is about to.
static PLACES: LazyLock<Mutex<HashMap<Key, Weak<Place>>>> = LazyLock::new(Mutex::default);

/// The number of the next place. Those that come round again are of stores that are long closed.
static NEXT_PLACE: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Name(String),
    File(PathBuf),
    /// A file that is read and not written.
    Follower(PathBuf),
}

/// Where one store at a time is open. Its lock is held while that is opened and while it is closed, so that an open waits
/// for a close that is under way.
struct Place {
    key: Key,
    number: u32,
    open: Mutex<Option<Open>>,
}

struct Open {
    store: Store,
    handles: usize,
}

impl Place {
    fn of(key: Key) -> Arc<Self> {
        let mut places = lock(&PLACES);
        if let Some(place) = places.get(&key).and_then(Weak::upgrade) {
            return place;
        }
        let number = NEXT_PLACE.fetch_add(1, Relaxed);
        let place = Arc::new(Self { key: key.clone(), number, open: Mutex::default() });
        places.insert(key, Arc::downgrade(&place));
        place
    }

    /// The store that is open here, once `meet` has seen it, or what `open` opens.
    fn open(
        self: Arc<Self>,
        meet: impl FnOnce(&Store) -> Result<(), Refusal>,
        open: impl FnOnce() -> Result<Store, Refusal>,
    ) -> Result<Shared, Refusal> {
        let mut here = lock(&self.open);
        let store = if let Some(Open { store, handles }) = &mut *here {
            meet(store)?;
            *handles += 1;
            store.clone()
        } else {
            let store = open()?;
            *here = Some(Open { store: store.clone(), handles: 1 });
            store
        };
        drop(here);
        Ok(Shared { store, place: Some(self) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another thread may have put a new place there already.
        if let Entry::Occupied(entry) = lock(&PLACES).entry(self.key.clone())
            && entry.get().strong_count() == 0
        {
            entry.remove();
        }
    }
}

/// A thread's handle of a store that is its own, or one that others find.
pub(crate) struct Shared {
    store: Store,
    /// There until the handle is let go.
    place: Option<Arc<Place>>,
}

impl Shared {
    /// A store that no other thread finds.
    pub(crate) fn own(store: Store) -> Self {
        Self { store, place: None }
    }

    /// The process's store of this name, which is new where no thread has one open.
    pub(crate) fn named(name: &str) -> Result<Self, Refusal> {
        Place::of(Key::Name(name.into())).open(|_| Ok(()), || Ok(Store::new()))
    }

    /// The process's store in this file, or with `read_only` its follower of the file, which then has all that is there.
    pub(crate) fn in_file(path: &Path, asked: Asked) -> Result<Self, Refusal> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let Asked { durability, read_only, memory_limit: limit, .. } = asked;
        let key = if read_only { Key::Follower } else { Key::File };
        let meet = |store: &Store| {
            let is = store.durability();
            if is != durability && !read_only {
                return Err(Refusal::OpenOtherwise { path: path.clone(), is, asked: durability });
            }
            if limit.is_some() {
                store.set_memory_limit(limit);
            }
            // A file that cannot be read any more is an error, as it is for the first that opens it.
            if read_only { Ok(store.refresh().map(drop)?) } else { Ok(()) }
        };
        Place::of(key(resolve(&path))).open(meet, || Ok(asked.options().open(&path)?))
    }

    pub(crate) fn is_named(name: &str) -> bool {
        let place = lock(&PLACES).get(&Key::Name(name.into())).and_then(Weak::upgrade);
        place.is_some_and(|place| lock(&place.open).is_some())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The number of its place, which all handles of one store have in common.
    pub(crate) fn place(&self) -> Option<u32> {
        self.place.as_ref().map(|place| place.number)
    }

    /// Lets go of the handle, and of the file where it is the last one. What was written before is on disk then, whatever the
    /// durability. Where that fails, the handle is given back.
    pub(crate) fn close(mut self) -> Result<(), Box<(Self, Error)>> {
        let Some(place) = self.place.clone() else {
            return self.store.close().map_err(|error| Box::new((self, error)));
        };
        let mut here = lock(&place.open);
        let is_last = here.as_ref().is_none_or(|open| open.handles == 1);
        let closed = if is_last {
            self.store.close()
        } else if self.store.is_read_only() || self.store.path().is_none() {
            Ok(())
        } else if self.store.durability() == Durability::None {
            self.store.save()
        } else {
            self.store.flush()
        };
        match closed {
            Ok(()) => {
                self.place = None;
                let_go(&mut here);
                Ok(())
            }
            Err(error) => {
                drop(here);
                Err(Box::new((self, error)))
            }
        }
    }
}

/// One handle less; whether it was the last.
fn let_go(here: &mut Option<Open>) -> bool {
    let Some(open) = here else { return true };
    open.handles -= 1;
    if open.handles == 0 {
        *here = None;
    }
    here.is_none()
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        // An open of the file meanwhile is to find it free.
        let mut here = lock(&place.open);
        if let_go(&mut here) && self.store.durability() != Durability::None {
            // Something that is under way may still have the store.
            let _ = self.store.close();
        }
    }
}

pub(crate) struct Asked {
    pub(crate) durability: Durability,
    pub(crate) read_only: bool,
    pub(crate) existing: bool,
    pub(crate) memory_limit: Option<usize>,
    pub(crate) progress: Option<Box<dyn FnMut(twindex_durable::Progress) + Send>>,
}

impl Asked {
    fn options(self) -> Options {
        let mut options =
            Options::new().durability(self.durability).read_only(self.read_only).existing(self.existing);
        if let Some(limit) = self.memory_limit {
            options = options.memory_limit(limit);
        }
        if let Some(progress) = self.progress {
            options = options.progress(progress);
        }
        options
    }
}

/// So many links lead to a file at most, as on Linux.
const LINKS: usize = 40;

/// The one name of a file that may not be there yet, also where a link leads to it.
fn resolve(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(found) = path.canonicalize() {
            return found;
        }
        if let (Some(Ok(folder)), Some(name)) = (path.parent().map(Path::canonicalize), path.file_name()) {
            path = folder.join(name);
        }
        match path.read_link() {
            Ok(target) => path = path.parent().map_or(target.clone(), |folder| folder.join(&target)),
            Err(_) => return path,
        }
    }
    path
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
