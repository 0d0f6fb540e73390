//! Times to live, as Python gives and sees them.

use twindex_cache::MAX_TTL;

use crate::prelude::*;

pub(crate) use twindex_cache::Ttl as Life;

/// A time to live: seconds or a `timedelta`. `math.inf` is for ever.
#[derive(Clone, Copy)]
pub(crate) struct Ttl(pub(crate) Duration);

impl Ttl {
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> Result<Self> {
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
