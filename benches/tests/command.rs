//! The command as a user starts it.

use std::process::{Command, Output};

use twindex_benches::Report;

fn seeds(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_twindex-benches")).args(args).output().expect("the command starts")
}

#[test]
fn the_json_has_every_step_with_every_number_of_threads() {
    let output = seeds(&["--pairs", "3000", "--threads", "1,3", "--rounds", "2", "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    let report: Report = serde_json::from_slice(&output.stdout).expect("standard output holds only the JSON");
    assert_eq!((report.host.as_str(), report.pairs, report.rounds), ("rust", 3_000, 2));
    let steps: Vec<_> = report.results.iter().map(|result| (result.step.as_str(), result.threads)).collect();
    let expected = [
        ("unordered_write", 1),
        ("unordered_read", 1),
        ("unordered_write", 3),
        ("unordered_read", 3),
        ("sorted_write", 1),
        ("sorted_read", 1),
        ("sorted_write", 3),
        ("sorted_read", 3),
    ];
    assert_eq!(steps, expected);
    for result in &report.results {
        assert_eq!(result.rounds_ms.len(), 2);
        assert!(result.ops > 0 && result.milliseconds > 0.0);
        assert_eq!(result.bytes_per_pair.is_some(), result.step.ends_with("write"));
    }
}

#[test]
fn the_test_of_clients_has_an_update_too() {
    let output = seeds(&["--test", "clients", "--pairs", "3000", "--threads", "2", "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    let report: Report = serde_json::from_slice(&output.stdout).expect("standard output holds only the JSON");
    let steps: Vec<_> = report.results.iter().map(|result| result.step.as_str()).collect();
    assert_eq!(steps, ["clients_write", "clients_read", "clients_update"]);
}

#[test]
fn what_programs_use_today_does_the_same_steps() {
    let tests = ["--test", "strings,sorted,clients", "--pairs", "3000", "--threads", "1", "--json", "-"];
    let output = seeds(&[["--beside"].as_slice(), &tests].concat());
    assert!(output.status.success(), "{output:?}");
    let report: Report = serde_json::from_slice(&output.stdout).expect("standard output holds only the JSON");
    let systems: Vec<_> =
        report.results.iter().map(|result| (result.step.as_str(), result.system.as_str())).collect();
    let expected = [
        ("unordered_write", "hashbrown"),
        ("unordered_read", "hashbrown"),
        ("sorted_write", "BTreeMap"),
        ("sorted_read", "BTreeMap"),
        ("clients_write", "hashbrown"),
        ("clients_read", "hashbrown"),
        ("clients_update", "hashbrown"),
    ];
    assert_eq!(systems, expected);
    assert!(report.results.iter().all(|result| result.bytes_per_pair.is_none()));
    let output = seeds(&["--beside", "--threads", "2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--threads 2"), "{output:?}");
}

#[test]
fn keys_come_from_a_file_once_each() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (words, json) = (folder.path().join("words"), folder.path().join("report.json"));
    std::fs::write(&words, "pear\napple\n\npear\nplum\n").expect("the file can be written");
    let (words, json) = (words.to_str().unwrap(), json.to_str().unwrap());
    let output = seeds(&["--keys-from", words, "--threads", "2", "--json", json]);
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("Operations/s") && table.contains("sorted_read"), "{table}");
    let report: Report = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!((report.pairs, report.keys_from.as_deref()), (3, Some(words)));
}

#[test]
fn what_cannot_be_done_is_named() {
    let cases: [(&[&str], &str); 3] = [
        (&["--test", "unsorted"], "unsorted"),
        (&["--keys-from", "/no/such/file"], "/no/such/file"),
        (&["--pairs", "17", "--key-bytes", "1"], "17"),
    ];
    for (args, named) in cases {
        let output = seeds(args);
        assert!(!output.status.success(), "{args:?} succeeded");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(named), "{args:?}: {message}");
    }
}
