//! When the process asks the system for the fence that spares readers theirs.

#![cfg(all(target_os = "linux", not(any(miri, twindex_plain_fences))))]

use twindex::Store;

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes three integers and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// To register takes 8 to 14 ms where there are threads. The first write once did it; then the first write that freed
/// memory did, the 254th or so. No write may wait for it, so the first store does it.
#[test]
fn the_process_is_registered_with_its_first_store() {
    let is_registered = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
    assert!(!is_registered());
    let supported =
        membarrier(libc::MEMBARRIER_CMD_QUERY) & libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    let _store = Store::new();
    assert_eq!(is_registered(), supported > 0);
}
