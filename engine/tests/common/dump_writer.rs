//! Dumps made by hand, true to the format in every checksum, so that what they say is judged and not
//! only whether they are damaged.

/// `crc32`s make a dump whole; `version` 1 is the one that this release knows.
pub(crate) fn header(version: u32) -> Vec<u8> {
    with_checksum([b"\x89TWX\r\n\x1a\n".as_slice(), &version.to_le_bytes()].concat())
}

pub(crate) fn block(kind: u8, payload: &[u8]) -> Vec<u8> {
    with_checksum([[kind].as_slice(), &(payload.len() as u64).to_le_bytes(), payload].concat())
}

pub(crate) fn table(index: u8, name: &[u8]) -> Vec<u8> {
    block(1, &[[index].as_slice(), name].concat())
}

pub(crate) fn pairs(pairs: &[Vec<u8>]) -> Vec<u8> {
    block(2, &pairs.concat())
}

/// A pair whose key has its first `shared` bytes from the key before it.
pub(crate) fn pair(shared: u64, rest: &[u8], value: &[u8]) -> Vec<u8> {
    let lengths = [varint(shared), varint(rest.len() as u64), varint(value.len() as u64)].concat();
    [lengths.as_slice(), rest, value].concat()
}

pub(crate) fn end(pairs: u64) -> Vec<u8> {
    block(3, &pairs.to_le_bytes())
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

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}
