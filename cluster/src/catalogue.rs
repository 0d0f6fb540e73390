//! Which tables there are: a HASH in the servers, and what this client has seen of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value};
use twindex::{Index, TableOptions};

use crate::clock;
use crate::error::{Error, Result};
use crate::locks::lock;
use crate::names::{Layout, Names};
use crate::router::{Kind, Router};
use crate::{functions, slot};

/// What the catalogue says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: Index,
    /// Another table of the same name has another one.
    generation: u64,
    partitions: u16,
}

impl Entry {
    /// Reads an entry, and what stands behind it.
    fn parse(value: &Value) -> Option<(Self, &str)> {
        let Value::BulkString(bytes) = value else { return None };
        let mut words = std::str::from_utf8(bytes).ok()?.splitn(4, ' ');
        let mut word = || words.next();
        let entry = Self {
            index: word()?.parse().ok()?,
            generation: word()?.parse().ok()?,
            partitions: word()?.parse().ok()?,
        };
        Some((entry, word()?))
    }

    pub(crate) fn layout(&self, names: &Names, table: &str) -> Layout {
        let partitions = if self.index == Index::Sorted { self.partitions } else { 0 };
        names.layout(table, self.generation, partitions)
    }
}

/// A table, as all its handles in this client share it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) index: Index,
    pub(crate) codecs: (String, String),
    pub(crate) layout: Arc<Layout>,
    dropped: AtomicBool,
    /// How many writes were made through this client, by which cursors see what they read ahead of them.
    pub(crate) writes: AtomicU64,
}

impl State {
    fn new(name: &str, (entry, codecs): &Described, names: &Names) -> Self {
        Self {
            name: name.into(),
            index: entry.index,
            codecs: codecs.clone(),
            layout: Arc::new(entry.layout(names, name)),
            dropped: AtomicBool::new(false),
            writes: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }

    /// Takes over what the catalogue says now.
    fn learn(&self, entry: Option<&Entry>) {
        if entry.is_none_or(|entry| entry.generation != self.layout.generation) {
            self.dropped.store(true, Relaxed);
            self.writes.fetch_add(1, Relaxed);
        }
    }
}

/// A table, with the codecs of its keys and values.
pub(crate) type Described = (Entry, (String, String));

/// What the catalogue says of one table.
fn described(value: &Value) -> Result<Described> {
    let read = || {
        let (entry, codecs) = Entry::parse(value)?;
        let (length, codecs) = codecs.split_once(' ')?;
        let (keys, values) = codecs.split_at_checked(length.parse().ok()?)?;
        Some((entry, (keys.into(), values.into())))
    };
    read().ok_or_else(|| Error::unexpected("catalogue entry"))
}

#[derive(Debug)]
pub(crate) struct Catalogue {
    router: Arc<Router>,
    pub(crate) names: Names,
    partitions: u16,
    age: Duration,
    known: Mutex<HashMap<String, Weak<State>>>,
    /// When it was last read, or is being read.
    looked: AtomicU64,
}

impl Catalogue {
    pub(crate) fn new(router: Arc<Router>, namespace: &str, partitions: u16, age: Duration) -> Self {
        let names = Names::new(namespace);
        let looked = AtomicU64::new(clock::millis());
        Self { router, names, partitions, age, known: Mutex::default(), looked }
    }

    async fn call(&self, function: &str, arguments: &[&[u8]], kind: Kind) -> Result<Value> {
        let (tables, dropped) = (self.names.catalogue(), self.names.dropped());
        let mut cmd: Cmd = functions::call(function, &[&tables, &dropped]);
        for argument in arguments {
            cmd.arg(*argument);
        }
        self.router.one(slot::of(&tables), cmd, kind).await?.accepted()
    }

    /// Opens a table, or creates it where the options say so.
    pub(crate) async fn open(&self, name: &str, options: TableOptions<'_>) -> Result<Arc<State>> {
        check(name, options, None)?;
        let index = if options.creates() { options.index().name() } else { "" };
        let (keys, values) = options.codecs();
        let rest = format!("{} {} {keys}{values}", self.partitions, keys.len());
        // Creating it twice makes it once, so the call may be repeated.
        let value = self.call("table", &[name, index, &rest].map(str::as_bytes), Kind::Repeat).await?;
        if value == Value::Nil {
            return Err(Error::Engine(twindex::Error::NoTable { name: name.into() }));
        }
        let described = described(&value)?;
        check(name, options, Some(&described))?;
        Ok(self.share(name, &described))
    }

    /// The table of this name, if there is one.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<Arc<State>>> {
        let value = self.call("table", &[name.as_bytes(), b"", b""], Kind::Read).await?;
        if value == Value::Nil || name.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.share(name, &described(&value)?)))
    }

    /// The state that all handles of this table share.
    pub(crate) fn share(&self, name: &str, described: &Described) -> Arc<State> {
        let mut known = lock(&self.known);
        if let Some(state) = known.get(name).and_then(Weak::upgrade) {
            state.learn(Some(&described.0));
            if !state.is_dropped() {
                return state;
            }
        }
        let state = Arc::new(State::new(name, described, &self.names));
        known.retain(|_, state| state.strong_count() > 0);
        known.insert(name.into(), Arc::downgrade(&state));
        state
    }

    /// All tables, by name.
    pub(crate) async fn list(&self) -> Result<Vec<(String, Described)>> {
        // Only what was known before the servers are asked can be missing from the answer because it was dropped.
        let known: Vec<Arc<State>> = lock(&self.known).values().filter_map(Weak::upgrade).collect();
        self.looked.store(clock::millis(), Relaxed);
        let tables = self.names.catalogue();
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&tables[..]);
        let value = self.router.one(slot::of(&tables), cmd, Kind::Read).await?.accepted()?;
        let Value::Map(fields) = value else { return Err(Error::unexpected("map")) };
        let mut tables = Vec::new();
        for (name, entry) in fields {
            let Value::BulkString(name) = name else { return Err(Error::unexpected("table name")) };
            if !name.is_empty() {
                let name = String::from_utf8(name).map_err(|_| Error::unexpected("table name"))?;
                tables.push((name, described(&entry)?));
            }
        }
        tables.sort_by(|one, two| one.0.cmp(&two.0));
        let entries: HashMap<&str, &Entry> =
            tables.iter().map(|(name, described)| (&**name, &described.0)).collect();
        for state in known {
            state.learn(entries.get(&*state.name).copied());
        }
        Ok(tables)
    }

    /// Reads the catalogue beside what else goes on, if it was not read lately.
    pub(crate) fn look(self: &Arc<Self>) {
        let now = clock::millis();
        let looked = self.looked.load(Relaxed);
        let is_due = u128::from(now.saturating_sub(looked)) >= self.age.as_millis();
        // Of those who see that it is due, one goes.
        if !is_due || self.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_err() {
            return;
        }
        let catalogue = self.clone();
        tokio::spawn(async move {
            if let Err(error) = catalogue.list().await {
                log::warn!("the catalogue of tables could not be read: {error}");
            }
        });
    }

    /// Takes a table out; whether it was there.
    pub(crate) async fn drop_table(&self, name: &str) -> Result<bool> {
        if name.is_empty() {
            return Ok(false);
        }
        let value = self.call("drop", &[name.as_bytes()], Kind::Write).await?;
        if let Some(state) = lock(&self.known).remove(name).and_then(|state| state.upgrade()) {
            state.learn(None);
        }
        Ok(value == Value::Int(1))
    }

    /// What the generations that nobody uses any more are called.
    pub(crate) async fn dropped(&self) -> Result<Vec<Layout>> {
        let dropped = self.names.dropped();
        let mut cmd = redis::cmd("HVALS");
        cmd.arg(&dropped[..]);
        let value = self.router.one(slot::of(&dropped), cmd, Kind::Read).await?.accepted()?;
        let Value::Array(values) = value else { return Err(Error::unexpected("list")) };
        let layout = |value: &Value| {
            let (entry, name) = Entry::parse(value)?;
            Some(entry.layout(&self.names, name))
        };
        values.iter().map(|value| layout(value).ok_or_else(|| Error::unexpected("catalogue entry"))).collect()
    }

    /// Forgets a generation that has no keys any more.
    pub(crate) async fn forget(&self, generation: u64) -> Result<()> {
        let dropped = self.names.dropped();
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(&dropped[..]).arg(generation);
        self.router.one(slot::of(&dropped), cmd, Kind::Repeat).await?.accepted().map(drop)
    }
}

/// Checks the options as the engine does: by opening the same table in an empty store.
fn check(name: &str, options: TableOptions<'_>, described: Option<&Described>) -> Result<()> {
    let store = twindex::Store::new();
    if let Some((entry, (keys, values))) = described {
        store.table_with(name, TableOptions::new(entry.index).keys(keys).values(values))?;
    }
    store.table_with(name, options.create(true))?;
    Ok(())
}
