//! One computation at a time for each key: the threads and tasks that ask for it meanwhile wait.

use std::cell::RefCell;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Wake, Waker};

use pyo3::exceptions::PyException;
use twindex_cache::{Begun, Lead, Leader, Outcome, Waiter};
use twindex_finalization::try_attach;

use super::Cache;
use crate::prelude::*;
use crate::ttl::Ttl;

/// What runs in a thread by turns: a greenlet, or if there are none the thread itself. Tasks count as one for all.
type Fiber = usize;
const TASKS: Fiber = 1;

/// A key that this thread computes, in one of its fibers.
struct Computed {
    /// Its address.
    cache: usize,
    key: Box<[u8]>,
    fiber: Fiber,
}

thread_local! {
    static COMPUTED: RefCell<Vec<Weak<Computed>>> = const { RefCell::new(Vec::new()) };
}

fn address(cache: &Cache) -> usize {
    std::ptr::from_ref(cache).addr()
}

/// The fiber that runs. A program without greenlets has not imported them.
fn fiber(py: Python<'_>) -> Result<Fiber> {
    static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let modules = MODULES.import(py, "sys", "modules")?.cast::<PyDict>().map_err(PyErr::from)?;
    Ok(match modules.get_item(pyo3::intern!(py, "greenlet"))? {
        Some(module) => module.call_method0(pyo3::intern!(py, "getcurrent"))?.as_ptr().addr(),
        None => 0,
    })
}

/// Whether another fiber of this thread computes a key. It would never go on if this one waited.
fn is_computed_beside(cache: &Cache, key: &[u8], own: Fiber) -> bool {
    COMPUTED.with_borrow(|all| {
        all.iter().filter_map(Weak::upgrade).any(|computed| {
            computed.cache == address(cache) && *computed.key == *key && computed.fiber != own
        })
    })
}

/// The duty to compute a value.
struct Duty {
    lead: Inherited<Lead>,
    _computed: Arc<Computed>,
}

impl Duty {
    fn new(cache: &Cache, lead: Lead, fiber: Fiber) -> Self {
        let computed = Arc::new(Computed { cache: address(cache), key: lead.key().into(), fiber });
        COMPUTED.with_borrow_mut(|all| {
            all.retain(|computed| computed.strong_count() > 0);
            all.push(Arc::downgrade(&computed));
        });
        Self { lead: Inherited::new(lead), _computed: computed }
    }

    /// What was computed, as the cache stores it. All that wait get it, and the cache keeps it if nothing was written meanwhile.
    fn end<'a>(self, cache: &Cache, value: &'a Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<Encoded<'a>> {
        let py = value.py();
        let stored = match cache.codecs.values.encode(value) {
            Ok(stored) => stored,
            Err(failure) => return Err(self.fail(py, failure.into()).into()),
        };
        // A child of fork has a cache of its own.
        if !self.lead.is_foreign() {
            let (lead, bytes) = (self.lead.into_inner(), stored.as_ref());
            let done = py.detach(|| lead.end(bytes, ttl.map(|Ttl(ttl)| ttl)));
            cache.told(done)??;
        }
        Ok(stored)
    }

    /// All that wait get the error, unless it is not an `Exception`, such as `KeyboardInterrupt`: then one of them computes.
    fn fail(self, py: Python<'_>, error: PyErr) -> PyErr {
        if error.is_instance_of::<PyException>(py) && !self.lead.is_foreign() {
            let (lead, shared) = (self.lead.into_inner(), Arc::new(error.clone_ref(py)));
            py.detach(|| lead.fail(shared));
        }
        error
    }
}

/// What another caller's computation came to: None if it gave up.
fn shared<'a>(py: Python<'_>, outcome: &'a Outcome) -> Result<Option<&'a [u8]>> {
    match outcome {
        Outcome::Value(value) => Ok(Some(value)),
        Outcome::Failed(error) => match error.downcast_ref::<PyErr>() {
            Some(error) => Err(error.clone_ref(py).into()),
            None => Ok(None),
        },
        Outcome::Abandoned => Ok(None),
    }
}

/// What `Cache._begin` returns to a task that is to compute.
#[pyclass(frozen, name = "_Computation", module = "twindex._twindex")]
pub(crate) struct Computation {
    duty: Mutex<Option<Duty>>,
    ttl: Option<Ttl>,
}

impl Computation {
    fn take(&self) -> Option<Duty> {
        self.duty.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Computation {
    /// Ends it with a value. Returns that as the cache stores it.
    fn end<'py>(&self, cache: &Bound<'py, Cache>, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let duty = self.take().ok_or_else(|| error::misuse("the computation has ended"))?;
        let stored = duty.end(cache.get(), value, self.ttl)?;
        Ok(objects::bytes(value.py(), stored.as_ref())?)
    }

    /// Ends it with an error, unless it has ended.
    fn fail(&self, py: Python<'_>, error: &Bound<'_, PyAny>) {
        if let Some(duty) = self.take() {
            duty.fail(py, PyErr::from_value(error.clone()));
        }
    }
}

/// What `Cache._begin` returns to a task that is to wait for the computation of another caller.
#[pyclass(frozen, name = "_Waiter", module = "twindex._twindex")]
pub(crate) struct Waiting(Mutex<Inherited<Waiter>>);

/// Calls a Python function.
pub(crate) struct Call(Py<PyAny>);

impl Call {
    pub(crate) fn new(function: &Bound<'_, PyAny>) -> Arc<Self> {
        Arc::new(Self(function.clone().unbind()))
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        // Once the interpreter has ended nobody waits, and the write or close goes on.
        let _ = try_attach(|py| {
            // It fails where its loop was closed, and then nobody waits.
            if let Err(failure) = self.0.call0(py) {
                error::keep_interrupt(py, &failure);
            }
        });
    }
}

#[pymethods]
impl Waiting {
    /// Has `wake` called from any thread once the computation has ended, or calls it now if it has.
    fn then(&self, wake: &Bound<'_, PyAny>) -> Result<()> {
        let waker = Waker::from(Call::new(wake));
        let has_ended = {
            let mut waiter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Pin::new(&mut **waiter).poll(&mut Context::from_waker(&waker)).is_ready()
        };
        if has_ended {
            wake.call0()?;
        }
        Ok(())
    }

    /// The value as it is stored, None if the computation was given up; raises what it raised.
    fn outcome<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner).outcome();
        let stored = outcome.as_ref().map_or(Ok(None), |outcome| shared(py, outcome))?;
        Ok(stored.map(|stored| objects::bytes(py, stored)).transpose()?)
    }
}

/// Waits as a thread for the computation of another one. Ends at a signal, and where a task computes whose loop was closed.
fn wait(cache: &Bound<'_, Cache>, key: &[u8], waiter: &Waiter) -> Result<Outcome> {
    const OFTEN: Duration = Duration::from_millis(50);
    static GIVE_UP_CLOSED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = cache.py();
    loop {
        if let Some(outcome) = py.detach(|| waiter.wait_for(OFTEN))? {
            return Ok(outcome);
        }
        py.check_signals()?;
        let name = (cache.as_ptr().addr(), objects::bytes(py, key)?);
        GIVE_UP_CLOSED.import(py, "twindex._tasks", "give_up_closed")?.call1((name,))?;
    }
}

#[pymethods]
impl Cache {
    /// The key's value. If it is absent, calls `compute` and caches its result.
    ///
    /// If several threads miss the same key, one calls `compute`, and the others wait for it. Its exception reaches all of them,
    /// and nothing is cached: the next call computes again. `KeyboardInterrupt` reaches only the computing thread; a waiting thread
    /// takes over. A value that is too large for the cache, or whose key is written or deleted meanwhile, is returned and not
    /// cached. Each caller gets its own copy. Functions that wait for each other's keys raise `CircleError`.
    ///
    /// For a coroutine function use `twindex.aio.get_or_compute`.
    ///
    /// >>> cache = Cache(max_entries=100)
    /// >>> cache.get_or_compute("ada", lambda: 1815), cache.get_or_compute("ada", lambda: 1852)
    /// (1815, 1815)
    #[pyo3(signature = (key, compute, /, *, ttl=None))]
    fn get_or_compute<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        compute: &Bound<'py, PyAny>,
        ttl: Option<Ttl>,
    ) -> Result<Bound<'py, PyAny>> {
        let (py, cache) = (slf.py(), slf.get());
        if let Some(value) = cache.find(key)? {
            return Ok(value);
        }
        if !compute.is_callable() {
            return Err(error::wrong_type("compute", "callable", compute));
        }
        let (key, own) = (cache.codecs.keys.encode(key)?, fiber(py)?);
        loop {
            let begun = cache.open()?.begin_missed(key.as_ref(), Leader::Thread);
            let values = &cache.codecs.values;
            match cache.told(begun)?? {
                Begun::Value(value) => return values.decode(py, &value),
                Begun::Lead(lead) => {
                    let duty = Duty::new(cache, lead, own);
                    return match compute.call0() {
                        Ok(value) => values.decode(py, duty.end(cache, &value, ttl)?.as_ref()),
                        Err(error) => Err(duty.fail(py, error).into()),
                    };
                }
                Begun::Wait(_) if is_computed_beside(cache, key.as_ref(), own) => {
                    return values.decode(py, values.encode(&compute.call0()?)?.as_ref());
                }
                Begun::Wait(waiter) => {
                    if let Some(stored) = shared(py, &wait(slf, key.as_ref(), &waiter)?)? {
                        return values.decode(py, stored);
                    }
                }
            }
        }
    }

    /// The key as the cache has it.
    #[pyo3(name = "_name")]
    fn name_of<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let encoded = self.codecs.keys.encode(key)?;
        Ok(objects::bytes(key.py(), encoded.as_ref())?)
    }

    /// For a task that has missed an encoded key: the value as the cache stores it, the duty to compute it, or something to wait
    /// with.
    fn _begin<'py>(&self, name: &Bound<'py, PyBytes>, ttl: Option<Ttl>) -> Result<Bound<'py, PyAny>> {
        let py = name.py();
        // A thread that waited for a task of its own would wait for ever.
        let begun = self.open()?.begin_missed(name.as_bytes(), Leader::Thread);
        Ok(match self.told(begun)?? {
            Begun::Value(value) => objects::bytes(py, &value)?,
            Begun::Lead(lead) => {
                let duty = Mutex::new(Some(Duty::new(self, lead, TASKS)));
                Bound::new(py, Computation { duty, ttl })?.into_any()
            }
            Begun::Wait(waiter) => Bound::new(py, Waiting(Mutex::new(Inherited::new(waiter))))?.into_any(),
        })
    }

    /// The object that a stored value stands for.
    fn _show<'py>(&self, stored: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
        self.codecs.values.decode(stored.py(), stored.as_bytes())
    }
}
