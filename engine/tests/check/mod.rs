//! The checker of the engine's structures. It is compiled into the engine by `--cfg twindex_check` alone, so that it
//! sees what is private, and each of its files is a part of the module that it checks.
//!
//! It walks everything that a table holds, live, dead, waiting or free, and panics where an invariant of the engine
//! does not hold. Nobody may write to the table meanwhile.

use super::*;

impl Table {
    /// Checks the table's index. No other thread writes to it.
    ///
    /// # Panics
    /// Where an invariant does not hold.
    pub fn check(&self) {
        let pinned = self.pin();
        match &self.inner.pairs {
            Pairs::Hash(index) => index.get(&pinned).check(),
            Pairs::Sorted(index) => index.get(&pinned).check(),
        }
    }
}

impl Space {
    /// Checks that blocks in use, given by address and size as asked for, and free ones fill the regions: that none is
    /// lost, and none in use twice. `in_use` is the size of blocks in use of which only their sum is known.
    pub(super) fn check(&self, blocks: impl IntoIterator<Item = (usize, usize)>, in_use: usize) {
        let regions: BTreeMap<usize, usize> =
            self.regions.iter().map(|(region, layout)| (region.addr().get(), layout.size())).collect();
        let all = regions.values().sum::<usize>();
        assert_eq!(self.bytes, all, "the regions' bytes");
        let mut pieces: Vec<(usize, usize)> =
            blocks.into_iter().map(|(at, bytes)| (at, Self::rounded(bytes))).collect();
        let mut reserved = 0;
        for (class, &first) in self.free.iter().enumerate().skip(1) {
            let size = Self::class_size(class);
            assert_eq!(Self::class(size), (class, size), "a class has a size");
            // SAFETY: these are free, and each names the next.
            let next = |&block: &NonNull<u8>| NonNull::new(unsafe { Self::next_of(block).read() });
            for block in std::iter::successors(NonNull::new(first), next) {
                pieces.push((block.addr().get(), size));
                reserved += if size >= Self::ANY_LEAF { size } else { 0 };
            }
        }
        assert_eq!(reserved, self.reserved, "the bytes of large free blocks");
        pieces.push((self.bump.addr(), self.bump_bytes));
        pieces.extend(self.next.map(|(next, layout)| (next.addr().get(), layout.size())));
        pieces.extend(self.spare.map(|(spare, bytes)| (spare.addr().get(), bytes)));
        pieces.retain(|&(_, bytes)| bytes > 0);
        pieces.sort_unstable();
        for &(at, bytes) in &pieces {
            assert_eq!(at % 64, 0, "blocks are aligned");
            let (start, len) = regions.range(..=at).next_back().expect("a block is in a region");
            assert!(at + bytes <= start + len, "a block ends within its region");
        }
        assert!(pieces.is_sorted_by(|one, next| one.0 + one.1 <= next.0), "no byte is in two blocks");
        let known: usize = pieces.iter().map(|&(_, bytes)| bytes).sum();
        assert_eq!(known + in_use, all, "no block is lost");
    }
}

impl Heap {
    /// Checks that these are all blobs, each owned once.
    pub(super) fn check_blobs(&self, mut owned: Vec<Blob>) {
        let bytes: usize = owned.iter().map(|blob| blob.size()).sum();
        assert_eq!(self.blob_bytes.load(Relaxed), bytes, "every blob has an owner");
        owned.sort_unstable();
        assert!(owned.is_sorted_by(|one, next| one < next), "no blob has two owners");
    }
}

/// Makes free memory unlike anything that was in it, so that who still reads there is found out.
///
/// # Safety
/// The memory is there, and nobody has a use for what is in it.
pub(super) unsafe fn spoil(at: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { at.write_bytes(SPOILT, bytes) };
}

/// What free memory is filled with.
pub(super) const SPOILT: u8 = 0xa5;
