//! Redis over the loopback, one request at a time a session, except where a batch is asked for.
//!
//! What it keeps the pairs in depends on the work, as it does in the benchmarks that it is compared in.

use redis::{Connection, Pipeline, cmd, pipe};
use tempfile::TempDir;
use twindex_benches::{Options, Peer, Persistence, Session, SortedSession, shared};
use twindex_servers::{Result, Server};

/// A server of our own, on a free port of the loopback, whose files are in this folder.
pub(crate) fn start(options: &Options) -> Result<(Server, TempDir)> {
    let folder = options.new_folder()?;
    let path = folder.path().to_string_lossy().into_owned();
    let (append_only, sync) = match options.persistence {
        Persistence::None => ("no", "no"),
        Persistence::Everysec => ("yes", "everysec"),
        Persistence::Always => ("yes", "always"),
    };
    let kept = ["--dir", &path, "--appendonly", append_only, "--appendfsync", sync];
    let debug = ["--enable-debug-command", "local", "--rdbcompression", "no", "--logfile", ""];
    Ok((Server::start(&[kept, debug].concat())?, folder))
}

/// A connection that waits as long as a command takes.
pub(crate) fn connect(server: &Server) -> Connection {
    let connection = redis::Client::open(server.url()).and_then(|client| client.get_connection());
    connection.unwrap_or_else(|error| panic!("Redis: {error}"))
}

/// A server, whose sessions keep pairs in their own way.
pub(crate) struct Redis<S> {
    server: Server,
    /// The server's memory before the first pair.
    empty_bytes: u64,
    open: fn(Connection) -> S,
    _folder: TempDir,
}

fn memory(server: &Server) -> u64 {
    let used = server.info("used_memory").expect("Redis tells its memory").unwrap_or_default();
    used.trim().parse().expect("Redis's memory is a number")
}

/// A string for each key: SET and GET.
pub(crate) struct Strings(Connection);

/// One sorted set, each member of which is a key and its value: ZADD and ZRANGEBYLEX. Keys have no zero byte.
pub(crate) struct Members(Connection);

/// A string for each key, and a sorted set of all keys: an insert writes both, a scan reads keys and then their values.
pub(crate) struct Records(Strings);

/// Lists, named by the first two bytes of a key: LPUSH.
pub(crate) struct Lists(Connection);

const SET: &str = "pairs";
const END: u8 = 0;

impl<S: Session + From<Connection> + 'static> Peer for Redis<S> {
    const NAME: &'static str = "redis";
    const REMOTE: bool = true;
    const MANY: bool = false;
    shared!(S, |peer| (peer.open)(connect(&peer.server)));

    fn open(options: &Options) -> Self {
        let (server, folder) = start(options).unwrap_or_else(|error| panic!("redis-server: {error}"));
        let empty_bytes = memory(&server);
        Self { server, empty_bytes, open: S::from, _folder: folder }
    }

    fn bytes(&mut self) -> Option<u64> {
        Some(memory(&self.server).saturating_sub(self.empty_bytes))
    }
}

/// A command that Redis carries out: anything else is a mistake of ours.
fn run<T: redis::FromRedisValue>(command: &redis::Cmd, connection: &mut Connection) -> T {
    command.query(connection).unwrap_or_else(|error| panic!("Redis: {error}"))
}

fn run_all<T: redis::FromRedisValue>(commands: &Pipeline, connection: &mut Connection) -> T {
    commands.query(connection).unwrap_or_else(|error| panic!("Redis: {error}"))
}

macro_rules! from_connection {
    ($($session:ident),*) => { $(
        impl From<Connection> for $session {
            fn from(connection: Connection) -> Self {
                Self(connection.into())
            }
        }
    )* };
}
from_connection!(Strings, Members, Records, Lists);

impl Session for Strings {
    /// Overwrites, as SET does.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        run::<()>(cmd("SET").arg(key).arg(value), &mut self.0);
        true
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        run::<Option<()>>(cmd("SET").arg(key).arg(value).arg("XX"), &mut self.0).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        run::<u64>(cmd("DEL").arg(key), &mut self.0) == 1
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        run::<Option<Vec<u8>>>(cmd("GET").arg(key), &mut self.0).map(|value| read(&value))
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let mut commands = pipe();
        for (key, value) in pairs {
            commands.cmd("SET").arg(*key).arg(*value).ignore();
        }
        run_all::<()>(&commands, &mut self.0);
        pairs.len()
    }
}

impl Members {
    fn member(key: &[u8], value: &[u8]) -> Vec<u8> {
        [key, &[END], value].concat()
    }

    /// The members from `start` on, in the form that ZRANGEBYLEX takes.
    fn range(&mut self, start: &[u8], limit: usize) -> Vec<Vec<u8>> {
        run(cmd("ZRANGEBYLEX").arg(SET).arg(start).arg("+").arg("LIMIT").arg(0).arg(limit), &mut self.0)
    }
}

impl Session for Members {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        run::<u64>(cmd("ZADD").arg(SET).arg(0).arg(Self::member(key, value)), &mut self.0) == 1
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.delete(key) && self.insert(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let (least, most) = ([b"[", key, &[END]].concat(), [b"(", key, &[END + 1]].concat());
        run::<u64>(cmd("ZREMRANGEBYLEX").arg(SET).arg(least).arg(most), &mut self.0) == 1
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let found = self.range(&[b"[", key, &[END]].concat(), 1);
        found.first()?.strip_prefix(key)?.strip_prefix(&[END]).map(read)
    }
}

impl SortedSession for Members {
    /// A request a pair, each from the pair before on.
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let mut start = [b"[", first].concat();
        for count in 0..limit {
            let Some(member) = self.range(&start, 1).pop() else { return count };
            let end = member.iter().position(|&byte| byte == END).expect("a member has a key");
            read(&member[..end], &member[end + 1..]);
            start = [b"(", member.as_slice()].concat();
        }
        limit
    }
}

impl Session for Records {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        let mut commands = pipe();
        commands.cmd("SET").arg(key).arg(value).ignore().cmd("ZADD").arg(SET).arg(0).arg(key);
        run_all::<(u64,)>(&commands, &mut self.0.0) == (1,)
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.replace(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let mut commands = pipe();
        commands.cmd("DEL").arg(key).ignore().cmd("ZREM").arg(SET).arg(key);
        run_all::<(u64,)>(&commands, &mut self.0.0) == (1,)
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.select(key, read)
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let mut commands = pipe();
        for (key, value) in pairs {
            commands.cmd("SET").arg(*key).arg(*value).ignore().cmd("ZADD").arg(SET).arg(0).arg(*key);
        }
        run_all::<Vec<u64>>(&commands, &mut self.0.0).iter().sum::<u64>() as usize
    }
}

impl SortedSession for Records {
    /// Two requests: one for the keys, one for their values.
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let connection = &mut self.0.0;
        let start = [b"[", first].concat();
        let range = cmd("ZRANGEBYLEX").arg(SET).arg(start).arg("+").arg("LIMIT").arg(0).arg(limit).take();
        let keys: Vec<Vec<u8>> = run(&range, connection);
        if keys.is_empty() {
            return 0;
        }
        let values: Vec<Vec<u8>> = run(cmd("MGET").arg(&keys), connection);
        assert_eq!(keys.len(), values.len(), "Redis gives a value for each key");
        keys.iter().zip(&values).for_each(|(key, value)| read(key, value));
        keys.len()
    }
}

impl Session for Lists {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.insert_many(&[(key, value)]) == 1
    }

    /// The newest message of the key's list.
    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        run::<Option<Vec<u8>>>(cmd("LINDEX").arg(list_of(key)).arg(0), &mut self.0).map(|value| read(&value))
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let mut commands = pipe();
        for (key, value) in pairs {
            commands.cmd("LPUSH").arg(list_of(key)).arg(*value).ignore();
        }
        run_all::<()>(&commands, &mut self.0);
        pairs.len()
    }
}

/// The name of the list that a key stands for.
fn list_of(key: &[u8]) -> &[u8] {
    &key[..2]
}
