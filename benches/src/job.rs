//! One work to be done by one system, as the works see it.

use std::time::Duration;

use crate::keys::{KeyList, keys};
use crate::options::{Fallible, Options};
use crate::record::{Record, Unit};

/// One work to be done by one system.
pub struct Job<'o> {
    pub options: &'o Options,
    pub system: &'static str,
}

impl Job<'_> {
    pub fn threads(&self) -> usize {
        self.options.threads.into()
    }

    pub fn value_bytes(&self) -> usize {
        self.options.value_bytes as usize
    }

    /// The keys in random order, numbered so, and so many spare ones behind them.
    pub fn keys(&self, spare: u32) -> Fallible<KeyList> {
        keys(self.options, spare)
    }

    /// Whether the figure is asked for.
    pub fn wants(&self, figure: &str) -> bool {
        let figures = &self.options.figures;
        figures.is_empty() || figures.iter().any(|wanted| wanted == figure)
    }

    pub fn record(&self, figure: impl Into<String>, unit: Unit, value: f64) -> Record {
        Record::new(self.system, figure, unit, value)
    }

    /// Operations per second.
    pub fn rate(&self, figure: impl Into<String>, operations: usize, time: Duration) -> Record {
        self.record(figure, Unit::Rate, operations as f64 / time.as_secs_f64())
    }
}
