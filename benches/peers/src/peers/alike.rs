//! What all maps in memory do alike.

/// What a hash map hashes with: fast, and the same for all, so that tables are compared and not hashes.
pub(super) type Hasher = foldhash::fast::RandomState;

/// A new value of the same length is copied over the old one; of another length, it takes its place.
pub(super) fn replace(old: &mut Box<[u8]>, new: &[u8]) {
    if old.len() == new.len() {
        old.copy_from_slice(new);
    } else {
        *old = new.into();
    }
}
