//! Whether the pairs of a table expire.

use twindex::TableOptions;
use twindex_format::values_that_expire;

use crate::error::{Error, Result};

pub(crate) fn check_expires(table: &twindex::Table, needs: bool) -> Result<()> {
    let expires = values_that_expire(table.codecs().1).is_some();
    if expires == needs { Ok(()) } else { Err(Error::WrongExpiry { table: table.name().into(), expires }) }
}

/// Checks that options are not those of a table whose pairs expire.
pub(crate) fn check_plain(name: &str, options: &TableOptions<'_>) -> Result<()> {
    match values_that_expire(options.codecs().1) {
        None => Ok(()),
        Some(_) => Err(Error::WrongExpiry { table: name.into(), expires: true }),
    }
}
