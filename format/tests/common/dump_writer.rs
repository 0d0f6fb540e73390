//! Files made by hand, true to the format in every checksum, so that what they say is judged and not only
//! whether they are damaged.

#![allow(dead_code, reason = "each test and fuzz target uses a part of it")]

/// A record's kind and payload.
pub(crate) type Record = (u8, Vec<u8>);

/// A dump of these records, without a log.
pub(crate) fn dump(records: &[Record]) -> Vec<u8> {
    file(0, records)
}

/// A file of these records. A salt of 0 means no log.
pub(crate) fn file(salt: u64, records: &[Record]) -> Vec<u8> {
    file_of_version(1, salt, records)
}

pub(crate) fn file_of_version(version: u32, salt: u64, records: &[Record]) -> Vec<u8> {
    let mut bytes = b"\x89TWX\r\n\x1a\n".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(salt.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    for (kind, payload) in records {
        let mut start = vec![*kind];
        start.extend(&(payload.len() as u64).to_le_bytes()[..5]);
        let place = [salt.to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat();
        let check = crc32fast::hash(&[place.as_slice(), &start].concat()) as u16;
        let crc = crc32fast::hash(&[place.as_slice(), &start, payload].concat());
        bytes.extend([start.as_slice(), &check.to_le_bytes(), &crc.to_le_bytes(), payload].concat());
    }
    bytes
}

/// A table of bytes whose id is 0.
pub(crate) fn table(index: u8, name: &[u8]) -> Record {
    table_with_id(0, index, name)
}

pub(crate) fn table_with_id(id: u64, index: u8, name: &[u8]) -> Record {
    counted_table(id, index, 0, name)
}

/// A table of which the file says that it has so many pairs.
pub(crate) fn counted_table(id: u64, index: u8, pairs: u64, name: &[u8]) -> Record {
    (1, [varint(id), varint(pairs), entry(index, b"bytes", b"bytes", name)].concat())
}

/// What a file says of a table: its index, the codecs of its keys and values, and its name.
pub(crate) fn entry(index: u8, keys: &[u8], values: &[u8], name: &[u8]) -> Vec<u8> {
    [&[index], &[keys.len() as u8], keys, &[values.len() as u8], values, name].concat()
}

/// The operation that creates a table.
pub(crate) fn create(id: u8, entry: &[u8]) -> Vec<u8> {
    [vec![2 | id << 3], varint(entry.len() as u64), entry.to_vec()].concat()
}

/// Pairs of the table whose id is 0.
pub(crate) fn pairs(tokens: &[Vec<u8>]) -> Record {
    (2, [varint(0), tokens.concat()].concat())
}

/// A pair like no other before it, with all its lengths.
pub(crate) fn pair(shared: u64, rest: &[u8], value: &[u8]) -> Vec<u8> {
    [lengths(shared, rest.len() as u64, value.len() as u64).as_slice(), rest, value].concat()
}

/// What comes before such a pair's bytes.
pub(crate) fn lengths(shared: u64, rest: u64, value: u64) -> Vec<u8> {
    let more = if shared < 31 { Vec::new() } else { varint(shared - 31) };
    [vec![shared.min(31) as u8], more, varint(rest), varint(value)].concat()
}

/// The token of so many pairs that came of those before them as those so many pairs before them did, and whose values
/// have their lengths.
pub(crate) fn again(times: u8, distance: u8) -> Vec<u8> {
    vec![0xc0 | (distance - 1) << 3 | times]
}

pub(crate) fn end(pairs: u64) -> Record {
    (3, pairs.to_le_bytes().to_vec())
}

pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
