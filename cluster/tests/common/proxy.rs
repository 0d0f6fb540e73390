//! A proxy before one server, which can hold up what the server says: on connections that are told of writes, or on all
//! others. And what is said to it, on those that there are.

#![allow(dead_code, reason = "no test uses all of it")]

use std::io::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answers: AtomicBool,
    pushes: AtomicBool,
    /// How many connections there were, and how many of them, from the first, are held up.
    connections: AtomicUsize,
    commands: AtomicUsize,
    /// How many connections have something that is held up.
    holds: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn start(server: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (port, shared) = (listener.local_addr()?.port(), Arc::<Shared>::default());
        let all = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), upstream.into_split());
                let is_told = Arc::<AtomicBool>::default();
                let number = all.connections.fetch_add(1, Relaxed);
                tokio::spawn(forward(from_client, to_server, is_told.clone(), number, all.clone()));
                tokio::spawn(answer(from_server, to_client, is_told, all.clone()));
            }
        });
        Ok(Self { port, shared })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Holds up answers to commands, or lets them go.
    pub(crate) fn hold_answers(&self, holds: bool) {
        self.shared.answers.store(holds, Relaxed);
    }

    /// Holds up commands on the connections that there are, or lets them go.
    pub(crate) fn hold_commands(&self, holds: bool) {
        let count = if holds { self.shared.connections.load(Relaxed) } else { 0 };
        self.shared.commands.store(count, Relaxed);
    }

    /// Holds up what the server tells of writes, or lets it go.
    pub(crate) fn hold_pushes(&self, holds: bool) {
        self.shared.pushes.store(holds, Relaxed);
    }

    /// How many connections have something that is held up.
    pub(crate) fn holds(&self) -> usize {
        self.shared.holds.load(Relaxed)
    }
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_told: Arc<AtomicBool>,
    number: usize,
    all: Arc<Shared>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if buffer[..count].windows(8).any(|window| window == b"TRACKING") {
            is_told.store(true, Relaxed);
        }
        while number < all.commands.load(Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn answer(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, is_told: Arc<AtomicBool>, all: Arc<Shared>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let is_held = || if is_told.load(Relaxed) { &all.pushes } else { &all.answers }.load(Relaxed);
        if is_held() {
            all.holds.fetch_add(1, Relaxed);
            while is_held() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            all.holds.fetch_sub(1, Relaxed);
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
