//! If a tool is missing, one line says how to install it, and nothing is started.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// The tools of a machine, as scripts that do what the test needs of them.
struct Machine {
    path: tempfile::TempDir,
}

impl Machine {
    fn whole() -> Self {
        let machine = Self { path: tempfile::tempdir().expect("a folder") };
        machine.tool("cc", "exit 0");
        machine.tool("git", "exit 0");
        machine.tool("python3", "echo Python 3.11.2");
        machine.tool("node", "echo v20.19.0");
        machine.tool("npm", "echo 10.0.0");
        machine.tool("redis-server", "echo Redis server v=7.0.15");
        machine.tool("chromium", "echo Chromium 150");
        machine
    }

    fn tool(&self, name: &str, script: &str) {
        let path = self.path.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn without(&self, name: &str) {
        fs::remove_file(self.path.path().join(name)).expect("a script to remove");
    }

    /// What a command prints and its exit code, with these tools and no others.
    fn xtask(&self, arguments: &[&str]) -> (String, Option<i32>) {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(arguments)
            .env("PATH", self.path.path())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .output()
            .expect("the command");
        let printed = [output.stdout, output.stderr].concat();
        (String::from_utf8(printed).expect("text"), output.status.code())
    }
}

/// The tool, what it does instead where it is there, and the commands that stop with the line.
type Case = (&'static str, Option<&'static str>, &'static [&'static [&'static str]], &'static str);

#[test]
fn missing_old_or_crippled_tool_is_named_with_the_line_that_installs_it() {
    let cases: [Case; 8] = [
        (
            "cc",
            None,
            &[&["demo"], &["test", "engine"]],
            "A C compiler is missing: apt-get install build-essential",
        ),
        ("python3", None, &[&["demo"]], "Python is missing: apt-get install python3 python3-venv"),
        ("npm", None, &[&["demo"], &["test", "wasm"]], "npm is missing: apt-get install npm"),
        ("redis-server", None, &[&["cluster"]], "Redis is missing: apt-get install redis-server"),
        ("git", None, &[&["test", "tree"]], "Git is missing: apt-get install git"),
        (
            "python3",
            Some("echo Python 3.10.9"),
            &[&["test", "python"]],
            "Python 3.11 or later is needed, this is Python 3.10.9: apt-get install python3 python3-venv",
        ),
        (
            "python3",
            Some(r#"[ "$1" = -c ] && exit 1; echo Python 3.11.2"#),
            &[&["test", "python"]],
            "Python's venv module is missing: apt-get install python3-venv",
        ),
        (
            "node",
            Some("echo v18.19.1"),
            &[&["test", "node"]],
            "Node 20.19 or later is needed, this is v18.19.1: apt-get install nodejs npm (Debian 13 or later), or see nodejs.org",
        ),
    ];
    for (tool, script, commands, line) in cases {
        let machine = Machine::whole();
        script.map_or_else(|| machine.without(tool), |script| machine.tool(tool, script));
        for arguments in commands {
            let (printed, code) = machine.xtask(arguments);
            assert_eq!((printed.as_str(), code), (format!("{line}\n").as_str(), Some(1)));
        }
    }
}

#[test]
fn room_needs_only_its_own_tools() {
    let machine = Machine::whole();
    for name in ["python3", "node", "npm", "git", "redis-server", "chromium"] {
        machine.without(name);
    }
    // The tools pass, and the next program is cargo.
    let (printed, code) = machine.xtask(&["test", "engine"]);
    assert!(printed.contains("starting cargo"), "{printed}");
    assert_eq!(code, Some(1));
}
