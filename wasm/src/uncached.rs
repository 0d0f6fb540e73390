//! Stands for `cached` in the module that has no caches. These types have no values, so the compiler leaves out all that would use them.

use twindex::Write;

use crate::failure::Failed;

pub(crate) type Show<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), Failed>;

#[derive(Clone)]
pub(crate) enum Cached {}

impl Cached {
    pub(crate) fn read(&self, _: &[u8], _: Show<'_>) -> Result<bool, Failed> {
        match *self {}
    }

    pub(crate) fn peek(&self, _: &[u8], _: Show<'_>) -> Result<bool, Failed> {
        match *self {}
    }

    pub(crate) fn contains(&self, _: &[u8]) -> bool {
        match *self {}
    }

    pub(crate) fn write(
        &self,
        _: Write,
        _: &[u8],
        _: &[u8],
        _: Option<std::time::Duration>,
    ) -> Result<bool, Failed> {
        match *self {}
    }

    pub(crate) fn delete(&self, _: &[u8]) -> bool {
        match *self {}
    }

    pub(crate) fn increment(&self, _: &[u8], _: i64) -> Result<i64, Failed> {
        match *self {}
    }

    pub(crate) fn compare_and_swap(
        &self,
        _: &[u8],
        _: Option<&[u8]>,
        _: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        match *self {}
    }

    pub(crate) fn clear(&self) {
        match *self {}
    }

    pub(crate) fn len(&self) -> usize {
        match *self {}
    }

    pub(crate) fn memory(&self) -> usize {
        match *self {}
    }

    pub(crate) fn walk(&self, _: u64, _: &mut dyn FnMut(&[u8], &[u8])) -> Option<u64> {
        match *self {}
    }
}
