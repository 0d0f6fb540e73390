//! The command-line tool.

use std::ffi::OsString;

use crate::call::Call;
use crate::encoding::Column;
use crate::fault::{Answer, Fault};
use crate::js::Value;
use crate::state::State;

/// The most arguments of a command line.
const ARGUMENTS: usize = 64;

/// `runCommandLine(...arguments)`: runs `twindex` with these arguments, the program's name first: the exit code.
pub(crate) fn run_command_line<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut room = [Value::UNDEFINED; ARGUMENTS];
    let mut arguments = Vec::new();
    for &argument in call.all(&mut room) {
        let mut bytes = Vec::new();
        state.input.append_text(call.js, argument, Column::Name, &mut bytes)?;
        arguments.push(OsString::from(String::from_utf8(bytes).map_err(|_| Fault::bug())?));
    }
    Ok(call.js.u32(twindex_cli::run(arguments).into())?)
}
