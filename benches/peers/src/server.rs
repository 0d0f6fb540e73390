//! A Redis server of our own: on a free port of the loopback, with the persistence that a test needs, and stopped
//! when it is dropped.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection, IntoConnectionInfo};
use tempfile::TempDir;
use twindex_benches::Persistence;

/// How long a server may take to answer for the first time.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Server {
    process: Child,
    port: u16,
    /// Its memory before the first pair.
    empty_bytes: u64,
    folder: TempDir,
}

impl Server {
    /// Starts one whose files are in this folder.
    pub(crate) fn start(persistence: Persistence, folder: TempDir) -> Self {
        // Somebody else may take a port between the moment it is found free and the server's own.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let port = free_port();
            let mut process = command(port, persistence, folder.path())
                .spawn()
                .unwrap_or_else(|error| panic!("Redis is missing ({error}): apt-get install redis-server"));
            if answers(&mut process, port, deadline) {
                let mut server = Self { process, port, empty_bytes: 0, folder };
                server.empty_bytes = server.memory();
                return server;
            }
            stop(&mut process);
            assert!(Instant::now() < deadline, "redis-server did not answer on port {port}");
        }
    }

    pub(crate) fn connect(&self) -> Connection {
        connect(self.port).unwrap_or_else(|error| panic!("Redis on port {}: {error}", self.port))
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// By how much its memory has grown, as it counts it itself.
    pub(crate) fn grown_by(&self) -> u64 {
        self.memory().saturating_sub(self.empty_bytes)
    }

    fn memory(&self) -> u64 {
        let info: String =
            redis::cmd("INFO").arg("memory").query(&mut self.connect()).expect("Redis tells its memory");
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|bytes| bytes.trim().parse().ok()).expect("Redis's memory is a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.process);
    }
}

/// Stops a server at once: what it holds is of no more use.
fn stop(process: &mut Child) {
    let _it_may_have_ended = process.kill();
    let _its_code_says_nothing = process.wait();
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

fn command(port: u16, persistence: Persistence, folder: &Path) -> Command {
    let (append_only, sync) = match persistence {
        Persistence::None => ("no", "no"),
        Persistence::Everysec => ("yes", "everysec"),
        Persistence::Always => ("yes", "always"),
    };
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--save", "", "--loglevel", "warning", "--logfile", ""]);
    command.args(["--port", &port.to_string(), "--appendonly", append_only, "--appendfsync", sync]);
    command.args(["--enable-debug-command", "local", "--rdbcompression", "no"]);
    command.arg("--dir").arg(folder).stdin(Stdio::null()).stdout(Stdio::null());
    end_with_us(&mut command);
    command
}

/// Has the system end the server where this process is killed before it can.
#[cfg(target_os = "linux")]
fn end_with_us(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    use rustix::process::{Signal, set_parent_process_death_signal};

    // SAFETY: between fork and exec the closure makes one system call, and neither allocates nor locks.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

#[cfg(not(target_os = "linux"))]
fn end_with_us(_command: &mut Command) {}

/// Waits until the server answers; whether it did, rather than ended or kept silent.
fn answers(process: &mut Child, port: u16, deadline: Instant) -> bool {
    while Instant::now() < deadline {
        if process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return false;
        }
        if connect(port).is_ok_and(|mut connection| redis::cmd("PING").query::<()>(&mut connection).is_ok()) {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

fn connect(port: u16) -> redis::RedisResult<Connection> {
    Client::open(("127.0.0.1", port).into_connection_info()?)?.get_connection()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_server_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let server = Server::start(Persistence::Everysec, folder);
        let port = server.port;
        let mut connection = server.connect();
        redis::cmd("SET").arg("key").arg(vec![0_u8; 1 << 20]).exec(&mut connection).unwrap();
        assert!(server.grown_by() >= 1 << 20);
        drop(server);
        assert!(redis::cmd("PING").exec(&mut connection).is_err());
        assert!(connect(port).is_err(), "something still listens on port {port}");
        assert!(!path.exists(), "files were left");
    }
}
