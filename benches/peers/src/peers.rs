//! The systems.

mod alike;
mod blart;
mod btree;
mod btree_rwlock;
mod dashmap;
mod hashbrown;
mod indexset;
mod lmdb;
mod masstree;
mod papaya;
pub(crate) mod redis;
mod scc;
mod sharded;
mod skiplist;
mod tree_index;
mod twindex;

pub(crate) use self::blart::Blart;
pub(crate) use self::btree::BTree;
pub(crate) use self::btree_rwlock::BTreeRwLock;
pub(crate) use self::dashmap::Dashmap;
pub(crate) use self::hashbrown::Hashbrown;
pub(crate) use self::indexset::Indexset;
pub(crate) use self::lmdb::Lmdb;
pub(crate) use self::masstree::Masstree;
pub(crate) use self::papaya::Papaya;
pub(crate) use self::redis::Redis;
pub(crate) use self::scc::Scc;
pub(crate) use self::sharded::Sharded;
pub(crate) use self::skiplist::Skiplist;
pub(crate) use self::tree_index::TreeIndex;
pub(crate) use self::twindex::{TwindexHash, TwindexSorted};
