//! The buffers through which bytes come in.
//!
//! The module owns them as plain vectors, so a range of addresses that a host names is looked up, never
//! trusted. The host writes into them between its calls, when no Rust code runs.

use std::cell::Cell;

use crate::failure::{Failed, Failure};
use crate::reserve;

/// Where bytes of the host are: their address and their length.
pub(crate) type Place = (usize, usize);

/// The buffers, in the order of their addresses.
pub(crate) struct Buffers {
    list: Vec<Vec<u8>>,
    /// The position of the one that the host's bytes were in last.
    latest: Cell<usize>,
}

impl Buffers {
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new(), latest: Cell::new(0) }
    }

    /// The host's bytes at `address`, which must lie within one buffer.
    #[cfg_attr(target_feature = "simd128", inline)]
    #[cfg_attr(not(target_feature = "simd128"), inline(never))] // one copy, not one in every export
    pub(crate) fn bytes(&self, (address, length): Place) -> Result<&[u8], Failed> {
        if length == 0 {
            return Ok(&[]); // has no address that could be wrong
        }
        let within = |position: usize| {
            let buffer = self.list.get(position)?;
            buffer.get(address.checked_sub(address_of(buffer))?..)?.get(..length)
        };
        let bytes = within(self.latest.get()).or_else(|| {
            self.latest.set(self.after(address).checked_sub(1)?);
            within(self.latest.get())
        });
        bytes.ok_or_else(|| Failed::with(|| Failure::Outside { address, length }))
    }

    /// As [`bytes`](Self::bytes), where a length of [`ABSENT`] stands for no bytes at all.
    pub(crate) fn optional_bytes(&self, place: Place) -> Result<Option<&[u8]>, Failed> {
        if place.1 == ABSENT { Ok(None) } else { self.bytes(place).map(Some) }
    }

    /// As [`bytes`](Self::bytes), which must be UTF-8.
    pub(crate) fn text(&self, place: Place) -> Result<&str, Failed> {
        reserve::ensure(place.1)?; // an error about it has a copy
        Ok(std::str::from_utf8(self.bytes(place)?).map_err(|_| Failure::Encoding)?)
    }

    /// A new buffer, all 0: its address.
    pub(crate) fn allocate(&mut self, length: usize) -> Result<usize, Failed> {
        let no_memory = |_| Failure::NoMemory { bytes: length };
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length.max(1)).map_err(no_memory)?; // at least 1: an address of its own
        buffer.resize(length.max(1), 0);
        self.list.try_reserve(1).map_err(no_memory)?;
        let address = address_of(&buffer);
        self.list.insert(self.after(address), buffer);
        Ok(address)
    }

    /// Ends the buffer that starts at `address`.
    pub(crate) fn free(&mut self, address: usize) -> Result<(), Failed> {
        let position = self
            .list
            .binary_search_by_key(&address, |buffer| address_of(buffer))
            .map_err(|_| Failure::NoBuffer { address })?;
        self.list.remove(position);
        Ok(())
    }

    /// The number of buffers that start at or before `address`.
    fn after(&self, address: usize) -> usize {
        self.list.partition_point(|buffer| address_of(buffer) <= address)
    }
}

/// The length that stands for an absent value.
pub(crate) const ABSENT: usize = usize::MAX;

fn address_of(buffer: &[u8]) -> usize {
    buffer.as_ptr().expose_provenance()
}
