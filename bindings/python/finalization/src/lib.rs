//! Threads that outlive the interpreter, for the native halves of the Python packages.
//!
//! Up to version 3.13 Python ends a thread that asks for the interpreter's lock while the interpreter ends: it calls
//! `pthread_exit`, which glibc does by unwinding the stack. Rust aborts the process where that meets a function of its own.
//! So every function of Python that may take the lock is called through a small function in assembly. Its unwinding
//! information names `park`, which lets the thread sleep for good instead, as Python does from 3.14 on.
//!
//! This costs a call and a return, about a nanosecond. Other systems end threads without unwinding.

use pyo3::prelude::*;

/// Attaches a thread, unless it comes too late. It is for work that others wait for, as a finalizer does that the end of the
/// interpreter calls: they would wait for good.
pub fn try_attach<R>(body: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    Python::try_attach(body)
}

/// Attaches a thread that Python did not start. One that comes too late sleeps for good.
pub fn attach<R>(body: impl FnOnce(Python<'_>) -> R) -> R {
    try_attach(body).unwrap_or_else(|| sleep_forever())
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::MAX);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod guards {
    use std::arch::global_asm;
    use std::ffi::{c_char, c_int, c_void};
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// The personality routine of the functions below: what the unwinder asks what to do with their frames.
    extern "C" fn park(_: c_int, actions: c_int, _: u64, _: *mut c_void, _: *mut c_void) -> c_int {
        const FORCED: c_int = 8;
        const CONTINUE: c_int = 8;
        if actions & FORCED == 0 { CONTINUE } else { super::sleep_forever() }
    }

    /// Defines functions of these names, which call Python's own. The linker prefers them, as they are in this library.
    /// Arguments pass in registers, so none may have more than six.
    macro_rules! guard {
        ($($name:ident)*) => {
            $(
                #[allow(non_snake_case, reason = "named as in Python")]
                mod $name {
                    use super::*;

                    pub(super) static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

                    #[cfg(target_arch = "x86_64")]
                    global_asm!(
                        concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
                        concat!(".globl ", stringify!($name)),
                        concat!(".hidden ", stringify!($name)),
                        concat!(".type ", stringify!($name), ",@function"),
                        concat!(stringify!($name), ":"),
                        ".cfi_startproc",
                        ".cfi_personality 0x1b, {park}",
                        "sub rsp, 8",
                        ".cfi_adjust_cfa_offset 8",
                        "call qword ptr [rip + {real}]",
                        "add rsp, 8",
                        ".cfi_adjust_cfa_offset -8",
                        "ret",
                        ".cfi_endproc",
                        concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                        ".popsection",
                        park = sym park,
                        real = sym REAL,
                    );

                    #[cfg(target_arch = "aarch64")]
                    global_asm!(
                        concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
                        ".p2align 2",
                        concat!(".globl ", stringify!($name)),
                        concat!(".hidden ", stringify!($name)),
                        concat!(".type ", stringify!($name), ",@function"),
                        concat!(stringify!($name), ":"),
                        ".cfi_startproc",
                        ".cfi_personality 0x1b, {park}",
                        "stp x29, x30, [sp, #-16]!",
                        ".cfi_adjust_cfa_offset 16",
                        ".cfi_offset x29, -16",
                        ".cfi_offset x30, -8",
                        "adrp x16, {real}",
                        "ldr x16, [x16, :lo12:{real}]",
                        "blr x16",
                        "ldp x29, x30, [sp], #16",
                        ".cfi_adjust_cfa_offset -16",
                        ".cfi_restore x29",
                        ".cfi_restore x30",
                        "ret",
                        ".cfi_endproc",
                        concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                        ".popsection",
                        park = sym park,
                        real = sym REAL,
                    );
                }
            )*

            /// Finds Python's functions, before anything of this library runs.
            extern "C" fn find() {
                $(
                    let name = concat!(stringify!($name), "\0").as_ptr().cast::<c_char>();
                    // SAFETY: the name ends with a zero.
                    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
                    if found.is_null() {
                        eprintln!("twindex: this Python has no function {}", stringify!($name));
                        std::process::abort();
                    }
                    $name::REAL.store(found, Ordering::Relaxed);
                )*
            }
        };
    }

    #[used]
    // SAFETY: the loader calls each function of this section once, in the form that `find` has.
    #[unsafe(link_section = ".init_array")]
    static FIND: extern "C" fn() = find;

    // What may take the interpreter's lock, run Python code, or free or collect objects, which runs their finalizers.
    guard! {
        PyBuffer_Release PyDict_Contains PyDict_DelItem PyDict_GetItemWithError PyDict_New PyDict_SetItem PyErr_CheckSignals PyErr_Clear PyErr_Fetch
        PyErr_NormalizeException PyErr_PrintEx PyErr_Restore PyErr_SetObject PyErr_SetString PyErr_WriteUnraisable
        PyEval_RestoreThread PyException_SetCause PyException_SetTraceback PyFloat_AsDouble PyGILState_Ensure
        PyGILState_Release PyImport_Import PyIter_Next PyList_New PyMemoryView_FromObject PyNumber_Add PyNumber_Index
        PyOS_FSPath PyObject_Call PyObject_CallMethodObjArgs PyObject_CallNoArgs PyObject_ClearWeakRefs PyObject_DelItem
        PyObject_GetAttr PyObject_GetBuffer PyObject_GetItem PyObject_GetIter PyObject_IsInstance PyObject_IsTrue
        PyObject_Repr PyObject_RichCompare PyObject_SetAttr PyObject_SetAttrString PyObject_SetItem PyObject_Size
        PyObject_Str PyTraceBack_Print PyTuple_GetSlice PyTuple_New PyUnicode_AsEncodedString PyUnicode_DecodeFSDefaultAndSize
        PyUnicode_EncodeFSDefault PyWeakref_NewRef _Py_DecRef
    }
}
