//! Reading a file from its start to its end.

use std::io::Read;

use twindex::{Result, Store};

use crate::loader::Loader;
use crate::record::{HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, OUT_OF_PLACE, corrupt};

/// The bytes behind a log are read in pieces of this size.
const PIECE: u64 = 1 << 16;

/// Reads a whole file: the dump, and the log if there is one.
pub(crate) fn read_store<R: Read + ?Sized>(store: &Store, reader: &mut R) -> Result<()> {
    let mut source = Source { reader, offset: 0, payload: Vec::new() };
    let Header { salt } = source.header()?;
    let mut loader = Loader::new(store.clone());
    let mut pairs = 0;
    while let Some((kind, offset)) = source.next(salt, pairs)? {
        pairs += loader.record(kind, offset, &source.payload)?;
    }
    if salt == 0 {
        return Ok(());
    }
    loop {
        let offset = source.offset;
        match source.record(salt)? {
            None => return source.free(offset),
            Some(kind) if kind.is_logged() => _ = loader.record(kind, offset, &source.payload)?,
            Some(_) => return corrupt(offset, OUT_OF_PLACE),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Source<R> {
    pub(crate) reader: R,
    pub(crate) offset: u64,
    /// The bytes that were read last.
    pub(crate) payload: Vec<u8>,
}

impl<R: Read> Source<R> {
    /// Reads the next `length` bytes, or fewer if the file ends before. The buffer grows as bytes arrive, so a false
    /// length cannot claim memory.
    fn read(&mut self, length: u64) -> Result<()> {
        self.payload.clear();
        self.offset += (&mut self.reader).take(length).read_to_end(&mut self.payload)? as u64;
        Ok(())
    }

    fn header(&mut self) -> Result<Header> {
        self.read(HEADER_BYTES as u64)?;
        Header::decode(&self.payload)
    }

    /// Reads the next record. `None` if no record starts here.
    pub(crate) fn record(&mut self, salt: u64) -> Result<Option<Kind>> {
        let offset = self.offset;
        self.read(HEAD_BYTES as u64)?;
        let head = self.payload.first_chunk().and_then(|head| Head::decode(salt, offset, head));
        let Some(head) = head else { return Ok(None) };
        self.read(head.length)?;
        if !head.matches(&self.payload) {
            return corrupt(offset, "a record is cut, or its checksum does not match");
        }
        Ok(Some(head.kind))
    }

    /// Reads the next record of a dump. Returns its kind and where it starts. Returns `None` at the end record, which
    /// must say that the dump has `pairs` pairs.
    pub(crate) fn next(&mut self, salt: u64, pairs: u64) -> Result<Option<(Kind, u64)>> {
        let offset = self.offset;
        match self.record(salt)? {
            None => corrupt(offset, "a record's head is damaged, or the dump ends without an end"),
            Some(Kind::End) if self.payload != pairs.to_le_bytes() => {
                corrupt(offset, "the number of pairs does not match")
            }
            Some(Kind::End) => Ok(None),
            Some(kind) if kind.is_logged() => corrupt(offset, OUT_OF_PLACE),
            Some(kind) => Ok(Some((kind, offset))),
        }
    }

    /// Checks that the log ends at `offset`: all bytes from there on must be 0, which is free space.
    fn free(&mut self, offset: u64) -> Result<()> {
        while !self.payload.is_empty() {
            if self.payload.iter().any(|&byte| byte != 0) {
                return corrupt(offset, "the log is torn or damaged from here on");
            }
            self.read(PIECE)?;
        }
        Ok(())
    }
}
