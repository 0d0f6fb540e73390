//! The one way in: every function that JavaScript sees enters through [`enter`].

use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi_sys::{self as sys, Status};
use serde_json::Value as Json;
use twindex_cache::Ttl;

use crate::encoding::Column;
use crate::fault::{Answer, Fault};
use crate::input::Input;
use crate::js::{Failed, Js, Made, Value, check};
use crate::memory::Calls;
use crate::state::State;

pub(crate) type Native = for<'c> fn(&Call<'c>, &mut State) -> Answer<'c>;

/// The most arguments of a function, but for [`Call::all`].
const ARGUMENTS: usize = 8;

pub(crate) struct Call<'c> {
    pub(crate) js: Js<'c>,
    info: sys::napi_callback_info,
    arguments: [Value<'c>; ARGUMENTS],
}

impl<'c> Call<'c> {
    /// An argument, `undefined` where it is missing.
    pub(crate) fn argument(&self, position: usize) -> Value<'c> {
        self.arguments[position]
    }

    /// An argument that is the number of a thing; one that no thing has where it is no number.
    pub(crate) fn number(&self, position: usize) -> u32 {
        self.js.get_u32(self.argument(position)).unwrap_or(u32::MAX)
    }

    /// An argument that is 1 for yes.
    pub(crate) fn flag(&self, position: usize) -> bool {
        self.number(position) == 1
    }

    /// An argument that is a string; `lib/` has checked that it is one.
    pub(crate) fn string(&self, position: usize) -> Result<String, Fault<'c>> {
        let mut bytes = Vec::new();
        Input::default().append_text(self.js, self.argument(position), Column::Name, &mut bytes)?;
        String::from_utf8(bytes).map_err(|_| Fault::bug())
    }

    /// The same, where there is one.
    pub(crate) fn optional(&self, position: usize) -> Result<Option<String>, Fault<'c>> {
        let is_there = !self.js.is_nothing(self.argument(position));
        is_there.then(|| self.string(position)).transpose()
    }

    /// An argument that is a count; `lib/` has checked that it is one.
    #[expect(clippy::cast_sign_loss, reason = "see above")]
    pub(crate) fn count(&self, position: usize) -> Option<usize> {
        self.js.get_f64(self.argument(position)).map(|count| count as usize)
    }

    #[inline]
    pub(crate) fn give(&self, result: impl Give) -> Answer<'c> {
        Ok(result.give(self.js)?)
    }

    /// All arguments, as far as there is room.
    pub(crate) fn all<'a>(&self, room: &'a mut [Value<'c>]) -> &'a [Value<'c>] {
        let mut count = room.len();
        let places = room.as_mut_ptr().cast();
        // SAFETY: `info` is of the running call; `Value` is transparent, so `places` has room for `count` of them.
        unsafe {
            sys::napi_get_cb_info(
                self.js.env(),
                self.info,
                &raw mut count,
                places,
                ptr::null_mut(),
                ptr::null_mut(),
            );
        }
        let passed = count.min(room.len());
        &room[..passed]
    }
}

pub(crate) trait Give {
    fn give(self, js: Js<'_>) -> Made<'_>;
}

macro_rules! gives {
    ($($Type:ty: $this:ident, $js:ident => $made:expr;)*) => {
        $(impl Give for $Type {
            #[inline]
            fn give($this, $js: Js<'_>) -> Made<'_> {
                $made
            }
        })*
    };
}

gives! {
    (): self, _js => Ok(Value::UNDEFINED);
    bool: self, js => js.boolean(self);
    u32: self, js => js.u32(self);
    usize: self, js => js.u64(self as u64);
    u64: self, js => js.u64(self);
    f64: self, js => js.f64(self);
    &Json: self, js => js.json(self);
    String: self, js => js.text(self.as_bytes()).unwrap_or_else(|| js.undefined());
    // A sum, and whether JavaScript is to see a bigint.
    (i64, bool): self, js => if self.1 { js.bigint(self.0) } else { js.i64(self.0) };
    // How long a pair still lives: in milliseconds, `Infinity` where it does not expire, `undefined` where it is absent.
    Ttl: self, js => match self {
        Ttl::Absent => Ok(Value::UNDEFINED),
        Ttl::Forever => js.f64(f64::INFINITY),
        Ttl::Left(left) => js.f64(left.as_secs_f64() * 1000.0),
    };
}

impl<T: Give> Give for Option<T> {
    fn give(self, js: Js<'_>) -> Made<'_> {
        self.map_or(Ok(Value::UNDEFINED), |there| there.give(js))
    }
}

/// What one environment has: its state, and its functions' way to it.
struct Home {
    state: RefCell<State>,
    calls: Calls,
    doors: Box<[Door]>,
}

struct Door {
    native: Native,
    /// It gives memory back, so that it is called also where there is none.
    is_free: bool,
    home: *const Home,
}

/// Whether the function of this name is there to give memory back.
fn gives_back(name: &str) -> bool {
    ["free", "close", "clear", "delete", "drop"].iter().any(|start| name.starts_with(start))
}

fn camel(name: &str) -> Result<CString, Failed> {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        camel = camel + &first.to_ascii_uppercase() + rest;
    }
    CString::new(camel).map_err(|_| Failed(Status::napi_invalid_arg))
}

/// Adds the functions to `exports`, or to objects in it.
///
/// # Safety
/// `env` is the environment that is loading this module on this thread, `exports` a value of that call.
pub(crate) unsafe fn export(
    env: sys::napi_env,
    exports: sys::napi_value,
    groups: &[(&str, &[(&str, Native)])],
) -> Result<(), Failed> {
    let home = Box::into_raw(Box::new(Home {
        state: RefCell::default(),
        calls: Calls::default(),
        doors: Box::default(),
    }));
    let all = groups.iter().flat_map(|(_, functions)| functions.iter());
    let doors = all.map(|&(name, native)| Door { native, is_free: gives_back(name), home }).collect();
    // SAFETY: `home` was just made, and nobody else has it yet.
    unsafe { (*home).doors = doors };
    // SAFETY: `env` is the caller's promise; `forget` fits what `home` points to. This module sets no other
    // instance data.
    check(unsafe { sys::napi_set_instance_data(env, home.cast(), Some(forget), ptr::null_mut()) })?;
    // SAFETY: `home` lives until `forget`, which runs when no function can be called any more; from here on it is
    // only read.
    let mut doors = unsafe { &(*home).doors }.iter();
    let set = |object, name: &CString, value| {
        // SAFETY: `name` is a C string; the two values are `exports`, which is the caller's promise, or made here.
        check(unsafe { sys::napi_set_named_property(env, object, name.as_ptr(), value) })
    };
    let (mut object, mut last) = (exports, "");
    for (group, functions) in groups {
        if group.is_empty() {
            object = exports;
        } else if *group != last {
            // SAFETY: `object` is a place for the answer.
            check(unsafe { sys::napi_create_object(env, &raw mut object) })?;
            set(exports, &camel(group)?, object)?;
        }
        last = group;
        for ((name, _), door) in functions.iter().zip(&mut doors) {
            let name = camel(name)?;
            let data = ptr::from_ref(door).cast_mut().cast();
            let mut function = ptr::null_mut();
            // SAFETY: `name` is a C string, and `enter` takes what `data` points to.
            check(unsafe {
                sys::napi_create_function(env, name.as_ptr(), -1, Some(enter), data, &raw mut function)
            })?;
            set(object, &name, function)?;
        }
    }
    Ok(())
}

/// Frees all that an environment has, as it ends: at the end of a worker, however it ends.
unsafe extern "C" fn forget(_: sys::napi_env, home: *mut c_void, _: *mut c_void) {
    // SAFETY: `home` came from `Box::into_raw` in `export`, and Node calls this once, after the last call.
    drop(unsafe { Box::from_raw(home.cast::<Home>()) });
}

/// Runs `then` with the state of an environment, outside of any call into this module; not where it has none any more. Gives
/// `settle` what comes of it, and the function that makes errors, once the state is free: making an error may run code of the
/// user's.
///
/// # Safety
/// `env` is the environment whose thread this is, in a callback of Node's.
pub(crate) unsafe fn revisit<'c>(
    env: sys::napi_env,
    then: impl FnOnce(Js<'c>, &mut State) -> Answer<'c>,
    settle: impl FnOnce(Js<'c>, Answer<'c>, Option<Value<'c>>),
) {
    let mut home = ptr::null_mut();
    // SAFETY: `env` is the caller's promise, `home` a place for the answer.
    let status = unsafe { sys::napi_get_instance_data(env, &raw mut home) };
    if status != Status::napi_ok || home.is_null() {
        return;
    }
    // SAFETY: `export` set it, and it lives until `forget`, after which Node has no callbacks left.
    let home = unsafe { &*home.cast::<Home>() };
    // SAFETY: this is the callback, on its thread.
    let js = unsafe { Js::new(env) };
    let (settled, raise) = match home.state.try_borrow_mut() {
        Ok(mut state) => {
            let answer = catch_unwind(AssertUnwindSafe(|| then(js, &mut state)));
            (answer.unwrap_or_else(|_| Err(Fault::bug())), state.raise(js))
        }
        Err(_) => (Err(Fault::bug()), None),
    };
    settle(js, settled, raise);
}

/// Runs a function with its state. No panic leaves it, and an error leaves it as an exception.
unsafe extern "C" fn enter(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: this is the call, on its thread.
    let js = unsafe { Js::new(env) };
    let mut call = Call { js, info, arguments: [Value::UNDEFINED; ARGUMENTS] };
    let mut count = ARGUMENTS;
    let mut data = ptr::null_mut();
    // SAFETY: Node passes its own `env` and `info`; `arguments` has room for `count`, `Value` being transparent.
    let status = unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            call.arguments.as_mut_ptr().cast(),
            ptr::null_mut(),
            &raw mut data,
        )
    };
    if status != Status::napi_ok {
        return ptr::null_mut();
    }
    // SAFETY: `export` gave every function its door, which lives as long as the function can be called.
    let door = unsafe { &*data.cast::<Door>() };
    // SAFETY: as the door, its home.
    let home = unsafe { &*door.home };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // It is borrowed already only where JavaScript that this module called calls back, which ours never does.
        if !door.is_free {
            home.calls.check()?;
        }
        let mut state = home.state.try_borrow_mut().map_err(|_| Fault::bug())?;
        let answer = (door.native)(&call, &mut state);
        state.trim();
        answer
    }));
    match outcome.unwrap_or_else(|_| Err(Fault::bug())) {
        Ok(value) => value.raw(),
        Err(fault) => {
            let raise = home.state.try_borrow().ok().and_then(|state| state.raise(js));
            fault.throw(js, raise);
            ptr::null_mut()
        }
    }
}
