//! What waits for a disk: done at once, or by one of Node's threads while a promise stands for it.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use napi_sys as sys;
use serde_json::{Value as Json, json};
use twindex_durable::{Error, Recovery, Report, Torn};

use crate::cached::Cached;
use crate::call::{Call, Native, revisit};
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::feed::Block;
use crate::gauge::Gauge;
use crate::js::{Deferred, Js, Value, check};
use crate::memory::refused;
use crate::notices;
use crate::shared::{Refusal, Shared};
use crate::state::{NONE, State};

pub(crate) enum Outcome {
    Nothing,
    Store(Shared),
    Cache(Cached),
    Bytes(Vec<u8>),
    Count(u64),
    Changes(Block),
    /// A store's number, and its handle where it could not be closed.
    Closed(u32, Result<(), Box<(Shared, Error)>>),
    Report(Report),
    Recovery(Recovery),
}

type Task = Box<dyn FnOnce() -> Result<Outcome, Refusal> + Send>;

struct Job {
    work: sys::napi_async_work,
    task: Option<Task>,
    /// `None` where it panicked.
    outcome: Option<Result<Outcome, Refusal>>,
    deferred: Deferred,
}

/// Does the task: with `is_later` the answer is a promise.
pub(crate) fn run<'c>(
    js: Js<'c>,
    state: &mut State,
    is_later: bool,
    task: impl FnOnce() -> Result<Outcome, Refusal> + Send + 'static,
) -> Answer<'c> {
    if !is_later {
        return answer(js, state, task()?);
    }
    let name = js.text(b"twindex").unwrap_or_else(|| js.undefined())?;
    let (deferred, promise) = js.promise()?;
    let task: Option<Task> = Some(Box::new(task));
    let job = Box::into_raw(Box::new(Job { work: ptr::null_mut(), task, outcome: None, deferred }));
    // SAFETY: `name` is of the running call, `execute` and `complete` take what `job` points to, which has the place for
    // the answer.
    let created = check(unsafe {
        sys::napi_create_async_work(
            js.env(),
            ptr::null_mut(),
            name.raw(),
            Some(execute),
            Some(complete),
            job.cast(),
            &raw mut (*job).work,
        )
    });
    // SAFETY: it was just created.
    let queued = created.and_then(|()| check(unsafe { sys::napi_queue_async_work(js.env(), (*job).work) }));
    if let Err(failed) = queued {
        // SAFETY: nobody else has it: `complete` is not going to be called.
        let Job { work, deferred, .. } = *unsafe { Box::from_raw(job) };
        if created.is_ok() {
            // SAFETY: it was created, and is in no queue.
            unsafe { sys::napi_delete_async_work(js.env(), work) };
        }
        // Nobody has the promise, which would stay otherwise.
        js.settle(deferred, Ok(Value::UNDEFINED));
        return Err(failed.into());
    }
    Ok(promise)
}

/// Runs on one of Node's threads.
unsafe extern "C" fn execute(_: sys::napi_env, job: *mut c_void) {
    // SAFETY: `run` passed a job, which the other thread leaves alone until `complete`.
    let job = unsafe { &mut *job.cast::<Job>() };
    if let Some(task) = job.task.take() {
        job.outcome = catch_unwind(AssertUnwindSafe(task)).ok();
    }
}

/// Runs on the thread that the promise belongs to.
unsafe extern "C" fn complete(env: sys::napi_env, _: sys::napi_status, job: *mut c_void) {
    // SAFETY: `run` passed a job, and `execute` is done with it.
    let job = unsafe { Box::from_raw(job.cast::<Job>()) };
    let Job { work, outcome, deferred, .. } = *job;
    // SAFETY: `run` created it, and it has done its work.
    unsafe { sys::napi_delete_async_work(env, work) };
    let answered = |js, state: &mut State| match outcome {
        Some(Ok(outcome)) => answer(js, state, outcome),
        Some(Err(refusal)) => Err(refusal.into()),
        None => Err(Fault::bug()),
    };
    // SAFETY: Node called with this environment, on its thread.
    unsafe {
        revisit(env, answered, |js, settled, raise| match settled {
            Ok(value) => js.settle(deferred, Ok(value)),
            Err(fault) => {
                // Where no error can be made, the exception tells why. While it is pending, no promise can be settled.
                if let Some(error) = fault.error(js, raise).or_else(|| js.take_exception()) {
                    js.settle(deferred, Err(error));
                }
            }
        });
    }
}

/// The outcome as JavaScript sees it: a store as its number, what is large as a `Buffer`, what is rare as JSON.
fn answer<'c>(js: Js<'c>, state: &mut State, outcome: Outcome) -> Answer<'c> {
    Ok(match outcome {
        Outcome::Nothing => Value::UNDEFINED,
        Outcome::Closed(store, closed) => {
            state.closed(store, closed)?;
            Value::UNDEFINED
        }
        Outcome::Store(shared) => js.u32(state.stores.add(shared).map_err(|_| refused())?)?,
        Outcome::Cache(cached) => js.u32(state.add(NONE, Encodings::default(), cached)?)?,
        Outcome::Count(count) => js.u64(count)?,
        Outcome::Bytes(bytes) => js.adopt(bytes)?,
        Outcome::Changes(block) if block.batches.is_empty() => Value::UNDEFINED,
        Outcome::Changes(block) => js.adopt(block.into_bytes())?,
        Outcome::Report(report) => js.json(&report_of(&report))?,
        Outcome::Recovery(Recovery { report, tables, .. }) => {
            let tables = tables.iter();
            let tables = tables
                .map(|(name, index, pairs)| json!({ "name": name, "index": index.name(), "pairs": pairs }));
            js.json(&json!({ "report": report_of(&report), "tables": tables.collect::<Vec<_>>() }))?
        }
    })
}

fn report_of(report: &Report) -> Json {
    let damage = report.damage.iter();
    let damage = damage.map(|it| json!({ "offset": it.offset, "bytes": it.bytes, "what": it.what }));
    json!({
        "version": report.version,
        "bytes": report.bytes,
        "dumpBytes": report.dump_bytes,
        "logBytes": report.log_bytes,
        "records": report.records,
        "dumpPairs": report.dump_pairs,
        "operations": report.operations,
        "damage": damage.collect::<Vec<_>>(),
        "torn": torn(report.torn),
    })
}

/// What a power cut left unfinished, if anything.
pub(super) fn torn(torn: Option<Torn>) -> Option<Json> {
    torn.map(|torn| json!({ "offset": torn.offset, "bytes": torn.bytes }))
}

/// The gauge in an argument, or one that nobody looks at.
pub(crate) fn gauge(call: &Call<'_>, state: &State, position: usize) -> Arc<Gauge> {
    state.gauges.get(call.number(position)).map(|of| Arc::clone(&of.thing)).unwrap_or_default()
}

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `openGauge()`: the number of a gauge, which shows how far a task has come.
    ("open_gauge", |call, state| {
        call.give(state.add(NONE, Encodings::default(), Arc::<Gauge>::default())?)
    }),
    ("free_gauge", super::free::<Arc<Gauge>>),
    // `readGauge(gauge)`: `{ pairs, bytes }` as JSON.
    ("read_gauge", |call, state| {
        let gauge = gauge(call, state, 0);
        call.give(&json!({ "pairs": gauge.pairs.load(Relaxed), "bytes": gauge.bytes.load(Relaxed) }))
    }),
    // `noticesBehind(count)`: `{ count, notices }` as JSON: how many there were in this process, and those behind the first so many.
    ("notices_behind", |call, _| call.give(&notices::behind(call.count(0).unwrap_or_default()))),
];
