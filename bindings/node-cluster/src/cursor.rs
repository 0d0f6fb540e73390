//! The classes `NativeCursor` and `NativePairs`.

use std::sync::Arc;

use napi::Result;
use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use tokio::sync::Mutex;
use twindex_cluster::{Cursor, Walk};

use crate::answer::{Block, answer, block};

/// A position in a sorted table. Calls take their turns.
#[napi]
pub struct NativeCursor(Arc<Mutex<Cursor>>);

impl NativeCursor {
    pub(crate) fn new(cursor: Cursor) -> Self {
        Self(Arc::new(Mutex::new(cursor)))
    }
}

#[napi]
impl NativeCursor {
    /// One pair, which a cursor reads ahead of.
    #[napi]
    pub fn next<'e>(&self, env: &'e Env, down: bool) -> Result<PromiseRaw<'e, Block>> {
        let cursor = self.0.clone();
        answer(env, async move {
            let mut cursor = cursor.lock().await;
            let pair = if down { cursor.scan_desc_next().await? } else { cursor.scan_asc_next().await? };
            Ok(block(pair.as_slice()))
        })
    }

    #[napi]
    pub fn next_many<'e>(&self, env: &'e Env, down: bool, limit: u32) -> Result<PromiseRaw<'e, Block>> {
        let (cursor, limit) = (self.0.clone(), limit as usize);
        answer(env, async move {
            let mut cursor = cursor.lock().await;
            let pairs = if down {
                cursor.scan_desc_next_many(limit).await?
            } else {
                cursor.scan_asc_next_many(limit).await?
            };
            Ok(block(&pairs))
        })
    }
}

/// Pairs that come one after another.
#[napi]
pub struct NativePairs(Arc<Mutex<Walk>>);

impl NativePairs {
    pub(crate) fn new(pairs: impl Into<Walk>) -> Self {
        Self(Arc::new(Mutex::new(pairs.into())))
    }
}

#[napi]
impl NativePairs {
    #[napi]
    pub fn next_many<'e>(&self, env: &'e Env, count: u32) -> Result<PromiseRaw<'e, Block>> {
        let source = self.0.clone();
        answer(env, async move {
            let pairs = source.lock().await.next_many(count as usize).await?;
            Ok(block(&pairs))
        })
    }
}
