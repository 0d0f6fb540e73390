//! What a cache is made with.

use twindex_cache::{CacheOptions, MAX_TTL};

use crate::prelude::*;
use crate::ttl::Ttl;

/// A number of bytes or pairs.
pub(super) fn count(name: &str, object: &Bound<'_, PyAny>) -> Result<usize> {
    let Ok(number) = object.cast::<PyInt>() else {
        return Err(error::wrong_type(name, "int or None", object));
    };
    // The greatest number stands for no limit.
    let most = usize::MAX - 1;
    number.extract().ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        error::of_code(
            "TWINDEX_CAPACITY",
            format!("{name} is at least 1 and at most {most}, not {}", shown(object)),
        )
    })
}

/// The arguments of `Cache` and of `Cache.load`.
pub(super) struct Arguments<'a, 'py> {
    pub(super) capacity: Option<&'a Bound<'py, PyAny>>,
    pub(super) max_entries: Option<&'a Bound<'py, PyAny>>,
    pub(super) maxsize: Option<&'a Bound<'py, PyAny>>,
    pub(super) ttl: Option<&'a Bound<'py, PyAny>>,
    pub(super) time_to_idle: Option<&'a Bound<'py, PyAny>>,
    pub(super) stale_for: Option<&'a Bound<'py, PyAny>>,
    pub(super) keys: Option<&'a Bound<'py, PyAny>>,
    pub(super) values: Option<&'a Bound<'py, PyAny>>,
}

impl Arguments<'_, '_> {
    /// These options, with those that were named.
    pub(super) fn change(&self, mut options: CacheOptions) -> Result<CacheOptions> {
        if self.max_entries.is_some() && self.maxsize.is_some() {
            return Err(error::option("maxsize is another name of max_entries: give one of them"));
        }
        if let Some(object) = self.capacity {
            options = options.and_capacity(count("capacity", object)?);
        }
        for (name, object) in [("max_entries", self.max_entries), ("maxsize", self.maxsize)] {
            if let Some(object) = object {
                options = options.and_max_entries(count(name, object)?);
            }
        }
        if let Some(object) = self.ttl {
            options = options.ttl(Ttl::of("ttl", object)?.0);
        }
        if let Some(object) = self.time_to_idle {
            let Ttl(time) = Ttl::of("time_to_idle", object)?;
            // To idle for ever is to have no such time.
            options = if time == Duration::MAX { options } else { options.time_to_idle(time) };
        }
        if let Some(object) = self.stale_for {
            options = options.stale_for(Ttl::of("stale_for", object)?.0.min(MAX_TTL));
        }
        Ok(options)
    }

    /// The codecs that were named, "object" by default.
    pub(super) fn codecs(&self, py: Python<'_>) -> Result<Codecs> {
        let keys = self.keys.map_or(Ok(KeyCodec::Object), KeyCodec::of_cache)?;
        let values = self.values.map_or(Ok(ValueCodec::Object), ValueCodec::of_cache)?;
        values.check_package(py)?;
        Ok(Codecs { keys, values })
    }
}
