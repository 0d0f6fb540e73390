//! How the items of a buffer are laid out, as its format says: none of them may be a pointer.

use std::ffi::c_long;

/// The sizes of an item: with one field right after another, and with each where C aligns it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Layout {
    packed: usize,
    aligned: usize,
    align: usize,
}

/// Whether items of this format and size are bytes or numbers alone.
///
/// A union of C has the format of a byte, and so has a packed structure, where only the size tells that there is more.
pub(crate) fn is_plain(format: &[u8], size: usize) -> bool {
    let mut rest = Rest { format, is_native: true };
    rest.fields()
        .is_some_and(|layout| rest.format.is_empty() && (layout.packed == size || layout.aligned == size))
}

/// The rest of a format.
struct Rest<'a> {
    format: &'a [u8],
    /// Types have the sizes of this platform, not those of the standard.
    is_native: bool,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.format.split_first()?;
        self.format = rest;
        Some(*first)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.format.first() == Some(&byte);
        self.format = &self.format[usize::from(found)..];
        found
    }

    /// A decimal number, if there is one.
    fn number(&mut self) -> Option<usize> {
        let digits = self.format.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.format.split_at(digits);
        self.format = rest;
        std::str::from_utf8(number).ok()?.parse().ok()
    }

    /// All fields up to the end of the structure or of the format. `None` if one is a pointer, or unknown.
    fn fields(&mut self) -> Option<Layout> {
        let mut all = Layout { align: 1, ..Layout::default() };
        while !self.format.is_empty() && self.format[0] != b'}' {
            self.order();
            let count = self.count()?;
            self.order();
            let field = self.field()?;
            all.packed = all.packed.checked_add(count.checked_mul(field.packed)?)?;
            all.aligned = all.aligned.checked_next_multiple_of(field.align)?;
            all.aligned = all.aligned.checked_add(count.checked_mul(field.aligned)?)?;
            all.align = all.align.max(field.align);
            if self.take(b':') {
                while self.next()? != b':' {}
            }
        }
        all.aligned = all.aligned.checked_next_multiple_of(all.align)?;
        Some(all)
    }

    /// Takes what says in which order bytes are, and which sizes types have.
    fn order(&mut self) {
        while let Some((first, rest)) = self.format.split_first() {
            match first {
                b'@' | b'^' => self.is_native = true,
                b'=' | b'<' | b'>' | b'!' => self.is_native = false,
                b' ' => {}
                _ => return,
            }
            self.format = rest;
        }
    }

    /// How often the next field is there.
    fn count(&mut self) -> Option<usize> {
        match self.format.first()? {
            b'(' => {
                let mut count = 1_usize;
                while !self.take(b')') {
                    self.next()?;
                    count = count.checked_mul(self.number()?)?;
                }
                Some(count)
            }
            b'0'..=b'9' => self.number(),
            _ => Some(1),
        }
    }

    fn field(&mut self) -> Option<Layout> {
        const LONG_DOUBLE: usize = match () {
            () if cfg!(any(windows, all(target_vendor = "apple", target_arch = "aarch64"))) => 8,
            () if cfg!(target_arch = "x86") => 12,
            () => 16,
        };
        let size = match self.next()? {
            b'T' => {
                let fields = if self.take(b'{') { self.fields() } else { None };
                return fields.filter(|_| self.take(b'}'));
            }
            // A complex number.
            b'Z' if matches!(self.format.first(), Some(b'f' | b'd' | b'g')) => {
                let part = self.field()?;
                return Some(Layout { packed: 2 * part.packed, aligned: 2 * part.aligned, ..part });
            }
            b'x' | b'c' | b'b' | b'B' | b'?' | b's' | b'p' => 1,
            b'h' | b'H' | b'e' => 2,
            b'l' | b'L' if self.is_native => size_of::<c_long>(),
            b'i' | b'I' | b'l' | b'L' | b'f' | b'w' => 4,
            b'q' | b'Q' | b'd' => 8,
            b'n' | b'N' => size_of::<usize>(),
            b'u' => {
                if cfg!(windows) {
                    2
                } else {
                    4
                }
            }
            b'g' => LONG_DOUBLE,
            _ => return None,
        };
        Some(Layout { packed: size, aligned: size, align: if size == 12 { 4 } else { size } })
    }
}
