//! How results reach the thread of an environment: its loop is woken once for all that are ready.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::Env;
use napi::{JsError, Result, check_status, sys};

/// Makes the value of a result on the environment's thread.
type Make = Box<dyn FnOnce(sys::napi_env) -> Result<sys::napi_value> + Send>;

/// One for each environment.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<State>);

#[derive(Default)]
struct State {
    /// There as long as the environment takes calls.
    way: Option<Way>,
    ready: Vec<(Promise, Make)>,
    /// How many promises wait. While there are any, the process stays alive.
    waiting: usize,
}

struct Way(sys::napi_threadsafe_function);

/// The half of a promise that settles it.
pub(crate) struct Promise(sys::napi_deferred);

// SAFETY: any thread may call the function, as long as it is there: see `State::way`.
unsafe impl Send for Way {}
// SAFETY: only the environment's thread uses it; others pass it along.
unsafe impl Send for Promise {}

/// Node calls this on the environment's thread, before the function is gone.
unsafe extern "C" fn close(_: sys::napi_env, inbox: *mut c_void, _: *mut c_void) {
    // SAFETY: `open` passed it, and Node calls this once.
    let inbox = unsafe { Arc::from_raw(inbox.cast::<Inbox>().cast_const()) };
    inbox.state().way = None;
}

/// The environment's loop calls this on its thread.
unsafe extern "C" fn deliver(env: sys::napi_env, _: sys::napi_value, inbox: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    // SAFETY: `open` passed it, and `close` comes after the last call.
    let inbox = unsafe { &*inbox.cast::<Inbox>() };
    let ready = std::mem::take(&mut inbox.state().ready);
    for (Promise(promise), make) in ready {
        inbox.settled(env);
        // SAFETY: this is the thread of `env`, whose promise it is and which settles it once.
        unsafe {
            match make(env) {
                Ok(value) => sys::napi_resolve_deferred(env, promise, value),
                Err(error) => {
                    // While one is pending, neither this promise nor the next ones could be settled.
                    let mut pending = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(env, &raw mut pending);
                    sys::napi_reject_deferred(env, promise, JsError::from(error).into_value(env))
                }
            };
        }
    }
}

impl Inbox {
    /// The environment's.
    pub(crate) fn of(env: Env) -> Result<Arc<Self>> {
        if let Some(inbox) = env.get_instance_data::<Arc<Self>>()? {
            return Ok(inbox.clone());
        }
        let inbox = Self::open(&env)?;
        env.set_instance_data(inbox.clone(), (), |_| ())?;
        Ok(inbox)
    }

    fn open(env: &Env) -> Result<Arc<Self>> {
        let inbox = Arc::new(Self::default());
        let owner = Arc::into_raw(inbox.clone()).cast_mut().cast();
        let (name, mut way) = (env.create_string("twindex")?, ptr::null_mut());
        // SAFETY: `name` is of the running call, `close` and `deliver` take what `owner` points to, `way` is a place for the answer.
        check_status!(unsafe {
            sys::napi_create_threadsafe_function(
                env.raw(),
                ptr::null_mut(),
                ptr::null_mut(),
                napi::JsValue::raw(&name),
                0,
                1,
                owner,
                Some(close),
                owner,
                Some(deliver),
                &raw mut way,
            )
        })?;
        // SAFETY: it was just made, on this thread. It keeps no process alive until a promise waits.
        check_status!(unsafe { sys::napi_unref_threadsafe_function(env.raw(), way) })?;
        inbox.state().way = Some(Way(way));
        Ok(inbox)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A promise of what [`push`](Self::push) brings.
    pub(crate) fn promise(&self, env: &Env) -> Result<(Promise, sys::napi_value)> {
        let (mut promise, mut value) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: this is the environment's thread, and these are places for the answers.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &raw mut promise, &raw mut value) })?;
        let mut state = self.state();
        state.waiting += 1;
        if let (1, Some(Way(way))) = (state.waiting, &state.way) {
            // SAFETY: as above, and the function is there while the lock is held: `close` takes it.
            check_status!(unsafe { sys::napi_ref_threadsafe_function(env.raw(), *way) })?;
        }
        Ok((Promise(promise), value))
    }

    fn settled(&self, env: sys::napi_env) {
        let mut state = self.state();
        state.waiting -= 1;
        if let (0, Some(Way(way))) = (state.waiting, &state.way) {
            // SAFETY: as in `promise`. Where it fails, the environment is ending.
            unsafe { sys::napi_unref_threadsafe_function(env, *way) };
        }
    }

    /// Brings a result, from any thread. The loop is woken unless it was for an earlier one that it has not taken.
    pub(crate) fn push(&self, promise: Promise, make: Make) {
        let mut state = self.state();
        let Some(Way(way)) = state.way else { return };
        state.ready.push((promise, make));
        if state.ready.len() == 1 {
            let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
            // SAFETY: the function is there while the lock is held, as above.
            let status = unsafe { sys::napi_call_threadsafe_function(way, ptr::null_mut(), mode) };
            if status != sys::Status::napi_ok {
                // The environment is ending.
                state.way = None;
            }
        }
    }
}
