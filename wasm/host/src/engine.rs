//! `twindex:engine/stores`: the buckets as tables.

use std::ops::Bound as Std;
use std::sync::Arc;

use twindex::{IndexKind, Write};
use wasmtime::Result;
use wasmtime::component::{ComponentType, Lift, Lower, Resource};

use crate::bucket::{Bucket, Pair};
use crate::guest::{Guest, Handle};
use crate::linking::{Interface, Linking};
use crate::refused::{self, Refused};

/// The version of the interface is that of the packages.
const STORES: &str = concat!("twindex:engine/stores@", env!("CARGO_PKG_VERSION"));

#[derive(ComponentType, Lift, Lower)]
#[component(record)]
struct Error {
    code: String,
    message: String,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self { code: refused.code().into(), message: refused.to_string() }
    }
}

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
enum Index {
    #[component(name = "hash")]
    Hash,
    #[component(name = "sorted")]
    Sorted,
}

impl From<IndexKind> for Index {
    fn from(index: IndexKind) -> Self {
        if index == IndexKind::Hash { Self::Hash } else { Self::Sorted }
    }
}

#[derive(ComponentType, Lift)]
#[component(record)]
struct TableOptions {
    index: Index,
    keys: Option<String>,
    values: Option<String>,
    #[expect(dead_code, reason = "a guest creates no buckets")]
    create: bool,
}

#[derive(ComponentType, Lift)]
#[component(variant)]
enum Bound {
    #[component(name = "unbounded")]
    Unbounded,
    #[component(name = "included")]
    Included(Vec<u8>),
    #[component(name = "excluded")]
    Excluded(Vec<u8>),
}

impl From<Bound> for Std<Vec<u8>> {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Unbounded => Self::Unbounded,
            Bound::Included(key) => Self::Included(key),
            Bound::Excluded(key) => Self::Excluded(key),
        }
    }
}

/// The `store` of a guest: its buckets.
struct Store;

type Bytes = Vec<u8>;

pub(crate) fn add<T: Send + 'static>(linking: &mut Linking<'_, T>) -> Result<()> {
    let mut stores = linking.interface(STORES)?;
    // All are the same, so they take no handle.
    stores.resource::<Store>("store", |_, _| Ok(()))?;
    stores.at_once("[static]store.buckets", |_, (): ()| Ok(Resource::<Store>::new_own(0)))?;
    stores.at_once("[method]store.table", |guest, (_, name, index): (Resource<Store>, String, Index)| {
        Ok(open(guest, &name, index, [None, None]).map_err(Error::from))
    })?;
    stores.at_once(
        "[method]store.table-with",
        |guest, (_, name, options): (Resource<Store>, String, TableOptions)| {
            let codecs = [options.keys.as_deref(), options.values.as_deref()];
            Ok(open(guest, &name, options.index, codecs).map_err(Error::from))
        },
    )?;
    stores.at_once("[method]store.tables", |guest, (_,): (Resource<Store>,)| {
        let tables = guest.buckets.iter();
        let mut tables: Vec<(String, Index)> =
            tables.map(|(name, bucket)| (name.clone(), bucket.table.index().into())).collect();
        tables.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(tables)
    })?;
    reads(&mut stores)?;
    writes(&mut stores)
}

fn reads<T: Send + 'static>(stores: &mut Interface<'_, T>) -> Result<()> {
    stores.resource::<Arc<Bucket>>("table", Guest::drop_handle)?;
    stores.at_once("[method]table.name", |guest, (table,): (Handle,)| {
        let bucket = guest.bucket(&table)?;
        let name = guest.buckets.iter().find(|(_, given)| Arc::ptr_eq(given, bucket));
        Ok(name.map(|(name, _)| name.clone()).unwrap_or_default())
    })?;
    stores.at_once("[method]table.index", |guest, (table,): (Handle,)| {
        Ok(Index::from(guest.bucket(&table)?.table.index()))
    })?;
    stores.at_once("[method]table.codecs", |guest, (table,): (Handle,)| {
        let bucket = guest.bucket(&table)?;
        let (keys, values) = bucket.table.codecs();
        Ok((keys.to_owned(), values.to_owned()))
    })?;
    stores.at_once("[method]table.len", |guest, (table,): (Handle,)| {
        Ok(guest.bucket(&table)?.table.len() as u64)
    })?;
    stores.at_once("[method]table.select", |guest, (table, key): (Handle, Bytes)| {
        Ok(guest.bucket(&table)?.table.select(key).map_err(Refused::from)?)
    })?;
    stores.at_once("[method]table.contains", |guest, (table, key): (Handle, Bytes)| {
        Ok(guest.bucket(&table)?.table.contains(key).map_err(Refused::from)?)
    })?;
    stores.at_once("[method]table.select-many", |guest, (table, keys): (Handle, Vec<Bytes>)| {
        Ok(guest.bucket(&table)?.select_many(&keys, guest.limits.answer)?)
    })?;
    stores.at_once("[method]table.contains-many", |guest, (table, keys): (Handle, Vec<Bytes>)| {
        Ok(guest.bucket(&table)?.table.contains_many(&keys).map_err(Refused::from)?)
    })?;
    stores.at_once(
        "[method]table.scan",
        |guest, (table, lower, upper, reverse, limit): (Handle, Bound, Bound, bool, u32)| {
            let range = (Std::from(lower), Std::from(upper));
            let bucket = guest.bucket(&table)?;
            Ok(bucket.scan(range, reverse, limit as usize, guest.limits.answer).map_err(Error::from))
        },
    )?;
    stores.read::<_, _, Error>("[method]table.first", |bucket, _: (Handle,)| Ok(bucket.table.first()?))?;
    stores.read::<_, _, Error>("[method]table.last", |bucket, _: (Handle,)| Ok(bucket.table.last()?))
}

fn writes<T: Send + 'static>(stores: &mut Interface<'_, T>) -> Result<()> {
    for (name, write) in [("insert", Write::Insert), ("replace", Write::Replace), ("upsert", Write::Upsert)] {
        let method = format!("[method]table.{name}");
        stores.write::<_, _, Error>(&method, move |bucket, (_, key, value): (Handle, Bytes, Bytes)| {
            bucket.write(write, &key, &value)
        })?;
        stores.write::<_, _, Error>(
            &format!("{method}-many"),
            move |bucket, (_, pairs): (Handle, Vec<Pair>)| bucket.write_many(write, &pairs),
        )?;
    }
    stores.write::<_, _, Error>("[method]table.delete", |bucket, (_, key): (Handle, Bytes)| {
        bucket.delete(&key)
    })?;
    stores.write::<_, _, Error>("[method]table.delete-many", |bucket, (_, keys): (Handle, Vec<Bytes>)| {
        bucket.delete_many(&keys)
    })?;
    stores
        .write::<_, _, Error>("[method]table.take", |bucket, (_, key): (Handle, Bytes)| bucket.take(&key))?;
    stores
        .write::<_, _, Error>("[method]table.increment", |bucket, (_, key, by): (Handle, Bytes, i64)| {
            bucket.increment(&key, by)
        })?;
    stores.write::<_, _, Error>(
        "[method]table.increment-many",
        |bucket, (_, amounts): (Handle, Vec<(Bytes, i64)>)| {
            amounts.iter().map(|(key, by)| bucket.increment(key, *by)).collect::<refused::Result<Vec<_>>>()
        },
    )?;
    stores.write::<_, _, Error>(
        "[method]table.compare-and-swap",
        |bucket, (_, key, expected, new): (Handle, Bytes, Option<Bytes>, Option<Bytes>)| {
            bucket.swap(&key, expected.as_deref(), new.as_deref())
        },
    )?;
    stores.write::<_, _, Error>("[method]table.clear", |bucket, _: (Handle,)| bucket.clear())?;
    stores.write::<_, _, Error>("[method]table.pop-first", |bucket, _: (Handle,)| bucket.pop(false))?;
    stores.write::<_, _, Error>("[method]table.pop-last", |bucket, _: (Handle,)| bucket.pop(true))?;
    stores.write::<_, _, Error>(
        "[method]table.delete-range",
        |bucket, (_, lower, upper): (Handle, Bound, Bound)| bucket.delete_range((lower.into(), upper.into())),
    )?;
    stores.write::<_, _, Error>("[method]table.delete-prefix", |bucket, (_, prefix): (Handle, Bytes)| {
        bucket.delete_range(twindex::prefix_range(&prefix))
    })
}

/// Opens a bucket as a table. It is never created, and has to have this index and, where they are named, these codecs.
fn open(guest: &mut Guest, name: &str, index: Index, codecs: [Option<&str>; 2]) -> refused::Result<Handle> {
    let table = &guest.find(name)?.table;
    let index = match index {
        Index::Hash => IndexKind::Hash,
        Index::Sorted => IndexKind::Sorted,
    };
    if table.index() != index {
        let (table, has) = (name.to_owned(), table.index());
        return Err(twindex::Error::WrongIndex { table, has, needs: index }.into());
    }
    let (keys, values) = table.codecs();
    for (of, has, needs) in [("keys", keys, codecs[0]), ("values", values, codecs[1])] {
        if let Some(needs) = needs.filter(|needs| ![has, "bytes"].contains(needs)) {
            let (table, has, needs) = (name.to_owned(), has.to_owned(), needs.to_owned());
            return Err(twindex::Error::WrongCodec { table, of, has, needs }.into());
        }
    }
    guest.open(name)
}
