//! `wasi:keyvalue` over one store, of which each sorted table is a bucket.

use std::cell::OnceCell;
use std::ops::Bound;

use twindex::{IndexKind, Store, Table};
use twindex_format::values_that_expire;

use crate::Component;
use crate::bindings::exports::wasi::keyvalue::atomics::{self, CasError, GuestCas};
use crate::bindings::exports::wasi::keyvalue::batch;
use crate::bindings::exports::wasi::keyvalue::store::{self, Error, GuestBucket, KeyResponse};

/// The most keys of one answer.
const PAGE: usize = 1000;

/// The store of all buckets.
pub(crate) fn buckets() -> Store {
    thread_local! {
        static BUCKETS: OnceCell<Store> = const { OnceCell::new() };
    }
    BUCKETS.with(|buckets| buckets.get_or_init(Store::new).clone())
}

type Result<T> = std::result::Result<T, Error>;

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        match error {
            twindex::Error::TableName { .. } => Self::NoSuchStore,
            error => Self::Other(format!("{}: {error}", error.code())),
        }
    }
}

// --- store

pub(crate) struct Bucket(Table);

impl store::Guest for Component {
    type Bucket = Bucket;

    fn open(identifier: String) -> Result<store::Bucket> {
        let table = buckets().table(&identifier, IndexKind::Sorted)?;
        if values_that_expire(table.codecs().1).is_some() {
            return Err(Error::Other(
                "the pairs of this table expire, which this component does not support".into(),
            ));
        }
        Ok(store::Bucket::new(Bucket(table)))
    }
}

impl GuestBucket for Bucket {
    fn get(&self, key: String) -> Result<Option<Vec<u8>>> {
        Ok(self.0.select(key))
    }

    fn set(&self, key: String, value: Vec<u8>) -> Result<()> {
        self.0.upsert(key, value)?;
        Ok(())
    }

    fn delete(&self, key: String) -> Result<()> {
        self.0.delete(key)?;
        Ok(())
    }

    fn exists(&self, key: String) -> Result<bool> {
        Ok(self.0.contains(key))
    }

    fn list_keys(&self, cursor: Option<String>) -> Result<KeyResponse> {
        let after = cursor.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_bytes()));
        let mut pairs = self.0.cursor((after, Bound::Unbounded))?;
        let mut keys = Vec::new();
        while keys.len() < PAGE
            && let Some((key, _)) = pairs.scan_asc_next()
        {
            // A program that opens the table as bytes may write keys that are not valid here.
            if let Ok(key) = std::str::from_utf8(key) {
                keys.push(key.to_owned());
            }
        }
        let cursor = keys.last().filter(|_| keys.len() == PAGE).cloned();
        Ok(KeyResponse { keys, cursor })
    }
}

// --- atomics

/// A key and the value that was seen of it.
pub(crate) struct Cas {
    table: Table,
    key: String,
    seen: Option<Vec<u8>>,
}

impl Cas {
    fn look(table: Table, key: String) -> atomics::Cas {
        let seen = table.select(&key);
        atomics::Cas::new(Self { table, key, seen })
    }
}

impl atomics::Guest for Component {
    type Cas = Cas;

    fn increment(bucket: store::BucketBorrow<'_>, key: String, delta: i64) -> Result<i64> {
        Ok(bucket.get::<Bucket>().0.increment(key, delta)?)
    }

    fn swap(cas: atomics::Cas, value: Vec<u8>) -> std::result::Result<(), CasError> {
        let Cas { table, key, seen } = cas.into_inner::<Cas>();
        match table.compare_and_swap(&key, seen.as_deref(), Some(&value)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CasError::CasFailed(Cas::look(table, key))),
            Err(error) => Err(CasError::StoreError(error.into())),
        }
    }
}

impl GuestCas for Cas {
    fn new(bucket: store::BucketBorrow<'_>, key: String) -> Result<atomics::Cas> {
        Ok(Self::look(bucket.get::<Bucket>().0.clone(), key))
    }

    fn current(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.seen.clone())
    }
}

// --- batch

impl batch::Guest for Component {
    fn get_many(
        bucket: store::BucketBorrow<'_>,
        keys: Vec<String>,
    ) -> Result<Vec<Option<(String, Vec<u8>)>>> {
        let mut values = Vec::with_capacity(keys.len());
        bucket.get::<Bucket>().0.select_many(&keys, |_, value| values.push(value.map(<[u8]>::to_vec)));
        Ok(keys.into_iter().zip(values).map(|(key, value)| Some((key, value?))).collect())
    }

    fn set_many(bucket: store::BucketBorrow<'_>, key_values: Vec<(String, Vec<u8>)>) -> Result<()> {
        bucket.get::<Bucket>().0.upsert_many(&key_values)?;
        Ok(())
    }

    fn delete_many(bucket: store::BucketBorrow<'_>, keys: Vec<String>) -> Result<()> {
        bucket.get::<Bucket>().0.delete_many(&keys)?;
        Ok(())
    }
}
