//! Node-API, as far as it is needed, with lifetimes.
//!
//! A [`Js`] exists only while Node calls into this module, on the thread that the environment belongs to; a
//! [`Value`] is of the handle scope of that call. `'c` is that call. All `unsafe` below rests on it.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;

use napi_sys::{self as sys, Status, napi_status, napi_value};

/// The environment of the call that is running.
#[derive(Clone, Copy)]
pub(crate) struct Js<'c> {
    env: sys::napi_env,
    call: PhantomData<&'c ()>,
}

/// A JavaScript value of the call that is running; a null pointer stands for `undefined`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Value<'c> {
    raw: napi_value,
    call: PhantomData<&'c ()>,
}

impl Value<'_> {
    /// What a function returns that returns nothing.
    pub(crate) const UNDEFINED: Self = Self { raw: ptr::null_mut(), call: PhantomData };

    /// # Safety
    /// `raw` is null or a value of the handle scope of the call `'c`.
    pub(crate) const unsafe fn new(raw: napi_value) -> Self {
        Self { raw, call: PhantomData }
    }

    pub(crate) const fn raw(self) -> napi_value {
        self.raw
    }
}

pub(crate) struct Deferred(sys::napi_deferred);

/// Node-API refused: an exception is pending, or the thread is being ended.
#[derive(Clone, Copy)]
pub(crate) struct Failed(pub(crate) napi_status);

pub(crate) type Made<'c> = Result<Value<'c>, Failed>;

/// Asks Node-API for a value and gives it the call's lifetime.
macro_rules! value {
    ($js:expr, $function:ident($($argument:expr),*)) => {{
        let mut result = ptr::null_mut();
        // SAFETY: `env` is that of the running call, pointers are to live data of the lengths given beside
        // them, `result` is a place for one value.
        let status = unsafe { sys::$function($js.env, $($argument,)* &raw mut result) };
        // SAFETY: Node-API made it in the handle scope of the running call.
        check(status).map(|()| unsafe { Value::new(result) })
    }};
}

/// Asks Node-API for something plain, which it writes over what is given here; `None` where it refuses.
macro_rules! ask {
    ($js:expr, $answer:expr, $function:ident($($argument:expr),*)) => {{
        let mut answer = $answer;
        // SAFETY: `env` is that of the running call, as values are; pointers are to places of the lengths given beside them,
        // and `answer` is a place for the answer.
        let status = unsafe { sys::$function($js.env, $($argument,)* &raw mut answer) };
        (status == Status::napi_ok).then_some(answer)
    }};
}

pub(crate) fn check(status: napi_status) -> Result<(), Failed> {
    if status == Status::napi_ok { Ok(()) } else { Err(Failed(status)) }
}

/// Frees what a `Buffer` was made of.
unsafe extern "C" fn free(_: sys::napi_env, _: *mut c_void, owner: *mut c_void) {
    // SAFETY: `adopt` passed it, and Node calls this once.
    drop(unsafe { Box::from_raw(owner.cast::<Vec<u8>>()) });
}

impl<'c> Js<'c> {
    /// # Safety
    /// `env` is the environment of the call `'c` into this module, on this thread.
    pub(crate) const unsafe fn new(env: sys::napi_env) -> Self {
        Self { env, call: PhantomData }
    }

    pub(crate) const fn env(self) -> sys::napi_env {
        self.env
    }

    // --- from JavaScript

    pub(crate) fn is_nothing(self, value: Value<'c>) -> bool {
        use sys::ValueType::{napi_null, napi_undefined};
        ask!(self, napi_undefined, napi_typeof(value.raw))
            .is_some_and(|kind| kind == napi_undefined || kind == napi_null)
    }

    /// A number from 0 to 2^32 - 1, `None` for all else, of which Deno's `napi_get_value_uint32` makes a number too.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "`lib/` passes no other numbers")]
    pub(crate) fn get_u32(self, value: Value<'c>) -> Option<u32> {
        self.get_f64(value).map(|number| number as u32)
    }

    #[inline]
    pub(crate) fn get_f64(self, value: Value<'c>) -> Option<f64> {
        ask!(self, 0.0, napi_get_value_double(value.raw))
    }

    /// A bigint, and whether it fitted; `None` for all else.
    pub(crate) fn get_bigint(self, value: Value<'c>) -> Option<(i64, bool)> {
        let mut number = 0;
        let lossless = ask!(self, false, napi_get_value_bigint_int64(value.raw, &raw mut number))?;
        Some((number, lossless))
    }

    /// Copies the start of a string to `units`, which is not empty: the number of units, at most one less than
    /// there is room for, or `None` where `value` is no string.
    #[inline]
    pub(crate) fn get_utf16(self, value: Value<'c>, units: &mut [u16]) -> Option<usize> {
        ask!(self, 0, napi_get_value_string_utf16(value.raw, units.as_mut_ptr(), units.len()))
    }

    /// The number of UTF-16 units of a string: without a buffer Node-API only gives that.
    pub(crate) fn utf16_len(self, value: Value<'c>) -> usize {
        ask!(self, 0, napi_get_value_string_utf16(value.raw, ptr::null_mut(), 0)).unwrap_or_default()
    }

    /// The bytes of a `Uint8Array`, `None` for all else.
    pub(crate) fn get_bytes(self, value: Value<'c>) -> Option<&'c [u8]> {
        let (mut kind, mut len, mut data) = (0, 0, ptr::null_mut());
        // SAFETY: `value` is of the running call, the others are places for the answer or not wanted.
        let status = unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                value.raw,
                &raw mut kind,
                &raw mut len,
                &raw mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        if status != Status::napi_ok || kind != sys::TypedarrayType::uint8_array {
            return None;
        }
        if len == 0 || data.is_null() {
            return Some(&[]);
        }
        // SAFETY: the array holds `len` bytes there. It outlives the call, of which `value` is an argument, and
        // nothing changes it meanwhile: no JavaScript runs on this thread before it is read, and `lib/shared/views.js`
        // copies what other threads share, by what the language itself says of a buffer.
        Some(unsafe { std::slice::from_raw_parts(data.cast(), len) })
    }

    // --- to JavaScript

    pub(crate) fn boolean(self, boolean: bool) -> Made<'c> {
        value!(self, napi_get_boolean(boolean))
    }

    pub(crate) fn u32(self, number: u32) -> Made<'c> {
        value!(self, napi_create_uint32(number))
    }

    pub(crate) fn usize(self, number: usize) -> Made<'c> {
        self.u64(number as u64)
    }

    #[allow(clippy::cast_precision_loss, reason = "counts and bytes stay far below 2^53")]
    pub(crate) fn u64(self, number: u64) -> Made<'c> {
        self.f64(number as f64)
    }

    pub(crate) fn f64(self, number: f64) -> Made<'c> {
        value!(self, napi_create_double(number))
    }

    pub(crate) fn i64(self, number: i64) -> Made<'c> {
        value!(self, napi_create_int64(number))
    }

    pub(crate) fn bigint(self, number: i64) -> Made<'c> {
        value!(self, napi_create_bigint_int64(number))
    }

    /// A string from UTF-8; `None` where it is not UTF-8. No other input is refused than a string past V8's limit.
    pub(crate) fn text(self, bytes: &[u8]) -> Option<Made<'c>> {
        Some(if bytes.is_ascii() {
            // Latin-1 is the cheaper way in, and ASCII is both.
            value!(self, napi_create_string_latin1(bytes.as_ptr().cast(), bytes.len().cast_signed()))
        } else {
            let text = std::str::from_utf8(bytes).ok()?;
            value!(self, napi_create_string_utf8(text.as_ptr().cast(), text.len().cast_signed()))
                .or_else(|_| self.long_text(text))
        })
    }

    /// A string of more bytes than Node-API takes, and perhaps of few enough units.
    #[cold]
    fn long_text(self, text: &str) -> Made<'c> {
        let units: Vec<u16> = text.encode_utf16().collect();
        value!(self, napi_create_string_utf16(units.as_ptr(), units.len().cast_signed()))
    }

    pub(crate) fn buffer(self, bytes: &[u8]) -> Made<'c> {
        value!(self, napi_create_buffer_copy(bytes.len(), bytes.as_ptr().cast(), ptr::null_mut()))
    }

    /// A new `ArrayBuffer` of zeros, and where its bytes are.
    pub(crate) fn array_buffer(self, len: usize) -> Result<(Value<'c>, *mut u8), Failed> {
        let mut data: *mut c_void = ptr::null_mut();
        let buffer = value!(self, napi_create_arraybuffer(len, &raw mut data))?;
        Ok((buffer, data.cast()))
    }

    /// A `Buffer` of these very bytes, which are freed when it is collected, or at once where the thread is being ended.
    pub(crate) fn adopt(self, bytes: Vec<u8>) -> Made<'c> {
        if bytes.is_empty() {
            return self.buffer(&bytes);
        }
        let mut bytes = Box::new(bytes);
        let (len, data) = (bytes.len(), bytes.as_mut_ptr().cast());
        let owner = Box::into_raw(bytes);
        let made = value!(self, napi_create_external_buffer(len, data, Some(free), owner.cast()));
        let Err(Failed(status)) = made else { return made };
        let is_refused = [
            Status::napi_pending_exception,
            Status::napi_cannot_run_js,
            Status::napi_closing,
            Status::napi_no_external_buffers_allowed,
        ];
        if !is_refused.contains(&status) {
            // It may have them.
            return made;
        }
        // SAFETY: Node-API refused before it took anything, so nobody else has them.
        let bytes = unsafe { Box::from_raw(owner) };
        if status == Status::napi_no_external_buffers_allowed { self.buffer(&bytes) } else { made }
    }

    /// An object of ours as one text of JSON: it runs no setter that a program may have put on a prototype.
    pub(crate) fn json(self, object: &serde_json::Value) -> Made<'c> {
        self.text(object.to_string().as_bytes()).unwrap_or_else(|| self.undefined())
    }

    // --- promises

    pub(crate) fn promise(self) -> Result<(Deferred, Value<'c>), Failed> {
        let mut deferred = ptr::null_mut();
        // SAFETY: `deferred` is a place for the answer.
        let promise = value!(self, napi_create_promise(&raw mut deferred))?;
        Ok((Deferred(deferred), promise))
    }

    /// Settles a promise. Where that fails the thread is being ended, and nobody waits any more.
    #[allow(clippy::needless_pass_by_value, reason = "it settles one promise, once")]
    pub(crate) fn settle(self, deferred: Deferred, outcome: Result<Value<'c>, Value<'c>>) {
        let Deferred(deferred) = deferred;
        let (is_kept, value) = match outcome {
            Ok(value) => (true, value),
            Err(error) => (false, error),
        };
        let value = if value.raw.is_null() { self.undefined() } else { Ok(value) };
        let Ok(value) = value else { return };
        // SAFETY: `deferred` came from `promise` and is used up here, `value` is of the running call.
        unsafe {
            if is_kept {
                sys::napi_resolve_deferred(self.env, deferred, value.raw);
            } else {
                sys::napi_reject_deferred(self.env, deferred, value.raw);
            }
        }
    }

    // --- functions and errors

    pub(crate) fn call(self, function: Value<'c>, arguments: &[Value<'c>]) -> Made<'c> {
        let receiver = value!(self, napi_get_undefined())?;
        // `Value` is transparent, so this is an array of what Node-API takes.
        let raw: *const napi_value = arguments.as_ptr().cast();
        value!(self, napi_call_function(receiver.raw, function.raw, arguments.len(), raw))
    }

    /// `undefined` as an argument of [`call`](Self::call), where a null pointer will not do.
    pub(crate) fn undefined(self) -> Made<'c> {
        value!(self, napi_get_undefined())
    }

    /// Keeps `value` from being collected for as long as the environment lives.
    pub(crate) fn keep(self, value: Value<'c>) -> Result<sys::napi_ref, Failed> {
        let mut reference = ptr::null_mut();
        // SAFETY: `value` is of the running call, `reference` a place for the answer.
        check(unsafe { sys::napi_create_reference(self.env, value.raw, 1, &raw mut reference) })?;
        Ok(reference)
    }

    /// The value that [`keep`](Self::keep) kept.
    ///
    /// # Safety
    /// `reference` came from `keep` in this very environment.
    pub(crate) unsafe fn kept(self, reference: sys::napi_ref) -> Made<'c> {
        value!(self, napi_get_reference_value(reference))
    }

    pub(crate) fn throw(self, error: Value<'c>) {
        // SAFETY: `error` is of the running call. Where it fails the thread is being ended, and needs no exception.
        unsafe { sys::napi_throw(self.env, error.raw) };
    }

    pub(crate) fn throw_plain(self, code: &CStr, message: &CStr) {
        // SAFETY: both are C strings.
        unsafe { sys::napi_throw_error(self.env, code.as_ptr(), message.as_ptr()) };
    }

    pub(crate) fn is_exception_pending(self) -> bool {
        ask!(self, false, napi_is_exception_pending()).unwrap_or_default()
    }

    /// The exception that is pending, if one is, which it is no longer.
    pub(crate) fn take_exception(self) -> Option<Value<'c>> {
        if self.is_exception_pending() {
            value!(self, napi_get_and_clear_last_exception()).ok()
        } else {
            None
        }
    }
}
