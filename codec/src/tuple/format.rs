//! The bytes that stand between the items of a tuple, and how large one may be.

/// How deep tuples may lie in tuples, so that neither reading nor writing uses up the stack.
pub const MAX_DEPTH: usize = 64;
/// The longest tuple in bytes, which is the longest key.
pub const MAX_BYTES: usize = 65_535;

pub(super) const NULL: u8 = 0x01;
pub(super) const BYTES: u8 = 0x02;
pub(super) const TEXT: u8 = 0x03;
pub(super) const TUPLE: u8 = 0x05;
pub(super) const LEAST_FLOATS: u8 = 0x0b;
pub(super) const ZERO: u8 = 0x14;
pub(super) const GREATEST_FLOATS: u8 = 0x1d;
pub(super) const WHOLE: u8 = 0x1e;
pub(super) const BETWEEN: u8 = 0x1f;
pub(super) const END: u8 = 0x00;
pub(super) const NOT_THE_END: u8 = 0xff;

/// The first float that is more than every integer of 64 bits. Its opposite is the least of these integers.
pub(super) const END_OF_INTEGERS: f64 = 9_223_372_036_854_775_808.0;
