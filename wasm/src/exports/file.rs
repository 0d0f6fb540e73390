//! Stores that the host keeps in a file. The host writes the file; the module says what is to be written.

use std::cell::RefCell;
use std::rc::Rc;

use twindex::{Error, Store};
use twindex_format::{HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, Loader, synced_by};

use crate::answer;
use crate::exports::store::limit;
use crate::failure::{Failed, Failure};
use crate::handles::Object;
use crate::journal::{Journal, Refusal, Shared};
use crate::state::{State, call};

/// Opens a store from the bytes of its file, with a memory limit as [`twindex_store_new`](super::store) takes it: its handle. Answers
/// or 0 where the file was begun and never finished, so that it has nothing that the one before it has not. Answers
/// with the number of bytes that count: what a crash left behind them is to be cut off before the first record is appended. The
/// session is a random number.
#[unsafe(no_mangle)]
extern "C" fn twindex_open(file: usize, length: usize, memory_limit: u64, session: u64) -> i32 {
    call(|state| {
        let bytes = state.buffers.bytes((file, length))?;
        let memory_limit = limit(memory_limit);
        let store = Store::new();
        store.set_memory_limit(Some(memory_limit.unwrap_or(usize::MAX)));
        let mut loader = Loader::new(store);
        if is_begun(bytes) {
            return Ok(0);
        }
        let Header { salt, .. } = Header::decode(bytes)?;
        let Some(end) = read(&mut loader, salt, bytes)? else { return Ok(0) };
        let store = loader.store().clone();
        store.set_memory_limit(memory_limit);
        let journal = Some(Rc::new(RefCell::new(Journal::of_file(salt, end as u64, session, &loader))));
        answer::set_count(end);
        state.handles.open_as_status(Object::Store { store, journal })
    })
}

fn damaged(offset: usize, what: &'static str) -> Failed {
    Error::Corrupt { offset: offset as u64, what }.into()
}

/// The record at `offset`, if it is whole: its kind, and where it ends.
fn record_at(salt: u64, bytes: &[u8], offset: usize) -> Option<(Kind, &[u8], usize)> {
    let (head, rest) = bytes.get(offset..)?.split_first_chunk()?;
    let head = Head::decode(salt, offset as u64, head)?;
    let payload = rest.get(..usize::try_from(head.length).ok()?)?;
    head.matches(payload).then_some((head.kind, payload, offset + HEAD_BYTES + payload.len()))
}

/// Whether there is no more than a part of a header, or space for one.
fn is_begun(bytes: &[u8]) -> bool {
    const CONSTANT: usize = 12;
    let start = &bytes[..bytes.len().min(CONSTANT)];
    let is_cut = bytes.len() < HEADER_BYTES && Header::encode(0).starts_with(start);
    is_cut || bytes.iter().all(|&byte| byte == 0)
}

/// Reads a file into a store: where its log ends, or none where its dump was never finished.
fn read(loader: &mut Loader, salt: u64, bytes: &[u8]) -> Result<Option<usize>, Failed> {
    let (mut at, mut in_log) = (HEADER_BYTES, false);
    while let Some((kind, payload, next)) = record_at(salt, bytes, at) {
        if kind.is_logged() != in_log {
            return Err(damaged(at, "a record out of place"));
        }
        loader.record(kind, at as u64, payload)?;
        in_log |= kind == Kind::End;
        at = next;
    }
    let behind = || (at..bytes.len()).filter_map(|from| Some((from, record_at(salt, bytes, from)?)));
    if !in_log {
        let is_finished = behind().any(|(_, (kind, ..))| kind.is_logged() || kind == Kind::End);
        return if is_finished { Err(damaged(at, "a record is damaged")) } else { Ok(None) };
    }
    let is_synced = |(from, (kind, payload, _)): (usize, (Kind, &[u8], usize))| {
        kind == Kind::Synced && synced_by(from as u64, payload).is_ok_and(|synced| synced > at as u64)
    };
    if behind().any(is_synced) {
        return Err(damaged(at, "a record that was on disk is damaged, and valid ones follow it"));
    }
    Ok(Some(at))
}

/// Begins a file of the store, under a random salt other than 0: answers with its bytes, behind which the records of the answer cell
/// follow. A store that has a file begins the next one, and goes on in that.
#[unsafe(no_mangle)]
extern "C" fn twindex_file(store: u32, salt: u64) -> i32 {
    call(|state| {
        if salt == 0 {
            return Err(Failure::Choice { what: "salt", given: 0 }.into());
        }
        let (engine, journal) = state.handles.kept(store)?;
        let journal = match journal {
            Some(journal) => Rc::clone(journal),
            None if !engine.caches().is_empty() => return Err(Failure::Refused(Refusal::Cache).into()),
            None => Rc::new(RefCell::new(Journal::new(engine))),
        };
        state.log.expect_in(&journal, 0)?;
        let output = state.output.start();
        journal.borrow_mut().begin(salt, output)?;
        output.finish(0);
        state.handles.keep(store, &journal)?;
        Ok(0)
    })
}

/// The first `offset` bytes of the store's file are on disk: the record of the answer cell says so.
#[unsafe(no_mangle)]
extern "C" fn twindex_synced(store: u32, offset: u64) -> i32 {
    call(|state| {
        let journal = journal(state, store)?;
        let output = state.output.start();
        output.push(&journal.borrow_mut().synced(offset))?;
        state.log.is_made(output.bytes());
        Ok(0)
    })
}

/// Refuses all writes to the store from now on: with `TWINDEX_READ_ONLY` where `why` is 0, with `TWINDEX_LOG_FAILED` where it is 1, as
/// after a write to the file that failed.
#[unsafe(no_mangle)]
extern "C" fn twindex_refuse(store: u32, why: u32) -> i32 {
    call(|state| {
        let refusal = match why {
            0 => Refusal::ReadOnly,
            1 => Refusal::LogFailed,
            given => return Err(Failure::Choice { what: "reason to refuse writes", given }.into()),
        };
        let (engine, journal) = state.handles.kept(store)?;
        let journal = match journal {
            Some(journal) => Rc::clone(journal),
            None => Rc::new(RefCell::new(Journal::new(engine))),
        };
        journal.borrow_mut().refusal = Some(refusal);
        state.handles.keep(store, &journal)?;
        Ok(0)
    })
}

fn journal(state: &mut State, store: u32) -> Result<Shared, Failed> {
    let (_, journal) = state.handles.kept(store)?;
    Ok(journal.clone().ok_or(Failure::Refused(Refusal::NoFile))?)
}
