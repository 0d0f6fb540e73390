//! The slots of a cluster.

/// How many slots a cluster has.
pub(crate) const SLOTS: u16 = 16_384;

/// A checksum that goes on where other bytes ended.
pub(crate) type State = crc16::State<crc16::XMODEM>;

/// The slot of a key: of the text in its first braces, if there is some, else of the whole.
pub(crate) fn of(key: &[u8]) -> u16 {
    after(State::new(), key)
}

/// The slot of a key that goes on after these bytes, in which nothing is in braces.
pub(crate) fn after(mut before: State, key: &[u8]) -> u16 {
    let tag = tag(key);
    if tag.len() < key.len() {
        return crc(tag) % SLOTS;
    }
    before.update(key);
    before.get() % SLOTS
}

/// The checksum that spreads keys over slots, and over the partitions of a sorted table.
pub(crate) fn crc(bytes: &[u8]) -> u16 {
    State::calculate(bytes)
}

fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else { return key };
    let inside = &key[open + 1..];
    match inside.iter().position(|&byte| byte == b'}') {
        Some(close) if close > 0 => &inside[..close],
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // As CLUSTER KEYSLOT says.
        assert_eq!(of(b"123456789"), 12_739);
        assert_eq!(of(b"foo"), 12_182);
        assert_eq!(of(b"{foo}bar"), of(b"foo"));
        assert_eq!(of(b"a{foo}{bar}"), of(b"foo"));
        assert_ne!(of(b"{}foo"), of(b""));
        assert_ne!(of(b"{foo"), of(b"foo"));
    }
}
