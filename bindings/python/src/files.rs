//! Files as a whole: opening, checking and recovering them, and the command-line tool.

use std::ffi::OsString;

use twindex_durable::{Options, Report};

use crate::changes::{Changes, View};
use crate::paths::path;
use crate::prelude::*;
use crate::progress::Telling;
use crate::store::Store;

/// Opens the store in the file at `path`, or creates it.
///
/// `durability` is "always" (a change is on disk before the write returns), "everysec" (within two seconds; a killed process loses
/// nothing) or "none" (only after `save` or `close`).
///
/// One store at a time may write to a file; a second one raises `InUseError`. With `read_only` the file is not locked, and the store
/// stays as the file was, until `Store.refresh` or `Store.follow` brings it up to date. With `existing` a missing file is an error. A
/// file that needs more than `memory_limit` bytes raises `MemoryLimitError`. `progress` is called with a `Progress` several times a
/// second, and at the end.
///
/// Raises `CorruptError` if the file is damaged. An incomplete last write is not damage: it is discarded, and `Store.torn` has its
/// place.
///
/// >>> from tempfile import TemporaryDirectory
/// >>> from pathlib import Path
/// >>> with TemporaryDirectory() as folder:
/// ...     with twindex.open(Path(folder) / "app.twx", durability="always") as store:
/// ...         store.table("users")["ada"] = "1815"
/// ...     with twindex.open(Path(folder) / "app.twx", read_only=True) as store:
/// ...         store.table("users")["ada"]
/// '1815'
#[pyfunction]
#[pyo3(
    signature = (
        path, *, durability=Text::from("everysec"), read_only=false, existing=false, memory_limit=None, progress=None
    ),
    text_signature = "(path, *, durability='everysec', read_only=False, existing=False, memory_limit=None, \
                      progress=None)"
)]
pub(crate) fn open<'py>(
    path: &Bound<'py, PyAny>,
    durability: Text,
    #[pyo3(from_py_with = arguments::read_only)] read_only: bool,
    #[pyo3(from_py_with = arguments::existing)] existing: bool,
    memory_limit: Option<Count>,
    progress: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, Store>> {
    let py = path.py();
    let file = self::path("path", path)?;
    let telling = Telling::new(progress)?;
    let mut options =
        Options::new().durability(durability.0.parse()?).read_only(read_only).existing(existing);
    if let Some(Count(bytes)) = memory_limit {
        options = options.memory_limit(bytes);
    }
    if progress.is_some() {
        options = options.progress(telling.teller());
    }
    let opened = telling.wait_for(py, move || options.open(&file))?;
    let store = Bound::new(py, Store::new_of(opened))?;
    py.import("twindex._files")?.getattr("remember")?.call1((&store,))?;
    Ok(store)
}

/// The changes of a store's file, without loading the store: a `Changes`, as of `Store.changes`.
///
/// Without a position it begins with the oldest change that the file has.
///
/// >>> from tempfile import TemporaryDirectory
/// >>> from pathlib import Path
/// >>> with TemporaryDirectory() as folder:
/// ...     with twindex.open(Path(folder) / "app.twx") as store:
/// ...         store.table("users")["ada"] = "1815"
/// ...     changes = twindex.changes(Path(folder) / "app.twx")
/// ...     while batch := changes.poll():
/// ...         [change.kind for change in batch.changes]
/// ['create']
/// ['put']
#[pyfunction]
#[pyo3(signature = (path, position=None, *, tables=None, raw=false))]
pub(crate) fn changes(
    path: &Bound<'_, PyAny>,
    position: Option<Text>,
    tables: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::raw)] raw: bool,
) -> Result<Changes> {
    let file = self::path("path", path)?;
    Changes::of_file(path.py(), file, position, View::of(tables, raw)?)
}

/// Reads a whole file and verifies every checksum. Returns a `Report` of its contents and its damage.
///
/// Raises `CorruptError` if it is not a store's file, and `MemoryLimitError` if its contents take more than `memory_limit` bytes:
/// by default 256 MiB, or 32 times its size if that is more. `progress` is called with a `Progress` several times a second, and at
/// the end.
///
/// >>> from tempfile import TemporaryDirectory
/// >>> from pathlib import Path
/// >>> with TemporaryDirectory() as folder:
/// ...     with twindex.open(Path(folder) / "app.twx") as store:
/// ...         store.table("users")["ada"] = "1815"
/// ...     report = twindex.check(Path(folder) / "app.twx")
/// >>> report.damage, report.operations
/// ([], 2)
#[pyfunction]
#[pyo3(signature = (path, *, memory_limit=None, progress=None))]
pub(crate) fn check<'py>(
    path: &Bound<'py, PyAny>,
    memory_limit: Option<Count>,
    progress: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyAny>> {
    let (py, file, telling) = (path.py(), self::path("path", path)?, Telling::new(progress)?);
    let teller = telling.teller();
    let checked = telling.wait_for(py, move || match memory_limit {
        Some(Count(limit)) => twindex_durable::check_within(&file, limit, teller),
        None => twindex_durable::check(&file, teller),
    })?;
    report(py, &checked)
}

/// Writes what can be saved of a damaged file to the new file `target`. Returns a `Recovery`. The old file stays unchanged.
///
/// Raises the errors of `check`, and `IoError` if `target` exists.
#[pyfunction]
#[pyo3(signature = (path, target, *, memory_limit=None, progress=None))]
pub(crate) fn recover<'py>(
    path: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    memory_limit: Option<Count>,
    progress: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyAny>> {
    let (py, telling) = (path.py(), Telling::new(progress)?);
    let (from, to) = (self::path("path", path)?, self::path("target", target)?);
    let teller = telling.teller();
    let recovery = telling.wait_for(py, move || match memory_limit {
        Some(Count(limit)) => twindex_durable::recover_within(&from, &to, limit, teller),
        None => twindex_durable::recover(&from, &to, teller),
    })?;
    let reports = py.import("twindex._reports")?;
    let table = reports.getattr("RecoveredTable")?;
    let tables = recovery
        .tables
        .iter()
        .map(|(name, index, pairs)| Ok(table.call1((objects::text(py, name)?, index.name(), pairs))?));
    let tables = objects::list(py, gather(py, tables)?)?;
    Ok(reports.getattr("Recovery")?.call1((report(py, &recovery.report)?, tables))?)
}

/// A `twindex.Report`.
fn report<'py>(py: Python<'py>, report: &Report) -> Result<Bound<'py, PyAny>> {
    let reports = py.import("twindex._reports")?;
    let (damage, place) = (reports.getattr("Damage")?, reports.getattr("Place")?);
    let damage = report.damage.iter().map(|each| Ok(damage.call1((each.offset, each.bytes, each.what))?));
    let damage: Bound<'_, PyList> = objects::list(py, gather(py, damage)?)?;
    let torn = report.torn.map(|torn| place.call1((torn.offset, torn.bytes))).transpose()?;
    let figures = (report.version, report.bytes, report.dump_bytes, report.log_bytes, report.records);
    let (version, bytes, dump_bytes, log_bytes, records) = figures;
    let (dump_pairs, operations) = (report.dump_pairs, report.operations);
    Ok(reports
        .getattr("Report")?
        .call1((version, bytes, dump_bytes, log_bytes, records, dump_pairs, operations, damage, torn))?)
}

/// Runs `twindex` with these arguments, the program's name first: the exit code.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn _run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| twindex_cli::run(arguments))
}
