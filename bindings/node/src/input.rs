//! Keys and values on their way in.

use crate::crossing::{Crossing, REGIONS, Region};
use crate::encoding::{Column, Encoding};
use crate::fault::Fault;
use crate::js::{Js, Value};
use crate::memory::reserve;

/// Strings of fewer units are read in one go.
const UNITS: usize = 4096;
/// Memory past this is given back after each call.
const KEPT_BYTES: usize = 1 << 18;

/// The keys and values of the call that is running, in memory that is used again.
#[derive(Default)]
pub(crate) struct Input {
    asked: [Asked; REGIONS],
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) expected: Vec<u8>,
}

/// What there is of an argument that may be a string: its first units and their number.
struct Asked {
    units: Box<[u16; UNITS]>,
    len: Option<usize>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { units: Box::new([0; UNITS]), len: None }
    }
}

impl Asked {
    fn ask<'c>(&mut self, js: Js<'c>, argument: Value<'c>) {
        self.len = js.get_utf16(argument, &mut *self.units);
    }
}

impl Input {
    /// Copies the start of an argument that may be a string, for [`settle`](Self::settle). Strings lie all over the memory:
    /// asking for all of them first lets their cache misses overlap with each other and with the rest.
    #[inline]
    pub(crate) fn ask<'c>(&mut self, js: Js<'c>, region: Region, argument: Value<'c>) {
        self.asked[region as usize].ask(js, argument);
    }

    /// Reads the argument that was asked for, into the memory of its region.
    #[inline]
    pub(crate) fn settle<'c>(
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
            Encoding::Text => append_text(js, argument, column, &self.asked[region as usize], out),
            Encoding::Bytes => {
                let bytes = match js.get_u32(argument) {
                    Some(len) => crossing.read(region, len as usize),
                    None => js.get_bytes(argument),
                };
                append(out, bytes.ok_or_else(|| Fault::wrong_type(column.needs(encoding), argument))?)
            }
        }
    }

    pub(crate) fn read<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &Crossing,
        region: Region,
        (column, encoding): (Column, Encoding),
        argument: Value<'c>,
    ) -> Result<(), Fault<'c>> {
        if encoding == Encoding::Text {
            self.ask(js, region, argument);
        }
        self.settle(js, crossing, region, (column, encoding), argument)
    }

    /// The same, where there is one.
    pub(crate) fn read_present<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &Crossing,
        region: Region,
        of: (Column, Encoding),
        argument: Value<'c>,
    ) -> Result<bool, Fault<'c>> {
        let is_present = !js.is_nothing(argument);
        if is_present {
            self.read(js, crossing, region, of, argument)?;
        }
        Ok(is_present)
    }

    pub(crate) fn append_text<'c>(
        &mut self,
        js: Js<'c>,
        argument: Value<'c>,
        column: Column,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault<'c>> {
        let [asked, ..] = &mut self.asked;
        asked.ask(js, argument);
        append_text(js, argument, column, asked, out)
    }

    /// Gives back what a large key or value took.
    pub(crate) fn trim(&mut self) {
        for buffer in [&mut self.key, &mut self.value, &mut self.expected] {
            if buffer.capacity() > KEPT_BYTES {
                trim(buffer);
            }
        }
    }
}

/// Empties a list, and gives its memory back where that is much.
pub(crate) fn trim<T>(list: &mut Vec<T>) {
    list.clear();
    if list.capacity() * size_of::<T>() > KEPT_BYTES {
        *list = Vec::new();
    }
}

/// Appends, or fails where there is no memory.
pub(crate) fn append<'c>(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Fault<'c>> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends the string that was asked for as UTF-8. It comes as UTF-16, because Node-API replaces lone surrogates on the way to UTF-8.
fn append_text<'c>(
    js: Js<'c>,
    argument: Value<'c>,
    column: Column,
    Asked { units, len }: &Asked,
    out: &mut Vec<u8>,
) -> Result<(), Fault<'c>> {
    let Some(len) = *len else {
        return Err(Fault::wrong_type(column.needs(Encoding::Text), argument));
    };
    if len + 1 < UNITS {
        return append_units(&units[..len], column, out);
    }
    // It may go on.
    let room = js.utf16_len(argument) + 1;
    let mut large = Vec::new();
    reserve(&mut large, room)?;
    large.resize(room, 0);
    let len = js.get_utf16(argument, &mut large).unwrap_or(0);
    append_units(&large[..len], column, out)
}

#[inline]
fn append_units<'c>(units: &[u16], column: Column, out: &mut Vec<u8>) -> Result<(), Fault<'c>> {
    if units.iter().fold(0, |all, unit| all | unit) >= 0x80 {
        return append_decoded(units, column, out);
    }
    reserve(out, units.len())?;
    out.extend(units.iter().map(|&unit| unit as u8));
    Ok(())
}

#[cold]
fn append_decoded<'c>(units: &[u16], column: Column, out: &mut Vec<u8>) -> Result<(), Fault<'c>> {
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
            return Err(Fault::wrong_type("an amount is an integer or a bigint", argument));
        }
        if number.abs() > SAFE {
            let needed = "an amount past Number.MAX_SAFE_INTEGER is a bigint";
            return Err(Fault::range(needed, argument));
        }
        return Ok((number as i64, false));
    }
    match js.get_bigint(argument) {
        Some((number, true)) => Ok((number, true)),
        Some((_, false)) => Err(Fault::range("an amount has 64 bits", argument)),
        None => Err(Fault::wrong_type("an amount is an integer or a bigint", argument)),
    }
}
