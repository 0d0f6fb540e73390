//! The progress bar: on a terminal only, and only told of whole blocks of work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How many operations are done between two reports: too few to see, too many to slow a thread down.
pub(crate) const BLOCK: usize = 16_384;

/// A bar over `operations`; indicatif draws it on standard error where that is a terminal.
pub(crate) fn bar(operations: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{msg:24} {wide_bar} {human_pos}/{human_len} {eta}")
        .expect("the template is valid");
    ProgressBar::with_draw_target(Some(operations), target).with_style(style)
}
