//! A cluster of servers.

use std::net::TcpListener;

use crate::certificates::Certificates;
use crate::server::{Server, free_port};
use crate::waiting::{Result, wait_until};

/// How many slots a cluster has.
const SLOTS: usize = 16_384;

/// After so many milliseconds without an answer a server is held to be dead.
const NODE_TIMEOUT: &str = "2000";

/// Masters, each with some replicas.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster and waits until all of it is ready.
    pub fn start(masters: usize, replicas: usize) -> Result<Self> {
        Self::start_with(masters, replicas, None, &[])
    }

    /// As [`start`](Self::start), with TLS where there are certificates, and with further settings for each server.
    pub fn start_with(
        masters: usize,
        replicas: usize,
        certificates: Option<&Certificates>,
        settings: &[&str],
    ) -> Result<Self> {
        let count = masters * (1 + replicas);
        let servers = (0..count).map(|_| start_one(certificates, settings)).collect::<Result<Vec<_>>>()?;
        Self::join(masters, servers)
    }

    /// As [`start`](Self::start), on these ports and those after them, or on any where one of them is taken.
    pub fn start_from(first: u16, masters: usize, replicas: usize) -> Result<Self> {
        let ports = first..first + u16::try_from(masters * (1 + replicas))?;
        if ports.clone().any(|port| TcpListener::bind(("127.0.0.1", port)).is_err()) {
            return Self::start(masters, replicas);
        }
        let servers = ports.map(|port| {
            let bus = free_port()?.to_string();
            Server::start_on(port, &clustered(&bus))
        });
        Self::join(masters, servers.collect::<Result<_>>()?)
    }

    /// Makes a cluster of servers, of which the first are the masters.
    fn join(masters: usize, servers: Vec<Server>) -> Result<Self> {
        let cluster = Self { servers };
        for (place, master) in cluster.servers[..masters].iter().enumerate() {
            master.command::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()])?;
            let (first, last) = (SLOTS * place / masters, SLOTS * (place + 1) / masters - 1);
            master.command::<()>(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])?;
        }
        for server in &cluster.servers[1..] {
            cluster.meet(server)?;
        }
        let count = cluster.servers.len().to_string();
        for server in &cluster.servers {
            wait_until("the servers' meeting", || Ok(cluster_info(server, "cluster_known_nodes")? == count))?;
        }
        for (place, replica) in cluster.servers[masters..].iter().enumerate() {
            let master = id(&cluster.servers[place % masters])?;
            wait_until("making a replica", || {
                Ok(replica.command::<()>(&["CLUSTER", "REPLICATE", &master]).is_ok())
            })?;
        }
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    fn meet(&self, server: &Server) -> Result<()> {
        let bus: Vec<String> = server.command(&["CONFIG", "GET", "cluster-port"])?;
        let (port, bus) = (server.port().to_string(), bus.get(1).ok_or("no bus port")?.clone());
        self.servers[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])
    }

    /// Waits until every server that runs says that the cluster is well, and every replica has caught up.
    pub fn wait_until_ready(&self) -> Result<()> {
        for server in self.servers.iter().filter(|server| server.is_running()) {
            wait_until("the cluster's start", || {
                let is_linked = server.info("master_link_status")?.is_none_or(|status| status == "up");
                Ok(cluster_info(server, "cluster_state")? == "ok" && is_linked)
            })?;
        }
        Ok(())
    }

    /// All servers.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// All servers, to be killed and run again.
    pub fn servers_mut(&mut self) -> &mut [Server] {
        &mut self.servers
    }

    /// The URL that names all servers.
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("redis://{}", hosts.join(","))
    }

    /// The hosts and ports at which the servers speak TLS.
    pub fn tls_hosts(&self) -> String {
        let hosts: Vec<String> = self.servers.iter().filter_map(Server::tls_host).collect();
        hosts.join(",")
    }

    /// The keys of this pattern in all servers.
    pub fn keys(&self, pattern: &str) -> Result<Vec<String>> {
        let keys = self.servers.iter().map(|server| server.command::<Vec<String>>(&["KEYS", pattern]));
        Ok(keys.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: &str) -> Result<u16> {
        let running = self.servers.iter().find(|server| server.is_running()).ok_or("no server runs")?;
        running.command(&["CLUSTER", "KEYSLOT", key])
    }

    /// The place of the master that has a slot, as one of the servers sees it.
    pub fn master_of(&self, slot: u16) -> Result<usize> {
        let running = self.servers.iter().find(|server| server.is_running()).ok_or("no server runs")?;
        let nodes: String = running.command(&["CLUSTER", "NODES"])?;
        for line in nodes.lines().filter(|line| line.contains("master") && !line.contains("fail")) {
            let mut words = line.split(' ').skip(1);
            let port = words.next().and_then(|address| address.split(['@', ':']).nth(1));
            let has = |range: &str| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if (first..=last).contains(&slot))
            };
            if words.skip(6).any(has) {
                let is_it = |server: &Server| port == Some(&*server.port().to_string());
                return self
                    .servers
                    .iter()
                    .position(is_it)
                    .ok_or_else(|| "the master is not one of ours".into());
            }
        }
        Err(format!("no master has slot {slot}: {nodes}").into())
    }

    /// Moves a slot, with its keys, as `redis-cli --cluster reshard` does.
    pub fn move_slot(&self, slot: u16, to: usize) -> Result<()> {
        let from = &self.servers[self.master_of(slot)?];
        let new = to;
        let to = &self.servers[to];
        if from.port() == to.port() {
            return Ok(());
        }
        let (slot, from_id, to_id, port) =
            (slot.to_string(), id(from)?, id(to)?, to.inner_port().to_string());
        to.command::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id])?;
        from.command::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id])?;
        loop {
            let mut get = redis::cmd("CLUSTER");
            let keys: Vec<Vec<u8>> =
                get.arg("GETKEYSINSLOT").arg(&slot).arg(100).query(&mut from.connection()?)?;
            if keys.is_empty() {
                break;
            }
            let mut migrate = redis::cmd("MIGRATE");
            migrate.arg("127.0.0.1").arg(&port).arg("").arg(0).arg(5000);
            if let Some(password) = to.password() {
                migrate.arg("AUTH").arg(password);
            }
            migrate.arg("KEYS").arg(keys);
            migrate.query::<()>(&mut from.connection()?)?;
        }
        for server in [to, from] {
            server.command::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id])?;
        }
        // Other masters hear of it at once, replicas by and by.
        for server in self.servers.iter().filter(|server| server.is_running()) {
            let _ = server.command::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
        }
        let slot = slot.parse()?;
        wait_until("the news of a move", || {
            Ok(self.master_of(slot)? == new && self.views()?.windows(2).all(|two| two[0] == two[1]))
        })
    }

    /// Gives all slots, without their keys, to one server, and waits until each server says that it has them.
    pub fn move_all_slots(&self, to: usize) -> Result<()> {
        for server in &self.servers {
            server.command::<()>(&["CONFIG", "SET", "cluster-allow-replica-migration", "no"])?;
        }
        // A server believes the claim with the greatest epoch: former masters go on claiming until they are told.
        self.servers[to].command::<()>(&["CLUSTER", "BUMPEPOCH"])?;
        let id = id(&self.servers[to])?;
        for server in self.servers.iter().rev() {
            let mut all = redis::pipe();
            for slot in 0..SLOTS {
                all.cmd("CLUSTER").arg("SETSLOT").arg(slot).arg("NODE").arg(&id).ignore();
            }
            all.query::<()>(&mut server.connection()?)?;
        }
        let has_all = |line: &String| line.starts_with(&id) && line.ends_with(" 0-16383");
        wait_until("all servers naming one master of all slots", || {
            let views = self.views()?;
            Ok(views.iter().all(|view| *view == views[0] && view.iter().any(has_all)))
        })
    }

    /// Every master's number, epoch and slots, as each server that runs sees them.
    ///
    /// A slot that moves on while somebody still has to hear of its last move can be claimed back by old news. Then its
    /// owner throws its keys away.
    fn views(&self) -> Result<Vec<Vec<String>>> {
        let running = self.servers.iter().filter(|server| server.is_running());
        let view = |server: &Server| {
            let nodes: String = server.command(&["CLUSTER", "NODES"])?;
            let masters = nodes.lines().filter(|line| line.contains("master"));
            // The words between are times and who is asked. Slots on the move stand in brackets.
            let words = |line: &str| {
                let words = line.split(' ').enumerate().filter(|(place, _)| matches!(place, 0 | 6 | 8..));
                words
                    .map(|(_, word)| word)
                    .filter(|word| !word.starts_with('['))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let mut view: Vec<String> = masters.map(words).collect();
            view.sort();
            Ok(view)
        };
        running.map(view).collect()
    }
}

fn start_one(certificates: Option<&Certificates>, settings: &[&str]) -> Result<Server> {
    let bus = free_port()?.to_string();
    let mut all = clustered(&bus);
    all.extend(settings);
    match certificates {
        Some(certificates) => {
            // Only then do servers name each other's ports for TLS to clients who use it.
            all.extend(["--tls-cluster", "yes", "--tls-replication", "yes"]);
            Server::start_tls(certificates, false, &all)
        }
        None => Server::start(&all),
    }
}

/// What a server of a cluster is told, with the port at which the others speak to it.
fn clustered(bus: &str) -> Vec<&str> {
    let files = ["--cluster-config-file", "nodes.conf"];
    let times = ["--cluster-node-timeout", NODE_TIMEOUT];
    [["--cluster-enabled", "yes"], ["--cluster-port", bus], times, files].concat()
}

fn id(server: &Server) -> Result<String> {
    server.command(&["CLUSTER", "MYID"])
}

fn cluster_info(server: &Server, name: &str) -> Result<String> {
    let text: String = server.command(&["CLUSTER", "INFO"])?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(Into::into).ok_or_else(|| format!("CLUSTER INFO has no {name}").into())
}
