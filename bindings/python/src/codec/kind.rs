//! What the codecs of keys and of values have in common: their names.

/// Defines a codec. Those that run what they read are named by the program that uses them, not by the table.
macro_rules! codec {
    (
        $(#[$doc:meta])*
        $codec:ident of $of:literal,
        named by any table: $($safe:ident $safe_name:literal),*;
        by a program alone: $($unsafe:ident $unsafe_name:literal),*;
        known: $known:literal
    ) => {
        $(#[$doc])*
        pub(crate) enum $codec {
            $($safe,)*
            $($unsafe,)*
            /// Any object, of caches alone.
            Object,
            Custom(Box<super::custom::Custom>),
        }

        impl $codec {
            pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
                match self {
                    $(Self::$safe => Self::$safe,)*
                    $(Self::$unsafe => Self::$unsafe,)*
                    Self::Object => Self::Object,
                    Self::Custom(custom) => Self::Custom(Box::new(custom.clone_ref(py))),
                }
            }

            /// Shows the garbage collector what is held.
            pub(super) fn visit(
                &self,
                visit: &pyo3::PyVisit<'_>,
            ) -> std::result::Result<(), pyo3::PyTraverseError> {
                if let Self::Custom(custom) = self { custom.visit(visit) } else { Ok(()) }
            }

            /// The codec that this object is, or is the name of.
            pub(crate) fn of(object: &Bound<'_, PyAny>) -> Result<Self> {
                if let Ok(name) = object.cast::<pyo3::types::PyString>() {
                    return match &*name.to_string_lossy() {
                        $($safe_name => Ok(Self::$safe),)*
                        $($unsafe_name => Ok(Self::$unsafe),)*
                        name => Err(error::option(format!("unknown codec of {} {name:?}, {}", $of, $known))),
                    };
                }
                match super::custom::Custom::of(object)? {
                    Some(custom) => Ok(Self::Custom(Box::new(custom))),
                    None => Err(error::wrong_type($of, "the name of a codec or a twindex.Codec", object)),
                }
            }

            /// As [`of`](Self::of), of a cache.
            pub(crate) fn of_cache(object: &Bound<'_, PyAny>) -> Result<Self> {
                let name = object.cast::<pyo3::types::PyString>();
                let is_object = name.is_ok_and(|name| name.to_string_lossy() == object::OBJECT);
                if is_object { Ok(Self::Object) } else { Self::of(object) }
            }

            /// The one of this name that is safe to read by and needs no functions.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $($safe_name => Some(Self::$safe),)*
                    _ => None,
                }
            }

            pub(crate) fn name(&self) -> &str {
                match self {
                    $(Self::$safe => $safe_name,)*
                    $(Self::$unsafe => $unsafe_name,)*
                    Self::Object => object::OBJECT,
                    Self::Custom(custom) => &custom.name,
                }
            }

            /// What `Store.table` takes for it.
            pub(crate) fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
                match self {
                    Self::Custom(custom) => Ok(custom.codec.bind(py).clone()),
                    _ => Ok(objects::text(py, self.name())?),
                }
            }
        }
    };
}

pub(super) use codec;
