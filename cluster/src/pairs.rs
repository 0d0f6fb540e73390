//! What verbs take and give.

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Pairs that came one by one.
pub(crate) type Pairs = Vec<Pair>;

/// A swap: the key, the value that it must have and the one that it gets; `None` is absent.
pub type Swap<'s> = (&'s [u8], Option<&'s [u8]>, Option<&'s [u8]>);
