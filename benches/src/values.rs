//! Values that are derived from a key's number, so that a read one can be checked without a list.

/// Writes the value of the key of this number: eight bytes that only this number has, over and over.
#[inline]
pub fn fill_value(number: u32, value: &mut [u8]) {
    let word = word_of(number);
    for chunk in value.chunks_mut(8) {
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// Whether these bytes are the value of the key of this number, all of them.
#[inline]
pub fn is_value(number: u32, value_bytes: usize, value: &[u8]) -> bool {
    let word = word_of(number);
    value.len() == value_bytes && value.chunks(8).all(|chunk| *chunk == word[..chunk.len()])
}

/// An odd multiplication is a bijection, so the words of two numbers differ.
#[inline]
fn word_of(number: u32) -> [u8; 8] {
    (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_again_and_no_other_is_taken() {
        for value_bytes in [4, 8, 16, 21] {
            let mut value = vec![0; value_bytes];
            fill_value(7, &mut value);
            assert!(is_value(7, value_bytes, &value));
            assert!(!is_value(8, value_bytes, &value));
            assert!(!is_value(7, value_bytes + 1, &value));
            value[value_bytes - 1] ^= 1;
            assert!(!is_value(7, value_bytes, &value));
        }
    }
}
