//! Tables as a file describes them.

use twindex::{Index, MAX_NAME_BYTES, Table, TableOptions};

use crate::varint::take_varint;

/// What a file stores about a table besides its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry<'p> {
    /// Its name.
    pub name: &'p str,
    /// Its index.
    pub index: Index,
    /// The codec of its keys.
    pub keys: &'p str,
    /// The codec of its values.
    pub values: &'p str,
}

impl<'p> TableEntry<'p> {
    /// The entry of this table.
    pub fn of(table: &'p Table) -> Self {
        let (keys, values) = table.codecs();
        Self { name: table.name(), index: table.index(), keys, values }
    }

    /// Decodes a record of the kind `Table`: the table's id, about how many pairs follow, and its entry.
    pub fn of_record(mut payload: &'p [u8]) -> Option<(u32, u64, Self)> {
        let (id, pairs) = (take_varint(&mut payload)?, take_varint(&mut payload)?);
        Some((id, pairs, Self::decode(payload)?))
    }

    /// The entry of the table that these options create.
    pub fn new(name: &'p str, options: TableOptions<'p>) -> Self {
        let (keys, values) = options.codecs();
        Self { name, index: options.index(), keys, values }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.index == Index::Sorted)];
        for codec in [self.keys, self.values] {
            bytes.push(codec.len() as u8); // at most 255: checked when the table is made
            bytes.extend(codec.as_bytes());
        }
        bytes.extend(self.name.as_bytes());
        bytes
    }

    /// Decodes an entry. Its name is the rest of `bytes`.
    pub(crate) fn decode(mut bytes: &'p [u8]) -> Option<Self> {
        let index = match bytes.split_off_first()? {
            0 => Index::Hash,
            1 => Index::Sorted,
            _ => return None,
        };
        let mut codec = || {
            let length = usize::from(*bytes.split_off_first()?);
            take_name(bytes.split_off(..length)?)
        };
        let (keys, values) = (codec()?, codec()?);
        Some(Self { name: take_name(bytes)?, index, keys, values })
    }
}

/// Decodes the name of a table or codec. `None` if it is not valid.
fn take_name(bytes: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(bytes).ok()?;
    (1..=MAX_NAME_BYTES).contains(&name.len()).then_some(name)
}
