//! The picture at the head of the README: how many times as fast and how many times smaller, for the hosts that most people use.

#![expect(clippy::cast_precision_loss, reason = "rows and columns are few")]

use std::fmt::Write as _;

use super::beside::{Aspect, Comparison, title};
use crate::bench::Host;

/// A column each.
const HOSTS: [Host; 3] = [Host::Python, Host::Node, Host::Rust];

// Pixels.
const LABELS: f64 = 190.0;
const COLUMN: f64 = 220.0;
const BAR: f64 = 130.0;
const HEAD: f64 = 62.0;
const ROW: f64 = 30.0;

/// Where the picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    Light,
    Dark,
}

/// The colours of text, quiet text, bars, and the line that stands for what is used today.
struct Colours {
    text: &'static str,
    quiet: &'static str,
    bar: &'static str,
    line: &'static str,
}

impl Ground {
    pub(crate) const ALL: [(Self, &'static str); 2] =
        [(Self::Light, "measured.svg"), (Self::Dark, "measured-dark.svg")];

    fn colours(self) -> Colours {
        match self {
            Self::Light => Colours { text: "#1d2430", quiet: "#5a6472", bar: "#2f74b5", line: "#c0392b" },
            Self::Dark => Colours { text: "#e6e9ee", quiet: "#9aa5b4", bar: "#5aa2e0", line: "#e58a7b" },
        }
    }
}

/// The picture, in which every bar is as long as its ratio and a line marks 1.
pub(crate) fn picture(comparisons: &[Comparison], work: &str, ground: Ground) -> String {
    let Colours { text, quiet, bar, line } = ground.colours();
    let shown: Vec<&Comparison> = comparisons.iter().filter(|one| HOSTS.contains(&one.host)).collect();
    let most = shown.iter().map(|one| one.times()).fold(1.0, f64::max);
    let width = LABELS + COLUMN * HOSTS.len() as f64;
    let bottom = HEAD + ROW * Aspect::ALL.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"13\" fill=\"{text}\" role=\"img\"><title>Twindex beside what programs use today</title>\n",
        bottom + 58.0,
    );
    for (row, aspect) in Aspect::ALL.into_iter().enumerate() {
        let middle = HEAD + ROW * (row as f64 + 0.5);
        let _ = writeln!(svg, "<text x=\"0\" y=\"{:.0}\">{}</text>", middle + 4.0, Aspect::title(aspect));
    }
    for (column, host) in HOSTS.into_iter().enumerate() {
        let left = LABELS + COLUMN * column as f64;
        let own: Vec<&&Comparison> = shown.iter().filter(|one| one.host == host).collect();
        let mut systems: Vec<&str> = own.iter().map(|one| one.system.as_str()).collect();
        systems.dedup();
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"18\" font-size=\"15\" font-weight=\"600\">{}</text>\n\
             <text x=\"{left}\" y=\"38\" fill=\"{quiet}\">beside {}</text>",
            title(host),
            systems.join(", "),
        );
        for one in own {
            let row = Aspect::ALL.iter().position(|aspect| *aspect == one.aspect).unwrap_or(0);
            let top = HEAD + ROW * row as f64;
            let length = BAR * one.times() / most;
            let _ = writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"16\" rx=\"2\" fill=\"{bar}\"/>\
                 <text x=\"{:.1}\" y=\"{:.0}\" font-weight=\"600\">{:.1}x</text>",
                top + 7.0,
                left + length + 6.0,
                top + 19.0,
                one.times(),
            );
        }
        let mark = left + BAR / most;
        let _ = writeln!(
            svg,
            "<path d=\"M{mark:.1} {HEAD}V{bottom}\" stroke=\"{line}\" stroke-dasharray=\"3 3\"/>"
        );
    }
    let caption =
        "How many times as fast, or as small, with one thread. The dashed line is what is used today.";
    for (line, words) in [caption, work].into_iter().enumerate() {
        let at = bottom + 28.0 + 18.0 * line as f64;
        let _ = writeln!(svg, "<text x=\"0\" y=\"{at:.0}\" fill=\"{quiet}\">{words}</text>");
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::beside::comparisons;
    use crate::demo::beside::tests::sample;

    #[test]
    fn every_ratio_of_its_hosts_is_a_bar_on_either_ground() {
        let comparisons = comparisons(&sample(&[Host::Rust, Host::Python, Host::Node, Host::Guest], 1.5));
        for (ground, _) in Ground::ALL {
            let svg = picture(&comparisons, "10 pairs.", ground);
            assert_eq!(svg.matches("<rect").count(), HOSTS.len() * Aspect::ALL.len());
            assert_eq!(svg.matches(">1.5x<").count(), HOSTS.len() * 4);
            assert_eq!(svg.matches(">2.5x<").count(), HOSTS.len() * 2);
            assert!(svg.contains("beside dict, tree") && svg.contains(ground.colours().bar));
        }
    }
}
