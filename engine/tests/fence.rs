//! When the process asks the system for the fence that spares readers theirs.

#![cfg(all(target_os = "linux", not(any(miri, twindex_plain_fences))))]

use std::thread;

use twindex::{Index, Store};

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes three integers and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// The first write of a process with more than one thread once took 8 to 14 ms: it registered the process for a fence
/// that only freeing memory needs.
#[test]
fn nothing_is_registered_before_something_is_freed() {
    let is_registered = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
    assert!(!is_registered());
    let tables = [Index::Hash, Index::Sorted].map(|index| Store::new().table("t", index).unwrap());
    thread::scope(|scope| {
        for table in &tables {
            scope.spawn(|| {
                assert!(table.insert("key", "value").unwrap());
                assert_eq!(table.select("key").as_deref(), Some(b"value".as_slice()));
            });
        }
    });
    assert!(!is_registered(), "a first write waited for the system");
    for table in &tables {
        table.clear().unwrap();
    }
    let supported =
        membarrier(libc::MEMBARRIER_CMD_QUERY) & libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    assert_eq!(is_registered(), supported > 0, "what readers are in is freed by their fence");
}
