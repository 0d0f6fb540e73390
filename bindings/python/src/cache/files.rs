//! Caches in files and bytes.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::SystemTime;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use twindex::dump::SavedCache;

use super::listener::listen;
use super::{Cache, CacheArguments, Capacity, Sizes, Ttl};
use crate::attached::Attached;
use crate::buffer::Buffer;
use crate::codec::{Codecs, KeyCodec, ValueCodec};
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::interrupts::{Interruptible, wait_for};
use crate::memory::check_memory;
use crate::objects;
use crate::paths::{path, path_of};
use crate::shared::Shared;

type Saved = SavedCache<Box<dyn Read + Send>>;

fn read(source: &Bound<'_, PyAny>) -> Result<Saved> {
    let py = source.py();
    // Bytes are what is to be loaded, not a path, as with `Store.load`.
    if !source.is_instance_of::<PyBytes>()
        && let Some(path) = path_of(source)?
    {
        return Ok(wait_for(py, move || twindex_durable::read_cache(&path))??);
    }
    match Buffer::of("source", source)? {
        Some(buffer) => {
            let reader: Box<dyn Read + Send> = Box::new(Cursor::new(buffer.copy(usize::MAX)?));
            Ok(SavedCache::read(reader)?)
        }
        None => Err(error::wrong_type("source", "bytes, bytearray, memoryview or a path", source)),
    }
}

impl Cache {
    /// Loads a cache into a store, under this name.
    pub(crate) fn load_into(
        source: &Bound<'_, PyAny>,
        store: Arc<Shared>,
        name: &str,
        arguments: CacheArguments<'_, '_>,
    ) -> Result<Self> {
        check_memory()?;
        let py = source.py();
        let engine = store.open()?.in_memory().clone();
        let saved = read(source)?;
        let CacheArguments { sizes, keys, values, on_evict } = arguments;
        let codecs = Codecs::of_table(py, name, saved.codecs(), keys, values)?;
        let options = listen(sizes.options_of(&saved)?, on_evict, &codecs)?;
        let options = options.codecs(codecs.keys.name(), codecs.values.name());
        let own_name = name.to_owned();
        let loaded = wait_for(py, move || saved.load(&engine, &own_name, options, SystemTime::now()))??;
        let flights = store.flights(py, name)?;
        Ok(Self { store, engine: Inherited::new(loaded), codecs, flights, popping: Attached::default() })
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
        Ok(wait_for(path.py(), move || twindex_durable::save_cache(&cache, &target))??)
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
        let dumped = py.detach(|| cache.dump(&mut writer, SystemTime::now()));
        let ((), dump) = writer.result(dumped)?;
        Ok(objects::bytes(py, &dump)?)
    }

    /// A cache in memory from the file that `save` wrote, or from the bytes of `dump`.
    ///
    /// It has the capacity and the time to live of the one that was saved, unless told. Where it is smaller, the pairs stay
    /// that were asked for most, and `on_evict` is not told of the others. Every pair expires when it would have in the cache
    /// that was saved, so what expired meanwhile is not there.
    ///
    /// Keys and values are "object" unless told, as with `Cache()`: name the codecs of a cache that has others. Reading
    /// objects runs what their pickles say, so never load those that somebody else may have written.
    ///
    /// Raises `CorruptError` on anything but a whole, undamaged cache.
    #[staticmethod]
    #[pyo3(signature = (source, /, *, capacity=None, maxsize=None, ttl=None, keys=None, values=None, on_evict=None))]
    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn load(
        source: &Bound<'_, PyAny>,
        capacity: Option<Capacity>,
        maxsize: Option<Capacity>,
        ttl: Option<Ttl>,
        keys: Option<Bound<'_, PyAny>>,
        values: Option<Bound<'_, PyAny>>,
        on_evict: Option<Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let arguments = CacheArguments {
            sizes: Sizes { capacity, maxsize, ttl },
            keys: Some(keys.map_or(Ok(KeyCodec::Object), |keys| KeyCodec::of_cache(&keys))?),
            values: Some(values.map_or(Ok(ValueCodec::Object), |values| ValueCodec::of_cache(&values))?),
            on_evict: on_evict.as_ref(),
        };
        Self::load_into(source, Shared::new(twindex::Store::new()), Self::OWN_NAME, arguments)
    }
}
