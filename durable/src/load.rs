//! Loading a store from a file.

use std::sync::Arc;

use twindex::Result;
use twindex_format::{Loader, LogEnd, Torn, load_into};

use crate::disk::File;
use crate::log::End;
use crate::options::ProgressFn;

pub(crate) struct Found {
    pub(crate) loader: Loader,
    /// Where the log continues. `None` if the file has no salt and so cannot have a log.
    pub(crate) end: Option<End>,
    pub(crate) torn: Option<Torn>,
}

/// Loads the file. `has_writer` tells whether another store may be writing to it.
pub(crate) fn load(
    file: &Arc<dyn File>,
    has_writer: &dyn Fn() -> bool,
    memory_limit: Option<usize>,
    progress: &mut ProgressFn,
) -> Result<Found> {
    let store = twindex::Store::new();
    let found = load_into(&store, memory_limit, |store| {
        twindex_format::open(&**file, store.clone(), has_writer, progress)
    })?;
    let end = found.end.map(|LogEnd { salt, at, dump, position, synced, last }| {
        let file = Arc::clone(file);
        End { file, salt, at, dump, position, synced, last }
    });
    Ok(Found { loader: found.loader, end, torn: found.torn })
}
