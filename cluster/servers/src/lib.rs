//! Redis or Valkey servers on loopback: one, or a cluster. They end with the value that stands for them, and with the
//! process that started them however it ends.

mod cluster;
mod server;
mod waiting;

pub use cluster::Cluster;
pub use server::Server;
pub use waiting::{Result, wait_until};
