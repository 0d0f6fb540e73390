//! What a program is told of pairs that went.

use std::cell::RefCell;

use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use twindex_cache::{CacheOptions, Cause};
use twindex_finalization::try_attach;

use crate::prelude::*;

thread_local! {
    /// What the program's function raised in this thread, for the call that made the pair go.
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Raises what the function raised.
#[inline]
pub(super) fn raise_failure() -> Result<()> {
    FAILURE.take().map_or(Ok(()), Err)
}

/// A program's function, and the codecs of the pairs that it is told of.
#[pyclass(frozen, weakref, name = "_Listener", module = "twindex._twindex")]
pub(super) struct Listener {
    on_evict: Py<PyAny>,
    codecs: Codecs,
}

#[pymethods]
impl Listener {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.on_evict)?;
        self.codecs.visit(&visit)
    }
}

/// Has the cache tell the program's function, if there is one. The cache has a weak reference, which the garbage collector need
/// not see: the caller keeps the listener.
pub(super) fn listen(
    py: Python<'_>,
    options: CacheOptions,
    on_evict: Option<&Bound<'_, PyAny>>,
    codecs: &Codecs,
) -> Result<(CacheOptions, Option<Py<Listener>>)> {
    let Some(on_evict) = on_evict else { return Ok((options, None)) };
    if !on_evict.is_callable() {
        return Err(error::wrong_type("on_evict", "callable", on_evict));
    }
    let listener =
        Bound::new(py, Listener { on_evict: on_evict.clone().unbind(), codecs: codecs.clone_ref(py) })?;
    let weak = PyWeakrefReference::new(listener.as_any())?.unbind();
    let options = options.eviction_listener(move |key, value, cause| {
        // Once the interpreter has ended, there is no listener.
        let told = try_attach(|py| match weak.bind(py).upgrade_as::<Listener>()? {
            Some(listener) => listener.get().tell(py, (key, value), cause),
            None => Ok(()),
        });
        if let Some(Err(failure)) = told {
            FAILURE.with_borrow_mut(|first| {
                first.get_or_insert(failure);
            });
        }
    });
    Ok((options, Some(listener.unbind())))
}

impl Listener {
    fn tell(&self, py: Python<'_>, (key, value): (&[u8], &[u8]), cause: Cause) -> Result<()> {
        let Codecs { keys, values } = &self.codecs;
        let (key, value) = (keys.decode(py, key)?, values.decode(py, value)?);
        self.on_evict.bind(py).call1((key, value, objects::text(py, cause.name())?))?;
        Ok(())
    }
}
