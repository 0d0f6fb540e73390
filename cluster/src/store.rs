//! A store in a cluster.

use std::fmt;
use std::sync::Arc;

use twindex::{IndexKind, TableOptions};

use crate::batch::Batch;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::near::{Near, NearStats, listener};
use crate::options::{Options, parse_url};
use crate::router::Router;
use crate::shared::Shared;
use crate::table::Table;

/// Connects to the servers that a URL names, such as `redis://host:7000,other:7000`, with the default [`Options`].
///
/// `rediss://` is TLS; `redis://user:password@host` logs in. One server of a cluster is enough, several are tried in turn.
pub async fn connect(url: &str) -> Result<Store> {
    Options::new().connect(url).await
}

impl Options {
    /// Connects to the servers that a URL names.
    pub async fn connect(self, url: &str) -> Result<Store> {
        let infos = parse_url(url, &self)?;
        let router = Arc::new(Router::connect(&infos, &self).await?);
        let catalogue = Catalogue::new(router.clone(), &self.namespace, self.partitions, self.catalogue_age);
        let near = match self.near_cache {
            0 => None,
            bytes => Some(Arc::new(Near::new(bytes, self.longest_life)?)),
        };
        if let Some(near) = &near {
            listener::check(&router, &catalogue.names.prefix()).await?;
            listener::start(near, &router, &catalogue.names.prefix());
        }
        let shared = Arc::new(Shared { router, catalogue: Arc::new(catalogue), near, options: self });
        // The client that dropped a table may have ended before all keys were removed.
        shared.sweep();
        Ok(Store { shared })
    }
}

/// A set of named tables in a cluster. Clones are handles of the same connections.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

impl Store {
    fn wrap(&self, state: Arc<crate::catalogue::State>) -> Table {
        if let Some(near) = &self.shared.near {
            near.want(&state.layout);
        }
        Table::new(self.shared.clone(), state)
    }

    /// Opens the table called `name`, or creates it with this index, with `bytes` as keys and values.
    pub async fn table(&self, name: &str, index: IndexKind) -> Result<Table> {
        self.table_with(name, TableOptions::new(index)).await
    }

    /// As [`table`](Self::table), with the codecs of its keys and values, and only an existing table if the options say so.
    pub async fn table_with(&self, name: &str, options: TableOptions<'_>) -> Result<Table> {
        self.shared.check_open()?;
        Ok(self.wrap(self.shared.catalogue.open(name, options).await?))
    }

    /// The table called `name`, if there is one.
    pub async fn find_table(&self, name: &str) -> Result<Option<Table>> {
        self.shared.check_open()?;
        Ok(self.shared.catalogue.find(name).await?.map(|state| self.wrap(state)))
    }

    /// All tables, by name.
    pub async fn tables(&self) -> Result<Vec<Table>> {
        self.shared.check_open()?;
        let tables = self.shared.catalogue.list().await?;
        Ok(tables
            .iter()
            .map(|(name, described)| self.wrap(self.shared.catalogue.share(name, described)))
            .collect())
    }

    /// Removes a table and its pairs. Returns whether there was one. Its memory is freed in the background.
    ///
    /// Handles of it find nothing from then on, and their writes fail. Handles of other clients notice it within a second.
    pub async fn drop_table(&self, name: &str) -> Result<bool> {
        self.shared.check_open()?;
        let dropped = self.shared.catalogue.drop_table(name).await;
        if !matches!(dropped, Ok(false)) {
            // After an error too: it may be dropped.
            self.shared.sweep();
        }
        dropped
    }

    /// A batch of writes: all are done or none.
    pub fn batch(&self) -> Batch {
        Batch::new(self.shared.clone())
    }

    /// Figures of the near cache, if there is one.
    pub fn near_stats(&self) -> Option<NearStats> {
        self.shared.near.as_ref().map(|near| near.stats())
    }

    /// The addresses of the masters, as the cluster announces them.
    pub fn servers(&self) -> Vec<String> {
        self.shared.router.masters().iter().map(|master| master.text().to_string()).collect()
    }

    /// Closes the connections. Every use of the store and its tables fails from then on.
    pub fn close(&self) {
        self.shared.router.close();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("servers", &self.servers()).finish_non_exhaustive()
    }
}
