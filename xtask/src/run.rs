//! Runs commands, keeps what they print, and ends those that hang.

use std::collections::BTreeSet;
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
    // Code that is compiled only once compiles faster without notes for the next time.
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    // cargo's variables about this package would make the builds that we start look changed.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// When a command is killed, with all that it started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Killed after so long without progress: no output, and next to no processor time of all its processes together.
    pub(crate) still: Duration,
    /// Killed after so long in any case.
    pub(crate) wall: Duration,
}

impl Limits {
    /// A command that waits for a slow machine or network still does something every few minutes.
    pub(crate) const STILL: Duration = Duration::from_mins(6);
}

/// Servers that idle use a little processor time. Less than a twentieth of one core is no progress.
const IDLE: u32 = 20;

/// How often progress is looked for while a command may be still.
const LOOKS: u32 = 36;

/// How long the output of a command that has ended may be held open by processes that it left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(20);

/// How long processes have to say where they are, after the signal that has Python print its stacks.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The output of the commands of a step.
#[derive(Default)]
pub(crate) struct Log {
    text: String,
    limits: Option<Limits>,
}

impl Log {
    /// A log whose commands have limits, or none.
    pub(crate) fn within(limits: Option<Limits>) -> Self {
        Self { text: String::new(), limits }
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

    /// As [`run`](Self::run): returns its standard output.
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
        if self.limits.is_some() {
            lead_group(command);
        }
        let mut child = command.spawn().with_context(|| cannot_start(command))?;
        // The command holds ends of the pipe too: the reader would wait for them forever.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let printed = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&printed);
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                locked(&all).extend_from_slice(&piece[..read]);
            }
        });
        let ended = wait(&mut child, &reader, &printed, self.limits);
        self.note(&String::from_utf8_lossy(&locked(&printed)));
        match ended? {
            End::Exited(status) if status.success() => Ok(()),
            End::Exited(status) => bail!("{} failed: {status}", shown(command)),
            End::Killed(why, running) => bail!("{} {why}; running were:\n{running}", shown(command)),
        }
    }
}

/// How a command ended.
enum End {
    Exited(ExitStatus),
    /// Why, and the processes that ran.
    Killed(String, String),
}

/// Waits until a command has ended and nothing holds its output any more.
fn wait(
    child: &mut Child,
    reader: &JoinHandle<()>,
    printed: &Mutex<Vec<u8>>,
    limits: Option<Limits>,
) -> Result<End> {
    let started = Instant::now();
    let mut exited: Option<(ExitStatus, Instant)> = None;
    let mut progress = Progress::default();
    let mut next_look = Duration::ZERO;
    loop {
        // The output is complete once it is closed, which may be before the command has ended or after.
        let is_closed = reader.is_finished();
        if exited.is_none() {
            exited = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        let since = started.elapsed();
        let why = match (exited, limits) {
            (Some((status, _)), _) if is_closed => return Ok(End::Exited(status)),
            (Some((_, at)), Some(_)) if at.elapsed() > LEFT_BEHIND => {
                Some("ended, but processes that it started still hold its output".to_owned())
            }
            (_, Some(limits)) if since > limits.wall => {
                Some(format!("did not end within {} minutes", limits.wall.as_secs() / 60))
            }
            (None, Some(limits)) if since > next_look => {
                next_look = since + limits.still / LOOKS;
                let cpu = processes(child.id()).map(|found| found.iter().map(|one| one.cpu).sum());
                progress.is_still(since, cpu, &locked(printed), limits.still).then(|| {
                    format!(
                        "hung: for {} minutes it printed nothing and did next to nothing",
                        limits.still.as_secs() / 60
                    )
                })
            }
            _ => None,
        };
        let Some(why) = why else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let found = processes(child.id()).unwrap_or_default();
        let running = found.iter().map(|one| one.line.as_str()).collect::<Vec<_>>().join("\n");
        signal("-ABRT", child.id(), &found);
        let asked = Instant::now();
        while asked.elapsed() < LAST_WORDS && !reader.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal("-KILL", child.id(), &found);
        child.kill().ok();
        child.wait()?;
        return Ok(End::Killed(why, running));
    }
}

/// What a command had done when it last made progress.
#[derive(Default)]
struct Progress {
    at: Duration,
    cpu: Duration,
    printed: usize,
}

impl Progress {
    /// Whether there was no progress for `limit`. Where nothing is known of processor time, nothing is called still.
    fn is_still(&mut self, at: Duration, cpu: Option<Duration>, printed: &[u8], limit: Duration) -> bool {
        let Some(cpu) = cpu else { return false };
        // The time of processes that ended is no longer in the sum.
        let worked = cpu.checked_sub(self.cpu).is_none_or(|more| more >= limit / IDLE);
        if worked || printed.len() != self.printed || waits_for_cargo(printed) {
            *self = Self { at, cpu, printed: printed.len() };
        }
        at.saturating_sub(self.at) >= limit
    }
}

/// Whether cargo waits for another command that builds in the same folder. Only that one can hang.
fn waits_for_cargo(printed: &[u8]) -> bool {
    let end = String::from_utf8_lossy(&printed[printed.len().saturating_sub(200)..]).into_owned();
    end.lines().next_back().is_some_and(|line| line.contains("Blocking waiting for file lock"))
}

/// A process of a command.
struct Process {
    id: u32,
    cpu: Duration,
    line: String,
}

/// The processes of a command: its group, and all that descend from it.
fn processes_of(leader: u32, listed: &str) -> Vec<Process> {
    let mut rows: Vec<(u32, u32, u32, Process)> = Vec::new();
    for line in listed.lines() {
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse::<u32>().ok();
        let (Some(id), Some(parent), Some(group)) = (number(), number(), number()) else { continue };
        let cpu = words.next().map_or(Duration::ZERO, seconds);
        rows.push((id, parent, group, Process { id, cpu, line: line.trim().to_owned() }));
    }
    let mut found = BTreeSet::from([leader]);
    while let Some((id, ..)) = rows
        .iter()
        .find(|(id, parent, group, _)| !found.contains(id) && (found.contains(parent) || *group == leader))
    {
        found.insert(*id);
    }
    rows.into_iter().filter(|(id, ..)| found.contains(id)).map(|(.., process)| process).collect()
}

/// A time as `ps` prints it: `[[days-]hours:]minutes:seconds`.
fn seconds(text: &str) -> Duration {
    let (days, time) = text.split_once('-').unwrap_or(("0", text));
    let parse = |number: &str| number.parse::<f64>().unwrap_or(0.0);
    let of_day = time.split(':').fold(0.0, |sum, part| sum * 60.0 + parse(part));
    Duration::from_secs_f64(parse(days) * 86_400.0 + of_day)
}

/// Puts what the command starts into a group of its own, where systems have groups.
/// Not on a terminal: Ctrl-C there ends one group, and must end all.
fn lead_group(command: &mut Command) {
    #[cfg(unix)]
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }
}

/// The processes of a command; none where `ps` does not tell, as on Windows.
fn processes(leader: u32) -> Option<Vec<Process>> {
    let columns = "pid=,ppid=,pgid=,time=,etime=,args=";
    let listed = Command::new("ps").args(["-A", "-o", columns]).stderr(Stdio::null()).output().ok()?;
    listed.status.success().then(|| processes_of(leader, &String::from_utf8_lossy(&listed.stdout)))
}

fn signal(signal: &str, leader: u32, processes: &[Process]) {
    // The group too, for processes that were started after the list was made. Where there is no such group, nothing happens.
    let ids = processes.iter().map(|process| process.id.to_string()).chain([format!("-{leader}")]);
    let _ended = Command::new("kill").arg(signal).arg("--").args(ids).stderr(Stdio::null()).status();
}

/// A thread that panics poisons nothing: its panic fails the whole run.
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
        let is_usual = ["CARGO_INCREMENTAL", "NO_COLOR", "PATH"].iter().any(|usual| name == *usual);
        if let (Some(value), false) = (value, is_usual) {
            let _ = write!(line, " {}='{}'", name.to_string_lossy(), value.to_string_lossy());
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

    const HOUR: Duration = Duration::from_hours(1);

    fn shell(script: &str) -> Command {
        let mut command = command("sh", Path::new("."));
        command.args(["-c", script]);
        command
    }

    #[test]
    fn hung_and_late_commands_are_killed_with_all_that_they_started() {
        let short = Duration::from_millis(200);
        for (still, wall, mention) in [(short, HOUR, "hung"), (HOUR, short, "did not end within")] {
            let mut log = Log::within(Some(Limits { still, wall }));
            let error = log.run(&mut shell("echo begun; sleep 1000 & sleep 1000")).unwrap_err().to_string();
            assert!(error.contains(mention) && error.ends_with("sleep 1000"), "{error}");
            assert!(log.text().contains("begun"));
        }
    }

    #[test]
    fn all_output_of_a_command_is_kept() {
        let mut log = Log::within(Some(Limits { still: HOUR, wall: HOUR }));
        log.run(&mut shell("seq 1 100000; exit 0")).unwrap();
        assert!(log.text().contains("\n1\n") && log.text().contains("\n100000\n"));
        let error = log.run(&mut shell("exit 3")).unwrap_err().to_string();
        assert!(error.contains('3'), "{error}");
    }

    #[test]
    fn only_a_command_without_output_and_processor_time_hangs() {
        let minute = Duration::from_mins(1);
        let looks = |each: fn(u32, Duration) -> (Duration, Vec<u8>)| {
            let mut progress = Progress::default();
            (1..30u32).find(|&n| {
                let (cpu, printed) = each(n, minute);
                progress.is_still(minute * n, Some(cpu), &printed, 6 * minute)
            })
        };
        assert_eq!(looks(|_, _| (Duration::ZERO, Vec::new())), Some(6), "asleep");
        assert_eq!(looks(|n, _| (Duration::from_secs(2) * n, Vec::new())), Some(6), "idle servers");
        assert_eq!(looks(|n, _| (Duration::from_secs(6) * n, Vec::new())), None, "starved by others");
        assert_eq!(looks(|n, _| (Duration::ZERO, vec![b'.'; n as usize])), None, "prints");
        assert_eq!(looks(|n, minute| (minute * (30 - n), Vec::new())), None, "its processes end");
        let blocked =
            |_, _| (Duration::ZERO, b"    Blocking waiting for file lock on build directory\n".to_vec());
        assert_eq!(looks(blocked), None, "waits for another build");
        assert!(!Progress::default().is_still(HOUR, None, b"", minute), "nothing is known");
    }

    #[test]
    fn processes_of_a_command_are_its_group_and_its_descendants() {
        let listed = "  1   0   1 00:00:09 init\n 10   1  10 01:00:01 cargo\n 11  10  10 00:02 rustc\n \
                      12  11  12 1-00:00:00 own group\n 13   1  10 0:00.50 orphan\n 14 1 14 00:05 other\n";
        let found = processes_of(10, listed);
        let ids: Vec<u32> = found.iter().map(|process| process.id).collect();
        assert_eq!(ids, [10, 11, 12, 13]);
        let cpu: Duration = found.iter().map(|process| process.cpu).sum();
        assert_eq!(cpu, Duration::from_millis(1000 * (3601 + 2 + 86_400) + 500));
    }
}
