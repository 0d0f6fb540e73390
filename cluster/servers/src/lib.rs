//! Redis or Valkey servers on loopback: one, or a cluster. They end with the value that stands for them, and with the
//! process that started them however it ends.

#![allow(clippy::missing_errors_doc, reason = "what can go wrong here goes wrong with a test or a bench")]

mod certificates;
mod cluster;
mod secure;
mod server;
mod waiting;

pub use certificates::Certificates;
pub use cluster::Cluster;
pub use secure::Secure;
pub use server::Server;
pub use waiting::{Result, wait_until};
