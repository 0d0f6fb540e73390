//! Runs commands and keeps what they print.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

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
}

impl Log {
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
        let (mut reader, writer) = std::io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        self.run_captured(command, &mut reader)
    }

    /// As [`run`](Self::run), with its progress shown on the terminal where there is one.
    pub(crate) fn run_shown(&mut self, command: &mut Command) -> Result<()> {
        let (mut reader, writer) = std::io::pipe()?;
        if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            command.stdout(writer).stderr(Stdio::inherit());
        } else {
            command.stdout(writer.try_clone()?).stderr(writer);
        }
        self.run_captured(command, &mut reader)
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

    fn run_captured(&mut self, command: &mut Command, reader: &mut impl std::io::Read) -> Result<()> {
        self.note(&shown(command));
        let mut child = command.spawn().with_context(|| cannot_start(command))?;
        // The command holds ends of the pipe too: the reader would wait for them for ever.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut printed = Vec::new();
        reader.by_ref().read_to_end(&mut printed)?;
        self.note(&String::from_utf8_lossy(&printed));
        let status = child.wait()?;
        if !status.success() {
            bail!("{} failed: {status}", shown(command));
        }
        Ok(())
    }
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
