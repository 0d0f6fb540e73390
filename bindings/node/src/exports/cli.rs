//! The command-line tool.

use std::ffi::OsString;

use crate::call::Native;
use crate::encoding::Column;
use crate::fault::Fault;
use crate::js::Value;

const ARGUMENTS: usize = 64;

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `runCommandLine(...arguments)`: runs `twindex` with these arguments, the program's name first: the exit code.
    ("run_command_line", |call, state| {
        let mut room = [Value::UNDEFINED; ARGUMENTS];
        let mut arguments = Vec::new();
        for &argument in call.all(&mut room) {
            let mut bytes = Vec::new();
            state.input.append_text(call.js, argument, Column::Name, &mut bytes)?;
            arguments.push(OsString::from(String::from_utf8(bytes).map_err(|_| Fault::bug())?));
        }
        call.give(u32::from(twindex_cli::run(arguments)))
    }),
];
