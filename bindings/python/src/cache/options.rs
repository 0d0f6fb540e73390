//! What a cache is made with.

use std::io::Read;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt};
use twindex::CacheOptions;
use twindex_durable::format::SavedCache;

use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{self, Failure, Result, shown};

/// A number of bytes or pairs, at least 1 and less than the greatest.
#[derive(Clone, Copy)]
pub(crate) struct Capacity(usize);

impl FromPyObject<'_, '_> for Capacity {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let Ok(number) = object.cast::<PyInt>() else {
            return Err(error::wrong_type("a cache's capacity or maxsize", "int", &object));
        };
        // The greatest number stands for no capacity.
        let most = usize::MAX - 1;
        if let Some(number) = number.extract().ok().filter(|number| (1..=most).contains(number)) {
            return Ok(Self(number));
        }
        let limit = if object.lt(1)? { "at least 1".into() } else { format!("at most {most}") };
        Err(error::option(format!("a cache's capacity or maxsize is {limit}, not {}", shown(&object))))
    }
}

/// A time to live: seconds or a `timedelta`. `math.inf` is for ever.
#[derive(Clone, Copy)]
pub(crate) struct Ttl(pub(super) Duration);

impl FromPyObject<'_, '_> for Ttl {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let wrong = || error::wrong_type("ttl", "a number of seconds, a timedelta or None", &object);
        let seconds: f64 = if object.is_instance_of::<PyBool>() {
            return Err(wrong());
        } else if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
            // An integer may be more than any float.
            object.extract().or_else(|_| {
                object.lt(0).map(|is_less| if is_less { -f64::INFINITY } else { f64::INFINITY })
            })?
        } else {
            static DELTA: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            if !object.is_instance(DELTA.import(object.py(), "datetime", "timedelta")?)? {
                return Err(wrong());
            }
            object.call_method0("total_seconds")?.extract()?
        };
        if seconds.is_nan() || seconds < 0.0 {
            return Err(error::option(format!("ttl is 0 or more seconds, not {}", shown(&object))));
        }
        Ok(Self(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
    }
}

/// How large a new cache may become, and how long its pairs are shown.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) capacity: Option<Capacity>,
    pub(crate) maxsize: Option<Capacity>,
    pub(crate) ttl: Option<Ttl>,
}

impl Sizes {
    /// The options of a cache that is loaded: its own, where these do not say otherwise.
    pub(super) fn options_of<R: Read>(self, saved: &SavedCache<R>) -> Result<CacheOptions> {
        let ttl = self.ttl.or(saved.default_ttl().map(Ttl));
        match (self.capacity, self.maxsize, ttl) {
            (None, None, None) => Ok(saved.options()),
            (None, None, Some(Ttl(ttl))) => Ok(saved.options().ttl(ttl)),
            _ => Self { ttl, ..self }.options(),
        }
    }

    pub(super) fn options(self) -> Result<CacheOptions> {
        let options = match (self.capacity, self.maxsize) {
            (Some(Capacity(bytes)), None) => CacheOptions::bytes(bytes),
            (None, Some(Capacity(pairs))) => CacheOptions::pairs(pairs),
            (None, None) => {
                return Err(error::option("a new cache needs a capacity in bytes, or a maxsize in pairs"));
            }
            (Some(_), Some(_)) => {
                return Err(error::option("a cache has a capacity in bytes or a maxsize in pairs, not both"));
            }
        };
        Ok(match self.ttl {
            Some(Ttl(ttl)) => options.ttl(ttl),
            None => options,
        })
    }
}

/// The arguments of `Cache` and of `Store.cache`.
pub(crate) struct CacheArguments<'a, 'py> {
    pub(crate) sizes: Sizes,
    pub(crate) keys: Option<KeyCodec>,
    pub(crate) values: Option<ValueCodec>,
    pub(crate) on_evict: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> CacheArguments<'a, 'py> {
    pub(crate) fn of(
        (capacity, maxsize, ttl): (Option<Capacity>, Option<Capacity>, Option<Ttl>),
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
        on_evict: Option<&'a Bound<'py, PyAny>>,
    ) -> Result<Self> {
        let keys = keys.map(KeyCodec::of_cache).transpose()?;
        let values = values.map(ValueCodec::of_cache).transpose()?;
        Ok(Self { sizes: Sizes { capacity, maxsize, ttl }, keys, values, on_evict })
    }

    /// Keys and values are any objects by default.
    pub(super) fn or_objects(mut self) -> Self {
        self.keys.get_or_insert(KeyCodec::Object);
        self.values.get_or_insert(ValueCodec::Object);
        self
    }
}
