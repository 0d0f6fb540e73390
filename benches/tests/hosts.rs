//! The tests over hosts of one thread: an honest one, and some that lose or change what they hold.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;

use clap::Parser;
use twindex_benches::{Fallible, Host, Options, Test, Worker, run};

type Pairs = RefCell<BTreeMap<Vec<u8>, Vec<u8>>>;

/// What a host does wrong with one of its pairs.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ChangesValue,
    LosesPair,
    AddsPair,
    LosesUpdate,
}

/// Cannot be shared by threads, as a host inside another runtime.
struct Model {
    pairs: Pairs,
    fault: Fault,
}

struct ModelWorker<'h> {
    pairs: &'h mut Pairs,
    fault: Fault,
    next: Bound<Vec<u8>>,
}

impl Host for Model {
    const NAME: &'static str = "model";
    const THREADS: bool = false;
    type Worker<'h> = ModelWorker<'h>;

    fn renew(&mut self, _: Test) -> Fallible {
        self.pairs = Pairs::default();
        Ok(())
    }

    fn workers(&mut self, threads: usize) -> Fallible<Vec<ModelWorker<'_>>> {
        assert_eq!(threads, 1);
        Ok(vec![ModelWorker { pairs: &mut self.pairs, fault: self.fault, next: Bound::Unbounded }])
    }

    fn memory(&mut self) -> Fallible<Option<u64>> {
        Ok(Some(self.pairs.borrow().len() as u64 * 32))
    }
}

impl Worker for ModelWorker<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        let pairs = self.pairs.get_mut();
        let mut value = value.to_vec();
        let is_odd_one = pairs.len() == 42;
        match self.fault {
            Fault::ChangesValue if is_odd_one => value[3] ^= 1,
            Fault::AddsPair if is_odd_one => drop(pairs.insert([key, b"0"].concat(), value.clone())),
            _ => {}
        }
        let absent = pairs.insert(key.into(), value).is_none();
        if self.fault == Fault::LosesPair && is_odd_one {
            pairs.remove(key);
        }
        Ok(absent)
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        let pairs = self.pairs.get_mut();
        if self.fault == Fault::LosesUpdate && pairs.keys().next().is_some_and(|first| first == key) {
            return Ok(false);
        }
        Ok(pairs.get_mut(key).map(|old| *old = value.into()).is_some())
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>> {
        Ok(self.pairs.get_mut().get(key).map(|value| read(value)))
    }

    fn open(&mut self, first: &[u8]) -> Fallible {
        self.next = Bound::Included(first.into());
        Ok(())
    }

    fn scan_asc_next<R>(&mut self, read: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>> {
        let Some((key, value)) = self.pairs.get_mut().range((self.next.clone(), Bound::Unbounded)).next()
        else {
            return Ok(None);
        };
        self.next = Bound::Excluded(key.clone());
        Ok(Some(read(key, value)))
    }
}

fn outcome(fault: Fault, args: &[&str]) -> Result<(), String> {
    let options = Options::parse_from(["seeds", "--quiet", "--pairs", "100"].iter().chain(args));
    let mut host = Model { pairs: Pairs::default(), fault };
    run(&mut host, &options).map(drop).map_err(|error| error.to_string())
}

#[test]
fn an_honest_host_passes() {
    assert_eq!(outcome(Fault::None, &["--threads", "1"]), Ok(()));
    assert_eq!(outcome(Fault::None, &["--threads", "1", "--test", "clients"]), Ok(()));
}

#[test]
fn a_wrong_or_missing_pair_is_found_in_every_test() {
    for test in ["strings", "sorted", "clients"] {
        for (fault, message) in [(Fault::ChangesValue, "a wrong pair"), (Fault::LosesPair, "was read for")] {
            let error = outcome(fault, &["--threads", "1", "--test", test]).unwrap_err();
            assert!(error.contains(message), "{test}: {error}");
        }
    }
}

#[test]
fn a_pair_too_many_is_found_by_the_scan() {
    let error = outcome(Fault::AddsPair, &["--threads", "1", "--test", "sorted"]).unwrap_err();
    assert!(error.contains("a wrong pair"), "{error}");
}

#[test]
fn an_update_that_is_lost_is_found() {
    let error = outcome(Fault::LosesUpdate, &["--threads", "1", "--test", "clients"]).unwrap_err();
    assert!(error.contains("found nothing"), "{error}");
}

#[test]
fn two_threads_are_refused() {
    let error = outcome(Fault::None, &["--threads", "1,2"]).unwrap_err();
    assert!(error.contains("one thread") && error.contains("--threads 2"), "{error}");
}
