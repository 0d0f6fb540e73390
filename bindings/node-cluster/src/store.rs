//! The class `NativeStore`.

use std::time::Duration;

use napi::Result;
use napi::bindgen_prelude::{Env, PromiseRaw, Uint8Array};
use napi_derive::napi;
use twindex_cluster::{IndexKind, Options, TableOptions};

use crate::answer::{answer, millis, now};
use crate::batch::NativeBatch;
use crate::table::NativeTable;

#[napi]
pub struct NativeStore(twindex_cluster::Store);

/// The options of `connect`; times are in milliseconds.
#[napi(object)]
pub struct Given {
    pub namespace: Option<String>,
    pub near_cache: Option<f64>,
    pub longest_life: Option<f64>,
    pub timeout: Option<f64>,
    pub connect_timeout: Option<f64>,
    pub patience: Option<f64>,
    pub catalogue_age: Option<f64>,
    pub partitions: Option<u32>,
    pub replicas: Option<u32>,
    /// Announced addresses, each with where it is reached.
    pub addresses: Option<Vec<Vec<String>>>,
    pub tls_authority: Option<Uint8Array>,
    /// A certificate and its key.
    pub tls_identity: Option<Vec<Uint8Array>>,
}

/// What sets one of the times.
type SetTime = fn(Options, Duration) -> Options;

fn options(given: Given) -> Options {
    let mut options = Options::new();
    if let Some(namespace) = &given.namespace {
        options = options.namespace(namespace);
    }
    if let Some(bytes) = given.near_cache {
        // JavaScript checked that it is a whole number from 0 on.
        #[allow(clippy::cast_sign_loss, reason = "it is not negative")]
        let bytes = bytes as usize;
        options = options.near_cache(bytes);
    }
    let times: [(Option<f64>, SetTime); 5] = [
        (given.longest_life, Options::longest_life),
        (given.timeout, Options::timeout),
        (given.connect_timeout, Options::connect_timeout),
        (given.patience, Options::patience),
        (given.catalogue_age, Options::catalogue_age),
    ];
    for (time, set) in times {
        if let Some(time) = time {
            options = set(options, millis(time));
        }
    }
    if let Some(partitions) = given.partitions {
        options = options.partitions(u16::try_from(partitions).unwrap_or(u16::MAX));
    }
    if let Some(replicas) = given.replicas {
        options = options.replicas(replicas);
    }
    for pair in given.addresses.iter().flatten() {
        if let [announced, reached] = &pair[..] {
            options = options.address(announced, reached);
        }
    }
    if let Some(pem) = &given.tls_authority {
        options = options.tls_authority(pem);
    }
    if let Some([certificate, key]) = given.tls_identity.as_deref() {
        options = options.tls_identity(certificate, key);
    }
    options
}

#[napi]
pub fn connect(env: &Env, url: String, given: Given) -> Result<PromiseRaw<'_, NativeStore>> {
    let options = options(given);
    answer(env, async move { options.connect(&url).await.map(NativeStore) })
}

#[napi]
impl NativeStore {
    #[napi]
    pub fn table<'e>(
        &self,
        env: &'e Env,
        name: String,
        index: Option<String>,
        keys: Option<String>,
        values: Option<String>,
        create: bool,
    ) -> Result<PromiseRaw<'e, NativeTable>> {
        let index: Option<IndexKind> = now(|| Ok(index.map(|index| index.parse()).transpose()?))?;
        let store = self.0.clone();
        answer(env, async move {
            let options = TableOptions::new(index.unwrap_or(IndexKind::Hash));
            let options = options.any_index(index.is_none()).create(create);
            let options = match &keys {
                Some(name) => options.keys(name),
                None => options.keys_if_new("str"),
            };
            let options = match &values {
                Some(name) => options.values(name),
                None => options.values_if_new("str"),
            };
            store.table_with(&name, options).await.map(NativeTable)
        })
    }

    /// The name and index of each, in turn.
    #[napi]
    pub fn tables<'e>(&self, env: &'e Env) -> Result<PromiseRaw<'e, Vec<String>>> {
        let store = self.0.clone();
        answer(env, async move {
            let tables = store.tables().await?;
            Ok(tables.iter().flat_map(|table| [table.name().into(), table.index().to_string()]).collect())
        })
    }

    #[napi]
    pub fn drop_table<'e>(&self, env: &'e Env, name: String) -> Result<PromiseRaw<'e, bool>> {
        let store = self.0.clone();
        answer(env, async move { store.drop_table(&name).await })
    }

    #[napi]
    pub fn batch(&self) -> NativeBatch {
        NativeBatch::new(self.0.batch())
    }

    /// The addresses of the masters.
    #[napi]
    pub fn servers(&self) -> Vec<String> {
        self.0.servers()
    }

    /// Hits, misses, invalidations, how often it was emptied, pairs, bytes, servers and channels.
    #[napi]
    #[allow(clippy::cast_precision_loss, reason = "JavaScript's numbers have 53 bits")]
    pub fn near_stats(&self) -> Option<Vec<f64>> {
        let stats = self.0.near_stats()?;
        let counts = [stats.hits, stats.misses, stats.invalidations, stats.emptied];
        let sizes = [stats.pairs, stats.bytes, stats.servers, stats.channels];
        Some(counts.into_iter().map(|count| count as f64).chain(sizes.map(|size| size as f64)).collect())
    }

    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}
