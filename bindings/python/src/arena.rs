//! The results of a batch in one allocation, before they become Python objects.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::prelude::*;

/// Byte strings one after another, some of them absent.
#[derive(Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    spans: Vec<Option<Range<usize>>>,
    /// Why something is missing.
    short: Option<TryReserveError>,
}

impl Arena {
    /// One with room for so many.
    pub(crate) fn with_room(count: usize) -> Result<Self> {
        Ok(Self { spans: with_room(count)?, ..Self::default() })
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: Option<&[u8]>) {
        let start = self.bytes.len();
        let content = bytes.unwrap_or_default();
        match self.bytes.try_reserve(content.len()).and_then(|()| self.spans.try_reserve(1)) {
            Ok(()) => {
                self.bytes.extend_from_slice(content);
                self.spans.push(bytes.map(|_| start..self.bytes.len()));
            }
            Err(error) => self.short = Some(error),
        }
    }

    /// That nothing is missing.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.short.clone().map_or(Ok(()), Err)?)
    }

    /// How long all of them are.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// All of them in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.iter_from(0)
    }

    /// Those from this position on.
    pub(crate) fn iter_from(&self, at: usize) -> impl Iterator<Item = Option<&[u8]>> {
        self.spans[at..].iter().map(|span| span.clone().map(|span| &self.bytes[span]))
    }
}
