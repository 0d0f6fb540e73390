//! The crossing buffer: memory that both halves see, for byte arrays too short to be worth a handle.
//!
//! It has three regions, one for each byte array that one call can have. JavaScript copies an argument to its region
//! and passes the length; a result goes the other way. `lib/crossing.js` has the other half.

use crate::encoding::BLOCK_ITEMS;
use crate::js::{Failed, Js, Value};

/// The bytes of a region. Longer arrays cross by their own buffer, which costs the same from 64 bytes on.
pub(crate) const REGION_BYTES: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    Key = 0,
    Value = 1,
    Expected = 2,
}

pub(crate) const REGIONS: usize = 3;

/// Behind the regions, words that tell how long the parts of one string are that carries many.
const LENGTHS: usize = 2 + BLOCK_ITEMS;

/// The native end of the buffer.
pub(crate) struct Crossing {
    start: *mut u8,
}

impl Crossing {
    /// A new buffer, for `lib/crossing.js` alone.
    pub(crate) fn new(js: Js<'_>) -> Result<(Self, Value<'_>), Failed> {
        let (buffer, start) = js.array_buffer(REGIONS * REGION_BYTES + LENGTHS * size_of::<u32>())?;
        js.keep(buffer)?;
        assert!(start.addr().is_multiple_of(align_of::<u32>()), "V8 aligns its buffers");
        Ok((Self { start }, buffer))
    }

    /// The first `len` bytes of a region, unless it has fewer.
    pub(crate) fn read(&self, region: Region, len: usize) -> Option<&[u8]> {
        if len > REGION_BYTES {
            return None;
        }
        // SAFETY: the region lies within the buffer, which is kept for as long as the environment lives; the
        // JavaScript files that have it never detach it. No JavaScript runs while this is borrowed, because
        // whoever holds a `Crossing` is called from the one thread that could run it.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(region as usize * REGION_BYTES), len) })
    }

    /// The words that tell how long the parts of one string are: two about the whole, then one for each part.
    fn words(&mut self) -> &mut [u32; LENGTHS] {
        const { assert!((REGIONS * REGION_BYTES).is_multiple_of(size_of::<u32>())) };
        // SAFETY: as in `read`. The words lie within the buffer behind the regions, which leave them aligned as `new` saw
        // its start is; `self` is borrowed mutably for as long as they are.
        #[allow(clippy::cast_ptr_alignment, reason = "see above")]
        unsafe {
            &mut *self.start.add(REGIONS * REGION_BYTES).cast()
        }
    }

    pub(crate) fn note(&mut self, at: usize, word: u32) {
        self.words()[at] = word;
    }

    pub(crate) fn lengths(&mut self) -> &mut [u32] {
        &mut self.words()[2..]
    }

    /// Puts the bytes at the start of a region, unless they are too many.
    pub(crate) fn write(&mut self, region: Region, bytes: &[u8]) -> bool {
        if bytes.len() > REGION_BYTES {
            return false;
        }
        // SAFETY: as in `read`; and `bytes` is not of the buffer, since `self` is borrowed mutably.
        unsafe {
            self.start
                .add(region as usize * REGION_BYTES)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        true
    }
}
