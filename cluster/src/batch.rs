//! Writes that are done all or not at all, in one slot.

use std::sync::Arc;

use redis::Value;

use crate::error::{Error, MAX_SENT, Result, check_value};
use crate::functions;
use crate::names::Layout;
use crate::router::{Kind, Op};
use crate::shared::Shared;
use crate::table::{Table, excerpt};

/// Writes that are collected and then done together, by one call of a function in one server: all or none, and nobody sees
/// some of them done and others not.
///
/// So all its keys must lie in one slot of a cluster; [`Error::CrossSlot`] names others. Keys of hash tables do if they have the
/// same text in braces, such as `{ada}name` and `{ada}mail`, in any tables, and so does a sorted table with one partition. A
/// single server does any batch.
///
/// ```no_run
/// # async fn example(store: twindex_cluster::Store, accounts: twindex_cluster::Table) -> twindex_cluster::Result<()> {
/// let mut batch = store.batch();
/// batch.expect(&accounts, "{bank}ada", Some(b"100"))?; // else nothing is done
/// batch.upsert(&accounts, "{bank}ada", "90")?;
/// batch.increment(&accounts, "{bank}bob", 10)?;
/// assert_eq!(batch.commit().await?, [true, true]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    shared: Arc<Shared>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    table: Table,
    /// What it does, or expects, as the function calls it.
    verb: &'static str,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Batch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, steps: Vec::new() }
    }

    /// The number of writes in it.
    pub fn len(&self) -> usize {
        self.steps.iter().filter(|step| !step.is_expectation()).count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the pair if the key is absent.
    pub fn insert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, "i", key.as_ref(), value.as_ref())
    }

    /// Replaces the value if the key is present.
    pub fn replace(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, "r", key.as_ref(), value.as_ref())
    }

    /// Gives the key this value, present or not.
    pub fn upsert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, "u", key.as_ref(), value.as_ref())
    }

    /// Removes the pair.
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, "d", key.as_ref(), &[])
    }

    /// Adds `by` to the value, the text of an integer. An absent key counts as 0. The batch fails if the value is no such
    /// text, or the sum has more than 64 bits.
    pub fn increment(&mut self, table: &Table, key: impl AsRef<[u8]>, by: i64) -> Result<()> {
        self.add(table, "n", key.as_ref(), by.to_string().as_bytes())
    }

    /// Makes [`commit`](Self::commit) fail, and write nothing, unless the key has this value then, or is absent for `None`. Writes of
    /// the batch itself do not count.
    pub fn expect(&mut self, table: &Table, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> Result<()> {
        let verb = if value.is_some() { "e" } else { "a" };
        self.add(table, verb, key.as_ref(), value.unwrap_or_default())
    }

    fn add(&mut self, table: &Table, verb: &'static str, key: &[u8], value: &[u8]) -> Result<()> {
        table.check(key)?;
        check_value(value)?;
        if !Arc::ptr_eq(&table.shared, &self.shared) {
            return Err(Error::ForeignTable { table: table.name().into() });
        }
        self.steps.push(Step { table: table.clone(), verb, key: key.into(), value: value.into() });
        Ok(())
    }

    /// Does all writes. Returns whether each took effect.
    ///
    /// If one fails, none is done. Fails with [`Error::Unexpected`] if an [expectation](Self::expect) does not hold,
    /// and with [`Error::CrossSlot`] if no server can do it.
    pub async fn commit(self) -> Result<Vec<bool>> {
        self.shared.check_open()?;
        let mut layouts = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            layouts.push(step.table.writing().await?);
        }
        let len = self.steps.iter().map(|step| step.key.len() + step.value.len()).sum();
        if len > MAX_SENT {
            return Err(Error::TooLarge { len });
        }
        let Some(slot) = self.slot(&layouts)? else { return Ok(Vec::new()) };
        let wrote = |answer: &Value| {
            let Value::Array(fields) = answer else { return false };
            matches!(&fields[..], [Value::BulkString(what), Value::Array(took)] if what == b"done" && took.contains(&Value::Int(1)))
        };
        let op = Op::telling(slot, self.command(&layouts), wrote);
        let done = self.shared.router.one(op, Kind::Write).await;
        for (step, layout) in self.steps.iter().zip(&layouts) {
            step.table.wrote(layout, &step.key);
        }
        self.read(done?.accepted()?)
    }

    /// The slot in which all its keys lie; none if it has no keys.
    fn slot(&self, layouts: &[Arc<Layout>]) -> Result<Option<u16>> {
        let mut steps = self.steps.iter().zip(layouts);
        let Some((first, layout)) = steps.next() else { return Ok(None) };
        let slot = layout.slot(&first.key);
        let other = steps.find(|(step, layout)| layout.slot(&step.key) != slot);
        match other {
            Some((other, _)) if self.shared.router.is_cluster() => {
                Err(Error::CrossSlot { one: first.named(), other: other.named() })
            }
            _ => Ok(Some(slot)),
        }
    }

    fn command(&self, layouts: &[Arc<Layout>]) -> redis::Cmd {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut at = Vec::with_capacity(self.steps.len());
        for (step, layout) in self.steps.iter().zip(layouts) {
            at.push(keys.len() + 1);
            match layout.part(&step.key) {
                Some(partition) => keys.extend([partition.pairs.clone(), partition.order.clone()]),
                None => keys.push(layout.key(&step.key)),
            }
        }
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let removes = self.steps.iter().all(|step| step.is_expectation() || step.verb == "d");
        let mut cmd = functions::call(if removes { "unbatch" } else { "batch" }, &keys);
        for ((step, layout), at) in self.steps.iter().zip(layouts).zip(at) {
            let field = if layout.partitions.is_empty() { &[] } else { &step.key[..] };
            cmd.arg(step.verb).arg(u8::from(!layout.partitions.is_empty()));
            cmd.arg(at).arg(field).arg(&step.value[..]);
        }
        cmd
    }

    /// Reads the function's answer: what happened, and a list that says more.
    fn read(&self, answer: Value) -> Result<Vec<bool>> {
        let wrong = || Error::unexpected("outcome of a batch");
        let Value::Array(fields) = answer else { return Err(wrong()) };
        let Ok([Value::BulkString(what), Value::Array(more)]) = <[Value; 2]>::try_from(fields) else {
            return Err(wrong());
        };
        let number = |value: &Value| match value {
            Value::Int(number) => usize::try_from(*number).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        match &what[..] {
            b"done" => more.iter().map(|took| Ok(number(took)? == 1)).collect(),
            b"unexpected" => {
                let failed = more.iter().map(number).collect::<Result<Vec<_>>>()?;
                let mut expected = self.steps.iter().filter(|step| step.is_expectation());
                let first = failed.first().and_then(|first| expected.nth(*first)).ok_or_else(wrong)?;
                Err(Error::Unexpected { table: first.table.name().into(), key: excerpt(&first.key), failed })
            }
            b"no sum" => {
                let [Value::Int(place), Value::BulkString(old)] = &more[..] else { return Err(wrong()) };
                let step = usize::try_from(*place).ok().and_then(|place| self.steps.get(place));
                let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
                let by = step.and_then(|step| number(&step.value)).ok_or_else(wrong)?;
                Err(match number(old) {
                    Some(value) => twindex::Error::Overflow { value, by }.into(),
                    None => twindex::Error::NotAnInteger { start: excerpt(old) }.into(),
                })
            }
            _ => Err(wrong()),
        }
    }
}

impl Step {
    fn is_expectation(&self) -> bool {
        matches!(self.verb, "e" | "a")
    }

    fn named(&self) -> String {
        format!("\"{}\" of table \"{}\"", excerpt(&self.key), self.table.name())
    }
}
