//! The functions that run inside the servers.

use redis::Cmd;

/// The library, as `FUNCTION LOAD` takes it. What it does is its version: a changed function gets a new number.
pub(crate) const LIBRARY: &str = include_str!("functions.lua");

/// A call of a function of the library.
pub(crate) fn call(name: &str, keys: &[&[u8]]) -> Cmd {
    let mut cmd = Cmd::with_capacity(8, 64);
    cmd.arg("FCALL").arg(format!("twindex_1_{name}")).arg(keys.len());
    for key in keys {
        cmd.arg(*key);
    }
    cmd
}

/// The command that loads the library.
pub(crate) fn load() -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg("FUNCTION").arg("LOAD").arg("REPLACE").arg(LIBRARY);
    cmd
}
