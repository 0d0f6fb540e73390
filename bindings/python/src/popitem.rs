//! Where `popitem` is in a hash table or a cache.

use std::mem::replace;

/// The keys that `popitem` tries next, and where in the table those after them are: to look for the first pair takes the
/// longer the more were removed.
#[derive(Default)]
pub(crate) struct Popping {
    keys: Vec<Vec<u8>>,
    from: u64,
}

impl Popping {
    /// The key of some pair, if there is one. `walk` adds the keys that follow a position, and returns the next position.
    pub(crate) fn any_key(
        &mut self,
        mut walk: impl FnMut(u64, &mut Vec<Vec<u8>>) -> Option<u64>,
    ) -> Option<Vec<u8>> {
        let mut is_last_round = self.from == 0;
        while self.keys.is_empty() {
            self.from = walk(self.from, &mut self.keys).unwrap_or(0);
            if self.from == 0 && self.keys.is_empty() && replace(&mut is_last_round, true) {
                return None;
            }
        }
        self.keys.pop()
    }
}
