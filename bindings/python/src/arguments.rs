//! Arguments of other kinds than keys and values.

use crate::codec;
use crate::prelude::*;

/// A name: of a table, an index or a codec.
pub(crate) struct Text(pub(crate) String);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl FromPyObject<'_, '_> for Text {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Failure> {
        let Ok(text) = object.cast::<PyString>() else {
            return Err(error::wrong_type("name", "str", &object));
        };
        text.to_str().map(Self::from).map_err(|cause| {
            let message = format!("the name has no form in UTF-8: {}", shown(&object));
            error::encoding(message).caused_by(object.py(), cause)
        })
    }
}

/// A `bool`.
pub(crate) fn flag(name: &str, object: &Bound<'_, PyAny>) -> Result<bool, Failure> {
    object.extract().map_err(|cause| error::of_type_error(cause, name, "bool", object))
}

/// Functions that extract a flag of their own name.
macro_rules! flags {
    ($($name:ident),*) => {
        $(pub(crate) fn $name(object: &Bound<'_, PyAny>) -> PyResult<bool> {
            Ok(flag(stringify!($name), object)?)
        })*
    };
}

flags!(create, existing, raw, read_only, reverse);

/// A flag that may be None.
pub(crate) fn expires(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if object.is_none() {
        return Ok(None);
    }
    let expires = object.extract();
    Ok(Some(expires.map_err(|cause| error::of_type_error(cause, "expires", "bool or None", object))?))
}

/// What to add to a value.
pub(crate) fn amount(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    Ok(codec::integer("amount", object)?)
}

/// A number of pairs or bytes.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl FromPyObject<'_, '_> for Count {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Failure> {
        let Ok(number) = object.cast::<PyInt>() else {
            return Err(error::wrong_type("limit", "int or None", &object));
        };
        let out_of_range = |_| error::option(format!("limit is out of range: {}", shown(&object)));
        number.extract().map(Self).map_err(out_of_range)
    }
}

/// A number that is more than zero.
pub(crate) fn positive(name: &str, given: Option<&Bound<'_, PyAny>>) -> Result<Option<usize>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let number = given.cast::<PyInt>().map_err(|_| error::wrong_type(name, "an int or None", given))?;
    match number.extract() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(error::option(format!("{name} is out of range: {}", shown(given)))),
    }
}

/// A pair's place in the order of the keys, counted from the end if it is negative.
#[derive(Clone, Copy)]
pub(crate) struct Position(pub(crate) isize);

impl Position {
    pub(crate) const LAST: Self = Self(-1);
}

impl FromPyObject<'_, '_> for Position {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Failure> {
        let Ok(number) = object.cast::<PyInt>() else {
            return Err(error::wrong_type("index", "int", &object));
        };
        number.extract().map(Self).map_err(|_| error::position(shown(&object)))
    }
}

/// Whether a range has its least and its greatest key.
#[derive(Clone, Copy)]
pub(crate) struct Inclusive(pub(crate) bool, pub(crate) bool);

impl Inclusive {
    pub(crate) const BOTH: Self = Self(true, true);
}

impl FromPyObject<'_, '_> for Inclusive {
    type Error = Failure;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Failure> {
        let both = object.cast::<PyTuple>().ok().and_then(|tuple| tuple.extract().ok());
        both.map(|(lower, upper)| Self(lower, upper))
            .ok_or_else(|| error::wrong_type("inclusive", "a tuple of two bools", &object))
    }
}

/// An argument for which `None` is a value like any other.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a, 'py> {
    Object(Borrowed<'a, 'py, PyAny>),
    Nothing,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = std::convert::Infallible;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Self::Object(object))
    }
}
