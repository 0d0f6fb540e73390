//! The program that every language has prints the same lines in each.

use std::process::Command;

#[test]
fn tour_prints_what_it_prints_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let tour = Command::new(env!("CARGO_BIN_EXE_tour")).arg(folder.path().join("tour.twx")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&tour.stderr), "");
    assert_eq!(String::from_utf8_lossy(&tour.stdout), include_str!("../../tour.txt"));
}
