//! This module in its process: how Node finds it, that it stays, and which other native modules there are.

use std::ffi::c_void;
use std::ptr;
use std::sync::Once;

use napi_sys::{napi_env, napi_value};

use crate::FUNCTIONS;
use crate::{call, notices};

/// Node calls this once in every environment that loads the module: the main thread and each worker.
///
/// # Safety
/// `env` is the environment that is loading this module on this thread, `exports` a value of that call.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(env: napi_env, exports: napi_value) -> napi_value {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| {
        // On Windows Node-API is looked up in the program that loads this.
        #[cfg(target_env = "msvc")]
        // SAFETY: nothing of Node-API was called yet. The program stays as long as the process, whatever becomes of the handle.
        std::mem::forget(unsafe { napi_sys::setup() });
        // A shared store outlives the worker that opened it, so the code that frees it has to stay as well.
        stay();
        notices::keep();
    });
    // SAFETY: both are of the call that Node is making right now, as the caller promises.
    if unsafe { call::export(env, exports, FUNCTIONS) }.is_err() {
        return ptr::null_mut();
    }
    exports
}

fn anchor() -> *const c_void {
    (anchor as *const ()).cast()
}

/// Keeps the system from unloading this module when the last environment ends that loaded it.
#[cfg(unix)]
fn stay() {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `found` is a place for the answer, and all zeros are one. Loading what is loaded only counts one use more,
    // which is never given back; `dli_fname` is the loader's own string.
    unsafe {
        if libc::dladdr(anchor(), found.as_mut_ptr()) != 0 {
            let name = found.assume_init().dli_fname;
            if !name.is_null() {
                libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_NOLOAD);
            }
        }
    }
}

#[cfg(windows)]
fn stay() {
    const PIN: u32 = 1;
    const FROM_ADDRESS: u32 = 4;
    let mut module = ptr::null_mut();
    // SAFETY: with this flag the name is an address in a module; `module` is a place for the answer.
    unsafe { windows::GetModuleHandleExW(PIN | FROM_ADDRESS, anchor().cast(), &raw mut module) };
}

#[cfg(windows)]
mod windows {
    use std::ffi::c_void;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        pub(super) fn GetModuleHandleExW(flags: u32, name: *const u16, module: *mut *mut c_void) -> i32;
        pub(super) fn GetModuleFileNameW(module: *mut c_void, name: *mut u16, units: u32) -> u32;
        pub(super) fn GetCurrentProcess() -> *mut c_void;
        pub(super) fn K32EnumProcessModules(
            process: *mut c_void,
            modules: *mut *mut c_void,
            bytes: u32,
            needed: *mut u32,
        ) -> i32;
    }
}

/// The files that this process has loaded code from.
#[cfg(target_os = "linux")]
pub(crate) fn loaded() -> Vec<String> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    // Of a line the path begins with its first slash.
    let mut paths: Vec<String> =
        maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].into())).collect();
    paths.dedup();
    paths
}

#[cfg(target_vendor = "apple")]
pub(crate) fn loaded() -> Vec<String> {
    use std::ffi::{CStr, c_char};
    unsafe extern "C" {
        fn _dyld_image_count() -> u32;
        fn _dyld_get_image_name(image: u32) -> *const c_char;
    }
    // SAFETY: both may be called at any time, and a name that is out of range is null.
    let names = (0..unsafe { _dyld_image_count() }).map(|image| unsafe { _dyld_get_image_name(image) });
    // SAFETY: a name that is not null is a C string; what is unloaded meanwhile keeps its name in the loader's cache.
    names
        .filter(|name| !name.is_null())
        .map(|name| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
        .collect()
}

#[cfg(windows)]
pub(crate) fn loaded() -> Vec<String> {
    const UNITS: u32 = 1 << 15;
    let mut modules = vec![ptr::null_mut(); 4096];
    let (room, mut needed) = (size_of_val(&*modules) as u32, 0);
    // SAFETY: `modules` has room for so many bytes, `needed` is a place for the answer.
    let done = unsafe {
        let process = windows::GetCurrentProcess();
        windows::K32EnumProcessModules(process, modules.as_mut_ptr(), room, &raw mut needed)
    };
    let count = if done == 0 { 0 } else { needed.min(room) as usize / size_of::<*mut c_void>() };
    let mut name = vec![0; UNITS as usize];
    let mut name_of = |&module: &*mut c_void| {
        // SAFETY: `name` has room for so many units. A module that was unloaded meanwhile has no name.
        let units = unsafe { windows::GetModuleFileNameW(module, name.as_mut_ptr(), UNITS) };
        String::from_utf16_lossy(&name[..units as usize])
    };
    modules[..count].iter().map(&mut name_of).collect()
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
pub(crate) fn loaded() -> Vec<String> {
    Vec::new()
}
