//! A WebAssembly program with the engine in it: its loops run inside, so that a host calls once for a million pairs.
//!
//! `wasm/benches/inside.py` and `inside.mjs` hand it two lists of keys, and read a clock around each call. An entry of a list is
//! a number of four bytes, a length of four bytes, and so many bytes of a key.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use twindex::{IndexKind, Store, Table};

type Bytes = Box<[u8]>;

/// What holds the pairs.
enum System {
    Twindex(Store, Table),
    Hash(HashMap<Bytes, Bytes>),
    Sorted(BTreeMap<Bytes, Bytes>),
}

impl System {
    /// The one that the host knows by this number.
    fn of(number: u32) -> Option<Self> {
        let store = Store::new();
        match number {
            0 | 1 => {
                let table = store
                    .table("pairs", if number == 0 { IndexKind::Hash } else { IndexKind::Sorted })
                    .ok()?;
                Some(Self::Twindex(store, table))
            }
            2 => Some(Self::Hash(HashMap::new())),
            3 => Some(Self::Sorted(BTreeMap::new())),
            _ => None,
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        match self {
            Self::Twindex(_, table) => table.insert(key, value).unwrap_or(false),
            Self::Hash(map) => map.insert(key.into(), value.into()).is_none(),
            Self::Sorted(map) => map.insert(key.into(), value.into()).is_none(),
        }
    }
}

/// The keys in the order of the writes and in that of the reads, and where the pairs go.
#[derive(Default)]
struct Work {
    lists: [Vec<u8>; 2],
    value_bytes: usize,
    system: Option<System>,
}

thread_local! {
    static WORK: RefCell<Work> = RefCell::default();
}

/// The number and the key that a list begins with; the rest of it.
fn next(list: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (number, rest) = list.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((u32::from_le_bytes(*number), key, rest))
}

/// Does something with each key and its value, as long as that succeeds; how often it did.
fn each(list: &[u8], value_bytes: usize, mut work: impl FnMut(&[u8], &[u8]) -> bool) -> u32 {
    let (mut rest, mut done) = (list, 0);
    let mut value = vec![0; value_bytes];
    while let Some((number, key, others)) = next(rest) {
        // Eight bytes that only this number has, over and over.
        let pattern = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        for chunk in value.chunks_mut(8) {
            chunk.copy_from_slice(&pattern[..chunk.len()]);
        }
        if !work(key, &value) {
            return done;
        }
        rest = others;
        done += 1;
    }
    done
}

/// Room for a list of so many bytes: of the writes for 0, of the reads for 1. Null for any other.
#[unsafe(no_mangle)]
pub extern "C" fn guest_reserve(list: u32, bytes: u32) -> *mut u8 {
    WORK.with_borrow_mut(|work| {
        let Some(list) = work.lists.get_mut(list as usize) else { return std::ptr::null_mut() };
        *list = vec![0; bytes as usize];
        list.as_mut_ptr()
    })
}

/// Begins with nothing in a system: 0 and 1 are Twindex, hashed and sorted, 2 is hashbrown, 3 is `BTreeMap`. Whether there is such a one.
#[unsafe(no_mangle)]
pub extern "C" fn guest_renew(system: u32, value_bytes: u32) -> u32 {
    WORK.with_borrow_mut(|work| {
        work.system = System::of(system);
        work.value_bytes = value_bytes as usize;
        u32::from(work.system.is_some())
    })
}

/// Inserts all pairs; how many there were until one was there before.
#[unsafe(no_mangle)]
pub extern "C" fn guest_write() -> u32 {
    WORK.with_borrow_mut(|Work { lists: [list, _], value_bytes, system }| {
        let Some(system) = system else { return 0 };
        each(list, *value_bytes, |key, value| system.insert(key, value))
    })
}

/// Reads all pairs, one by one from a hash table, in order from a sorted one; how many there were until one was wrong.
#[unsafe(no_mangle)]
pub extern "C" fn guest_read() -> u32 {
    WORK.with_borrow_mut(|Work { lists: [_, list], value_bytes, system }| match system {
        Some(System::Twindex(_, table)) if table.index() == IndexKind::Hash => {
            each(list, *value_bytes, |key, value| {
                table.select_with(key, |found| found == value) == Some(true)
            })
        }
        Some(System::Twindex(_, table)) => {
            let Ok(mut cursor) = table.cursor(..) else { return 0 };
            each(list, *value_bytes, |key, value| cursor.scan_asc_next() == Some((key, value)))
        }
        Some(System::Hash(map)) => {
            each(list, *value_bytes, |key, value| map.get(key).is_some_and(|found| **found == *value))
        }
        Some(System::Sorted(map)) => {
            let mut pairs = map.iter();
            each(list, *value_bytes, |key, value| {
                pairs.next().is_some_and(|(found, its)| (&**found, &**its) == (key, value))
            })
        }
        None => 0,
    })
}

/// The bytes that Twindex says it holds; of the others 0.
#[unsafe(no_mangle)]
pub extern "C" fn guest_held() -> u32 {
    WORK.with_borrow(|work| match &work.system {
        Some(System::Twindex(store, _)) => store.memory() as u32,
        _ => 0,
    })
}
