//! `push` and `pull`, between files and a cluster.

#![cfg(feature = "cluster")]

use std::env;
use std::process::{Command, Output, exit};

use tempfile::tempdir;
use twindex_durable::Store;
use twindex_durable::twindex::{Index, TableOptions};
use twindex_servers::{Certificates, Cluster, Server};

/// What the tool is told, where this program runs as the tool.
const ARGUMENTS: &str = "TWINDEX_TEST_ARGUMENTS";

/// Runs the tool as a process of its own: this program again. The binary `twindex` would not do: another cargo command
/// that runs meanwhile, without the feature, puts its own in the same place.
fn twindex(arguments: &[&str]) -> Output {
    let mut tool = Command::new(env::current_exe().unwrap());
    tool.args(["--exact", "the_tool", "--nocapture"]).env(ARGUMENTS, arguments.join("\n")).output().unwrap()
}

#[test]
fn the_tool() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        exit(twindex_cli::run(["twindex"].into_iter().chain(arguments.split('\n'))).into());
    }
}

#[track_caller]
fn expect(output: &Output, code: i32, mention: &str) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code() == Some(code) && text.contains(mention), "{:?}: {text}", output.status);
}

#[test]
fn a_store_goes_into_a_cluster_and_comes_back() {
    let folder = tempdir().unwrap();
    let (file, back) = (folder.path().join("app.twx"), folder.path().join("back.twx"));
    let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
    let store = Store::open(file).unwrap();
    let options = TableOptions::new(Index::Hash).keys("str").values("json");
    let hash = store.table_with("users", options).unwrap();
    let sorted = store.table("log", Index::Sorted).unwrap();
    store.table("empty", Index::Hash).unwrap();
    let pairs: Vec<_> = (0..20_000).map(|number| (format!("key {number:06}"), number.to_string())).collect();
    hash.insert_many(&pairs).unwrap();
    sorted.insert_many(&pairs).unwrap();
    store.close().unwrap();
    let cluster = Cluster::start(3, 0).unwrap();
    let url = &cluster.url();
    expect(&twindex(&["push", file, url]), 0, "table users: 20,000 pairs, 20,000 of them written now");
    // As if the first one had been stopped: only what is missing or differs is written.
    let client = twindex_cluster::blocking::connect(url).unwrap();
    let users = client.table("users", Index::Hash).unwrap();
    assert_eq!(users.codecs(), ("str", "json"));
    assert!(users.delete("key 000007").unwrap() && users.replace("key 000008", "other").unwrap());
    expect(&twindex(&["push", file, url]), 0, "table users: 20,000 pairs, 2 of them written now");
    users.insert("key of another", "1").unwrap();
    expect(&twindex(&["push", file, url]), 1, "20000 pairs were sent and there are 20001");
    assert!(users.delete("key of another").unwrap());
    expect(&twindex(&["pull", url, back]), 0, "table log: 20,000 pairs, 20,000 of them written now");
    expect(&twindex(&["pull", url, back]), 0, "table log: 20,000 pairs, 0 of them written now");
    let back = Store::open(back).unwrap();
    assert_eq!(back.find_table("users").unwrap().unwrap().codecs(), ("str", "json"));
    assert_eq!(back.find_table("users").unwrap().unwrap().len(), 20_000);
    let log: Vec<_> = back.find_table("log").unwrap().unwrap().iter().unwrap().collect();
    let bytes = |(key, value): &(String, String)| (key.clone().into_bytes(), value.clone().into_bytes());
    assert!(log == pairs.iter().map(bytes).collect::<Vec<_>>());
    assert!(back.find_table("empty").unwrap().unwrap().is_empty());
    expect(&twindex(&["pull", "http://x", file]), 1, "redis://");
}

#[test]
fn servers_that_want_certificates_are_spoken_to() {
    let folder = tempdir().unwrap();
    let (file, back) = (folder.path().join("app.twx"), folder.path().join("back.twx"));
    let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
    let store = Store::open(file).unwrap();
    store.table("users", Index::Hash).unwrap().insert("ada", "1815").unwrap();
    store.close().unwrap();
    let certificates = Certificates::make().unwrap();
    let server = Server::start_tls(&certificates, true, &["--requirepass", "secret"]).unwrap();
    let url = &format!("rediss://:secret@{}", server.tls_host().unwrap());
    let [cert, key] = certificates.identity();
    let [cacert, cert, key] =
        [certificates.authority(), cert, key].map(|path| path.to_str().unwrap().to_owned());
    let known = ["--cacert", &cacert, "--cert", &cert, "--key", &key];
    let run = |words: &[&str]| twindex(&[words, &known].concat());
    expect(&run(&["push", file, url]), 0, "table users: 1 pairs, 1 of them written now");
    expect(&run(&["pull", url, back]), 0, "table users: 1 pairs, 1 of them written now");
    // Without them, with half of them, and with some that are not there.
    expect(&twindex(&["push", file, url]), 1, "certificate");
    expect(&twindex(&["push", file, url, "--cert", &cert]), 2, "--key");
    expect(&twindex(&["push", file, url, "--cacert", "none.pem"]), 1, "none.pem");
    expect(&twindex(&["push", file, "redis://127.0.0.1:1", "--cacert", &cacert]), 1, "rediss://");
}
