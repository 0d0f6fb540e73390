//! Runs the test vectors of this folder on a host in Rust: `vectors.json` on a [`Host`], `caches.json` on a [`CacheHost`].
//!
//! A step whose arguments no type of Rust admits, as a number for a key, never reaches the host. It fails here, with the code
//! that hosts give which check at run time, so the file's expectation is compared all the same.

mod caches;
mod decode;
mod engine;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::time::Duration;

use serde_json::Value;

pub use caches::{CacheCase, CacheHost, CacheOptions, CacheVerb, Capacity, cache_cases};
pub use engine::{InMemory, Of, Open, Scope as InMemoryScope, change};

/// A key or a value.
pub type Bytes = Vec<u8>;
/// A key and its value.
pub type Pair = (Bytes, Bytes);
/// A key, the value expected and the new one.
pub type Swap = (Bytes, Option<Bytes>, Option<Bytes>);

/// Why a step failed: the error's code, and its message.
#[derive(Debug)]
pub struct Failure {
    /// As `TWINDEX_KEY_TOO_LONG`.
    pub code: String,
    /// The text for people.
    pub message: String,
}

impl Failure {
    /// A failure with this code and message.
    pub fn new(code: &str, message: &(impl ToString + ?Sized)) -> Self {
        Self { code: code.to_owned(), message: message.to_string() }
    }
}

/// What a call gives, or why it failed.
pub type Fallible<T> = Result<T, Failure>;

/// What a step gave, as the files write it. A pair is a list of two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// `null`: nothing to return, or an absent pair.
    Nothing,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Text, or bytes in one of the files' forms.
    Bytes(Bytes),
    /// A list.
    List(Vec<Answer>),
}

impl Answer {
    /// An expectation of a file.
    fn of(expect: &Value) -> Self {
        match expect {
            Value::Null => Self::Nothing,
            Value::Bool(yes) => Self::Bool(*yes),
            Value::Number(number) => Self::Int(number.as_i64().expect("an integer")),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::String(_) | Value::Object(_) => Self::Bytes(decode::bytes(expect).expect("bytes")),
        }
    }

    /// A list in order; anything else as it is.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        if let Self::List(items) = &mut self {
            items.sort();
        }
        self
    }
}

macro_rules! answers {
    ($($type:ty, |$it:pat_param| $answer:expr;)*) => {$(
        impl From<$type> for Answer {
            fn from($it: $type) -> Self {
                $answer
            }
        }
    )*};
}

answers! {
    (), |()| Self::Nothing;
    bool, |yes| Self::Bool(yes);
    i64, |number| Self::Int(number);
    usize, |number| Self::Int(i64::try_from(number).expect("a small number"));
    &[u8], |bytes| Self::Bytes(bytes.to_vec());
    String, |text| Self::Bytes(text.into_bytes());
    Bytes, |bytes| Self::Bytes(bytes);
}

impl<A: Into<Answer>, B: Into<Answer>> From<(A, B)> for Answer {
    fn from((first, second): (A, B)) -> Self {
        Self::List(vec![first.into(), second.into()])
    }
}

impl<T: Into<Answer>> From<Option<T>> for Answer {
    fn from(option: Option<T>) -> Self {
        option.map_or(Self::Nothing, T::into)
    }
}

impl<T: Into<Answer>> From<Vec<T>> for Answer {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(T::into).collect())
    }
}

/// A lower and an upper bound.
pub type Bounds = (Bound<Bytes>, Bound<Bytes>);

/// The keys of a cursor or a scan.
#[derive(Clone, Debug)]
pub enum Range {
    /// From one bound to another.
    Between(Bound<Bytes>, Bound<Bytes>),
    /// All that begin with this.
    Prefix(Bytes),
}

impl Range {
    /// The two bounds. `prefix_range` is the host's own.
    pub fn bounds(self, prefix_range: fn(&[u8]) -> Bounds) -> Bounds {
        match self {
            Self::Between(lower, upper) => (lower, upper),
            Self::Prefix(prefix) => prefix_range(&prefix),
        }
    }
}

/// Two bounds as they are given to a cursor.
pub fn slices((lower, upper): &Bounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
}

/// What `alter` does to a pair.
#[derive(Clone, Debug)]
pub enum Alter {
    /// Appends to the value; an absent one counts as empty.
    Append(Bytes),
    /// Deletes the pair.
    Remove,
    /// Changes nothing.
    Keep,
}

/// A verb of a table, with its arguments.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is documented where users call it")]
pub enum Verb {
    Insert(Bytes, Bytes),
    Replace(Bytes, Bytes),
    Upsert(Bytes, Bytes),
    Delete(Bytes),
    Select(Bytes),
    Contains(Bytes),
    Take(Bytes),
    First,
    Last,
    PopFirst,
    PopLast,
    DeleteRange(Range),
    DeletePrefix(Bytes),
    Len,
    Clear,
    Increment(Bytes, i64),
    CompareAndSwap(Bytes, Option<Bytes>, Option<Bytes>),
    Alter(Bytes, Alter),
    InsertMany(Vec<Pair>),
    ReplaceMany(Vec<Pair>),
    UpsertMany(Vec<Pair>),
    DeleteMany(Vec<Bytes>),
    SelectMany(Vec<Bytes>),
    ContainsMany(Vec<Bytes>),
    IncrementMany(Vec<(Bytes, i64)>),
    CompareAndSwapMany(Vec<Swap>),
    Scan { range: Range, reverse: bool, limit: Option<usize> },
    Iter,
}

/// A verb of a table whose pairs expire. A time to live of [`Duration::MAX`] is for ever.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is documented where users call it")]
pub enum ExpiringVerb {
    /// One that other tables have too, with the time to live that it names.
    Shared(Verb, Option<Duration>),
    Touch(Bytes, Option<Duration>),
    /// Answers in milliseconds, with `ever`, or with nothing where there is no pair.
    Ttl(Bytes),
    RemoveExpired(usize),
}

/// Methods of hosts that run the cases with such steps.
macro_rules! optional {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        $(#[$doc])*
        fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            let _ = ($($argument,)*);
            unreachable!("cases with it are left out")
        }
    )*};
}

/// A store in any form, with the handles of its tables and cursors.
pub trait Host {
    /// A handle of a table, of the store or of a scope.
    type Table;
    /// A cursor.
    type Cursor;
    /// A snapshot or a transaction.
    type Scope;

    /// Opens or creates a table.
    fn table(&mut self, name: &str, index: &str) -> Fallible<Self::Table>;
    /// The name and the index of every table, by name.
    fn tables(&mut self) -> Fallible<Vec<(String, String)>>;
    /// Drops a table, and returns whether it was there.
    fn drop_table(&mut self, name: &str) -> Fallible<bool>;
    /// Closes the store. Handles of it stay.
    fn close(&mut self) -> Fallible<()>;
    /// Does one verb on a table.
    fn run(&mut self, table: &mut Self::Table, verb: Verb) -> Fallible<Answer>;
    /// Opens a cursor.
    fn cursor(&mut self, table: &mut Self::Table, range: Range) -> Fallible<Self::Cursor>;
    /// Moves a cursor, downwards where `down`.
    fn next(&mut self, cursor: &mut Self::Cursor, down: bool) -> Fallible<Option<Pair>>;
    /// Moves a cursor by up to `limit` pairs.
    fn next_many(&mut self, cursor: &mut Self::Cursor, down: bool, limit: usize) -> Fallible<Vec<Pair>>;

    optional! {
        /// Opens a table of either kind, or of the one that is named; a new one has this index.
        fn any_table(name: &str, index: Option<&str>, expires: Option<bool>) -> Fallible<Self::Table>;
        /// Lets time go by.
        fn advance(time: Duration);
        /// Limits the memory of the store.
        fn set_memory_limit(bytes: Option<usize>) -> Fallible<()>;
        /// Replaces the store by the load of its dump.
        fn reload() -> Fallible<()>;
        /// Loads a store from a dump, and drops it.
        fn load(dump: &[u8]) -> Fallible<()>;
        /// Does one verb on a table whose pairs expire.
        fn run_expiring(table: &mut Self::Table, verb: ExpiringVerb) -> Fallible<Answer>;
        /// Moves a cursor right before a key.
        fn seek(cursor: &mut Self::Cursor, key: &[u8]) -> Fallible<()>;
        /// The key that a cursor is on, and the value that it has now.
        fn pair(cursor: &mut Self::Cursor) -> Fallible<(Option<Bytes>, Option<Bytes>)>;
        /// Opens a snapshot.
        fn snapshot() -> Fallible<Self::Scope>;
        /// Begins a transaction.
        fn transaction() -> Fallible<Self::Scope>;
        /// Opens a table of a snapshot or a transaction.
        fn table_in(scope: &mut Self::Scope, name: &str) -> Fallible<Self::Table>;
        /// Commits a transaction.
        fn commit(scope: &mut Self::Scope) -> Fallible<()>;
        /// Closes a snapshot, or gives a transaction up.
        fn end(scope: &mut Self::Scope) -> Fallible<()>;
    }
}

/// The steps of ends, ranges and cursors that not every host has yet.
pub const ENDS: [&str; 9] =
    ["take", "first", "last", "pop_first", "pop_last", "delete_range", "delete_prefix", "seek", "key"];
/// The steps of snapshots and transactions.
pub const SCOPES: [&str; 2] = ["snapshot", "transaction"];

/// A case of `vectors.json` for one index.
pub struct Case {
    /// Its name in the file.
    pub name: String,
    /// The index of the table `t`; a case without one starts with an empty store.
    pub index: Option<String>,
    /// Whether the pairs of `t` expire.
    expires: bool,
    steps: Vec<Value>,
}

/// The cases of `vectors.json` of tables whose pairs stay.
pub fn cases() -> Vec<Case> {
    read("cases", false)
}

/// Those of tables whose pairs expire. A host runs them by [`Host::any_table`], [`Host::run_expiring`] and [`Host::advance`].
pub fn expiring_cases() -> Vec<Case> {
    read("expiring", true)
}

fn read(list: &str, expires: bool) -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../vectors.json")).expect("vectors.json is JSON");
    let mut cases = Vec::new();
    for case in decode::items(&file[list]) {
        let named = decode::items(&case["index"]).iter().map(|index| Some(decode::name(index)));
        let mut indexes: Vec<_> = named.collect();
        if indexes.is_empty() {
            indexes.push(None);
        }
        for index in indexes {
            let steps = decode::items(&case["steps"]).to_vec();
            cases.push(Case { name: decode::name(&case["name"]), index, expires, steps });
        }
    }
    assert!(!cases.is_empty(), "vectors.json has no cases");
    cases
}

impl Case {
    /// Whether the case has a step of one of these verbs.
    pub fn does(&self, verbs: &[&str]) -> bool {
        self.steps.iter().any(|step| verbs.contains(&decode::verb(step)))
    }

    /// The case without its steps of these verbs.
    #[must_use]
    pub fn without(mut self, verbs: &[&str]) -> Self {
        self.steps.retain(|step| !verbs.contains(&decode::verb(step)));
        self
    }

    /// Whether it is quick even in an interpreter of machine code.
    pub fn is_small(&self) -> bool {
        self.steps.iter().all(|step| decode::largest_repeat(step) <= 1024)
    }

    /// Runs the case on a new store.
    ///
    /// # Panics
    /// Where an answer is not the expected one; the message names the case and the step.
    pub fn run(&self, host: &mut impl Host) {
        let expires = self.expires;
        let (tables, cursors, scopes) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        let mut runner = Runner { host, expires, tables, cursors, scopes };
        if let Some(index) = &self.index {
            runner
                .open_table("t", Some(index), expires.then_some(true))
                .unwrap_or_else(|failure| panic!("{}: table t: {failure:?}", self.name));
        }
        for (number, step) in self.steps.iter().enumerate() {
            let outcome = runner.run(step);
            let index = self.index.as_deref().unwrap_or("none");
            check(&format!("vectors.json: {:?}, index {index}, step {number}", self.name), step, &outcome);
        }
    }
}

/// Compares what a step gave with what it expects.
fn check(place: &str, step: &Value, outcome: &Fallible<Answer>) {
    let expect = step.get("expect").unwrap_or_else(|| panic!("{place} expects nothing: {step}"));
    let is_expected = match (outcome, decode::field(expect, "error"), decode::field(expect, "most")) {
        (Err(failure), Some(code), _) => {
            let mentions = expect.get("mentions").map_or("", |text| text.as_str().expect("text"));
            failure.code == code.as_str().expect("a code") && failure.message.contains(mentions)
        }
        (Ok(Answer::Int(left)), None, Some(most)) => (1..=most.as_i64().expect("a number")).contains(left),
        (Ok(answer), None, None) => *answer == Answer::of(expect),
        _ => false,
    };
    assert!(is_expected, "{place}: {:.300}\ngave {:.300}", step.to_string(), format!("{outcome:?}"));
}

struct Runner<'h, H: Host> {
    host: &'h mut H,
    expires: bool,
    tables: BTreeMap<String, H::Table>,
    cursors: HashMap<String, H::Cursor>,
    scopes: HashMap<String, Scope<H>>,
}

/// A snapshot or a transaction, with the tables that were opened in it.
type Scope<H> = (<H as Host>::Scope, BTreeMap<String, <H as Host>::Table>);

impl<H: Host> Runner<'_, H> {
    fn open_table(&mut self, name: &str, index: Option<&str>, expires: Option<bool>) -> Fallible<()> {
        let table = match index {
            Some(index) if !self.expires => self.host.table(name, index),
            _ => self.host.any_table(name, index, expires),
        }?;
        self.tables.insert(name.to_owned(), table);
        Ok(())
    }

    fn run(&mut self, step: &Value) -> Fallible<Answer> {
        match decode::verb(step) {
            "table" => {
                let (name, index) = (decode::text(&step["name"])?, step.get("index"));
                let index = index.map(decode::text).transpose()?;
                self.open_table(name, index, step["expires"].as_bool()).map(Answer::from)
            }
            "advance" => {
                self.host.advance(Duration::from_millis(step["ms"].as_u64().expect("a time")));
                Ok(Answer::Nothing)
            }
            "tables" => self.host.tables().map(Answer::from),
            "drop_table" => self.host.drop_table(decode::text(&step["name"])?).map(Answer::from),
            "memory_limit" => {
                let limit = decode::optional(&step["bytes"], decode::size)?;
                self.host.set_memory_limit(limit).map(Answer::from)
            }
            "reload" => {
                self.host.reload()?;
                for (name, index) in self.host.tables()? {
                    self.open_table(&name, Some(&index), None)?;
                }
                Ok(Answer::Nothing)
            }
            "load" => self.host.load(&decode::bytes(&step["bytes"])?).map(Answer::from),
            "close" => self.host.close().map(Answer::from),
            verb @ ("snapshot" | "transaction") => {
                let is_snapshot = verb == "snapshot";
                let scope = if is_snapshot { self.host.snapshot() } else { self.host.transaction() }?;
                self.scopes.insert(decode::name(&step["id"]), (scope, BTreeMap::new()));
                Ok(Answer::Nothing)
            }
            verb @ ("commit" | "end") => {
                let (scope, _) = scope_of(&mut self.scopes, step);
                if verb == "end" { self.host.end(scope) } else { self.host.commit(scope) }.map(Answer::from)
            }
            "cursor" => {
                let range = decode::range(step)?;
                let (host, table) = self.table(step)?;
                let cursor = host.cursor(table, range)?;
                self.cursors.insert(decode::name(&step["id"]), cursor);
                Ok(Answer::Nothing)
            }
            verb if verb.starts_with("scan_") || ["seek", "key", "value"].contains(&verb) => {
                let id = decode::name(&step["id"]);
                let cursor =
                    self.cursors.get_mut(&id).unwrap_or_else(|| panic!("cursor {id} was not opened"));
                match verb {
                    "seek" => return self.host.seek(cursor, &decode::bytes(&step["key"])?).map(Answer::from),
                    "key" => return Ok(self.host.pair(cursor)?.0.into()),
                    "value" => return Ok(self.host.pair(cursor)?.1.into()),
                    _ => {}
                }
                let down = verb.starts_with("scan_desc");
                if verb.ends_with("_many") {
                    return self
                        .host
                        .next_many(cursor, down, decode::size(&step["limit"])?)
                        .map(Answer::from);
                }
                self.host.next(cursor, down).map(Answer::from)
            }
            verb => {
                let expires = self.expires;
                let (host, table) = self.table(step)?;
                let answer = if expires {
                    host.run_expiring(table, decode::expiring_verb(verb, step)?)?
                } else {
                    host.run(table, decode::table_verb(verb, step)?)?
                };
                // A hash table has no order.
                Ok(if verb == "iter" { answer.sorted() } else { answer })
            }
        }
    }

    /// The table that a step names, `t` where it names none, of the store or of a scope.
    fn table(&mut self, step: &Value) -> Fallible<(&mut H, &mut H::Table)> {
        let name = step.get("table").map_or_else(|| "t".to_owned(), decode::name);
        if step.get("in").is_none() {
            let table = self.tables.get_mut(&name).unwrap_or_else(|| panic!("table {name} was not opened"));
            return Ok((self.host, table));
        }
        let (scope, tables) = scope_of(&mut self.scopes, step);
        let table = match tables.entry(name) {
            Entry::Occupied(table) => table.into_mut(),
            Entry::Vacant(place) => {
                let table = self.host.table_in(scope, place.key())?;
                place.insert(table)
            }
        };
        Ok((self.host, table))
    }
}

/// The snapshot or transaction that a step names.
fn scope_of<'s, S>(scopes: &'s mut HashMap<String, S>, step: &Value) -> &'s mut S {
    let id = decode::name(&step["in"]);
    scopes.get_mut(&id).unwrap_or_else(|| panic!("{id} was not opened"))
}
