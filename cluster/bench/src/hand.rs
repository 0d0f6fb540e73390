//! What a programmer does by hand with redis-rs: commands on its cluster client, and pipelines to each node.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, Pipeline, Value};
use twindex_servers::{Cluster, Result};

/// The cluster's masters, and redis-rs's clients of them.
pub(crate) struct Hand {
    pub(crate) cluster: ClusterConnection,
    /// The last slot of each master, and a connection to it.
    nodes: Vec<(u16, MultiplexedConnection)>,
}

impl Hand {
    pub(crate) async fn connect(servers: &Cluster) -> Result<Self> {
        let urls: Vec<String> = servers.servers().iter().map(twindex_servers::Server::url).collect();
        let cluster = ClusterClient::builder(urls).use_protocol(redis::ProtocolVersion::RESP3);
        let cluster = cluster.build()?.get_async_connection().await?;
        let mut nodes = Vec::new();
        let ranges: Vec<Vec<Value>> = servers.servers()[0].command(&["CLUSTER", "SLOTS"])?;
        for range in ranges {
            let [_, last, Value::Array(master), ..] = &range[..] else { return Err("no master".into()) };
            let [host, port, ..] = &master[..] else { return Err("no port".into()) };
            let host: String = redis::from_redis_value(host.clone())?;
            let [last, port] = [last, port].map(|number| redis::from_redis_value::<u16>(number.clone()));
            let (last, port) = (last?, port?);
            let client = redis::Client::open(format!("redis://{host}:{port}/?protocol=resp3"))?;
            nodes.push((last, client.get_multiplexed_async_connection().await?));
        }
        nodes.sort_by_key(|node| node.0);
        Ok(Self { cluster, nodes })
    }

    fn node(&self, key: &[u8]) -> usize {
        // None of the keys here has braces.
        let slot = crc16::State::<crc16::XMODEM>::calculate(key) % 16_384;
        self.nodes.partition_point(|node| node.0 < slot)
    }

    /// Sends each node its commands in pipelines of a thousand; the answers in order.
    pub(crate) async fn by_node(&self, commands: Vec<(Vec<u8>, Cmd)>) -> Result<Vec<Value>> {
        let mut answers: Vec<Value> = commands.iter().map(|_| Value::Nil).collect();
        let mut groups: HashMap<usize, (Vec<usize>, Vec<Cmd>)> = HashMap::new();
        for (place, (key, cmd)) in commands.into_iter().enumerate() {
            let group = groups.entry(self.node(&key)).or_default();
            group.0.push(place);
            group.1.push(cmd);
        }
        let sent = groups.into_iter().map(|(node, (places, commands))| async move {
            let mut connection = self.nodes[node].1.clone();
            let mut values = Vec::with_capacity(places.len());
            for some in commands.chunks(1000) {
                let mut pipeline = Pipeline::with_capacity(some.len());
                for cmd in some {
                    pipeline.add_command(cmd.clone());
                }
                values.extend(connection.send_packed_commands(&pipeline, 0, some.len()).await?);
            }
            Ok::<_, redis::RedisError>((places, values))
        });
        for (places, values) in try_join_all(sent).await? {
            for (place, value) in places.into_iter().zip(values) {
                answers[place] = value;
            }
        }
        Ok(answers)
    }
}
