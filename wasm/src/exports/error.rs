//! The text of what went wrong.

use crate::block;
use crate::failure::LastError;

exports! {
    fn twindex_last_error(state) {
        let output = state.output.start();
        let last = LastError::take();
        if last.code.is_empty() {
            return Ok(0);
        }
        block::push_pair(output, last.code.as_bytes(), last.text.as_bytes())?;
        output.finish(1);
        last.keep();
        true
    }
}
