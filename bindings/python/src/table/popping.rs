//! Where `popitem` is in a hash table.

use std::mem::replace;

/// The keys that `popitem` tries next, and where in the table those after them are: to look for the first pair takes the
/// longer the more were removed.
#[derive(Default)]
pub(super) struct Popping {
    keys: Vec<Vec<u8>>,
    from: u64,
}

impl Popping {
    /// The key of some pair, if there is one.
    pub(super) fn any_key(&mut self, table: &twindex::Table) -> Option<Vec<u8>> {
        let mut is_last_round = self.from == 0;
        while self.keys.is_empty() {
            self.from = table.walk(self.from, |key, _| self.keys.push(key.to_vec())).unwrap_or(0);
            if self.from == 0 && self.keys.is_empty() && replace(&mut is_last_round, true) {
                return None;
            }
        }
        self.keys.pop()
    }
}
