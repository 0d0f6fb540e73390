//! What earlier runs did, in a folder of the build directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use super::parts::{Part, Round};

/// The time of every part, and a file for each failure.
pub(super) struct Record {
    folder: PathBuf,
    /// Of all runs.
    all: BTreeMap<String, Spent>,
    /// Of this one.
    now: BTreeMap<String, Spent>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spent {
    rounds: u64,
    seconds: f64,
}

impl Record {
    /// The record in `folder`, which need not be there yet.
    pub(super) fn open(folder: PathBuf) -> Result<Self> {
        let failures = folder.join("failures");
        std::fs::create_dir_all(&failures).with_context(|| format!("making {}", failures.display()))?;
        let path = folder.join("spent.json");
        let all = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        Ok(Self { folder, all, now: BTreeMap::new() })
    }

    /// The part that has had the least time in this run, and of several such the least in all runs.
    pub(super) fn next<'p>(&self, parts: impl Iterator<Item = &'p Part>) -> Option<&'p Part> {
        let seconds = |spent: &BTreeMap<String, Spent>, part: &Part| of(spent, part).seconds;
        parts.min_by(|one, other| {
            seconds(&self.now, one)
                .total_cmp(&seconds(&self.now, other))
                .then(seconds(&self.all, one).total_cmp(&seconds(&self.all, other)))
        })
    }

    /// How many rounds of it have been run.
    pub(super) fn rounds(&self, part: &Part) -> u64 {
        of(&self.all, part).rounds
    }

    /// Counts a round, and writes it down, so that a run that is interrupted is gone on with.
    pub(super) fn add(&mut self, part: &Part, time: Duration) -> Result<()> {
        for spent in [&mut self.all, &mut self.now] {
            let spent = spent.entry(part.name.into()).or_default();
            spent.rounds += 1;
            spent.seconds += time.as_secs_f64();
        }
        let (path, half) = (self.folder.join("spent.json"), self.folder.join("half-written"));
        std::fs::write(&half, serde_json::to_string_pretty(&self.all)?)
            .and_then(|()| std::fs::rename(&half, &path))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Keeps the command that failed, with its seed, and what it printed.
    pub(super) fn keep(&self, part: &Part, round: Round, again: &str, printed: &str) -> Result<PathBuf> {
        let name = part.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let path = self.folder.join("failures").join(format!("{name}-{}.txt", round.seed));
        std::fs::write(&path, format!("To run it again: {again}\n\n{printed}"))
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// The failures of all runs that nobody has deleted.
    pub(super) fn failures(&self) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join("failures");
        let found = std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut paths = found.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    /// How far each part has come, in this run and in all.
    pub(super) fn table(&self, parts: &[&Part]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
            "Part",
            "Rounds",
            "Time",
            "Rounds of all runs",
            "Time of all runs",
        ]);
        for part in parts {
            let columns = [&self.now, &self.all].map(|spent| of(spent, part));
            let cells = columns.iter().flat_map(|Spent { rounds, seconds }| {
                [rounds.to_string(), format!("{:.1} min", seconds / 60.0)]
            });
            table.add_row(std::iter::once(part.name.to_owned()).chain(cells));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

fn of(spent: &BTreeMap<String, Spent>, part: &Part) -> Spent {
    spent.get(part.name).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parts::PARTS;
    use super::*;

    fn open(folder: &Path) -> Record {
        Record::open(folder.join("soak")).unwrap()
    }

    #[test]
    fn a_run_shares_its_time_out_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let parts = &PARTS[..3];
        let next = |record: &Record| record.next(parts.iter()).unwrap().name;
        let mut record = open(folder.path());
        assert_eq!(next(&record), parts[0].name);
        record.add(&parts[0], Duration::from_secs(9)).unwrap();
        assert_eq!(next(&record), parts[1].name);
        record.add(&parts[1], Duration::from_secs(5)).unwrap();
        let mut record = open(folder.path());
        assert_eq!(next(&record), parts[2].name, "the one that was not reached");
        record.add(&parts[2], Duration::from_secs(20)).unwrap();
        assert_eq!(next(&record), parts[1].name, "the one with less time before");
        record.add(&parts[1], Duration::from_secs(30)).unwrap();
        assert_eq!(next(&record), parts[0].name, "each has its share of a run");
        assert_eq!(record.rounds(&parts[1]), 2);
    }

    #[test]
    fn a_failure_is_kept_with_how_to_run_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let record = open(folder.path());
        let round = Round { number: 4, seed: 77 };
        let kept = record.keep(&PARTS[0], round, "(cd x && SEED=77 cargo test)", "it broke\n").unwrap();
        assert_eq!(open(folder.path()).failures().unwrap(), std::slice::from_ref(&kept));
        let text = std::fs::read_to_string(kept).unwrap();
        assert_eq!(text, "To run it again: (cd x && SEED=77 cargo test)\n\nit broke\n");
    }

    #[test]
    fn parts_have_names_of_their_own() {
        let mut names: Vec<_> = PARTS.iter().map(|part| part.name).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    }
}
