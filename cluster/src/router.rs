//! Brings every command to the server that has its slot, and says honestly what became of it.
//!
//! What a server refuses for being the wrong one, or for not being ready, was not done: it is sent again, elsewhere or
//! later. What was sent and got no answer is sent again only if it reads; a write may be done or not. Every command has an
//! outcome of its own, so what some servers answered is kept where others fail.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{join_all, select_ok};
use redis::{Cmd, ConnectionInfo, Pipeline, ServerError, Value};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::error::{Error, Failure, Result, line_of};
use crate::functions;
use crate::link::{Dialect, Link, NO_CLUSTER, Node, address_of};
use crate::locks::{lock, read, write};
use crate::options::Options;
use crate::slot::SLOTS;
use crate::topology::{Address, Topology};

/// How many commands go to a server at once, and how many bytes about: more would take longer than the timeout.
const AT_ONCE: usize = 1000;
const BYTES_AT_ONCE: usize = 4 << 20;

/// The slots are fetched no more often.
const REFRESHED: Duration = Duration::from_millis(50);

/// How long a command waits before it is tried again: at first, and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(160));

/// How many redirections are followed without waiting.
const REDIRECTIONS: usize = 4;

/// What a command does, and so whether it may be sent again when nobody knows whether it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    /// Writes the same, and answers the same, when it is done twice.
    Repeat,
    Write,
}

/// A command and the slot of its keys.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) slot: u16,
    pub(crate) cmd: Cmd,
    /// Whether an answer says that something was written; none where every good answer does.
    wrote: Option<fn(&Value) -> bool>,
    /// How many bytes its values have.
    pub(crate) bytes: usize,
}

impl Op {
    /// A command that says how much it wrote, or a read.
    pub(crate) fn new(slot: u16, cmd: Cmd) -> Self {
        Self { slot, cmd, wrote: Some(says_written), bytes: 0 }
    }

    /// The same command, which writes whatever it finds.
    pub(crate) fn certain(self) -> Self {
        Self { wrote: None, ..self }
    }

    /// A command whose answer says in its own way whether it wrote.
    pub(crate) fn telling(slot: u16, cmd: Cmd, wrote: fn(&Value) -> bool) -> Self {
        Self { slot, cmd, wrote: Some(wrote), bytes: 0 }
    }
}

/// Whether an answer, or one of a list, is neither nothing nor 0.
fn says_written(value: &Value) -> bool {
    match value {
        Value::Nil | Value::ServerError(_) => false,
        Value::Int(count) => *count > 0,
        Value::Array(answers) => answers.iter().any(says_written),
        _ => true,
    }
}

/// What a server answered, and which one.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) value: Value,
    pub(crate) server: Address,
    /// How many replicas have what was written, and how many were to, where they are fewer.
    short: Option<(u32, u32)>,
}

impl Reply {
    /// The answer, if it is not that the server refuses and enough replicas have what it wrote.
    pub(crate) fn accepted(self) -> Result<Value> {
        match (self.value, self.short) {
            (Value::ServerError(error), _) => Err(refused(&error)),
            (_, Some((reached, wanted))) => {
                Err(Error::NotReplicated { server: self.server.text(), wanted, reached })
            }
            (value, None) => Ok(value),
        }
    }

    /// The answers to the items of one command. Only those that say that they wrote miss replicas.
    pub(crate) fn items(self) -> Result<Vec<Result<Value>>> {
        let (server, short) = (self.server, self.short);
        let values = match self.value {
            Value::Array(values) => values,
            Value::ServerError(error) => return Err(refused(&error)),
            _ => return Err(Error::unexpected("list")),
        };
        let one = |value| {
            let short = short.filter(|_| says_written(&value));
            Self { value, server: server.clone(), short }.accepted()
        };
        Ok(values.into_iter().map(one).collect())
    }
}

pub(crate) fn refused(error: &ServerError) -> Error {
    let reason = text_of(error);
    let lowered = reason.to_lowercase();
    if lowered.contains("unknown command") && (lowered.contains("fcall") || lowered.contains("function")) {
        return Error::Refused { reason: format!("{reason}. Twindex needs Redis 7 or later, or Valkey") };
    }
    Error::Refused { reason }
}

fn text_of(error: &ServerError) -> String {
    format!("{} {}", error.code(), error.details().unwrap_or_default())
}

/// A command that has no answer yet.
struct Pending {
    /// Its place among those that were given together.
    place: usize,
    op: Op,
    /// Where it was redirected to, and whether only this once.
    target: Option<Box<(Address, bool)>>,
}

impl Pending {
    /// Whether the server is to be told first that it was redirected there this once.
    fn asks(&self) -> bool {
        matches!(self.target.as_deref(), Some((_, true)))
    }

    /// Its command is sent again to a server of which it is known, or to the one that it was redirected to.
    fn again(self, cmd: Option<&Cmd>, target: Option<(Address, bool)>) -> Self {
        // What was sent alone is still here.
        let cmd = cmd.cloned().unwrap_or(self.op.cmd);
        Self { op: Op { cmd, ..self.op }, target: target.map(Box::new), ..self }
    }
}

/// What became of commands that were sent.
#[derive(Default)]
struct Fates {
    /// Those with an outcome, by their places.
    done: Vec<(usize, Result<Reply>)>,
    /// Those that were not done. With a reason they wait before they are sent again.
    again: Vec<(Pending, Option<Arc<str>>)>,
}

impl Fates {
    fn extend(&mut self, more: Self) {
        self.done.extend(more.done);
        self.again.extend(more.again);
    }
}

/// What a refusal means.
enum Refusal {
    Moved(u16, Address),
    Asked(Address),
    /// The server is not ready.
    Later,
    /// The server does not know our functions yet.
    NoFunctions,
    Final,
}

impl Refusal {
    fn of(error: &ServerError, asked: &Address) -> Self {
        let details = error.details().unwrap_or_default();
        match error.code() {
            "MOVED" | "ASK" => {
                let Some((slot, address)) = details.split_once(' ') else { return Self::Final };
                match (slot.parse(), Address::parse(address, asked)) {
                    (Ok(slot @ 0..SLOTS), Some(address)) if error.code() == "MOVED" => {
                        Self::Moved(slot, address)
                    }
                    (Ok(_), Some(address)) => Self::Asked(address),
                    _ => Self::Final,
                }
            }
            "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" | "NOREPLICAS" => {
                Self::Later
            }
            "ERR" if details.starts_with("Function not found") => Self::NoFunctions,
            _ => Self::Final,
        }
    }
}

/// The servers, as this client knows them.
#[derive(Debug)]
pub(crate) struct Router {
    dialect: Dialect,
    patience: Duration,
    /// How many replicas each write is to reach, and how long that may take.
    replicas: u32,
    timeout: Duration,
    seeds: Vec<Address>,
    topology: RwLock<Topology>,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    /// When the topology was last asked for.
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// Where to begin asking.
    turn: AtomicUsize,
    closed: AtomicBool,
    /// Where tasks run. Verbs that wait for nothing are called outside it too.
    runtime: Handle,
    /// Told whenever the masters may have changed.
    pub(crate) changes: Arc<tokio::sync::Notify>,
}

impl Router {
    /// Finds the servers.
    pub(crate) async fn connect(infos: &[ConnectionInfo], options: &Options) -> Result<Self> {
        let seeds: Vec<Address> = infos.iter().filter_map(address_of).collect();
        let (Some(info), Some(seed)) = (infos.first(), seeds.first()) else {
            return Err(Error::Unavailable { reason: "the URL names no server".into() });
        };
        let runtime =
            Handle::try_current().map_err(|error| Error::Unavailable { reason: error.to_string() })?;
        let router = Self {
            dialect: Dialect::new(info.clone(), &seeds, options),
            patience: options.patience,
            replicas: options.replicas,
            timeout: options.timeout,
            topology: RwLock::new(Topology::single(seed.clone())),
            seeds,
            nodes: Mutex::new(HashMap::new()),
            refreshed: tokio::sync::Mutex::new(None),
            turn: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            runtime,
            changes: Arc::default(),
        };
        router.refresh().await?;
        if let (1.., Some(master)) = (router.replicas, router.masters().first()) {
            // A caller that must not wait gets the error before anything is written.
            router.on_server(master, redis::cmd("WAIT").arg(0).arg(1)).await?;
        }
        Ok(router)
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Begins a task beside what else goes on.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(task)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        lock(&self.nodes).clear();
        self.changes.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// All masters that have slots.
    pub(crate) fn masters(&self) -> Vec<Address> {
        read(&self.topology).masters()
    }

    /// The master that has a slot, as far as is known.
    pub(crate) fn owner(&self, slot: u16) -> Option<Address> {
        read(&self.topology).owner(slot).cloned()
    }

    /// A number that is another one when slots have other masters.
    pub(crate) fn fingerprint(&self) -> u64 {
        read(&self.topology).fingerprint()
    }

    /// Whether one command has keys of one slot.
    pub(crate) fn is_cluster(&self) -> bool {
        read(&self.topology).is_cluster()
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    fn node(&self, address: &Address) -> Arc<Node> {
        let mut nodes = lock(&self.nodes);
        if let Some(node) = nodes.get(address) {
            return node.clone();
        }
        let node = Arc::new(Node::new(address.clone()));
        nodes.insert(address.clone(), node.clone());
        node
    }

    // --- who has which slot

    /// Asks the servers which of them has what, until one answers.
    pub(crate) async fn refresh(&self) -> std::result::Result<(), Failure> {
        let mut refreshed = self.refreshed.lock().await;
        if refreshed.is_some_and(|at| at.elapsed() < REFRESHED) {
            return Ok(());
        }
        let mut servers: Vec<Address> = read(&self.topology).servers().chain(&self.seeds).cloned().collect();
        servers.sort();
        servers.dedup();
        let turn = self.turn.fetch_add(1, Relaxed) % servers.len();
        servers.rotate_left(turn);
        let mut failure = Failure::passing("no server is known".into());
        // Some at once, so that one that hangs does not hold up the others.
        for some in servers.chunks(4) {
            match select_ok(some.iter().map(|server| self.ask_topology(server).boxed())).await {
                Ok((topology, _)) => {
                    if topology.is_cluster() {
                        self.dialect.wants_cluster();
                    }
                    lock(&self.nodes).retain(|address, _| topology.servers().any(|server| server == address));
                    *write(&self.topology) = topology;
                    *refreshed = Some(Instant::now());
                    self.changes.notify_waiters();
                    return Ok(());
                }
                Err(last) => failure = last,
            }
        }
        Err(failure)
    }

    async fn ask_topology(&self, server: &Address) -> std::result::Result<Topology, Failure> {
        let link = self.node(server).link(&self.dialect).await?;
        match link.send(redis::cmd("CLUSTER").arg("SLOTS")).await {
            Ok(Value::ServerError(error)) if text_of(&error).contains("cluster support disabled") => {
                if self.dialect.takes_single() {
                    Ok(Topology::single(server.clone()))
                } else {
                    let hint = "a URL names one server, or several of one cluster";
                    Err(Failure::passing(format!("{}: {NO_CLUSTER}; {hint}", server.text())))
                }
            }
            Ok(Value::ServerError(error)) => Err(Failure::new(&server.text(), &error.into())),
            Ok(value) => Topology::parse(&value, server)
                .ok_or_else(|| Failure::passing(format!("{}: it has no slots", server.text()))),
            Err(error) => Err(Failure::new(&server.text(), &error)),
        }
    }

    // --- commands

    /// Does one command.
    pub(crate) async fn one(&self, op: Op, kind: Kind) -> Result<Reply> {
        self.run(vec![op], kind).await.pop().unwrap_or_else(|| Err(Error::unexpected("answer")))
    }

    /// Does some commands of which all must succeed.
    pub(crate) async fn all(&self, ops: Vec<Op>, kind: Kind) -> Result<Vec<Reply>> {
        self.run(ops, kind).await.into_iter().collect()
    }

    /// Does some commands, those of each server at once: what became of each, in their order. What a server refuses for good
    /// is a reply too.
    pub(crate) async fn run(&self, ops: Vec<Op>, kind: Kind) -> Vec<Result<Reply>> {
        let started = Instant::now();
        let mut outcomes: Vec<Option<Result<Reply>>> = ops.iter().map(|_| None).collect();
        let mut pending: Vec<Pending> =
            ops.into_iter().enumerate().map(|(place, op)| Pending { place, op, target: None }).collect();
        let (mut wait, mut at_once) = (WAITS.0, AT_ONCE);
        // Why the last attempt that met more than redirections failed.
        let mut last: Option<Arc<str>> = None;
        for attempt in 0.. {
            let mut reason = None;
            if self.is_closed() {
                break;
            }
            let fates = self.send(std::mem::take(&mut pending), kind, at_once).await;
            for (place, outcome) in fates.done {
                outcomes[place] = Some(outcome);
            }
            for (again, why) in fates.again {
                reason = why.or(reason);
                pending.push(again);
            }
            if pending.is_empty() {
                break;
            }
            pending.sort_by_key(|pending| pending.place);
            if reason.is_none() && attempt < REDIRECTIONS {
                continue;
            }
            last = reason.or(last);
            if started.elapsed() + wait > self.patience {
                let reason =
                    last.map_or_else(|| "it was redirected too often".into(), |reason| reason.to_string());
                for one in pending {
                    outcomes[one.place] = Some(Err(Error::Unavailable { reason: reason.clone() }));
                }
                break;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(WAITS.1);
            // Answers that are too long to come in time come in smaller groups.
            at_once = (at_once / 4).max(1);
            // Where nobody answers, the commands' own attempts say so.
            let _ = self.refresh().await;
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Closed))).collect()
    }

    /// Sends each server its commands.
    async fn send(&self, pending: Vec<Pending>, kind: Kind, at_once: usize) -> Fates {
        let (groups, mut fates) = self.grouped(pending);
        let mut groups = groups.into_iter();
        if groups.len() == 1
            && let Some((server, group)) = groups.next()
        {
            fates.extend(self.send_to(&server, group, kind, at_once).await);
            return fates;
        }
        let sent =
            groups.map(|(server, group)| async move { self.send_to(&server, group, kind, at_once).await });
        for more in join_all(sent).await {
            fates.extend(more);
        }
        fates
    }

    /// The commands of each server, and what has none.
    fn grouped(&self, pending: Vec<Pending>) -> (Vec<(Address, Vec<Pending>)>, Fates) {
        let topology = read(&self.topology);
        let (mut redirected, mut fates) = (HashMap::<Address, Vec<Pending>>::new(), Fates::default());
        let mut of_masters: Vec<Vec<Pending>> = Vec::new();
        for one in pending {
            match (one.target.as_deref(), topology.place(one.op.slot)) {
                (Some((target, _)), _) => redirected.entry(target.clone()).or_default().push(one),
                (None, Some((place, _))) => {
                    if of_masters.len() <= place {
                        of_masters.resize_with(place + 1, Vec::new);
                    }
                    of_masters[place].push(one);
                }
                (None, None) => fates.again.push((one, Some("no server has the slot".into()))),
            }
        }
        let of_masters = of_masters.into_iter().filter_map(|group| {
            let owner = topology.owner(group.first()?.op.slot)?.clone();
            Some((owner, group))
        });
        (of_masters.chain(redirected).collect(), fates)
    }

    async fn send_to(&self, server: &Address, mut group: Vec<Pending>, kind: Kind, at_once: usize) -> Fates {
        let mut fates = Fates::default();
        let node = self.node(server);
        let confirms = self.replicas > 0 && kind != Kind::Read;
        while !group.is_empty() {
            let taken =
                if confirms { node.own(&self.dialect).await } else { node.shared(&self.dialect).await };
            let link = match taken {
                Ok(link) => link,
                Err(failure) => {
                    // Nothing was sent.
                    for one in group {
                        if failure.is_final() {
                            fates.done.push((one.place, Err(failure.clone().into())));
                        } else {
                            fates.again.push((one.again(None, None), Some(failure.reason.clone())));
                        }
                    }
                    return fates;
                }
            };
            let rest = group.split_off(portion(&group, at_once));
            fates.extend(self.send_some(server, &link, group, kind).await);
            if kind != Kind::Read && !link.is_alive() {
                node.doubts(&link).await;
            }
            link.give_back();
            group = rest;
        }
        fates
    }

    async fn send_some(&self, server: &Address, link: &Link, mut group: Vec<Pending>, kind: Kind) -> Fates {
        let confirms = self.replicas > 0 && kind != Kind::Read;
        // Only what was written is waited for. Where that is certain, the wait goes along.
        let is_certain = confirms && group.iter().all(|one| one.op.wrote.is_none());
        let mut pipeline = Pipeline::with_capacity(group.len() + 1);
        let answers = if group.len() == 1 && !group[0].asks() && !is_certain {
            link.send(&group[0].op.cmd).await.map(|value| vec![value])
        } else {
            for one in &mut group {
                if one.asks() {
                    pipeline.add_command(redis::cmd("ASKING"));
                }
                // It comes back if it is sent again.
                pipeline.add_command(std::mem::replace(&mut one.op.cmd, Cmd::new()));
            }
            if is_certain {
                pipeline.add_command(self.confirmation());
            }
            link.send_all(&pipeline).await
        };
        let mut sent = pipeline.cmd_iter();
        let mut fates = Fates { done: Vec::with_capacity(group.len()), again: Vec::new() };
        let (mut answers, failed) = match answers {
            Ok(answers) => (answers.into_iter(), None),
            Err(error) => (Vec::new().into_iter(), Some(line_of(&error))),
        };
        let (mut has_loaded, mut written) = (false, Vec::new());
        for one in group {
            let asked = if one.asks() { sent.next().and(answers.next()) } else { None };
            let cmd = sent.next();
            if let Some(reason) = &failed {
                if kind == Kind::Write {
                    let unknown = Error::UnknownOutcome { server: server.text(), reason: reason.clone() };
                    fates.done.push((one.place, Err(unknown)));
                } else {
                    let reason = format!("{}: {reason}", server.text());
                    fates.again.push((one.again(cmd, None), Some(reason.into())));
                }
                continue;
            }
            let Some(value) = answers.next() else {
                fates.done.push((one.place, Err(Error::unexpected("answer to every command"))));
                continue;
            };
            let Value::ServerError(error) = &value else {
                if confirms && one.op.wrote.is_none_or(|wrote| wrote(&value)) {
                    written.push(fates.done.len());
                }
                fates.done.push((one.place, Ok(Reply { value, server: server.clone(), short: None })));
                continue;
            };
            if let Some(Value::ServerError(error)) = &asked {
                // Not done, since the slot is elsewhere; and it may not be asked for here.
                fates.done.push((one.place, Err(refused(error))));
                continue;
            }
            let refusal = Refusal::of(error, server);
            if matches!(refusal, Refusal::NoFunctions) && !has_loaded {
                if let Err(error) = load_functions(link).await {
                    fates.done.push((one.place, Err(error)));
                    continue;
                }
                has_loaded = true;
            }
            let why = Some(format!("{}: {}", server.text(), text_of(error)).into());
            match refusal {
                Refusal::Moved(slot, address) => {
                    write(&self.topology).learn(slot, address.clone());
                    self.changes.notify_waiters();
                    fates.again.push((one.again(cmd, Some((address, false))), None));
                }
                Refusal::Asked(address) => fates.again.push((one.again(cmd, Some((address, true))), None)),
                Refusal::Later => fates.again.push((one.again(cmd, None), why)),
                Refusal::NoFunctions => {
                    let target = one.target.as_deref().cloned();
                    fates.again.push((one.again(cmd, target), None));
                }
                Refusal::Final => {
                    fates.done.push((one.place, Ok(Reply { value, server: server.clone(), short: None })));
                }
            }
        }
        if !written.is_empty() {
            let confirmed = match answers.next() {
                Some(answer) => Some(answer),
                None => link.send(&self.confirmation()).await.ok(),
            };
            let short = self.shortfall(confirmed.as_ref());
            for at in written {
                if let Ok(reply) = &mut fates.done[at].1 {
                    reply.short = short;
                }
            }
        }
        fates
    }

    /// The command that waits for the replicas.
    fn confirmation(&self) -> Cmd {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX).max(1));
        wait
    }

    /// How many replicas have what was written and how many were to, where they are fewer. If nothing is heard of them, or
    /// the server has stopped being a master, none is known to.
    fn shortfall(&self, answer: Option<&Value>) -> Option<(u32, u32)> {
        let reached = match answer {
            Some(Value::Int(reached)) => u32::try_from(*reached).unwrap_or_default(),
            _ => 0,
        };
        (reached < self.replicas).then_some((reached, self.replicas))
    }

    /// Does one command on a server whatever slots it has.
    pub(crate) async fn on_server(&self, server: &Address, cmd: &Cmd) -> Result<Value> {
        let unavailable = |reason: String| Error::Unavailable { reason };
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let node = self.node(server);
        let link = node.shared(&self.dialect).await?;
        let failed = |error| unavailable(format!("{}: {}", server.text(), line_of(&error)));
        match link.send(cmd).await.map_err(failed)? {
            Value::ServerError(error) => Err(refused(&error)),
            value => Ok(value),
        }
    }
}

/// How many of these commands go to a server together: one, and more while they are not too many or too long.
fn portion(group: &[Pending], at_once: usize) -> usize {
    let mut bytes = 0;
    let fits = |one: &&Pending| {
        let has_room = bytes < BYTES_AT_ONCE;
        bytes += one.op.bytes;
        has_room
    };
    group.iter().take(at_once).take_while(fits).count().max(1)
}

/// Gives a server our functions. A replica gets them from its master.
async fn load_functions(link: &Link) -> Result<()> {
    match link.send(&functions::load()).await {
        Ok(Value::ServerError(error)) if error.code() == "READONLY" => Ok(()),
        Ok(Value::ServerError(error)) => Err(refused(&error)),
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Unavailable { reason: error.to_string() }),
    }
}
