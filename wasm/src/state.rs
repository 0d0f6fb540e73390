//! The state of the module, and the one way into it.

use std::cell::RefCell;

use crate::answer::{self, Output};
use crate::buffers::Buffers;
use crate::failure::Failed;
use crate::handles::Handles;

/// Everything that outlives a call.
pub(crate) struct State {
    pub(crate) buffers: Buffers,
    pub(crate) handles: Handles,
    pub(crate) output: Output,
}

thread_local! {
    static STATE: RefCell<State> = const {
        RefCell::new(State {
            buffers: Buffers::new(),
            handles: Handles::new(),
            output: Output::new(),
        })
    };
}

/// Runs one call of the host: what `work` returns, or the negative number of its error, which becomes the
/// last error.
pub(crate) fn call(work: impl FnOnce(&mut State) -> Result<i32, Failed>) -> i32 {
    STATE.with(|state| {
        // It is borrowed already only where an earlier call trapped half way, so that nothing in it can
        // be relied upon any more.
        let Ok(mut state) = state.try_borrow_mut() else { return answer::trapped() };
        state.output.let_go_of_a_large_block();
        work(&mut state).unwrap_or_else(Failed::status)
    })
}
