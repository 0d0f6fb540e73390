//! Keys and values on their way in.

use crate::crossing::{Crossing, Region};
use crate::fault::Fault;
use crate::js::{Js, Value};
use crate::state::{Column, Encoding};

/// Strings of fewer units are read in one go.
const UNITS: usize = 4096;
/// Memory past this is given back after each call.
const KEPT_BYTES: usize = 1 << 18;

/// The keys and values of the call that is running, in memory that is used again.
#[derive(Default)]
pub(crate) struct Input {
    units: Vec<u16>,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) expected: Vec<u8>,
}

impl Input {
    /// Reads one argument, into the memory of its region.
    pub(crate) fn read<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &Crossing,
        region: Region,
        (column, encoding): (Column, Encoding),
        argument: Value<'c>,
    ) -> Result<(), Fault<'c>> {
        let out = match region {
            Region::Key => &mut self.key,
            Region::Value => &mut self.value,
            Region::Expected => &mut self.expected,
        };
        out.clear();
        match encoding {
            Encoding::Text => append_text(js, argument, column, &mut self.units, out),
            Encoding::Bytes => {
                let bytes = match js.get_u32(argument) {
                    Some(len) => crossing.read(region, len as usize),
                    None => js.get_bytes(argument),
                };
                append(out, bytes.ok_or(Fault::Type { needed: column.needs(encoding), got: argument })?)
            }
        }
    }

    /// Appends a string to `out`.
    pub(crate) fn append_text<'c>(
        &mut self,
        js: Js<'c>,
        argument: Value<'c>,
        column: Column,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault<'c>> {
        append_text(js, argument, column, &mut self.units, out)
    }

    /// Gives back what a large key or value took.
    pub(crate) fn trim(&mut self) {
        for buffer in [&mut self.key, &mut self.value, &mut self.expected] {
            trim(buffer);
        }
    }
}

/// Gives the memory back where it is much.
pub(crate) fn trim(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

/// Appends, or fails where there is no memory.
pub(crate) fn append<'c>(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Fault<'c>> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn reserve<'c, T>(out: &mut Vec<T>, more: usize) -> Result<(), Fault<'c>> {
    out.try_reserve(more)
        .map_err(|_| twindex::Error::from(std::io::Error::from(std::io::ErrorKind::OutOfMemory)).into())
}

/// Appends a string as UTF-8. It comes as UTF-16, because Node-API replaces lone surrogates on the way to UTF-8.
fn append_text<'c>(
    js: Js<'c>,
    argument: Value<'c>,
    column: Column,
    units: &mut Vec<u16>,
    out: &mut Vec<u8>,
) -> Result<(), Fault<'c>> {
    units.resize(UNITS, 0);
    let Some(len) = js.get_utf16(argument, units) else {
        return Err(Fault::Type { needed: column.needs(Encoding::Text), got: argument });
    };
    let whole = if len + 1 < units.len() { len } else { js.utf16_len(argument) };
    let mut large = Vec::new();
    let units = if whole == len {
        &units[..len]
    } else {
        reserve(&mut large, whole + 1)?;
        large.resize(whole + 1, 0);
        let len = js.get_utf16(argument, &mut large).unwrap_or(0);
        &large[..len]
    };
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        reserve(out, units.len())?;
        out.extend(units.iter().map(|&unit| unit as u8));
        return Ok(());
    }
    // No unit takes more than three bytes.
    reserve(out, units.len() * 3)?;
    for char in char::decode_utf16(units.iter().copied()) {
        let char = char.map_err(|_| Fault::lone_surrogate(column))?;
        out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(())
}

/// An amount of `increment`, and whether it is a bigint.
pub(crate) fn amount<'c>(js: Js<'c>, argument: Value<'c>) -> Result<(i64, bool), Fault<'c>> {
    /// Every integer up to here is a number of its own.
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if let Some(number) = js.get_f64(argument) {
        if !number.is_finite() || number.trunc().to_bits() != number.to_bits() {
            return Err(Fault::Type { needed: "an amount is an integer or a bigint", got: argument });
        }
        if number.abs() > SAFE {
            let needed = "an amount past Number.MAX_SAFE_INTEGER is a bigint";
            return Err(Fault::Range { needed, got: argument });
        }
        return Ok((number as i64, false));
    }
    match js.get_bigint(argument) {
        Some((number, true)) => Ok((number, true)),
        Some((_, false)) => Err(Fault::Range { needed: "an amount has 64 bits", got: argument }),
        None => Err(Fault::Type { needed: "an amount is an integer or a bigint", got: argument }),
    }
}
