//! The memory that the process occupies, and memory that is there before a clock runs.

/// The resident size of this process in bytes, where the system tells it (Linux).
pub fn resident_bytes() -> Option<u64> {
    // Kilobytes of `status` rather than pages of `statm`: some ARM machines have pages of 16 KiB.
    bytes_in("/proc/self/status", "VmRSS:")
}

/// By how many bytes the process has grown since it was of this size.
pub fn growth_since(before: Option<u64>) -> Option<u64> {
    before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before))
}

/// The most that this process occupied so far.
pub fn most_resident_bytes() -> Option<u64> {
    bytes_in("/proc/self/status", "VmHWM:")
}

/// What a line of a file of Linux gives in kilobytes.
fn bytes_in(file: &str, start: &str) -> Option<u64> {
    let all = std::fs::read_to_string(file).ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix(start))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Has the system find so many bytes of memory before they are needed, half of what is free at most.
///
/// The host of a virtual machine often takes free memory away. The first touch of a page then waits for it: 10 us, or 5 ms
/// for a huge one. Pages that were touched and given back are handed out again first.
#[cfg(target_os = "linux")]
pub fn claim_memory(bytes: u64) {
    use memmap2::{Advice, MmapMut};

    const PAGE: usize = 4096;
    let most = bytes_in("/proc/meminfo", "MemAvailable:").unwrap_or(0) / 2;
    // With no memory left there is none to claim; the work itself will fail and say so.
    if let Ok(mut block) = MmapMut::map_anon(bytes.min(most).max(1) as usize) {
        // Without huge pages small ones are touched.
        let _ = block.advise(Advice::HugePage);
        block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    }
}

/// Other systems are not known to need it.
#[cfg(not(target_os = "linux"))]
pub fn claim_memory(_bytes: u64) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// One test, as two would see each other's memory.
    #[test]
    fn resident_size_grows_by_what_is_written_not_by_what_was_claimed() {
        let before = resident_bytes().unwrap();
        claim_memory(256 << 20);
        assert!(resident_bytes().unwrap() < before + (128 << 20));
        let before = resident_bytes().unwrap();
        let block = vec![1_u8; 64 << 20];
        let growth = resident_bytes().unwrap() - before;
        assert!(std::hint::black_box(&block).iter().all(|&byte| byte == 1));
        // Other tests may run in this process meanwhile.
        assert!((60 << 20..1 << 30).contains(&growth), "64 MiB grew the process by {growth} bytes");
        assert!(most_resident_bytes().unwrap() >= 64 << 20);
    }
}
