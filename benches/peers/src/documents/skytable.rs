//! Skytable's report: SET, GET and UPDATE of pairs of three and three bytes, by clients.

use twindex_benches::{KeyList, Record, fill_value};

use super::sizes::Sizes;
use super::test::{Job, System, per_second, record, rng, system};
use crate::clock::Clock;
use crate::peer::{Peer, Session, time};
use crate::peers::{self, redis};
use crate::work::steps::{begin, insert, select};

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BYTES: usize = 3;

pub(super) const CLIENTS: &[System] = &[
    clients_of::<peers::TwindexHash>(),
    clients_of::<peers::Hashbrown>(),
    clients_of::<peers::Sharded>(),
    clients_of::<peers::Papaya>(),
    clients_of::<peers::Scc>(),
    clients_of::<peers::Dashmap>(),
    clients_of::<peers::Redis<redis::Strings>>(),
];

const fn clients_of<P: Peer>() -> System {
    system::<P>(clients::<P>)
}

fn clients<P: Peer>(job: &Job) -> Vec<Record> {
    let threads = job.threads;
    let keys = short_keys(Sizes::of(job.sizes.queries, P::REACH) as usize);
    let read_list = keys.shuffled_in_groups(threads, &mut rng());
    let walks = job.sizes.walks(keys.len(), P::REACH);
    let mut peer: P = begin(&keys, BYTES);
    let setting = time(Clock::Wall, &mut peer, threads, |thread, session| {
        insert(session, &keys, keys.group(thread, threads), BYTES);
    });
    let getting = time(Clock::Wall, &mut peer, threads, |thread, session| {
        for _ in 0..walks {
            select(session, &read_list, read_list.group(thread, threads), BYTES);
        }
    });
    let updating = time(Clock::Wall, &mut peer, threads, |thread, session| {
        for walk in 0..walks {
            update(session, &read_list, read_list.group(thread, threads), walk as u32 + 1);
        }
    });
    let record = record::<P>("clients", keys.len())
        .with("clients", threads)
        .figure("set_per_second", per_second(keys.len(), setting))
        .figure("get_per_second", per_second(keys.len() * walks, getting))
        .figure("update_per_second", per_second(keys.len() * walks, updating));
    vec![record]
}

/// Gives each key the value that belongs to the number `by` after its own.
fn update(session: &mut impl Session, list: &KeyList, positions: std::ops::Range<usize>, by: u32) {
    let mut value = [0; BYTES];
    for (number, key) in list.pairs(positions) {
        fill_value(number + by, &mut value);
        assert!(session.replace(key, &value), "{} is not there", key.escape_ascii());
    }
}

/// Different keys of three letters and digits, in random order.
fn short_keys(count: usize) -> KeyList {
    let letters = LETTERS.len();
    assert!(count <= letters.pow(3), "there are no {count} different keys of {BYTES} letters");
    let key = |number: usize| {
        [number / letters.pow(2), number / letters % letters, number % letters].map(|digit| LETTERS[digit])
    };
    let mut numbers: Vec<usize> = (0..letters.pow(3)).collect();
    rng().shuffle(&mut numbers);
    numbers[..count].iter().map(|&number| key(number)).collect()
}
