//! One connection to one server.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, PushInfo, PushKind, RedisError, Value,
};

use crate::locks::lock;
use crate::options::Options;
use crate::topology::Address;

/// How many commands may wait to be written to a connection.
const QUEUED: usize = 1024;

/// After an attempt failed, everybody who asks so soon afterwards gets its error instead of waiting for another one.
const SAME_FAILURE: Duration = Duration::from_millis(100);

/// How every server is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    /// Any server's; the address is put in.
    info: ConnectionInfo,
    timeout: Duration,
    connect_timeout: Duration,
}

impl Dialect {
    pub(crate) fn new(info: ConnectionInfo, options: &Options) -> Self {
        Self { info, timeout: options.timeout, connect_timeout: options.connect_timeout }
    }

    /// Connects; `push` gets what the server sends unasked, and last of all a disconnection.
    pub(crate) async fn open(
        &self,
        address: &Address,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<Link, RedisError> {
        let (host, port) = (address.host.to_string(), address.port);
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
        Ok(Link { connection, lost })
    }
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
    /// Held by the one who connects; inside it how the last attempt failed.
    opening: tokio::sync::Mutex<Option<(Instant, Arc<str>)>>,
}

impl Node {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, current: Mutex::new(None), opening: tokio::sync::Mutex::new(None) }
    }

    fn alive(&self) -> Option<Arc<Link>> {
        lock(&self.current).clone().filter(|link| link.is_alive())
    }

    /// The connection, made if there is none; or why it cannot be made.
    pub(crate) async fn link(&self, dialect: &Dialect) -> Result<Arc<Link>, Arc<str>> {
        if let Some(link) = self.alive() {
            return Ok(link);
        }
        let mut failure = self.opening.lock().await;
        if let Some(link) = self.alive() {
            return Ok(link);
        }
        if let Some((at, reason)) = &*failure
            && at.elapsed() < SAME_FAILURE
        {
            return Err(reason.clone());
        }
        match dialect.open(&self.address, |_| ()).await {
            Ok(link) => {
                let link = Arc::new(link);
                *lock(&self.current) = Some(link.clone());
                *failure = None;
                Ok(link)
            }
            Err(error) => {
                let reason: Arc<str> = format!("{}: {error}", self.address.text()).into();
                *failure = Some((Instant::now(), reason.clone()));
                Err(reason)
            }
        }
    }
}
