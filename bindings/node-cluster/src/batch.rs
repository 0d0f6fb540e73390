//! The class `NativeBatch`.

use napi::bindgen_prelude::{BigInt, Env, PromiseRaw, Uint8Array};
use napi::{Error, Result, Status};
use napi_derive::napi;
use twindex_cluster::Batch;

use crate::answer::{answer, now};
use crate::table::{NativeTable, amount};

/// Writes that are collected, and committed once: then there is none any more.
#[napi]
pub struct NativeBatch(Option<Batch>);

fn ended() -> Error {
    Error::new(Status::GenericFailure, "TWINDEX_CLOSED\nthe batch has ended")
}

impl NativeBatch {
    pub(crate) fn new(batch: Batch) -> Self {
        Self(Some(batch))
    }

    fn add(&mut self, add: impl FnOnce(&mut Batch) -> twindex_cluster::Result<()>) -> Result<()> {
        let batch = self.0.as_mut().ok_or_else(ended)?;
        now(|| add(batch))
    }
}

#[napi]
impl NativeBatch {
    /// 0 inserts, 1 replaces, 2 upserts.
    #[napi]
    pub fn put(&mut self, table: &NativeTable, verb: u32, key: Uint8Array, value: Uint8Array) -> Result<()> {
        self.add(|batch| match verb {
            0 => batch.insert(&table.0, key, value),
            1 => batch.replace(&table.0, key, value),
            _ => batch.upsert(&table.0, key, value),
        })
    }

    #[napi]
    pub fn delete(&mut self, table: &NativeTable, key: Uint8Array) -> Result<()> {
        self.add(|batch| batch.delete(&table.0, key))
    }

    #[napi]
    pub fn increment(&mut self, table: &NativeTable, key: Uint8Array, by: BigInt) -> Result<()> {
        let by = amount(&by)?;
        self.add(|batch| batch.increment(&table.0, key, by))
    }

    #[napi]
    pub fn expect(&mut self, table: &NativeTable, key: Uint8Array, value: Option<Uint8Array>) -> Result<()> {
        self.add(|batch| batch.expect(&table.0, key, value.as_deref()))
    }

    /// The number of writes in it.
    #[napi(getter)]
    pub fn size(&self) -> u32 {
        self.0.as_ref().map_or(0, |batch| u32::try_from(batch.len()).unwrap_or(u32::MAX))
    }

    #[napi]
    pub fn commit<'e>(&mut self, env: &'e Env) -> Result<PromiseRaw<'e, Vec<bool>>> {
        let batch = self.0.take().ok_or_else(ended)?;
        answer(env, async move { batch.commit().await })
    }
}
