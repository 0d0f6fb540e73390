//! Stands for `journal` in the module that has neither files nor watches. These types have no values, so the compiler leaves out all that would use them.

use twindex::Table;
use twindex_format::Operation;

use crate::failure::Failed;

pub(crate) enum Shared {}

pub(crate) enum Logged {}

pub(crate) struct Log;

#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "journal's need it")]
impl Log {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) fn expect(&self, _: Option<&Logged>, _: usize) -> Result<(), Failed> {
        Ok(())
    }

    pub(crate) fn expect_in(&self, journal: &Shared, _: usize) -> Result<(), Failed> {
        match *journal {}
    }

    pub(crate) fn add(&self, _: Option<&Logged>, _: Operation<'_>) {}

    pub(crate) fn add_written(&self, journal: &Shared, _: &Table, _: Operation<'_>) {
        match *journal {}
    }

    pub(crate) fn opened(&self, journal: &Shared, _: &Table) -> Logged {
        match *journal {}
    }

    pub(crate) fn dropped(&self, journal: &Shared, _: &Table) {
        match *journal {}
    }

    pub(crate) fn forget(&self) {}

    pub(crate) fn seal(&self) {}
}
