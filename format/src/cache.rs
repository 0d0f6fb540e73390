//! Caches as bytes.

use std::io::{Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twindex::internal::{CacheFilling, cache_options, millis, walk_cache};
use twindex::{Cache, CacheOptions, Error, Index, Result, Store, Table};

use crate::entry::TableEntry;
use crate::progress::Progress;
use crate::record::{CACHE_VERSION, Header, Kind, OUT_OF_PLACE, corrupt};
use crate::stream::Source;
use crate::unpack::Unpacked;
use crate::varint::{number, push_varint, take_varint};
use crate::writer::Writer;

/// Writes a cache, and when its pairs expire, for [`SavedCache`] to read. `now` is the time of day. Returns how much it wrote.
///
/// Pairs that other threads write meanwhile may be missing. Fails with [`Error::TableDropped`] if the cache was dropped before
/// or meanwhile.
pub fn write_cache<W: Write + ?Sized>(
    cache: &Cache,
    now: SystemTime,
    writer: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<Progress> {
    let now = since_1970(now);
    let header = Header::encode_version(CACHE_VERSION, 0);
    let mut file = Writer::new(header, 0, writer, progress);
    file.begin();
    push_varint(&mut file.bytes, CACHE_ID.into());
    push_varint(&mut file.bytes, cache.len() as u64);
    let size = |size: Option<usize>| size.map_or(NONE, |size| size as u64);
    let ttl = cache.default_ttl().map_or(NONE, millis);
    for number in [size(cache.capacity_bytes()), size(cache.capacity_pairs()), ttl, now] {
        file.bytes.extend(number.to_le_bytes());
    }
    let (keys, values) = cache.codecs();
    file.bytes.extend(TableEntry { name: cache.name(), index: Index::Hash, keys, values }.encode());
    file.close(Kind::Table);
    let mut next = Some(0);
    while let Some(from) = next {
        next = walk_cache(cache, from, |key, value, left, rank| {
            let mut standing = Vec::with_capacity(9);
            if let Some(left) = left {
                standing.extend(now.saturating_add(left).to_le_bytes());
            }
            standing.push(rank | if left.is_some() { EXPIRES } else { 0 });
            // A value that is too long with its standing is left out: a cache may drop pairs.
            if value.len() <= u32::MAX as usize - standing.len() {
                file.push(CACHE_ID, key, value, &standing);
            }
        });
        file.write()?;
    }
    // If the cache was dropped meanwhile, pairs are missing from the dump.
    if cache.is_dropped() {
        return Err(Error::TableDropped { table: cache.name().into() });
    }
    file.close_pairs();
    file.end()
}

/// The id of the one cache in a file.
const CACHE_ID: u32 = 0;
/// Stands for no capacity or no time to live.
const NONE: u64 = u64::MAX;
/// Bits of the byte behind a cached value: the rank, and whether the pair expires. If so, the time precedes the byte.
const RANK: u8 = 3;
const EXPIRES: u8 = 4;

/// Milliseconds since 1970.
fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, millis)
}

/// A file that [`write_cache`] wrote. Its beginning was read, its pairs were not yet.
///
/// ```
/// use std::time::SystemTime;
/// use twindex::{CacheOptions, Store};
/// use twindex_format::{SavedCache, write_cache};
///
/// let pages = Store::new().cache("pages", CacheOptions::pairs(1_000))?;
/// pages.upsert("/", "<h1>Hello")?;
/// let mut bytes = Vec::new();
/// write_cache(&pages, SystemTime::now(), &mut bytes, &mut |_| {})?;
///
/// let saved = SavedCache::read(bytes.as_slice())?;
/// let options = saved.options();
/// let pages = saved.load(&Store::new(), "pages", options, SystemTime::now())?;
/// assert_eq!(pages.select("/").as_deref(), Some(&b"<h1>Hello"[..]));
/// # Ok::<(), twindex::Error>(())
/// ```
#[derive(Debug)]
pub struct SavedCache<R> {
    source: Source<R>,
    options: CacheOptions,
    ttl: Option<Duration>,
    codecs: [String; 2],
    name: String,
    saved_at: u64,
}

impl<R: Read> SavedCache<R> {
    /// Reads the beginning of the file. Fails with [`Error::Corrupt`] if the file does not begin as that of a cache.
    pub fn read(reader: R) -> Result<Self> {
        let mut source = Source { reader, offset: 0, payload: Vec::new() };
        source.header(CACHE_VERSION)?;
        let offset = source.offset;
        let kind = source.record(0)?;
        let mut payload = source.payload.as_slice();
        let mut take = || {
            let (id, _pairs): (u32, u64) = (take_varint(&mut payload)?, take_varint(&mut payload)?);
            let mut next = || Some(number(payload.split_off(..8)?));
            let numbers = [next()?, next()?, next()?, next()?];
            Some((id, numbers, TableEntry::decode(payload)?))
        };
        let found = take().filter(|&(id, ..)| kind == Some(Kind::Table) && id == CACHE_ID);
        let Some((_, [bytes, pairs, ttl, saved_at], entry)) = found else {
            return corrupt(offset, "the record that describes the cache is damaged or not valid");
        };
        let size = |size: u64| match size {
            NONE => usize::MAX,
            size => size.try_into().unwrap_or(usize::MAX - 1),
        };
        let options = cache_options(size(bytes), size(pairs)).codecs(entry.keys, entry.values);
        let ttl = (ttl != NONE).then(|| Duration::from_millis(ttl));
        let options = match ttl {
            Some(ttl) => options.ttl(ttl),
            None => options,
        };
        let codecs = [entry.keys, entry.values].map(Into::into);
        let name = entry.name.into();
        Ok(Self { source, options, ttl, codecs, name, saved_at })
    }

    /// The name that the cache had in its store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The codecs of its keys and of its values.
    pub fn codecs(&self) -> (&str, &str) {
        let [keys, values] = &self.codecs;
        (keys, values)
    }

    /// The options that the cache was made with: capacity, time to live and codecs, but no listener.
    pub fn options(&self) -> CacheOptions {
        self.options.clone()
    }

    /// How long pairs lived by default.
    pub fn default_ttl(&self) -> Option<Duration> {
        self.ttl
    }

    /// Reads the pairs into a new cache called `name`. `now` is the time of day.
    ///
    /// Each pair keeps the time at which it expires. Pairs that have expired since the cache was saved are left out. If
    /// the capacity is too small for all pairs, those stay that were hit most. The listener is not called for the others.
    ///
    /// If it fails, the store is as it was. Fails with [`Error::Corrupt`] if the file is incomplete or damaged, with
    /// [`Error::NameInUse`] if the store has a table or cache of this name, with [`Error::WrongCodec`] if the options
    /// name other codecs (`bytes` goes with any), and with [`Error::NoClock`] if pairs expire and the store has no clock.
    pub fn load(
        mut self,
        store: &Store,
        name: &str,
        options: CacheOptions,
        now: SystemTime,
    ) -> Result<Cache> {
        let filling = CacheFilling::begin(store, name, options, self.codecs())?;
        // If the clock was set back meanwhile, no pair may live longer for that.
        let now = since_1970(now).max(self.saved_at);
        let table = Store::new().table(name, Index::Hash)?;
        self.each(&table, &mut |key, value, Standing { expires, rank }| {
            filling.add(key, value, expires.map(|at| at.saturating_sub(now)), rank)
        })?;
        filling.end()
    }

    /// Reads the pairs and keeps nothing. Returns how many there are, expired ones included. Fails as
    /// [`load`](Self::load) does if the file is damaged.
    pub fn check(mut self) -> Result<Progress> {
        let table = Store::new().table(&self.name, Index::Hash)?;
        self.each(&table, &mut |_, _, _| Ok(()))
    }

    /// Calls `read` with each pair. Its time of expiry is a time of day. `table` is not changed.
    fn each(&mut self, table: &Table, read: &mut ReadPair<'_>) -> Result<Progress> {
        let mut pairs = 0;
        while let Some((kind, offset)) = self.source.next(0, pairs)? {
            let mut payload = self.source.payload.as_slice();
            if kind != Kind::Pairs || take_varint(&mut payload) != Some(CACHE_ID) {
                return corrupt(offset, OUT_OF_PLACE);
            }
            let mut unpacked = Unpacked::new(table, 0, offset, payload)?;
            while !unpacked.pairs.is_empty() {
                for (key, value) in &unpacked.pairs {
                    let Some((value, standing)) = take_standing(value) else {
                        return corrupt(offset, "a cached pair's rank or time is not valid");
                    };
                    read(&unpacked.keys[key.clone()], value, standing)?;
                    pairs += 1;
                }
                unpacked.next_group()?;
            }
        }
        Ok(Progress { pairs, bytes: self.source.offset })
    }
}

/// How a pair stands: when it expires, in milliseconds since 1970, and its rank.
struct Standing {
    expires: Option<u64>,
    rank: u8,
}

type ReadPair<'r> = dyn FnMut(&[u8], &[u8], Standing) -> Result<()> + 'r;

/// Splits a cached value, as a file stores it, into the value and the pair's standing.
fn take_standing(mut value: &[u8]) -> Option<(&[u8], Standing)> {
    let bits = *value.split_off_last()?;
    if bits & !(RANK | EXPIRES) != 0 {
        return None;
    }
    let expires = match bits & EXPIRES {
        0 => None,
        _ => Some(number(value.split_off(value.len().checked_sub(8)?..)?)),
    };
    Some((value, Standing { expires, rank: bits & RANK }))
}
