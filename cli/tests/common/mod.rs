//! Runs the tool.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn twindex(arguments: &[&dyn AsRef<OsStr>]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twindex"));
    command.args(arguments.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    ran(&command.output().unwrap())
}

pub(crate) fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        self
    }
}
