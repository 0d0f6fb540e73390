//! What a child of fork does with a store that it has from its parent.

#![cfg(all(target_os = "linux", not(miri)))]

use std::sync::Barrier;
use std::thread;

use twindex::{Index, Store};

/// Threads that read while another one forked stayed readers for ever in the child, where they are no more: nothing
/// that they could have seen was given back.
#[test]
fn a_child_of_fork_gives_back_what_its_parent_s_threads_read() {
    for index in [Index::Hash, Index::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        let base = store.memory();
        table.insert("large", vec![7; 10 << 20]).unwrap();
        let (reading, forked) = (Barrier::new(2), Barrier::new(2));
        let status = thread::scope(|scope| {
            scope.spawn(|| {
                table.select_with("large", |_| {
                    reading.wait();
                    forked.wait();
                });
            });
            reading.wait();
            // SAFETY: the other thread waits without a lock of the allocator or of the store.
            let child = unsafe { libc::fork() };
            if child == 0 {
                table.clear().unwrap();
                let given_back = store.memory() == base;
                // SAFETY: a child ends without what its parent would do at its end.
                unsafe { libc::_exit(i32::from(!given_back)) };
            }
            assert!(child > 0, "no child was made");
            let mut status = -1;
            // SAFETY: `status` has room for what the call writes.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            forked.wait();
            status
        });
        assert_eq!(status, 0, "the child kept what nobody reads");
    }
}
