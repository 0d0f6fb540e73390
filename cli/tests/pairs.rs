//! Single pairs, by a command each and in the shell.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir};
use twindex_durable::twindex::{IndexKind, TableOptions};
use twindex_durable::{Options, Store};

use crate::common::{Ran, ran};

fn twindex(words: &[&str]) -> Ran {
    common::twindex(&words.iter().map(|word| word as &dyn AsRef<OsStr>).collect::<Vec<_>>())
}

fn store() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path).unwrap();
    let text = |index| TableOptions::new(index).keys("str").values("str");
    let users = store.table_with("users", text(IndexKind::Hash)).unwrap();
    users.insert("ada", "1815").unwrap();
    users.insert("two\nlines", b"\xff\x1b[2J").unwrap();
    let log = store.table_with("log", text(IndexKind::Sorted)).unwrap();
    log.insert_many(&[("2026-11-02", "b"), ("2026-11-01", "a"), ("2025-12-31", "z")]).unwrap();
    let options = TableOptions::new(IndexKind::Sorted).keys("int").values("json");
    store.table_with("numbers", options).unwrap();
    let options = TableOptions::new(IndexKind::Sorted).keys("tuple").values("int");
    store.table_with("days", options).unwrap();
    store.close().unwrap();
    (folder, path)
}

/// Runs a command on the file, whose path stands behind its first word.
fn on(path: &Path, words: &[&str]) -> Ran {
    twindex(&[&[words[0], path.to_str().unwrap()], &words[1..]].concat())
}

#[test]
fn set_get_and_delete() {
    let (_folder, path) = store();
    let run = |words: &[&str]| on(&path, words);
    assert_eq!(run(&["get", "users", "ada"]).expect(0).out, "1815\n");
    run(&["set", "users", "ada", "1852"]).expect(0);
    assert_eq!(run(&["select", "users", "ada"]).expect(0).out, "1852\n");
    let there = "twindex: table \"users\" has the key \"ada\" already: `set` overwrites it\n";
    assert_eq!(run(&["insert", "users", "ada", "1"]).expect(1).err, there);
    run(&["insert", "users", "new", "1"]).expect(0);
    run(&["upsert", "users", "new", "2"]).expect(0);
    assert_eq!(run(&["get", "users", "new"]).expect(0).out, "2\n");
    run(&["delete", "users", "ada"]).expect(0);
    let missing = "twindex: table \"users\" has no key \"ada\"\n";
    assert_eq!(run(&["get", "users", "ada"]).expect(1).err, missing);
    assert_eq!(run(&["delete", "users", "ada"]).expect(1).err, missing);
    assert!(run(&["get", "none", "ada"]).expect(1).err.contains("there is no table \"none\""));
}

#[test]
fn codecs_parse_keys_and_values() {
    let (_folder, path) = store();
    let run = |words: &[&str]| on(&path, words);
    run(&["set", "numbers", "-7", r#"{"a": [1, null]}"#]).expect(0);
    run(&["set", "numbers", "3", "true"]).expect(0);
    assert_eq!(run(&["get", "numbers", "-7"]).expect(0).out, "{\"a\": [1, null]}\n");
    assert_eq!(run(&["scan", "numbers"]).expect(0).out, "-7\t{\"a\": [1, null]}\n3\ttrue\n");
    assert_eq!(run(&["scan", "numbers", "--gt", "-7"]).expect(0).out, "3\ttrue\n");
    assert!(run(&["set", "numbers", "x", "1"]).expect(1).err.contains("\"x\" is not JSON"));
    assert!(run(&["set", "numbers", "1.5", "1"]).expect(1).err.contains("1.5 is not an integer"));
    assert!(run(&["set", "numbers", "1", "{"]).expect(1).err.contains("\"{\" is not JSON"));
    assert!(run(&["scan", "numbers", "--prefix", "1"]).expect(1).err.contains("no prefix"));

    run(&["set", "days", r#"["ada", 2026, 11]"#, "5"]).expect(0);
    run(&["set", "days", r#"["bob", 2026]"#, "-1"]).expect(0);
    let line = run(&["scan", "days", "--prefix", r#"["ada"]"#, "--json"]).expect(0).out;
    assert_eq!(line, "{\"table\":\"days\",\"key\":[\"ada\",2026,11],\"value\":5}\n");
    assert!(run(&["set", "days", r#"["x"]"#, "much"]).expect(1).err.contains("is not JSON"));
}

#[test]
fn scan_takes_ranges_both_ways() {
    let (_folder, path) = store();
    let scan = |words: &[&str]| on(&path, &[&["scan", "log"], words].concat());
    assert_eq!(scan(&["--prefix", "2026-"]).expect(0).out, "2026-11-01\ta\n2026-11-02\tb\n");
    assert_eq!(scan(&["--reverse", "--limit", "1"]).expect(0).out, "2026-11-02\tb\n");
    assert_eq!(
        scan(&["--gte", "2025-12-31", "--lt", "2026-11-02"]).expect(0).out,
        "2025-12-31\tz\n2026-11-01\ta\n"
    );
    assert_eq!(scan(&["--gt", "2026-11-01", "--lte", "2026-11-02"]).expect(0).out, "2026-11-02\tb\n");
    assert_eq!(scan(&["--limit", "0"]).expect(0).out.lines().count(), 3);
    scan(&["--gt", "a", "--gte", "b"]).expect(2);
    let hashed = on(&path, &["scan", "users", "--prefix", "a"]);
    assert!(hashed.expect(1).err.contains("hash"), "a hash table has no order");
}

#[test]
fn terminals_get_escapes_and_programs_bytes() {
    let (_folder, path) = store();
    let run = |words: &[&str]| on(&path, words);
    let scanned = run(&["scan", "users"]).expect(0).out;
    assert!(scanned.contains("two\\nlines\t\\xff\\u{1b}[2J\n"), "{scanned}");
    let output = Command::new(env!("CARGO_BIN_EXE_twindex"))
        .args(["get", path.to_str().unwrap(), "users", "two\nlines"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"\xff\x1b[2J\n");
    let json = run(&["get", "users", "two\nlines", "--json"]).expect(0).out;
    assert_eq!(json, "{\"table\":\"users\",\"key\":\"two\\nlines\",\"value64\":\"/xtbMko=\"}\n");
    run(&["set", "users", "/w==", "AP8=", "--key64", "--value64"]).expect(0);
    let json = run(&["get", "users", "/w==", "--key64", "--json"]).expect(0).out;
    assert_eq!(json, "{\"table\":\"users\",\"key64\":\"/w==\",\"value64\":\"AP8=\"}\n");
    assert!(run(&["get", "users", "!", "--key64"]).expect(1).err.contains("KEY is not base64"));
}

#[test]
fn names_and_keys_of_a_strange_file_move_no_cursor() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("strange.twx");
    let evil = "\u{9b}2J\u{1b}[2J";
    let store = Store::open(&path).unwrap();
    let options = TableOptions::new(IndexKind::Sorted).keys("tuple").values(evil);
    let table = store.table_with(evil, options).unwrap();
    table.insert(twindex_codec::tuple::pack(&(evil,)).unwrap(), "v").unwrap();
    store.close().unwrap();
    let set = ["set", evil, "[1]", "v", "--index", "hash"];
    for ran in [on(&path, &["scan", evil]), on(&path, &set), piped(&path, &[], "tables\n")] {
        let shown = [ran.out, ran.err].concat();
        assert!(shown.contains("2J") && !shown.contains(['\u{9b}', '\u{1b}']), "{shown:?}");
    }
}

#[test]
fn set_with_an_index_creates_the_table() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new.twx");
    let file = path.to_str().unwrap();
    assert!(twindex(&["set", file, "t", "k", "v"]).expect(1).err.contains("new.twx"), "there is no file");
    twindex(&["set", file, "t", "1", "[2]", "--index", "sorted", "--keys", "int", "--values", "json"])
        .expect(0);
    let store = Options::new().read_only(true).open(&path).unwrap();
    let table = store.find_table("t").unwrap().unwrap();
    assert_eq!((table.index(), table.codecs()), (IndexKind::Sorted, ("int", "json")));
    twindex(&["set", file, "t", "1", "[2]", "--index", "tree"]).expect(2);
}

fn piped(path: &Path, options: &[&str], lines: &str) -> Ran {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_twindex"))
        .arg("shell")
        .arg(path)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    ran(&shell.wait_with_output().unwrap())
}

#[test]
fn shell_reads_piped_lines() {
    let (_folder, path) = store();
    let path = &path;
    let done =
        piped(path, &["--write"], "set users 'ada lovelace' \"1 8\"\n\nget users 'ada lovelace'\ntables\n");
    let out = done.expect(0).out;
    assert!(out.starts_with("1 8\n"), "{out}");
    assert!(out.contains("log\tsorted\tstr\tstr\t3 pairs\n"), "{out}");
    let read = piped(path, &[], "set users ada 1\nget users 'ada lovelace'\nexit\nget users ada\n").expect(1);
    assert_eq!(read.out, "1 8\n");
    assert!(read.err.contains("opened read-only"), "{}", read.err);
    let wrong = piped(path, &[], "juggle\nget 'users\nget users\nhelp\n").expect(1);
    assert!(wrong.err.contains("juggle") && wrong.err.contains("a quote is not closed"), "{}", wrong.err);
    assert!(wrong.out.contains("Prints a value: get TABLE KEY"), "{}", wrong.out);
}

#[test]
fn shell_sees_writes_of_another_process() {
    let (_folder, path) = store();
    let path = &path;
    let writer = Store::open(path).unwrap();
    let mut shell = Command::new(env!("CARGO_BIN_EXE_twindex"))
        .arg("shell")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(shell.stdout.take().unwrap()));
    let mut stdin = shell.stdin.take().unwrap();
    let mut ask = |stdin: &mut std::process::ChildStdin| {
        stdin.write_all(b"get log now\n").unwrap();
        lines.next().unwrap().unwrap()
    };
    let log = writer.find_table("log").unwrap().unwrap();
    for value in ["1", "2"] {
        log.upsert("now", value).unwrap();
        writer.flush().unwrap();
        assert_eq!(ask(&mut stdin), value);
    }
    drop(stdin);
    assert!(shell.wait().unwrap().success());
}

#[cfg(unix)]
mod by_hand {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::OwnedFd;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    struct Terminal {
        keys: File,
        screen: Receiver<Vec<u8>>,
        seen: String,
        shell: std::process::Child,
    }

    impl Terminal {
        fn start(path: &Path, state: &Path) -> Self {
            let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&main).unwrap();
            unlockpt(&main).unwrap();
            let name = ptsname(&main, Vec::new()).unwrap();
            let other = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
            let end = || Stdio::from(OwnedFd::from(other.try_clone().unwrap()));
            let shell = Command::new(env!("CARGO_BIN_EXE_twindex"))
                .args(["shell", "--write"])
                .arg(path)
                .env("XDG_STATE_HOME", state)
                .env("TERM", "xterm")
                .stdin(end())
                .stdout(end())
                .stderr(end())
                .spawn()
                .unwrap();
            let keys = File::from(main);
            let mut reader = keys.try_clone().unwrap();
            let (send, screen) = channel();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                // It ends with an error once the shell has.
                while let Ok(count @ 1..) = reader.read(&mut bytes) {
                    let _ = send.send(bytes[..count].to_vec());
                }
            });
            Self { keys, screen, seen: String::new(), shell }
        }

        /// Waits for a text, and forgets all that came before it.
        fn wait_for(&mut self, text: &str) {
            loop {
                if let Some(at) = self.seen.find(text) {
                    self.seen.drain(..at + text.len());
                    return;
                }
                match self.screen.recv_timeout(Duration::from_mins(5)) {
                    Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                    Err(error) => panic!("{error}: {text:?} did not come after {:?}", self.seen),
                }
            }
        }

        fn press(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
        }
    }

    const PROMPT: &str = "app.twx> ";

    #[test]
    fn shell_completes_words_and_keeps_a_history() {
        let (folder, path) = store();
        let path = &path;
        let mut terminal = Terminal::start(path, folder.path());
        terminal.wait_for(PROMPT);
        terminal.press("ge\tlo\t2025\t\r");
        terminal.wait_for("\r\nz\r\n");
        terminal.wait_for(PROMPT);
        terminal.press("set users ada 1852\r");
        terminal.wait_for(PROMPT);
        // The line before the last one.
        terminal.press("\x1b[A\x1b[A\r");
        terminal.wait_for("\r\nz\r\n");
        terminal.wait_for(PROMPT);
        terminal.press("half\x03");
        terminal.wait_for(PROMPT);
        terminal.press("\x04");
        assert!(terminal.shell.wait().unwrap().success());
        let history = fs::read_to_string(folder.path().join("twindex/history")).unwrap();
        assert!(history.contains("get log 2025-12-31 \nset users ada 1852\n"), "{history}");
        assert_eq!(on(path, &["get", "users", "ada"]).expect(0).out, "1852\n");
    }
}
