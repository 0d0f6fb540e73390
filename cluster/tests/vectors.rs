//! The vectors of all verbs, on one server and on a cluster.

#[path = "common/vectors.rs"]
mod vectors;

use twindex_servers::{Cluster, Server};

#[test]
fn every_verb_does_on_one_server_what_it_does_everywhere() {
    let server = Server::start(&[]).expect("a server");
    vectors::run(&server.url());
}

#[test]
fn every_verb_does_in_a_cluster_what_it_does_everywhere() {
    let cluster = Cluster::start(3, 1).expect("a cluster");
    vectors::run(&cluster.url());
}
