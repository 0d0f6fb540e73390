//! Every function that a host can call. `docs/wasm.md` says what each takes, does and answers with, and a test that it names them all.

/// What a call returns where it does not fail.
trait Status {
    fn status(self) -> i32;
}

impl Status for () {
    fn status(self) -> i32 {
        0
    }
}

impl Status for bool {
    fn status(self) -> i32 {
        self.into()
    }
}

impl Status for i32 {
    fn status(self) -> i32 {
        self
    }
}

/// Exports functions that run as calls of the host. An argument is a type of the border, or:
///
/// * `bytes`, `text`, `optional`: an address and a length, and what is there: bytes, text, or bytes that may be absent;
/// * `place`: an address and a length that the function looks up itself;
/// * `range`: two ends, each a kind of bound, an address and a length;
/// * `ttl`: milliseconds as [`time::ttl`](crate::time::ttl) reads them.
macro_rules! exports {
    ($($(#[$attribute:meta])* fn $name:ident($state:ident $(, $argument:ident: $kind:ident)* $(,)?) $body:block)*) => {
        $(exports!(@ [$(#[$attribute])* $name $body] $state () () $($argument: $kind,)*);)*
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: bytes, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* at: usize, length: usize,)
            ($($read)* let $argument = $state.buffers.bytes((at, length))?;) $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: text, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* at: usize, length: usize,)
            ($($read)* let $argument = $state.buffers.text((at, length))?;) $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: optional, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* at: usize, length: usize,)
            ($($read)* let $argument = $state.buffers.optional_bytes((at, length))?;) $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: place, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* at: usize, length: usize,)
            ($($read)* let $argument = (at, length);) $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: range, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* low: u32, lower: usize, l: usize, up: u32, upper: usize, u: usize,)
            ($($read)* let $argument = crate::range::range(&$state.buffers, (low, lower, l), (up, upper, u))?;)
            $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) ($($read:tt)*) $argument:ident: ttl, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* milliseconds: f64,)
            ($($read)* let $argument = crate::time::ttl(milliseconds)?;) $($rest)*);
    };
    (@ $of:tt $state:ident ($($in:tt)*) $read:tt $argument:ident: $as_it_is:ident, $($rest:tt)*) => {
        exports!(@ $of $state ($($in)* $argument: $as_it_is,) $read $($rest)*);
    };
    (@ [$(#[$attribute:meta])* $name:ident $body:block] $state:ident ($($in:tt)*) ($($read:tt)*)) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($in)*) -> i32 {
            crate::state::call(|$state| {
                $($read)*
                Ok(crate::exports::Status::status($body))
            })
        }
    };
}

#[cfg(feature = "caches")]
mod cache;
#[cfg(feature = "files")]
mod check;
mod error;
#[cfg(feature = "expiring")]
mod expiring;
#[cfg(feature = "files")]
mod file;
mod many;
mod memory;
mod scan;
mod snapshot;
mod store;
mod verbs;
#[cfg(feature = "journal")]
mod watch;
