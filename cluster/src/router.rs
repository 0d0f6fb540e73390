//! Brings every command to the server that has its slot, and says honestly what became of it.
//!
//! What a server refuses for being the wrong one, or for not being ready, was not done: it is sent again, elsewhere or
//! later. What was sent and got no answer is sent again only if it reads; of a write nobody knows whether it was done.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{join_all, select_ok};
use redis::{Cmd, ConnectionInfo, Pipeline, ServerError, Value};

use crate::error::{Error, Failure, Result};
use crate::functions;
use crate::link::{Dialect, Link, Node, address_of};
use crate::locks::{lock, read, write};
use crate::options::Options;
use crate::slot::SLOTS;
use crate::topology::{Address, Topology};

/// How many commands go to a server at once.
const AT_ONCE: usize = 1000;

/// Who has which slot is asked for no more often.
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
}

/// What a server answered, and which one.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) value: Value,
    pub(crate) server: Address,
}

impl Reply {
    /// The answer, where it is not that the server refuses.
    pub(crate) fn accepted(self) -> Result<Value> {
        match self.value {
            Value::ServerError(error) => Err(refused(&error)),
            value => Ok(value),
        }
    }
}

pub(crate) fn refused(error: &ServerError) -> Error {
    let reason = text_of(error);
    let lowered = reason.to_lowercase();
    if lowered.contains("unknown command") && (lowered.contains("fcall") || lowered.contains("function")) {
        return Error::Refused { reason: format!("{reason}. It must know functions: Redis 7 and Valkey do") };
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
    target: Option<(Address, bool)>,
}

impl Pending {
    /// Whether the server is to be told first that it was redirected there this once.
    fn asks(&self) -> bool {
        matches!(self.target, Some((_, true)))
    }

    /// Takes its command back from those that were sent, if it is among them.
    fn returned<'c>(mut self, sent: &mut impl Iterator<Item = &'c Cmd>) -> Self {
        if self.asks() {
            sent.next();
        }
        if let Some(cmd) = sent.next() {
            self.op.cmd = cmd.clone();
        }
        self
    }

    /// Leaves its command with those that were sent.
    fn passed<'c>(self, sent: &mut impl Iterator<Item = &'c Cmd>) -> Self {
        if self.asks() {
            sent.next();
        }
        sent.next();
        self
    }
}

/// What became of a command that was sent.
enum Fate {
    Done(usize, Reply),
    /// It was not done. With a reason it waits before it is sent again.
    Again(Pending, Option<Arc<str>>),
}

impl Fate {
    /// Whether the server did it.
    fn is_accepted(&self) -> bool {
        matches!(self, Self::Done(_, reply) if !matches!(reply.value, Value::ServerError(_)))
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
        let router = Self {
            dialect: Dialect::new(info.clone(), options),
            patience: options.patience,
            replicas: options.replicas,
            timeout: options.timeout,
            topology: RwLock::new(Topology::single(seed.clone())),
            seeds,
            nodes: Mutex::new(HashMap::new()),
            refreshed: tokio::sync::Mutex::new(None),
            turn: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            changes: Arc::default(),
        };
        router.refresh().await?;
        if let (1.., Some(master)) = (router.replicas, router.masters().first()) {
            // Whoever may not wait is told before anything is written.
            router.on_server(master, redis::cmd("WAIT").arg(0).arg(1)).await?;
        }
        Ok(router)
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        &self.dialect
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
                Ok(Topology::single(server.clone()))
            }
            Ok(Value::ServerError(error)) => Err(Failure::new(&server.text(), &error.into())),
            Ok(value) => Topology::parse(&value, server)
                .ok_or_else(|| Failure::passing(format!("{}: it has no slots", server.text()))),
            Err(error) => Err(Failure::new(&server.text(), &error)),
        }
    }

    // --- commands

    /// Does one command.
    pub(crate) async fn one(&self, slot: u16, cmd: Cmd, kind: Kind) -> Result<Reply> {
        let mut replies = self.run(vec![Op { slot, cmd }], kind).await?;
        replies.pop().ok_or_else(|| Error::unexpected("answer"))
    }

    /// Does some commands, those of each server at once; the answers in their order. What a server refuses for good is an
    /// answer too.
    pub(crate) async fn run(&self, ops: Vec<Op>, kind: Kind) -> Result<Vec<Reply>> {
        let started = Instant::now();
        let mut replies: Vec<Option<Reply>> = ops.iter().map(|_| None).collect();
        let mut pending: Vec<Pending> =
            ops.into_iter().enumerate().map(|(place, op)| Pending { place, op, target: None }).collect();
        let mut wait = WAITS.0;
        for attempt in 0.. {
            if self.is_closed() {
                return Err(Error::Closed);
            }
            let mut reason = None;
            for fate in self.send(std::mem::take(&mut pending), kind).await? {
                match fate {
                    Fate::Done(place, reply) => replies[place] = Some(reply),
                    Fate::Again(again, why) => {
                        reason = why.or(reason);
                        pending.push(again);
                    }
                }
            }
            if pending.is_empty() {
                break;
            }
            pending.sort_by_key(|pending| pending.place);
            if reason.is_none() && attempt < REDIRECTIONS {
                continue;
            }
            if started.elapsed() + wait > self.patience {
                let reason =
                    reason.map_or_else(|| "it was redirected too often".into(), |reason| reason.to_string());
                return Err(Error::Unavailable { reason });
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(WAITS.1);
            // Where nobody answers, the commands' own attempts say so.
            let _ = self.refresh().await;
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Sends each server its commands.
    async fn send(&self, pending: Vec<Pending>, kind: Kind) -> Result<Vec<Fate>> {
        let (groups, mut fates) = self.grouped(pending);
        let mut groups = groups.into_iter();
        if groups.len() == 1
            && let Some((server, group)) = groups.next()
        {
            fates.extend(self.send_to(&server, group, kind).await?);
            return Ok(fates);
        }
        let sent = groups.map(|(server, group)| async move { self.send_to(&server, group, kind).await });
        for fate in join_all(sent).await {
            fates.extend(fate?);
        }
        Ok(fates)
    }

    /// The commands of each server, and what has none.
    fn grouped(&self, pending: Vec<Pending>) -> (Vec<(Address, Vec<Pending>)>, Vec<Fate>) {
        let topology = read(&self.topology);
        let (mut redirected, mut fates) = (HashMap::<Address, Vec<Pending>>::new(), Vec::new());
        let mut of_masters: Vec<Vec<Pending>> = Vec::new();
        for one in pending {
            match (&one.target, topology.place(one.op.slot)) {
                (Some((target, _)), _) => redirected.entry(target.clone()).or_default().push(one),
                (None, Some((place, _))) => {
                    if of_masters.len() <= place {
                        of_masters.resize_with(place + 1, Vec::new);
                    }
                    of_masters[place].push(one);
                }
                (None, None) => fates.push(Fate::Again(one, Some("no server has the slot".into()))),
            }
        }
        let of_masters = of_masters.into_iter().filter_map(|group| {
            let owner = topology.owner(group.first()?.op.slot)?.clone();
            Some((owner, group))
        });
        (of_masters.chain(redirected).collect(), fates)
    }

    async fn send_to(&self, server: &Address, mut group: Vec<Pending>, kind: Kind) -> Result<Vec<Fate>> {
        let mut fates = Vec::with_capacity(group.len());
        let node = self.node(server);
        while !group.is_empty() {
            let rest = group.split_off(group.len().min(AT_ONCE));
            let confirms = self.replicas > 0 && kind != Kind::Read;
            let taken =
                if confirms { node.own(&self.dialect).await } else { node.shared(&self.dialect).await };
            let link = match taken {
                Ok(link) => link,
                Err(failure) if failure.is_final() => return Err(failure.into()),
                Err(Failure { reason, .. }) => {
                    // Nothing was sent.
                    fates.extend(group.into_iter().chain(rest).map(|mut one| {
                        one.target = None;
                        Fate::Again(one, Some(reason.clone()))
                    }));
                    return Ok(fates);
                }
            };
            fates.extend(self.send_some(server, &link, group, kind).await?);
            link.give_back();
            group = rest;
        }
        Ok(fates)
    }

    async fn send_some(
        &self,
        server: &Address,
        link: &Link,
        mut group: Vec<Pending>,
        kind: Kind,
    ) -> Result<Vec<Fate>> {
        let confirms = self.replicas > 0 && kind != Kind::Read;
        let mut pipeline = Pipeline::with_capacity(group.len() + usize::from(confirms));
        let answers = if group.len() == 1 && !group[0].asks() && !confirms {
            link.send(&group[0].op.cmd).await.map(|value| vec![value])
        } else {
            for one in &mut group {
                if one.asks() {
                    pipeline.add_command(redis::cmd("ASKING"));
                }
                // It comes back if it is sent again.
                pipeline.add_command(std::mem::replace(&mut one.op.cmd, Cmd::new()));
            }
            if confirms {
                pipeline.add_command(self.confirmation());
            }
            link.send_all(&pipeline).await
        };
        let mut sent = pipeline.cmd_iter();
        let mut answers = match answers {
            Ok(answers) => answers.into_iter(),
            Err(error) if kind == Kind::Write => {
                let (server, reason) = (server.text(), error.to_string());
                return Err(Error::UnknownOutcome { server, reason });
            }
            Err(error) => {
                let reason: Arc<str> = format!("{}: {error}", server.text()).into();
                let again = |one: Pending| {
                    let one = one.returned(&mut sent);
                    Fate::Again(Pending { target: None, ..one }, Some(reason.clone()))
                };
                return Ok(group.into_iter().map(again).collect());
            }
        };
        let mut fates = Vec::with_capacity(group.len());
        let mut knows_functions = false;
        for one in group {
            if one.asks() {
                answers.next();
            }
            let value = answers.next().ok_or_else(|| Error::unexpected("answer to every command"))?;
            let is_refused = matches!(value, Value::ServerError(_));
            let one = if is_refused { one.returned(&mut sent) } else { one.passed(&mut sent) };
            fates.push(match &value {
                Value::ServerError(error) => {
                    let refusal = Refusal::of(error, server);
                    if matches!(refusal, Refusal::NoFunctions) && !knows_functions {
                        load_functions(link).await?;
                        knows_functions = true;
                    }
                    self.follow(refusal, one, value, server)
                }
                _ => Fate::Done(one.place, Reply { value, server: server.clone() }),
            });
        }
        if confirms && fates.iter().any(Fate::is_accepted) {
            self.confirmed(server, answers.next())?;
        }
        Ok(fates)
    }

    /// The command that waits for the replicas.
    fn confirmation(&self) -> Cmd {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX).max(1));
        wait
    }

    /// Whether enough replicas have what was written.
    fn confirmed(&self, server: &Address, answer: Option<Value>) -> Result<()> {
        let (server, wanted) = (server.text(), self.replicas);
        match answer {
            Some(Value::Int(reached)) if reached >= i64::from(wanted) => Ok(()),
            Some(Value::Int(reached)) => {
                let reached = u32::try_from(reached).unwrap_or_default();
                Err(Error::NotReplicated { server, wanted, reached })
            }
            // The server stopped being a master while it waited.
            Some(Value::ServerError(error)) => Err(Error::UnknownOutcome { server, reason: text_of(&error) }),
            _ => Err(Error::unexpected("number of replicas")),
        }
    }

    /// Goes where a refusal points.
    fn follow(&self, refusal: Refusal, one: Pending, value: Value, server: &Address) -> Fate {
        match refusal {
            Refusal::Moved(slot, address) => {
                write(&self.topology).learn(slot, address.clone());
                self.changes.notify_waiters();
                Fate::Again(Pending { target: Some((address, false)), ..one }, None)
            }
            Refusal::Asked(address) => Fate::Again(Pending { target: Some((address, true)), ..one }, None),
            Refusal::Later => {
                let reason = match &value {
                    Value::ServerError(error) => format!("{}: {}", server.text(), text_of(error)),
                    _ => server.text().to_string(),
                };
                Fate::Again(Pending { target: None, ..one }, Some(reason.into()))
            }
            Refusal::NoFunctions => Fate::Again(one, None),
            Refusal::Final => Fate::Done(one.place, Reply { value, server: server.clone() }),
        }
    }

    /// Does one command on a server whatever slots it has.
    pub(crate) async fn on_server(&self, server: &Address, cmd: &Cmd) -> Result<Value> {
        let unavailable = |reason: String| Error::Unavailable { reason };
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let link = self.node(server).link(&self.dialect).await?;
        match link.send(cmd).await.map_err(|error| unavailable(format!("{}: {error}", server.text())))? {
            Value::ServerError(error) => Err(refused(&error)),
            value => Ok(value),
        }
    }
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
