//! How other threads reach an environment: its loop calls one function of JavaScript, which then asks for what there is.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release};
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::thread::{self, ThreadId};

use napi_sys as sys;

use crate::js::{Failed, Js, Value, check};
use crate::shared::lock;

/// One for each environment that has waited for another thread.
#[derive(Default)]
pub(crate) struct Inbox {
    /// There as long as the environment takes calls.
    way: Mutex<Option<Way>>,
    thread: Option<ThreadId>,
    /// Whether the function was called and has not asked since.
    is_called: AtomicBool,
    /// The computations that others have ended, and the watches that have something, as `lib/inbox.js` numbers them.
    woken: Mutex<Vec<i64>>,
}

struct Way(sys::napi_threadsafe_function);

// SAFETY: Node lets any thread call such a function, as long as it is there: see `Inbox::way`.
unsafe impl Send for Way {}

/// Node calls this on the environment's thread, before the function is gone.
unsafe extern "C" fn close(_: sys::napi_env, inbox: *mut c_void, _: *mut c_void) {
    // SAFETY: `open` passed it, and Node calls this once.
    let inbox = unsafe { Arc::from_raw(inbox.cast::<Inbox>().cast_const()) };
    *lock(&inbox.way) = None;
}

impl Inbox {
    /// An inbox whose loop calls `wake`. It keeps no process alive.
    pub(crate) fn open<'c>(js: Js<'c>, wake: Value<'c>) -> Result<Arc<Self>, Failed> {
        let name = js.text(b"twindex").unwrap_or_else(|| js.undefined())?;
        let inbox = Arc::new(Self { thread: Some(thread::current().id()), ..Self::default() });
        let owner = Arc::into_raw(Arc::clone(&inbox)).cast_mut().cast();
        let mut way = ptr::null_mut();
        // SAFETY: `wake` and `name` are of the running call, `close` takes what `owner` points to, `way` is a place for the answer.
        let made = check(unsafe {
            sys::napi_create_threadsafe_function(
                js.env(),
                wake.raw(),
                ptr::null_mut(),
                name.raw(),
                0,
                1,
                owner,
                Some(close),
                ptr::null_mut(),
                None,
                &raw mut way,
            )
        });
        if let Err(failed) = made {
            // SAFETY: it is from `into_raw`, and `close` is not going to be called.
            drop(unsafe { Arc::from_raw(owner.cast::<Self>().cast_const()) });
            return Err(failed);
        }
        *lock(&inbox.way) = Some(Way(way));
        inbox.keep_alive(js, false)?;
        Ok(inbox)
    }

    /// Whether the process, or the worker, stays alive for calls that may come.
    pub(crate) fn keep_alive(&self, js: Js<'_>, is_kept: bool) -> Result<(), Failed> {
        let way = lock(&self.way);
        let Some(Way(way)) = &*way else { return Ok(()) };
        // SAFETY: this is the environment's thread, and the function is there while the lock is held: `close` takes it.
        check(unsafe {
            if is_kept {
                sys::napi_ref_threadsafe_function(js.env(), *way)
            } else {
                sys::napi_unref_threadsafe_function(js.env(), *way)
            }
        })
    }

    pub(crate) fn is_here(&self) -> bool {
        self.thread == Some(thread::current().id())
    }

    /// Has the function called, unless it was and has not asked yet.
    pub(crate) fn call(&self) {
        if self.is_called.swap(true, AcqRel) {
            return;
        }
        let mut way = lock(&self.way);
        let Some(Way(function)) = &*way else { return };
        // SAFETY: the function is there while the lock is held, as above.
        let status = unsafe {
            sys::napi_call_threadsafe_function(
                *function,
                ptr::null_mut(),
                sys::ThreadsafeFunctionCallMode::nonblocking,
            )
        };
        if check(status).is_err() {
            // The environment is ending.
            *way = None;
        }
    }

    /// What others have ended since. What comes from now on calls the function again.
    pub(crate) fn take_woken(&self) -> Vec<i64> {
        self.is_called.store(false, Release);
        std::mem::take(&mut lock(&self.woken))
    }
}

/// Wakes what waits for a computation or a watch, by its number.
pub(crate) struct Waiting {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) number: i64,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        lock(&self.inbox.woken).push(self.number);
        self.inbox.call();
    }
}
