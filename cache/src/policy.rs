//! The policy of eviction: which queue a pair goes to, and what is evicted.

use super::{Queue, State};

/// The numbers of the eviction policy, which were found by simulation on 19 made and 60 recorded traces.
///
/// `share` is the small queue's part of the cache. It follows what comes back soon after it was evicted, and from which queue:
/// 1 to 2 % for keys of steady popularity, 35 to 50 % where popularity drifts. `credit` bounds what eviction copies. Where
/// nothing is promoted, as in a loop, it runs out, and the main queue stays as it is, which is best there.
pub(super) struct Policy {
    pub(super) share: std::ops::RangeInclusive<f64>,
    /// How much one ghost moves the share.
    step: f64,
    /// The most credit: a part of the cache, so many bytes, so many entries. More than this changes nothing.
    most_credit: (f64, f64, f64),
    /// What a written and a promoted pair earn, as multiples of their weight.
    written: f64,
    promoted: f64,
    /// How many uses count. With 3 drift is 1 point worse, with 1 zipf 0.7.
    pub(super) most_uses: u32,
    /// Below this share small pairs that get one more turn have it in the main queue.
    small_share: f64,
    /// The least probability that a small pair goes as others do.
    least: f64,
    /// A small pair that stays gets so many turns at once, since each decision may copy it. With 1 instead of 8 mixed sizes hit the
    /// same, within 0.4 points, for four copies of each pair that is evicted instead of a half.
    pub(super) turns: u8,
}

pub(super) const POLICY: Policy = Policy {
    share: 0.01..=0.5,
    step: 1.0 / 512.0,
    most_credit: (0.02, 262_144.0, 1000.0),
    written: 0.6,
    promoted: 8.0,
    most_uses: 2,
    small_share: 0.04,
    least: 0.1,
    turns: 8,
};

#[expect(clippy::cast_precision_loss, reason = "the policy needs no more than some digits")]
impl State {
    /// What a record counts for: its bytes, or 1 where the number of pairs is limited.
    pub(super) fn weight(&self, size: usize) -> f64 {
        if self.bytes == usize::MAX { 1.0 } else { size as f64 }
    }

    /// What the records of a queue count for, and what those of the whole cache may.
    pub(super) fn size(&self, queue: Queue) -> f64 {
        let total = &self.totals[queue as usize];
        if self.bytes == usize::MAX { total.pairs as f64 } else { total.bytes as f64 }
    }

    pub(super) fn whole(&self) -> f64 {
        if self.bytes == usize::MAX {
            return self.entries as f64;
        }
        self.bytes.saturating_sub(self.overhead) as f64
    }

    pub(super) fn earn(&mut self, multiple: f64, weight: f64) {
        let (part, bytes, entries) = POLICY.most_credit;
        let most = if self.bytes == usize::MAX { entries } else { bytes };
        self.credit = (self.credit + multiple * weight).min(most.min(part * self.whole()) + weight);
    }

    /// True with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// A record's weight beside the average.
    pub(super) fn relative(&self, weight: f64) -> f64 {
        if self.bytes == usize::MAX {
            return 1.0;
        }
        weight * self.pairs() as f64 / (self.size(Queue::Small) + self.size(Queue::Main)).max(1.0)
    }

    /// The queue for a new pair, of which there may be a ghost: the queue that it was evicted from, and whether that was of late.
    pub(super) fn queue_for(&mut self, size: usize, ghost: Option<(Queue, bool)>) -> Queue {
        let weight = self.weight(size);
        self.earn(POLICY.written, weight);
        if let Some((from, true)) = ghost {
            let [small, main] = self.drops;
            let step = match from {
                Queue::Small => (main / small).min(1.0),
                Queue::Main => -(small / main).min(1.0),
            };
            let share = self.share + POLICY.step * step;
            self.share = share.clamp(*POLICY.share.start(), *POLICY.share.end());
        }
        let has_room = self.size(Queue::Main) < (1.0 - self.share) * self.whole();
        // Ghosts of the main queue only move the share: in a loop each of them would evict the next one.
        let is_small_ghost = matches!(ghost, Some((Queue::Small, _)));
        let relative = self.relative(weight).max(1.0);
        let returns = is_small_ghost
            && (self.credit > 0.0 || has_room)
            && (relative <= 1.0 || self.happens(1.0 / (relative * relative.sqrt())));
        // A new cache fills its main queue first: a loop that nearly fits is then held as far as it does.
        if returns || !self.was_full && has_room { Queue::Main } else { Queue::Small }
    }

    /// Where a pair goes that the hand has reached, and with how many uses. `None` if it is evicted. Small pairs cost little, so
    /// they stay a bit longer.
    pub(super) fn verdict(&mut self, queue: Queue, uses: u32, size: usize) -> Option<(Queue, u32)> {
        let weight = self.weight(size);
        let relative = self.relative(weight).max(POLICY.least);
        let stays = relative < 1.0 && !self.happens(relative);
        // As many turns in the mean as if each had this probability.
        let more = (1.0 / relative - 1.0).max(0.0);
        match queue {
            Queue::Small if uses > 0 => {
                self.earn(POLICY.promoted, weight);
                Some((Queue::Main, 0))
            }
            Queue::Small if stays && self.share < POLICY.small_share => Some((Queue::Main, 0)),
            Queue::Small => {
                self.happens(more / (f64::from(POLICY.turns) + more)).then_some((Queue::Small, 0))
            }
            Queue::Main if uses > 0 => {
                self.credit -= weight;
                Some((Queue::Main, if stays { uses } else { uses - 1 }))
            }
            Queue::Main => None,
        }
    }

    /// Counts a pair that was evicted from a queue.
    pub(super) fn count_drop(&mut self, queue: Queue) {
        self.was_full = true;
        self.drops[queue as usize] += 1.0;
        let [small, main] = self.drops;
        if small + main > 2.0 * self.pairs() as f64 {
            self.drops = [(small / 2.0).max(1.0), (main / 2.0).max(1.0)];
        }
    }
}
