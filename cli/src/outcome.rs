//! How a command ends.

use std::io::{self, Write};

use twindex_durable::Error;

#[derive(Debug)]
pub(crate) enum Failure {
    Store(Error),
    Cache(twindex_cache::Error),
    /// A file that is not a store's.
    Other(String),
    /// The reader of the standard output has closed it, as `head` does.
    Unread,
}

impl Failure {
    /// Says what it is: the exit code.
    pub(crate) fn report(self) -> u8 {
        match self {
            Self::Store(error) => {
                tell(&error.to_string());
                if error.code() == "TWINDEX_MEMORY_LIMIT" {
                    tell("`--memory-limit` allows more: do so if you know where the file comes from");
                }
                if matches!(error, Error::WrongExpiry { expires: true, .. }) {
                    tell("only `export` and `import` take tables whose pairs expire");
                }
                if matches!(error, Error::Damaged { .. }) { DAMAGED } else { FAILED }
            }
            Self::Cache(twindex_cache::Error::Corrupt { offset, what }) => {
                tell(&format!("the cache is damaged at byte {offset}: {what}"));
                DAMAGED
            }
            Self::Cache(error) => {
                tell(&error.to_string());
                FAILED
            }
            Self::Other(what) => {
                tell(&what);
                FAILED
            }
            Self::Unread => OK,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<twindex_cache::Error> for Failure {
    fn from(error: twindex_cache::Error) -> Self {
        Self::Cache(error)
    }
}

impl From<twindex_durable::twindex::Error> for Failure {
    fn from(error: twindex_durable::twindex::Error) -> Self {
        Self::Store(error.into())
    }
}

pub(crate) const OK: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const WRONG: u8 = 2;
pub(crate) const DAMAGED: u8 = 3;

pub(crate) fn tell(what: &str) {
    let _ = writeln!(io::stderr(), "twindex: {}", without_controls(what));
}

/// The text with control characters escaped: a name or a key out of a file must not move the cursor of a terminal.
pub(crate) fn without_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

pub(crate) fn say(what: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    writeln!(io::stdout(), "{what}").map_err(|error| to_stdout(&error))
}

pub(crate) fn to_stdout(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::Other(format!("the standard output: {error}")),
    }
}
