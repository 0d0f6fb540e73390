//! Numbers that stand for native things in JavaScript.

use std::collections::TryReserveError;

use crate::fault::Fault;

/// Things by number. The number of a thing that was closed is not given away again before the JavaScript object
/// that carries it is gone too, so that no object can ever mean another's thing.
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

enum Slot<T> {
    Open(T),
    /// Closed for now: what it was opened through is about to be.
    Parked(T),
    Closed,
    /// What it was opened through, a snapshot, is closed, and the store is not.
    Ended,
    Free,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Gives a thing a number, or drops it where there is no memory. The list of free numbers has room for all, since those
    /// that come back later cannot fail.
    pub(crate) fn add(&mut self, thing: T) -> Result<u32, TryReserveError> {
        let slot = Slot::Open(thing);
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = slot;
            return Ok(number);
        }
        self.slots.try_reserve(1)?;
        self.free.try_reserve(self.slots.len() + 1)?;
        self.slots.push(slot);
        Ok(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 JavaScript objects fit into memory"))
    }

    #[inline]
    pub(crate) fn get<'c>(&self, number: u32) -> Result<&T, Fault<'c>> {
        match self.slots.get(number as usize) {
            Some(Slot::Open(thing)) => Ok(thing),
            Some(Slot::Ended) => Err(Fault::ended()),
            _ => Err(Fault::closed()),
        }
    }

    pub(crate) fn get_mut<'c>(&mut self, number: u32) -> Result<&mut T, Fault<'c>> {
        match self.slots.get_mut(number as usize) {
            Some(Slot::Open(thing)) => Ok(thing),
            Some(Slot::Ended) => Err(Fault::ended()),
            _ => Err(Fault::closed()),
        }
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| if let Slot::Open(thing) = slot { Some(thing) } else { None })
    }

    /// Drops the things for which `is` holds and keeps their numbers. `is_end`: their store goes on.
    pub(crate) fn close_where(&mut self, is_end: bool, is: impl Fn(&T) -> bool) {
        for slot in &mut self.slots {
            if matches!(slot, Slot::Open(thing) | Slot::Parked(thing) if is(thing)) {
                *slot = if is_end { Slot::Ended } else { Slot::Closed };
            }
        }
    }

    /// Keeps the things for which `is` holds where nobody finds them, or brings them back.
    pub(crate) fn park_where(&mut self, parked: bool, is: impl Fn(&T) -> bool) {
        for slot in &mut self.slots {
            *slot = match std::mem::replace(slot, Slot::Closed) {
                Slot::Open(thing) if parked && is(&thing) => Slot::Parked(thing),
                Slot::Parked(thing) if !parked && is(&thing) => Slot::Open(thing),
                other => other,
            };
        }
    }

    /// Puts back what was taken out by [`close`](Self::close), unless its object is gone since.
    pub(crate) fn reopen(&mut self, number: u32, thing: T) {
        if let Some(slot @ Slot::Closed) = self.slots.get_mut(number as usize) {
            *slot = Slot::Open(thing);
        }
    }

    /// Takes the thing out and keeps its number.
    pub(crate) fn close(&mut self, number: u32) -> Option<T> {
        let slot = self.slots.get_mut(number as usize).filter(|slot| matches!(slot, Slot::Open(_)))?;
        match std::mem::replace(slot, Slot::Closed) {
            Slot::Open(thing) => Some(thing),
            _ => None,
        }
    }

    /// Drops the thing and gives its number back.
    pub(crate) fn free(&mut self, number: u32) {
        if let Some(slot) = self.slots.get_mut(number as usize).filter(|slot| !matches!(slot, Slot::Free)) {
            *slot = Slot::Free;
            self.free.push(number);
        }
        // A burst of things is not to make every later walk over all slots longer.
        if self.free.len() == self.slots.len() {
            self.slots.clear();
            self.free.clear();
        }
    }
}
