//! Keeps events by their time and answers when what happened: a log that is asked by the start of a date.
//!
//! `cargo run -p twindex-examples --bin timeline -- FILE 2026-11` shows the events of that November, the
//! newest first. Every line of the file is a time, a space and a text: `2026-11-02T09:30 started`. They
//! may be in any order, and several events may have the same time.

use std::error::Error;

use twindex::{Index, Store, Table};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: timeline FILE [START OF A TIME]")?;
    let start = args.next().unwrap_or_default();
    let timeline = Timeline::read(&std::fs::read_to_string(path)?)?;
    for (time, text) in timeline.newest_first(&start) {
        println!("{time}  {text}");
    }
    Ok(())
}

struct Timeline {
    events: Table,
}

impl Timeline {
    fn read(lines: &str) -> Result<Self, Box<dyn Error>> {
        let timeline = Self { events: Store::new().table("events", Index::Sorted)? };
        for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let (time, text) =
                line.split_once(' ').ok_or_else(|| format!("line {}: no text after the time", number + 1))?;
            timeline.add(time, number as u64, text)?;
        }
        Ok(timeline)
    }

    /// The key is the time and then a number, big end first: events of the same time stay apart, and in
    /// the order of their numbers.
    fn add(&self, time: &str, number: u64, text: &str) -> twindex::Result<bool> {
        let key = [time.as_bytes(), b" ", &number.to_be_bytes()].concat();
        self.events.insert(key, text)
    }

    fn newest_first(&self, start: &str) -> impl Iterator<Item = (String, String)> {
        self.events.prefix(start).rev().map(|(key, text)| {
            let time = &key[..key.len() - size_of::<u64>() - 1];
            (String::from_utf8_lossy(time).into_owned(), String::from_utf8_lossy(&text).into_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "2026-11-02T09:30 started\n2026-10-31T23:59 stopped\n\n2026-11-02T09:30 ready\n";

    fn texts(start: &str) -> Vec<String> {
        Timeline::read(LINES).unwrap().newest_first(start).map(|(_, text)| text).collect()
    }

    #[test]
    fn the_start_of_a_time_chooses_the_events() {
        assert_eq!(texts(""), ["ready", "started", "stopped"]);
        assert_eq!(texts("2026-11"), ["ready", "started"]);
        assert_eq!(texts("2026-10-31T23:59"), ["stopped"]);
        assert!(texts("2027").is_empty());
    }

    #[test]
    fn a_line_without_a_text_is_named() {
        let error = Timeline::read("2026-11-02T09:30 started\n2026-11-03").err().unwrap().to_string();
        assert!(error.starts_with("line 2:"), "{error}");
    }
}
