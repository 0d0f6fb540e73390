//! The checksums of what is published.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::place::files;

/// A line for each file, as `sha256sum --check` reads it.
pub(super) fn write(folder: &Path) -> Result<()> {
    let files = files(folder)?;
    ensure!(!files.is_empty(), "{} is empty", folder.display());
    let mut lines = String::new();
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for byte in Sha256::digest(&bytes) {
            let _ = write!(lines, "{byte:02x}");
        }
        let _ = writeln!(lines, "  {name}");
    }
    std::fs::write(folder.join("SHA256SUMS"), lines).context("writing SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_that_everybody_computes() -> Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("b"), "")?;
        std::fs::write(folder.path().join("a"), "abc")?;
        write(folder.path())?;
        let lines = std::fs::read_to_string(folder.path().join("SHA256SUMS"))?;
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
                        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n";
        assert_eq!(lines, expected);
        assert!(write(tempfile::tempdir()?.path()).is_err(), "nothing was made");
        Ok(())
    }
}
