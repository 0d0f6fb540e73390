//! Stores that all threads of the process find by name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use twindex::Store;

/// The stores that some thread has open.
static STORES: LazyLock<Mutex<HashMap<String, Weak<Named>>>> = LazyLock::new(Mutex::default);

/// A store under a name; it is gone from the process once every thread has let go of it.
pub(crate) struct Named {
    name: String,
    store: Store,
}

impl Named {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

/// The store under this name, which is new where no thread has one open.
pub(crate) fn open(name: &str) -> Arc<Named> {
    let mut stores = stores();
    if let Some(named) = stores.get(name).and_then(Weak::upgrade) {
        return named;
    }
    let named = Arc::new(Named { name: name.into(), store: Store::new() });
    stores.insert(name.into(), Arc::downgrade(&named));
    named
}

impl Drop for Named {
    fn drop(&mut self) {
        // Another thread may have put a new store in its place already.
        if let Entry::Occupied(entry) = stores().entry(std::mem::take(&mut self.name))
            && entry.get().strong_count() == 0
        {
            entry.remove();
        }
    }
}

fn stores() -> MutexGuard<'static, HashMap<String, Weak<Named>>> {
    STORES.lock().unwrap_or_else(PoisonError::into_inner)
}
