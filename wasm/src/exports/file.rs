//! Stores that the host keeps in a file. The host writes the file; the module says what is to be written.

use std::cell::RefCell;
use std::rc::Rc;

use twindex::{Error, Store};
use twindex_format::{HEADER_BYTES, Header, Kind, LogReader, load_into, open};

use crate::answer;
use crate::exports::store::limit;
use crate::failure::{Failed, Failure, Refusal};
use crate::handles::Object;
use crate::journal::{Journal, Shared};
use crate::state::{State, note};

/// Whether there is no more than a part of a header, or space for one.
fn is_begun(bytes: &[u8]) -> bool {
    const CONSTANT: usize = 12;
    let start = &bytes[..bytes.len().min(CONSTANT)];
    let is_cut = bytes.len() < HEADER_BYTES && Header::encode(0).starts_with(start);
    is_cut || bytes.iter().all(|&byte| byte == 0)
}

/// Whether a dump with a whole header has no end, and no log follows.
fn is_unfinished(bytes: &[u8]) -> twindex::Result<bool> {
    let Ok(Header { salt }) = Header::decode(bytes) else { return Ok(false) };
    let mut records = LogReader::of_file(&bytes, salt, bytes.len() as u64, HEADER_BYTES as u64);
    loop {
        match records.record()?.map(|(kind, _)| kind) {
            Some(Kind::Table | Kind::Pairs | Kind::Kept) => {}
            Some(_) => return Ok(false),
            None if !records.find_next()? => return Ok(true),
            None => {}
        }
    }
}

/// The journal of a store that has one.
fn journal(state: &mut State, store: u32) -> Result<Shared, Failed> {
    let (_, journal) = state.handles.kept(store)?;
    Ok(journal.clone().ok_or(Failure::Refused(Refusal::NoFile))?)
}

exports! {
    fn twindex_open(state, file: bytes, memory_limit: u64, session: u64) {
        if is_begun(file) {
            return Ok(0);
        }
        let memory_limit = limit(memory_limit);
        let store = Store::new();
        let found =
            load_into(&store, memory_limit, |store| open(&file, store.clone(), &|| false, &mut |_| ()));
        let found = match found {
            Err(Error::Corrupt { .. }) if is_unfinished(file)? => return Ok(0),
            found => found?,
        };
        // A file without a salt has no log: its store begins another file.
        answer::set_count(found.end.as_ref().map_or(0, |end| end.at as usize));
        let of_file = |end| Rc::new(RefCell::new(Journal::of_file(end, session, &found.loader)));
        let journal = found.end.map(of_file);
        let handle = state.handles.open_as_status(Object::Store { store, journal: journal.clone() })?;
        if let Some(journal) = journal {
            journal.borrow_mut().store = handle.cast_unsigned();
        }
        handle
    }

    fn twindex_file(state, store: u32, salt: u64) {
        if salt == 0 {
            return Err(Failure::Choice { what: "salt", given: 0 }.into());
        }
        let journal = state.handles.journal(store)?;
        state.log.expect_in(&journal, 0)?;
        let output = state.output.start();
        journal.borrow_mut().begin(salt, output)?;
        output.finish(0);
        state.handles.keep(store, Some(&journal))?;
    }

    fn twindex_file_failed(state, store: u32) {
        journal(state, store)?.borrow_mut().go_back()
    }

    fn twindex_apply(state, store: u32, record: bytes) {
        let (engine, journal) = state.handles.kept(store)?;
        let journal = journal.as_ref().ok_or(Failure::Refused(Refusal::NoFile))?;
        journal.borrow_mut().apply(engine, record)?;
    }

    fn twindex_refuse(state, store: u32, why: u32) {
        let refusal = match why {
            0 => Refusal::ReadOnly,
            1 => Refusal::LogFailed,
            given => return Err(Failure::Choice { what: "reason to refuse writes", given }.into()),
        };
        let journal = state.handles.journal(store)?;
        journal.borrow_mut().refusal = Some(refusal);
        state.handles.keep(store, Some(&journal))?;
    }
}

/// A record alone, so that the answer of the call before stays.
#[unsafe(no_mangle)]
extern "C" fn twindex_synced(store: u32, offset: u64) -> i32 {
    note(|state| {
        let note = journal(state, store)?.borrow_mut().synced(offset);
        let note = note.ok_or(Failure::Refused(Refusal::NoFile))?;
        state.log.note(store, note);
        Ok(0)
    })
}
