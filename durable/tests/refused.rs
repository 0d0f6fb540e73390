//! Files that are opened where the system refuses memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tempfile::tempdir;
use twindex_durable::twindex::Index;
use twindex_durable::{Durability, Options};

/// The system's allocator, which refuses large blocks once so many were counted down.
struct Refusing;

/// How many large blocks there still are; `usize::MAX` for no end.
static LARGE_LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Smaller ones find room in what `Reserving` keeps back, among them those of the engine for 4,096 pairs.
const LARGE: usize = 96 << 10;

fn is_refused(bytes: usize) -> bool {
    let count_down = |left: usize| if left == usize::MAX { None } else { Some(left.saturating_sub(1)) };
    bytes >= LARGE && LARGE_LEFT.fetch_update(Relaxed, Relaxed, count_down) == Ok(0)
}

// SAFETY: the system's allocator does all of it, or it is refused.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this function, which are the same.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        if is_refused(bytes) { std::ptr::null_mut() } else { unsafe { System.realloc(block, layout, bytes) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// The lists of a group of operations had no way to fail: where memory was refused for one, opening a log ended the process.
#[test]
fn a_log_is_opened_or_the_error_says_that_memory_was_refused() {
    const KEYS: u32 = 20_000;
    let folder = tempdir().unwrap();
    for index in [Index::Hash, Index::Sorted] {
        let path = folder.path().join(format!("{index}.twx"));
        let options = || Options::new().durability(Durability::EverySec).compact_by_hand(true);
        let store = options().open(&path).unwrap();
        let table = store.table("t", index).unwrap();
        let key = |number: u32| number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        for numbers in (0..KEYS).collect::<Vec<_>>().chunks(1000) {
            let pairs: Vec<_> = numbers.iter().map(|&number| (key(number), [7; 40])).collect();
            table.upsert_many(&pairs).unwrap();
        }
        table.delete_many(&(0..KEYS / 2).map(key).collect::<Vec<_>>()).unwrap();
        store.close().unwrap();
        let mut refusals = 0;
        let opened = loop {
            LARGE_LEFT.store(refusals, Relaxed);
            let opened = options().read_only(true).open(&path);
            LARGE_LEFT.store(usize::MAX, Relaxed);
            match opened {
                Ok(store) => break store,
                Err(error) => assert!(error.to_string().contains("memory"), "{index}, {refusals}: {error}"),
            }
            refusals += 1;
            assert!(refusals < 100_000, "it never has enough");
        };
        // The lists of the groups, and what the pairs themselves need.
        assert!(refusals > 10, "{index}: {refusals}");
        assert_eq!(opened.find_table("t").unwrap().expect("it is there").len(), KEYS as usize / 2);
    }
}
