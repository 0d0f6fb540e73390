//! What all hosts measured, as one table, as JSON and as a page.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use twindex_benches::Report as HostReport;

use crate::machine::Machine;

/// The page without its data: where the three marks stand, style, data and script go.
const PAGE: &str = include_str!("../report/page.html");
const STYLE: &str = include_str!("../report/page.css");

/// What all hosts measured, where and how.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Report {
    /// Seconds since 1970.
    pub(crate) made_at: u64,
    /// The command line that does it again.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) hosts: Vec<HostReport>,
}

impl Report {
    /// A report made now, on this machine.
    pub(crate) fn new(command: String, hosts: Vec<HostReport>) -> Result<Self> {
        let made_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self { made_at, command, machine: Machine::this()?, hosts })
    }

    /// One row per host, step and number of threads.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
            "Host",
            "Steps",
            "Keys",
            "Threads",
            "System time (ms)",
            "Operations/s",
            "Bytes/pair",
        ]);
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for host in &self.hosts {
            for measure in &host.results {
                table.add_row([
                    host.host.clone(),
                    measure.step.clone(),
                    HumanCount(measure.keys.into()).to_string(),
                    measure.threads.to_string(),
                    format!("{:.1}", measure.milliseconds),
                    HumanCount(measure.ops).to_string(),
                    measure.bytes_per_pair.map_or_else(String::new, |bytes| format!("{bytes:.1}")),
                ]);
            }
        }
        table
    }

    /// Writes `report.json` and `index.html` into `folder`; the page's path.
    pub(crate) fn write(&self, folder: &Path, script: &str) -> Result<PathBuf> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            Ok::<_, anyhow::Error>(path)
        };
        write("report.json", &serde_json::to_string_pretty(self)?)?;
        write("index.html", &self.page(script)?)
    }

    /// A page that needs nothing but itself.
    fn page(&self, script: &str) -> Result<String> {
        // Within a script element only this could end the data, and JSON can write it otherwise.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        ensure!(!script.contains("</script"), "the page's script would end its own element");
        let page = PAGE.replace("/* style */", STYLE).replace("{/* data */}", &data);
        // Last, since a script may contain anything.
        Ok(page.replace("/* script */", script))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Host, check, tests::sample};

    fn report() -> Result<Report> {
        let threads =
            |host: Host| if host == Host::Wasmtime || host == Host::WasmNode { &[1][..] } else { &[1, 2] };
        Report::new(
            "cargo xtask demo </script>".into(),
            Host::ALL.map(|host| sample(host, threads(host))).to_vec(),
        )
    }

    /// The data of a page, as its script finds them.
    fn data_of(page: &str) -> &str {
        let start = page.find(r#"<script type="application/json" id="report">"#).expect("a data element");
        let data = &page[start..];
        let data = &data[data.find('>').expect("the end of its tag") + 1..];
        &data[..data.find("</script").expect("its end")]
    }

    #[test]
    fn the_page_holds_all_hosts_and_steps() -> Result<()> {
        let page = report()?.page("draw()")?;
        let data: Report = serde_json::from_str(data_of(&page))?;
        assert_eq!(data.command, "cargo xtask demo </script>");
        assert_eq!(data.hosts.len(), Host::ALL.len());
        for (found, host) in data.hosts.iter().zip(Host::ALL) {
            let threads: &[u16] =
                if matches!(host, Host::Rust | Host::Python | Host::Node) { &[1, 2] } else { &[1] };
            check(found, host, threads)?;
        }
        Ok(())
    }

    #[test]
    fn the_page_holds_its_style_and_script_and_asks_for_nothing_else() -> Result<()> {
        let page = report()?.page("draw()")?;
        assert!(page.contains("draw()") && page.contains(STYLE), "{page}");
        for mark in ["/* style */", "/* data */", "/* script */", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(mark), "{mark} is in the page");
        }
        assert!(report()?.page("'</script>'").is_err());
        Ok(())
    }

    #[test]
    fn the_table_has_a_row_per_measure() -> Result<()> {
        let report = report()?;
        let rows = report.hosts.iter().map(|host| host.results.len()).sum::<usize>();
        assert_eq!(report.table().row_count(), rows);
        assert_eq!(rows, 3 * 8 + 2 * 4);
        Ok(())
    }
}
