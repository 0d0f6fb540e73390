//! The module itself: its version, its buffers, its answer cell and its handles.

use crate::answer;
use crate::state::call;

/// The version of this ABI; it changes when an export changes its meaning.
const ABI_VERSION: i32 = 1;

#[unsafe(no_mangle)]
extern "C" fn twindex_abi_version() -> i32 {
    ABI_VERSION
}

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

#[unsafe(no_mangle)]
extern "C" fn twindex_alloc(length: usize) -> usize {
    let mut address = 0;
    call(|state| {
        address = state.buffers.allocate(length)?;
        Ok(0)
    });
    address
}

#[unsafe(no_mangle)]
extern "C" fn twindex_free(address: usize) -> i32 {
    call(|state| {
        state.buffers.free(address)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_answer() -> usize {
    answer::address()
}

#[unsafe(no_mangle)]
extern "C" fn twindex_close(handle: u32) -> i32 {
    call(|state| {
        state.handles.close(handle)?;
        Ok(0)
    })
}
