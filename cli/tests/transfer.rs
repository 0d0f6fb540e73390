//! `push` and `pull`, between files and a cluster.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output, exit};
use std::{env, fs, thread};

use tempfile::tempdir;
use twindex_durable::Store;
use twindex_durable::twindex::{IndexKind, TableOptions};
use twindex_servers::{Certificates, Cluster, Server};

/// Set where this program runs as the tool: its arguments.
const ARGUMENTS: &str = "TWINDEX_TEST_ARGUMENTS";

/// Runs the tool as a process of its own: this program again. The binary `twindex` would not do: another cargo command
/// that runs meanwhile, without the feature, puts its own in the same place.
fn twindex(arguments: &[&str]) -> Output {
    Command::new(env::current_exe().unwrap()).env(ARGUMENTS, arguments.join("\n")).output().unwrap()
}

fn main() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        exit(twindex_cli::run(["twindex"].into_iter().chain(arguments.split('\n'))).into());
    }
    let tests: [(&str, fn()); 3] = [
        ("store_goes_into_a_cluster_and_comes_back", store_goes_into_a_cluster_and_comes_back),
        ("servers_with_certificates_are_reached", servers_with_certificates_are_reached),
        ("wrong_certificates_are_explained", wrong_certificates_are_explained),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

#[track_caller]
fn expect(output: &Output, code: i32, mention: &str) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code() == Some(code) && text.contains(mention), "{:?}: {text}", output.status);
}

fn store_goes_into_a_cluster_and_comes_back() {
    let folder = tempdir().unwrap();
    let (file, back) = (folder.path().join("app.twx"), folder.path().join("back.twx"));
    let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
    let store = Store::open(file).unwrap();
    let options = TableOptions::new(IndexKind::Hash).keys("str").values("json");
    let hash = store.table_with("users", options).unwrap();
    let sorted = store.table("log", IndexKind::Sorted).unwrap();
    store.table("empty", IndexKind::Hash).unwrap();
    let pairs: Vec<_> = (0..20_000).map(|number| (format!("key {number:06}"), number.to_string())).collect();
    hash.insert_many(&pairs).unwrap();
    sorted.insert_many(&pairs).unwrap();
    store.close().unwrap();
    let cluster = Cluster::start(3, 0).unwrap();
    let url = &cluster.url();
    expect(&twindex(&["push", file, url]), 0, "table users: 20,000 pairs, 20,000 of them written now");
    // As if the first one had been stopped: only what is missing or differs is written.
    let client = twindex_cluster::blocking::connect(url).unwrap();
    let users = client.table("users", IndexKind::Hash).unwrap();
    assert_eq!(users.codecs(), ("str", "json"));
    assert!(users.delete("key 000007").unwrap() && users.replace("key 000008", "other").unwrap());
    expect(&twindex(&["push", file, url]), 0, "table users: 20,000 pairs, 2 of them written now");
    users.insert("key of another", "1").unwrap();
    expect(&twindex(&["push", file, url]), 1, "20000 pairs were sent, and it has 20001");
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
    expect(&twindex(&["pull", url, file, "--address", "x"]), 1, "--address x is not like");
}

fn servers_with_certificates_are_reached() {
    let folder = tempdir().unwrap();
    let (file, back) = (folder.path().join("app.twx"), folder.path().join("back.twx"));
    let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
    let store = Store::open(file).unwrap();
    store.table("users", IndexKind::Hash).unwrap().insert("ada", "1815").unwrap();
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

fn wrong_certificates_are_explained() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let file = &path("app.twx");
    let store = Store::open(file).unwrap();
    store.table("users", IndexKind::Hash).unwrap().insert("ada", "1815").unwrap();
    store.close().unwrap();
    let good = Certificates::make().unwrap();
    let server = Server::start_tls(&good, false, &[]).unwrap();
    let (tls, plain) = (server.tls_host().unwrap(), format!("127.0.0.1:{}", server.port()));
    let authority = |certificates: &Certificates| certificates.authority().to_str().unwrap().to_owned();
    let refused = |url: &str, cacert: &str, mention: &str| {
        expect(&twindex(&["push", file, url, "--cacert", cacert]), 1, mention);
    };
    let url = &format!("rediss://{tls}");
    expect(&twindex(&["push", file, url, "--cacert", &authority(&good)]), 0, "table users: 1 pairs");

    // Servers with another's certificate.
    refused(url, &authority(&Certificates::make().unwrap()), "invalid peer certificate");
    for (names, until, mention) in [
        (&["elsewhere.example"][..], 4096, "elsewhere.example"),
        (&["127.0.0.1"], 2021, "certificate expired"),
    ] {
        let certificates = Certificates::of_server(names, until).unwrap();
        let server = Server::start_tls(&certificates, false, &[]).unwrap();
        refused(&format!("rediss://{}", server.tls_host().unwrap()), &authority(&certificates), mention);
    }

    // Files that hold no certificate are named. They were not, and a device was read until memory ended.
    let [_, key] = good.identity();
    let whole = fs::read_to_string(authority(&good)).unwrap();
    for (name, content) in [
        ("empty", String::new()),
        ("half", whole[..whole.len() / 2].into()),
        ("key", fs::read_to_string(key).unwrap()),
    ] {
        fs::write(path(name), content).unwrap();
        refused(url, &path(name), &format!("cannot read {}: it has no certificate in PEM form", path(name)));
    }
    let words = ["push", file, url, "--cert", &authority(&good), "--key", &authority(&good)];
    expect(&twindex(&words), 1, "it has no key in PEM form");
    refused(url, &path(""), "cannot read");
    if cfg!(unix) {
        refused(url, "/dev/zero", "cannot read /dev/zero: it is too large");
    }

    // One side alone speaks TLS. This was reported as a timeout, a hang-up, or a parser's error of several lines.
    refused(&format!("rediss://{plain}"), &authority(&good), "perhaps it speaks no TLS");
    expect(&twindex(&["push", file, &format!("redis://{tls}")]), 1, "perhaps it speaks TLS");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    expect(&twindex(&["push", file, &format!("redis://{}", silent.local_addr().unwrap())]), 1, "timed out");
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = web.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut client, _)) = web.accept() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>");
            // Closing with unread input would take back what was written.
            let _ = io::copy(&mut client, &mut io::sink());
        }
    });
    refused(&format!("rediss://{host}"), &authority(&good), "perhaps it speaks no TLS");
    let output = twindex(&["push", file, &format!("redis://{host}")]);
    expect(&output, 1, "Parse error");
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
}
