//! The tool as its users run it.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use twindex_cache::{Cache, CacheOptions};
use twindex_codec::tuple::{self, Null};
use twindex_codec::{decimal, int};
use twindex_durable::format::encode_codecs;
use twindex_durable::twindex::{IndexKind, TableOptions};
use twindex_durable::{Options, Store, Table};

use crate::common::{ran, twindex};

fn store() -> (TempDir, PathBuf, Store) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path).unwrap();
    let users = store.table("users", IndexKind::Hash).unwrap();
    users.insert("ada", "1815").unwrap();
    users.insert([0xff, 0x00], "no text").unwrap();
    let log = store.table("log \"2\"", IndexKind::Sorted).unwrap();
    log.insert("line\nbreak", [0x80]).unwrap();
    log.insert("", "é").unwrap();
    store.table("empty", IndexKind::Sorted).unwrap();
    store.close().unwrap();
    let read = Options::new().read_only(true).open(&path).unwrap();
    (folder, path, read)
}

#[track_caller]
fn assert_same(path: &Path, store: &Store) {
    let content = |store: &Store| {
        let pairs = |table: &Table| {
            let mut pairs: Vec<_> = table.iter().unwrap().collect();
            pairs.sort();
            let (keys, values) = table.codecs();
            (table.name().to_owned(), table.index(), (keys.to_owned(), values.to_owned()), pairs)
        };
        store.tables().unwrap().iter().map(pairs).collect::<Vec<_>>()
    };
    assert_eq!(content(&Store::open(path).unwrap()), content(store));
}

#[test]
fn info_lists_every_table() {
    let (_folder, path, _store) = store();
    let ran = twindex(&[&"info", &path]).expect(0);
    for part in [
        "version 1",
        "table users",
        "hash, bytes keys, bytes values, 2 pairs",
        "values, 0 pairs",
        "log \\\"2\\\"",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert_eq!(ran.err, "", "no bar without a terminal");
}

#[test]
fn import_restores_an_export() {
    let (folder, path, store) = store();
    let (lines, new) = (folder.path().join("lines"), folder.path().join("new.twx"));
    twindex(&[&"export", &path, &lines]).expect(0);
    let text = fs::read_to_string(&lines).unwrap();
    assert_eq!(text.lines().count(), 3 + 4);
    assert!(text.contains(r#"{"table":"users","key":"ada","value":"1815"}"#), "{text}");
    assert!(text.contains(r#"{"table":"users","key64":"/wA=","value":"no text"}"#), "{text}");
    twindex(&[&"import", &new, &lines]).expect(0);
    assert_same(&new, &store);
    // A second time changes nothing, and the standard streams do as well.
    let mut import = Command::new(env!("CARGO_BIN_EXE_twindex"));
    let mut import = import.args(["import".as_ref(), new.as_os_str()]).stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(twindex(&[&"export", &path]).expect(0).out.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    assert_same(&new, &store);
}

/// A store with a table of each codec.
fn store_of_every_codec(path: &Path) -> Store {
    let store = Store::open(path).unwrap();
    let table = |name: &str, keys, values| {
        store.table_with(name, TableOptions::new(IndexKind::Sorted).keys(keys).values(values)).unwrap()
    };
    let years = table("years", "int", "json");
    years.insert(int::encode(1815), r#"{"name":"Ada","more":[1.50,9007199254740993,null]}"#).unwrap();
    years.insert(int::encode(-7), "null").unwrap();
    years.insert(int::encode(0), "[1,\n2]").unwrap();
    years.insert("no integer", "no JSON").unwrap();
    let scores = table("scores", "tuple", "int");
    let key = (("ada", Null), -1.5, 5.0, i64::MIN, f64::INFINITY, b"\0\xff".as_slice(), "\"\0é", ());
    scores.insert(tuple::pack(&key).unwrap(), decimal::encode(-42)).unwrap();
    scores.insert("", "007").unwrap();
    let days = table("days", "iso-date", "msgpack");
    days.insert("1815-12-10", [0x91, 0x01]).unwrap();
    days.insert("1816-01-01", "text").unwrap();
    let lent = store.expiring_table("lent", IndexKind::Hash).unwrap();
    lent.upsert("for an hour", "v", Duration::from_hours(1)).unwrap();
    lent.upsert("for ever", "v", None).unwrap();
    store.close().unwrap();
    Options::new().read_only(true).open(path).unwrap()
}

#[test]
fn export_writes_every_codec() {
    let folder = tempdir().unwrap();
    let (path, lines, new) =
        (folder.path().join("app.twx"), folder.path().join("lines"), folder.path().join("new.twx"));
    let store = store_of_every_codec(&path);
    let exported = twindex(&[&"export", &path]).expect(0).out;
    for line in [
        r#"{"table":"years","index":"sorted","keys":"int","values":"json"}"#,
        r#"{"table":"years","key":1815,"value":{"name":"Ada","more":[1.50,9007199254740993,null]}}"#,
        r#"{"table":"years","key":-7,"value":null}"#,
        r#"{"table":"years","key":0,"value64":"WzEsCjJd"}"#,
        r#"{"table":"years","key64":"bm8gaW50ZWdlcg==","value64":"bm8gSlNPTg=="}"#,
        r#"{"table":"scores","key":[["ada",null],-1.5,5.0,-9223372036854775808,{"float":"inf"},{"base64":"AP8="},"\"\u0000é",[]],"value":-42}"#,
        r#"{"table":"scores","key":[],"value64":"MDA3"}"#,
        r#"{"table":"days","key":"1815-12-10","value64":"kQE="}"#,
        r#"{"table":"days","key":"1816-01-01","value":"text"}"#,
    ] {
        assert!(exported.lines().any(|found| found == line), "{line}\n{exported}");
    }
    fs::write(&lines, exported).unwrap();
    twindex(&[&"import", &new, &lines]).expect(0);
    assert_same(&new, &store);
    assert_eq!(twindex(&[&"export", &path, &"--table", &"lent"]).expect(0).out.lines().count(), 3);
    let refused = twindex(&[&"get", &path, &"lent", &"for ever"]).expect(1);
    assert!(refused.err.contains("only `export` and `import`"), "{}", refused.err);
}

/// A file from Python, opened without naming its codecs.
#[test]
fn export_knows_the_codecs_of_python() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/golden");
    let lines = fs::read_to_string(golden.join("version-1-python.jsonl")).unwrap();
    assert_eq!(twindex(&[&"export", &golden.join("version-1-python.twx")]).expect(0).out, lines);
}

#[test]
fn imported_tables_are_text_by_default() {
    let folder = tempdir().unwrap();
    let (path, lines) = (folder.path().join("app.twx"), folder.path().join("lines"));
    let import = |text: &str| {
        fs::write(&lines, text).unwrap();
        twindex(&[&"import", &path, &lines])
    };
    import("{\"table\":\"t\",\"key\":\"k\",\"value\":\"v\"}\n{\"table\":\"n\",\"values\":\"int\"}\n")
        .expect(0);
    // A table that is there has its own codecs, whether a line names them or not.
    import(r#"{"table":"n","key":"k","value":7}"#).expect(0);
    for (line, part) in [
        (r#"{"table":"n","key":"k","value":"7"}"#, r#""value": "7" is not an integer of 64 bits"#),
        (r#"{"table":"n","key":"k","value":9223372036854775808}"#, "is not an integer of 64 bits"),
        (r#"{"table":"n","key":7,"value":7}"#, r#""key": 7 is no string"#),
        (r#"{"table":"n","values":"json"}"#, r#"the codec "int", this needs "json""#),
        (r#"{"table":"new","keys":""}"#, "a codec name has 1 to 255 bytes"),
    ] {
        let ran = import(line).expect(1);
        assert!(ran.err.contains(part), "{line}: {}", ran.err);
    }
    import("{\"table\":\"p\",\"keys\":\"tuple\"}").expect(0);
    for (key, part) in [
        ("7", "7 is no array"),
        ("[true]", "true cannot be an item of a tuple"),
        ("[{\"hex\":\"00\"}]", "cannot be an item of a tuple"),
        ("[{\"base64\":\"?\"}]", "cannot be an item of a tuple"),
        ("[{\"float\":\"nan\"}]", "NaN in a key has no place in an order"),
        ("[99999999999999999999]", "is not an integer of 64 bits"),
    ] {
        let ran = import(&format!(r#"{{"table":"p","key":{key},"value":""}}"#)).expect(1);
        assert!(ran.err.contains(part), "{key}: {}", ran.err);
    }
    let store = Store::open(&path).unwrap();
    assert_eq!(store.find_table("t").unwrap().unwrap().codecs(), ("str", "str"));
    assert_eq!(store.find_table("n").unwrap().unwrap().codecs(), ("str", "int"));
    assert_eq!(store.find_table("n").unwrap().unwrap().select("k").unwrap().unwrap(), b"7");
    assert_eq!(store.find_table("p").unwrap().unwrap().len(), 0);
}

#[test]
fn export_of_one_table() {
    let (_folder, path, _store) = store();
    let ran = twindex(&[&"export", &path, &"--table", &"users"]).expect(0);
    assert_eq!(ran.out.lines().count(), 3);
    let ran = twindex(&[&"export", &path, &"--table", &"none"]).expect(1);
    assert!(ran.err.contains("no table \"none\""), "{}", ran.err);
}

#[test]
fn import_names_a_wrong_line() {
    let (folder, path, _store) = store();
    let lines = folder.path().join("lines");
    for (line, part) in [
        ("{", "EOF while parsing an object, at column 1; a line is {\"table\""),
        ("# A page", "expected value, at column 1;"),
        ("[]", "invalid"),
        (r#"{"table":"t"}"#, "no \"key\""),
        (r#"{"table":"t","key":"k"}"#, "no \"value\""),
        (r#"{"table":"t","key":"k","key64":"aw==","value":""}"#, "both"),
        (r#"{"table":"t","key64":"?","value":""}"#, "base64"),
        (r#"{"table":"t","index":"tree"}"#, "tree"),
        (r#"{"table":"users","index":"sorted"}"#, "hash index"),
        (r#"{"table":"","key":"k","value":"v"}"#, "table name"),
        (r#"{"table":"t","key":"k","valeu":"v"}"#, "valeu"),
        (
            r#"{"table":"j","index":"hash","values":"json","key":"k","value":["\ud800"]}"#,
            "half of a character",
        ),
        // All lines after it are good.
        (&format!(r#"{{"table":"t","key":"{}","value":"v"}}"#, "k".repeat(65_536)), "too long"),
    ] {
        fs::write(
            &lines,
            format!("\n{line}\n{}", "{\"table\":\"t\",\"key\":\"k\",\"value\":\"v\"}\n".repeat(2_000)),
        )
        .unwrap();
        let ran = twindex(&[&"import", &path, &lines]).expect(1);
        assert!(ran.err.contains("line 2,") || ran.err.contains("line 2:"), "{line}: {}", ran.err);
        assert!(ran.err.contains(part), "{line}: {}", ran.err);
    }
    fs::write(&lines, b"\n{\"table\":\"t\",\"key\":\"\xff\",\"value\":\"v\"}\n").unwrap();
    let ran = twindex(&[&"import", &path, &lines]).expect(1);
    assert!(ran.err.contains("line 2: invalid unicode"), "{}", ran.err);
}

/// They were held until a table had a thousand of them, which took gigabytes.
#[cfg(target_os = "linux")]
#[test]
fn import_holds_a_few_megabytes_of_large_values() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new.twx");
    let mut import = Command::new(env!("CARGO_BIN_EXE_twindex"));
    let mut import =
        import.args(["import".as_ref(), path.as_os_str()]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = import.stdin.take().unwrap();
    let value = "v".repeat(1 << 20);
    for _ in 0..100 {
        // The store has one of them in memory, whatever comes.
        writeln!(input, r#"{{"table":"t","key":"k","value":"{value}"}}"#).unwrap();
        writeln!(input, r#"{{"table":"t","key":"k","value":""}}"#).unwrap();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", import.id())).unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 50 << 10, "{most} KiB");
}

#[test]
fn check_finds_damage_and_recover_saves_the_rest() {
    let (folder, path, store) = store();
    twindex(&[&"check", &path]).expect(0);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    let at = whole.windows(4).position(|bytes| bytes == b"1815").unwrap();
    damaged[at] ^= 1;
    fs::write(&path, &damaged).unwrap();
    for verb in ["check", "info"] {
        let ran = twindex(&[&verb, &path]).expect(3);
        assert!(ran.err.contains("damaged at byte"), "{}", ran.err);
    }
    for verb in ["compact", "export"] {
        let ran = twindex(&[&verb, &path]).expect(3);
        assert!(ran.err.contains("recover"), "{}", ran.err);
    }
    let new = folder.path().join("new.twx");
    // A recovery that was killed leaves an empty file.
    fs::write(&new, "").unwrap();
    let ran = twindex(&[&"recover", &path, &new]).expect(3);
    assert!(ran.out.contains("table users: hash, 1 pairs saved"), "{}", ran.out);
    assert_eq!(fs::read(&path).unwrap(), damaged, "the old file is left as it is");
    store.find_table("users").unwrap().unwrap().in_memory().delete("ada").unwrap();
    assert_same(&new, &store);
    let ran = twindex(&[&"recover", &path, &new]).expect(1);
    assert!(ran.err.contains("new.twx"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn closed_output_ends_an_export_quietly() {
    let (_folder, path, store) = store();
    let writing = Store::open(&path).unwrap();
    let pairs: Vec<_> = (0..10_000).map(|number| (format!("{number}"), "a value")).collect();
    writing.table("users", IndexKind::Hash).unwrap().upsert_many(&pairs).unwrap();
    writing.close().unwrap();
    let mut export = Command::new(env!("CARGO_BIN_EXE_twindex"));
    let export = export.arg("export").arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = export.spawn().unwrap();
    drop(child.stdout.take());
    let ran = ran(&child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.err, "");
    drop(store);
}

#[cfg(target_os = "linux")]
#[test]
fn failed_export_leaves_no_file() {
    let (folder, path, _store) = store();
    let lines = folder.path().join("lines");
    // No file may be longer than 0 bytes.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" export \"$1\" \"$2\"";
    let mut export = Command::new("sh");
    let export = export.args(["-c", script, env!("CARGO_BIN_EXE_twindex")]).args([&path, &lines]);
    let ran = ran(&export.output().unwrap()).expect(1);
    assert!(ran.err.contains("lines"), "{}", ran.err);
    assert!(!lines.exists());
    twindex(&[&"export", &path, &lines]).expect(0);
}

#[test]
fn compact_shrinks_a_file() {
    let (_folder, path, _store) = store();
    let store = Store::open(&path).unwrap();
    let table = store.table("users", IndexKind::Hash).unwrap();
    // More than a file keeps of its changes, which is a mebibyte.
    (0..40).for_each(|_| table.upsert("ada", "x".repeat(100_000)).unwrap());
    let ran = twindex(&[&"compact", &path]).expect(1);
    assert!(ran.err.contains(&format!("in use by process {}", std::process::id())), "{}", ran.err);
    store.close().unwrap();
    let expected = Options::new().read_only(true).open(&path).unwrap();
    let before = fs::metadata(&path).unwrap().len();
    twindex(&[&"compact", &path]).expect(0);
    assert!(fs::metadata(&path).unwrap().len() < before / 2);
    assert_same(&path, &expected);
}

#[test]
fn changes_resume_at_a_position() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path).unwrap();
    let options = TableOptions::new(IndexKind::Sorted).keys("int").values("json");
    let table = store.table_with("t", options).unwrap();
    let mut batch = store.batch();
    batch.upsert(&table, int::encode(7), "[1]").unwrap();
    batch.delete(&table, int::encode(7)).unwrap();
    batch.upsert(&table, [1], "{}").unwrap();
    batch.commit().unwrap();
    let position = store.position().unwrap().to_string();
    table.clear().unwrap();
    store.drop_table("t").unwrap();
    let ran = twindex(&[&"changes", &path]).expect(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    let changes = |line: &str| line.split_once(r#","changes":"#).unwrap().1.to_owned();
    assert_eq!(
        lines.iter().map(|line| changes(line)).collect::<Vec<_>>(),
        [
            r#"[{"kind":"create","table":"t","index":"sorted","keys":"int","values":"json"}]}"#,
            r#"[{"kind":"put","table":"t","key":7,"value":[1]},{"kind":"delete","table":"t","key":7},{"kind":"put","table":"t","key64":"AQ==","value":{}}]}"#,
            r#"[{"kind":"clear","table":"t"}]}"#,
            r#"[{"kind":"drop","table":"t"}]}"#,
        ]
    );
    assert!(lines[1].starts_with(&format!(r#"{{"position":"{position}","#)), "{}", lines[1]);
    let rest = twindex(&[&"changes", &path, &"--from", &position]).expect(0);
    assert_eq!(rest.out.lines().collect::<Vec<_>>(), lines[2..]);
    // It waits for more, as its reader sees at once.
    let mut command = Command::new(env!("CARGO_BIN_EXE_twindex"));
    command.args(["changes", "--follow", "--from", &position]).arg(&path).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut followed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(followed.next().unwrap().unwrap(), lines[2]);
    assert_eq!(followed.next().unwrap().unwrap(), lines[3]);
    store.table("more", IndexKind::Hash).unwrap();
    assert!(followed.next().unwrap().unwrap().contains(r#""table":"more""#));
    child.kill().unwrap();
    child.wait().unwrap();
    // More than a file keeps of its changes.
    let more = store.table("more", IndexKind::Hash).unwrap();
    more.upsert("large", vec![0; 1 << 20]).unwrap();
    assert!(more.delete("large").unwrap());
    store.compact().unwrap();
    let gone = twindex(&[&"changes", &path, &"--from", &position]).expect(1);
    assert!(gone.err.contains(&position) && gone.err.contains("oldest"), "{}", gone.err);
    assert!(twindex(&[&"changes", &path, &"--from", &"here"]).expect(1).err.contains("\"here\""));
}

#[test]
fn missing_and_foreign_files_are_errors() {
    let folder = tempdir().unwrap();
    let none = folder.path().join("none.twx");
    for verb in ["info", "check", "export", "changes", "compact"] {
        let ran = twindex(&[&verb, &none]).expect(1);
        assert!(ran.err.contains("none.twx"), "{}", ran.err);
        assert!(!none.exists());
    }
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "some notes, which are longer than a header").unwrap();
    for verb in ["info", "check", "export", "changes", "compact"] {
        let ran = twindex(&[&verb, &notes]).expect(3);
        assert!(ran.err.contains("cannot be read as a store") && !ran.err.contains("recover"), "{}", ran.err);
    }
    twindex(&[&"explode", &notes]).expect(2);
    twindex(&[]).expect(2);
    assert!(twindex(&[&"--help"]).expect(0).out.contains("recover"));
    assert!(twindex(&[&"--version"]).expect(0).out.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn memory_limit_refuses_larger_files() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path).unwrap();
    store.table("t", IndexKind::Hash).unwrap().insert("k", vec![b'v'; 4 << 20]).unwrap();
    store.close().unwrap();
    let new = folder.path().join("new.twx");
    let commands: [&[&dyn AsRef<std::ffi::OsStr>]; 5] = [
        &[&"info", &path],
        &[&"check", &path],
        &[&"recover", &path, &new],
        &[&"export", &path],
        &[&"compact", &path],
    ];
    for arguments in commands {
        let with = |limit: &'static str| twindex(&[arguments, &[&"--memory-limit", &limit]].concat());
        let refused = with("1M").expect(1);
        assert!(
            refused.err.contains("limit is 1048576") && refused.err.contains("--memory-limit"),
            "{}",
            refused.err
        );
        for limit in ["8M", "8388608", "1g"] {
            with(limit).expect(0);
            let _ = fs::remove_file(&new);
        }
    }
    for wrong in ["", "M", "much", "1X", "-1", "99999999999T"] {
        let wrong = format!("--memory-limit={wrong}");
        assert!(twindex(&[&wrong, &"check", &path]).expect(2).err.contains("512M"), "{wrong}");
    }
}

#[test]
fn info_and_check_know_caches() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    let options = CacheOptions::max_entries(100).and_capacity(1 << 20).ttl(Duration::from_secs(90));
    let cache = Cache::new(options.label(encode_codecs("str", "json"))).unwrap();
    cache.upsert("/", "1").unwrap();
    twindex_durable::save_cache(&cache, &path).unwrap();
    let told = twindex(&[&"info", &path]).expect(0).out;
    for line in
        ["version 1, a cache", "pairs         1", "1.00 MiB", "100 pairs", "90s", "str keys, json values"]
    {
        assert!(told.contains(line), "{told}");
    }
    assert!(twindex(&[&"check", &path]).expect(0).out.contains("its 1 pairs are whole"));
    let new = folder.path().join("new.twx");
    for refused in [twindex(&[&"export", &path]), twindex(&[&"recover", &path, &new])] {
        assert!(refused.expect(3).err.contains("it holds a cache, not a store"));
    }
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    for command in ["info", "check"] {
        assert!(twindex(&[&command, &path]).expect(3).err.contains("damaged at byte"));
    }
}

/// This process writes to the file while others run the tool.
#[test]
fn export_of_a_file_in_use_is_of_one_moment() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Options::new().compact_by_hand(true).open(&path).unwrap();
    let tables = ["a", "b"]
        .map(|name| store.table_with(name, TableOptions::new(IndexKind::Hash).values("int")).unwrap());
    let ended = AtomicBool::new(false);
    let sums = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0_u32.. {
                let [from, to] = [number, number / 7].map(|number| (number % 50).to_string());
                let moved = store.transaction(|tx| {
                    tx.increment(&tables[0], &from, -7)?;
                    tx.increment(&tables[1], &to, 7)
                });
                moved.unwrap();
                if number % 100 == 0 {
                    store.compact().unwrap();
                }
                if ended.load(Relaxed) {
                    return;
                }
            }
        });
        let sum = |_| {
            let exported = twindex(&[&"export", &path]).expect(0).out;
            let lines = exported.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines.filter_map(|line| line["value"].as_i64()).sum::<i64>()
        };
        let sums: Vec<i64> = (0..5).map(sum).collect();
        ended.store(true, Relaxed);
        sums
    });
    assert_eq!(sums, [0; 5]);
}

#[test]
fn commands_of_the_page_run_as_written() {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path().join("app.twx")).unwrap();
    store.table("users", IndexKind::Hash).unwrap().insert("ada", "1815").unwrap();
    store.table("log", IndexKind::Sorted).unwrap().insert("2026-11-01", "a").unwrap();
    store.close().unwrap();
    let page = include_str!("../../docs/cli.md");
    let commands: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("twindex ")).collect();
    assert_eq!(commands.len(), 6);
    for line in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_twindex"));
        command.args(line.split(' ')).current_dir(&folder).stdin(Stdio::null());
        ran(&command.output().unwrap()).expect(0);
    }
}
