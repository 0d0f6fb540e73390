//! What most of these modules use.

pub(crate) use std::sync::{Arc, Mutex, PoisonError};
pub(crate) use std::time::Duration;

pub(crate) use pyo3::prelude::*;
pub(crate) use pyo3::sync::{MutexExt, PyOnceLock};
pub(crate) use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
pub(crate) use pyo3::{PyTraverseError, PyVisit};

pub(crate) use crate::allocation::{check_memory, gather, with_room};
pub(crate) use crate::arguments::{self, Count, Text};
pub(crate) use crate::attached::Attached;
pub(crate) use crate::codec::{Codecs, Encoded, KeyCodec, ValueCodec};
pub(crate) use crate::error::{self, Failure, Result, shown};
pub(crate) use crate::fork::Inherited;
pub(crate) use crate::groups::{Groups, Keys};
pub(crate) use crate::interrupts::{AT_ONCE, Interrupts};
pub(crate) use crate::objects::{self, Flags, Pair, Sums};
pub(crate) use crate::progress::check_not_telling;
pub(crate) use crate::range::Range;
pub(crate) use crate::scan::{Scan, Yields};
pub(crate) use crate::shared::{Shared, not_copied};
