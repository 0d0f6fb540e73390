//! Every work with every system of this crate over few pairs. A wrong value ends the process with an error.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twindex-benches"));
    command.args(words.split_whitespace()).output().expect("the command starts")
}

/// The figures of a run.
fn figures(words: &str) -> Vec<String> {
    let output = bench(words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let mut figures: Vec<String> = records
        .inspect(|record| assert!(record["value"].as_f64().is_some_and(|value| value >= 0.0), "{record}"))
        .filter(|record| cfg!(target_os = "linux") || record["unit"] != "bytes")
        .map(|record| record["figure"].as_str().expect("a figure has a name").to_owned())
        .collect();
    figures.dedup();
    figures
}

/// A work, and its figures; those of memory are measured on Linux alone.
const WORKS: &str = "
    fill | insert,bytes,select,absent,select_many,replace,insert_many
    fill --keys paths --threads 3 | insert,select,absent,select_many,replace,insert_many
    fill --keys letters --value-bytes 3 --figures select,replace | insert,bytes,select,replace
    fill --index sorted --keys hex --keys seq | insert,bytes,select,scan,scan_many,insert_many
    fill --index sorted --order ascending --threads 2 | insert,select,scan,scan_many,insert_many
    fill --keys mixed --value-bytes 8 | insert,bytes,select,absent,select_many,replace,insert_many
    churn | churn,bytes
    churn --index sorted | churn,bytes
    latency | insert p50,insert p99.99,insert worst
    small --each 10 | insert,select,bytes
    small --each 10 --index sorted | insert,select,bytes
    append --index sorted --batch 16 | append,bytes
    append --index sorted --batch 1 --threads 2 | append,select";

#[test]
fn every_system_does_every_work_and_gives_all_its_figures() {
    for line in WORKS.trim().lines() {
        let (work, expected) = line.split_once(" | ").expect("a work and its figures");
        let other = if work.contains("sorted") { "btreemap" } else { "hashbrown" };
        // The others belong to one thread.
        for system in ["twindex", other].iter().take(if work.contains("--threads") { 1 } else { 2 }) {
            let found = figures(&format!("{work} --system {system} --pairs 2000"));
            let is_measured = |figure: &&str| cfg!(target_os = "linux") || *figure != "bytes";
            let expected: Vec<&str> = expected.split(',').filter(is_measured).collect();
            assert_eq!(found, expected, "{system}: {work}");
        }
    }
}

#[test]
fn every_workload_of_ycsb_has_its_rate_and_percentiles() {
    let kinds = ["update", "update", "read", "insert", "scan", "read-modify-write"];
    for (workload, kinds) in ["A", "B", "C", "D", "E --index sorted", "F"].into_iter().zip(kinds) {
        let words = "ycsb --system twindex --pairs 2000 --threads 2 --value-bytes 100 --workload";
        let found = figures(&format!("{words} {workload}"));
        assert_eq!(found[0], "operations", "{workload}");
        for percentile in ["average", "p50", "p99.99", "worst"] {
            assert!(found.contains(&format!("{kinds} {percentile}")), "{workload}: {found:?}");
        }
    }
    assert!(figures("ycsb --system hashbrown --pairs 500 --value-bytes 8 --rate 5000").len() > 7);
}

#[test]
fn keys_are_written_once_each() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("keys");
    let words = format!("keys --pairs 50 --keys letters --file {}", path.display());
    assert!(bench(&words).status.success());
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 50);
    let again = figures(&format!("fill --system twindex --keys {} --pairs 50", path.display()));
    assert!(again.contains(&"select".into()));
}

#[test]
fn an_impossible_request_is_an_error_that_names_it() {
    for (words, named) in [
        ("shuffle --system twindex", "\"shuffle\""),
        ("fill --system twindx", "\"twindx\""),
        ("fill --system hashbrown --threads 2", "--threads 2"),
        ("fill --system twindex --keys /no/such/file", "/no/such/file"),
        ("fill --system twindex --pairs 17 --key-bytes 1", "17"),
        ("ycsb --system twindex --workload E", "not E"),
        ("keys", "--file FILE"),
    ] {
        let output = bench(words);
        assert!(!output.status.success(), "{words} succeeded");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.starts_with("error: ") && message.contains(named), "{words}: {message}");
    }
}
