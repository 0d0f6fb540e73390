//! The checker of the engine's structures, where the engine was compiled with it.

use twindex::Table;

/// Walks all that a table holds. No other thread writes to it.
#[cfg(twindex_check)]
pub(crate) fn assert_sound(table: &Table) {
    table.check();
}

#[cfg(not(twindex_check))]
pub(crate) fn assert_sound(_: &Table) {}
