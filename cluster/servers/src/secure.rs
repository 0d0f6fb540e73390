//! Servers that speak TLS and want a password.

use std::path::PathBuf;

use crate::certificates::Certificates;
use crate::cluster::Cluster;
use crate::server::Server;
use crate::waiting::Result;

/// The password of every user.
const PASSWORD: &str = "secret";

/// A user who may read and not write.
const READER: [&str; 7] = ["--user", "reader", "on", ">secret", "~*", "+@all", "-@write"];

/// A cluster of three masters and one server, both with certificates of one authority. The default user's password is
/// `secret`; the user `reader`, with the same one, may not write.
#[derive(Debug)]
pub struct Secure {
    certificates: Certificates,
    cluster: Cluster,
    server: Server,
}

impl Secure {
    /// Starts all of them.
    pub fn start() -> Result<Self> {
        let certificates = Certificates::make()?;
        let mut settings = vec!["--requirepass", PASSWORD, "--masterauth", PASSWORD];
        settings.extend(READER);
        let cluster = Cluster::start_with(3, 0, Some(&certificates), &settings)?;
        let server = Server::start_tls(&certificates, false, &settings)?;
        Ok(Self { certificates, cluster, server })
    }

    /// The URLs of the cluster and of the server, with the default user's password.
    pub fn urls(&self) -> [String; 2] {
        let hosts = [self.cluster.tls_hosts(), self.server.tls_host().unwrap_or_default()];
        hosts.map(|hosts| format!("rediss://default:{PASSWORD}@{hosts}"))
    }

    /// The file of the authority's certificate.
    pub fn authority(&self) -> PathBuf {
        self.certificates.authority()
    }
}
