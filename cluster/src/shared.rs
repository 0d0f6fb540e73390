//! What all handles of a store share.

use std::sync::Arc;

use crate::catalogue::{Catalogue, State};
use crate::error::{Error, Result};
use crate::names::Layout;
use crate::near::Near;
use crate::options::Options;
use crate::router::Router;
use crate::sweep::sweep;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) router: Arc<Router>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) near: Option<Arc<Near>>,
    pub(crate) options: Options,
}

impl Shared {
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.router.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// The keys of a table that is to be written. Fails if it was dropped.
    pub(crate) async fn writing(&self, table: &State) -> Result<Arc<Layout>> {
        self.check_open()?;
        self.catalogue.learn().await?;
        if table.is_dropped() { Err(Error::dropped(&table.name)) } else { Ok(table.layout.clone()) }
    }

    /// The keys of a table, as far as is known; none if it was dropped.
    pub(crate) fn layout(&self, table: &State) -> Result<Option<Arc<Layout>>> {
        self.check_open()?;
        self.catalogue.look();
        Ok((!table.is_dropped()).then(|| table.layout.clone()))
    }

    /// Removes the keys of what was dropped, beside what else goes on.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let shared = self.clone();
        self.router.spawn(async move {
            match sweep(&shared.catalogue, &shared.router, shared.options.catalogue_age.saturating_mul(2))
                .await
            {
                Ok(()) | Err(Error::Closed) => {}
                Err(error) => log::warn!("the keys of dropped tables are not all removed yet: {error}"),
            }
        });
    }
}
