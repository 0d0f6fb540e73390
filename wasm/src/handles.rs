//! Handles: the integers by which a host names stores, tables, caches, snapshots, transactions, cursors and iterators.
//!
//! A handle is a slot's position and how often the slot was used before:
//!
//! ```text
//! 31   30 ........ 20   19 ........ 0
//! 0    use (2,048)      position from 1
//! ```
//!
//! A slot that has been used as often as the bits can tell is never used again, so no handle is given
//! twice, and a closed one can always be told from an open one.

#[cfg(feature = "journal")]
use std::cell::RefCell;
use std::rc::Rc;

use twindex::{Snapshot, Store, Table};

use crate::buffered_cursor::BufferedCursor;
use crate::cached::Cached;
use crate::expiring::Expiring;
use crate::expiry::{Expiry, Removal};
use crate::failure::{Failed, Failure};
use crate::iterator::Iterator;
#[cfg(feature = "journal")]
use crate::journal::Journal;
use crate::journal::{Logged, Shared};
use crate::pairs::Pairs;
use crate::stored::Stored;
use crate::transaction::Open;

const POSITION_BITS: u32 = 20;
const POSITION_MASK: u32 = (1 << POSITION_BITS) - 1;
const LAST_USE: u32 = (1 << 11) - 1;

/// From what an object was opened: the store, and within that the snapshot or the transaction, or the store again. What is opened from
/// a cache has its handle twice.
#[derive(Clone, Copy)]
pub(crate) struct Of {
    pub(crate) store: u32,
    pub(crate) within: u32,
}

/// What a handle names.
pub(crate) enum Object {
    Store {
        store: Store,
        journal: Option<Shared>,
    },
    Cache(Cached),
    Snapshot {
        of: Of,
        snapshot: Snapshot,
        /// The time at which it was taken.
        moment: u64,
        /// How many it has.
        tables: usize,
    },
    Transaction {
        of: Of,
        transaction: Rc<Open>,
    },
    Table {
        of: Of,
        table: Table,
        logged: Option<Logged>,
        expiry: Option<Expiry>,
    },
    /// A table in a transaction.
    Part {
        of: Of,
        table: Table,
        transaction: Rc<Open>,
        expiry: Option<Expiry>,
    },
    Cursor {
        of: Of,
        cursor: Box<BufferedCursor>,
    },
    Iterator {
        of: Of,
        iterator: Box<Iterator>,
    },
}

impl Object {
    fn kind(&self) -> &'static str {
        match self {
            Self::Store { .. } => "store",
            Self::Table { .. } => "table",
            Self::Part { .. } => "transaction's table",
            Self::Snapshot { .. } => "snapshot",
            Self::Transaction { .. } => "transaction",
            Self::Cache(_) => "cache",
            Self::Cursor { .. } => "cursor",
            Self::Iterator { .. } => "iterator",
        }
    }

    /// Whether it was opened from what this handle names.
    fn is_of(&self, handle: u32) -> bool {
        match self {
            Self::Store { .. } | Self::Cache(_) => false,
            Self::Snapshot { of, .. }
            | Self::Transaction { of, .. }
            | Self::Table { of, .. }
            | Self::Part { of, .. }
            | Self::Cursor { of, .. }
            | Self::Iterator { of, .. } => of.store == handle || of.within == handle,
        }
    }

    /// Whether others close with it.
    fn is_owner(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Cache(_) | Self::Snapshot { .. } | Self::Transaction { .. })
    }
}

struct Slot {
    used_before: u32,
    object: Option<Object>,
}

/// Every open object.
pub(crate) struct Handles {
    slots: Vec<Slot>,
    /// Positions that are free; its capacity is that of `slots`, so that closing needs no memory.
    free: Vec<u32>,
}

impl Handles {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Opens `object`: its handle.
    fn open(&mut self, object: Object) -> Result<u32, Failed> {
        let position = self.free_position()?;
        let slot = self.slots.get_mut(position as usize).ok_or(Failure::NoHandle)?;
        slot.object = Some(object);
        Ok(slot.used_before << POSITION_BITS | (position + 1))
    }

    /// Opens `object`: its handle as a status.
    pub(crate) fn open_as_status(&mut self, object: Object) -> Result<i32, Failed> {
        self.open(object).map(u32::cast_signed)
    }

    fn free_position(&mut self) -> Result<u32, Failed> {
        if let Some(position) = self.free.pop() {
            return Ok(position);
        }
        let position = self.slots.len();
        if position >= POSITION_MASK as usize {
            return Err(Failure::NoHandle.into());
        }
        let no_memory = |_| Failure::NoMemory { bytes: size_of::<Slot>() };
        self.slots.try_reserve(1).map_err(no_memory)?;
        self.free.try_reserve(self.slots.capacity()).map_err(no_memory)?;
        self.slots.push(Slot { used_before: 0, object: None });
        Ok(position as u32)
    }

    /// Closes an object, and with a store, a cache, a snapshot or a transaction all that was opened from it.
    pub(crate) fn close(&mut self, handle: u32) -> Result<(), Failed> {
        let object = self.find(handle)?.object.take();
        self.retire(handle);
        if object.is_some_and(|object| object.is_owner()) {
            for position in 0..self.slots.len() {
                let slot = &mut self.slots[position];
                if slot.object.as_ref().is_some_and(|object| object.is_of(handle)) {
                    slot.object = None;
                    self.retire(position as u32 + 1);
                }
            }
        }
        Ok(())
    }

    /// Makes the slot of a closed handle ready for its next use, if it has one left.
    fn retire(&mut self, handle: u32) {
        let position = (handle & POSITION_MASK) - 1;
        let slot = &mut self.slots[position as usize];
        if slot.used_before < LAST_USE {
            slot.used_before += 1;
            self.free.push(position);
        }
    }

    fn find(&mut self, handle: u32) -> Result<&mut Slot, Failed> {
        let slot = (handle & POSITION_MASK)
            .checked_sub(1)
            .and_then(|position| self.slots.get_mut(position as usize))
            .filter(|slot| slot.object.is_some() && slot.used_before == handle >> POSITION_BITS);
        slot.ok_or_else(|| closed(handle))
    }

    pub(crate) fn object(&mut self, handle: u32) -> Result<&mut Object, Failed> {
        self.find(handle)?.object.as_mut().ok_or_else(|| closed(handle))
    }

    /// A store, and its journal if it is kept in a file.
    pub(crate) fn kept(&mut self, handle: u32) -> Result<(&Store, &mut Option<Shared>), Failed> {
        match self.object(handle)? {
            Object::Store { store, journal } => Ok((store, journal)),
            other => Err(wrong_kind(handle, other, "store")),
        }
    }

    /// The journal of a store, or a new one that [`keep`](Self::keep) gives it.
    #[cfg(feature = "journal")]
    pub(crate) fn journal(&mut self, handle: u32) -> Result<Shared, Failed> {
        let (store, journal) = self.kept(handle)?;
        Ok(journal.clone().unwrap_or_else(|| Rc::new(RefCell::new(Journal::new(handle, store)))))
    }

    /// Gives a store a journal or takes it, and the tables of it that are open their places in the file.
    #[cfg(feature = "journal")]
    pub(crate) fn keep(&mut self, handle: u32, new: Option<&Shared>) -> Result<(), Failed> {
        *self.kept(handle)?.1 = new.cloned();
        for slot in &mut self.slots {
            if let Some(Object::Table { of, table, logged, .. }) = &mut slot.object
                && of.store == handle
                && of.within == handle
            {
                let place = new.and_then(|journal| Some((journal, journal.borrow().id(table)?)));
                *logged = place.map(|(journal, id)| Logged { journal: Rc::clone(journal), id });
            }
        }
        Ok(())
    }

    /// The removal of a table's expired pairs, which all its handles share.
    pub(crate) fn removal(&self, store: u32, name: &str) -> Rc<Removal> {
        let of_slot = |slot: &Slot| match &slot.object {
            Some(
                Object::Table { of, table, expiry: Some(expiry), .. }
                | Object::Part { of, table, expiry: Some(expiry), .. },
            ) if of.store == store && table.name() == name && !table.is_dropped() => {
                Some(Rc::clone(&expiry.removal))
            }
            _ => None,
        };
        self.slots.iter().find_map(of_slot).unwrap_or_default()
    }

    /// A table, of a transaction too, or a cache.
    #[inline]
    pub(crate) fn pairs(&mut self, handle: u32) -> Result<Pairs<'_>, Failed> {
        let (stored, expiry) = match self.object(handle)? {
            Object::Table { table, logged, expiry, .. } => (Stored::Table(table, logged.as_ref()), expiry),
            Object::Part { table, transaction, expiry, .. } => (Stored::Part(table, transaction), expiry),
            Object::Cache(cache) => return Ok(Pairs::Cache(cache)),
            other => return Err(wrong_kind(handle, other, "table")),
        };
        let Some(expiry) = expiry else { return Ok(Pairs::Plain(stored)) };
        expiry.exists();
        Ok(Pairs::Expiring(Expiring { stored, expiry }))
    }

    /// A table, of no transaction, whether its pairs expire, and from what it was opened.
    pub(crate) fn table(&mut self, handle: u32) -> Result<(&Table, Option<&Expiry>, Of), Failed> {
        match self.object(handle)? {
            Object::Table { table, expiry, of, .. } => Ok((table, expiry.as_ref(), *of)),
            other => Err(wrong_kind(handle, other, "table")),
        }
    }

    pub(crate) fn transaction(&mut self, handle: u32) -> Result<(&Rc<Open>, u32), Failed> {
        match self.object(handle)? {
            Object::Transaction { of, transaction } => Ok((transaction, of.store)),
            other => Err(wrong_kind(handle, other, "transaction")),
        }
    }
}

/// Has [`Handles`] find an object of one kind.
macro_rules! find {
    ($($(#[$attribute:meta])* $name:ident -> $of:ty = $object:pat => $found:expr;)*) => {
        impl Handles {
            $($(#[$attribute])* pub(crate) fn $name(&mut self, handle: u32) -> Result<$of, Failed> {
                match self.object(handle)? {
                    $object => Ok($found),
                    other => Err(wrong_kind(handle, other, stringify!($name))),
                }
            })*
        }
    };
}

find! {
    store -> &Store = Object::Store { store, .. } => store;
    #[cfg(feature = "caches")]
    cache -> &Cached = Object::Cache(cache) => cache;
    cursor -> &mut BufferedCursor = Object::Cursor { cursor, .. } => cursor;
    iterator -> &mut Iterator = Object::Iterator { iterator, .. } => iterator;
}

fn closed(handle: u32) -> Failed {
    Failed::with(|| Failure::Closed { handle })
}

#[cold]
pub(crate) fn wrong_kind(handle: u32, object: &Object, needs: &'static str) -> Failed {
    Failure::Kind { handle, is: object.kind(), needs }.into()
}
