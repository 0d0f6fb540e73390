//! Checks of the sorted index, by the invariants that its module states.

use super::*;

/// What a walk through the tree has met.
#[derive(Default)]
struct Met {
    /// The keys, in order.
    keys: Vec<Vec<u8>>,
    /// Nodes by address, with their sizes.
    blocks: Vec<(usize, usize)>,
    blobs: Vec<Blob>,
}

impl SortedIndex {
    pub(in super::super) fn check(&self) {
        let mut met = Met::default();
        let root = Child::of(&self.root);
        if !root.0.is_null() {
            check_node(root, None, None, &mut met);
        }
        assert!(met.keys.is_sorted_by(|one, next| one < next), "S3: the keys are in order, none twice");
        assert_eq!(self.len(), met.keys.len(), "the count is that of the leaves");
        for key in &met.keys {
            assert!(self.get(key).is_some(), "a key is found");
        }
        let space = self.heap.space();
        let kept = lock(&self.past.kept);
        for retired in
            space.limbo.iter().chain(kept.iter().flat_map(|saved| &saved.items).map(|kept| &kept.what))
        {
            match *retired {
                Retired::Block(block, size) => met.blocks.push((block.addr().get(), size)),
                Retired::Blob(blob) => met.blobs.push(blob),
            }
        }
        space.check(met.blocks, 0);
        self.heap.check_blobs(met.blobs);
    }
}

/// Checks what is below a child whose keys are between two fences.
fn check_node(node: Child<'_>, lower: Option<&[u8]>, upper: Option<&[u8]>, met: &mut Met) {
    match node.node() {
        Node::Leaf(leaf) => leaf.check(lower, upper, met),
        Node::Inner(inner) => {
            let separators = inner.check(lower, upper, met);
            for (at, child) in inner.children().into_iter().enumerate() {
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
        let state = self.state().load(Acquire);
        assert_eq!(state & (LOCKED | REPLACED), 0, "S4: nobody is in it, and it was not replaced");
        assert!((1..=FANOUT).contains(&self.count()), "an inner node has two children and not too many");
        let separators: Vec<_> = (0..self.count()).map(|at| self.separator(at).concat()).collect();
        let fences = [lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)];
        let [lower, upper] = &fences;
        assert!(lower.iter().chain(&separators).chain(upper).is_sorted_by(|one, next| one < next));
        let shared = common(&separators[0], &separators[separators.len() - 1]);
        assert_eq!(self.prefix().len(), shared, "what all separators share is the prefix");
        let heads: Vec<i32> = self.heads.iter().flat_map(|row| row.0).collect();
        let (own, fill) = heads.split_at(self.count());
        assert!(own.iter().enumerate().all(|(at, &head)| head == signed_head(self.rest(at))));
        assert!(fill.iter().all(|&head| head == i32::MAX), "the rest is filled up");
        assert!(self.heads.iter().zip(self.lasts).all(|(row, last)| row.0[ROW - 1] == last));
        let rests: usize = separators.iter().map(|separator| separator.len() - shared).sum();
        let (_, bytes) = inner_parts(self.count());
        assert_eq!(bytes + shared + rests, self.size as usize);
        met.blocks.push((self.base().addr(), self.size as usize));
        separators
    }
}

impl Leaf<'_> {
    /// Checks that S1, S3 and S6 hold in a leaf, and that it counts what it has.
    fn check(self, lower: Option<&[u8]>, upper: Option<&[u8]>, met: &mut Met) {
        let state = self.state.load(Acquire);
        assert_eq!(state & (LOCKED | SHIFTING), 0, "nobody is in it");
        assert_eq!(state & REPLACED, 0, "S2: the tree leads to no replaced leaf");
        let slots = usize::from(self.slots);
        assert_eq!(slots, HEAD + prefix_room(self.prefix().len()));
        let count = self.count();
        let floor = usize::from(self.floor.load(Relaxed));
        let size = usize::from(self.size);
        let most = usize::from(self.most.load(Relaxed));
        assert!(count <= most && slots + most * SLOT <= floor && floor <= size, "slots and cells are apart");
        let mut cells = Vec::new();
        for at in 0..count {
            let slot = self.slot(at);
            let len = self.cell_len(slot);
            assert!(floor <= slot.cell() && slot.cell() + len <= size, "S1: a cell is among the cells");
            let key = self.run().pair(at).key(&mut KEY_ROOM.clone()).to_vec();
            match self.cell(slot).1 {
                Body::Inline(_) => {}
                Body::Block(block, bytes) => met.blocks.push((block.addr().get(), bytes)),
                Body::Blob(blob) => {
                    let in_blob = blob.parts().0;
                    assert!(in_blob == key || in_blob.is_empty(), "a blob has its slot's key, or none");
                    met.blobs.push(blob);
                }
            }
            let suffix = self.strip(&key).expect("S3: all keys have the prefix");
            let found = self.seek(count, suffix).map(|(at, slot)| (at, slot.0));
            assert_eq!(found, Ok((at, slot.0)), "S3: a key has one slot");
            assert!(lower.is_none_or(|lower| lower <= key.as_slice()), "a key is not below its fence");
            assert!(upper.is_none_or(|upper| key.as_slice() < upper), "a key is below the next fence");
            cells.push((slot.cell(), len));
            met.keys.push(key);
        }
        cells.sort_unstable();
        assert!(cells.is_sorted_by(|one, next| one.0 + one.1 <= next.0), "no byte is in two cells");
        let used: usize = cells.iter().map(|cell| cell.1).sum();
        assert_eq!(
            usize::from(self.garbage.load(Relaxed)),
            size - floor - used,
            "what no slot names is counted"
        );
        met.blocks.push((self.base().addr(), size));
    }
}
