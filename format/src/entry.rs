//! Tables as a file describes them.

use twindex::{IndexKind, MAX_NAME_BYTES, Table, TableOptions};

use crate::varint::take_varint;

/// The properties of a table in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry<'p> {
    /// Its name.
    pub name: &'p str,
    /// Its index.
    pub index: IndexKind,
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
        let mut bytes = vec![u8::from(self.index == IndexKind::Sorted)];
        bytes.extend(encode_codecs(self.keys, self.values));
        bytes.extend(self.name.as_bytes());
        bytes
    }

    /// Decodes an entry. Its name is the rest of `bytes`.
    pub(crate) fn decode(mut bytes: &'p [u8]) -> Option<Self> {
        let index = match bytes.split_off_first()? {
            0 => IndexKind::Hash,
            1 => IndexKind::Sorted,
            _ => return None,
        };
        let (keys, values) = take_codecs(&mut bytes)?;
        Some(Self { name: take_name(bytes)?, index, keys, values })
    }
}

/// The names of two codecs, of keys and of values, as tables and saved caches have them: each after its length of one byte.
pub fn encode_codecs(keys: &str, values: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + keys.len() + values.len());
    for codec in [keys, values] {
        bytes.push(codec.len() as u8); // at most 255: checked when the table is made
        bytes.extend(codec.as_bytes());
    }
    bytes
}

/// Reads the result of [`encode_codecs`]: the label of a saved cache. `None` if it is anything else.
pub fn decode_codecs(mut label: &[u8]) -> Option<(&str, &str)> {
    take_codecs(&mut label).filter(|_| label.is_empty())
}

fn take_codecs<'p>(bytes: &mut &'p [u8]) -> Option<(&'p str, &'p str)> {
    let mut codec = || {
        let length = usize::from(*bytes.split_off_first()?);
        take_name(bytes.split_off(..length)?)
    };
    Some((codec()?, codec()?))
}

/// Decodes the name of a table or codec. `None` if it is not valid.
fn take_name(bytes: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(bytes).ok()?;
    (1..=MAX_NAME_BYTES).contains(&name.len()).then_some(name)
}
