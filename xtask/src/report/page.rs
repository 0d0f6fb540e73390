//! The report as JSON, and as a page that needs nothing but itself.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compare::{Comparison, Origin};
use super::outcome::Outcome;
use crate::machine::{Machine, commit};

/// The page without its data: where the three marks stand, style, data and script go.
const PAGE: &str = include_str!("../../report/page.html");
const STYLE: &str = include_str!("../../report/page.css");
/// The figures of five public reports.
const PUBLISHED: &str = include_str!("../../report/published.json");

/// What was measured, where and how.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Report {
    /// Seconds since 1970.
    pub(crate) made_at: u64,
    /// Of Twindex.
    pub(crate) version: String,
    /// Of this repository, where git knows it.
    pub(crate) commit: String,
    /// The command line that does it again.
    pub(crate) command: String,
    /// How much was done: `demo`, `test`, `quick`, `machine` or `full`.
    pub(crate) scale: String,
    pub(crate) machine: Machine,
    /// What a reader must know beside the figures.
    pub(crate) remarks: Vec<String>,
    pub(crate) results: Vec<Outcome>,
    /// Filled in when the page is written.
    #[serde(default)]
    published: Value,
    #[serde(default)]
    pub(crate) comparison: Option<Comparison>,
}

impl Report {
    /// A report made now, on this machine.
    pub(crate) fn new(command: String, scale: &str, results: Vec<Outcome>) -> Result<Self> {
        Ok(Self {
            made_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: commit(),
            command,
            scale: scale.into(),
            machine: Machine::this()?,
            remarks: Vec::new(),
            results,
            published: Value::Null,
            comparison: None,
        })
    }

    /// The one that an earlier run wrote.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is no report of this version", path.display()))
    }

    /// Writes `NAME.json` into `folder`.
    pub(crate) fn write_json(&self, folder: &Path, name: &str) -> Result<()> {
        write(folder, &format!("{name}.json"), &(serde_json::to_string_pretty(self)? + "\n")).map(drop)
    }

    /// Writes `NAME.json` and `NAME.html` into `folder`; the page's path.
    pub(crate) fn write(&self, folder: &Path, name: &str, script: &str) -> Result<PathBuf> {
        let whole = Self { published: serde_json::from_str(PUBLISHED)?, ..self.clone() };
        whole.write_json(folder, name)?;
        write(folder, &format!("{name}.html"), &whole.page(script)?)
    }

    /// What a comparison says of it.
    pub(crate) fn origin(&self) -> Origin {
        Origin { made_at: self.made_at, commit: self.commit.clone(), machine: self.machine.line() }
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

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Host, tests::sample};
    use crate::report::outcome::{outcomes, records_of};

    const HOSTS: [Host; 4] = [Host::Rust, Host::Python, Host::Node, Host::Wasmtime];

    fn report() -> Result<Report> {
        let results = HOSTS.iter().flat_map(|&host| records_of(&sample(host, &[1]))).collect();
        Report::new("cargo xtask report </script>".into(), "quick", outcomes(results))
    }

    /// The data of a page, as its script finds them.
    fn data_of(page: &str) -> &str {
        let start = page.find(r#"<script type="application/json" id="report">"#).expect("a data element");
        let data = &page[start..];
        let data = &data[data.find('>').expect("the end of its tag") + 1..];
        &data[..data.find("</script").expect("its end")]
    }

    #[test]
    fn the_page_holds_all_that_was_measured() -> Result<()> {
        let report = report()?;
        let data: Report = serde_json::from_str(data_of(&report.page("draw()")?))?;
        assert_eq!(data.command, "cargo xtask report </script>");
        assert_eq!(data.results.len(), report.results.len());
        assert!(data.results.len() >= 2 * HOSTS.len());
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
    fn what_is_written_is_read_again_with_the_documents_figures() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let page = report()?.write(folder.path(), "report", "draw()")?;
        assert!(page.ends_with("report.html") && page.exists());
        let read = Report::read(&folder.path().join("report.json"))?;
        assert_eq!(read.results.len(), report()?.results.len());
        assert_eq!(read.published.as_array().map(Vec::len), Some(5), "a document is missing");
        Ok(())
    }
}
