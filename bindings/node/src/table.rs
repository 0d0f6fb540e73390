//! Tables of stores and of snapshots, whose pairs stay or expire.

use twindex_durable::{self as durable, ExpiringReads, ExpiringTable};

/// A kind of table: what it reads from, and what writes go to.
macro_rules! table {
    ($(#[$about:meta])* $Name:ident, $Reads:ty, $Live:ty) => {
        $(#[$about])*
        pub(crate) struct $Name {
            memory: $Reads,
            /// A snapshot's table has none.
            live: Option<$Live>,
        }

        impl From<$Live> for $Name {
            fn from(table: $Live) -> Self {
                Self { memory: table.in_memory().clone(), live: Some(table) }
            }
        }

        impl From<$Reads> for $Name {
            fn from(memory: $Reads) -> Self {
                Self { memory, live: None }
            }
        }

        impl $Name {
            #[inline]
            pub(crate) fn in_memory(&self) -> &$Reads {
                &self.memory
            }

            /// For writes. Fails for a snapshot's table.
            #[inline]
            pub(crate) fn live(&self) -> durable::Result<&$Live> {
                let refused = || twindex::Error::ReadOnly { table: self.memory.name().into() }.into();
                self.live.as_ref().ok_or_else(refused)
            }
        }
    };
}

table!(
    /// A table of a store, or as a snapshot has it.
    Table, twindex::Table, durable::Table
);
table!(
    /// A table whose pairs expire, of a store or as a snapshot has it.
    Expiring, ExpiringReads, ExpiringTable
);
