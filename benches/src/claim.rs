//! Memory that is there before a clock runs.

use crate::keys::KeyList;
#[cfg(target_os = "linux")]
use crate::resident::bytes_in;

/// More than any table needs for a short pair beside its bytes.
const MOST_OVERHEAD: usize = 200;

/// As [`claim_memory`], for a table of these keys with values of so many bytes.
pub fn claim_memory_for(keys: &KeyList, value_bytes: usize) {
    claim_memory((keys.bytes() + keys.len() * (value_bytes + MOST_OVERHEAD)) as u64);
}

/// Has the system find so many bytes of memory before they are needed, half of what is free at most.
///
/// The host of a virtual machine often takes free memory away, and gives it back where it is touched: 10 us a page, or
/// 5 ms for a huge one, that whoever comes first would be charged with. Pages that were touched and given back are
/// handed out again first. Huge ones are split where small ones are wanted.
#[cfg(target_os = "linux")]
pub fn claim_memory(bytes: u64) {
    use memmap2::{Advice, MmapMut};

    const PAGE: usize = 4096;
    let most = bytes_in("/proc/meminfo", "MemAvailable:").unwrap_or(0) / 2;
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
