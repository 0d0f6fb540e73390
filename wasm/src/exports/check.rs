//! Damage in files: what is there, and what can be saved of a store.

use twindex_format::{Report, check, limit_while_loading, name_limit, salvage};

use crate::answer::Output;
use crate::exports::store::limit;
use crate::failure::Failed;
use crate::handles::Object;
use crate::state::call;

#[unsafe(no_mangle)]
extern "C" fn twindex_check(file: usize, length: usize, memory_limit: u64) -> i32 {
    call(|state| {
        let bytes = state.buffers.bytes((file, length))?;
        let memory_limit = limit(memory_limit);
        let most = memory_limit.map_or(usize::MAX, limit_while_loading);
        let report = check(&bytes, most, &|| false, &mut |_| ());
        answer(state.output.start(), &report.map_err(|error| name_limit(error, memory_limit))?)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_salvage(file: usize, length: usize, memory_limit: u64) -> i32 {
    call(|state| {
        let bytes = state.buffers.bytes((file, length))?;
        let memory_limit = limit(memory_limit);
        let most = memory_limit.map_or(usize::MAX, limit_while_loading);
        let (report, store) =
            salvage(&bytes, most, &|| false, &mut |_| ()).map_err(|error| name_limit(error, memory_limit))?;
        store.set_memory_limit(memory_limit);
        answer(state.output.start(), &report)?;
        state.handles.open_as_status(Object::Store { store, journal: None })
    })
}

/// Answers with nine figures of 8 bytes, then for each piece of damage its offset, its bytes, and what it is as a length and text.
fn answer(output: &mut Output, report: &Report) -> Result<(), Failed> {
    let (torn, lost) = report.torn.map_or((u64::MAX, 0), |torn| (torn.offset, torn.bytes));
    for figure in [
        report.version.into(),
        report.bytes,
        report.dump_bytes,
        report.log_bytes,
        report.records,
        report.dump_pairs,
        report.operations,
        torn,
        lost,
    ] {
        output.push(&figure.to_le_bytes())?;
    }
    for damage in &report.damage {
        let length = damage.what.len() as u32;
        output.push_all([&damage.offset.to_le_bytes(), &damage.bytes.to_le_bytes()])?;
        output.push_all([&length.to_le_bytes(), damage.what.as_bytes()])?;
    }
    output.finish(report.damage.len());
    Ok(())
}
