//! Numbers as bytes.

/// Decodes a little-endian number of at most eight bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a varint off `bytes`. `None` if it does not fit into `T`: the length of a key has 16 bits, that of a value 32.
pub(crate) fn take_varint<T: TryFrom<u64>>(bytes: &mut &[u8]) -> Option<T> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number.try_into().ok();
        }
    }
    None
}
