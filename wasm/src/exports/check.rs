//! Damage in files: what is there, and what can be saved of a store.

use twindex_format::{Report, check, limit_while_loading, name_limit, salvage};

use crate::answer::Output;
use crate::exports::store::limit;
use crate::failure::Failed;
use crate::handles::Object;

exports! {
    fn twindex_check(state, file: bytes, memory_limit: u64) {
        let memory_limit = limit(memory_limit);
        let most = memory_limit.map_or(usize::MAX, limit_while_loading);
        let report = check(&file, most, &|| false, &mut |_| ());
        answer(&mut state.output, &report.map_err(|error| name_limit(error, memory_limit))?)?;
    }

    fn twindex_salvage(state, file: bytes, memory_limit: u64) {
        let memory_limit = limit(memory_limit);
        let most = memory_limit.map_or(usize::MAX, limit_while_loading);
        let (report, store) =
            salvage(&file, most, &|| false, &mut |_| ()).map_err(|error| name_limit(error, memory_limit))?;
        store.set_memory_limit(memory_limit);
        answer(&mut state.output, &report)?;
        state.handles.open_as_status(Object::Store { store, journal: None })?
    }
}

/// Answers with nine figures of 8 bytes, then for each piece of damage its offset, its bytes, and what it is as a length and text.
fn answer(output: &mut Output, report: &Report) -> Result<(), Failed> {
    let (torn, lost) = report.torn.map_or((u64::MAX, 0), |torn| (torn.offset, torn.bytes));
    let [version, bytes] = [report.version.into(), report.bytes];
    let [dump, log, records] = [report.dump_bytes, report.log_bytes, report.records];
    let figures = [version, bytes, dump, log, records, report.dump_pairs, report.operations, torn, lost];
    output.figures(&figures.map(u64::cast_signed))?;
    for damage in &report.damage {
        let length = damage.what.len() as u32;
        output.push_all([&damage.offset.to_le_bytes(), &damage.bytes.to_le_bytes()])?;
        output.push_all([&length.to_le_bytes(), damage.what.as_bytes()])?;
    }
    output.finish(report.damage.len());
    Ok(())
}
