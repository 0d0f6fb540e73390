//! Stands for `cached` in the module that has no caches. These types have no values, so the compiler leaves out all that would use them.

use std::time::Duration;

use twindex::Write;

use crate::failure::Failed;

pub(crate) type Show<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), Failed>;

#[derive(Clone)]
pub(crate) enum Cached {}

macro_rules! verbs {
    ($($name:ident($($of:ty),*) $(-> $to:ty)?;)*) => {
        impl Cached {
            $(pub(crate) fn $name(&self, $(_: $of),*) $(-> $to)? {
                match *self {}
            })*
        }
    };
}

verbs! {
    read(&[u8], Show<'_>) -> Result<bool, Failed>;
    peek(&[u8], Show<'_>) -> Result<bool, Failed>;
    contains(&[u8]) -> bool;
    write(Write, &[u8], &[u8], Option<Duration>) -> Result<bool, Failed>;
    delete(&[u8]) -> bool;
    increment(&[u8], i64) -> Result<i64, Failed>;
    compare_and_swap(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<bool, Failed>;
    ttl(&[u8]) -> Option<i64>;
    touch(&[u8], Option<Duration>) -> Result<bool, Failed>;
    clear();
    len() -> usize;
    memory() -> usize;
    walk(u64, &mut dyn FnMut(&[u8], &[u8])) -> Option<u64>;
}
