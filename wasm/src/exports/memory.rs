//! The module itself: its version, its buffers, its answer cell and its handles.

use crate::answer;
use crate::state::call;

/// The version of this ABI; it changes when an export changes its meaning.
const ABI_VERSION: i32 = 1;

#[unsafe(no_mangle)]
extern "C" fn twindex_abi_version() -> i32 {
    ABI_VERSION
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
extern "C" fn twindex_answer() -> usize {
    answer::address()
}

exports! {
    fn twindex_seed(_state, secret: u64) {
        seed(secret)
    }

    fn twindex_free(state, address: usize) {
        state.buffers.free(address)?;
    }

    fn twindex_close(state, handle: u32) {
        state.handles.close(handle)?;
    }
}
