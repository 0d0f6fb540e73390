//! Stores, and how all threads of the process find the same one by its name or its file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use twindex_durable::{Durability, Error, Options, Store};

/// Why the store said no. It may be told to another thread, unlike a [`Fault`].
pub(crate) enum Refusal {
    Store(Error),
    /// The system has no more memory.
    Memory,
    /// The file is open in this process, in another way.
    OpenOtherwise {
        path: PathBuf,
        is: Durability,
        asked: Durability,
    },
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        match error.into() {
            Error::Engine(twindex::Error::Io(error)) if error.kind() == io::ErrorKind::OutOfMemory => {
                Self::Memory
            }
            error => Self::Store(error),
        }
    }
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Memory => "TWINDEX_MEMORY_LIMIT",
            Self::OpenOtherwise { .. } => "TWINDEX_IN_USE",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
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

/// What threads find a store by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Name(String),
    File(PathBuf),
    /// A file that is read and not written.
    Follower(PathBuf),
}

/// Where one store at a time is open. Its lock is held while that is opened and while it is let go, so that who comes
/// in between waits for the one or the other.
struct Place {
    key: Key,
    open: Mutex<Weak<Shared>>,
}

impl Place {
    fn of(key: Key) -> Arc<Self> {
        let mut places = lock(&PLACES);
        if let Some(place) = places.get(&key).and_then(Weak::upgrade) {
            return place;
        }
        let place = Arc::new(Self { key: key.clone(), open: Mutex::default() });
        places.insert(key, Arc::downgrade(&place));
        place
    }

    /// The store that is open here, once `meet` has seen it, or what `open` opens.
    fn open(
        self: Arc<Self>,
        meet: impl FnOnce(&Store) -> Result<(), Refusal>,
        open: impl FnOnce() -> Result<Store, Refusal>,
    ) -> Result<Arc<Shared>, Refusal> {
        let mut here = lock(&self.open);
        if let Some(shared) = here.upgrade() {
            meet(shared.store())?;
            return Ok(shared);
        }
        let shared = Arc::new(Shared { store: Some(open()?), place: Some(Arc::clone(&self)) });
        *here = Arc::downgrade(&shared);
        Ok(shared)
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

/// A store that is one thread's own, or one that others find; it is gone once every thread has let go of it.
pub(crate) struct Shared {
    /// There until it is let go.
    store: Option<Store>,
    place: Option<Arc<Place>>,
}

impl Shared {
    /// A store that no other thread finds.
    pub(crate) fn own(store: Store) -> Arc<Self> {
        Arc::new(Self { store: Some(store), place: None })
    }

    /// The process's store of this name, which is new where no thread has one open.
    pub(crate) fn named(name: &str) -> Result<Arc<Self>, Refusal> {
        Place::of(Key::Name(name.into())).open(|_| Ok(()), || Ok(Store::new()))
    }

    /// The process's store in this file, or with `read_only` its follower of the file, which then has all that is there.
    pub(crate) fn in_file(path: &Path, asked: Asked) -> Result<Arc<Self>, Refusal> {
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
            // A file that cannot be read any more is an error, as it is for whoever opens it first.
            if read_only { Ok(store.refresh().map(drop)?) } else { Ok(()) }
        };
        Place::of(key(resolve(&path))).open(meet, || Ok(asked.options().open(&path)?))
    }

    /// Whether some thread has a store of this name.
    pub(crate) fn is_named(name: &str) -> bool {
        let place = lock(&PLACES).get(&Key::Name(name.into())).and_then(Weak::upgrade);
        place.is_some_and(|place| lock(&place.open).strong_count() > 0)
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().expect("only the last owner lets go of it")
    }

    /// Lets go of the store: its file too, where nobody else has it. What was written is on disk then, as far as the
    /// durability promises that at all. Where that fails, the store is given back.
    pub(crate) fn close(self: Arc<Self>) -> Result<(), (Arc<Self>, Error)> {
        let place = self.place.clone();
        let mut here = place.as_ref().map(|place| lock(&place.open));
        match Arc::try_unwrap(self) {
            Ok(mut last) => {
                let closed = last.store().close();
                let Err(error) = closed else {
                    last.place = None;
                    return Ok(());
                };
                let again = Arc::new(last);
                if let Some(here) = &mut here {
                    **here = Arc::downgrade(&again);
                }
                Err((again, error))
            }
            Err(shared) => {
                // Where the others let go of it meanwhile, it is let go here, which takes this lock.
                drop(here);
                if shared.store().is_read_only() {
                    return Ok(());
                }
                shared.store().flush().map_err(|error| (shared, error))
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Who opens the file meanwhile is to find it free.
        let place = self.place.take();
        let _here = place.as_ref().map(|place| lock(&place.open));
        self.store = None;
    }
}

/// How a file is to be opened.
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

/// The one name of a file that may not be there yet.
fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.into(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
