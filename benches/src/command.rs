//! The systems of a program that measures, and its command line.

use std::process::ExitCode;

use clap::Parser;

use crate::job::Job;
use crate::keys::keys;
use crate::options::{Clock, Fallible, Index, Options};
use crate::peer::{Peer, SortedSession};
use crate::record::Record;
use crate::{append, fill, small, ycsb};

type Run = fn(&Job<'_>) -> Fallible<Vec<Record>>;

/// A system with the works that it does.
pub struct System {
    pub name: &'static str,
    pub index: Option<Index>,
    pub threads: bool,
    remote: bool,
    pub works: &'static [(&'static str, Run)],
}

impl System {
    /// A hash table.
    pub const fn hash<P: Peer>() -> Self {
        Self {
            name: P::NAME,
            index: Some(Index::Hash),
            threads: P::THREADS,
            remote: P::REMOTE,
            works: const {
                &[
                    ("fill", fill::hash::<P> as Run),
                    ("churn", small::churn::<P>),
                    ("latency", small::latency::<P>),
                    ("small", small::tables::<P>),
                    ("ycsb", ycsb::point::<P>),
                ]
            },
        }
    }

    /// A table that keeps its keys in order.
    pub const fn sorted<P: Peer>() -> Self
    where
        for<'p> P::Session<'p>: SortedSession,
    {
        Self {
            index: Some(Index::Sorted),
            works: const {
                &[
                    ("fill", fill::sorted::<P> as Run),
                    ("churn", small::churn::<P>),
                    ("latency", small::latency::<P>),
                    ("small", small::tables::<P>),
                    ("ycsb", ycsb::scans::<P>),
                    ("append", append::run::<P>),
                ]
            },
            ..Self::hash::<P>()
        }
    }

    /// A list that is only appended to.
    pub const fn list<P: Peer>() -> Self {
        Self {
            index: Some(Index::Sorted),
            works: const { &[("append", append::run::<P> as Run)] },
            ..Self::hash::<P>()
        }
    }

    /// The same under another name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// A system with works of its own.
    pub const fn special(name: &'static str, works: &'static [(&'static str, Run)]) -> Self {
        Self { name, index: None, threads: true, remote: false, works }
    }

    /// Does the work that the options name.
    pub fn run(&self, options: &Options) -> Fallible<Vec<Record>> {
        let mut options = options.clone();
        if self.remote {
            options.pairs = options.remote_pairs.unwrap_or(options.pairs / 20).max(1);
        }
        if options.threads > 1 && (!self.threads || options.clock == Clock::Processor) {
            return Err(format!("{}: --threads {} is not possible", self.name, options.threads).into());
        }
        let work = self.works.iter().find(|(name, _)| *name == options.work);
        let (_, run) = work.ok_or_else(|| format!("{} does no work {}", self.name, options.work))?;
        run(&Job { options: &options, system: self.name })
    }
}

/// A whole program: reads the command line, does the work and prints the figures.
pub fn main(systems: &[System]) -> ExitCode {
    match run(systems, &Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(systems: &[System], options: &Options) -> Fallible {
    if options.small_pages {
        forbid_huge_pages()?;
    }
    match options.work.as_str() {
        "keys" => {
            let path = options.file.as_ref().ok_or("keys are written to --file FILE")?;
            let keys = keys(options, 0)?;
            let mut lines = Vec::new();
            for (_, key) in keys.pairs(0..keys.len()) {
                lines.extend_from_slice(key);
                lines.push(b'\n');
            }
            std::fs::write(path, lines).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        "list" => {
            for System { name, index, works, .. } in systems {
                let works: Vec<_> = works.iter().map(|work| work.0).collect();
                let index = index.map_or(String::new(), |index| format!("{index:?} ").to_lowercase());
                println!("{index}{name}: {}", works.join(" "));
            }
        }
        work => {
            let is_meant = |system: &&System| {
                let does_it = system.works.iter().any(|(name, _)| *name == work);
                system.name == options.system
                    && system.index.is_none_or(|index| index == options.index)
                    && does_it
            };
            let system = systems.iter().find(is_meant).ok_or_else(|| {
                let index = format!("{:?}", options.index).to_lowercase();
                format!(
                    "there is no {index} system {:?} for the work {work:?}; `list` shows them",
                    options.system
                )
            })?;
            for record in system.run(options)? {
                println!("{}", serde_json::to_string(&record)?);
            }
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn forbid_huge_pages() -> Fallible {
    // SAFETY: this sets a flag of the process and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error().into())
}

#[cfg(not(target_os = "linux"))]
fn forbid_huge_pages() -> Fallible {
    Err("--small-pages: only Linux can do that".into())
}
