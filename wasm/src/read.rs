//! Reading one value, without a copy of the code for every reader.

use twindex::Table;

use crate::failure::Failed;

/// Shows `read` the value of a key; whether the key is present.
#[inline]
pub(crate) fn read(
    table: &Table,
    key: &[u8],
    read: impl FnMut(&[u8]) -> Result<(), Failed>,
) -> Result<bool, Failed> {
    // The small module has one copy of how the indexes are read.
    #[cfg(not(target_feature = "simd128"))]
    let mut read = read;
    #[cfg(not(target_feature = "simd128"))]
    let read: &mut dyn FnMut(&[u8]) -> Result<(), Failed> = &mut read;
    read_with(table, key, read)
}

#[cfg_attr(target_feature = "simd128", inline)]
#[cfg_attr(not(target_feature = "simd128"), inline(never))]
fn read_with(
    table: &Table,
    key: &[u8],
    mut read: impl FnMut(&[u8]) -> Result<(), Failed>,
) -> Result<bool, Failed> {
    // An outcome that goes from hand to hand in a register.
    match table.select_with(key, |value| read(value).is_ok()) {
        Some(false) => Err(Failed::again()),
        found => Ok(found.is_some()),
    }
}
