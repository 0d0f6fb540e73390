//! The layout of a record: what it is written from and how it is read.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use super::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The record has a deadline; the word of its last use; a value length of 32 bits.
pub(super) const EXPIRES: u32 = 1 << 16;
pub(super) const IDLES: u32 = 1 << 17;
const LONG: u32 = 1 << 18;
const VALUE_SHIFT: u32 = 19;
/// Values of so many bytes and more have their length in a word of its own.
const LONG_VALUE: usize = 1 << 13;
/// Records begin at multiples of this, or of a larger power of two in caches of more than 4 GiB.
pub(super) const UNIT: u32 = 2;

/// What a record is written from.
#[derive(Clone, Copy)]
pub(super) struct Pair<'p> {
    pub(super) key: &'p [u8],
    pub(super) value: &'p [u8],
    /// When it expires, or `NEVER`.
    pub(super) deadline: u64,
    /// The tick of its last use, in a cache with a time to idle.
    pub(super) used: Option<u64>,
}

pub(super) const NEVER: u64 = u64::MAX;

impl Pair<'_> {
    const fn flags(&self) -> u32 {
        (if self.deadline == NEVER { 0 } else { EXPIRES })
            | (if self.used.is_none() { 0 } else { IDLES })
            | (if self.value.len() < LONG_VALUE { 0 } else { LONG })
    }

    /// The bytes of its record.
    pub(super) const fn size(&self, unit: u32) -> usize {
        (Record::body_at(self.flags()) + self.key.len() + self.value.len()).next_multiple_of(1 << unit)
    }

    /// # Safety
    /// At `at`, which is aligned to 4, the caller owns `size` bytes that nobody else reads: I3.
    pub(super) unsafe fn write(&self, at: NonNull<u8>) {
        let flags = self.flags();
        let length = if flags & LONG == 0 { self.value.len() as u32 } else { 0 };
        let mut words = at.cast::<u32>();
        // SAFETY: I3, the caller's promise. `body_at` counts these words.
        let mut put = |word: u32| unsafe {
            words.write(word);
            words = words.add(1);
        };
        put(self.key.len() as u32 | flags | length << VALUE_SHIFT);
        if flags & LONG != 0 {
            put(self.value.len() as u32);
        }
        for time in [Some(self.deadline).filter(|&time| time != NEVER), self.used].into_iter().flatten() {
            put(time as u32);
            put((time >> 32) as u32);
        }
        let body = words.cast::<u8>();
        // SAFETY: I3, the caller's promise.
        unsafe {
            body.copy_from_nonoverlapping(NonNull::from(self.key).cast(), self.key.len());
            copy(self.value, body.add(self.key.len()).as_ptr());
        }
    }
}

/// # Safety
/// The caller owns as many bytes at `to`, and nobody else reads them: I3.
unsafe fn copy(from: &[u8], to: *mut u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's promise.
    let (from, to) = if from.len() >= 1024 { unsafe { copy_lines(from, to) } } else { (from, to) };
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
}

/// Copies all whole lines of at least 64 bytes to memory that was not used for long. Returns the rest, and where it goes.
///
/// GB a second of values of 1, 6 and 40 KB on an EPYC, of which the C library copies 11, 10 and 9: stores of a register 15, 17
/// and 14, those past the processor's caches 6, 17 and 23.
///
/// # Safety
/// As of `copy`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_lines(from: &[u8], to: *mut u8) -> (&[u8], *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_storeu_si128, _mm_stream_si128};
    const PAST_CACHES: usize = 16 << 10;
    let is_past = from.len() >= PAST_CACHES;
    let (head, body) = from.split_at(to.align_offset(64));
    let (lines, rest) = body.as_chunks::<64>();
    // SAFETY: I3. Both sides have as many bytes. All x86-64 processors have these instructions, and the fence keeps what
    // publishes the record behind them.
    unsafe {
        to.copy_from_nonoverlapping(head.as_ptr(), head.len());
        let mut to = to.add(head.len());
        for line in lines {
            for at in [0, 16, 32, 48] {
                let (to, four) =
                    (to.add(at).cast::<__m128i>(), _mm_loadu_si128(line.as_ptr().add(at).cast()));
                if is_past { _mm_stream_si128(to, four) } else { _mm_storeu_si128(to, four) }
            }
            to = to.add(64);
        }
        _mm_sfence();
        (rest, to)
    }
}

/// A record that is whole: I3. Its holder is pinned or has the lock.
#[derive(Clone, Copy)]
pub(super) struct Record<'r> {
    at: *const u8,
    whole: PhantomData<&'r [u8]>,
}

impl<'r> Record<'r> {
    /// # Safety
    /// A whole record is there for as long as `'r`: I1, I2.
    #[inline(always)]
    pub(super) unsafe fn at(at: *const u8) -> Self {
        Self { at, whole: PhantomData }
    }

    /// Where its key begins.
    #[inline(always)]
    const fn body_at(flags: u32) -> usize {
        let words = 1 + (flags >> 18 & 1) + (flags >> 16 & 1) * 2 + (flags >> 17 & 1) * 2;
        words as usize * 4
    }

    #[inline(always)]
    pub(super) fn head(self) -> u32 {
        self.word(0)
    }

    #[inline(always)]
    fn word(self, number: usize) -> u32 {
        // SAFETY: I3. The flags say that the word is there.
        unsafe { self.at.cast::<u32>().add(number).read() }
    }

    #[inline(always)]
    pub(super) fn key_len(self) -> usize {
        (self.head() & 0xffff) as usize
    }

    #[inline(always)]
    pub(super) fn value_len(self) -> usize {
        if self.head() & LONG == 0 { (self.head() >> VALUE_SHIFT) as usize } else { self.word(1) as usize }
    }

    #[inline(always)]
    fn bytes(self, from: usize, len: usize) -> &'r [u8] {
        // SAFETY: I3, and no word of the last use is in it.
        unsafe { slice::from_raw_parts(self.at.add(from), len) }
    }

    #[inline(always)]
    pub(super) fn key(self) -> &'r [u8] {
        self.bytes(Self::body_at(self.head()), self.key_len())
    }

    #[inline(always)]
    pub(super) fn value(self) -> &'r [u8] {
        self.bytes(Self::body_at(self.head()) + self.key_len(), self.value_len())
    }

    /// When it expires, or `NEVER`.
    pub(super) fn deadline(self) -> u64 {
        if self.head() & EXPIRES == 0 {
            return NEVER;
        }
        let at = 1 + (self.head() >> 18 & 1) as usize;
        u64::from(self.word(at)) | u64::from(self.word(at + 1)) << 32
    }

    /// The tick of its last use, in a cache with a time to idle.
    pub(super) fn used(self) -> Option<&'r Tick> {
        let at = || self.at.wrapping_add(Self::body_at(self.head()) - size_of::<Tick>());
        // SAFETY: I3. The two words are the last ones before the key, and everybody uses them as atomics.
        (self.head() & IDLES != 0).then(|| unsafe { &*at().cast::<Tick>() })
    }

    pub(super) fn size(self, unit: u32) -> usize {
        (Self::body_at(self.head()) + self.key_len() + self.value_len()).next_multiple_of(1 << unit)
    }

    pub(super) fn pair(self) -> Pair<'r> {
        let used = self.used().map(Tick::load);
        Pair { key: self.key(), value: self.value(), deadline: self.deadline(), used }
    }
}

/// When a pair was used last, its low half first. A record is aligned to 4, so these are two words; 32 bits of milliseconds
/// are over after 50 days.
#[repr(transparent)]
pub(super) struct Tick([AtomicU32; 2]);

impl Tick {
    pub(super) fn load(&self) -> u64 {
        u64::from(self.0[0].load(Relaxed)) | u64::from(self.0[1].load(Relaxed)) << 32
    }

    /// Another thread may see one half alone. Both are of a pair that was used just now, or the pair has idled for 50 days.
    pub(super) fn store(&self, tick: u64) {
        for (half, value) in self.0.iter().zip([tick as u32, (tick >> 32) as u32]) {
            if half.load(Relaxed) != value {
                half.store(value, Relaxed);
            }
        }
    }
}
