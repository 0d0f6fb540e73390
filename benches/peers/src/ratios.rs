//! The tables: what every system reached, and the ratio of Twindex to it.
//!
//! A ratio is formed within a round, so that both figures come from about the same minute; shown is the
//! median of the rounds, for the best peer with the least and the greatest. Over 1 means that Twindex is
//! better, whatever the unit.

use comfy_table::{CellAlignment, Table, presets};

use crate::catalogue::{Half, JOBS, SYSTEMS, Unit};
use crate::results::Record;

const OURS: &str = "twindex";

/// The rows of the tables: the hash half and the sorted half, where there is one.
pub(crate) fn tables(records: &[Record]) -> Vec<Table> {
    let lines = lines(records);
    [Half::Hash, Half::Sorted]
        .into_iter()
        .map(|half| lines.iter().filter(|line| line.half == Some(half)).collect::<Vec<_>>())
        .filter(|lines| !lines.is_empty())
        .map(|lines| table(&lines))
        .collect()
}

/// All figures of one row with one number of pairs and of threads.
struct Line<'r> {
    half: Option<Half>,
    first: &'r Record,
    records: Vec<&'r Record>,
}

fn lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for record in records {
        let same = |line: &&mut Line<'_>| {
            let first = line.first;
            (&first.row, first.pairs, first.threads) == (&record.row, record.pairs, record.threads)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.records.push(record),
            None => lines.push(Line {
                half: JOBS.iter().find(|job| job.rows.contains(&record.row.as_str())).map(|job| job.half),
                first: record,
                records: vec![record],
            }),
        }
    }
    lines
}

/// The ratios of the rounds to one peer.
struct Ratio {
    median: f64,
    least: f64,
    greatest: f64,
}

impl<'r> Line<'r> {
    fn values<'l>(&'l self, system: &'l str) -> impl Iterator<Item = &'r Record> + 'l {
        self.records.iter().copied().filter(move |record| record.system == system)
    }

    fn median(&self, system: &str) -> Option<f64> {
        median(self.values(system).map(|record| record.value).collect())
    }

    fn ratio(&self, peer: &str) -> Option<Ratio> {
        let mut ratios: Vec<f64> = self
            .values(OURS)
            .filter_map(|ours| {
                let theirs = self.values(peer).find(|theirs| theirs.round == ours.round)?;
                Some(advantage(self.first.unit, ours.value, theirs.value))
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        Some(Ratio { least: *ratios.first()?, greatest: *ratios.last()?, median: median(ratios)? })
    }

    /// The peer with the best median.
    fn best(&self, peers: &[&'static str]) -> Option<&'static str> {
        let medians = peers.iter().filter_map(|&peer| Some((peer, self.median(peer)?)));
        medians
            .reduce(|a, b| if advantage(self.first.unit, b.1, a.1) > 1.0 { b } else { a })
            .map(|best| best.0)
    }
}

/// How many times better `ours` is.
fn advantage(unit: Unit, ours: f64, theirs: f64) -> f64 {
    match unit {
        Unit::Mops => ours / theirs,
        Unit::Bytes | Unit::Nanoseconds => theirs / ours,
    }
}

/// The middle of the numbers: the mean of the two middle ones where their count is even.
pub(crate) fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(f64::midpoint(numbers[middle], numbers[numbers.len() / 2]))
}

fn table(lines: &[&Line<'_>]) -> Table {
    let measured = |system: &str| lines.iter().any(|line| line.median(system).is_some());
    let half = lines[0].half;
    let peers: Vec<&'static str> = SYSTEMS
        .iter()
        .filter(|system| Some(system.half) == half && system.name != OURS && measured(system.name))
        .map(|system| system.name)
        .collect();
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let mut header = vec!["row", "pairs", "threads", "unit", OURS, "to the best peer"];
    header.extend(&peers);
    table.set_header(header);
    for line in lines {
        let mut cells = vec![
            line.first.row.clone(),
            line.first.pairs.to_string(),
            line.first.threads.to_string(),
            line.first.unit.name().to_owned(),
            line.median(OURS).map_or_else(String::new, show),
            line.best(&peers).map_or_else(String::new, |peer| show_best(line, peer)),
        ];
        cells.extend(peers.iter().map(|peer| show_peer(line, peer)));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn show_best(line: &Line<'_>, peer: &str) -> String {
    line.ratio(peer).map_or_else(
        || peer.to_owned(),
        |ratio| format!("{:.2}x ({:.2}..{:.2}) {peer}", ratio.median, ratio.least, ratio.greatest),
    )
}

fn show_peer(line: &Line<'_>, peer: &str) -> String {
    let value = line.median(peer).map_or_else(String::new, show);
    line.ratio(peer).map_or_else(|| value.clone(), |ratio| format!("{value} ({:.2}x)", ratio.median))
}

/// Three digits that count.
fn show(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(row: &str, system: &str, round: u16, value: f64) -> Record {
        let unit = Unit::of_row(row);
        Record { row: row.into(), pairs: 1, threads: 1, system: system.into(), round, unit, value }
    }

    #[test]
    fn ratios_are_formed_within_rounds() {
        // The machine was half as fast in the second round: the ratio does not show it.
        let records = [
            record("hash_select", OURS, 0, 20.0),
            record("hash_select", "hashbrown", 0, 10.0),
            record("hash_select", OURS, 1, 10.0),
            record("hash_select", "hashbrown", 1, 5.0),
            record("hash_select", "papaya", 1, 2.0),
        ];
        let line = &lines(&records)[0];
        let ratio = line.ratio("hashbrown").unwrap();
        for ratio in [ratio.least, ratio.median, ratio.greatest] {
            assert!((ratio - 2.0).abs() < 1e-9);
        }
        assert_eq!(line.best(&["papaya", "hashbrown"]), Some("hashbrown"));
    }

    #[test]
    fn fewer_bytes_are_better() {
        let records = [
            record("hash_bytes", OURS, 0, 50.0),
            record("hash_bytes", "hashbrown", 0, 120.0),
            record("hash_bytes", "papaya", 0, 100.0),
        ];
        let line = &lines(&records)[0];
        assert_eq!(line.best(&["hashbrown", "papaya"]), Some("papaya"));
        assert!((line.ratio("papaya").unwrap().median - 2.0).abs() < 1e-9);
    }
}
