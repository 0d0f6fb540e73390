//! The engine's small protocols under every order that weak memory allows.
//!
//! Each mirrors a few lines of the engine, which it names, with the same orderings. What a reader reads and a writer
//! writes without atomics is a cell that knows whether the one happens before the other.
//!
//! A processor such as x86 orders more than the language promises, so no test of the engine itself fails there when an
//! ordering of it is weakened. These lines are therefore compared with the engine's: see [`mirrors`].

#![allow(
    clippy::items_after_statements,
    reason = "a model begins with the lines of the engine that it is about"
)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// Runs the work on a thread of its own.
fn spawn<S: Send + Sync + 'static, T: 'static>(
    shared: &Arc<S>,
    work: impl FnOnce(&S) -> T + Send + 'static,
) -> JoinHandle<T> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// Asserts that the engine still has these lines, one after the other, in one place. Who changes an ordering there changes
/// the model first, and then the lines here.
#[track_caller]
fn mirrors(lines: &str) {
    let code =
        |text| str::lines(text).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    let engine: Vec<_> = code(include_str!("../../src/lib.rs")).collect();
    let lines: Vec<_> = code(lines).collect();
    let found = engine.windows(lines.len()).filter(|window| *window == lines).count();
    assert_eq!(found, 1, "the engine has these lines {found} times:\n{}", lines.join("\n"));
}

/// Plain bytes: written while nobody else may know them, and again when they are given back.
struct Bytes(UnsafeCell<u32>);

// SAFETY: loom fails the model where two threads access the cell and neither access happens before the other.
unsafe impl Sync for Bytes {}

const SPOILT: u32 = 0xa5a5_a5a5;

impl Bytes {
    fn new(value: u32) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn write(&self, value: u32) {
        // SAFETY: loom checks that nobody else accesses it.
        self.0.with_mut(|bytes| unsafe { bytes.write(value) });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom checks that nobody else writes it.
        self.0.with(|bytes| unsafe { bytes.read() })
    }
}

// --- reclamation

/// A slot as in `epoch::Slot`.
#[derive(Default)]
struct Slot {
    pinned: AtomicU64,
    store: AtomicUsize,
}

impl Slot {
    /// Of the store that it is pinned for.
    fn pinned_for(&self, store: usize) -> Option<u64> {
        let pinned = self.pinned.load(Acquire);
        let is_for = self.store.load(Acquire) == store;
        (pinned & 1 != 0 && is_for).then_some(pinned)
    }
}

/// The epoch, one reader's slots (its own and a spare one), and for each of two stores which of two blocks its word leads to.
struct Epoch {
    now: AtomicU64,
    /// As `Memory::safe`, for the one store that a model with it has.
    safe: AtomicU64,
    slots: [Slot; 2],
    leads_to: [AtomicUsize; 2],
    blocks: [[Bytes; 2]; 2],
}

/// As in `epoch`: epochs are odd.
const NEXT: u64 = 2;

/// Stores by number.
const ONE: usize = 1;
const TWO: usize = 2;

impl Epoch {
    fn new() -> Self {
        let block = || [Bytes::new(1), Bytes::new(2)];
        Self {
            now: AtomicU64::new(1),
            safe: AtomicU64::new(0),
            slots: Default::default(),
            leads_to: [AtomicUsize::new(0), AtomicUsize::new(0)],
            blocks: [block(), block()],
        }
    }

    fn pin(&self, store: usize) {
        self.pin_in(0, store);
    }

    /// `pin_again` where the last pin was for the same store, else `Slot::pin`, with the fence of a reader whom no system call
    /// helps.
    fn pin_in(&self, slot: usize, store: usize) {
        let slot = &self.slots[slot];
        if slot.pinned.load(Relaxed) != Self::ticket(store) {
            slot.store.store(store, Release);
        }
        slot.pinned.store(self.now.load(Acquire), Release);
        fence(SeqCst);
    }

    fn ticket(store: usize) -> u64 {
        2 * store as u64
    }

    fn unpin(&self) {
        self.unpin_in(0);
    }

    /// `Drop for Guard`.
    fn unpin_in(&self, slot: usize) {
        let slot = &self.slots[slot];
        slot.pinned.store(Self::ticket(slot.store.load(Relaxed)), Release);
    }

    /// What a pinned reader does.
    fn read(&self, store: usize) -> u32 {
        let block = self.leads_to[store - 1].load(Acquire);
        self.blocks[store - 1][block].read()
    }

    /// A writer takes a block out, and frees it where `Limbo::collect` would; whether it did.
    fn replace(&self, store: usize) -> bool {
        self.leads_to[store - 1].store(1, Release);
        let (ended, oldest) = self.advance(store);
        let free = ended < oldest;
        if free {
            self.blocks[store - 1][0].write(SPOILT);
        }
        free
    }

    /// The same, where others look who reads what: `Limbo::push`, and `Limbo::pop` some time later; whether it did.
    fn replace_and_leave(&self, store: usize, meanwhile: impl FnOnce()) -> bool {
        self.leads_to[store - 1].store(1, Release);
        fence(SeqCst);
        let epoch = self.now.load(Relaxed) + NEXT;
        meanwhile();
        let free = epoch < self.safe.load(Acquire);
        if free {
            self.blocks[store - 1][0].write(SPOILT);
        }
        free
    }

    fn advance(&self, store: usize) -> (u64, u64) {
        let now = self.now.load(SeqCst);
        fence(SeqCst);
        let ended = self.now.compare_exchange(now, now + NEXT, SeqCst, SeqCst).unwrap_or_else(|later| later);
        let pinned = self.slots.iter().filter_map(|slot| slot.pinned_for(store));
        let oldest = pinned.min().unwrap_or(u64::MAX);
        self.safe.fetch_max(oldest.min(now), AcqRel);
        (ended, oldest)
    }
}

#[test]
fn what_a_pinned_reader_can_reach_is_not_freed() {
    mirrors(
        "
        self.store.store(store, Release);
        self.begin(store as u64)
        ",
    );
    mirrors("let slot = OWN.try_with(Cell::get).ok().filter(|slot| slot.pinned.load(Relaxed) == ticket)?;");
    mirrors("self.word.store(self.free, Release);");
    mirrors(
        "
        let now = NOW.load(SeqCst);
        if !barrier::heavy() {
        ",
    );
    mirrors("let _ = NOW.compare_exchange(now, now + NEXT, SeqCst, SeqCst);");
    mirrors(
        "
        let pinned = slot.pinned.load(Acquire);
        let store = slot.store.load(Acquire) & !WRITES;
        if pinned & 1 != 0 && store == ptr::from_ref(memory).addr() {
        ",
    );
    model(|| {
        let epoch = Arc::new(Epoch::new());
        let reader = spawn(&epoch, |epoch| {
            for _ in 0..2 {
                epoch.pin(ONE);
                assert_ne!(epoch.read(ONE), SPOILT);
                epoch.unpin();
            }
        });
        epoch.replace(ONE);
        reader.join().unwrap();
    });
}

/// What one thread unlinks is freed by what another saw of the readers, who may have begun to look before.
#[test]
fn what_another_thread_found_safe_is_not_read() {
    mirrors("let _ = memory.safe.0.try_update(AcqRel, Relaxed, |safe| Some(safe.max(oldest.min(now))));");
    mirrors("self.0.push_back((NOW.load(Relaxed) + NEXT, item));");
    mirrors(
        "
        let safe = memory.safe.0.load(Acquire);
        if self.0.front()?.0 < safe { self.0.pop_front().map(|(_, item)| item) } else { None }
        ",
    );
    model(|| {
        let epoch = Arc::new(Epoch::new());
        let reader = spawn(&epoch, |epoch| {
            epoch.pin(ONE);
            assert_ne!(epoch.read(ONE), SPOILT);
            epoch.unpin();
        });
        let other = spawn(&epoch, |epoch| {
            (0..3).for_each(|_| _ = epoch.advance(ONE));
        });
        epoch.replace_and_leave(ONE, || ());
        reader.join().unwrap();
        other.join().unwrap();
    });
}

/// As above, where readers and writers run no fence and the system has their cores run one. Until then others may see what
/// a thread stores only after it has loaded more, here as late as its next load: that far a core holds both together.
#[test]
fn what_is_unlinked_without_a_fence_waits_for_two_barriers() {
    struct Cores {
        epoch: Epoch,
        reader: Mutex<()>,
        writer: Mutex<()>,
    }
    impl Cores {
        /// `advance`, with `barrier::heavy`.
        fn advance(&self) {
            let now = self.epoch.now.load(SeqCst);
            for core in [&self.reader, &self.writer] {
                drop(core.lock().unwrap());
            }
            let _ = self.epoch.now.compare_exchange(now, now + NEXT, SeqCst, SeqCst);
            let pinned = self.epoch.slots[0].pinned.load(Acquire);
            let oldest = if pinned & 1 != 0 { pinned } else { u64::MAX };
            self.epoch.safe.fetch_max(oldest.min(now), AcqRel);
        }
    }
    mirrors(
        "
        self.pinned.store(NOW.load(Acquire), Release);
        barrier::light();
        ",
    );
    mirrors(
        "
        barrier::before_now();
        self.0.push_back((NOW.load(Relaxed) + NEXT, item));
        ",
    );
    mirrors("membarrier(FENCE) == 0 || has_settled()");
    model(|| {
        let cores = Arc::new(Cores { epoch: Epoch::new(), reader: Mutex::new(()), writer: Mutex::new(()) });
        // It reads on, and on.
        let reader = spawn(&cores, |Cores { epoch, reader, .. }| {
            let now = epoch.now.load(Acquire);
            let core = reader.lock().unwrap();
            let block = epoch.leads_to[0].load(Acquire);
            epoch.slots[0].pinned.store(now, Release);
            drop(core);
            assert_ne!(epoch.blocks[0][block].read(), SPOILT);
        });
        let others = [spawn(&cores, Cores::advance), spawn(&cores, Cores::advance)];
        let core = cores.writer.lock().unwrap();
        let noted = cores.epoch.now.load(Relaxed) + NEXT;
        cores.epoch.leads_to[0].store(1, Release);
        drop(core);
        for other in others {
            other.join().unwrap();
        }
        if noted < cores.epoch.safe.load(Acquire) {
            cores.epoch.blocks[0][0].write(SPOILT);
        }
        reader.join().unwrap();
    });
}

/// `pin_slowly`: a thread that is pinned for one store takes a spare slot to pin for another.
#[test]
fn a_reader_of_two_stores_keeps_both() {
    mirrors("Guard { word: &own.nested, free: 0, not_send: PhantomData }");
    model(|| {
        let epoch = Arc::new(Epoch::new());
        let reader = spawn(&epoch, |epoch| {
            epoch.pin(ONE);
            epoch.pin_in(1, TWO);
            assert_ne!(epoch.read(TWO), SPOILT);
            epoch.unpin_in(1);
            assert_ne!(epoch.read(ONE), SPOILT);
            epoch.unpin();
        });
        epoch.replace(TWO);
        epoch.replace(ONE);
        reader.join().unwrap();
    });
}

/// A thread that goes from one store to another is taken for a reader of the one it is in.
#[test]
fn a_reader_that_changes_stores_keeps_the_new_one() {
    model(|| {
        let epoch = Arc::new(Epoch::new());
        let reader = spawn(&epoch, |epoch| {
            for store in [ONE, TWO] {
                epoch.pin(store);
                assert_ne!(epoch.read(store), SPOILT);
                epoch.unpin();
            }
        });
        epoch.replace(TWO);
        reader.join().unwrap();
    });
}

/// Without a reader all is freed, or the models above would show nothing.
#[test]
fn what_nobody_can_reach_is_freed() {
    model(|| {
        let epoch = Epoch::new();
        epoch.pin(ONE);
        assert!(!epoch.replace(ONE));
        assert!(epoch.replace(TWO));
        epoch.unpin();
        assert!(epoch.replace(ONE));
        let advance = |times| (0..times).for_each(|_| _ = epoch.advance(ONE));
        assert!(!epoch.replace_and_leave(ONE, || advance(2)));
        assert!(epoch.replace_and_leave(ONE, || advance(3)));
        epoch.pin(ONE);
        assert!(!epoch.replace_and_leave(ONE, || advance(3)));
    });
}

/// `take_slot`: one thread at a time has a slot, and sees what the one before did in it. A spare one is given back while it is
/// pinned: nobody takes it before the pin has ended.
#[test]
fn a_slot_has_one_thread_at_a_time() {
    mirrors(
        "
        if !slot.taken.load(Relaxed) && !slot.taken.swap(true, AcqRel) {
        if !slot.is_pinned(Acquire) {
        ",
    );
    mirrors(
        "
        if let Some(slot) = self.0.take() {
        slot.taken.store(false, Release);
        ",
    );
    mirrors(
        "
        let spare = take_slot();
        let guard = spare.pin(store);
        spare.taken.store(false, Release);
        guard
        ",
    );
    #[derive(Default)]
    struct Shared {
        taken: AtomicU32,
        pinned: AtomicU32,
    }
    for is_spare in [false, true] {
        model(move || {
            let slot = Arc::new((Shared::default(), Bytes::new(0)));
            let visit = |(slot, used): &(Shared, Bytes), is_spare: bool| {
                if slot.taken.load(Relaxed) != 0 || slot.taken.swap(1, AcqRel) != 0 {
                    return;
                }
                if slot.pinned.load(Acquire) == 0 {
                    slot.pinned.store(1, Release);
                    if is_spare {
                        slot.taken.store(0, Release);
                    }
                    used.write(used.read() + 1);
                    slot.pinned.store(0, Release);
                }
                if !is_spare {
                    slot.taken.store(0, Release);
                }
            };
            let other = spawn(&slot, move |other| visit(other, is_spare));
            visit(&slot, false);
            other.join().unwrap();
        });
    }
}

// --- publication

/// `hash::change_at` and `find`: a record, and the table of blocks that it is found by, are whole before the ref is
/// there; a tag may come before or after it.
#[test]
fn a_ref_leads_to_a_whole_record() {
    mirrors(
        "
        bucket.refs[slot].store(new as u32, Release);
        if present {
        ",
    );
    mirrors("let reference = self.first(slots).load(Acquire);");
    mirrors(
        "
        let reference = home.first(slots).load(Acquire);
        // SAFETY: H4, as in `shard`.
        let blocks = unsafe { &*self.shards.load(Acquire).add(segment.shard()) };
        ",
    );
    mirrors(
        "unsafe { (*blocks.load(Acquire).add(number)).load(Relaxed).cast::<[u8; REF_UNIT]>().add(unit).cast() }",
    );
    mirrors("shard.blocks.store(copy, Release);");
    mirrors("unsafe { (*self.shards.load(Relaxed).add(at)).store(copy, Release) };");
    model(|| {
        struct Bucket {
            tag: AtomicU32,
            reference: AtomicU32,
            /// Which table of blocks is the shard's.
            blocks: AtomicUsize,
            /// The second table, and its entry for the record's block.
            table: Bytes,
            entry: AtomicUsize,
            record: Bytes,
        }
        let bucket = Arc::new(Bucket {
            tag: AtomicU32::new(0),
            reference: AtomicU32::new(0),
            blocks: AtomicUsize::new(0),
            table: Bytes::new(0),
            entry: AtomicUsize::new(0),
            record: Bytes::new(0),
        });
        let reader = spawn(&bucket, |bucket| {
            if bucket.tag.load(Relaxed) == 7 && bucket.reference.load(Acquire) != 0 {
                // `Shard::record`
                assert_eq!(bucket.blocks.load(Acquire), 1);
                assert_eq!((bucket.table.read(), bucket.entry.load(Relaxed)), (5, 3));
                assert_eq!(bucket.record.read(), 42);
            }
        });
        // `add_block`
        bucket.table.write(5);
        bucket.blocks.store(1, Release);
        bucket.entry.store(3, Relaxed);
        bucket.record.write(42);
        bucket.reference.store(1, Release);
        bucket.tag.store(7, Release);
        reader.join().unwrap();
    });
}

/// `Leaf::put` and `seek`: a slot leads to a whole cell, whether the count covers it newly or it was written over.
#[test]
fn a_slot_leads_to_a_whole_cell() {
    mirrors(
        "
        self.slot_word(at).store(slot.0, Release);
        self.most.store(self.most.load(Relaxed).max(count as u16 + 1), Relaxed);
        self.count.store(count as u16 + 1, Release);
        ",
    );
    mirrors("leaf.slot_word(at).store(slot.with_cell(leaf.add_cell(cell())).0, Release);");
    mirrors("self.count.load(Acquire).into()");
    mirrors("Slot(self.slot_word(at).load(Acquire))");
    model(|| {
        struct Leaf {
            count: AtomicU32,
            slot: AtomicU64,
            cells: [Bytes; 3],
        }
        let cells = [Bytes::new(0), Bytes::new(0), Bytes::new(0)];
        let leaf = Arc::new(Leaf { count: AtomicU32::new(0), slot: AtomicU64::new(0), cells });
        let reader = spawn(&leaf, |leaf| {
            if leaf.count.load(Acquire) == 1 {
                let cell = leaf.slot.load(Acquire) as usize;
                assert_eq!(leaf.cells[cell].read() as usize, 10 + cell);
            }
        });
        leaf.cells[1].write(11);
        leaf.slot.store(1, Release);
        leaf.count.store(1, Release);
        leaf.cells[2].write(12);
        leaf.slot.store(2, Release);
        reader.join().unwrap();
    });
}

/// `Directory::segment`, and `lead`: a directory is whole when readers are led to it.
#[test]
fn a_directory_leads_to_whole_segments() {
    mirrors("self.directory.store(head, Release);");
    mirrors("Directory(self.directory.load(Acquire), PhantomData)");
    model(|| {
        let directory = Arc::new((AtomicUsize::new(0), [Bytes::new(1), Bytes::new(0)]));
        let reader = spawn(&directory, |directory| {
            let at = directory.0.load(Acquire);
            assert_eq!(directory.1[at].read() as usize, at + 1);
        });
        directory.1[1].write(2);
        directory.0.store(1, Release);
        reader.join().unwrap();
    });
}

// --- what threads see of each other's writes: the crate's documentation promises it

/// Two keys by the slots that publish them, each with its pair's version: `hash::change_at` and `find`, `Leaf::put` and `seek`.
#[derive(Default)]
struct TwoKeys([AtomicU32; 2]);

impl TwoKeys {
    fn write(&self, key: usize, version: u32) {
        self.0[key].store(version, Release);
    }

    fn find(&self, key: usize) -> u32 {
        self.0[key].load(Acquire)
    }
}

/// Runs the first on a thread of its own, the second on another, and gives what they return.
fn both<T: Send + 'static>(
    one: impl FnOnce(&TwoKeys) -> T + Send + 'static,
    two: impl FnOnce(&TwoKeys) -> T,
) -> (T, T) {
    let keys = Arc::new(TwoKeys::default());
    let one = spawn(&keys, one);
    let two = two(&keys);
    (one.join().unwrap(), two)
}

/// All threads agree on the order of one key's changes, so none goes back.
#[test]
fn the_changes_of_a_key_have_one_order() {
    mirrors("self.slot_word(at).store(slot.0, Release);");
    model(|| {
        let write =
            |keys: &TwoKeys| (1..=2).map(|version| keys.write(0, version)).fold((0, 0), |seen, ()| seen);
        let (_, (before, after)) = both(write, |keys| (keys.find(0), keys.find(0)));
        assert!(after >= before, "a reader went back");
    });
}

/// A thread that finds a value sees all that its writer had done before.
#[test]
fn a_value_that_is_found_brings_what_its_writer_did_before() {
    model(|| {
        let write = |keys: &TwoKeys| {
            keys.write(0, 1);
            keys.write(1, 1);
            (0, 0)
        };
        let (_, (second, first)) = both(write, |keys| (keys.find(1), keys.find(0)));
        assert!(second == 0 || first == 1, "the later write was seen without the earlier one");
    });
}

/// Two threads that each insert a key and then look for the other's may both miss it: no order is promised there.
#[test]
fn two_inserts_may_miss_each_other() {
    use std::sync::atomic::AtomicBool as Plain;
    static BOTH_MISSED: Plain = Plain::new(false);
    model(|| {
        let insert = |own: usize| {
            move |keys: &TwoKeys| {
                keys.write(own, 1);
                keys.find(1 - own)
            }
        };
        let found = both(insert(0), insert(1));
        BOTH_MISSED.fetch_or(found == (0, 0), std::sync::atomic::Ordering::Relaxed);
    });
    assert!(BOTH_MISSED.load(std::sync::atomic::Ordering::Relaxed), "the engine could promise more");
}

// --- owners

/// `Lock`, whose word is odd while a thread has it: that thread sees what the one before did, and does it alone.
struct Versioned {
    word: AtomicU64,
    held: Bytes,
    /// What others read without the lock.
    shown: [AtomicU32; 2],
}

impl Versioned {
    fn new() -> Self {
        let (word, shown) = (AtomicU64::new(0), [AtomicU32::new(0), AtomicU32::new(0)]);
        Self { word, held: Bytes::new(0), shown }
    }

    fn try_lock(&self) -> Option<u64> {
        let version = self.word.load(Relaxed) & !1;
        let locked = self.word.compare_exchange(version, version + 1, Acquire, Relaxed);
        locked.is_ok().then_some(version + 2)
    }

    fn change(&self) {
        let next = loop {
            match self.try_lock() {
                Some(next) => break next,
                None => thread::yield_now(),
            }
        };
        self.held.write(self.held.read() + 1);
        self.shown.iter().for_each(|shown| shown.store(shown.load(Relaxed) + 1, Release));
        self.word.store(next, Release);
    }

    /// `watched`: what was read, and the version that it belongs to.
    fn watch(&self) -> Option<([u32; 2], u64)> {
        let seen = self.word.load(Acquire);
        let found = self.shown.each_ref().map(|shown| shown.load(Acquire));
        fence(Acquire);
        (seen & 1 == 0 && self.word.load(Relaxed) == seen).then_some((found, seen))
    }
}

#[test]
fn a_lock_has_one_holder_at_a_time() {
    mirrors(
        "
        let version = self.0.load(Relaxed) & !1;
        let locked = self.0.compare_exchange(version, version + 1, Acquire, Relaxed);
        locked.is_ok().then(|| Locked(self, version + 2))
        ",
    );
    mirrors("self.0.0.store(self.1, Release);");
    model(|| {
        let lock = Arc::new(Versioned::new());
        let other = spawn(&lock, Versioned::change);
        lock.change();
        other.join().unwrap();
        assert_eq!((lock.held.read(), lock.word.load(Relaxed)), (2, 4));
    });
}

/// `Blob::disown`: the last owner frees the blob after all others have read it.
#[test]
fn a_blob_is_freed_after_its_last_reader() {
    mirrors("if self.head().owners.fetch_sub(1, AcqRel) == 1 {");
    model(|| {
        let blob = Arc::new((AtomicUsize::new(2), Bytes::new(1)));
        let read_and_disown = |blob: &(AtomicUsize, Bytes)| {
            assert_ne!(blob.1.read(), SPOILT);
            if blob.0.fetch_sub(1, AcqRel) == 1 {
                blob.1.write(SPOILT);
            }
        };
        let other = spawn(&blob, read_and_disown);
        read_and_disown(&blob);
        other.join().unwrap();
        assert_eq!(blob.1.read(), SPOILT);
    });
}

// --- the leaf's state

const LOCKED: u64 = 1;
const REPLACED: u64 = 2;
const MOVING: u64 = 4;
const CHANGED: u64 = 8;

/// Slots in order that move when one comes or goes, as in `Leaf::put` and `Leaf::remove`.
struct Moving {
    state: AtomicU64,
    count: AtomicUsize,
    slots: [AtomicU64; 3],
}

impl Moving {
    fn new(slots: [u64; 2]) -> Self {
        let [first, second] = slots.map(AtomicU64::new);
        let slots = [first, second, AtomicU64::new(0)];
        Self { state: AtomicU64::new(LOCKED), count: AtomicUsize::new(2), slots }
    }

    /// `Held::moving` to `Drop for Held`, by the holder of the lock.
    fn while_moving(&self, change: impl FnOnce(&Self)) {
        self.state.store(CHANGED | LOCKED | MOVING, Relaxed);
        change(self);
        self.state.store(CHANGED | LOCKED, Release);
        self.state.store(CHANGED, Release);
    }

    fn put_first(&self, slot: u64) {
        for moved in [1, 0] {
            self.slots[moved + 1].store(self.slots[moved].load(Acquire), Release);
        }
        self.slots[0].store(slot, Release);
        self.count.store(3, Release);
    }

    fn remove_first(&self) {
        self.slots[0].store(self.slots[1].load(Acquire), Release);
        self.count.store(1, Release);
    }

    /// `find`, which believes a miss only where nothing moved meanwhile. `None` where it would look again.
    fn finds(&self, key: u64) -> Option<bool> {
        let state = self.state.load(Acquire);
        let count = self.count.load(Acquire);
        let found = self.slots[..count].iter().any(|slot| slot.load(Acquire) == key);
        let is_still = state & MOVING == 0 && (self.state.load(Acquire) ^ state) & !LOCKED == 0;
        (found || is_still).then_some(found)
    }
}

#[test]
fn a_slot_that_moves_is_not_missed() {
    mirrors("self.state.store(self.next | LOCKED | SHIFTING, Relaxed);");
    mirrors("self.state.store(self.next | LOCKED, Release);");
    mirrors("self.state.store(self.next, Release);");
    mirrors("state & SHIFTING == 0 && (self.state.load(Acquire) ^ state) & !LOCKED == 0");
    for removes in [false, true] {
        model(move || {
            let leaf = Arc::new(Moving::new([10, 20]));
            let reader =
                spawn(&leaf, |leaf| assert_ne!(leaf.finds(20), Some(false), "it was there all the while"));
            leaf.while_moving(|leaf| if removes { leaf.remove_first() } else { leaf.put_first(5) });
            assert_eq!(leaf.finds(20), Some(true));
            assert_eq!((leaf.finds(5), leaf.finds(10)), (Some(!removes), Some(!removes)));
            reader.join().unwrap();
        });
    }
}

/// The leaf that the tree leads to, and the states of two leaves.
struct Tree {
    root: AtomicUsize,
    states: [AtomicU64; 2],
    /// What the holder of a leaf's lock changes without more.
    held: [Bytes; 2],
}

impl Tree {
    fn new() -> Self {
        let states = [AtomicU64::new(0), AtomicU64::new(0)];
        Self { root: AtomicUsize::new(0), states, held: [Bytes::new(0), Bytes::new(0)] }
    }

    /// `Held::wait`, of a leaf or of an inner node. Then what is changed is a child, and to replace it is to copy it.
    fn lock(&self, leaf: usize) -> Option<u64> {
        loop {
            let state = self.states[leaf].load(Relaxed);
            if state & REPLACED != 0 {
                fence(Acquire);
                return None;
            }
            if state & LOCKED == 0
                && self.states[leaf].compare_exchange(state, state | LOCKED, Acquire, Relaxed).is_ok()
            {
                return Some(state);
            }
            thread::yield_now();
        }
    }

    /// `Drop for Held`.
    fn unlock(&self, leaf: usize, next: u64) {
        self.states[leaf].store(next, Release);
    }

    /// `rebuild` and `publish`: the second leaf takes the place of the first.
    fn replace(&self) {
        let state = self.lock(0).expect("it is replaced here alone");
        self.held[1].write(self.held[0].read() + 10);
        self.root.store(1, Release);
        self.unlock(0, (state + CHANGED) | REPLACED);
    }

    /// What the holder of a leaf's lock does, who then gives it up; the state that it leaves.
    fn change_in(&self, leaf: usize, state: u64) -> u64 {
        self.held[leaf].write(self.held[leaf].read() + 1);
        self.unlock(leaf, state + CHANGED);
        state + CHANGED
    }

    /// `change` with its retries; the leaf that it changed, and the state that it left.
    fn change(&self) -> (usize, u64) {
        loop {
            let leaf = self.root.load(Acquire);
            if let Some(state) = self.lock(leaf) {
                return (leaf, self.change_in(leaf, state));
            }
            assert_eq!(self.root.load(Acquire), 1, "who saw the mark sees what replaced the leaf");
        }
    }
}

#[test]
fn changes_of_a_leaf_exclude_each_other_and_follow_it_when_it_is_replaced() {
    mirrors("let locked = state.compare_exchange(next, next | LOCKED, Acquire, Relaxed);");
    mirrors(
        "
        if state.load(Relaxed) & REPLACED != 0 {
        sync::atomic::fence(Acquire);
        return None;
        ",
    );
    mirrors(
        "
        link.place.store(low.0, Release);
        drop(link);
        locked.mark_replaced();
        ",
    );
    mirrors(
        "
        self.mark_changed();
        self.next |= REPLACED;
        ",
    );
    model(|| {
        let tree = Arc::new(Tree::new());
        let other = spawn(&tree, |tree| _ = tree.change());
        tree.replace();
        other.join().unwrap();
        // Whether it came before or after, the change is in the leaf that the tree leads to.
        assert_eq!(tree.held[1].read(), 11);
    });
}

/// `change_hinted`: a thread that remembers a leaf goes on in it without a look at the tree, if it is as it was left.
#[test]
fn a_remembered_leaf_is_changed_only_as_it_was_left() {
    model(|| {
        let tree = Arc::new(Tree::new());
        let replacer = spawn(&tree, Tree::replace);
        let writer = spawn(&tree, move |writer| {
            let (leaf, left) = writer.change();
            // `Held::unchanged`
            if writer.states[leaf].compare_exchange(left, left | LOCKED, Acquire, Relaxed).is_ok() {
                writer.change_in(leaf, left);
            } else {
                writer.change();
            }
        });
        replacer.join().unwrap();
        writer.join().unwrap();
        assert_eq!(tree.held[1].read(), 12, "both changes are in the leaf that the tree leads to");
    });
}

/// `Position::current`: a leaf of which a cursor remembers the state is not taken for unchanged once the cursor's own
/// thread has changed the leaf that replaced it.
#[test]
fn a_leaf_that_was_replaced_is_not_unchanged() {
    mirrors("(leaf.state().load(Acquire) == self.state).then_some(leaf)");
    model(|| {
        let tree = Arc::new(Tree::new());
        let other = spawn(&tree, Tree::replace);
        // `Position::seek`
        let remembered = tree.states[0].load(Acquire) & !LOCKED;
        if remembered & REPLACED == 0 {
            let _changed = tree.change();
            assert_ne!(tree.states[0].load(Acquire), remembered, "the change is not in what was copied");
        }
        other.join().unwrap();
    });
}

// --- snapshots and transactions

/// `Memory::without_writers` and `Table::enter`: what runs while writers are kept out meets none of them. A writer that goes on
/// sees the new snapshot.
#[test]
fn no_thread_writes_while_a_snapshot_opens() {
    mirrors(
        "
        let pinned = epoch::pin_to_write(&self.inner.memory);
        if self.inner.memory.newest.0.load(Acquire) != 0 { self.enter_slowly(pinned) } else { Ok(pinned) }
        ",
    );
    mirrors("let is_closed = || self.newest.0.load(Acquire) & CLOSED != 0;");
    mirrors("slots().filter(move |slot| slot.is_pinned(Acquire) && slot.store.load(Acquire) == store)");
    mirrors("self.0.store(self.1, Release);");
    mirrors(
        "
        word.store(closed.1 | CLOSED, Relaxed);
        sync::atomic::fence(SeqCst);
        let seen = !epoch::has_others() || platform::barrier::heavy();
        let mut turns = if seen { 0 } else { TURNS };
        while turns < TURNS && epoch::has_writers(self) {
        ",
    );
    const CLOSED: u64 = 1;
    model(|| {
        struct Store {
            epoch: Epoch,
            newest: AtomicU64,
            /// What writers change and the snapshot reads, and its generation.
            pairs: Bytes,
            opened: Bytes,
        }
        let store = Store {
            epoch: Epoch::new(),
            newest: AtomicU64::new(0),
            pairs: Bytes::new(0),
            opened: Bytes::new(0),
        };
        let store = Arc::new(store);
        let writer = spawn(&store, move |writer| {
            for _ in 0..2 {
                writer.epoch.pin(ONE);
                let newest = writer.newest.load(Acquire);
                if newest & CLOSED == 0 {
                    assert_eq!(newest >> 1, writer.opened.read().into());
                    writer.pairs.write(writer.pairs.read() + 1);
                }
                writer.epoch.unpin();
            }
        });
        store.newest.store(CLOSED, Relaxed);
        fence(SeqCst);
        // It does not wait here: it gives up, as after many turns.
        let mut newest = 0;
        if store.epoch.slots[0].pinned_for(ONE).is_none() {
            assert_eq!(store.opened.read(), 0);
            store.pairs.read();
            store.opened.write(1);
            newest = 1 << 1;
        }
        store.newest.store(newest, Release);
        writer.join().unwrap();
    });
}

/// `epoch::has_others`: a thread that takes its slot while writers are kept out without a barrier in other threads sees that in
/// its first pin, or is seen.
#[test]
fn a_thread_that_is_new_sees_that_a_store_is_closed_or_is_seen() {
    mirrors("slots().any(|slot| slot.taken.load(Relaxed) && slot.owner.load(Relaxed) != thread())");
    const CLOSED: u64 = 1;
    const OPENED: u64 = 2;
    model(|| {
        let store = Arc::new((AtomicU64::new(0), AtomicUsize::new(0), Bytes::new(0)));
        let other = spawn(&store, move |other| {
            let (newest, taken, pairs) = other;
            taken.store(1, Relaxed);
            // `epoch::pin_slowly`
            fence(SeqCst);
            if newest.load(Acquire) != CLOSED {
                pairs.write(1);
            }
        });
        let (newest, taken, pairs) = &*store;
        newest.store(CLOSED, Relaxed);
        fence(SeqCst);
        if taken.load(Relaxed) == 0 {
            assert_eq!(pairs.read(), 0);
        }
        newest.store(OPENED, Release);
        other.join().unwrap();
    });
}

/// `Past::prepare`: a writer that finds the root of the newest snapshot saved finds that root.
#[test]
fn a_saved_root_is_seen_with_its_generation() {
    mirrors(
        "
        self.root.store(root, Release);
        self.root_of.store(newest, Release);
        ",
    );
    model(|| {
        let past = Arc::new((AtomicU64::new(0), AtomicUsize::new(0), Bytes::new(0)));
        let other = spawn(&past, move |other| {
            if other.0.load(Acquire) == 1 {
                assert_eq!((other.1.load(Acquire), other.2.read()), (7, 7));
            }
        });
        past.2.write(7);
        past.1.store(7, Release);
        past.0.store(1, Release);
        other.join().unwrap();
    });
}

/// W1, `watched`: a value whose word has not changed is of one moment.
#[test]
fn what_is_read_under_one_version_is_of_one_moment() {
    mirrors("let seen = word.load(Acquire);");
    mirrors(
        "
        sync::atomic::fence(Acquire);
        (word.load(Relaxed) == seen).then_some((found, (ptr::from_ref(word), seen)))
        ",
    );
    model(|| {
        let pair = Arc::new(Versioned::new());
        let writer = spawn(&pair, Versioned::change);
        if let Some(([one, two], _)) = pair.watch() {
            assert_eq!(one, two);
        }
        writer.join().unwrap();
    });
}

/// W2, `Transaction::is_unchanged`: a transaction that finds no word changed, that of batches among them, has met all of a commit
/// or nothing.
#[test]
fn a_transaction_reads_no_half_of_a_commit() {
    mirrors("self.snapshots.batches.fetch_add(1, AcqRel);");
    mirrors("self.0.fetch_add(UNDER_WAY, AcqRel);");
    mirrors(
        "
        let now = unsafe { &*word }.load(Acquire);
        now == seen || now == seen + 1 && held(word)
        ",
    );
    const UNDER_WAY: u64 = 15;
    model(|| {
        let store = Arc::new((AtomicU64::new(0), [Versioned::new(), Versioned::new()]));
        let commit = spawn(&store, move |commit| {
            commit.0.fetch_add(1, AcqRel);
            commit.1.iter().for_each(Versioned::change);
            commit.0.fetch_add(UNDER_WAY, AcqRel);
        });
        let (batches, pairs) = &*store;
        let begun = batches.load(Acquire);
        if begun & UNDER_WAY == 0
            && let [Some((one, first)), Some((two, second))] = pairs.each_ref().map(Versioned::watch)
        {
            let words = [(&pairs[0].word, first), (&pairs[1].word, second), (batches, begun)];
            if words.iter().all(|(word, seen)| word.load(Acquire) == *seen) {
                assert_eq!(one, two);
            }
        }
        commit.join().unwrap();
    });
}
