//! How a key is described by the key before it: what writing and reading pairs share.

/// How many pairs back a token can refer: a power of two.
pub(crate) const STEPS: usize = 8;
/// Bits of a token that refers: how many pairs repeat that step. 0 means one pair that repeats only the lengths.
pub(crate) const TIMES: u8 = 7;
/// Bits of a token: how many bytes the key shares with the previous key. If all are set, a varint says how many more.
pub(crate) const SHARED: u8 = 31;
/// Bit of a token: the key is as long as the previous key.
pub(crate) const SAME_KEY: u8 = 32;
/// Bit of a token: the value is as long as the previous value.
pub(crate) const SAME_VALUE: u8 = 64;
/// Bit of a token: it refers to an earlier pair.
pub(crate) const AGAIN: u8 = 128;

/// How to make a key from the previous key: cut bytes off its end, then append the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Step {
    pub(crate) cut: usize,
    /// How many bytes to append, and where in the record they are.
    pub(crate) rest_len: usize,
    pub(crate) rest: usize,
    pub(crate) value: usize,
}

/// The steps of the last pairs of a record.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    all: [Step; STEPS],
    /// How many steps the record has had so far.
    pub(crate) count: usize,
}

impl Steps {
    pub(crate) fn add(&mut self, step: Step) {
        self.all[self.count % STEPS] = step;
        self.count += 1;
    }

    pub(crate) fn back(&self, distance: usize) -> Option<Step> {
        Some(self.all[self.count.checked_sub(distance)? % STEPS])
    }

    /// The latest step for which `is_like` is true, and how many pairs ago it was.
    pub(crate) fn find(&self, is_like: impl Fn(Step) -> bool) -> Option<(usize, Step)> {
        (1..=STEPS).map_while(|ago| Some((ago, self.back(ago)?))).find(|&(_, step)| is_like(step))
    }
}
