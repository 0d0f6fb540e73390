//! The functions that run inside the servers.

use redis::Cmd;

/// The library, as `FUNCTION LOAD` takes it.
///
/// Whenever it changes, the number in its name does: servers that have an older one would go on with that, and it may not
/// say what it writes, or say it otherwise.
pub(crate) const LIBRARY: &str = include_str!("functions.lua");

/// A call of a function of the library.
pub(crate) fn call(name: &str, keys: &[&[u8]]) -> Cmd {
    let mut cmd = Cmd::with_capacity(8, 64);
    cmd.arg("FCALL").arg(format!("twindex_4_{name}")).arg(keys.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers kept a library that told near caches nothing, since the new one had its name.
    #[test]
    fn a_changed_library_has_another_number() {
        let sum = LIBRARY.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        assert!(LIBRARY.starts_with("#!lua name=twindex_4\n"));
        assert_eq!(
            sum, 0xA407_D066_B327_F7A2,
            "functions.lua has changed: raise the number in its names, then write this sum here"
        );
    }
}
