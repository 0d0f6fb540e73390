//! Progress bars, where somebody looks.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use twindex_durable::Progress;

/// A bar over the bytes of a file, or a hidden one where the standard error is no terminal.
pub(crate) fn over_bytes(path: &Path, what: &'static str) -> ProgressBar {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let style = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} to go";
    styled(ProgressBar::new(bytes), style, what)
}

pub(crate) fn over_pairs(pairs: u64, what: &'static str) -> ProgressBar {
    styled(ProgressBar::new(pairs), "{msg} {wide_bar} {human_pos} of {human_len} pairs, {eta} to go", what)
}

pub(crate) fn counting(what: &'static str) -> ProgressBar {
    styled(ProgressBar::no_length(), "{msg} {human_pos} lines, {per_sec}", what)
}

#[cfg(feature = "cluster")]
pub(crate) fn counting_pairs(what: &'static str) -> ProgressBar {
    styled(ProgressBar::no_length(), "{msg} {human_pos} pairs, {per_sec}", what)
}

fn styled(bar: ProgressBar, style: &str, what: &'static str) -> ProgressBar {
    bar.with_style(ProgressStyle::with_template(style).expect("our own template")).with_message(what)
}

pub(crate) fn bytes(bar: &ProgressBar) -> impl FnMut(Progress) + Send + 'static {
    let bar = bar.clone();
    move |progress| bar.set_position(progress.bytes)
}
