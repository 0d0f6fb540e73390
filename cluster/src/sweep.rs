//! Removes the keys of tables that were dropped.

use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::Catalogue;
use crate::error::{Error, Result};
use crate::names::Layout;
use crate::router::Router;
use crate::unlink::unlink;

/// Removes what nobody uses any more, twice: other clients may write to it until they learn that it was dropped.
pub(crate) async fn sweep(catalogue: &Catalogue, router: &Arc<Router>, pause: Duration) -> Result<()> {
    let dropped = catalogue.dropped().await?;
    if dropped.is_empty() {
        return Ok(());
    }
    let dropped: Vec<Arc<Layout>> = dropped.into_iter().map(Arc::new).collect();
    for layout in &dropped {
        done(unlink(router, layout).await)?;
    }
    tokio::time::sleep(pause).await;
    for layout in &dropped {
        done(unlink(router, layout).await)?;
        done(catalogue.forget(&layout.generation).await)?;
    }
    Ok(())
}

/// What a replica still has of it may come back if its master dies now: that costs memory and nothing else.
fn done(removed: Result<()>) -> Result<()> {
    if matches!(removed, Err(Error::NotReplicated { .. })) { Ok(()) } else { removed }
}
