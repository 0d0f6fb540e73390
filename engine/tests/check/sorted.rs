//! Checks of the sorted index, by the invariants that its module states.

use super::*;

/// What a walk through the tree has met.
#[derive(Default)]
struct Met {
    /// The keys, in order.
    keys: Vec<Vec<u8>>,
    /// Nodes by address, with their sizes.
    blocks: Vec<(usize, usize)>,
    blobs: Vec<*const Blob>,
}

impl SortedIndex {
    pub(in super::super) fn check(&self) {
        let mut met = Met::default();
        let root = Child(self.root.load(Acquire));
        if !root.0.is_null() {
            check_node(root, None, None, &mut met);
        }
        assert!(met.keys.is_sorted_by(|one, next| one < next), "S3: the keys are in order, none twice");
        assert_eq!(self.len(), met.keys.len(), "the count is that of the leaves");
        for key in &met.keys {
            assert!(self.get(key).is_some(), "a key is found");
        }
        let blocks = lock(&self.blocks);
        for retired in blocks.limbo.iter() {
            match *retired {
                Retired::Block(block, size) => met.blocks.push((block.addr().get(), size)),
                Retired::Blob(blob) => met.blobs.push(blob),
            }
        }
        blocks.space.check(met.blocks, 0);
        self.blobs.check(met.blobs);
    }
}

/// Checks what is below a child whose keys are between two fences.
fn check_node(node: Child, lower: Option<&[u8]>, upper: Option<&[u8]>, met: &mut Met) {
    // SAFETY: nobody writes, so the tree keeps its nodes.
    match unsafe { node.node() } {
        Node::Leaf(leaf) => leaf.check(lower, upper, met),
        Node::Inner(inner) => {
            let separators = inner.check(lower, upper, met);
            for (at, child) in inner.children().enumerate() {
                let before = at.checked_sub(1).map(|before| separators[before].as_slice());
                let after = separators.get(at).map(Vec::as_slice);
                check_node(child, before.or(lower), after.or(upper), met);
            }
        }
    }
}

impl Inner<'_> {
    /// Checks a node's own parts; its separators.
    fn check(self, lower: Option<&[u8]>, upper: Option<&[u8]>, met: &mut Met) -> Vec<Vec<u8>> {
        assert!((1..=FANOUT).contains(&self.count()), "an inner node has two children and not too many");
        let separators: Vec<_> = (0..self.count()).map(|at| self.separator(at)).collect();
        let fences = [lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)];
        let [lower, upper] = &fences;
        assert!(lower.iter().chain(&separators).chain(upper).is_sorted_by(|one, next| one < next));
        let shared = common(&separators[0], &separators[separators.len() - 1]);
        assert_eq!(self.prefix().len(), shared, "what all separators share is the prefix");
        assert!((0..self.count()).all(|at| self.heads()[at] == head8(self.rest(at))));
        let end = self.ends().last().expect("it has a separator");
        let size = self.bytes().addr() - self.base().addr() + self.prefix().len() + *end as usize;
        assert_eq!(size, self.size);
        met.blocks.push((self.base().addr(), self.size));
        separators
    }
}

impl Leaf<'_> {
    /// Checks that S1, S3 and S6 hold in a leaf, and that it counts what it has.
    fn check(self, lower: Option<&[u8]>, upper: Option<&[u8]>, met: &mut Met) {
        assert_eq!(
            self.state.load(Acquire) & (LOCKED | REPLACED),
            0,
            "S2: the tree leads to no replaced leaf"
        );
        let prefix = self.prefix();
        assert!(
            prefix.len() <= shared_prefix(lower, upper),
            "S3: all keys between the fences have the prefix"
        );
        assert!(lower.is_none_or(|lower| lower.starts_with(prefix)));
        let (count, sorted) = self.counts();
        let floor = self.floor.load(Relaxed) as usize;
        let top = (self.size as usize - prefix.len()) & !1;
        assert!(sorted <= count && HEAD + count * SLOT <= floor && floor <= top, "slots and cells are apart");
        assert!(
            (1..sorted).all(|at| self.cmp(self.slot(at - 1), self.suffix(self.slot(at))) == Ordering::Less)
        );
        let mut cells = Vec::new();
        let mut live = 0;
        for at in 0..count {
            let slot = self.slot(at);
            let len = padded(self.cell_len(slot));
            assert!(floor <= slot.cell() && slot.cell() + len <= top, "S1: a cell is among the cells");
            let key = self.key(slot);
            met.blobs.extend(self.blob(at));
            if let Some(blob) = self.blob(at) {
                // SAFETY: S6.
                assert_eq!(unsafe { Blob::parts(blob) }.0, key, "a blob has its slot's key");
            }
            assert_eq!(self.find(Suffix::new(&key[prefix.len()..])), Ok(at), "S3: a key has one slot");
            assert!(lower.is_none_or(|lower| lower <= key.as_slice()), "a key is not below its fence");
            assert!(upper.is_none_or(|upper| key.as_slice() < upper), "a key is below the next fence");
            cells.push((slot.cell(), len));
            live += usize::from(!slot.is_dead());
        }
        assert_eq!(self.live.load(Relaxed) as usize, live);
        cells.sort_unstable();
        assert!(cells.is_sorted_by(|one, next| one.0 + one.1 <= next.0), "no byte is in two cells");
        let used = (0..count).map(|at| self.slot(at)).filter(|slot| !slot.is_dead());
        let used: usize = used.map(|slot| padded(self.cell_len(slot))).sum();
        let waste = (top - floor) - used + (count - live) * SLOT;
        assert_eq!(self.garbage.load(Relaxed) as usize, waste, "what is dead is counted");
        let mut slots = Vec::new();
        self.live_slots(&mut slots);
        assert_eq!(slots.len(), live);
        met.keys.extend(slots.into_iter().map(|slot| self.key(slot)));
        met.blocks.push((self.base().addr(), self.size as usize));
    }

    fn key(self, slot: Slot) -> Vec<u8> {
        let head = slot.head().to_be_bytes();
        [self.prefix(), &head[..slot.key_len().min(4)], self.cell(slot).0].concat()
    }
}
