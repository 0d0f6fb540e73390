//! What makes a table a mapping.

/// Gives the class of a table what removes pairs from it as from a mapping. A table whose pairs expire may have pairs and show none.
macro_rules! pops {
    ($class:ident, $expires:literal) => {
        const _: () = {
            use pyo3::IntoPyObjectExt;
            use twindex::IndexKind;

            use crate::arguments::Position;

            impl $class {
                /// Removes the pair at an end and returns it.
                pub(super) fn pop_end<'py>(&self, py: Python<'py>, down: bool) -> Result<Option<Pair<'py>>> {
                    let mut cursor = self.reader()?.cursor(..)?;
                    loop {
                        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
                        let Some((key, _)) = pair else {
                            self.refuse(py)?;
                            return Ok(None);
                        };
                        let (object, key) = (self.codecs.keys.decode(py, key)?, key.to_vec());
                        // If another thread was quicker, the next pair is tried.
                        if let Some(value) = self.remove(py, &key)? {
                            return Ok(Some(Pair(object, value)));
                        }
                        py.check_signals()?;
                    }
                }

                /// The key of some pair of a hash table, if there is one.
                fn any_key(&self, py: Python<'_>) -> Option<Vec<u8>> {
                    let table = self.engine.in_memory();
                    let walk = |from: u64, keys: &mut Vec<Vec<u8>>| {
                        table.walk(from, |key, _| keys.push(key.to_vec()))
                    };
                    self.popping.with(py, |popping| popping.any_key(walk))
                }
            }

            #[pymethods]
            impl $class {
                /// Removes a pair and returns it; raises `KeyError` where there is none.
                ///
                /// From a sorted table that is the pair at a position, as `peekitem` takes it: the last one by default. A hash table
                /// takes no position and gives any pair.
                ///
                /// >>> log = Store().table("log", index="sorted", keys="int")
                /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
                /// >>> log.popitem(), log.popitem(index=0)
                /// ((30, 'c'), (10, 'a'))
                #[pyo3(signature = (*, index=None))]
                fn popitem<'py>(&self, py: Python<'py>, index: Option<Position>) -> Result<Pair<'py>> {
                    loop {
                        let table = self.open()?;
                        let key = match (table.index(), index) {
                            (IndexKind::Hash, None) => self.any_key(py),
                            (_, index) => {
                                match self.at(py, index.unwrap_or(Position::LAST), |key, _| key.to_vec()) {
                                    Err(_) if table.is_empty() || ($expires && index.is_none()) => None,
                                    found => Some(found?),
                                }
                            }
                        };
                        if key.is_none() && (table.is_empty() || $expires) {
                            return Err(error::missing(&"the table is empty".into_bound_py_any(py)?));
                        }
                        if let Some(key) = key {
                            let object = self.codecs.keys.decode(py, &key)?;
                            if let Some(value) = self.remove(py, &key)? {
                                return Ok(Pair(object, value));
                            }
                        }
                        py.check_signals()?;
                    }
                }
            }
        };
    };
}

pub(crate) use pops;
