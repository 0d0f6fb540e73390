//! What each command does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use indicatif::{HumanBytes, HumanCount, ProgressBar};
use serde::Serialize;
use twindex_durable::format::{decode_codecs, values_that_expire};
use twindex_durable::twindex::{self, IndexKind, TableOptions};
use twindex_durable::{Changes, Durability, Options, Position, Report, Store, Table};

use crate::bar;
use crate::lines::{BatchLine, Line, Pair};
use crate::outcome::{DAMAGED, Failure, OK, say, tell, to_stdout};

pub(crate) type Done = Result<u8, Failure>;

/// About how many bytes of pairs are read before they are written, whatever tables they are of.
const GROUP_BYTES: usize = 4 << 20;
/// What a pair that waits takes beside its bytes.
const PAIR_BYTES: usize = 64;

pub(crate) fn info(path: &Path, limit: Option<usize>) -> Done {
    if twindex_durable::holds_cache(path).unwrap_or(false) {
        print_fields(cache_fields(path)?)?;
        return Ok(OK);
    }
    let report = checked(path, limit, "Reading")?;
    let store = if report.damage.is_empty() { Some(read(path, limit)?) } else { None };
    let mut lines = vec![
        ("file".to_owned(), path.display().to_string()),
        ("format".to_owned(), format!("version {}", report.version)),
        ("size".to_owned(), HumanBytes(report.bytes).to_string()),
        (
            "dump".to_owned(),
            format!("{}, {} pairs", HumanBytes(report.dump_bytes), HumanCount(report.dump_pairs)),
        ),
        (
            "log".to_owned(),
            format!("{}, {} operations", HumanBytes(report.log_bytes), HumanCount(report.operations)),
        ),
    ];
    if let Some(store) = &store {
        lines.push(("memory".to_owned(), HumanBytes(store.memory() as u64).to_string()));
        for table in store.tables()? {
            let pairs = HumanCount(table.len() as u64);
            let (keys, values) = table.codecs();
            let (keys, values) = (keys.escape_debug(), values.escape_debug());
            lines.push((
                format!("table {}", table.name().escape_debug()),
                format!("{}, {keys} keys, {values} values, {pairs} pairs", table.index()),
            ));
        }
    }
    print_fields(lines)?;
    tell_damage(path, &report);
    Ok(if report.damage.is_empty() { OK } else { DAMAGED })
}

fn cache_fields(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let pairs = twindex_durable::check_cache(path)?;
    let cache = twindex_cache::Cache::new(twindex_durable::read_cache(path)?.options())?;
    let size = path.metadata().map_or(0, |file| file.len());
    let mut fields = vec![
        ("file", path.display().to_string()),
        ("format", "version 1, a cache".to_owned()),
        ("size", HumanBytes(size).to_string()),
        ("pairs", HumanCount(pairs).to_string()),
    ];
    if let Some(bytes) = cache.capacity() {
        fields.push(("capacity", HumanBytes(bytes as u64).to_string()));
    }
    if let Some(entries) = cache.max_entries() {
        fields.push(("capacity", format!("{} pairs", HumanCount(entries as u64))));
    }
    if let Some(ttl) = cache.default_ttl() {
        fields.push(("time to live", format!("{ttl:?}")));
    }
    if let Some((keys, values)) = decode_codecs(cache.label()) {
        fields.push(("codecs", format!("{} keys, {} values", keys.escape_debug(), values.escape_debug())));
    }
    Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn print_fields(fields: Vec<(String, String)>) -> Result<(), Failure> {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    fields.into_iter().try_for_each(|(name, value)| say(format_args!("{name:<width$}  {value}")))
}

pub(crate) fn check(path: &Path, limit: Option<usize>) -> Done {
    if twindex_durable::holds_cache(path).unwrap_or(false) {
        let pairs = HumanCount(twindex_durable::check_cache(path)?);
        say(format_args!("{}: a cache, its {pairs} pairs are whole", path.display()))?;
        return Ok(OK);
    }
    let report = checked(path, limit, "Checking")?;
    tell_damage(path, &report);
    if !report.damage.is_empty() {
        return Ok(DAMAGED);
    }
    let (records, bytes) = (HumanCount(report.records), HumanBytes(report.bytes));
    say(format_args!("{}: {records} records in {bytes} are whole", path.display()))?;
    Ok(OK)
}

pub(crate) fn recover(path: &Path, new: &Path, limit: Option<usize>) -> Done {
    let bar = bar::over_bytes(path, "Recovering");
    let recovery = match limit {
        None => twindex_durable::recover(path, new, bar::bytes(&bar))?,
        Some(limit) => twindex_durable::recover_within(path, new, limit, bar::bytes(&bar))?,
    };
    bar.finish_and_clear();
    tell_damage(path, &recovery.report);
    for (name, index, pairs) in &recovery.tables {
        let (name, pairs) = (name.escape_debug(), HumanCount(*pairs as u64));
        say(format_args!("table {name}: {index}, {pairs} pairs saved"))?;
    }
    Ok(if recovery.report.damage.is_empty() { OK } else { DAMAGED })
}

pub(crate) fn export(path: &Path, limit: Option<usize>, output: Option<&Path>, only: Option<&str>) -> Done {
    let store = read(path, limit)?;
    let tables = match only {
        None => store.tables()?,
        Some(name) => {
            let missing = || Failure::Other(format!("{}: there is no table \"{name}\"", path.display()));
            vec![store.tables()?.into_iter().find(|table| table.name() == name).ok_or_else(missing)?]
        }
    };
    let Some(target) = output else {
        return write_lines(&tables, &mut BufWriter::new(io::stdout().lock()))
            .map_err(|error| to_stdout(&error));
    };
    let failed = |error: io::Error| Failure::Other(format!("{}: {error}", target.display()));
    let mut output = BufWriter::new(File::create_new(target).map_err(failed)?);
    let written = write_lines(&tables, &mut output).and_then(|_| output.into_inner()?.sync_all());
    if let Err(error) = written {
        // Half of the lines are of no use, and in the way of the next try.
        let _ = std::fs::remove_file(target);
        return Err(failed(error));
    }
    Ok(OK)
}

fn write_lines(tables: &[Table], output: &mut impl Write) -> io::Result<u8> {
    let bar = bar::over_pairs(tables.iter().map(|table| table.len() as u64).sum(), "Exporting");
    for table in tables {
        write_line(&Line::of_table(table.name(), table.index().name(), table.codecs()), output)?;
        for (key, value) in table.in_memory() {
            write_line(&Line::of_pair(table.name(), table.codecs(), (&key, &value)), output)?;
            bar.inc(1);
        }
    }
    output.flush()?;
    bar.finish_and_clear();
    Ok(OK)
}

fn write_line(line: &impl Serialize, output: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}

pub(crate) fn import(path: &Path, limit: Option<usize>, input: Option<&Path>) -> Done {
    let named = input.map_or("the standard input".into(), |input| input.display().to_string());
    let failed = |error: io::Error| Failure::Other(format!("{named}: {error}"));
    let mut reader: Box<dyn BufRead> = match input {
        Some(input) => Box::new(BufReader::with_capacity(1 << 18, File::open(input).map_err(failed)?)),
        None => Box::new(io::stdin().lock()),
    };
    let store = open(path, limit, false)?;
    let mut import = Import { store: &store, groups: BTreeMap::new(), bytes: 0 };
    let bar = bar::counting("Importing");
    let mut text = Vec::new();
    for number in 1_u64.. {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        if !text.trim_ascii().is_empty() {
            let wrong = |what: String| Failure::Other(format!("{named}, line {number}: {what}"));
            let line =
                serde_json::from_slice(text.trim_ascii_end()).map_err(|error| wrong(no_line(&error)))?;
            import.line(&line, wrong)?;
        }
        bar.inc(1);
    }
    import.write()?;
    bar.finish_and_clear();
    store.close()?;
    Ok(OK)
}

/// Why a line cannot be read, without the line's own number, which is always 1.
fn no_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let column = error.column();
    format!(r#"{what}, at column {column}; a line is {{"table": "t", "key": "k", "value": "v"}}"#)
}

struct Import<'s> {
    store: &'s Store,
    /// The tables that have come, and the pairs that are not yet written.
    groups: BTreeMap<String, (Table, Vec<Pair>)>,
    /// What those pairs take.
    bytes: usize,
}

impl Import<'_> {
    fn line(&mut self, line: &Line<'_>, wrong: impl Fn(String) -> Failure) -> Result<(), Failure> {
        if !self.groups.contains_key(&*line.table) || line.is_of_table() {
            let table = self.table(line, &wrong)?;
            self.groups.entry(line.table.to_string()).or_insert((table, Vec::new()));
        }
        let (table, pairs) = self.groups.get_mut(&*line.table).expect("it was just put there");
        let Some((key, value)) = line.pair(table.codecs()).map_err(&wrong)? else { return Ok(()) };
        // Now, while we know its line.
        let checked = twindex::check_key(&key).and_then(|()| twindex::check_value(&value));
        checked.map_err(|error| wrong(error.to_string()))?;
        self.bytes += key.len() + value.len() + PAIR_BYTES;
        pairs.push((key, value));
        if self.bytes >= GROUP_BYTES { self.write() } else { Ok(()) }
    }

    /// The table that a line is of. A new one has what the line says, or a hash index and text.
    fn table(&self, line: &Line<'_>, wrong: impl Fn(String) -> Failure) -> Result<Table, Failure> {
        if let (Some(keys), Some(values)) = (&line.keys, &line.values)
            && values_that_expire(values).is_some()
        {
            // The values of the lines have their deadlines.
            let index = line.index.as_deref().unwrap_or("hash").parse();
            let index = index.map_err(|error: twindex::Error| wrong(error.to_string()))?;
            let options = TableOptions::new(index).keys(keys).values(values);
            let table = self.store.stored_table_with(&line.table, options);
            return table.map_err(|error| wrong(error.to_string()));
        }
        let there = self
            .store
            .find_table(&line.table)
            .map_err(|error| wrong(error.to_string()))?
            .map(|table| table.index());
        let index = match line.index.as_deref() {
            Some(index) => index.parse().map_err(|error| wrong(format!("{error}")))?,
            None => there.unwrap_or(IndexKind::Hash),
        };
        let options = options(index, line.keys.as_deref(), line.values.as_deref());
        self.store.table_with(&line.table, options).map_err(|error| wrong(error.to_string()))
    }

    fn write(&mut self) -> Result<(), Failure> {
        for (table, pairs) in self.groups.values_mut() {
            table.upsert_many(&std::mem::take(pairs))?;
        }
        self.bytes = 0;
        Ok(())
    }
}

/// What a table is to be: a new one has text, where no codec is named.
pub(crate) fn options<'c>(
    index: IndexKind,
    keys: Option<&'c str>,
    values: Option<&'c str>,
) -> TableOptions<'c> {
    const DEFAULT_CODEC: &str = "str";
    let options = TableOptions::new(index);
    let options = keys.map_or_else(|| options.keys_if_new(DEFAULT_CODEC), |keys| options.keys(keys));
    values.map_or_else(|| options.values_if_new(DEFAULT_CODEC), |values| options.values(values))
}

pub(crate) fn changes(path: &Path, from: Option<&str>, follow: bool) -> Done {
    let from = from.map(str::parse::<Position>).transpose()?;
    let mut changes = Changes::open(path, from)?;
    let mut output = io::stdout().lock();
    loop {
        let mut next = changes.poll()?;
        if next.is_none() && follow {
            next = changes.wait(None)?;
        }
        let Some(batch) = next else { return Ok(OK) };
        // The reader may wait for this one.
        write_line(&BatchLine::of(&batch), &mut output)
            .and_then(|()| output.flush())
            .map_err(|error| to_stdout(&error))?;
    }
}

pub(crate) fn compact(path: &Path, limit: Option<usize>) -> Done {
    let before = size_of(path);
    let store = open(path, limit, true)?;
    let bar = bar::over_pairs(store.stats().pairs, "Compacting");
    store.compact_with(|progress| bar.set_position(progress.pairs))?;
    bar.finish_and_clear();
    store.close()?;
    let (before, after) = (HumanBytes(before), HumanBytes(size_of(path)));
    say(format_args!("{}: {before} before, {after} now", path.display()))?;
    Ok(OK)
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

fn checked(path: &Path, limit: Option<usize>, what: &'static str) -> Result<Report, Failure> {
    let bar = bar::over_bytes(path, what);
    let report = match limit {
        None => twindex_durable::check(path, bar::bytes(&bar))?,
        Some(limit) => twindex_durable::check_within(path, limit, bar::bytes(&bar))?,
    };
    bar.finish_and_clear();
    Ok(report)
}

pub(crate) fn read(path: &Path, limit: Option<usize>) -> Result<Store, Failure> {
    let bar = bar::over_bytes(path, "Loading");
    opened(Options::new().read_only(true), limit, path, &bar)
}

/// Opens the file for writing.
pub(crate) fn open(path: &Path, limit: Option<usize>, existing: bool) -> Result<Store, Failure> {
    let bar = bar::over_bytes(path, "Loading");
    let options =
        Options::new().durability(Durability::EverySec).existing(existing).compact_by_hand(existing);
    opened(options, limit, path, &bar)
}

fn opened(options: Options, limit: Option<usize>, path: &Path, bar: &ProgressBar) -> Result<Store, Failure> {
    let options = limit.into_iter().fold(options, Options::memory_limit);
    let store = options.progress(bar::bytes(bar)).open(path)?;
    bar.finish_and_clear();
    if let Some(torn) = store.torn() {
        tell_torn(path, torn);
    }
    Ok(store)
}

fn tell_damage(path: &Path, report: &Report) {
    for damage in &report.damage {
        let (offset, bytes) = (damage.offset, damage.bytes);
        tell(&format!("{}: damaged at byte {offset}, {bytes} bytes: {}", path.display(), damage.what));
    }
    if let Some(torn) = report.torn {
        tell_torn(path, torn);
    }
}

fn tell_torn(path: &Path, torn: twindex_durable::Torn) {
    tell(&format!(
        "{}: the last {} bytes, from byte {}, are an incomplete write that was never acknowledged",
        path.display(),
        torn.bytes,
        torn.offset
    ));
}
