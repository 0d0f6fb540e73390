//! Ctrl-C in the middle of a long call.

use std::io::{self, Read, Write};
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};

use twindex_finalization::try_attach;

use crate::prelude::*;

/// So much work at a time goes by without a look at signals, counted in items: a few milliseconds.
pub(crate) const AT_ONCE: usize = 16 << 10;

/// Bytes that take as long to copy or to encode as an item does.
const BYTES_OF_AN_ITEM: usize = 256;

/// Counts work.
#[derive(Default)]
pub(crate) struct Work(usize);

impl Work {
    /// Counts items of so many bytes together.
    #[inline]
    pub(crate) fn count(&mut self, items: usize, bytes: usize) {
        self.0 += items + bytes / BYTES_OF_AN_ITEM;
    }

    /// Whether it is enough, and then begins anew.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.0 >= AT_ONCE;
        if is_due {
            self.0 = 0;
        }
        is_due
    }
}

/// Counts work, and now and then lets other threads run and looks whether a signal has come. Its handler, and they, are
/// Python code, which may do anything.
#[derive(Default)]
pub(crate) struct Interrupts(Work);

impl Interrupts {
    /// Counts an item. Fails if a handler of a signal did, as Ctrl-C's does.
    #[inline]
    pub(crate) fn item(&mut self, py: Python<'_>) -> Result<()> {
        self.item_of(py, 0)
    }

    /// Counts an item of so many bytes.
    #[inline]
    pub(crate) fn item_of(&mut self, py: Python<'_>, bytes: usize) -> Result<()> {
        self.0.count(1, bytes);
        if self.0.is_due() { Self::look(py) } else { Ok(()) }
    }

    #[cold]
    fn look(py: Python<'_>) -> Result<()> {
        // Lets other threads have a turn.
        py.detach(|| ());
        Ok(py.check_signals()?)
    }
}

/// Does long work on a thread of its own and looks for signals meanwhile. What a signal's handler raises ends the waiting,
/// not the work.
pub(crate) fn wait_for<T, W>(py: Python<'_>, work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    const OFTEN: Duration = Duration::from_millis(50);
    let (sender, mut receiver) = mpsc::channel();
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<W>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let taken = Arc::clone(&work);
    let started = twindex_durable::spawn("twindex-work", move || {
        // Nobody receives it once the waiting was ended.
        let _ = take(&taken).map(|work| sender.send(work()));
    });
    let Ok(thread) = started else {
        // The system has no thread for it.
        let work = take(&work).expect("nobody else has taken it");
        return Ok(py.detach(work));
    };
    loop {
        let made;
        // A receiver is for one thread at a time, so it goes along.
        (receiver, made) = py.detach(move || {
            let made = receiver.recv_timeout(OFTEN);
            (receiver, made)
        });
        match made {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panicked) => panic::resume_unwind(panicked),
                Ok(()) => unreachable!("the thread sends what it made before it ends"),
            },
        }
    }
}

/// A reader of bytes, or a writer to memory, that the engine uses outside the interpreter. It ends at a signal.
pub(crate) struct Interruptible<T> {
    pub(crate) bytes: T,
    done: usize,
    failure: Option<PyErr>,
}

impl<T> Interruptible<T> {
    pub(crate) fn new(bytes: T) -> Self {
        Self { bytes, done: 0, failure: None }
    }

    /// What the engine made of it, or why it was ended.
    pub(crate) fn result<R, E: Into<Failure>>(self, made: std::result::Result<R, E>) -> Result<(R, T)> {
        match self.failure {
            Some(failure) => Err(failure.into()),
            None => Ok((made.map_err(Into::into)?, self.bytes)),
        }
    }

    fn look(&mut self, bytes: usize) -> io::Result<()> {
        /// What takes some milliseconds.
        const OFTEN: usize = 1 << 20;
        self.done += bytes;
        if self.done < OFTEN {
            return Ok(());
        }
        self.done = 0;
        // Signals end with the interpreter, but not what a finalizer does then.
        try_attach(|py: Python<'_>| Python::check_signals(py)).unwrap_or(Ok(())).map_err(|failure| {
            self.failure = Some(failure);
            io::ErrorKind::Other.into()
        })
    }
}

impl Write for Interruptible<Vec<u8>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.look(bytes.len())?;
        self.bytes.try_reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(into)?;
        self.look(read)?;
        Ok(read)
    }
}

/// The bytes that `dump` writes outside the interpreter.
pub(crate) fn dumped<T: Send, E: Into<Failure> + Send>(
    py: Python<'_>,
    dump: impl Send + FnOnce(&mut Interruptible<Vec<u8>>) -> std::result::Result<T, E>,
) -> Result<Vec<u8>> {
    check_memory()?;
    let mut writer = Interruptible::new(Vec::new());
    let dumped = py.detach(|| dump(&mut writer));
    Ok(writer.result(dumped)?.1)
}
