//! A disk for tests that fails and crashes as real ones do, at the step that a test chooses.
//!
//! Readers see written bytes at once; they are on disk only after a sync. A power cut does
//! with every write that was not synced, each by itself, one of five things: it is on disk, it is not, its
//! first part is, some of its sectors are, or other bytes are in its place. Names change in order: a power cut
//! keeps the first few of the changes that were not synced.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;

use super::{Disk, File, Folder, ReadAt, Stamp};
use crate::Result;
use crate::lock::{Lock, Make};

/// What happens at the step of a test's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Everything ends, with that step begun.
    Crash,
    /// That step alone fails, with nothing done or, if it writes, with a part of it done.
    Error(ErrorKind),
    /// From that step on there is no space for anything: not even for bytes whose place was reserved.
    Full,
}

/// The steps are the calls that change something, from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
struct State {
    files: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    names_on_disk: BTreeMap<PathBuf, usize>,
    /// Every state of the names since they were on disk.
    names_since: Vec<BTreeMap<PathBuf, usize>>,
    steps: usize,
    fault: Option<(usize, Fault)>,
    crashed: bool,
    before_sync: Option<Hook>,
    /// No more than this can be set aside for a file.
    room: u64,
    asked: usize,
    rng: Rng,
}

#[derive(Clone)]
struct Hook(Arc<BeforeSync>);

type BeforeSync = dyn Fn(&Path) -> io::Result<()> + Send + Sync;

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

#[derive(Clone, Debug, Default)]
struct Content {
    seen: Vec<u8>,
    on_disk: Vec<u8>,
    unsynced: Vec<Change>,
}

/// So many bytes are on disk together or not. Fewer than those of a disk, as the tests' writes are short.
const SECTOR: usize = 32;

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Len(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Len(len) => bytes.resize(*len, 0),
            Self::Write(offset, new) => {
                let end = offset + new.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(new);
            }
        }
    }

    /// What a power cut makes of it.
    fn after_power_cut(&self, rng: &mut Rng) -> Option<Self> {
        match (self, rng.u8(..8)) {
            (_, 0..4) => Some(self.clone()),
            (Self::Write(offset, bytes), 4) => {
                Some(Self::Write(*offset, bytes[..rng.usize(..=bytes.len())].to_vec()))
            }
            (Self::Write(offset, bytes), 5) => {
                Some(Self::Write(*offset, bytes.iter().map(|_| rng.u8(..)).collect()))
            }
            (Self::Write(offset, bytes), 6) => {
                let mut bytes = bytes.clone();
                bytes.chunks_mut(SECTOR).filter(|_| rng.bool()).for_each(|sector| sector.fill(0));
                Some(Self::Write(*offset, bytes))
            }
            _ => None,
        }
    }
}

impl SimDisk {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            files: Vec::new(),
            names: BTreeMap::new(),
            names_on_disk: BTreeMap::new(),
            names_since: Vec::new(),
            steps: 0,
            fault: None,
            crashed: false,
            before_sync: None,
            room: u64::MAX,
            asked: 0,
            rng: Rng::with_seed(seed),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics with the disk in hand")
    }

    pub(crate) fn steps(&self) -> usize {
        self.state().steps
    }

    /// Something happens at the step that is `after` steps from now.
    pub(crate) fn fail_after(&self, after: usize, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.steps + after, fault));
    }

    pub(crate) fn mend(&self) {
        self.state().fault = None;
    }

    /// Refuses to set more than this aside for a file.
    pub(crate) fn set_room(&self, bytes: u64) {
        self.state().room = bytes;
    }

    pub(crate) fn asked(&self) -> usize {
        self.state().asked
    }

    /// Does something whenever a file, which has this name, is about to be synced, as if that took so
    /// long, or fails.
    pub(crate) fn before_sync(&self, act: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static) {
        self.state().before_sync = Some(Hook(Arc::new(act)));
    }

    /// The disk as the next process finds it, when this one was killed.
    pub(crate) fn after_kill(&self) -> Self {
        let mut state = self.state().clone();
        (state.crashed, state.fault, state.before_sync) = (false, None, None);
        Self(Arc::new(Mutex::new(state)))
    }

    /// The disk as the next process finds it, when the power was cut.
    pub(crate) fn after_power_cut(&self) -> Self {
        let mut rng = self.state().rng.fork();
        let mut state = self.state().clone();
        // Often enough all of it is there, or nothing.
        let all = match rng.u8(..8) {
            0 => Some(true),
            1 => Some(false),
            _ => None,
        };
        for content in &mut state.files {
            for change in content.unsynced.drain(..) {
                let change = match all {
                    Some(there) => there.then_some(change),
                    None => change.after_power_cut(&mut rng),
                };
                if let Some(change) = change {
                    change.apply(&mut content.on_disk);
                }
            }
            content.seen = content.on_disk.clone();
        }
        let kept = rng.usize(..=state.names_since.len());
        if kept > 0 {
            state.names_on_disk = state.names_since[kept - 1].clone();
        }
        state.names_since.clear();
        state.names = state.names_on_disk.clone();
        (state.crashed, state.fault, state.before_sync, state.rng) = (false, None, None, rng);
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn bytes(&self, path: &Path) -> Vec<u8> {
        let state = self.state();
        state.files[state.names[path]].seen.clone()
    }

    pub(crate) fn names(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

impl State {
    /// Begins a step. Where it is to fail, `partly` is given the chance to do some of it.
    fn step(&mut self, partly: impl FnOnce(&mut Self)) -> io::Result<()> {
        self.check()?;
        let step = self.steps;
        self.steps += 1;
        match self.fault {
            Some((_, Fault::Full)) => Ok(()),
            Some((at, fault)) if at == step => {
                partly(self);
                match fault {
                    Fault::Crash => {
                        self.crashed = true;
                        Err(power_is_off())
                    }
                    Fault::Error(kind) => Err(kind.into()),
                    Fault::Full => unreachable!("only a step that takes space fails"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Begins a step that takes space.
    fn step_with_space(&mut self, partly: impl FnOnce(&mut Self)) -> io::Result<()> {
        if matches!(self.fault, Some((at, Fault::Full)) if self.steps >= at) {
            partly(self);
            self.steps += 1;
            return Err(ErrorKind::StorageFull.into());
        }
        self.step(partly)
    }

    fn check(&self) -> io::Result<()> {
        if self.crashed { Err(power_is_off()) } else { Ok(()) }
    }

    fn change(&mut self, file: usize, change: Change) {
        change.apply(&mut self.files[file].seen);
        self.files[file].unsynced.push(change);
    }

    fn change_names(&mut self, change: impl FnOnce(&mut BTreeMap<PathBuf, usize>)) {
        change(&mut self.names);
        self.names_since.push(self.names.clone());
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, _: Option<&Lock>) -> io::Result<Arc<dyn File>> {
        let state = self.state();
        state.check()?;
        let file = *state.names.get(path).ok_or(ErrorKind::NotFound)?;
        Ok(Arc::new(SimFile { disk: self.clone(), file }))
    }

    fn create(&self, path: &Path, _: Option<&Lock>) -> io::Result<Arc<dyn File>> {
        let mut state = self.state();
        state.step_with_space(|_| {})?;
        if state.names.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = state.files.len();
        state.files.push(Content::default());
        state.change_names(|names| {
            names.insert(path.into(), file);
        });
        Ok(Arc::new(SimFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let crashes = matches!(state.fault, Some((_, Fault::Crash)));
        let rename = |state: &mut State| {
            state.change_names(|names| {
                let file = names.remove(from).expect("only what is there is renamed");
                names.insert(to.into(), file);
            });
        };
        // A rename is done as a whole or not, but a crash may come when it is done.
        state.step(|state| {
            if crashes {
                rename(state);
            }
        })?;
        rename(&mut state);
        Ok(())
    }

    fn folder(&self, _: &Path) -> io::Result<Box<dyn Folder>> {
        self.state().step(|_| {})?;
        Ok(Box::new(SimFolder(self.clone())))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.check()?;
        state.names.get(path).ok_or(ErrorKind::NotFound)?;
        state.step(|_| {})?;
        state.change_names(|names| {
            names.remove(path);
        });
        Ok(())
    }

    fn lock(&self, _: &Path, _: Make) -> Result<Option<Lock>> {
        Ok(None)
    }

    fn has_writer(&self, _: &Path) -> bool {
        false
    }
}

#[derive(Debug)]
struct SimFolder(SimDisk);

impl Folder for SimFolder {
    fn sync(&self) -> io::Result<()> {
        let mut state = self.0.state();
        state.step(|_| {})?;
        state.names_on_disk = state.names.clone();
        state.names_since.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    file: usize,
}

impl ReadAt for SimFile {
    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.check()?;
        Ok(state.files[self.file].seen.len() as u64)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Ok((self.len()?, None))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        state.check()?;
        let there = state.files[self.file].seen.get(offset as usize..).unwrap_or_default();
        let read = there.len().min(bytes.len());
        bytes[..read].copy_from_slice(&there[..read]);
        Ok(read)
    }
}

impl File for SimFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step_with_space(|state| {
            let part = state.rng.usize(..=bytes.len());
            state.change(self.file, Change::Write(offset as usize, bytes[..part].to_vec()));
        })?;
        state.change(self.file, Change::Write(offset as usize, bytes.to_vec()));
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step(|_| {})?;
        state.change(self.file, Change::Len(len as usize));
        Ok(())
    }

    fn reserve(&self, _: u64, len: u64) -> io::Result<()> {
        self.disk.state().asked += 1;
        if len > self.disk.state().room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // As small as this, so that a test meets the end of the room, and files stay small.
        let len = (len as usize).min(self.disk.state().files[self.file].seen.len() + 1000);
        let mut state = self.disk.state();
        state.step_with_space(|_| {})?;
        let len = len.max(state.files[self.file].seen.len());
        state.change(self.file, Change::Len(len));
        Ok(())
    }

    /// If it fails, nobody knows what is on disk, and a later sync does not tell: the system has given up
    /// what it could not write.
    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        if let Some(Hook(act)) = state.before_sync.clone() {
            let name = state.names.iter().find(|(_, file)| **file == self.file).map(|(name, _)| name.clone());
            drop(state);
            act(&name.unwrap_or_default())?;
            state = self.disk.state();
        }
        state.step(|state| {
            let State { files, rng, fault, .. } = state;
            // A process that is killed here leaves all to the system, which goes on.
            if matches!(fault, Some((_, Fault::Crash))) {
                return;
            }
            let content = &mut files[self.file];
            for change in content.unsynced.drain(..) {
                if let Some(change) = change.after_power_cut(rng) {
                    change.apply(&mut content.on_disk);
                }
            }
        })?;
        let Content { on_disk, unsynced, .. } = &mut state.files[self.file];
        unsynced.drain(..).for_each(|change| change.apply(on_disk));
        Ok(())
    }

    fn forget(&self, _: u64) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.check()?;
        let Content { seen, on_disk, unsynced } = &mut state.files[self.file];
        seen.clone_from(on_disk);
        for change in &*unsynced {
            change.apply(seen);
        }
        Ok(true)
    }

    fn lock(&self, _: &Path, _: Option<&Lock>) -> io::Result<Option<Lock>> {
        Ok(None)
    }

    fn is_gone(&self, _: &Path) -> io::Result<bool> {
        let state = self.disk.state();
        state.check()?;
        Ok(!state.names.values().any(|file| *file == self.file))
    }
}
