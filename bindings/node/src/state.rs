//! What one environment has open, by number.
//!
//! JavaScript's objects hold numbers, never pointers: a number costs less than unwrapping an object, and a wrong
//! one is an error instead of a wild pointer.

use std::sync::Arc;

use napi_sys as sys;
use twindex_cache::{Lead, Waiter};
use twindex_durable::{Batch, Error, Snapshot, Store};

use crate::cached::Cached;
use crate::crossing::{Crossing, Region};
use crate::encoding::{Column, Encodings};
use crate::fault::Fault;
use crate::feed::{Reader, Watching};
use crate::gauge::Gauge;
use crate::inbox::Inbox;
use crate::input::Input;
use crate::js::{Js, Value};
use crate::memory::refused;
use crate::results::Results;
use crate::shared::{Refusal, Shared};
use crate::slab::Slab;
use crate::staged::Staged;
use crate::table::{Expiring, Table};
use crate::transacting::{Joined, Transacting};
use crate::walk::{Cursor, Walk};

#[derive(Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) store: u32,
    pub(crate) snapshot: u32,
}

/// The number of no store and no snapshot.
pub(crate) const NONE: u32 = u32::MAX;

impl From<u32> for Owner {
    fn from(store: u32) -> Self {
        Self { store, snapshot: NONE }
    }
}

/// Something that belongs to a store, and how JavaScript sees its pairs.
pub(crate) struct Of<T> {
    pub(crate) owner: Owner,
    pub(crate) encodings: Encodings,
    pub(crate) thing: T,
}

/// A value of a cache that this thread computes, or waits for.
pub(crate) enum Computing {
    Lead(Lead),
    Wait(Waiter),
}

pub(crate) trait Thing: Sized {
    /// All that are open, and what a call on one of them works with.
    fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>);
}

pub(crate) struct Tools<'s> {
    pub(crate) input: &'s mut Input,
    pub(crate) results: &'s mut Results,
    pub(crate) prepared: &'s mut Option<Prepared>,
}

macro_rules! state {
    ($($slab:ident: $Thing:ty,)*) => {
        /// The state of one environment. As it ends, its stores are let go last, since the
        /// last owner of a store lets go of its file.
        #[derive(Default)]
        pub(crate) struct State {
            $(pub(crate) $slab: Slab<Of<$Thing>>,)*
            pub(crate) stores: Slab<Shared>,
            pub(crate) input: Input,
            pub(crate) staged: Staged,
            pub(crate) results: Results,
            /// The value of the pair that a cursor has just returned the key of.
            pub(crate) pair_value: Vec<u8>,
            pub(crate) prepared: Option<Prepared>,
            pub(crate) inbox: Option<Arc<Inbox>>,
        }

        $(impl Thing for $Thing {
            #[inline]
            fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>) {
                let State { $slab, input, results, prepared, .. } = state;
                ($slab, Tools { input, results, prepared })
            }
        })*

        impl State {
            pub(crate) fn close_all(&mut self, store: u32) {
                $(self.$slab.close_where(false, |of| of.owner.store == store);)*
                // What came before is still read. The store may go on in other threads.
                self.watches.open().filter(|of| of.thing.store == store).for_each(|of| of.thing.watch.close());
            }

            /// Keeps all that was opened through a store from being found, or brings it back.
            pub(crate) fn park_all(&mut self, store: u32, parked: bool) {
                $(self.$slab.park_where(parked, |of| of.owner.store == store);)*
            }
        }
    };
}

state! {
    batches: Batch,
    cursors: Cursor,
    walks: Walk,
    tables: Table,
    expiring: Expiring,
    caches: Cached,
    computations: Computing,
    snapshots: Snapshot,
    transactions: Transacting,
    joined: Joined,
    feeds: Reader,
    watches: Watching,
    gauges: Arc<Gauge>,
}

/// What JavaScript and this module give each other before anything else.
pub(crate) struct Prepared {
    pub(crate) raise: sys::napi_ref,
    pub(crate) crossing: Crossing,
}

impl State {
    pub(crate) fn store<'c>(&self, number: u32) -> Result<&Store, Fault<'c>> {
        self.stores.get(number).map(Shared::store)
    }

    pub(crate) fn thing<'c, T: Thing>(&mut self, number: u32) -> Result<&T, Fault<'c>> {
        Ok(&T::all(self).0.get(number)?.thing)
    }

    pub(crate) fn add<'c, T: Thing>(
        &mut self,
        owner: impl Into<Owner>,
        encodings: Encodings,
        thing: T,
    ) -> Result<u32, Fault<'c>> {
        T::all(self).0.add(Of { owner: owner.into(), encodings, thing }).map_err(|_| refused())
    }

    /// What a call on one table or cache works with.
    #[inline]
    pub(crate) fn parts<'c, T: Thing>(&mut self, number: u32) -> Result<Parts<'_, T>, Fault<'c>> {
        let (all, Tools { input, results, prepared }) = T::all(self);
        let table = all.get(number)?;
        let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
        Ok(Parts { table, input, results, crossing })
    }

    pub(crate) fn crossing<'c>(&mut self) -> Result<&mut Crossing, Fault<'c>> {
        self.prepared.as_mut().map(|prepared| &mut prepared.crossing).ok_or_else(Fault::bug)
    }

    pub(crate) fn raise<'c>(&self, js: Js<'c>) -> Option<Value<'c>> {
        let raise = self.prepared.as_ref()?.raise;
        // SAFETY: `prepare` kept it in this environment, whose state this is.
        unsafe { js.kept(raise) }.ok()
    }

    /// Ends all that was opened through a snapshot, and the snapshot with it.
    pub(crate) fn end_snapshot(&mut self, snapshot: u32) {
        self.tables.close_where(true, |of| of.owner.snapshot == snapshot);
        self.expiring.close_where(true, |of| of.owner.snapshot == snapshot);
        self.cursors.close_where(true, |of| of.owner.snapshot == snapshot);
        self.walks.close_where(true, |of| of.owner.snapshot == snapshot);
        self.snapshots.free(snapshot);
    }

    /// Ends what the closing of a store began: nothing of it is left, or it is open again.
    pub(crate) fn closed(
        &mut self,
        store: u32,
        closed: Result<(), Box<(Shared, Error)>>,
    ) -> Result<(), Refusal> {
        let Err(unclosed) = closed else {
            self.close_all(store);
            return Ok(());
        };
        let (shared, error) = *unclosed;
        self.stores.reopen(store, shared);
        self.park_all(store, false);
        Err(error.into())
    }

    pub(crate) fn trim(&mut self) {
        self.input.trim();
    }
}

/// What a call on one table or cache works with.
pub(crate) struct Parts<'s, T> {
    pub(crate) table: &'s Of<T>,
    pub(crate) input: &'s mut Input,
    pub(crate) results: &'s mut Results,
    pub(crate) crossing: &'s mut Crossing,
}

impl<T> Parts<'_, T> {
    /// Puts the key that was asked for into `input.key`.
    #[inline]
    pub(crate) fn settle_key<'c>(&mut self, js: Js<'c>, argument: Value<'c>) -> Result<(), Fault<'c>> {
        let keys = (Column::Key, self.table.encodings.keys);
        self.input.settle(js, self.crossing, Region::Key, keys, argument)
    }

    /// Puts the value that was asked for into `input.value`.
    #[inline]
    pub(crate) fn settle_value<'c>(&mut self, js: Js<'c>, argument: Value<'c>) -> Result<(), Fault<'c>> {
        let values = (Column::Value, self.table.encodings.values);
        self.input.settle(js, self.crossing, Region::Value, values, argument)
    }
}
