//! The page of the demo: a summary, and bars of every figure. It needs nothing but itself, and no script.

use std::fmt::Write as _;

use super::beside::{Aspect, Comparison, Summary, shown, title};
use crate::bench::Host;

/// The page without its content: where the marks stand, style and content go.
const PAGE: &str = include_str!("../../report/demo.html");
const STYLE: &str = include_str!("../../report/demo.css");

/// What the page says beside figures.
pub(crate) struct About {
    /// What was written and read.
    pub(crate) work: String,
    pub(crate) command: String,
    pub(crate) machine: String,
    /// The version and the commit.
    pub(crate) version: String,
}

/// The whole page.
pub(crate) fn page(about: &About, summaries: &[Summary], comparisons: &[Comparison]) -> String {
    let mut content = String::new();
    for summary in summaries {
        let own: Vec<&Comparison> = comparisons.iter().filter(|one| one.host == summary.host).collect();
        let _ = write!(content, "{}", section(summary, &own));
    }
    let About { work, command, machine, version } = about;
    [
        ("/* style */", STYLE.to_owned()),
        ("{work}", escaped(work)),
        ("{summary}", summaries.iter().map(card).collect()),
        ("{hosts}", content),
        ("{command}", escaped(command)),
        ("{machine}", escaped(machine)),
        ("{version}", escaped(version)),
    ]
    .into_iter()
    .fold(PAGE.to_owned(), |page, (mark, text)| page.replacen(mark, &text, 1))
}

fn card(summary: &Summary) -> String {
    let Summary { host, systems, faster, smaller } = summary;
    let smaller = smaller
        .map_or_else(String::new, |smaller| format!("<p><strong>{smaller}</strong> times smaller</p>"));
    format!(
        "<li><h2><a href=\"#{}\">{}</a></h2><p><strong>{faster}</strong> times as fast</p>{smaller}<p>than {}</p></li>\n",
        host.name(),
        title(*host),
        escaped(&systems.join(" and ")),
    )
}

/// All that was measured in a host.
fn section(summary: &Summary, comparisons: &[&Comparison]) -> String {
    let charts: String = comparisons.iter().map(|one| chart(one)).collect();
    let host = summary.host;
    let note = match host {
        Host::WasmNode => "<p>The npm package twindex-wasm, beside what Node itself has.</p>",
        Host::Guest => {
            "<p>A Rust program compiled to WebAssembly that uses the crate. Its loops run inside, so what is compared is the \
             work and not the calls from outside.</p>"
        }
        _ => "",
    };
    let (name, title) = (host.name(), title(host));
    format!("<section id=\"{name}\"><h2>{title}</h2>{note}<div class=\"charts\">{charts}</div></section>\n")
}

/// One aspect: a bar for what is used today, and one for Twindex with each number of threads.
fn chart(comparison: &Comparison) -> String {
    let Comparison { aspect, system, theirs, ours, .. } = comparison;
    let most = ours.iter().map(|(_, figure)| *figure).fold(*theirs, f64::max);
    let bar = |name: &str, kind: &str, figure: f64, times: Option<f64>| {
        let times = times.map_or_else(String::new, |times| format!(" <b>{times:.1}x</b>"));
        format!(
            "<tr class=\"{kind}\"><th>{}</th><td class=\"bar\"><i style=\"width:{:.1}%\"></i></td><td>{}{times}</td></tr>",
            escaped(name),
            100.0 * figure / most,
            shown(*aspect, figure),
        )
    };
    let mut rows = bar(system, "theirs", *theirs, None);
    for (threads, figure) in ours {
        let name = if *threads == 1 { "Twindex".into() } else { format!("Twindex, {threads} threads") };
        rows += &bar(&name, "ours", *figure, Some(comparison.times_of(*figure)));
    }
    let less = if aspect.is_memory() { " (less is better)" } else { "" };
    format!("<table><caption>{}{less}</caption><tbody>{rows}</tbody></table>", Aspect::title(*aspect))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::beside::tests::sample;
    use crate::demo::beside::{HOSTS, comparisons, summaries};

    fn made() -> String {
        let comparisons = comparisons(&sample(&HOSTS, 1.5));
        let about = About {
            work: "10 pairs, keys from <words>".into(),
            command: "cargo xtask demo --pairs 10".into(),
            machine: "A \"processor\"".into(),
            version: "1 & 2".into(),
        };
        page(&about, &summaries(&comparisons), &comparisons)
    }

    #[test]
    fn the_page_opens_with_the_summary_of_every_host() {
        let page = made();
        assert_eq!(page.matches("times as fast").count(), HOSTS.len());
        assert_eq!(page.matches("times smaller").count(), HOSTS.len());
        assert!(page.find("times as fast") < page.find("<table>"), "{page}");
    }

    #[test]
    fn every_chart_has_a_bar_of_each_side() {
        let page = made();
        assert_eq!(page.matches("<table>").count(), HOSTS.len() * Aspect::ALL.len());
        for chart in page.split("<table>").skip(1) {
            assert!(chart.contains("class=\"theirs\"") && chart.contains("class=\"ours\""), "{chart}");
        }
        assert!(page.contains("Twindex, 2 threads") && page.contains("<b>3.0x</b>"), "{page}");
    }

    #[test]
    fn texts_are_escaped_and_nothing_is_fetched() {
        let page = made();
        for text in ["&lt;words&gt;", "A &quot;processor&quot;", "1 &amp; 2"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        for mark in [
            "/* style */",
            "{work}",
            "{summary}",
            "{hosts}",
            "{command}",
            "src=",
            "@import",
            "url(",
            "<script",
        ] {
            assert!(!page.contains(mark), "{mark} is in the page");
        }
    }
}
