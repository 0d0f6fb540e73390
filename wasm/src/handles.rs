//! Handles: the integers by which a host names stores, tables, caches, snapshots, transactions, cursors and iterators.
//!
//! Handles are counted up, and the lowest bits of one are its slot. A number whose slot is taken is passed over, so a look-up reads one
//! slot. A handle comes again only after a billion others, so a closed one can be told from an open one. The slots are as many as
//! objects were open at once: what closes all objects of a store reads all of them.

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

/// The highest handle: no status that is one is negative.
const LAST: u32 = i32::MAX.cast_unsigned();
const LEAST_SLOTS: usize = 8;
const MOST_SLOTS: usize = 1 << 21;

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

/// An open object and its handle.
type Slot = Option<(u32, Object)>;

/// Every open object.
pub(crate) struct Handles {
    /// A power of two of them, of which a half may be taken, or none.
    slots: Vec<Slot>,
    /// How many are taken.
    open: usize,
    /// The handle that was given last.
    last: u32,
}

impl Handles {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), open: 0, last: 0 }
    }

    /// Opens `object`: its handle.
    fn open(&mut self, object: Object) -> Result<u32, Failed> {
        if 2 * self.open >= self.slots.len() {
            self.grow()?;
        }
        loop {
            let handle = if self.last < LAST { self.last + 1 } else { 1 };
            self.last = handle;
            let slot = self.slot(handle).ok_or(Failure::NoHandle)?;
            if slot.is_none() {
                *slot = Some((handle, object));
                self.open += 1;
                return Ok(handle);
            }
        }
    }

    /// Opens `object`: its handle as a status.
    pub(crate) fn open_as_status(&mut self, object: Object) -> Result<i32, Failed> {
        self.open(object).map(u32::cast_signed)
    }

    /// Twice the slots.
    fn grow(&mut self) -> Result<(), Failed> {
        let before = self.slots.len();
        let slots = (2 * before).max(LEAST_SLOTS);
        if slots > MOST_SLOTS {
            return Err(Failure::NoHandle.into());
        }
        let bytes = slots * size_of::<Slot>();
        self.slots.try_reserve_exact(slots - before).map_err(|_| Failure::NoMemory { bytes })?;
        self.slots.resize_with(slots, || None);
        let (low, high) = self.slots.split_at_mut(before);
        for (low, high) in low.iter_mut().zip(high) {
            // Its handle has the bit that the slots have one more of.
            if low.as_ref().is_some_and(|(handle, _)| *handle as usize & before != 0) {
                std::mem::swap(low, high);
            }
        }
        Ok(())
    }

    /// Closes an object, and with a store, a cache, a snapshot or a transaction all that was opened from it.
    pub(crate) fn close(&mut self, handle: u32) -> Result<(), Failed> {
        let is_owner = self.object(handle)?.is_owner();
        if let Some(slot) = self.slot(handle) {
            *slot = None;
            self.open -= 1;
        }
        if is_owner {
            for slot in &mut self.slots {
                if slot.as_ref().is_some_and(|(_, object)| object.is_of(handle)) {
                    *slot = None;
                    self.open -= 1;
                }
            }
        }
        Ok(())
    }

    /// The slot of a handle, which may have another one.
    #[inline]
    fn slot(&mut self, handle: u32) -> Option<&mut Slot> {
        let mask = self.slots.len().wrapping_sub(1);
        self.slots.get_mut(handle as usize & mask)
    }

    pub(crate) fn object(&mut self, handle: u32) -> Result<&mut Object, Failed> {
        match self.slot(handle) {
            Some(Some((own, object))) if *own == handle => Ok(object),
            _ => Err(closed(handle)),
        }
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
            if let Some((_, Object::Table { of, table, logged, .. })) = slot
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
        let of_slot = |slot: &Slot| match slot {
            Some((
                _,
                Object::Table { of, table, expiry: Some(expiry), .. }
                | Object::Part { of, table, expiry: Some(expiry), .. },
            )) if of.store == store && table.name() == name && !table.is_dropped() => {
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
