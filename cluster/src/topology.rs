//! Which server has which slot.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use redis::Value;

use crate::slot::SLOTS;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) host: Arc<str>,
    pub(crate) port: u16,
}

impl Address {
    /// `host:port` as a redirection names it; with no host, the one that was asked.
    pub(crate) fn parse(text: &str, asked: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Self { host: known(host, asked), port: port.parse().ok()? })
    }

    /// The address as text.
    pub(crate) fn text(&self) -> Arc<str> {
        let Self { host, port } = self;
        if host.contains(':') { format!("[{host}]:{port}").into() } else { format!("{host}:{port}").into() }
    }
}

/// A server that does not know its own name leaves it out.
fn known(host: &str, asked: &Address) -> Arc<str> {
    if host.is_empty() || host == "?" { asked.host.clone() } else { host.into() }
}

/// Which master has each slot.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    /// For each slot the place of its master, or one past the end.
    owners: Vec<u16>,
    masters: Vec<Address>,
    replicas: Vec<Address>,
    /// Whether it is no cluster: one server that has every slot.
    is_single: bool,
}

impl Topology {
    /// One server that has every slot.
    pub(crate) fn single(address: Address) -> Self {
        Self { owners: vec![0; SLOTS.into()], masters: vec![address], replicas: Vec::new(), is_single: true }
    }

    /// Reads the answer to `CLUSTER SLOTS` of the server at `asked`.
    pub(crate) fn parse(value: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(ranges) = value else { return None };
        let owners = vec![u16::MAX; SLOTS.into()];
        let mut new = Self { owners, masters: Vec::new(), replicas: Vec::new(), is_single: false };
        for range in ranges {
            let Value::Array(fields) = range else { return None };
            let [Value::Int(first), Value::Int(last), master, replicas @ ..] = &fields[..] else {
                return None;
            };
            let place = new.place_of(server(master, asked)?);
            for slot in usize::try_from(*first).ok()?..=usize::try_from(*last).ok()? {
                *new.owners.get_mut(slot)? = place;
            }
            new.replicas.extend(replicas.iter().filter_map(|replica| server(replica, asked)));
        }
        new.replicas.sort();
        new.replicas.dedup();
        (!new.masters.is_empty()).then_some(new)
    }

    /// Whether slots are shared out, so that one command has keys of one slot.
    pub(crate) fn is_cluster(&self) -> bool {
        !self.is_single
    }

    fn place_of(&mut self, master: Address) -> u16 {
        let place = self.masters.iter().position(|known| *known == master).unwrap_or_else(|| {
            self.masters.push(master);
            self.masters.len() - 1
        });
        place as u16
    }

    /// The master of a slot, where one is known.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Address> {
        self.place(slot).map(|(_, master)| master)
    }

    /// The master of a slot with its place among all, where one is known.
    pub(crate) fn place(&self, slot: u16) -> Option<(usize, &Address)> {
        let place = usize::from(*self.owners.get(usize::from(slot))?);
        self.masters.get(place).map(|master| (place, master))
    }

    /// Follows a redirection.
    pub(crate) fn learn(&mut self, slot: u16, master: Address) {
        self.owners[usize::from(slot)] = self.place_of(master);
    }

    /// All masters that have slots.
    pub(crate) fn masters(&self) -> Vec<Address> {
        let mut places = self.owners.clone();
        places.dedup();
        places.sort_unstable();
        places.dedup();
        places.iter().filter_map(|&place| self.masters.get(usize::from(place))).cloned().collect()
    }

    /// A number that is another one when slots have other masters.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for slot in 0..SLOTS {
            self.owner(slot).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// All servers that can be asked who has what.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Address> {
        self.masters.iter().chain(&self.replicas)
    }
}

fn server(value: &Value, asked: &Address) -> Option<Address> {
    let Value::Array(fields) = value else { return None };
    let host = match fields.first()? {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        Value::SimpleString(text) => text,
        Value::Nil => "",
        _ => return None,
    };
    let Some(Value::Int(port)) = fields.get(1) else { return None };
    Some(Address { host: known(host, asked), port: u16::try_from(*port).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.into()), Value::Int(port), Value::BulkString(b"id".into())])
    }

    #[test]
    fn slots_have_the_owners_that_the_servers_name() {
        let asked = Address { host: "asked".into(), port: 7 };
        let range = |first, last, nodes: Vec<Value>| {
            Value::Array([vec![Value::Int(first), Value::Int(last)], nodes].concat())
        };
        let value = Value::Array(vec![
            range(0, 99, vec![node("a", 1), node("b", 2)]),
            range(200, 16_383, vec![node("", 3)]),
        ]);
        let mut topology = Topology::parse(&value, &asked).expect("a good answer");
        let a = Address { host: "a".into(), port: 1 };
        assert_eq!(topology.owner(99), Some(&a));
        assert_eq!(topology.owner(100), None);
        assert_eq!(topology.owner(200), Some(&Address { host: "asked".into(), port: 3 }));
        assert_eq!(topology.servers().count(), 3);
        topology.learn(200, a.clone());
        assert_eq!(topology.owner(200), Some(&a));
        assert_eq!(topology.masters().len(), 2);
        assert!(Topology::parse(&Value::Array(Vec::new()), &asked).is_none());
        assert!(Topology::parse(&Value::Nil, &asked).is_none());
        assert_eq!(Address::parse(":9", &asked), Some(Address { host: "asked".into(), port: 9 }));
    }
}
