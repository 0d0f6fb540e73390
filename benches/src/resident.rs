//! The memory that the process really occupies.

/// The resident size of this process in bytes, where the system tells it (Linux).
pub fn resident_bytes() -> Option<u64> {
    // In pages of 4 KiB on every platform of Linux that the engine is built for but one (16 KiB on some
    // ARM machines), so the kilobytes of `status` are taken instead of the pages of `statm`.
    bytes_in("/proc/self/status", "VmRSS:")
}

/// What a line of a file of Linux gives in kilobytes.
pub(crate) fn bytes_in(file: &str, start: &str) -> Option<u64> {
    let all = std::fs::read_to_string(file).ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix(start))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// One test, as two would see each other's memory.
    #[test]
    fn it_grows_with_what_is_written_and_not_with_what_was_claimed() {
        let before = resident_bytes().unwrap();
        crate::claim_memory(256 << 20);
        assert!(resident_bytes().unwrap() < before + (32 << 20));
        let before = resident_bytes().unwrap();
        let block = vec![1_u8; 64 << 20];
        let growth = resident_bytes().unwrap() - before;
        assert!(std::hint::black_box(&block).iter().all(|&byte| byte == 1));
        // Other tests may run in this process meanwhile.
        assert!((60 << 20..1 << 30).contains(&growth), "64 MiB grew the process by {growth} bytes");
    }
}
