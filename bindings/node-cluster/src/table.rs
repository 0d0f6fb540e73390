//! The class `NativeTable`.

use std::ops::Bound;

use napi::bindgen_prelude::{BigInt, Buffer, Env, PromiseRaw, Uint8Array};
use napi::{Error, Result, Status};
use napi_derive::napi;
use twindex_cluster::{Table, Ttl, Write};

use crate::answer::{answer, millis, now, owned};
use crate::cursor::{NativeCursor, NativePairs};

#[napi]
pub struct NativeTable(pub(crate) Table);

/// An end of a range: none, included or excluded.
#[napi(object)]
pub struct End {
    pub kind: u32,
    pub key: Option<Uint8Array>,
}

fn bound(end: &End) -> Bound<&[u8]> {
    match (&end.key, end.kind) {
        (Some(key), 1) => Bound::Included(key),
        (Some(key), 2) => Bound::Excluded(key),
        _ => Bound::Unbounded,
    }
}

/// An amount of 64 bits.
pub(crate) fn amount(by: &BigInt) -> Result<i64> {
    match by.get_i64() {
        (by, true) => Ok(by),
        _ => Err(Error::new(Status::InvalidArg, "TWINDEX_OVERFLOW\nan amount does not fit into 64 bits")),
    }
}

#[napi]
impl NativeTable {
    #[napi(getter)]
    pub fn name(&self) -> String {
        self.0.name().into()
    }

    #[napi(getter)]
    pub fn index(&self) -> String {
        self.0.index().to_string()
    }

    #[napi(getter)]
    pub fn codecs(&self) -> Vec<String> {
        let (keys, values) = self.0.codecs();
        vec![keys.into(), values.into()]
    }

    /// Whether this key could be written.
    #[napi]
    pub fn check(&self, key: Uint8Array) -> Result<()> {
        now(|| self.0.check(&key))
    }

    /// 0 inserts, 1 replaces, 2 upserts.
    #[napi]
    pub fn put<'e>(
        &self,
        env: &'e Env,
        verb: u32,
        keys: Vec<Uint8Array>,
        values: Vec<Uint8Array>,
        ttl: Option<f64>,
    ) -> Result<PromiseRaw<'e, Vec<bool>>> {
        let table = match ttl {
            Some(ttl) => now(|| self.0.with_ttl(millis(ttl)))?,
            None => self.0.clone(),
        };
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = owned(keys).into_iter().zip(owned(values)).collect();
        answer(env, async move {
            let write = [Write::Insert, Write::Replace, Write::Upsert][verb.min(2) as usize];
            table.write_many(write, &pairs).await
        })
    }

    #[napi]
    pub fn delete<'e>(&self, env: &'e Env, keys: Vec<Uint8Array>) -> Result<PromiseRaw<'e, Vec<bool>>> {
        let (table, keys) = (self.0.clone(), owned(keys));
        answer(env, async move { table.delete_many(&keys).await })
    }

    #[napi]
    pub fn select<'e>(
        &self,
        env: &'e Env,
        keys: Vec<Uint8Array>,
    ) -> Result<PromiseRaw<'e, Vec<Option<Buffer>>>> {
        let (table, keys) = (self.0.clone(), owned(keys));
        answer(env, async move {
            let values = table.select_many(&keys).await?;
            Ok(values.into_iter().map(|value| value.map(Buffer::from)).collect())
        })
    }

    #[napi]
    pub fn contains<'e>(&self, env: &'e Env, keys: Vec<Uint8Array>) -> Result<PromiseRaw<'e, Vec<bool>>> {
        let (table, keys) = (self.0.clone(), owned(keys));
        answer(env, async move { table.contains_many(&keys).await })
    }

    #[napi]
    pub fn increment<'e>(
        &self,
        env: &'e Env,
        keys: Vec<Uint8Array>,
        amounts: Vec<BigInt>,
    ) -> Result<PromiseRaw<'e, Vec<BigInt>>> {
        let amounts: Vec<i64> = amounts.iter().map(amount).collect::<Result<_>>()?;
        let (table, amounts) = (self.0.clone(), owned(keys).into_iter().zip(amounts).collect::<Vec<_>>());
        answer(env, async move {
            let sums = table.increment_many(&amounts).await?;
            Ok(sums.into_iter().map(BigInt::from).collect())
        })
    }

    #[napi]
    pub fn swap<'e>(
        &self,
        env: &'e Env,
        keys: Vec<Uint8Array>,
        expected: Vec<Option<Uint8Array>>,
        new: Vec<Option<Uint8Array>>,
    ) -> Result<PromiseRaw<'e, Vec<bool>>> {
        let optional = |items: Vec<Option<Uint8Array>>| -> Vec<Option<Vec<u8>>> {
            items.iter().map(|item| item.as_ref().map(|item| item.to_vec())).collect()
        };
        let (table, keys, expected, new) = (self.0.clone(), owned(keys), optional(expected), optional(new));
        answer(env, async move {
            let swaps: Vec<_> = keys
                .iter()
                .zip(expected.iter().zip(&new))
                .map(|(key, (old, new))| (&key[..], old.as_deref(), new.as_deref()))
                .collect();
            table.compare_and_swap_many(&swaps).await
        })
    }

    #[napi]
    #[allow(clippy::cast_precision_loss, reason = "JavaScript's numbers have 53 bits")]
    pub fn len<'e>(&self, env: &'e Env) -> Result<PromiseRaw<'e, f64>> {
        let table = self.0.clone();
        answer(env, async move { table.len().await.map(|pairs| pairs as f64) })
    }

    #[napi]
    pub fn clear<'e>(&self, env: &'e Env) -> Result<PromiseRaw<'e, ()>> {
        let table = self.0.clone();
        answer(env, async move { table.clear().await })
    }

    /// Milliseconds; below 0 where the pair does not expire, none where there is none.
    #[napi]
    pub fn ttl<'e>(&self, env: &'e Env, key: Uint8Array) -> Result<PromiseRaw<'e, Option<f64>>> {
        let (table, key) = (self.0.clone(), key.to_vec());
        answer(env, async move {
            Ok(match table.ttl(key).await? {
                Ttl::Absent => None,
                Ttl::Forever => Some(-1.0),
                Ttl::Left(left) => Some(left.as_secs_f64() * 1000.0),
            })
        })
    }

    #[napi]
    pub fn touch<'e>(&self, env: &'e Env, key: Uint8Array, ttl: Option<f64>) -> Result<PromiseRaw<'e, bool>> {
        let (table, key) = (self.0.clone(), key.to_vec());
        answer(env, async move { table.touch(key, ttl.map(millis)).await })
    }

    #[napi]
    pub fn cursor(&self, lower: End, upper: End) -> Result<NativeCursor> {
        now(|| self.0.cursor((bound(&lower), bound(&upper)))).map(NativeCursor::new)
    }

    #[napi]
    pub fn scan(&self, lower: End, upper: End, reverse: bool, limit: Option<f64>) -> Result<NativePairs> {
        let scan = now(|| self.0.scan((bound(&lower), bound(&upper))))?;
        let scan = if reverse { scan.rev() } else { scan };
        #[allow(clippy::cast_sign_loss, reason = "JavaScript checked that it is not negative")]
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(NativePairs::new(scan.limit(limit)))
    }

    #[napi]
    pub fn walk(&self) -> NativePairs {
        NativePairs::new(self.0.iter())
    }
}
