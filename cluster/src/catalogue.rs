//! Which tables there are: a HASH in the servers, and what this client has seen of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};
use twindex::{IndexKind, TableOptions};

use crate::clock;
use crate::error::{Error, Result};
use crate::locks::lock;
use crate::names::{Layout, Names, new_generation};
use crate::router::{Kind, Op, Reply, Router};
use crate::{functions, slot};

/// What the catalogue says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: IndexKind,
    /// No other table has it.
    generation: String,
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
        let partitions = if self.index == IndexKind::Sorted { self.partitions } else { 0 };
        names.layout(table, &self.generation, partitions)
    }
}

/// A table, as all its handles in this client share it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: String,
    described: Described,
    pub(crate) layout: Arc<Layout>,
    dropped: AtomicBool,
    /// How many writes were made through this client, by which cursors see what they read ahead of them.
    pub(crate) writes: AtomicU64,
}

impl State {
    fn new(name: &str, described: &Described, names: &Names) -> Self {
        Self {
            name: name.into(),
            described: described.clone(),
            layout: Arc::new(described.0.layout(names, name)),
            dropped: AtomicBool::new(false),
            writes: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }

    pub(crate) fn index(&self) -> IndexKind {
        self.described.0.index
    }

    pub(crate) fn codecs(&self) -> (&str, &str) {
        (&self.described.1.0, &self.described.1.1)
    }

    /// Takes over what the catalogue says now.
    fn learn(&self, described: Option<&Described>) {
        if described != Some(&self.described) {
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
    /// When the last reading that succeeded began, and when the last one began beside other calls.
    seen: AtomicU64,
    looked: AtomicU64,
    /// Held by the write that reads it; inside it how and when the last one failed.
    reading: tokio::sync::Mutex<Option<(Instant, Error)>>,
}

impl Catalogue {
    pub(crate) fn new(router: Arc<Router>, namespace: &str, partitions: u16, age: Duration) -> Self {
        let names = Names::new(namespace);
        // Nothing is known yet, so nothing can be old.
        let [seen, looked] = [clock::millis(), clock::millis()].map(AtomicU64::new);
        let (known, reading) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { router, names, partitions: partitions.clamp(1, 1024), age, known, seen, looked, reading }
    }

    fn call(&self, function: &str, arguments: &[&[u8]]) -> Cmd {
        let mut cmd = functions::call(function, &[&self.names.catalogue(), &self.names.dropped()]);
        for argument in arguments {
            cmd.arg(*argument);
        }
        cmd
    }

    fn slot(&self) -> u16 {
        slot::of(&self.names.catalogue())
    }

    /// Opens a table, or creates it where the options say so. Only creating it is a write.
    pub(crate) async fn open(&self, name: &str, options: TableOptions<'_>) -> Result<Arc<State>> {
        check(name, options, None)?;
        let described = match self.entry(name).await? {
            Some(described) => described,
            None if !options.creates() => {
                return Err(Error::Engine(twindex::Error::NoTable { name: name.into() }));
            }
            None => {
                let (keys, values) = options.codecs();
                let (index, generation) = (options.index().name(), new_generation()?);
                let length = keys.len();
                let entry = format!("{index} {generation} {} {length} {keys}{values}", self.partitions);
                self.create(name, &entry).await?
            }
        };
        check(name, options, Some(&described))?;
        Ok(self.share(name, &described))
    }

    /// What the catalogue says of a table. No function is called, since a server without memory refuses those that may write.
    async fn entry(&self, name: &str) -> Result<Option<Described>> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(self.names.catalogue()).arg(name);
        match self.router.one(Op::new(self.slot(), cmd), Kind::Read).await?.accepted()? {
            Value::Nil => Ok(None),
            entry => described(&entry).map(Some),
        }
    }

    /// Makes this entry where there is none. Returns what the catalogue then says.
    async fn create(&self, name: &str, entry: &str) -> Result<Described> {
        let cmd = self.call("table", &[name, entry].map(str::as_bytes));
        let is_made =
            |value: &Value| matches!(value, Value::Array(fields) if fields.first() == Some(&Value::Int(1)));
        // An entry that is there stays, so the call may be repeated.
        let op = Op::telling(self.slot(), cmd, is_made);
        match self.router.one(op, Kind::Repeat).await?.accepted()? {
            Value::Array(fields) if fields.len() == 2 => described(&fields[1]),
            _ => Err(Error::unexpected("catalogue entry")),
        }
    }

    /// The table of this name, if there is one.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<Arc<State>>> {
        Ok(self.entry(name).await?.map(|described| self.share(name, &described)))
    }

    /// The state that all handles of this table share.
    pub(crate) fn share(&self, name: &str, described: &Described) -> Arc<State> {
        let mut known = lock(&self.known);
        if let Some(state) = known.get(name).and_then(Weak::upgrade) {
            state.learn(Some(described));
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
        let began = clock::millis();
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(self.names.catalogue());
        let value = self.router.one(Op::new(self.slot(), cmd), Kind::Read).await?.accepted()?;
        let Value::Map(fields) = value else { return Err(Error::unexpected("map")) };
        let mut tables = Vec::new();
        for (name, entry) in fields {
            let Value::BulkString(name) = name else { return Err(Error::unexpected("table name")) };
            let name = String::from_utf8(name).map_err(|_| Error::unexpected("table name"))?;
            tables.push((name, described(&entry)?));
        }
        tables.sort_by(|one, two| one.0.cmp(&two.0));
        let entries: HashMap<&str, &Described> =
            tables.iter().map(|(name, described)| (&**name, described)).collect();
        for state in known {
            state.learn(entries.get(&*state.name).copied());
        }
        self.seen.fetch_max(began, Relaxed);
        Ok(tables)
    }

    /// For how long nothing is known of what others dropped.
    fn staleness(&self) -> Duration {
        Duration::from_millis(clock::millis().saturating_sub(self.seen.load(Relaxed)))
    }

    /// Reads the catalogue beside what else goes on, if it will soon be due. This waits for nothing, so it may be called
    /// outside the runtime.
    pub(crate) fn look(self: &Arc<Self>) {
        let pause = self.age / 4 * 3;
        if self.staleness() < pause {
            return;
        }
        let (now, looked) = (clock::millis(), self.looked.load(Relaxed));
        let is_due = u128::from(now.saturating_sub(looked)) >= pause.as_millis();
        // Of those who see that it is due, one goes.
        if !is_due || self.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_err() {
            return;
        }
        let catalogue = self.clone();
        self.router.spawn(async move {
            if let Err(error) = catalogue.list().await {
                log::warn!("the catalogue of tables could not be read: {error}");
            }
        });
    }

    /// Makes sure, before a write, that drops by other clients are known that are older than the age allowed. A client that
    /// is busy reads the catalogue beside its calls; one that was idle waits for it.
    pub(crate) async fn learn(self: &Arc<Self>) -> Result<()> {
        if self.staleness() < self.age {
            self.look();
            return Ok(());
        }
        let asked = Instant::now();
        let mut failed = self.reading.lock().await;
        if self.staleness() < self.age {
            return Ok(());
        }
        // What failed while this one waited is its failure too.
        if let Some((at, error)) = &*failed
            && *at > asked
        {
            return Err(error.again());
        }
        let done = self.list().await.map(drop);
        *failed = done.as_ref().err().map(|error| (Instant::now(), error.again()));
        done
    }

    /// Takes a table out. Returns whether it was there.
    pub(crate) async fn drop_table(&self, name: &str) -> Result<bool> {
        if name.is_empty() {
            return Ok(false);
        }
        let op = Op::new(self.slot(), self.call("drop", &[name.as_bytes()]));
        let done = self.router.one(op, Kind::Write).await.and_then(Reply::accepted);
        if matches!(done, Ok(_) | Err(Error::NotReplicated { .. })) {
            let state = lock(&self.known).remove(name).and_then(|state| state.upgrade());
            state.inspect(|state| state.learn(None));
        }
        Ok(done? == Value::Int(1))
    }

    /// What the generations that nobody uses any more are called.
    pub(crate) async fn dropped(&self) -> Result<Vec<Layout>> {
        let mut cmd = redis::cmd("HVALS");
        cmd.arg(self.names.dropped());
        let value = self.router.one(Op::new(self.slot(), cmd), Kind::Read).await?.accepted()?;
        let Value::Array(values) = value else { return Err(Error::unexpected("list")) };
        let layout = |value: &Value| {
            let (entry, name) = Entry::parse(value)?;
            Some(entry.layout(&self.names, name))
        };
        values.iter().map(|value| layout(value).ok_or_else(|| Error::unexpected("catalogue entry"))).collect()
    }

    /// Forgets a generation that has no keys any more.
    pub(crate) async fn forget(&self, generation: &str) -> Result<()> {
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(self.names.dropped()).arg(generation);
        self.router.one(Op::new(self.slot(), cmd), Kind::Repeat).await?.accepted().map(drop)
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
