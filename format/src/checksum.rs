//! CRC-32.

/// Extends the CRC-32 `before` by `bytes`. The CRC-32 of no bytes is 0.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// The same, eight bytes at a time. `tables[n]` is for a byte that `n` others follow. The tables are computed at first
/// use, which keeps a WebAssembly module small.
#[cfg(target_family = "wasm")]
pub(crate) fn crc32(before: u32, bytes: &[u8]) -> u32 {
    static TABLES: std::sync::OnceLock<[[u32; 256]; 8]> = std::sync::OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let mut tables = [[0; 256]; 8];
        for byte in 0..256 {
            let mut sum = byte as u32;
            for table in &mut tables {
                for _ in 0..8 {
                    let carried = (sum & 1) * 0xedb8_8320;
                    sum = sum >> 1 ^ carried;
                }
                table[byte] = sum;
            }
        }
        tables
    });
    let (words, rest) = bytes.as_chunks();
    let mut sum = !before;
    for word in words {
        let bytes = (u64::from_le_bytes(*word) ^ u64::from(sum)).to_le_bytes();
        let sums = bytes.iter().zip(tables.iter().rev()).map(|(&byte, table)| table[usize::from(byte)]);
        sum = sums.fold(0, |all, sum| all ^ sum);
    }
    for byte in rest {
        sum = sum >> 8 ^ tables[0][usize::from(sum as u8 ^ byte)];
    }
    !sum
}
