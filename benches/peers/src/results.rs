//! What a run measured, as it is kept in JSON.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sysinfo::System;

use crate::catalogue::Unit;

#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Results {
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) command: String,
    pub(crate) records: Vec<Record>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) system: String,
}

/// One figure of one system in one round.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Record {
    pub(crate) row: String,
    pub(crate) pairs: u32,
    pub(crate) threads: u16,
    pub(crate) system: String,
    pub(crate) round: u16,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
}

impl Results {
    pub(crate) fn begun_now() -> Result<Self, String> {
        Ok(Self {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            machine: Machine::this().map_err(|error| format!("asking for the machine: {error}"))?,
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
            records: Vec::new(),
        })
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Machine {
    fn this() -> Result<Self, sysinfo::Error> {
        let mut system = System::new()?;
        system.refresh_cpu_all();
        system.refresh_memory();
        let processor = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned());
        Ok(Self {
            processor: processor.unwrap_or_default(),
            cores: system.cpus().len(),
            memory_gib: system.total_memory().div_ceil(1 << 30),
            system: System::long_os_version().unwrap_or_default(),
        })
    }
}
