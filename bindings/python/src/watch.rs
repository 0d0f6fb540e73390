//! What `twindex.Watch` reads from.

use std::collections::VecDeque;
use std::sync::MutexGuard;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use twindex_durable::{Watch, WatchOptions, Watched};

use crate::arguments::positive;
use crate::cache::computing::Call;
use crate::changes::{seconds, show_change, show_lost};
use crate::prelude::*;
use crate::table::Table;
use crate::table::expiring::ExpiringTable;

/// A watch, and how it is shown.
#[pyclass(frozen, name = "_Watch", module = "twindex._twindex")]
pub(crate) struct Watching {
    watch: Inherited<Watch>,
    table: String,
    codecs: Codecs,
    /// What was taken and could not be shown.
    held: Mutex<VecDeque<Watched>>,
}

impl Watching {
    fn held(&self) -> MutexGuard<'_, VecDeque<Watched>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) -> Result<&Watch> {
        check_memory()?;
        if self.watch.is_foreign() { Err(error::forked()) } else { Ok(&self.watch) }
    }

    fn show<'py>(&self, py: Python<'py>, item: Watched) -> Result<Bound<'py, PyAny>> {
        let shown = match &item {
            Watched::Lost(count) => show_lost(py, &self.table, *count),
            Watched::Change(change) => show_change(py, change, || Ok(&self.codecs)),
        };
        if shown.is_err() {
            self.held().push_front(item);
        }
        shown
    }
}

#[pymethods]
impl Watching {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.codecs.visit(&visit)
    }

    #[getter]
    fn ended(&self) -> Result<bool> {
        Ok(self.watch()?.is_ended())
    }

    fn poll<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let watch = self.watch()?;
        let held = self.held().pop_front();
        held.or_else(|| watch.poll()).map(|item| self.show(py, item)).transpose()
    }

    /// The next change; waits for it, for so many seconds at most.
    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        /// How often a thread that waits looks for signals.
        const OFTEN: Duration = Duration::from_millis(50);
        let wait = timeout.map(seconds).transpose()?;
        let deadline = wait.and_then(|wait| Instant::now().checked_add(wait));
        loop {
            let watch = self.watch()?;
            // An end that is seen before the look: nothing comes after it.
            let has_ended = watch.is_ended();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let wait = left.map_or(OFTEN, |left| left.min(OFTEN));
            let held = self.held().pop_front();
            let item = held.or_else(|| watch.poll());
            if let Some(item) = item.or_else(|| py.detach(|| watch.wait(Some(wait)))) {
                return self.show(py, item).map(Some);
            }
            py.check_signals()?;
            if has_ended || left == Some(Duration::ZERO) {
                return Ok(None);
            }
        }
    }

    /// The next change. If there is none, has `wake` called from any thread once there is one or the watch has ended.
    fn poll_or_wake<'py>(&self, wake: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let (py, watch) = (wake.py(), self.watch()?);
        let held = self.held().pop_front();
        if let Some(item) = held {
            return self.show(py, item).map(Some);
        }
        let waker = Waker::from(Call::new(wake));
        match watch.poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(item)) => self.show(py, item).map(Some),
            Poll::Ready(None) => {
                wake.call0()?;
                Ok(None)
            }
            Poll::Pending => Ok(None),
        }
    }

    fn close(&self, py: Python<'_>) {
        if !self.watch.is_foreign() {
            self.held().clear();
            py.detach(|| {
                self.watch.close();
                while self.watch.poll().is_some() {}
            });
        }
    }
}

/// Gives the class of a table `watch`.
macro_rules! watches {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The changes that this process makes from now on to keys that start with `prefix`, or to all keys: a `Watch`, which is an
            /// iterator for `for` and `async for`. The changes of one key come in order.
            ///
            /// It needs no file. It has the writes of all threads; batches and transactions come whole. It holds up to `max_changes`
            /// (16,384 by default) and `capacity` bytes (16 MiB) that you have not read, and never holds up a writer: it counts the
            /// rest, and a change of the kind "lost" has their `count`. Then read the table again.
            ///
            /// >>> users = Store().table("users", values="int")
            /// >>> with users.watch("user:") as watch:
            /// ...     users["user:ada"] = 1815
            /// ...     users["other"] = 1
            /// ...     change = watch.wait(1)
            /// >>> change.kind, change.key, change.value
            /// ('put', 'user:ada', 1815)
            #[pyo3(signature = (prefix=None, /, *, max_changes=None, capacity=None))]
            fn watch<'py>(
                &self,
                py: Python<'py>,
                prefix: Option<&Bound<'py, PyAny>>,
                max_changes: Option<&Bound<'py, PyAny>>,
                capacity: Option<&Bound<'py, PyAny>>,
            ) -> Result<Bound<'py, PyAny>> {
                static WATCH: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
                let table = self.open()?;
                let prefix = prefix.map(|prefix| self.seen_as().keys.prefix(prefix)).transpose()?;
                let mut options = WatchOptions::new();
                if let Some(changes) = positive("max_changes", max_changes)? {
                    options = options.max_changes(changes);
                }
                if let Some(bytes) = positive("capacity", capacity)? {
                    options = options.capacity(bytes);
                }
                let prefix = prefix.as_ref().map_or(&[][..], |prefix| prefix.as_ref());
                let watch = py.detach(|| table.watch_with(prefix, options))?;
                let watching = Watching {
                    watch: Inherited::new(watch),
                    table: table.name().into(),
                    codecs: self.seen_as().clone_ref(py),
                    held: Mutex::default(),
                };
                Ok(WATCH.import(py, "twindex._watch", "Watch")?.call1((watching,))?)
            }
        }
    };
}

watches!(Table);
watches!(ExpiringTable);
