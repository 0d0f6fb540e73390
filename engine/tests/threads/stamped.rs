//! Values that prove where they come from.

/// What a value proves to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The number of the write, as its writer counts.
    pub(crate) version: usize,
    /// The thread that wrote it.
    pub(crate) writer: usize,
}

/// Of the stamp: a checksum over all that follows, the version and the writer.
const HEAD: usize = 16;

/// A value for `key` of `length` bytes, at least those of its stamp.
pub(crate) fn stamp(key: &[u8], version: usize, writer: usize, length: usize) -> Vec<u8> {
    let mut value = vec![version as u8; length.max(HEAD)];
    value[4..12].copy_from_slice(&(version as u64).to_le_bytes());
    value[12..16].copy_from_slice(&(writer as u32).to_le_bytes());
    let checksum = checksum(key, &value);
    value[..4].copy_from_slice(&checksum);
    value
}

/// The stamp of a value that was found under `key`.
///
/// Panics where the value was not made by [`stamp`] for this key, or is damaged.
pub(crate) fn read_stamp(key: &[u8], value: &[u8]) -> Stamp {
    let sound = value.len() >= HEAD && value[..4] == checksum(key, value);
    assert!(sound, "{} bytes that are no value of {}", value.len(), key.escape_ascii());
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
    Stamp { version: number(&value[4..12]), writer: number(&value[12..16]) }
}

/// Checks every pair; how many there were.
pub(crate) fn count_sound(pairs: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> usize {
    pairs.into_iter().inspect(|(key, value)| _ = read_stamp(key, value)).count()
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.len().to_le_bytes());
    hasher.update(key);
    hasher.update(&value.len().to_le_bytes());
    hasher.update(&value[4..]);
    hasher.finalize().to_le_bytes()
}

/// A length of a value on either side of every size that an engine may treat apart, seldom near a
/// megabyte, and below `limit`.
pub(crate) fn some_length(random: &mut fastrand::Rng, limit: usize) -> usize {
    let length = match random.u32(..1000) {
        0..600 => random.usize(16..64),
        600..800 => random.usize(16..600),
        800..950 => random.usize(4070..4110),
        950..998 => random.usize(600..12_000),
        _ if cfg!(miri) => 20_000,
        _ => random.usize(65_000..1 << 20),
    };
    length % limit
}
