//! Twindex itself: a hash and a sorted table.

use twindex::{Index, Store, Table};

use crate::peer::{Peer, Session, SortedSession, spread};

macro_rules! peer {
    ($peer:ident, $index:expr, $about:literal) => {
        #[doc = $about]
        pub(crate) struct $peer(Table);

        impl Peer for $peer {
            const NAME: &'static str = "twindex";
            const THREADS: bool = true;
            type Session<'p> = &'p Table;

            fn new() -> Self {
                Self(Store::new().table("pairs", $index).expect("the name is valid"))
            }

            /// Many small tables are tables of one store.
            fn several(count: usize) -> Option<Vec<Self>> {
                let store = Store::new();
                let table =
                    |number: usize| store.table(&number.to_string(), $index).expect("the name is valid");
                Some((0..count).map(|number| Self(table(number))).collect())
            }

            fn each_thread<R: Send>(
                &mut self,
                threads: usize,
                work: impl Fn(usize, &mut &Table) -> R + Sync,
            ) -> Vec<R> {
                spread(threads, || &self.0, work)
            }
        }
    };
}

peer!(TwindexHash, Index::Hash, "A table with a hash index.");
peer!(TwindexSorted, Index::Sorted, "A table with a sorted index.");

impl Session for &Table {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::insert(self, key, value).expect("there is no memory limit")
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::replace(self, key, value).expect("there is no memory limit")
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        Table::delete(self, key).expect("the key is not too long")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.select_with(key, read)
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let took_effect = Table::insert_many(self, pairs).expect("there is no memory limit");
        took_effect.into_iter().filter(|&effect| effect).count()
    }

    fn select_many(&mut self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        Table::select_many(self, keys, read);
    }
}

impl SortedSession for &Table {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let mut cursor = self.cursor(first..);
        let mut count = 0;
        while count < limit
            && let Some((key, value)) = cursor.scan_asc_next()
        {
            read(key, value);
            count += 1;
        }
        count
    }

    fn scan_many(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        self.cursor(first..).scan_asc_next_many(limit, read)
    }
}
