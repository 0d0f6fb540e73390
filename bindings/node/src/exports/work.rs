//! What waits for a disk: done at once, or by one of Node's threads while a promise stands for it.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use napi::bindgen_prelude::BufferSlice;
use napi::sys::{self, Status};
use napi::{Env, JsValue};
use twindex_durable::{Error, Recovery, Report, Torn};

use crate::call::{Call, revisit};
use crate::fault::{Answer, Fault};
use crate::feed::Block;
use crate::gauge::Gauge;
use crate::js::{Deferred, Failed, Js, Value};
use crate::notices;
use crate::shared::{Refusal, Shared};
use crate::state::State;

/// What a task ends with.
pub(crate) enum Outcome {
    Nothing,
    Store(Arc<Shared>),
    Bytes(Vec<u8>),
    Count(u64),
    Changes(Block),
    /// A store's number, and the store where it could not be closed.
    Closed(u32, Result<(), (Arc<Shared>, Error)>),
    Report(Report),
    Recovery(Recovery),
}

/// What is to be done, on any thread.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Outcome, Refusal> + Send>;

/// A task on another thread.
struct Job {
    work: sys::napi_async_work,
    task: Option<Task>,
    /// `None` where it panicked.
    outcome: Option<Result<Outcome, Refusal>>,
    deferred: Deferred,
}

/// Does the task: with `is_later` the answer is a promise.
pub(crate) fn run<'c>(js: Js<'c>, state: &mut State, is_later: bool, task: Task) -> Answer<'c> {
    if !is_later {
        return answer(js, state, task()?);
    }
    let name = js.text(b"twindex").unwrap_or_else(|| js.undefined())?;
    let (deferred, promise) = js.promise()?;
    let job =
        Box::into_raw(Box::new(Job { work: ptr::null_mut(), task: Some(task), outcome: None, deferred }));
    // SAFETY: `name` is of the running call, `execute` and `complete` take what `job` points to, which has the place for
    // the answer.
    let created = unsafe {
        sys::napi_create_async_work(
            js.env(),
            ptr::null_mut(),
            name.raw(),
            Some(execute),
            Some(complete),
            job.cast(),
            &raw mut (*job).work,
        )
    };
    // SAFETY: it was just created.
    let queued = created == Status::napi_ok
        && unsafe { sys::napi_queue_async_work(js.env(), (*job).work) } == Status::napi_ok;
    if !queued {
        // SAFETY: nobody else has it: `complete` is not going to be called.
        drop(unsafe { Box::from_raw(job) });
        return Err(Failed(created).into());
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
    // SAFETY: Node called with this environment, on its thread.
    unsafe {
        revisit(env, |js, state| {
            let settled = match outcome {
                Some(Ok(outcome)) => answer(js, state, outcome),
                Some(Err(refusal)) => Err(refusal.into()),
                None => Err(Fault::bug()),
            };
            match settled {
                Ok(value) => js.settle(deferred, Ok(value)),
                Err(fault) => {
                    if let Some(error) = fault.error(js, state.raise(js)) {
                        js.settle(deferred, Err(error));
                    }
                }
            }
        });
    }
}

/// The outcome as JavaScript sees it: a store as its number.
fn answer<'c>(js: Js<'c>, state: &mut State, outcome: Outcome) -> Answer<'c> {
    match outcome {
        Outcome::Nothing => Ok(Value::UNDEFINED),
        Outcome::Closed(store, closed) => {
            state.closed(store, closed)?;
            Ok(Value::UNDEFINED)
        }
        Outcome::Store(shared) => Ok(js.u32(state.stores.add(shared))?),
        Outcome::Count(count) => Ok(js.u64(count)?),
        Outcome::Bytes(bytes) => buffer(js, bytes),
        Outcome::Changes(block) => changes(js, block),
        Outcome::Report(report) => report_object(js, &report),
        Outcome::Recovery(recovery) => {
            let object = js.object()?;
            js.set(object, c"report", report_object(js, &recovery.report)?)?;
            let tables = recovery.tables.iter().map(|(name, index, pairs)| {
                let table = js.object()?;
                js.set(table, c"name", text(js, name)?)?;
                js.set(table, c"index", text(js, index.name())?)?;
                js.set(table, c"pairs", js.usize(*pairs)?)?;
                Ok(table)
            });
            js.set(object, c"tables", js.array(&tables.collect::<Result<Vec<_>, Fault<'c>>>()?)?)?;
            Ok(object)
        }
    }
}

/// A `Buffer` of these very bytes.
fn buffer(js: Js<'_>, bytes: Vec<u8>) -> Answer<'_> {
    let env = Env::from_raw(js.env());
    let buffer = BufferSlice::from_data(&env, bytes).map_err(|error| Failed(error.status as i32))?;
    // SAFETY: it was made in the handle scope of the running call.
    Ok(unsafe { Value::new(buffer.raw()) })
}

/// `{ tables, batches, bytes }`, as [`Block`] says, with each batch as `{ position, count }`; nothing for an empty one.
fn changes(js: Js<'_>, block: Block) -> Answer<'_> {
    if block.batches.is_empty() {
        return Ok(Value::UNDEFINED);
    }
    let object = js.object()?;
    let tables = block.tables.iter().map(|table| {
        let object = js.object()?;
        js.set(object, c"name", text(js, &table.name)?)?;
        js.set(object, c"index", text(js, table.index.name())?)?;
        js.set(object, c"keys", text(js, &table.keys)?)?;
        js.set(object, c"values", text(js, &table.values)?)?;
        Ok(object)
    });
    js.set(object, c"tables", js.array(&tables.collect::<Result<Vec<_>, Fault<'_>>>()?)?)?;
    let batches = block.batches.iter().map(|(position, count)| {
        let object = js.object()?;
        js.set(object, c"position", text(js, &position.to_string())?)?;
        js.set(object, c"count", js.u32(*count)?)?;
        Ok(object)
    });
    js.set(object, c"batches", js.array(&batches.collect::<Result<Vec<_>, Fault<'_>>>()?)?)?;
    js.set(object, c"bytes", buffer(js, block.bytes)?)?;
    Ok(object)
}

fn report_object<'c>(js: Js<'c>, report: &Report) -> Answer<'c> {
    let object = js.object()?;
    js.set(object, c"version", js.u32(report.version)?)?;
    for (name, number) in [
        (c"bytes", report.bytes),
        (c"dumpBytes", report.dump_bytes),
        (c"logBytes", report.log_bytes),
        (c"records", report.records),
        (c"dumpPairs", report.dump_pairs),
        (c"operations", report.operations),
    ] {
        js.set(object, name, js.u64(number)?)?;
    }
    let damage = report.damage.iter().map(|damage| {
        let place = place(js, damage.offset, damage.bytes)?;
        js.set(place, c"what", text(js, damage.what)?)?;
        Ok(place)
    });
    js.set(object, c"damage", js.array(&damage.collect::<Result<Vec<_>, Fault<'c>>>()?)?)?;
    js.set(object, c"torn", torn(js, report.torn)?)?;
    Ok(object)
}

/// What a power cut left unfinished, if anything.
pub(crate) fn torn(js: Js<'_>, torn: Option<Torn>) -> Answer<'_> {
    torn.map_or(Ok(Value::UNDEFINED), |torn| place(js, torn.offset, torn.bytes))
}

fn place(js: Js<'_>, offset: u64, bytes: u64) -> Answer<'_> {
    let object = js.object()?;
    js.set(object, c"offset", js.u64(offset)?)?;
    js.set(object, c"bytes", js.u64(bytes)?)?;
    Ok(object)
}

/// A string of ours, or of a path that may not be UTF-8.
pub(crate) fn text<'c>(js: Js<'c>, text: &str) -> Answer<'c> {
    Ok(js.text(text.as_bytes()).unwrap_or_else(|| js.undefined())?)
}

// --- what happened in the background

/// `countNotices()`: how many there were in this process.
pub(crate) fn count_notices<'c>(call: &Call<'c>, _: &mut State) -> Answer<'c> {
    Ok(call.js.u64(notices::count())?)
}

/// `noticesBehind(count)`: those behind the first so many, as objects.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "it is a count of ours")]
pub(crate) fn notices_behind<'c>(call: &Call<'c>, _: &mut State) -> Answer<'c> {
    let js = call.js;
    let seen = js.get_f64(call.argument(0)).unwrap_or_default() as u64;
    let notices = notices::behind(seen).into_iter().map(|notice| {
        let object = js.object()?;
        js.set(object, c"event", text(js, &notice.event)?)?;
        js.set(object, c"level", text(js, notice.level)?)?;
        js.set(object, c"message", text(js, &notice.message)?)?;
        js.set(object, c"path", text(js, &notice.path)?)?;
        Ok(object)
    });
    Ok(js.array(&notices.collect::<Result<Vec<_>, Fault<'c>>>()?)?)
}

// --- how far a task has come

/// The gauge in an argument, or one that nobody looks at.
pub(crate) fn gauge(call: &Call<'_>, state: &State, position: usize) -> Arc<Gauge> {
    state.gauges.get(call.number(position)).cloned().unwrap_or_default()
}

/// `openGauge()`: the number of a gauge.
pub(crate) fn open_gauge<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.u32(state.gauges.add(Arc::default()))?)
}

/// `freeGauge(gauge)`
pub(crate) fn free_gauge<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.gauges.free(call.number(0));
    Ok(Value::UNDEFINED)
}

/// `gaugePairs(gauge)`: the pairs that the task has come past.
pub(crate) fn gauge_pairs<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.u64(gauge(call, state, 0).pairs.load(Relaxed))?)
}

/// `gaugeBytes(gauge)`: the bytes that the task has come past.
pub(crate) fn gauge_bytes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.u64(gauge(call, state, 0).bytes.load(Relaxed))?)
}
