//! A saved cache: a head, blocks, a block of length 0, the number of pairs and its checksum.
//!
//! The head is magic, version (4 bytes), wall time in milliseconds; capacity, number of entries, time to live, time to idle, stale
//! time (8 each, all ones if there is none); the label's length (4), the label; a CRC-32 of all this.
//!
//! A block is its length, its checksum and its pairs. The checksum is a CRC-32 of the block's number, length and pairs. A pair
//! is: key length (2 bytes), value length (4), queue and uses (1), milliseconds left (8, all ones for ever), key, value. A block of
//! more than `BLOCK` bytes is one pair. Integers are little-endian. Time goes on while a cache is saved, by the wall's
//! clock; a pair never gets more time by that.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::{Cache, CacheOptions, Error, MAX_LABEL_BYTES, MAX_TTL, NEVER, POLICY, Record, Result, millis};

const MAGIC: &[u8; 8] = b"twxcache";
const VERSION: u32 = 1;
const BLOCK: usize = 64 << 10;
const BLOCK_HEAD: usize = 12;
const PAIR_HEAD: usize = 15;
/// The head without the label.
const HEAD: usize = 64;

/// Beside the uses of a pair, while a cache is saved: the value is not behind the key yet.
const NOT_COPIED: u8 = 0x80;
/// From here on a value is copied alone, since the pairs that are copied together are thousands.
pub(super) const LARGE: usize = 4 << 10;

/// The bytes before a pair's key.
fn pair_head(record: Record<'_>, uses: u8, now: u64) -> [u8; PAIR_HEAD] {
    let left = match record.deadline() {
        NEVER => NEVER,
        deadline => deadline.saturating_sub(now).max(1),
    };
    let mut head = [0; PAIR_HEAD];
    head[..2].copy_from_slice(&(record.key_len() as u16).to_le_bytes());
    head[2..6].copy_from_slice(&(record.value_len() as u32).to_le_bytes());
    head[6] = uses;
    head[7..].copy_from_slice(&left.to_le_bytes());
    head
}

/// The lengths of a pair's key and value.
fn lengths(head: &[u8; PAIR_HEAD]) -> [usize; 2] {
    let (key, rest) = head.split_first_chunk().unwrap_or((&[0; 2], &[]));
    let value = rest.first_chunk().unwrap_or(&[0; 4]);
    [usize::from(u16::from_le_bytes(*key)), u32::from_le_bytes(*value) as usize]
}

/// Extends the CRC-32 `before` by `bytes`. The CRC-32 of no bytes is 0.
#[cfg(not(target_family = "wasm"))]
fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// The same with a table of 64 bytes, which keeps a WebAssembly module small.
#[cfg(target_family = "wasm")]
fn crc32(before: u32, bytes: &[u8]) -> u32 {
    const fn four_bits(mut sum: u32) -> u32 {
        let mut bit = 0;
        while bit < 4 {
            sum = (sum >> 1) ^ ((sum & 1) * 0xedb8_8320);
            bit += 1;
        }
        sum
    }
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut at = 0;
        while at < 16 {
            table[at] = four_bits(at as u32);
            at += 1;
        }
        table
    };
    let mut sum = !before;
    for &byte in bytes {
        sum ^= u32::from(byte);
        sum = sum >> 4 ^ TABLE[(sum & 15) as usize];
        sum = sum >> 4 ^ TABLE[(sum & 15) as usize];
    }
    !sum
}

/// The checksum of a block's number and length, to be extended by its pairs.
fn begin_checksum(number: u64, length: u64) -> u32 {
    crc32(crc32(0, &number.to_le_bytes()), &length.to_le_bytes())
}

fn checksum(number: u64, pairs: &[u8]) -> u32 {
    crc32(begin_checksum(number, pairs.len() as u64), pairs)
}

/// Appends pieces, unless there is no memory.
fn append(to: &mut Vec<u8>, pieces: &[&[u8]]) -> Result<()> {
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    to.try_reserve(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    for piece in pieces {
        to.extend_from_slice(piece);
    }
    Ok(())
}

/// Writes blocks of pairs.
struct Output<W> {
    to: W,
    /// The block, behind room for its length and its checksum.
    block: Vec<u8>,
    number: u64,
    count: u64,
}

impl<W: Write> Output<W> {
    /// Adds a pair to the block: its parts as they are saved.
    fn push(&mut self, parts: [&[u8]; 3]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.block.len() > BLOCK_HEAD && self.block.len() + bytes > BLOCK {
            self.flush()?;
        }
        self.count += 1;
        append(&mut self.block, &parts)
    }

    fn flush(&mut self) -> Result<()> {
        let (head, pairs) = self.block.split_at_mut(BLOCK_HEAD);
        head[..8].copy_from_slice(&(pairs.len() as u64).to_le_bytes());
        head[8..].copy_from_slice(&checksum(self.number, pairs).to_le_bytes());
        self.number += 1;
        self.to.write_all(&self.block)?;
        self.block.truncate(BLOCK_HEAD);
        Ok(())
    }
}

impl Cache {
    /// Writes the options, the label and all pairs, with the times that they still live. Other threads may use the cache meanwhile.
    ///
    /// In WebAssembly without a system there is no wall clock: use [`save_at`](Self::save_at).
    pub fn save(&self, to: impl Write) -> Result<()> {
        self.save_at(to, wall_clock()?)
    }

    /// Writes all that [`save`](Self::save) does. `wall` is the time since 1970.
    pub fn save_at(&self, mut to: impl Write, wall: Duration) -> Result<()> {
        let options = &self.inner.options;
        let limit = |limit: Option<usize>| limit.map_or(NEVER, |limit| limit as u64);
        let time = |time: Option<Duration>| time.map_or(Ok(NEVER), millis);
        let words = [
            wall.as_millis() as u64,
            limit(self.capacity()),
            limit(self.max_entries()),
            time(self.default_ttl())?,
            time(options.idle)?,
            time(options.stale)?,
        ]
        .map(u64::to_le_bytes);
        let (version, label) = (VERSION.to_le_bytes(), (options.label.len() as u32).to_le_bytes());
        let mut head = Vec::new();
        append(&mut head, &[MAGIC, &version, words.as_flattened(), &label, &options.label])?;
        let crc = crc32(0, &head).to_le_bytes();
        append(&mut head, &[&crc])?;
        to.write_all(&head)?;
        let mut output = Output { to, block: vec![0; BLOCK_HEAD], number: 0, count: 0 };
        let (mut next, mut pairs, mut value) = (Some(0), Vec::new(), Vec::new());
        while let Some(from) = next {
            let now = self.inner.clock.now();
            pairs.clear();
            let mut copied = Ok(());
            next = self.walk_block(from, &mut |record, uses| {
                let is_large = record.value_len() >= LARGE;
                let uses = uses as u8 | if is_large { NOT_COPIED } else { 0 };
                let head = pair_head(record, uses, now);
                let value = if is_large { &[] } else { record.value() };
                if copied.is_ok() {
                    copied = append(&mut pairs, &[&head, record.key(), value]);
                }
            });
            copied?;
            let mut rest = &pairs[..];
            while let Some((head, left)) = rest.split_first_chunk::<{ PAIR_HEAD }>() {
                let is_large = head[6] & NOT_COPIED != 0;
                let [key_len, value_len] = lengths(head);
                let (key, left) = left.split_at(key_len);
                let (copy, left) = left.split_at(if is_large { 0 } else { value_len });
                rest = left;
                if !is_large {
                    output.push([head, key, copy])?;
                    continue;
                }
                let copied: Option<Result<_>> = self.inner.read(key, false, |record| {
                    value.clear();
                    append(&mut value, &[record.value()])?;
                    Ok(pair_head(record, head[6] & !NOT_COPIED, now))
                });
                if let Some(head) = copied.transpose()? {
                    output.push([&head, key, &value])?;
                }
            }
        }
        if output.block.len() > BLOCK_HEAD {
            output.flush()?;
        }
        output.flush()?;
        let Output { mut to, number, count, .. } = output;
        let count = count.to_le_bytes();
        let crc = checksum(number, &count).to_le_bytes();
        to.write_all([&count[..], &crc].concat().as_slice())?;
        to.flush()?;
        Ok(())
    }

    /// Makes a cache of the bytes of [`save`](Self::save), with the options that it had. For other options, or to see them
    /// first, use [`Saved`].
    pub fn load(from: impl Read) -> Result<Self> {
        let saved = Saved::read(from)?;
        let options = saved.options();
        saved.load(options)
    }

    /// Adds the pairs of a block, of which so many milliseconds have passed. Returns their number, `None` if the block is none.
    fn load_block(&self, mut block: &[u8], passed: u64) -> Option<u64> {
        let mut count = 0;
        while !block.is_empty() {
            let (head, rest) = block.split_first_chunk()?;
            let [key_len, value_len] = lengths(head);
            let uses = u32::from(head[6]);
            let left = u64::from_le_bytes(*head.last_chunk()?);
            let (key, rest) = rest.split_at_checked(key_len)?;
            let (value, rest) = rest.split_at_checked(value_len)?;
            (block, count) = (rest, count + 1);
            if left != NEVER && (left <= passed || !self.inner.clock.is_there()) {
                continue;
            }
            let hash = self.inner.hash(key);
            let ttl = if left == NEVER { NEVER } else { (left - passed).min(MAX_TTL.as_millis() as u64) };
            self.inner.write(|writer| {
                let deadline = writer.deadline(ttl);
                if writer.put(key, hash, value, deadline)
                    && let Some((found, _)) = writer.cache.find(key, hash)
                {
                    found.bucket().set_uses(found.slot, uses.min(POLICY.most_uses));
                }
            });
        }
        Some(count)
    }
}

/// A saved cache of which the beginning was read.
#[derive(Debug)]
pub struct Saved<R> {
    input: Input<R>,
    options: CacheOptions,
    /// The wall time when it was saved.
    wall: u64,
}

impl<R: Read> Saved<R> {
    /// Reads the options of a saved cache. Any other content is an error.
    pub fn read(from: R) -> Result<Self> {
        let mut input = Input { from, offset: 0 };
        let mut head = [0; HEAD];
        input.fill(&mut head)?;
        if !head.starts_with(MAGIC) {
            return Err(Error::Corrupt { offset: 0, what: "this is not a saved cache" });
        }
        if head[8..12] != VERSION.to_le_bytes() {
            return Err(Error::Corrupt { offset: 8, what: "an unknown version of saved caches" });
        }
        let mut label = Vec::new();
        let length = u32::from_le_bytes(*head.last_chunk().unwrap_or(&[0; 4]));
        if length > MAX_LABEL_BYTES as u32 {
            return Err(Error::Corrupt { offset: 60, what: "the length of the label" });
        }
        input.read_into(length.into(), &mut label)?;
        if input.half()? != crc32(crc32(0, &head), &label) {
            return Err(Error::Corrupt { offset: 12, what: "the options do not match their checksum" });
        }
        let words = head[12..].as_chunks().0;
        let word = |number: usize| Some(u64::from_le_bytes(words[number])).filter(|&word| word != NEVER);
        let limit = |number| word(number).map(|limit| usize::try_from(limit).unwrap_or(usize::MAX >> 1));
        let time = |number| word(number).map(Duration::from_millis);
        let options = CacheOptions {
            bytes: limit(1),
            entries: limit(2),
            ttl: time(3),
            idle: time(4),
            stale: time(5),
            label: label.into(),
            ..CacheOptions::default()
        };
        Ok(Self { input, options, wall: word(0).unwrap_or(NEVER) })
    }

    /// The options of the cache as it was saved, its label among them. It has no listener and no clock then.
    pub fn options(&self) -> CacheOptions {
        self.options.clone()
    }

    /// The label of the cache: [`CacheOptions::label`].
    pub fn label(&self) -> &[u8] {
        &self.options.label
    }

    /// Makes a cache with these options of the saved pairs. Those that have expired meanwhile are left out, those that do not fit, and
    /// without a clock those that would expire. If the bytes are not a whole saved cache and nothing else, that is an error.
    ///
    /// Besides the cache it takes no more memory than a block: 64 KiB, or one pair that the cache may hold.
    ///
    /// In WebAssembly without a system there is no wall clock: use [`load_at`](Self::load_at).
    pub fn load(self, options: CacheOptions) -> Result<Cache> {
        self.load_at(options, wall_clock()?)
    }

    /// Does what [`load`](Self::load) does. `wall` is the time since 1970.
    pub fn load_at(self, options: CacheOptions, wall: Duration) -> Result<Cache> {
        let Self { mut input, wall: begun, .. } = self;
        let passed = (wall.as_millis() as u64).saturating_sub(begun);
        let most = options.bytes.unwrap_or(usize::MAX).max(BLOCK) as u64;
        let cache = Cache::new(options)?;
        let (mut block, mut number, mut count) = (Vec::new(), 0, 0_u64);
        loop {
            let at = input.offset;
            let corrupt = |what| Error::Corrupt { offset: at, what };
            let (length, crc) = (input.word()?, input.half()?);
            let is_kept = length <= most;
            let mut sum = begin_checksum(number, length);
            let mut left = length;
            // A pair that is larger than the cache is read to its end, in pieces, and left out.
            while left > 0 {
                let piece = if is_kept { left } else { left.min(BLOCK as u64) };
                input.read_into(piece, &mut block)?;
                sum = crc32(sum, &block);
                left -= piece;
            }
            if crc != sum {
                return Err(corrupt("a block does not match its checksum"));
            }
            number += 1;
            if length == 0 {
                break;
            }
            count += if is_kept {
                cache.load_block(&block, passed).ok_or(corrupt("a block of pairs"))?
            } else {
                1
            };
        }
        let at = input.offset;
        let (total, crc) = (input.word()?, input.half()?);
        if total != count || crc != checksum(number, &total.to_le_bytes()) {
            return Err(Error::Corrupt { offset: at, what: "the number of pairs" });
        }
        let offset = input.offset;
        match input.fill(&mut [0]) {
            Ok(()) => Err(Error::Corrupt { offset, what: "something follows" }),
            Err(Error::Corrupt { .. }) => Ok(cache),
            Err(error) => Err(error),
        }
    }
}

fn wall_clock() -> Result<Duration> {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return Err(Error::NoClock);
    }
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default())
}

/// Reads, and knows how far it is.
#[derive(Debug)]
struct Input<R> {
    from: R,
    offset: u64,
}

impl<R: Read> Input<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.from.read_exact(bytes).map_err(|error| self.cut(error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn word(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn half(&mut self) -> Result<u32> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads so many bytes, and allocates not much more than there are.
    fn read_into(&mut self, length: u64, block: &mut Vec<u8>) -> Result<()> {
        block.clear();
        while (block.len() as u64) < length {
            let at = block.len();
            let piece = (length - at as u64).min(at.max(BLOCK) as u64) as usize;
            block.try_reserve(piece).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            block.resize(at + piece, 0);
            self.fill(&mut block[at..])?;
        }
        Ok(())
    }

    fn cut(&self, error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Error::Corrupt { offset: self.offset, what: "the end is missing" };
        }
        error.into()
    }
}
