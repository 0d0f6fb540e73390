//! One server.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use redis::{Client, Connection, FromRedisValue};
use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::waiting::{Result, wait_until};

/// Runs the server until the standard input ends, which it does with the process at its other end.
const UNTIL_INPUT_ENDS: &str =
    r#""$0" "$@" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill -9 $! 2>/dev/null"#;

/// A server that listens on loopback.
#[derive(Debug)]
pub struct Server {
    port: u16,
    /// Where it speaks TLS, if it does.
    tls_port: Option<u16>,
    program: &'static str,
    arguments: Vec<String>,
    /// Its shell, and its own process.
    running: Option<(Child, u32)>,
    folder: TempDir,
}

/// A port that nobody listens on, and that nobody in this process was given before.
pub(crate) fn free_port() -> Result<u16> {
    // One that the system would choose may be given to a connection of anybody before the server has it. Systems choose from
    // 32,768 on.
    const PORTS: std::ops::Range<u32> = 10_000..32_000;
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Processes begin at different places.
    let mut ports = PORTS.map(|_| {
        let place = std::process::id().wrapping_mul(7919).wrapping_add(GIVEN.fetch_add(1, Relaxed));
        (PORTS.start + place % (PORTS.end - PORTS.start)) as u16
    });
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.ok_or_else(|| format!("no port of {PORTS:?} is free").into())
}

/// The server program that there is: Valkey's where `TWINDEX_SERVER` says so, else Redis's.
fn program() -> &'static str {
    match std::env::var("TWINDEX_SERVER").as_deref() {
        Ok("valkey") => "valkey-server",
        _ => "redis-server",
    }
}

impl Server {
    /// Starts a server with further settings, such as `["--requirepass", "secret"]`.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_on(free_port()?, settings)
    }

    /// As [`start`](Self::start), on this port.
    pub fn start_on(port: u16, settings: &[&str]) -> Result<Self> {
        let mut server = Self::prepare(port, settings)?;
        server.run()?;
        Ok(server)
    }

    /// Starts a server that speaks TLS too, by these certificates. It wants a certificate of its clients where told so.
    pub fn start_tls(
        certificates: &Certificates,
        wants_certificates: bool,
        settings: &[&str],
    ) -> Result<Self> {
        let mut server = Self::prepare(free_port()?, settings)?;
        let port = free_port()?;
        server.tls_port = Some(port);
        server.arguments.extend(certificates.settings(port, wants_certificates));
        server.run()?;
        Ok(server)
    }

    fn prepare(port: u16, settings: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let usual = "--bind 127.0.0.1 --appendonly no --logfile log --repl-diskless-sync-delay 0 --port";
        let mut arguments: Vec<String> = usual.split(' ').map(Into::into).collect();
        let directory = folder.path().display().to_string();
        arguments.extend([port.to_string(), "--dir".into(), directory, "--save".into(), String::new()]);
        arguments.extend(settings.iter().copied().map(Into::into));
        Ok(Self { port, tls_port: None, program: program(), arguments, running: None, folder })
    }

    /// Starts it, as it was before if it ran already.
    pub fn run(&mut self) -> Result<()> {
        let mut shell = Command::new("sh");
        shell.args(["-c", UNTIL_INPUT_ENDS, self.program]).args(&self.arguments);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        self.running = Some((child, line.trim().parse()?));
        let port = self.port;
        wait_until("starting a server", || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()))
            .map_err(|error| format!("{error}: {}", self.log()).into())
    }

    /// The folder in which it runs.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of this server, with its password where it has one.
    pub fn url(&self) -> String {
        format!("redis://{}127.0.0.1:{}", self.login(), self.port)
    }

    /// What stands before the host in a URL that logs in as the default user.
    fn login(&self) -> String {
        self.password().map_or_else(String::new, |password| format!(":{password}@"))
    }

    /// The password of the default user, if there is one.
    pub(crate) fn password(&self) -> Option<&str> {
        let at = self.arguments.iter().position(|argument| argument == "--requirepass")?;
        self.arguments.get(at + 1).map(String::as_str)
    }

    /// Where the other servers of a cluster speak to it.
    pub(crate) fn inner_port(&self) -> u16 {
        self.tls_port.unwrap_or(self.port)
    }

    /// The host and port at which it speaks TLS, if it does.
    pub fn tls_host(&self) -> Option<String> {
        self.tls_port.map(|port| format!("127.0.0.1:{port}"))
    }

    /// Whether it was started and not killed since.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// A connection of its own.
    pub fn connection(&self) -> Result<Connection> {
        let connection = Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(2))?;
        connection.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(connection)
    }

    /// Does one command.
    pub fn command<T: FromRedisValue>(&self, words: &[&str]) -> Result<T> {
        let mut cmd = redis::Cmd::new();
        for word in words {
            cmd.arg(*word);
        }
        Ok(cmd.query(&mut self.connection()?)?)
    }

    /// A line of `INFO`, such as `master_link_status`.
    pub fn info(&self, name: &str) -> Result<Option<String>> {
        let text: String = self.command(&["INFO", "everything"])?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(line.map(Into::into))
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let (_, process) = self.running.as_ref().ok_or("the server does not run")?;
        Command::new("kill").args([signal, &process.to_string()]).status()?;
        Ok(())
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.signal("-KILL")?;
        if let Some((mut child, _)) = self.running.take() {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }

    /// Has it hang, its connections open, or die.
    pub fn fail(&mut self, hangs: bool) -> Result<()> {
        if hangs { self.signal("-STOP") } else { self.kill() }
    }

    /// Lets it go on where it hangs, or starts it again.
    pub fn go_on(&mut self, hangs: bool) -> Result<()> {
        if hangs { self.signal("-CONT") } else { self.run() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.running.is_some() {
            let _ = self.kill();
        }
    }
}
