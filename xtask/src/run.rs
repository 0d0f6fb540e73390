//! Runs commands and keeps what they print.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A command that runs in `folder`, as if it were called by hand and not by way of cargo.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).env("NO_COLOR", "1");
    // What cargo tells a program about its own package would make the builds that it starts look changed.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// What the commands of a step printed.
#[derive(Default)]
pub(crate) struct Log {
    text: String,
    /// How long one command may take; without it, as long as it likes.
    limit: Option<Duration>,
}

/// How long the output of a command that has ended is waited for. A process that it left behind may hold it open.
const LEFT_BEHIND: Duration = Duration::from_secs(20);

impl Log {
    /// A log whose commands are killed after `limit`, with all that they started.
    pub(crate) fn within(limit: Option<Duration>) -> Self {
        Self { text: String::new(), limit }
    }

    /// All of it, each command line before its output.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds a line of our own.
    pub(crate) fn note(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Runs a command to its end; an exit code other than 0 is an error.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<()> {
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        self.run_captured(command, reader)
    }

    /// As [`run`](Self::run), with its progress shown on the terminal where there is one.
    pub(crate) fn run_shown(&mut self, command: &mut Command) -> Result<()> {
        let (reader, writer) = std::io::pipe()?;
        if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            command.stdout(writer).stderr(Stdio::inherit());
        } else {
            command.stdout(writer.try_clone()?).stderr(writer);
        }
        self.run_captured(command, reader)
    }

    /// As [`run`](Self::run): what it wrote to standard output.
    pub(crate) fn read(&mut self, command: &mut Command) -> Result<String> {
        self.note(&shown(command));
        let output = command.stderr(Stdio::piped()).output().with_context(|| cannot_start(command))?;
        self.note(&String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            bail!("{} failed: {}", shown(command), output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run_captured(&mut self, command: &mut Command, mut reader: std::io::PipeReader) -> Result<()> {
        self.note(&shown(command));
        if self.limit.is_some() {
            group::lead(command);
        }
        let mut child = command.spawn().with_context(|| cannot_start(command))?;
        // The command holds ends of the pipe too: the reader would wait for them for ever.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let printed = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&printed);
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                locked(&all).extend_from_slice(&piece[..read]);
            }
        });
        let ended = wait(&mut child, &reader, self.limit);
        self.note(&String::from_utf8_lossy(&locked(&printed)));
        match ended? {
            End::Exited(status) if status.success() => Ok(()),
            End::Exited(status) => bail!("{} failed: {status}", shown(command)),
            End::Killed(running) => bail!("{} did not end in time; running were:\n{running}", shown(command)),
            End::LeftBehind(running) => {
                bail!("{} ended, but what it started still holds its output:\n{running}", shown(command))
            }
        }
    }
}

/// How a command ended.
enum End {
    Exited(ExitStatus),
    /// The limit was reached; with the processes that ran.
    Killed(String),
    /// It ended within a limit, but not what it had started.
    LeftBehind(String),
}

/// Waits until a command has ended and nothing holds its output any more.
fn wait(child: &mut Child, reader: &JoinHandle<()>, limit: Option<Duration>) -> Result<End> {
    let started = Instant::now();
    let mut exited: Option<(ExitStatus, Instant)> = None;
    loop {
        // What the command printed is whole once its output is closed, which may be before it has ended or after.
        let is_closed = reader.is_finished();
        if exited.is_none() {
            exited = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        let ended = match (exited, limit) {
            (Some((status, _)), _) if is_closed => return Ok(End::Exited(status)),
            (Some((_, at)), Some(_)) if at.elapsed() > LEFT_BEHIND => End::LeftBehind,
            (_, Some(limit)) if started.elapsed() > limit => End::Killed,
            _ => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let running = group::processes(child);
        group::kill(child);
        child.kill().ok();
        child.wait()?;
        return Ok(ended(running));
    }
}

/// A command and all that it starts.
#[cfg(unix)]
mod group {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    /// Puts what the command starts into a group of its own, which can be killed as a whole.
    /// Not on a terminal: Ctrl-C there ends one group, and must end all.
    pub(super) fn lead(command: &mut Command) {
        if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            command.process_group(0);
        }
    }

    /// The processes of the group, as `ps` shows them.
    pub(super) fn processes(child: &Child) -> String {
        let listed = Command::new("ps").args(["-e", "-o", "pgid=,pid=,ppid=,etime=,args="]).output();
        let group = child.id().to_string();
        let of_group = |line: &&str| line.split_whitespace().next() == Some(&*group);
        listed.map_or_else(
            |error| format!("ps: {error}"),
            |output| {
                let text = String::from_utf8_lossy(&output.stdout);
                text.lines().filter(of_group).collect::<Vec<_>>().join("\n")
            },
        )
    }

    pub(super) fn kill(child: &Child) {
        let group = format!("-{}", child.id());
        // Where there is no such group the command itself is killed next.
        let _ended = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }
}

/// A command; what it starts in its turn is not known.
#[cfg(not(unix))]
mod group {
    use std::process::{Child, Command};

    pub(super) fn lead(_: &mut Command) {}

    pub(super) fn processes(_: &Child) -> String {
        String::new()
    }

    pub(super) fn kill(_: &Child) {}
}

/// A thread that panics poisons nothing: what it panicked for fails the whole run.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cannot_start(command: &Command) -> String {
    format!("starting {}", command.get_program().to_string_lossy())
}

/// The command line, as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = String::from("$");
    for (name, value) in command.get_envs() {
        if let (Some(value), true) = (value, name != "NO_COLOR" && name != "PATH") {
            let _ = write!(line, " {}={}", name.to_string_lossy(), value.to_string_lossy());
        }
    }
    for word in std::iter::once(command.get_program()).chain(command.get_args()) {
        let _ = write!(line, " {}", word.to_string_lossy());
    }
    line
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = command("sh", Path::new("."));
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_with_what_it_started() {
        let mut log = Log::within(Some(Duration::from_millis(300)));
        let error = log.run(&mut shell("echo begun; sleep 1000 & sleep 1000")).unwrap_err().to_string();
        assert!(error.contains("did not end in time"), "{error}");
        assert!(log.text().contains("begun"));
    }

    #[test]
    fn all_that_a_command_prints_is_kept() {
        let mut log = Log::within(Some(Duration::from_mins(1)));
        log.run(&mut shell("seq 1 100000; exit 0")).unwrap();
        assert!(log.text().contains("\n1\n") && log.text().contains("\n100000\n"));
        let error = log.run(&mut shell("exit 3")).unwrap_err().to_string();
        assert!(error.contains('3'), "{error}");
    }
}
