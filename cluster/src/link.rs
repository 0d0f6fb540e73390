//! One connection to one server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, PushInfo, PushKind, RedisError, Value,
};

use crate::error::Failure;
use crate::locks::lock;
use crate::options::Options;
use crate::topology::Address;

/// How many commands may wait to be written to a connection.
const QUEUED: usize = 1024;

/// How many connections of their own the callers have to one server at most.
const OWN: usize = 8;

/// Why a server is not the expected one of the cluster.
pub(crate) const NO_CLUSTER: &str = "it is not in a cluster, but the other servers of this store are";

/// After an attempt failed, everybody who asks so soon afterwards gets its error instead of waiting for another one.
const SAME_FAILURE: Duration = Duration::from_millis(100);

/// How every server is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    /// Any server's; the address is put in.
    info: ConnectionInfo,
    timeout: Duration,
    connect_timeout: Duration,
    /// The servers that the URL names.
    seeds: Arc<[Address]>,
    /// Where servers are reached that announce another address.
    addresses: Arc<HashMap<String, String>>,
    /// Whether the servers are known to be a cluster: then no other is spoken to, also not at the address of one of them.
    is_cluster: Arc<AtomicBool>,
}

impl Dialect {
    pub(crate) fn new(info: ConnectionInfo, seeds: &[Address], options: &Options) -> Self {
        let (timeout, connect_timeout) = (options.timeout, options.connect_timeout);
        let (addresses, is_cluster) = (options.addresses.clone(), Arc::default());
        Self { info, timeout, connect_timeout, seeds: seeds.into(), addresses, is_cluster }
    }

    /// Whether a server that is no cluster may be the one that is meant.
    pub(crate) fn takes_single(&self) -> bool {
        self.seeds.len() == 1 && !self.is_cluster.load(Relaxed)
    }

    /// Takes only servers of a cluster from now on.
    pub(crate) fn wants_cluster(&self) {
        self.is_cluster.store(true, Relaxed);
    }

    /// Where a server is reached: the options may say of its host and port, or of its host.
    fn reached(&self, address: &Address) -> (String, u16) {
        let host = || self.addresses.get(&*address.host);
        match self.addresses.get(&*address.text()).or_else(host) {
            Some(to) => split_port(to, address.port),
            None => (address.host.to_string(), address.port),
        }
    }

    /// As long again for each answer.
    fn patient(&self) -> Self {
        Self { timeout: self.timeout.saturating_mul(2), ..self.clone() }
    }

    /// Why a server could not be connected to, which was reached before or not.
    fn failure(&self, node: &Node, error: &RedisError) -> Failure {
        let is_tls = matches!(self.info.addr(), ConnectionAddr::TcpTls { .. });
        let is_only_announced = !self.seeds.contains(&node.address) && !node.was_reached.load(Relaxed);
        Failure::to_connect(&node.address.text(), error, is_tls, is_only_announced)
    }

    /// Connects; `push` gets what the server sends unasked, and last of all a disconnection.
    pub(crate) async fn open(
        &self,
        address: &Address,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<Link, RedisError> {
        let (host, port) = self.reached(address);
        let addr = match self.info.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        let lost = Arc::new(AtomicBool::new(false));
        let seen = lost.clone();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(Some(self.timeout))
            .set_pipeline_buffer_size(QUEUED)
            .set_push_sender(move |info: PushInfo| {
                if info.kind == PushKind::Disconnection {
                    seen.store(true, Relaxed);
                }
                push(info);
                Ok::<(), redis::aio::SendError>(())
            });
        let client = Client::open(self.info.clone().set_addr(addr))?;
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let link = Link { connection, lost };
        if self.is_cluster.load(Relaxed) {
            link.check_cluster().await?;
        }
        Ok(link)
    }
}

/// A host and its port, or this one. `::1` has none, `[::1]:7` has one.
fn split_port(text: &str, port: u16) -> (String, u16) {
    let split = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
    let split = split.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = split.unwrap_or((text, port));
    (host.trim_matches(['[', ']']).to_owned(), port)
}

/// The address that a [`ConnectionInfo`] names.
pub(crate) fn address_of(info: &ConnectionInfo) -> Option<Address> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Some(Address { host: host.as_str().into(), port: *port })
        }
        _ => None,
    }
}

/// A connection that many tasks use at once.
#[derive(Debug)]
pub(crate) struct Link {
    connection: MultiplexedConnection,
    lost: Arc<AtomicBool>,
}

impl Link {
    /// Whether it can still be used, as far as is known.
    pub(crate) fn is_alive(&self) -> bool {
        !self.lost.load(Relaxed)
    }

    /// Fails if the server is no cluster: another one may have been given the address of a server that is gone.
    async fn check_cluster(&self) -> Result<(), RedisError> {
        let hello = self.send(&redis::cmd("HELLO")).await?.extract_error()?;
        let Value::Map(fields) = hello else { return Ok(()) };
        let is_mode = |value: &Value, text: &str| match value {
            Value::BulkString(bytes) => bytes == text.as_bytes(),
            Value::SimpleString(simple) => simple == text,
            _ => false,
        };
        if fields.iter().any(|(name, mode)| is_mode(name, "mode") && !is_mode(mode, "cluster")) {
            return Err(std::io::Error::other(NO_CLUSTER).into());
        }
        Ok(())
    }

    /// Sends one command. What the server refuses is a value too.
    pub(crate) async fn send(&self, cmd: &Cmd) -> Result<Value, RedisError> {
        let answer = self.connection.clone().send_packed_command(cmd).await;
        answer.or_else(|error| self.met(error))
    }

    /// Sends several commands at once; the answers in their order.
    pub(crate) async fn send_all(&self, pipeline: &redis::Pipeline) -> Result<Vec<Value>, RedisError> {
        let answers = self.connection.clone().send_packed_commands(pipeline, 0, pipeline.len()).await;
        answers.or_else(|error| self.met(error))
    }

    /// Waits until all that was sent on it is done, or until it is known that no more of it will be.
    async fn settle(&self) {
        // The server answers this last. It fails at once if the connection is closed.
        let _ = self.send(&redis::cmd("HELLO")).await;
    }

    /// A connection on which an answer is missing is not used again: a server that hangs is noticed by connecting anew.
    fn met<T>(&self, error: RedisError) -> Result<T, RedisError> {
        self.lost.store(true, Relaxed);
        Err(error)
    }
}

/// A server, and the connection to it that all share.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) address: Address,
    current: Mutex<Option<Arc<Link>>>,
    was_reached: AtomicBool,
    /// Held by the one who connects; inside it how the last attempt failed.
    opening: tokio::sync::Mutex<Option<(Instant, Failure)>>,
    /// Connections that one caller uses at a time, while none does; and the right to use one.
    idle: Mutex<Vec<Arc<Link>>>,
    places: tokio::sync::Semaphore,
    /// Connections that still bring writes of which nobody knows the outcome; whether there are any.
    unsettled: tokio::sync::Mutex<Vec<Unsettled>>,
    is_unsettled: AtomicBool,
}

/// A connection that still brings writes, and since when it is waited for.
#[derive(Debug)]
struct Unsettled {
    link: Arc<Link>,
    since: Option<Instant>,
}

impl Unsettled {
    /// Waits for the timeout at most. Calls that were dropped while they waited count: else calls with a shorter deadline would
    /// never be done.
    async fn settle(&mut self, timeout: Duration) {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        let _ = tokio::time::timeout(timeout.saturating_sub(waited), self.link.settle()).await;
    }
}

/// A connection in use: the shared one, or one that is the caller's alone until it is given back.
pub(crate) struct Taken<'n> {
    link: Arc<Link>,
    own: Option<(&'n Node, tokio::sync::SemaphorePermit<'n>)>,
}

impl Taken<'_> {
    /// Returns it for reuse. A link dropped without this may still be waiting for an answer, and is not used again.
    pub(crate) fn give_back(self) {
        if let Some((node, _place)) = self.own {
            lock(&node.idle).push(self.link);
        }
    }
}

impl std::ops::Deref for Taken<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Node {
    pub(crate) fn new(address: Address) -> Self {
        let places = tokio::sync::Semaphore::new(OWN);
        let (current, opening, idle) = (Mutex::default(), tokio::sync::Mutex::default(), Mutex::default());
        let (was_reached, is_unsettled) = (AtomicBool::new(false), AtomicBool::new(false));
        let unsettled = tokio::sync::Mutex::default();
        Self { address, current, was_reached, opening, idle, places, unsettled, is_unsettled }
    }

    /// The connection that all share.
    pub(crate) async fn shared(&self, dialect: &Dialect) -> Result<Taken<'_>, Failure> {
        let link = self.link(dialect).await?;
        self.settle(dialect).await;
        Ok(Taken { link, own: None })
    }

    /// A connection of the caller's own, for a command that blocks it.
    pub(crate) async fn own(&self, dialect: &Dialect) -> Result<Taken<'_>, Failure> {
        let closed = |_| Failure::passing(format!("{}: it was closed", self.address.text()));
        let place = self.places.acquire().await.map_err(closed)?;
        let idle = {
            let mut idle = lock(&self.idle);
            idle.retain(|link| link.is_alive());
            idle.pop()
        };
        let link = if let Some(link) = idle {
            link
        } else {
            let opened = dialect.patient().open(&self.address, |_| ()).await;
            Arc::new(opened.map_err(|error| dialect.failure(self, &error))?)
        };
        self.settle(dialect).await;
        Ok(Taken { link, own: Some((self, place)) })
    }

    /// A write was sent on this connection and has no answer. The server may do it later, even after what comes on a newer one.
    pub(crate) async fn doubts(&self, taken: &Taken<'_>) {
        let mut unsettled = self.unsettled.lock().await;
        unsettled.retain(|one| !Arc::ptr_eq(&one.link, &taken.link));
        unsettled.push(Unsettled { link: taken.link.clone(), since: None });
        self.is_unsettled.store(true, Relaxed);
    }

    /// Waits, once the server answers on a newer connection, until older ones bring nothing more. So a read that finds out whether
    /// a pair was written reads what stays.
    async fn settle(&self, dialect: &Dialect) {
        if self.is_unsettled.load(Relaxed) {
            let mut unsettled = self.unsettled.lock().await;
            join_all(unsettled.iter_mut().map(|one| one.settle(dialect.timeout))).await;
            unsettled.clear();
            self.is_unsettled.store(false, Relaxed);
        }
    }

    fn alive(&self) -> Option<Arc<Link>> {
        lock(&self.current).clone().filter(|link| link.is_alive())
    }

    /// The connection, made if there is none; or why it cannot be made.
    pub(crate) async fn link(&self, dialect: &Dialect) -> Result<Arc<Link>, Failure> {
        if let Some(link) = self.alive() {
            return Ok(link);
        }
        let mut failure = self.opening.lock().await;
        if let Some(link) = self.alive() {
            return Ok(link);
        }
        if let Some((at, same)) = &*failure
            && at.elapsed() < SAME_FAILURE
        {
            return Err(same.clone());
        }
        match dialect.open(&self.address, |_| ()).await {
            Ok(link) => {
                let link = Arc::new(link);
                self.was_reached.store(true, Relaxed);
                *lock(&self.current) = Some(link.clone());
                *failure = None;
                Ok(link)
            }
            Err(error) => {
                let new = dialect.failure(self, &error);
                *failure = Some((Instant::now(), new.clone()));
                Err(new)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_may_have_a_port() {
        for (text, host, port) in
            [("a", "a", 9), ("a:7", "a", 7), ("::1", "::1", 9), ("[::1]", "::1", 9), ("[::1]:7", "::1", 7)]
        {
            assert_eq!(split_port(text, 9), (host.to_owned(), port), "{text}");
        }
        let one = Address { host: "::1".into(), port: 7 };
        assert_eq!((&*one.text(), Address::parse("::1:7", &one)), ("[::1]:7", Some(one.clone())));
    }
}
