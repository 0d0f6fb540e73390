//! Caches in files and bytes.

use std::cell::Cell;
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::SystemTime;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use twindex_durable::format::{SavedCache, write_cache};

use super::listener::listen;
use super::{Cache, CacheArguments, CacheObjects, Capacity, Ttl};
use crate::attached::Attached;
use crate::buffer::Buffer;
use crate::codec::Codecs;
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::interrupts::{Interruptible, wait_for};
use crate::memory::check_memory;
use crate::objects;
use crate::paths::{path, path_of};
use crate::shared::Shared;

fn open(source: &Bound<'_, PyAny>) -> Result<Box<dyn Read + Send>> {
    let py = source.py();
    // Bytes are what is to be loaded, not a path, as with `Store.load`.
    if !source.is_instance_of::<PyBytes>()
        && let Some(path) = path_of(source)?
    {
        return Ok(wait_for(py, move || twindex_durable::open_cache(&path))??);
    }
    match Buffer::of("source", source)? {
        Some(buffer) => Ok(Box::new(Cursor::new(buffer.copy(usize::MAX)?))),
        None => Err(error::wrong_type("source", "bytes, bytearray, memoryview or a path", source)),
    }
}

thread_local! {
    /// What the next instance of a subclass is, on its way into it.
    static LOADED: Cell<Option<Cache>> = const { Cell::new(None) };
}

impl Cache {
    /// What [`of_class`](Self::of_class) makes an instance of.
    pub(super) fn take_loaded() -> Option<Self> {
        LOADED.take()
    }

    /// An instance of the class or of a subclass, of which `__init__` is not called.
    fn of_class<'py>(self, class: &Bound<'py, PyType>) -> Result<Bound<'py, Self>> {
        let own = class.py().get_type::<Self>();
        if class.is(&own) {
            return Ok(Bound::new(class.py(), self)?);
        }
        // Made before: another object that is made meanwhile may run any code.
        let (new, arguments) = (own.getattr("__new__")?, PyTuple::new(class.py(), [class])?);
        LOADED.set(Some(self));
        let made = new.call1(arguments);
        LOADED.set(None);
        Ok(made?.cast_into::<Self>().map_err(PyErr::from)?)
    }

    /// Loads a cache into a store, under this name.
    pub(crate) fn load_into(
        source: &Bound<'_, PyAny>,
        store: Arc<Shared>,
        cache_objects: &CacheObjects,
        name: &str,
        arguments: CacheArguments<'_, '_>,
    ) -> Result<Self> {
        check_memory()?;
        let py = source.py();
        let engine = store.open()?.in_memory().clone();
        let mut reader = Interruptible::new(open(source)?);
        let saved = match SavedCache::read(&mut reader) {
            Ok(saved) => saved,
            Err(error) => return reader.result(Err(error)).map(|(never, _)| never),
        };
        let CacheArguments { sizes, keys, values, on_evict } = arguments;
        let codecs = Codecs::of_table(py, name, saved.codecs(), keys, values)?;
        let (options, listener) = listen(py, sizes.options_of(&saved)?, on_evict, &codecs)?;
        let options = options.codecs(codecs.keys.name(), codecs.values.name());
        // In this thread, as what a signal ended must not come to be in the store all the same.
        let loaded = py.detach(|| saved.load(&engine, name, options, SystemTime::now()));
        let (loaded, _) = reader.result(loaded)?;
        // A signal that came since the last look ends the call too.
        let stands = py.check_signals().map_err(error::Failure::from).and_then(|()| store.check_open());
        if let Err(failure) = stands {
            engine.drop_cache(name);
            return Err(failure);
        }
        let (flights, objects) = (cache_objects.flights(py, name, listener)?, cache_objects.clone_ref(py));
        Ok(Self {
            store,
            engine: Inherited::new(loaded),
            codecs,
            flights,
            objects,
            popping: Attached::default(),
        })
    }
}

#[pymethods]
impl Cache {
    /// Writes the cache, with the times at which its pairs expire, to a file, which is replaced in one step once the new one
    /// is on disk. `Cache.load` and `Store.load_cache` read it.
    ///
    /// >>> from tempfile import TemporaryDirectory
    /// >>> from pathlib import Path
    /// >>> pages = Cache(maxsize=1000, ttl=60)
    /// >>> pages["/"] = {"title": "Hello"}
    /// >>> with TemporaryDirectory() as folder:
    /// ...     pages.save(Path(folder) / "pages.twx")
    /// ...     Cache.load(Path(folder) / "pages.twx")["/"]
    /// {'title': 'Hello'}
    fn save(&self, path: &Bound<'_, PyAny>) -> Result<()> {
        let target = self::path("path", path)?;
        let cache = self.open()?.clone();
        let saved = wait_for(path.py(), move || twindex_durable::save_cache(&cache, &target))?;
        // To close the store drops its caches.
        saved.or_else(|error| self.open().and(Err(error.into())))
    }

    /// The cache as bytes: what `save` writes to a file.
    ///
    /// >>> pages = Cache(maxsize=1000)
    /// >>> pages["/"] = "Hello"
    /// >>> Cache.load(pages.dump())["/"]
    /// 'Hello'
    fn dump<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        check_memory()?;
        let cache = self.open()?;
        let mut writer = Interruptible::new(Vec::new());
        let dumped = py.detach(|| write_cache(cache, SystemTime::now(), &mut writer, &mut |_| {}).map(drop));
        let ((), dump) = writer.result(dumped)?;
        Ok(objects::bytes(py, &dump)?)
    }

    /// A cache in memory from the file that `save` wrote, or from the bytes of `dump`.
    ///
    /// It has the capacity and the time to live of the one that was saved, or those that the call names. Where it is
    /// smaller, the pairs stay that were asked for most, and `on_evict` is not told of the others. Every pair expires when
    /// it would have in the cache that was saved, so what expired meanwhile is not there.
    ///
    /// Keys and values are "object" by default, as with `Cache()`: name the codecs of a cache that has others. Reading
    /// objects runs what their pickles say, so never load those that somebody else may have written.
    ///
    /// A subclass gives an instance of itself, without a call of its `__init__`.
    ///
    /// Raises `CorruptError` on anything but a whole, undamaged cache.
    #[classmethod]
    #[pyo3(signature = (source, /, *, capacity=None, maxsize=None, ttl=None, keys=None, values=None, on_evict=None))]
    fn load<'py>(
        class: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        capacity: Option<Capacity>,
        maxsize: Option<Capacity>,
        ttl: Option<Ttl>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        on_evict: Option<&Bound<'_, PyAny>>,
    ) -> Result<Bound<'py, Self>> {
        let arguments = CacheArguments::of((capacity, maxsize, ttl), keys, values, on_evict)?.or_objects();
        let cache_objects = CacheObjects::new(class.py())?;
        let store = Shared::new(twindex::Store::new());
        Self::load_into(source, store, &cache_objects, Self::OWN_NAME, arguments)?.of_class(class)
    }
}
