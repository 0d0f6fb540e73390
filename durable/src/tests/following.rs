//! Followers and feeds on a disk that crashes at every step.

use std::sync::Arc;

use proptest::prelude::*;
use twindex::IndexKind;
use twindex_format::{FOREVER, with_deadline};

use super::faults::{Tables, actions, cases, open, path, perform, tables_of};
use crate::core::Core;
use crate::disk::sim::{Fault, SimDisk};
use crate::handle::Handle;
use crate::{Changes, Durability, Effect, Error, Options, Position, Result, Store};

const LOGGED: [Durability; 2] = [Durability::EverySec, Durability::Always];

fn follower(disk: &SimDisk) -> Result<Store> {
    let core = Core::open_on(Arc::new(disk.clone()), &path(), Options::new().read_only(true))?;
    Ok(Store { handle: Arc::new(Handle(core)) })
}

/// Somebody who makes tables of the changes, and keeps the position with them.
#[derive(Clone)]
struct Consumer {
    tables: Tables,
    position: Position,
}

impl Consumer {
    fn begin(disk: &SimDisk) -> Result<Self> {
        let store = follower(disk)?;
        Ok(Self { tables: tables_of(&store), position: store.position()? })
    }

    fn go_on(&mut self, disk: &SimDisk) -> Result<()> {
        for batch in Changes::open_on(Arc::new(disk.clone()), path(), Some(self.position))? {
            let batch = batch?;
            for change in batch.changes {
                let name = change.table.name.clone();
                match change.effect {
                    Effect::Create => drop(self.tables.insert(name, (change.table.index, <_>::default()))),
                    Effect::Drop => drop(self.tables.remove(&name).expect("it was there")),
                    effect => {
                        let pairs = &mut self.tables.get_mut(&name).expect("it was created").1;
                        match effect {
                            Effect::Put { key, value } if change.table.expires => {
                                pairs.insert(key, with_deadline(change.expires.unwrap_or(FOREVER), &value));
                            }
                            Effect::Put { key, value } => drop(pairs.insert(key, value)),
                            Effect::Delete { key } => drop(pairs.remove(&key)),
                            _ => pairs.clear(),
                        }
                    }
                }
            }
            self.position = batch.position;
        }
        Ok(())
    }
}

fn is_none_yet(error: &Error) -> bool {
    matches!(error, Error::NoLog { .. })
        || matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

#[test]
fn followers_wait_for_no_sync_and_cost_the_writer_nothing() {
    for durability in LOGGED {
        let steps = |with_followers: bool| {
            let disk = SimDisk::new(7);
            let store = open(&disk, durability).expect("the disk works");
            let table = store.table("t", IndexKind::Hash).expect("the disk works");
            let copies: Vec<Store> = (0..3)
                .take_while(|_| with_followers)
                .map(|_| follower(&disk).expect("it is there"))
                .collect();
            let syncs = store.stats().syncs;
            for number in 0..100_u32 {
                table.upsert("key", number.to_be_bytes()).expect("the disk works");
                for copy in &copies {
                    assert_eq!(copy.refresh().expect("the disk works"), 1);
                    let seen = copy.find_table("t").expect("it is open").expect("it is there");
                    assert_eq!(
                        seen.select("key").expect("it is open").as_deref(),
                        Some(&number.to_be_bytes()[..])
                    );
                }
            }
            let synced = store.stats().syncs - syncs;
            assert_eq!(synced, if durability == Durability::Always { 100 } else { 0 });
            disk.steps()
        };
        assert_eq!(steps(true), steps(false));
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn followers_and_feeds_have_what_the_writer_has_whenever_they_look(actions in actions(60), seed in any::<u64>(), every in 1..12_usize) {
        for durability in LOGGED {
            let disk = SimDisk::new(seed);
            let mut store = Some(open(&disk, durability).expect("the disk works"));
            let copy = follower(&disk).expect("the file is there");
            let mut consumer = Consumer::begin(&disk).expect("the file is there");
            let mut feed = copy.changes(consumer.position).expect("it is new");
            for (at, action) in actions.iter().enumerate() {
                perform(&mut store, &disk, durability, action).expect("the disk works");
                if at % every > 0 {
                    continue;
                }
                let expected = tables_of(store.as_ref().expect("it is open"));
                copy.refresh().expect("the disk works");
                prop_assert!(tables_of(&copy) == expected, "action {at}");
                prop_assert_eq!(copy.refresh().expect("the disk works"), 0);
                let own = store.as_ref().expect("it is open").position().expect("it has a log");
                prop_assert_eq!(copy.position().expect("it has a log"), own);
                consumer.go_on(&disk).expect("the disk works");
                prop_assert!(consumer.tables == expected, "action {at}");
                let begun = feed.position();
                let last = feed.by_ref().try_fold(begun, |_, batch| batch.map(|batch| batch.position));
                prop_assert_eq!(last.expect("the disk works"), own);
            }
        }
    }

    /// Whoever has read what a power cut took away is told so, and never gets what was written later in its place. A process
    /// that is killed takes nothing away.
    #[test]
    fn positions_outlive_kills_and_tell_of_lost_changes(
        before in actions(20),
        after in actions(12),
        seed in any::<u64>(),
    ) {
        for durability in LOGGED {
            let steps = {
                let disk = SimDisk::new(seed);
                let mut store = None;
                for action in &before {
                    perform(&mut store, &disk, durability, action).expect("the disk works");
                }
                disk.steps()
            };
            for step in (0..=steps).step_by(3) {
                let disk = SimDisk::new(seed ^ step as u64);
                disk.fail_after(step, Fault::Crash);
                let mut store = None;
                for action in &before {
                    if perform(&mut store, &disk, durability, action).is_err() {
                        break;
                    }
                }
                let killed = disk.after_kill();
                let consumer = match Consumer::begin(&killed) {
                    Err(error) if is_none_yet(&error) => continue,
                    begun => begun.expect("the disk works again"),
                };
                for (disk, is_cut) in [(killed.after_kill(), false), (disk.after_power_cut(), true)] {
                    let mut consumer = consumer.clone();
                    let mut store = Some(open(&disk, durability).expect("the disk works again"));
                    for action in &after {
                        perform(&mut store, &disk, durability, action).expect("the disk works again");
                    }
                    match consumer.go_on(&disk) {
                        Err(Error::PositionGone { .. }) if is_cut => {}
                        done => {
                            done.expect("the disk works again");
                            let expected = tables_of(store.as_ref().expect("it is open"));
                            prop_assert!(consumer.tables == expected, "{durability}, step {step}, cut: {is_cut}");
                        }
                    }
                }
            }
        }
    }
}
