//! The class `Changes`: the feed of a store.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Instant;

use pyo3::exceptions::PyOverflowError;
use twindex_durable::{ChangeSet, Effect, Position, TableChange, TableInfo};

use crate::interrupts::wait_for;
use crate::prelude::*;
use crate::source::Source;
use crate::table::Table;
use crate::table::expiring::ExpiringTable;

/// How long to wait before looking again: at first, after changes came, and when none do. Signals are looked at then.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(32));

/// An iterator over the changes of a store, in the order of its log. `Store.changes` and `twindex.changes` make one.
///
/// It returns a `ChangeSet` for each batch of changes, and waits for the next one without the interpreter's lock. `poll` does not
/// wait, `wait` waits up to a time.
///
/// >>> from tempfile import TemporaryDirectory
/// >>> from pathlib import Path
/// >>> with TemporaryDirectory() as folder, twindex.open(Path(folder) / "app.twx") as store:
/// ...     users = store.table("users", values="int")
/// ...     changes = store.changes()
/// ...     users["ada"] = 1815
/// ...     for batch in changes:
/// ...         for change in batch.changes:
/// ...             print(change.kind, change.table, change.key, change.value)
/// ...         break
/// put users ada 1815
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Changes {
    store: Option<Arc<Shared>>,
    view: View,
    /// Held over nothing that runs Python code or waits for the interpreter.
    source: Inherited<Arc<Mutex<Source>>>,
    ended: AtomicBool,
}

/// How changes are shown, and of which tables.
pub(crate) struct View {
    raw: bool,
    tables: Option<HashMap<String, Codecs>>,
}

impl View {
    pub(crate) fn of(tables: Option<&Bound<'_, PyAny>>, raw: bool) -> Result<Self> {
        let Some(given) = tables else { return Ok(Self { raw, tables: None }) };
        let mut tables = HashMap::new();
        let items = given
            .try_iter()
            .map_err(|cause| error::of_type_error(cause, "tables", "an iterable of tables or None", given))?;
        for item in items {
            let item = item?;
            let (name, codecs) = if let Ok(table) = item.cast::<ExpiringTable>() {
                (table.get().name(), table.get().seen_as())
            } else {
                let table = Table::of(&item)?;
                (table.name(), table.seen_as())
            };
            tables.insert(name.to_owned(), codecs.clone_ref(given.py()));
        }
        Ok(Self { raw, tables: Some(tables) })
    }

    fn is_wanted(&self, table: &TableInfo) -> bool {
        self.tables.as_ref().is_none_or(|tables| tables.contains_key(&table.name))
    }

    fn codecs(&self, py: Python<'_>, table: &TableInfo) -> Result<Codecs> {
        if self.raw {
            return Ok(Codecs { keys: KeyCodec::Bytes, values: ValueCodec::Bytes });
        }
        // A table of that name may have been another once.
        let fits = |codec: &str, its: &str| codec == its || codec == "bytes";
        let given = self.tables.as_ref().and_then(|tables| tables.get(&table.name));
        let keys = given.map(|codecs| &codecs.keys).filter(|keys| fits(keys.name(), &table.keys));
        let values = given.map(|codecs| &codecs.values).filter(|values| fits(values.name(), &table.values));
        let remembered = (table.keys.as_str(), table.values.as_str());
        Codecs::of_table(
            py,
            &table.name,
            remembered,
            keys.map(|keys| keys.clone_ref(py)),
            values.map(|values| values.clone_ref(py)),
        )
    }

    /// The `ChangeSet`, or nothing where none of its tables is wanted.
    fn show<'py>(&self, py: Python<'py>, set: &ChangeSet) -> Result<Option<Bound<'py, PyAny>>> {
        static CHANGE_SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let mut shown = with_room(set.changes.len())?;
        let mut interrupts = Interrupts::default();
        let mut last: Option<(&TableInfo, Codecs)> = None;
        for change in &set.changes {
            let table = &*change.table;
            if !self.is_wanted(table) {
                continue;
            }
            let bytes = match &change.effect {
                Effect::Put { key, value } => key.len() + value.len(),
                Effect::Delete { key } => key.len(),
                _ => 0,
            };
            interrupts.item_of(py, bytes)?;
            let last = &mut last;
            shown.push(show_change(py, change, || Self::remember(last, table, || self.codecs(py, table)))?);
        }
        if shown.is_empty() {
            return Ok(None);
        }
        let changes = objects::list(py, shown)?;
        let class = CHANGE_SET.import(py, "twindex._feed", "ChangeSet")?;
        Ok(Some(class.call1((set.position.to_string(), changes))?))
    }

    /// The codecs of a table, which is often the same as the last one.
    fn remember<'l, 't>(
        last: &'l mut Option<(&'t TableInfo, Codecs)>,
        table: &'t TableInfo,
        find: impl FnOnce() -> Result<Codecs>,
    ) -> Result<&'l Codecs> {
        if !last.as_ref().is_some_and(|(known, _)| std::ptr::eq(*known, table)) {
            *last = Some((table, find()?));
        }
        Ok(&last.as_ref().expect("it was just put there").1)
    }
}

/// The `Change`, with its key and value as these codecs show them.
pub(crate) fn show_change<'py, 'c>(
    py: Python<'py>,
    change: &TableChange,
    codecs: impl FnOnce() -> Result<&'c Codecs>,
) -> Result<Bound<'py, PyAny>> {
    let (class, table) = (change_class(py)?, &*change.table);
    let name = objects::text(py, &table.name)?;
    Ok(match &change.effect {
        Effect::Create => {
            let codecs = (table.keys.as_str(), table.values.as_str());
            class.call1(("create", name, py.None(), py.None(), table.index.name(), codecs))?
        }
        Effect::Drop => class.call1(("drop", name))?,
        Effect::Put { key, value } => {
            let codecs = codecs()?;
            let (key, value) = (codecs.keys.decode(py, key)?, codecs.values.decode(py, value)?);
            // Most pairs stay, and a call by position is the quickest.
            match change.expires {
                None => class.call1(("put", name, key, value))?,
                Some(millis) => {
                    let (none, expires) = (|| py.None(), Duration::from_millis(millis).as_secs_f64());
                    class.call1(("put", name, key, value, none(), none(), none(), expires))?
                }
            }
        }
        Effect::Delete { key } => class.call1(("delete", name, codecs()?.keys.decode(py, key)?))?,
        _ => class.call1(("clear", name))?,
    })
}

/// The `Change` that says how many others are missing.
pub(crate) fn show_lost<'py>(py: Python<'py>, table: &str, count: u64) -> Result<Bound<'py, PyAny>> {
    let none = || py.None();
    let arguments = ("lost", objects::text(py, table)?, none(), none(), none(), none(), count);
    Ok(change_class(py)?.call1(arguments)?)
}

fn change_class(py: Python<'_>) -> Result<&Bound<'_, PyAny>> {
    static CHANGE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(CHANGE.import(py, "twindex._feed", "Change")?)
}

/// A timeout that was given in seconds.
pub(crate) fn seconds(timeout: &Bound<'_, PyAny>) -> Result<Duration> {
    let out_of_range = || error::option(format!("timeout is out of range: {}", error::shown(timeout)));
    let seconds = timeout.extract::<f64>().map_err(|cause| {
        if cause.is_instance_of::<PyOverflowError>(timeout.py()) {
            return out_of_range();
        }
        error::of_type_error(cause, "timeout", "a number of seconds or None", timeout)
    })?;
    Duration::try_from_secs_f64(seconds).map_err(|_| out_of_range())
}

/// A position that was given as text.
fn parse(position: Option<Text>) -> Result<Option<Position>> {
    Ok(position.map(|Text(text)| text.parse::<Position>()).transpose()?)
}

impl Changes {
    /// The feed of a store, from a position on or from where it is now.
    pub(crate) fn of_store(
        py: Python<'_>,
        shared: &Arc<Shared>,
        position: Option<Text>,
        view: View,
    ) -> Result<Self> {
        shared.check_open()?;
        let (position, opened) = (parse(position)?, Arc::clone(shared));
        let changes = wait_for(py, move || {
            let store = opened.engine();
            position.map_or_else(|| store.changes_from_now(), |position| store.changes(position))
        })??;
        let changes = Self::new(Some(Arc::clone(shared)), changes, view);
        py.detach(|| shared.add_feed(&changes.source))?;
        Ok(changes)
    }

    /// The feed of a file, from a position on or from the oldest that it has.
    pub(crate) fn of_file(py: Python<'_>, path: PathBuf, position: Option<Text>, view: View) -> Result<Self> {
        let position = parse(position)?;
        let changes = wait_for(py, move || twindex_durable::Changes::open(path, position))??;
        Ok(Self::new(None, changes, view))
    }

    fn new(store: Option<Arc<Shared>>, changes: twindex_durable::Changes, view: View) -> Self {
        let position = changes.position();
        let source = Source { changes: Some(changes), held: BTreeMap::new(), read: 0, position };
        let source = Inherited::new(Arc::new(Mutex::new(source)));
        Self { store, view, source, ended: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Source> {
        Source::lock(&self.source)
    }

    /// That neither its store was closed nor the process is another.
    fn check(&self) -> Result<()> {
        if let Some(store) = &self.store {
            store.check_open()?;
        }
        if self.source.is_foreign() { Err(error::forked()) } else { Ok(()) }
    }

    /// The next batch, if there is one.
    fn next_there<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        loop {
            self.check()?;
            check_memory()?;
            let read = py.detach(|| {
                let mut source = self.lock();
                if let Some(held) = source.held.pop_first() {
                    return Ok(Some(held));
                }
                let set = source.changes.as_mut().map_or(Ok(None), twindex_durable::Changes::poll)?;
                source.read += 1;
                Ok::<_, twindex_durable::Error>(set.map(|set| (source.read, set)))
            })?;
            let Some((number, set)) = read else { return Ok(None) };
            let shown = self.view.show(py, &set);
            let is_shown = shown.is_ok();
            py.detach(|| {
                let mut source = self.lock();
                if is_shown {
                    source.position = set.position;
                } else if source.changes.is_some() {
                    // Other threads may hold others.
                    source.held.insert(number, set);
                }
            });
            if let Some(shown) = shown? {
                return Ok(Some(shown));
            }
            py.check_signals()?;
        }
    }

    /// The next batch; waits for it, until the deadline at most.
    fn next<'py>(&self, py: Python<'py>, deadline: Option<Instant>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut pause = PAUSE.0;
        while !self.ended.load(Relaxed) {
            let next = self.next_there(py)?;
            let left = deadline.map_or(pause, |deadline| deadline.saturating_duration_since(Instant::now()));
            if next.is_some() || left.is_zero() {
                return Ok(next);
            }
            py.detach(|| thread::sleep(pause.min(left)));
            py.check_signals()?;
            pause = (2 * pause).min(PAUSE.1);
        }
        Ok(None)
    }
}

#[pymethods]
impl Changes {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let mut tables = self.view.tables.iter().flat_map(HashMap::values);
        tables.try_for_each(|codecs| codecs.visit(&visit))
    }

    /// The next batch, or None if there is none yet.
    fn poll<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        if self.ended.load(Relaxed) { Ok(None) } else { self.next_there(py) }
    }

    /// Waits for the next batch, up to `timeout` seconds; then None.
    #[pyo3(signature = (timeout=None))]
    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        let Some(timeout) = timeout else { return self.next(py, None) };
        self.next(py, Instant::now().checked_add(seconds(timeout)?))
    }

    /// The position after the last batch that you got, to continue from. Save it when you have applied the batch.
    #[getter]
    fn position(&self, py: Python<'_>) -> Result<String> {
        if self.source.is_foreign() {
            return Err(error::forked());
        }
        Ok(py.detach(|| self.lock().position).to_string())
    }

    /// Ends the iteration, also for a waiting thread, and closes the file.
    fn close(&self, py: Python<'_>) {
        self.ended.store(true, Relaxed);
        if !self.source.is_foreign() {
            py.detach(|| Source::end(&self.source));
        }
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.next(py, None)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> &'static str {
        if self.ended.load(Relaxed) { "<twindex.Changes: closed>" } else { "<twindex.Changes>" }
    }
}

not_copied!(Changes, "a Changes cannot be pickled or copied; its position can");
