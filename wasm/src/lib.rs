//! Twindex as a WebAssembly core module: the engine behind a small C ABI, which `docs/wasm.md` describes
//! export by export.
//!
//! The module imports nothing, so any runtime can instantiate it. It crosses the border with integers
//! alone, under five rules:
//!
//! * **Bytes go in through buffers.** The host writes into buffers that [`twindex_alloc`](buffers) gave
//!   it, and passes an address and a length. Both are checked against the list of those buffers, which
//!   the module itself owns: whatever integers a host passes, the module reads nothing else, and that
//!   without a line of `unsafe`.
//! * **Bytes come out through one answer cell**, an address, a length and a number, which stays valid
//!   until the next call.
//! * **Objects are handles**: integers that are checked on every call and never given twice.
//! * **A negative result is an error number.** Nothing panics; `twindex_last_error` has the text.
//! * **Memory that the host refuses is an error too**, as far as the [reserve] reaches.
//!
//! On wasm32 there is one thread, hence one module state. Built natively, which only the checks do, every
//! thread has a state of its own.

#[cfg(target_family = "wasm")]
mod ahead;
mod answer;
mod block;
mod buffers;
mod cursor;
mod failure;
mod handles;
mod iterator;
mod many;
mod reserve;
mod state;
mod steps;
mod store;
mod table;

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
    state::call(|_| Ok(seed(secret).into()))
}

#[cfg(target_family = "wasm")]
use twindex::seed_hashing as seed;

/// A native process has secrets of its own.
#[cfg(not(target_family = "wasm"))]
fn seed(_secret: u64) -> bool {
    false
}
