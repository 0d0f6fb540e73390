//! Files of saved caches whose checksums are right, whatever is in them. The fuzzer uses this, too.

use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Saved};

fn checksum(number: u64, bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(&[&number.to_le_bytes(), &(bytes.len() as u64).to_le_bytes(), bytes].concat())
        .to_le_bytes()
}

/// A file with these numbers in its head (wall time and options), this label, these blocks and this number of pairs.
pub(crate) fn file(numbers: [u64; 6], label: &[u8], blocks: &[Vec<u8>], count: u64) -> Vec<u8> {
    let mut file =
        [&b"twxcache"[..], &1_u32.to_le_bytes(), numbers.map(u64::to_le_bytes).as_flattened()].concat();
    file.extend((label.len() as u32).to_le_bytes());
    file.extend(label);
    file.extend(crc32fast::hash(&file).to_le_bytes());
    let end = (blocks.len() as u64, &Vec::new());
    for (number, block) in (0..).zip(blocks).filter(|(_, block)| !block.is_empty()).chain([end]) {
        file.extend((block.len() as u64).to_le_bytes());
        file.extend(checksum(number, block));
        file.extend(block);
    }
    file.extend(count.to_le_bytes());
    file.extend(checksum(blocks.len() as u64 + 1, &count.to_le_bytes()));
    file
}

/// A pair of a block.
pub(crate) fn pair(key: &[u8], value: &[u8], uses: u8, left: u64) -> Vec<u8> {
    let lengths = [&(key.len() as u16).to_le_bytes()[..], &(value.len() as u32).to_le_bytes()].concat();
    [&lengths, &[uses][..], &left.to_le_bytes(), key, value].concat()
}

/// Loads a file with its own options and with others. What can be loaded loads again after it was saved.
pub(crate) fn load(bytes: &[u8]) -> Option<Cache> {
    let own = Saved::read(bytes).ok()?.options();
    let mut loaded = None;
    for options in [own, CacheOptions::capacity(1 << 20), CacheOptions::max_entries(100)] {
        let options = options.clock(|| 1 << 40);
        let wall = Duration::from_secs(1000);
        let load = |bytes| Saved::read(bytes)?.load_at(options.clone(), wall);
        let Ok(cache) = load(bytes) else { continue };
        let mut again = Vec::new();
        cache.save_at(&mut again, wall).expect("a vector takes all");
        let other = load(&again).expect("what was saved loads");
        for (key, value) in &other {
            assert!(cache.ttl(&key) == other.ttl(&key) && cache.peek(&key) == Some(value), "{key:?}");
        }
        if cache.capacity().is_none() {
            assert_eq!(cache.len(), other.len());
            loaded = Some(cache);
        }
    }
    loaded
}
