//! Checks of the hash index, by the invariants that its module states.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// What the segments of one shard lead to.
#[derive(Default)]
struct Found {
    /// The records by their refs, with their bytes.
    live: BTreeMap<u32, usize>,
}

impl HashIndex {
    pub(in super::super) fn check(&self) {
        let directory = self.directory();
        let mut found: [Found; SHARDS] = std::array::from_fn(|_| Found::default());
        let mut blobs = Vec::new();
        let mut blocks = Vec::new();
        let mut pairs = 0;
        if !directory.is_none() {
            assert!(directory.depth() <= MAX_DEPTH);
            blocks.push((directory.0.addr(), Directory::bytes_for(directory.depth())));
            let mut at = 0;
            while at < directory.len() {
                let prefix = Hash(directory.first_hash(at));
                let segment = directory.segment(prefix);
                let entries = directory.span(segment, prefix).len();
                assert!(entries.is_power_of_two(), "a segment's entries are all that begin with its bits");
                assert_eq!(at % entries, 0, "a segment's entries begin where its bits do");
                let depth = directory.depth() - entries.ilog2();
                blocks.push((segment.first().addr(), segment.bytes()));
                pairs += self.check_segment(segment, prefix, depth, &mut found, &mut blobs);
                at += entries;
            }
            let segments: BTreeSet<_> = blocks.iter().map(|block| block.0).collect();
            assert_eq!(segments.len(), blocks.len(), "no segment has two places in the directory");
        }
        assert_eq!(self.len(), pairs, "the shards' counts add up");
        let mut record_blocks = 0;
        let mut records = Vec::new();
        let shards = self.shards.load(Acquire);
        if self.shard_at(0).is_some_and(|first| !ptr::eq(shards, &raw const first.blocks)) {
            blocks.push((shards.addr() - SHARDS * ENTRY, 2 * SHARDS * ENTRY));
        }
        for (number, found) in found.iter().enumerate() {
            let Some(shard) = self.shard_at(number) else {
                assert!(found.live.is_empty());
                continue;
            };
            // SAFETY: nobody writes.
            let state = unsafe { &*shard.state.get() };
            record_blocks += state.lanes.iter().map(|lane| lane.bytes).sum::<usize>();
            let pairs = (shard.len.load(Relaxed) - state.empty_at).cast_unsigned();
            assert_eq!(pairs, found.live.len(), "a shard counts its pairs");
            assert!(shard.splitting.load(Relaxed).is_null(), "H2: nobody is splitting a segment");
            blocks.push((ptr::from_ref(shard).addr(), size_of::<Shard>()));
            // SAFETY: the table of shards has an entry for each shard.
            let table = unsafe { &*shards.add(number) };
            assert_eq!(
                table.load(Acquire),
                shard.blocks.load(Acquire),
                "H4: both lead to the same table of blocks"
            );
            if !ptr::eq(shard.blocks.load(Acquire), shard.first_blocks.as_ptr()) {
                blocks.push((shard.blocks.load(Acquire).addr(), state.block_capacity * ENTRY));
            }
            shard.check(state, found, &mut blobs, &mut records);
        }
        records.sort_unstable();
        assert!(
            records.is_sorted_by(|one, next| one.0 + one.1 <= next.0),
            "no byte is in two records, live, retired or free, of one shard or of two that share a block"
        );
        for kept in lock(&self.past.kept).iter().flat_map(|saved| &saved.items) {
            let segment = Self::kept_segment(kept).expect("a hash index keeps segments");
            blocks.push((segment.first().addr(), segment.bytes()));
            let shard = self.shard(segment);
            for record in Self::marked(segment).map(|reference| shard.record(reference)) {
                records.push((record.at.addr(), class(record.len().div_ceil(REF_UNIT)).1 * REF_UNIT));
                blobs.extend(record.blob());
            }
        }
        for Saved { root, .. } in lock(&self.past.kept).iter() {
            if let Some(Retired::Block(block, bytes)) = Self::kept_directory(*root) {
                blocks.push((block.addr().get(), bytes));
            }
        }
        records.sort_unstable();
        assert!(
            records.is_sorted_by(|one, next| one.0 + one.1 <= next.0),
            "V4: no byte of a record that is kept is in another one"
        );
        self.heap.check_blobs(blobs);
        let space = self.heap.space();
        let retired = space.limbo.iter().map(|retired| match *retired {
            Retired::Block(block, bytes) => (block.addr().get(), bytes),
            Retired::Blob(_) => unreachable!("a shard retires its blobs itself"),
        });
        blocks.retain(|&(_, bytes)| bytes > 0);
        space.check(blocks.into_iter().chain(retired), record_blocks);
    }

    /// E2: a new reader gets nowhere to a record that is retired.
    pub(super) fn check_unlinked(&self, shard: &Shard, reference: u32) {
        let key = shard.record(reference).parts().0;
        let segment = self.directory().segment(self.hash(key));
        let leads_there = ptr::eq(self.shard(segment), shard) && segment.refs(shard).contains(&reference);
        assert!(!leads_there, "E2: a record was retired that the index leads to");
    }

    /// Checks a segment; how many pairs it has.
    fn check_segment(
        &self,
        segment: Segment<'_>,
        prefix: Hash,
        depth: u32,
        found: &mut [Found; SHARDS],
        blobs: &mut Vec<Blob>,
    ) -> usize {
        let number = segment.shard();
        let open = SHARD_BITS.saturating_sub(depth);
        assert_eq!(number, prefix.top(SHARD_BITS) >> open << open, "H4: a segment names its shard");
        let shard = self.shard(segment);
        let live = &mut found[number].live;
        let mut passed = vec![0; segment.len()];
        let mut keys = BTreeSet::new();
        let buckets = segment.buckets();
        for (at, bucket) in buckets.iter().enumerate() {
            let tags = [
                bucket.tags.low.load(Relaxed).to_le_bytes(),
                u64::from(bucket.tags.high.load(Relaxed)).to_le_bytes(),
            ];
            let tags = tags.as_flattened();
            assert!(tags[SLOTS..].iter().all(|&tag| tag == 0), "there are no more slots");
            for (slot, (reference, &tag)) in bucket.refs.iter().zip(tags).enumerate() {
                let reference = reference.load(Relaxed);
                if tag == 0 {
                    continue;
                }
                assert_ne!(reference, 0, "a slot with a tag has a ref");
                let record = shard.record(reference);
                let ((key, _), bytes, blob) = (record.parts(), record.len(), record.blob());
                let hash = self.hash(key);
                assert_eq!(hash.tag(), tag, "the tag is that of the key");
                assert_eq!(hash.top(depth), prefix.top(depth), "H4: the key belongs here");
                assert!(keys.insert(key), "H3: a key stands once");
                assert_eq!(live.insert(reference, bytes), None, "a record has one ref");
                assert_eq!(self.find(hash, key), Some(record), "H3: the key is found, slot {slot}");
                blobs.extend(blob);
                let home = hash.home() / BUCKET;
                let steps = at.wrapping_sub(home) & (segment.len() - 1);
                (0..steps).for_each(|step| passed[(home + step) & (segment.len() - 1)] += 1);
            }
        }
        for (bucket, passed) in buckets.iter().zip(passed) {
            assert_eq!(bucket.marks(), 0, "no slot is promised while nobody commits");
            assert_eq!(bucket.passed(), passed, "a bucket counts the pairs that passed it");
        }
        keys.len()
    }
}

impl Shard {
    /// Checks that live, retired and free records are within the shard's blocks, and lists where they are.
    fn check(
        &self,
        state: &ShardState,
        found: &Found,
        blobs: &mut Vec<Blob>,
        records: &mut Vec<(usize, usize)>,
    ) {
        let mut pieces: Vec<(u32, usize)> = found
            .live
            .iter()
            .map(|(&reference, bytes)| (reference, class(bytes.div_ceil(REF_UNIT)).1))
            .collect();
        for retired in state.lanes.iter().flat_map(|lane| lane.limbo.iter()) {
            let record = self.record(retired.reference);
            let (bytes, blob) = (record.len(), record.blob());
            assert_eq!(
                class(bytes.div_ceil(REF_UNIT)).0,
                usize::from(retired.class),
                "a retired record says its class"
            );
            pieces.push((retired.reference, class_units(retired.class.into())));
            assert_eq!(blob.is_some(), retired.has_blob, "a retired record says whether it has a blob");
            blobs.extend(blob);
        }
        let free = state.lanes.iter().filter_map(|lane| lane.free.as_ref());
        for (class, first) in free.flat_map(|free| free.iter().enumerate()) {
            let mut free = *first;
            while free != 0 {
                pieces.push((free, class_units(class)));
                // SAFETY: a free record names the next one.
                free = unsafe { *self.address(free).cast() };
            }
        }
        let joining = state.joining.iter().flat_map(|joining| joining.records.iter().flatten());
        pieces.extend(joining.map(|&(reference, units)| (reference, units as usize)));
        pieces.extend(state.lanes.iter().map(|lane| (lane.bump, (lane.bump_end - lane.bump) as usize)));
        pieces.retain(|&(_, units)| units > 0);
        for (reference, units) in pieces {
            let (first, last) =
                (reference >> BLOCK_UNITS_BITS, (reference as usize + units - 1) >> BLOCK_UNITS_BITS);
            assert_eq!(first as usize, last, "a record is in one block");
            assert!(last < state.block_count, "that the shard has");
            records.push((self.address(reference).addr(), units * REF_UNIT));
        }
    }
}
