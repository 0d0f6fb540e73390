//! Listens to every master, on a connection of its own to each.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use redis::{Cmd, Pipeline, PushKind, RedisError, RedisResult, Value};
use tokio::task::JoinHandle;

use super::Near;
use crate::error::{Failure, Result};
use crate::link::{Dialect, Link};
use crate::router::Router;
use crate::topology::Address;

/// How often a server is asked whether it is still there, and still a master.
const ASKED: Duration = Duration::from_millis(500);

/// How often the servers are asked who has which slot. A client that finds all it reads in the process meets no redirection.
const LOOKED: Duration = Duration::from_secs(5);

/// How long it is waited before a server that could not be listened to is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// Fails if the servers do not let this client listen.
pub(crate) async fn check(router: &Router, prefix: &[u8]) -> Result<()> {
    for master in router.masters().iter().take(1) {
        let failed = |error: &RedisError| Failure::new(&master.text(), error);
        let link = router.dialect().open(master, |_| ()).await.map_err(|error| failed(&error))?;
        link.send(&track(prefix)).await.and_then(Value::extract_error).map_err(|error| failed(&error))?;
        // In a cluster another server may have this channel's slot: a right is asked for first.
        let listened = link.send(&subscribe(&[prefix, b"check"].concat())).await;
        match listened.and_then(Value::extract_error) {
            Err(error) if error.code() != Some("MOVED") => return Err(failed(&error).into()),
            _ => {}
        }
    }
    Ok(())
}

/// The command after which a server names all keys with this prefix that are written.
fn track(prefix: &[u8]) -> Cmd {
    let mut track = redis::cmd("CLIENT");
    track.arg("TRACKING").arg("ON").arg("BCAST").arg("PREFIX").arg(prefix);
    track
}

/// The command after which the server that has this channel's slot passes on what is said there.
fn subscribe(channel: &[u8]) -> Cmd {
    let mut subscribe = redis::cmd("SSUBSCRIBE");
    subscribe.arg(channel);
    subscribe
}

/// Begins to listen to all masters, for as long as the store is open.
pub(crate) fn start(near: &Arc<Near>, router: &Arc<Router>, prefix: &[u8]) {
    router.spawn(listen(Arc::downgrade(near), Arc::downgrade(router), prefix.to_vec()));
}

/// Keeps a listener for each master, until the store is closed or gone.
async fn listen(near: Weak<Near>, router: Weak<Router>, prefix: Vec<u8>) {
    let mut listeners: HashMap<Address, Listener> = HashMap::new();
    let mut looked = Instant::now();
    loop {
        let (Some(shared), Some(strong)) = (near.upgrade(), router.upgrade()) else { return };
        if strong.is_closed() {
            return;
        }
        if looked.elapsed() >= LOOKED {
            let _ = strong.refresh().await;
            looked = Instant::now();
        }
        let masters = strong.masters();
        listeners.retain(|server, _| masters.contains(server));
        for server in masters {
            listeners.entry(server).or_insert_with_key(|server| {
                let (server, router) = (server.clone(), router.clone());
                Listener::start(shared.clone(), server, strong.dialect().clone(), router, prefix.clone())
            });
        }
        drop(shared);
        let changes = strong.changes.clone();
        drop(strong);
        let _ = tokio::time::timeout(ASKED, changes.notified()).await;
    }
}

/// A task that listens to one server. It ends with this.
struct Listener {
    near: Arc<Near>,
    server: Address,
    task: JoinHandle<()>,
}

impl Listener {
    fn start(
        near: Arc<Near>,
        server: Address,
        dialect: Dialect,
        router: Weak<Router>,
        prefix: Vec<u8>,
    ) -> Self {
        let (heard, at) = (near.clone(), server.clone());
        let task = tokio::spawn(async move {
            loop {
                if let Err(error) = hear(&heard, &router, &at, &dialect, &prefix).await {
                    log::info!("{} cannot be listened to: {error}", at.text());
                }
                heard.end(&at);
                if let Some(router) = router.upgrade() {
                    let _ = router.refresh().await;
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
        Self { near, server, task }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
        self.near.end(&self.server);
    }
}

/// Listens until the server cannot be listened to any more, or is no master.
async fn hear(
    near: &Arc<Near>,
    router: &Weak<Router>,
    server: &Address,
    dialect: &Dialect,
    prefix: &[u8],
) -> RedisResult<()> {
    let (heard, from) = (Arc::downgrade(near), server.clone());
    let link = dialect
        .open(server, move |info| {
            if let Some(near) = heard.upgrade() {
                near.hear(&from, &info);
            }
        })
        .await?;
    link.send(&track(prefix)).await?.extract_error()?;
    if !is_master(&link).await? {
        return Ok(());
    }
    near.begin(server);
    // The connection may have been lost before listening began, and its loss been told then.
    while link.is_alive() && near.is_heard(server) && is_master(&link).await? {
        listen_to_partitions(near, router, server, &link).await?;
        let _ = tokio::time::timeout(ASKED, near.more.notified()).await;
    }
    Ok(())
}

/// Subscribes to the channels of the partitions that this server has.
async fn listen_to_partitions(
    near: &Near,
    router: &Weak<Router>,
    server: &Address,
    link: &Link,
) -> RedisResult<()> {
    let Some(router) = router.upgrade() else { return Ok(()) };
    let missing = near.missing(server, |slot| router.owner(slot).as_ref() == Some(server));
    if missing.is_empty() {
        return Ok(());
    }
    let mut pipeline = Pipeline::with_capacity(missing.len());
    for channel in &missing {
        pipeline.add_command(subscribe(channel));
    }
    for (channel, answer) in missing.iter().zip(link.send_all(&pipeline).await?) {
        match answer {
            Value::Push { kind: PushKind::SSubscribe, .. } => near.begin_channel(server, channel),
            // Its slot is elsewhere by now, or will be asked for again.
            other => log::info!("{} sends nothing on a channel: {other:?}", server.text()),
        }
    }
    Ok(())
}

async fn is_master(link: &Link) -> RedisResult<bool> {
    let role = link.send(&redis::cmd("ROLE")).await?.extract_error()?;
    let Value::Array(fields) = role else { return Ok(false) };
    Ok(matches!(fields.first(), Some(Value::BulkString(role)) if role == b"master"))
}
