//! Codecs of a program's own: a name and two functions.

use super::content::{Content, copy_buffer};
use super::encoded::Encoded;
use crate::prelude::*;

/// What a `twindex.Codec` says. Each copy has references of its own, so that the garbage collector can count them.
pub(crate) struct Custom {
    pub(super) name: String,
    encode: Py<PyAny>,
    decode: Py<PyAny>,
    /// The object itself.
    pub(super) codec: Py<PyAny>,
}

impl Custom {
    /// `None` if the object is no `twindex.Codec`.
    pub(super) fn of(object: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if !object.is_instance(CLASS.import(object.py(), "twindex._codecs", "Codec")?)? {
            return Ok(None);
        }
        Ok(Some(Self {
            name: object.getattr("name")?.extract()?,
            encode: object.getattr("encode")?.unbind(),
            decode: object.getattr("decode")?.unbind(),
            codec: object.clone().unbind(),
        }))
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        let Self { name, encode, decode, codec } = self;
        let (encode, decode, codec) = (encode.clone_ref(py), decode.clone_ref(py), codec.clone_ref(py));
        Self { name: name.clone(), encode, decode, codec }
    }

    /// Shows the garbage collector what is held.
    pub(super) fn visit(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.encode)?;
        visit.call(&self.decode)?;
        visit.call(&self.codec)
    }

    pub(super) fn encode<'a>(&self, content: Content, object: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        let stored = self.encode.bind(object.py()).call1((object,))?;
        let copy = copy_buffer(content, &stored)?.ok_or_else(|| {
            let what = format!("what codec {:?} encodes to", self.name);
            error::wrong_type(&what, "bytes, bytearray or memoryview", &stored)
        })?;
        Ok(Encoded::Copied(copy.into()))
    }

    /// The object that these bytes stand for.
    pub(super) fn decode<'py>(&self, stored: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
        Ok(self.decode.bind(stored.py()).call1((stored,))?)
    }
}
