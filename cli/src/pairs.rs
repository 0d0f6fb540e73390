//! Looks at single pairs and changes them: `get`, `set`, `insert`, `delete` and `scan`, of a file or in the shell.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Bound;
use std::path::PathBuf;
use std::str;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::value::RawValue;
use twindex_codec::tuple;
use twindex_durable::twindex::{IndexKind, prefix_range};
use twindex_durable::{Store, Table};

use crate::commands::{Done, open, options, read};
use crate::json;
use crate::lines::Line;
use crate::outcome::{FAILED, Failure, OK, tell, to_stdout, without_controls};

/// A key and where it is.
#[derive(Args, Debug)]
pub(crate) struct Place {
    /// The table's name
    table: String,
    /// The key: text; a number for `int` keys, an array of JSON for `tuple` keys
    #[arg(allow_negative_numbers = true)]
    key: String,
    /// The key is base64
    #[arg(long)]
    key64: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    place: Place,
    /// A line of JSON, as `export` writes it
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Set {
    #[command(flatten)]
    place: Place,
    /// The value: text; a number for `int` values, JSON for `json` values
    #[arg(allow_negative_numbers = true)]
    value: String,
    /// The value is base64
    #[arg(long)]
    value64: bool,
    /// Creates a missing table with this index: hash or sorted
    #[arg(long)]
    index: Option<IndexKind>,
    /// The codec of a new table's keys; `str` by default
    #[arg(long, requires = "index", value_name = "CODEC")]
    keys: Option<String>,
    /// The codec of a new table's values; `str` by default
    #[arg(long, requires = "index", value_name = "CODEC")]
    values: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Delete {
    #[command(flatten)]
    place: Place,
}

#[derive(Args, Debug)]
pub(crate) struct Scan {
    /// The table's name
    table: String,
    /// The start of the keys: text, or the first items of a tuple
    #[arg(long, conflicts_with_all = ["gte", "gt", "lte", "lt"])]
    prefix: Option<String>,
    /// From this key on
    #[arg(long, value_name = "KEY", conflicts_with = "gt", allow_negative_numbers = true)]
    gte: Option<String>,
    /// After this key
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    gt: Option<String>,
    /// Up to this key
    #[arg(long, value_name = "KEY", conflicts_with = "lt", allow_negative_numbers = true)]
    lte: Option<String>,
    /// Before this key
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    lt: Option<String>,
    /// From the last key to the first
    #[arg(long)]
    reverse: bool,
    /// The most pairs; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    /// Lines of JSON, as `export` writes them
    #[arg(long)]
    json: bool,
}

/// A file, and what is done to a pair of it.
#[derive(Args, Debug)]
pub(crate) struct OfFile<A: Args> {
    /// The store's file
    file: PathBuf,
    #[command(flatten)]
    what: A,
}

impl<A: Args> OfFile<A> {
    pub(crate) fn read(&self, limit: Option<usize>, act: fn(&Store, &A) -> Done) -> Done {
        act(&read(&self.file, limit)?, &self.what)
    }

    pub(crate) fn write(&self, limit: Option<usize>, existing: bool, act: fn(&Store, &A) -> Done) -> Done {
        let store = open(&self.file, limit, existing)?;
        let done = act(&store, &self.what)?;
        store.close()?;
        Ok(done)
    }
}

impl OfFile<Set> {
    /// Has `act`, which is [`set`] or [`insert`], write a pair to a file.
    pub(crate) fn set(&self, limit: Option<usize>, act: fn(&Store, &Set) -> Done) -> Done {
        self.write(limit, self.what.index.is_none(), act)
    }
}

/// Shows a value. If there is none it fails.
pub(crate) fn get(store: &Store, get: &Get) -> Done {
    let table = find(store, &get.place.table)?;
    let key = get.place.stored(&table)?;
    let Some(value) = table.select(&key)? else { return Ok(no_key(&get.place)) };
    let mut output = io::stdout().lock();
    let written = if get.json {
        writeln!(output, "{}", json(&table, &key, &value))
    } else if io::IsTerminal::is_terminal(&output) {
        writeln!(output, "{}", value_for_people(&table, &value))
    } else {
        // A program gets the bytes themselves.
        output.write_all(&value).and_then(|()| output.write_all(b"\n"))
    };
    written.map_err(|error| to_stdout(&error))?;
    Ok(OK)
}

/// Writes a pair, whether its key was there or not.
pub(crate) fn set(store: &Store, set: &Set) -> Done {
    let (table, key, value) = pair(store, set)?;
    table.upsert(key, value)?;
    Ok(OK)
}

/// Writes a pair. Where its key is there it fails.
pub(crate) fn insert(store: &Store, set: &Set) -> Done {
    let (table, key, value) = pair(store, set)?;
    if table.insert(key, value)? {
        return Ok(OK);
    }
    let Place { table, key, .. } = &set.place;
    let (table, key) = (table.escape_debug(), key.escape_debug());
    tell(&format!("table \"{table}\" has the key \"{key}\" already: `set` overwrites it"));
    Ok(FAILED)
}

/// The table to write to, which may be new, and the pair as it is stored.
fn pair(store: &Store, set: &Set) -> Result<(Table, Vec<u8>, Vec<u8>), Failure> {
    let table = match set.index {
        None => find(store, &set.place.table)?,
        Some(index) => {
            let options = options(index, set.keys.as_deref(), set.values.as_deref());
            store.table_with(&set.place.table, options)?
        }
    };
    let value =
        if set.value64 { base64("VALUE", &set.value)? } else { value_of(table.codecs().1, &set.value)? };
    let key = set.place.stored(&table)?;
    Ok((table, key, value))
}

/// Deletes a pair. If there is none it fails.
pub(crate) fn delete(store: &Store, delete: &Delete) -> Done {
    let table = find(store, &delete.place.table)?;
    let deleted = table.delete(delete.place.stored(&table)?)?;
    Ok(if deleted { OK } else { no_key(&delete.place) })
}

/// Shows pairs: of a sorted table in order, of a hash table in any.
pub(crate) fn scan(store: &Store, scan: &Scan) -> Done {
    let table = find(store, &scan.table)?;
    let most = if scan.limit == 0 { u64::MAX } else { scan.limit };
    let mut output = io::BufWriter::new(io::stdout().lock());
    let is_for_people = !scan.json && io::IsTerminal::is_terminal(&io::stdout());
    for (shown, (key, value)) in (0..).zip(pairs(&table, scan)?) {
        if shown == most {
            if is_for_people {
                tell(&format!("there are more than {most} pairs: `--limit` shows more, and `--limit 0` all"));
            }
            break;
        }
        let written = if scan.json {
            writeln!(output, "{}", json(&table, &key, &value))
        } else {
            writeln!(output, "{}\t{}", key_for_people(&table, &key), value_for_people(&table, &value))
        };
        written.map_err(|error| to_stdout(&error))?;
    }
    output.flush().map_err(|error| to_stdout(&error))?;
    Ok(OK)
}

type Pairs = Box<dyn Iterator<Item = (Vec<u8>, Vec<u8>)>>;

fn pairs(table: &Table, scan: &Scan) -> Result<Pairs, Failure> {
    if table.index() == IndexKind::Hash && scan.is_whole() {
        return Ok(Box::new(table.iter()?));
    }
    let (from, to) = scan.range(table.codecs().0)?;
    let pairs = table.scan((from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice)))?;
    Ok(if scan.reverse { Box::new(pairs.rev()) } else { Box::new(pairs) })
}

type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Scan {
    fn is_whole(&self) -> bool {
        let ends = [&self.prefix, &self.gte, &self.gt, &self.lte, &self.lt];
        !self.reverse && ends.iter().all(|end| end.is_none())
    }

    fn range(&self, codec: &str) -> Result<Range, Failure> {
        if let Some(prefix) = &self.prefix {
            return match codec {
                "int" => Err(Failure::Other("keys that are `int` have no prefix".into())),
                "tuple" => tuple::prefix_range(&key_of(codec, prefix)?)
                    .map_err(|error| Failure::Other(error.to_string())),
                _ => Ok(prefix_range(prefix.as_bytes())),
            };
        }
        let key = |text: &String| key_of(codec, text);
        let bound = |included: &Option<String>, excluded: &Option<String>| {
            Ok::<_, Failure>(match (included, excluded) {
                (Some(end), _) => Bound::Included(key(end)?),
                (_, Some(end)) => Bound::Excluded(key(end)?),
                _ => Bound::Unbounded,
            })
        };
        Ok((bound(&self.gte, &self.gt)?, bound(&self.lte, &self.lt)?))
    }
}

impl Place {
    fn stored(&self, table: &Table) -> Result<Vec<u8>, Failure> {
        if self.key64 { base64("KEY", &self.key) } else { key_of(table.codecs().0, &self.key) }
    }
}

fn find(store: &Store, name: &str) -> Result<Table, Failure> {
    store.find_table(name)?.ok_or_else(|| {
        let name = name.escape_debug();
        Failure::Other(format!(
            "there is no table \"{name}\"; `set` with `--index hash` or `--index sorted` makes one"
        ))
    })
}

fn no_key(place: &Place) -> u8 {
    tell(&format!("table \"{}\" has no key \"{}\"", place.table.escape_debug(), place.key.escape_debug()));
    FAILED
}

fn base64(name: &str, text: &str) -> Result<Vec<u8>, Failure> {
    STANDARD.decode(text).map_err(|error| Failure::Other(format!("{name} is not base64: {error}")))
}

/// The stored bytes of a key as people write it.
fn key_of(codec: &str, text: &str) -> Result<Vec<u8>, Failure> {
    match codec {
        "int" | "tuple" => json::key_of(codec, &raw(text)?).map_err(Failure::Other),
        _ => Ok(text.into()),
    }
}

/// The stored bytes of a value as people write it.
fn value_of(codec: &str, text: &str) -> Result<Vec<u8>, Failure> {
    match codec {
        "int" | "json" => json::value_of(codec, &raw(text)?).map_err(Failure::Other),
        _ => Ok(text.into()),
    }
}

fn raw(text: &str) -> Result<Box<RawValue>, Failure> {
    let failed = |error| Failure::Other(format!("\"{}\" is not JSON: {error}", text.escape_debug()));
    RawValue::from_string(text.to_owned()).map_err(failed)
}

fn json(table: &Table, key: &[u8], value: &[u8]) -> String {
    let line = Line::of_pair(table.name(), table.codecs(), (key, value));
    serde_json::to_string(&line).unwrap_or_default()
}

pub(crate) fn key_for_people(table: &Table, key: &[u8]) -> String {
    match table.codecs().0 {
        codec @ ("int" | "tuple") => {
            json::key(codec, key).map_or_else(|| escaped(key), |json| without_controls(json.get()))
        }
        _ => escaped(key),
    }
}

fn value_for_people(table: &Table, value: &[u8]) -> String {
    match table.codecs().1 {
        "json" => str::from_utf8(value).map_or_else(|_| escaped(value), escaped_text),
        _ => escaped(value),
    }
}

/// Bytes as text on one line, in which nothing moves the cursor of a terminal.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += &escaped_text(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn escaped_text(text: &str) -> String {
    without_controls(&text.replace('\\', "\\\\"))
}
