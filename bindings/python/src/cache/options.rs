//! What a cache is made with.

use twindex_cache::{CacheOptions, MAX_TTL};

use crate::prelude::*;

pub(crate) use twindex_cache::Ttl as Life;

/// A time to live: seconds or a `timedelta`. `math.inf` is for ever.
#[derive(Clone, Copy)]
pub(crate) struct Ttl(pub(crate) Duration);

impl Ttl {
    pub(super) fn of(name: &str, object: &Bound<'_, PyAny>) -> Result<Self> {
        let wrong = || error::wrong_type(name, "a number of seconds, a timedelta or None", object);
        let seconds: f64 = if object.is_instance_of::<PyBool>() {
            return Err(wrong());
        } else if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
            // An integer may be more than any float. It is out of range all the same.
            object.extract().unwrap_or(f64::MAX)
        } else {
            static DELTA: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            if !object.is_instance(DELTA.import(object.py(), "datetime", "timedelta")?)? {
                return Err(wrong());
            }
            object.call_method0("total_seconds")?.extract()?
        };
        if seconds == f64::INFINITY {
            return Ok(Self(Duration::MAX));
        }
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if seconds > 0.0 && time <= MAX_TTL => Ok(Self(time.max(Duration::from_nanos(1)))),
            _ => Err(error::of_code(
                "TWINDEX_TTL",
                format!(
                    "{name} is more than 0 and at most {} seconds, or math.inf, not {}",
                    MAX_TTL.as_secs(),
                    shown(object)
                ),
            )),
        }
    }
}

impl FromPyObject<'_, '_> for Ttl {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        Self::of("ttl", &object)
    }
}

/// A time that is left, as Python sees it.
pub(crate) fn seconds_of(life: Life) -> Option<f64> {
    match life {
        Life::Absent => None,
        Life::Forever => Some(f64::INFINITY),
        Life::Left(left) => Some(left.as_secs_f64()),
    }
}

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
