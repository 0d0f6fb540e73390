//! When the process asks the system for the fence that spares readers theirs, and what it does without.

#![cfg(all(target_os = "linux", not(any(miri, twindex_plain_fences))))]

use std::mem::offset_of;

use twindex::{IndexKind, Store};

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes three integers and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Forbids the call to this thread, as a sandbox does that is set up late.
fn forbid_membarrier() {
    let step = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equals, answer) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET,
    );
    let mut steps = [
        step(load, offset_of!(libc::seccomp_data, nr) as u32, 0, 0),
        step(equals, libc::SYS_membarrier as u32, 0, 1),
        step(answer, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter lives until the calls return, which copy it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

/// To register takes 8 to 14 ms where there are threads. The first write once did it; then the first write that freed
/// memory did, the 254th or so. No write may wait for it, so the first store does it.
///
/// One test, since each needs a process in which nothing has happened yet.
#[test]
fn the_first_store_registers_and_memory_is_used_again_if_the_fence_is_forbidden_later() {
    let is_registered = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
    assert!(!is_registered());
    let supported =
        membarrier(libc::MEMBARRIER_CMD_QUERY) & libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    let store = Store::new();
    assert_eq!(is_registered(), supported > 0);

    forbid_membarrier();
    assert!(!is_registered());
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = store.table(index.name(), index).unwrap();
        for round in 0..20_000_u32 {
            let _ = table.upsert(b"key", [round.to_le_bytes(); 100].as_flattened());
        }
        assert!(table.memory() < 1 << 20, "a {index} table of one pair holds {} bytes", table.memory());
        let value = table.select_with(b"key", |value| value[..4] == 19_999_u32.to_le_bytes());
        assert_eq!(value, Some(true));
    }
}
