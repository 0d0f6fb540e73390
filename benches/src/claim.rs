//! Memory that is there before a clock runs.

/// Has the system find so many bytes of memory before they are needed, half of what is free at most.
///
/// The host of a virtual machine often takes free memory away, and gives it back where it is touched: 10 us a page, or
/// 5 ms for a huge one, that whoever comes first would be charged with. Pages that were touched and given back are
/// handed out again first. Huge ones are split where small ones are wanted.
#[cfg(target_os = "linux")]
pub fn claim_memory(bytes: u64) {
    use memmap2::{Advice, MmapMut};

    const PAGE: usize = 4096;
    let most = available_bytes().unwrap_or(0) / 2;
    // Where there is no memory left, there is none to be claimed, and whoever needs it will say so.
    if let Ok(mut block) = MmapMut::map_anon(bytes.min(most).max(1) as usize) {
        // Without huge pages small ones are touched.
        let _ = block.advise(Advice::HugePage);
        block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    }
}

/// Other systems are not known to need it.
#[cfg(not(target_os = "linux"))]
pub fn claim_memory(_bytes: u64) {}

#[cfg(target_os = "linux")]
fn available_bytes() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_back() {
        let before = crate::resident_bytes().unwrap();
        claim_memory(256 << 20);
        // Other tests may run in this process meanwhile.
        assert!(crate::resident_bytes().unwrap() < before + (128 << 20));
        assert!(available_bytes().unwrap() > 1 << 20);
    }
}
