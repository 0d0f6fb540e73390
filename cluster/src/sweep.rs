//! Removes the keys of tables that were dropped.

use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::Catalogue;
use crate::error::Result;
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
        unlink(router, layout).await?;
    }
    tokio::time::sleep(pause).await;
    for layout in &dropped {
        unlink(router, layout).await?;
        catalogue.forget(&layout.generation).await?;
    }
    Ok(())
}
