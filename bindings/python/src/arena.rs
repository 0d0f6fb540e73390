//! The results of a batch in one allocation, before they become Python objects.

use std::ops::Range;

/// Byte strings one after another, some of them absent.
#[derive(Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    spans: Vec<Option<Range<usize>>>,
}

impl Arena {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { bytes: Vec::new(), spans: Vec::with_capacity(count) }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.spans.push(Some(start..self.bytes.len()));
    }

    #[inline]
    pub(crate) fn push_absent(&mut self) {
        self.spans.push(None);
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
