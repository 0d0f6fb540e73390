//! The module itself: its version, its buffers, its answer cell and its handles.

use crate::answer;
use crate::state::call;

/// The version of this ABI; it changes when an export changes its meaning.
const ABI_VERSION: i32 = 1;

/// The version of the ABI that this module speaks.
#[unsafe(no_mangle)]
extern "C" fn twindex_abi_version() -> i32 {
    ABI_VERSION
}

/// Has the keys of hash tables hashed by a secret of the host's: 1, or 0 where it comes too late, after the first table or
/// another secret.
#[unsafe(no_mangle)]
extern "C" fn twindex_seed(secret: u64) -> i32 {
    call(|_| Ok(seed(secret).into()))
}

#[cfg(target_family = "wasm")]
use twindex::seed_hashing as seed;

/// A native process has secrets of its own.
#[cfg(not(target_family = "wasm"))]
fn seed(_secret: u64) -> bool {
    false
}

/// A new buffer of `length` bytes, all 0: its address, or 0 where there is no memory for it.
#[unsafe(no_mangle)]
extern "C" fn twindex_alloc(length: usize) -> usize {
    let mut address = 0;
    call(|state| {
        address = state.buffers.allocate(length)?;
        Ok(0)
    });
    address
}

/// Ends a buffer, named by the address that `twindex_alloc` returned.
#[unsafe(no_mangle)]
extern "C" fn twindex_free(address: usize) -> i32 {
    call(|state| {
        state.buffers.free(address)?;
        Ok(0)
    })
}

/// The address of the answer cell, which never changes: address and length of the bytes, each as wide as
/// an address (4 bytes on wasm32), then a signed number of 8 bytes.
#[unsafe(no_mangle)]
extern "C" fn twindex_answer() -> usize {
    answer::address()
}

/// Closes a store, table, cursor or iterator. With a store all that was opened from it closes too, and its
/// memory is given back.
#[unsafe(no_mangle)]
extern "C" fn twindex_close(handle: u32) -> i32 {
    call(|state| {
        state.handles.close(handle)?;
        Ok(0)
    })
}
