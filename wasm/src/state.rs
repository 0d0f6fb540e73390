//! The state of the module, and the one way into it.

use std::cell::RefCell;

use crate::answer::{self, Output};
use crate::block;
use crate::buffers::Buffers;
use crate::failure::{self, CLOSED, Failed};
use crate::handles::Handles;
use crate::journal::Log;

/// Everything that outlives a call.
pub(crate) struct State {
    pub(crate) buffers: Buffers,
    pub(crate) handles: Handles,
    pub(crate) output: Output,
    pub(crate) log: Log,
}

thread_local! {
    static STATE: RefCell<State> = const {
        RefCell::new(State {
            buffers: Buffers::new(),
            handles: Handles::new(),
            output: Output::new(),
            log: Log::new(),
        })
    };
}

/// Runs one call of the host: what `work` returns, or the negative number of its error, which becomes the
/// last error.
pub(crate) fn call(work: impl FnOnce(&mut State) -> Result<i32, Failed>) -> i32 {
    STATE.with(|state| {
        // It is borrowed already only where an earlier call trapped half way, so that nothing in it can
        // be relied upon any more.
        let Ok(mut state) = state.try_borrow_mut() else { return trapped() };
        state.output.let_go_of_a_large_block();
        state.log.forget();
        let status = work(&mut state).unwrap_or_else(Failed::status);
        state.log.seal();
        status
    })
}

/// Runs a call that answers with a record alone, so that the answer of the call before stays.
#[cfg(feature = "files")]
pub(crate) fn note(work: impl FnOnce(&mut State) -> Result<i32, Failed>) -> i32 {
    STATE.with(|state| {
        let Ok(mut state) = state.try_borrow_mut() else { return trapped() };
        state.log.forget();
        work(&mut state).unwrap_or_else(Failed::status)
    })
}

/// Answers with the code and the text of the one error that needs no memory: its status.
#[cold]
#[inline(never)] // one copy, not one in every export
fn trapped() -> i32 {
    const TEXT: &str = "an earlier call trapped, so the module cannot be used any more";
    const LENGTH: usize = block::PAIR_HEAD + CLOSED.len() + TEXT.len();
    static PAIR: [u8; LENGTH] = block::const_pair(CLOSED.as_bytes(), TEXT.as_bytes());
    answer::set_bytes(&PAIR, 1);
    -failure::number(CLOSED)
}
