//! The text of what went wrong.

use crate::block;
use crate::failure::LastError;
use crate::state::call;

#[unsafe(no_mangle)]
extern "C" fn twindex_last_error() -> i32 {
    call(|state| {
        let output = state.output.start();
        let last = LastError::take();
        if last.code.is_empty() {
            return Ok(0);
        }
        block::push_pair(output, last.code.as_bytes(), last.text.as_bytes())?;
        output.finish(1);
        last.keep();
        Ok(1)
    })
}
