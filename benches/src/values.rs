//! Values that are derived from a key's number, so that a read one can be checked without a list.

/// Writes the value of the key of this number: eight bytes that only this number has, over and over.
#[inline]
pub fn fill_value(number: u32, value: &mut [u8]) {
    let word = word_of(number);
    // Whole words: a call for each would take as long as an update does.
    let (words, rest) = value.as_chunks_mut();
    words.fill(word);
    rest.copy_from_slice(&word[..rest.len()]);
}

/// Whether these bytes begin like the value of the key of this number, and have its length.
///
/// Reads only the first cache line, however long the value is.
#[inline]
pub fn is_value_start(number: u32, value_bytes: usize, value: &[u8]) -> bool {
    let word = word_of(number);
    value.len() == value_bytes
        && value.first_chunk().map_or_else(|| word[..value_bytes] == *value, |start| *start == word)
}

/// The number of the key that has this value of eight bytes or more, if any has.
#[inline]
pub fn number_of_value(value: &[u8]) -> Option<u32> {
    let word = u64::from_le_bytes(*value.first_chunk()?);
    u32::try_from(word.wrapping_mul(INVERSE).wrapping_sub(1)).ok()
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Undoes the multiplication.
const INVERSE: u64 = 0xf1de_83e1_9937_733d;
const _: () = assert!(FACTOR.wrapping_mul(INVERSE) == 1);

/// An odd multiplication is a bijection, so the words of two numbers differ.
#[inline]
fn word_of(number: u32) -> [u8; 8] {
    (u64::from(number) + 1).wrapping_mul(FACTOR).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_of_the_number_is_taken() {
        for value_bytes in [3, 8, 16, 21] {
            let mut value = vec![0; value_bytes];
            fill_value(7, &mut value);
            assert!(is_value_start(7, value_bytes, &value));
            assert!(!is_value_start(8, value_bytes, &value));
            assert!(!is_value_start(7, value_bytes + 1, &value));
            assert_eq!(number_of_value(&value), (value_bytes >= 8).then_some(7));
            value[0] ^= 1;
            assert!(!is_value_start(7, value_bytes, &value));
        }
    }
}
