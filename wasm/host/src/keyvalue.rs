//! `wasi:keyvalue` in its drafts.

use std::sync::Arc;

use twindex::Write;
use twindex_durable as durable;
use wasmtime::Result;
use wasmtime::component::{ComponentType, Lift, Lower, Resource};

use crate::GetMany;
use crate::bucket::{Bucket, Cas, Position};
use crate::guest::{Guest, Handle};
use crate::linking::{Interface, Linking};
use crate::refused::{self, Refused};

const DRAFT: &str = "0.2.0-draft";
pub(crate) const DRAFT2: &str = "0.2.0-draft2";

pub(crate) fn name(interface: &str, version: &str) -> String {
    format!("wasi:keyvalue/{interface}@{version}")
}

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum Error {
    #[component(name = "no-such-store")]
    NoSuchStore,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "other")]
    Other(String),
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoSuchStore(_) => Self::NoSuchStore,
            Refused::ReadOnly | Refused::Store(durable::Error::ReadOnly { .. }) => Self::AccessDenied,
            other => Self::Other(format!("{}: {other}", other.code())),
        }
    }
}

/// A page of keys, with a cursor of the draft's type.
#[derive(ComponentType, Lower)]
#[component(record)]
struct KeyResponse<C> {
    keys: Vec<String>,
    cursor: Option<C>,
}

#[derive(ComponentType, Lower)]
#[component(variant)]
enum CasError {
    #[component(name = "store-error")]
    StoreError(Error),
    #[component(name = "cas-failed")]
    CasFailed(Resource<Cas>),
}

impl From<Refused> for CasError {
    fn from(refused: Refused) -> Self {
        Self::StoreError(refused.into())
    }
}

type Answer<T> = std::result::Result<T, Error>;

pub(crate) fn add<T: Send + 'static>(linking: &mut Linking<'_, T>, form: GetMany) -> Result<()> {
    // Cursors are numbers in the first draft and text in the second.
    store(&mut linking.interface(&name("store", DRAFT))?, |guest, bucket, cursor: Option<u64>| {
        let from = match cursor {
            None | Some(0) => None,
            Some(at) if is_hash(bucket) => Some(Position::Hash(at)),
            Some(number) => Some(Position::After(guest.recall(number)?)),
        };
        list(bucket, from, |next| match next {
            Position::Hash(at) => at,
            Position::After(key) => guest.remember(key),
        })
    })?;
    store(&mut linking.interface(&name("store", DRAFT2))?, |_, bucket, cursor: Option<String>| {
        let from = cursor.map(|cursor| parsed(bucket, &cursor).ok_or(Refused::Cursor)).transpose()?;
        list(bucket, from, |next| match next {
            Position::Hash(at) => at.to_string(),
            Position::After(key) => hex(&key),
        })
    })?;
    let mut atomics = linking.interface(&name("atomics", DRAFT))?;
    atomics.write::<_, _, Error>("increment", |bucket, (_, key, by): (Handle, String, u64)| {
        bucket.increment(key.as_bytes(), by)
    })?;
    swaps(&mut linking.interface(&name("atomics", DRAFT2))?)?;
    for version in [DRAFT, DRAFT2] {
        let mut batch = linking.interface(&name("batch", version))?;
        batch.write::<_, _, Error>("set-many", |bucket, (_, pairs): (Handle, Vec<(String, Vec<u8>)>)| {
            bucket.write_many(Write::Upsert, &pairs).map(drop)
        })?;
        batch.write::<_, _, Error>("delete-many", |bucket, (_, keys): (Handle, Vec<String>)| {
            bucket.delete_many(&keys).map(drop)
        })?;
        if version == DRAFT2 && form == GetMany::Tuples {
            batch.at_once("get-many", |guest, params| {
                let pairs = get_many(guest, params)?;
                Ok(pairs.map(Iterator::collect::<Vec<(String, Option<Vec<u8>>)>>))
            })?;
        } else {
            batch.at_once("get-many", |guest, params| {
                let pairs = get_many(guest, params)?;
                Ok(pairs.map(|pairs| pairs.map(|(key, value)| Some((key, value?))).collect::<Vec<_>>()))
            })?;
        }
    }
    Ok(())
}

fn store<T: Send + 'static, C: ComponentType + Lift + Lower + 'static>(
    store: &mut Interface<'_, T>,
    list: impl Fn(&mut Guest, &Bucket, Option<C>) -> refused::Result<KeyResponse<C>> + Send + Sync + 'static,
) -> Result<()> {
    store.resource::<Arc<Bucket>>("bucket", Guest::drop_handle)?;
    store.at_once("open", |guest, (name,): (String,)| Ok(guest.open(&name).map_err(Error::from)))?;
    store.read::<_, _, Error>("[method]bucket.get", |bucket, (_, key): (Handle, String)| {
        Ok(bucket.table.select(key)?)
    })?;
    store.read::<_, _, Error>("[method]bucket.exists", |bucket, (_, key): (Handle, String)| {
        Ok(bucket.table.contains(key)?)
    })?;
    store.write::<_, _, Error>(
        "[method]bucket.set",
        |bucket, (_, key, value): (Handle, String, Vec<u8>)| {
            bucket.write(Write::Upsert, key.as_bytes(), &value).map(drop)
        },
    )?;
    store.write::<_, _, Error>("[method]bucket.delete", |bucket, (_, key): (Handle, String)| {
        bucket.delete(key.as_bytes()).map(drop)
    })?;
    store.at_once("[method]bucket.list-keys", move |guest, (handle, cursor): (Handle, Option<C>)| {
        let bucket = Arc::clone(guest.bucket(&handle)?);
        Ok(list(guest, &bucket, cursor).map_err(Error::from))
    })
}

/// The atomics of the second draft.
fn swaps<T: Send + 'static>(atomics: &mut Interface<'_, T>) -> Result<()> {
    atomics.write::<_, _, Error>("increment", |bucket, (_, key, by): (Handle, String, i64)| {
        bucket.increment(key.as_bytes(), by)
    })?;
    atomics.resource::<Cas>("cas", |guest, rep| guest.take_cas(Resource::new_own(rep)).map(drop))?;
    atomics.at_once("[static]cas.new", |guest, (handle, key): (Handle, String)| {
        let bucket = Arc::clone(guest.bucket(&handle)?);
        Ok(Cas::look(bucket, key).and_then(|cas| guest.push_cas(cas)).map_err(Error::from))
    })?;
    atomics.at_once("[method]cas.current", |guest, (cas,): (Resource<Cas>,)| {
        Ok(Answer::Ok(guest.cas(&cas)?.seen.clone()))
    })?;
    atomics.in_parts(
        "swap",
        |guest, (cas, value): (Resource<Cas>, Vec<u8>)| {
            let cas = guest.take_cas(cas)?;
            Ok((Arc::clone(&cas.bucket), (cas, value)))
        },
        |bucket, (cas, value)| {
            let Cas { bucket: own, key, seen } = cas;
            let swapped = bucket.swap(key.as_bytes(), seen.as_deref(), Some(&value))?;
            if swapped { Ok(None) } else { Cas::look(own, key).map(Some) }
        },
        |guest, stale: refused::Result<Option<Cas>>| {
            Ok(match stale.and_then(|stale| stale.map(|cas| guest.push_cas(cas)).transpose()) {
                Ok(None) => Ok(()),
                Ok(Some(cas)) => Err(CasError::CasFailed(cas)),
                Err(refused) => Err(refused.into()),
            })
        },
    )
}

fn get_many(
    guest: &mut Guest,
    (handle, keys): (Handle, Vec<String>),
) -> Result<Answer<impl Iterator<Item = (String, Option<Vec<u8>>)>>> {
    let values = guest.bucket(&handle)?.select_many(&keys, guest.limits.answer);
    Ok(values.map(|values| keys.into_iter().zip(values)).map_err(Error::from))
}

fn is_hash(bucket: &Bucket) -> bool {
    bucket.table.index() == twindex::IndexKind::Hash
}

fn list<C>(
    bucket: &Bucket,
    from: Option<Position>,
    cursor: impl FnOnce(Position) -> C,
) -> refused::Result<KeyResponse<C>> {
    let mut keys = Vec::new();
    // Programs outside may write keys that are none here.
    let next = bucket.page(from, |key| keys.extend(std::str::from_utf8(key).map(str::to_owned)))?;
    Ok(KeyResponse { keys, cursor: next.map(cursor) })
}

fn hex(key: &[u8]) -> String {
    use std::fmt::Write;
    key.iter().fold(String::with_capacity(2 * key.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn parsed(bucket: &Bucket, cursor: &str) -> Option<Position> {
    if is_hash(bucket) {
        return cursor.parse().ok().map(Position::Hash);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, odd) = cursor.as_bytes().as_chunks::<2>();
    let key = pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8));
    odd.is_empty().then(|| key.collect::<Option<_>>().map(Position::After))?
}
