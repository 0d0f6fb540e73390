//! The values of tables whose pairs expire.
//!
//! A stored value is its pair's deadline, then the value. The table's codec of values says so: it begins with `expires:`.

/// The deadline of a pair that does not expire. Others are milliseconds since 1970 in UTC.
pub const FOREVER: u64 = 0;

const PREFIX: &str = "expires:";

/// The codec that a table of expiring pairs has for values of this one.
pub fn expiring_codec(values: &str) -> String {
    format!("{PREFIX}{values}")
}

/// The codec of the values behind their deadlines, if the pairs of a table with this codec expire.
pub fn values_that_expire(codec: &str) -> Option<&str> {
    codec.strip_prefix(PREFIX)
}

/// The deadline and the value of a stored one. One without a deadline, which is damage, does not expire.
#[inline]
pub fn split_deadline(stored: &[u8]) -> (u64, &[u8]) {
    stored.split_first_chunk().map_or((FOREVER, stored), |(time, value)| (u64::from_le_bytes(*time), value))
}

/// What is stored for a value.
#[inline]
pub fn with_deadline(deadline: u64, value: &[u8]) -> Vec<u8> {
    [&deadline.to_le_bytes(), value].concat()
}
