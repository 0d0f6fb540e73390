//! Caches in files and bytes.

use std::cell::Cell;
use std::io::{self, Cursor, Read, Write};

use pyo3::types::PyType;
use twindex_cache::{Error, Saved};
use twindex_durable::format::{decode_codecs, encode_codecs};

use super::Cache;
use super::listener::listen;
use super::options::Arguments;
use crate::buffer::Buffer;
use crate::interrupts::{Interruptible, dumped, wait_for};
use crate::paths::{path, path_of};
use crate::prelude::*;

fn open(source: &Bound<'_, PyAny>) -> Result<Box<dyn Read + Send>> {
    let py = source.py();
    // Bytes are what is to be loaded, not a path, as with `Store.load`.
    if !source.is_instance_of::<PyBytes>()
        && let Some(path) = path_of(source)?
    {
        return Ok(wait_for(py, move || twindex_durable::read_file(&path))??);
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
}

/// The names of the codecs, as the caches of every language are labelled with them.
pub(super) fn label(codecs: &Codecs) -> Vec<u8> {
    encode_codecs(codecs.keys.name(), codecs.values.name())
}

/// That a saved cache can be seen by these codecs: its own, or "bytes". One without a label is of bytes.
fn check_label(label: &[u8], codecs: &Codecs) -> Result<()> {
    let (keys, values) = decode_codecs(label).unwrap_or(("bytes", "bytes"));
    for (of, found, named) in [("keys", keys, codecs.keys.name()), ("values", values, codecs.values.name())] {
        if named != found && named != "bytes" {
            return Err(error::of_code(
                "TWINDEX_WRONG_CODEC",
                format!(
                    "the {of} of the cache have the codec {found:?}, this needs {named:?}: name it, or \"bytes\" to see \
                 what is stored"
                ),
            ));
        }
    }
    Ok(())
}

fn save(cache: &twindex_cache::Cache, to: &mut dyn Write) -> io::Result<()> {
    cache.save(to).map_err(|error| match error {
        Error::Io(error) => error,
        error => io::Error::other(error.to_string()),
    })
}

#[pymethods]
impl Cache {
    /// Writes the cache, with the times that its pairs still live, to a file, which is replaced in one step. `Cache.load` reads
    /// it.
    ///
    /// >>> from tempfile import TemporaryDirectory
    /// >>> from pathlib import Path
    /// >>> pages = Cache(max_entries=1000, ttl=60)
    /// >>> pages["/"] = {"title": "Hello"}
    /// >>> with TemporaryDirectory() as folder:
    /// ...     pages.save(Path(folder) / "pages.twx")
    /// ...     Cache.load(Path(folder) / "pages.twx")["/"]
    /// {'title': 'Hello'}
    fn save(&self, path: &Bound<'_, PyAny>) -> Result<()> {
        let target = self::path("path", path)?;
        let cache = self.open()?.clone();
        let save = move || twindex_durable::replace_file(&target, |to| save(&cache, to));
        Ok(wait_for(path.py(), save)??)
    }

    /// The cache as bytes, the same as `save` writes to a file.
    ///
    /// >>> pages = Cache(max_entries=1000)
    /// >>> pages["/"] = "Hello"
    /// >>> Cache.load(pages.dump())["/"]
    /// 'Hello'
    fn dump<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let cache = self.open()?;
        Ok(objects::bytes(py, &dumped(py, |writer| cache.save(writer))?)?)
    }

    /// Loads a cache from a file of `save` or the bytes of `dump`.
    ///
    /// Options replace the saved ones. A smaller cache evicts while it loads, and calls `on_evict`. Pairs that expired meanwhile are
    /// not loaded.
    ///
    /// The default codecs are "object", as with `Cache()`: name the codecs of any other cache. Reading objects can run any code, so
    /// never load a file that somebody else may have written.
    ///
    /// A subclass returns an instance of itself, without calling its `__init__`.
    ///
    /// Raises `CorruptError` unless it is a whole, undamaged cache.
    #[classmethod]
    #[pyo3(
        signature = (
            source, /, *, capacity=None, max_entries=None, maxsize=None, ttl=None, time_to_idle=None, stale_for=None,
            keys=None, values=None, on_evict=None
        )
    )]
    fn load<'py>(
        class: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        capacity: Option<&Bound<'_, PyAny>>,
        max_entries: Option<&Bound<'_, PyAny>>,
        maxsize: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        time_to_idle: Option<&Bound<'_, PyAny>>,
        stale_for: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        on_evict: Option<&Bound<'_, PyAny>>,
    ) -> Result<Bound<'py, Self>> {
        check_memory()?;
        let arguments =
            Arguments { capacity, max_entries, maxsize, ttl, time_to_idle, stale_for, keys, values };
        let py = class.py();
        let codecs = arguments.codecs(py)?;
        let mut reader = Interruptible::new(open(source)?);
        let saved = match Saved::read(&mut reader) {
            Ok(saved) => saved,
            Err(error) => return reader.result(Err(error)).map(|(never, _)| never),
        };
        check_label(saved.label(), &codecs)?;
        let options = arguments.change(saved.options())?.label(label(&codecs));
        let (options, listener) = listen(py, options, on_evict, &codecs)?;
        let loaded = py.detach(|| saved.load(options.clone()));
        let (loaded, _) = reader.result(loaded)?;
        let cache = Self::of(loaded, options, codecs, listener);
        // A signal that came since the last look ends the call too.
        py.check_signals()?;
        cache.told(())?;
        cache.of_class(class)
    }
}
