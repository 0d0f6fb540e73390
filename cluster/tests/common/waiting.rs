//! Waiting for servers and other clients.

/// Waits until something is so.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    for _ in 0..1500 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{what} took more than 15 seconds");
}
