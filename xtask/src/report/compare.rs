//! What got faster or slower since an older report.

use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use super::outcome::{Figure, Outcome};

/// This report beside an older one.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Comparison {
    /// Of the older report.
    #[serde(flatten)]
    origin: Origin,
    changes: Vec<Change>,
}

/// When, of what and where a report was made.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Origin {
    /// Seconds since 1970.
    pub(crate) made_at: u64,
    pub(crate) commit: String,
    pub(crate) machine: String,
}

/// One figure then and now.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Change {
    /// What was measured.
    outcome: Outcome,
    figure: String,
    then: Figure,
    now: Figure,
    /// How many times as good as then: over 1 is better, whatever the unit.
    better: f64,
    /// The same of the other systems at the same work, in the middle: what the machine and its day did.
    others: Option<f64>,
    verdict: Verdict,
}

/// Whether a difference is more than what the rounds differ by themselves.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Better,
    Worse,
    /// The ranges of the rounds overlap.
    Noise,
    /// There is one round of one of the two, so nothing says how much rounds differ.
    Unknown,
}

impl Verdict {
    fn of(then: &Figure, now: &Figure, better: f64) -> Self {
        if then.rounds < 2 || now.rounds < 2 {
            return Self::Unknown;
        }
        if now.least <= then.greatest && then.least <= now.greatest {
            return Self::Noise;
        }
        if better > 1.0 { Self::Better } else { Self::Worse }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Noise => "noise",
            Self::Unknown => "one round",
        }
    }
}

impl Comparison {
    /// All figures that both reports have. `origin` is the older one's.
    pub(crate) fn of(origin: Origin, older: &[Outcome], newer: &[Outcome]) -> Self {
        let mut changes = Vec::new();
        for outcome in newer {
            let Some(before) = older.iter().find(|before| before.is_of(outcome)) else { continue };
            for (name, now) in &outcome.figures {
                let Some(then) = before.figures.get(name) else { continue };
                let better = better(name, then, now);
                changes.push(Change {
                    outcome: Outcome { figures: [].into(), ..outcome.clone() },
                    figure: name.clone(),
                    then: *then,
                    now: *now,
                    better,
                    others: None,
                    verdict: Verdict::of(then, now, better),
                });
            }
        }
        let others: Vec<Option<f64>> =
            changes.iter().map(|change| middle_of_others(change, &changes)).collect();
        for (change, others) in changes.iter_mut().zip(others) {
            change.others = others;
        }
        Self { origin, changes }
    }

    /// What changed of Twindex itself, by more than noise.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["Test", "Host", "With", "Figure", "Then", "Now", "Times as good", "Others", ""]);
        for column in [4, 5, 6, 7] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let shown = |change: &&Change| change.outcome.system == "twindex" && change.verdict != Verdict::Noise;
        for change in self.changes.iter().filter(shown) {
            let Change { outcome, figure, then, now, better, others, verdict } = change;
            let params = outcome.params.iter().map(|(name, value)| format!("{name} {value}"));
            table.add_row([
                outcome.test.clone(),
                outcome.host.clone(),
                params.collect::<Vec<_>>().join(", "),
                figure.clone(),
                format!("{:.4}", then.median),
                format!("{:.4}", now.median),
                format!("{better:.2}"),
                others.map_or_else(String::new, |others| format!("{others:.2}")),
                verdict.word().into(),
            ]);
        }
        table
    }
}

/// How many times as good: more is better of rates and of hits.
fn better(name: &str, then: &Figure, now: &Figure) -> f64 {
    let (then, now) = (then.median.max(f64::MIN_POSITIVE), now.median.max(f64::MIN_POSITIVE));
    if ["_per_second", "_percent"].iter().any(|end| name.ends_with(end)) { now / then } else { then / now }
}

fn middle_of_others(change: &Change, all: &[Change]) -> Option<f64> {
    let is_other = |other: &&Change| {
        other.figure == change.figure
            && other.outcome.is_same_work(&change.outcome)
            && other.outcome.system != change.outcome.system
    };
    let mut ratios: Vec<f64> = all.iter().filter(is_other).map(|other| other.better).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use twindex_benches::{Reach, Record};

    use super::*;
    use crate::report::outcome::outcomes;

    fn rounds(system: &str, figure: &str, values: &[f64]) -> Vec<Record> {
        let record = || Record::new("strings", system, Reach::Process, 10).with("threads", 1);
        values.iter().map(|&value| record().figure(figure, value)).collect()
    }

    fn change(figure: &str, then: &[f64], now: &[f64]) -> Change {
        let report = |values: &[f64], others: f64| {
            let mut records = rounds("twindex", figure, values);
            records.extend(rounds("other", figure, &[others]));
            outcomes(records)
        };
        let origin = Origin { made_at: 0, commit: "abc".into(), machine: "a machine".into() };
        let comparison = Comparison::of(origin, &report(then, 10.0), &report(now, 20.0));
        assert_eq!(comparison.changes.len(), 2);
        comparison.changes[0].clone()
    }

    #[test]
    fn a_rate_that_rose_beyond_noise_is_better() {
        let change = change("insert_per_second", &[1.0, 1.2], &[2.0, 2.4]);
        assert_eq!(change.verdict, Verdict::Better);
        assert!((change.better - 2.0).abs() < 1e-9);
        assert_eq!(change.others, Some(2.0));
    }

    #[test]
    fn a_time_that_rose_beyond_noise_is_worse() {
        let change = change("set_seconds", &[1.0, 1.2], &[2.0, 2.4]);
        assert_eq!(change.verdict, Verdict::Worse);
        assert!((change.better - 0.5).abs() < 1e-9);
        assert_eq!(change.others, Some(0.5));
    }

    #[test]
    fn ranges_that_overlap_are_noise_and_single_rounds_say_nothing() {
        assert_eq!(change("insert_per_second", &[1.0, 2.1], &[2.0, 2.4]).verdict, Verdict::Noise);
        assert_eq!(change("insert_per_second", &[1.0], &[2.0, 2.4]).verdict, Verdict::Unknown);
    }
}
