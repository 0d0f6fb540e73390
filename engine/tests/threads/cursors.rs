//! Cursors beside writers: no step shows what was gone before it, and none looks at memory that was given back.

use std::thread;

use twindex::{IndexKind, Table};

use crate::scale::scaled;
use crate::stamped::{read_stamp, stamp};
use crate::{beside, on_threads, table};

/// A cursor remembers the leaf that it copied, and looks there whether it has changed. It once did so while another
/// thread cleared the table, which had given the leaf's memory back. Values tell what was copied from there; of the
/// look itself only the address sanitizer tells.
#[test]
fn a_cursor_beside_clears_looks_at_no_memory_that_was_given_back() {
    let table = table(IndexKind::Sorted);
    let pairs = scaled(300, 20);
    let fill_and_clear = || {
        for version in 0..scaled(150, 3) {
            for number in 0..pairs {
                let key = format!("key/{number:05}").into_bytes();
                table.upsert(&key, stamp(&key, version, 0, 40)).unwrap();
            }
            table.clear().unwrap();
        }
    };
    let mut cursor = table.cursor(..).unwrap();
    let read = || match cursor.scan_asc_next() {
        Some((key, value)) => _ = read_stamp(key, value),
        None => cursor = table.cursor(..).unwrap(),
    };
    beside(fill_and_clear, read);
}

/// The same without luck: the clear is finished between two steps.
#[test]
fn a_cursor_sees_a_clear_by_another_thread_at_its_next_step() {
    let table = table(IndexKind::Sorted);
    for _ in 0..3 {
        let keys: Vec<_> = (0..scaled(5000, 20)).map(|number| format!("{number:05}").into_bytes()).collect();
        for key in &keys {
            assert!(table.insert(key, "old").unwrap());
        }
        let mut cursors: Vec<_> =
            keys.iter().step_by(20).map(|key| table.cursor(key.as_slice()..).unwrap()).collect();
        assert!(cursors.iter_mut().all(|cursor| cursor.scan_asc_next().is_some()));
        thread::scope(|scope| drop(scope.spawn(|| table.clear().unwrap())));
        assert!(cursors.iter_mut().all(|cursor| cursor.scan_asc_next().is_none()));
        table.insert("new", "new").unwrap();
        for cursor in &mut cursors {
            assert_eq!(cursor.scan_asc_next(), Some((b"new".as_slice(), b"new".as_slice())));
        }
        table.clear().unwrap();
    }
}

/// While a leaf was being replaced, a cursor that had copied it held it for unchanged: a delete in the new leaf, which
/// was finished before the step, did not show.
#[test]
fn a_cursor_sees_deletes_that_were_finished_before_its_step() {
    let table = table(IndexKind::Sorted);
    on_threads(|thread, mut random| {
        for round in 0..scaled(3000, 6) {
            let key = |number: usize| format!("{number}/{thread}").into_bytes();
            for number in 0..4 {
                table
                    .upsert(key(number), stamp(&key(number), round, thread, 16 + random.usize(..200)))
                    .unwrap();
            }
            let mut cursor = table.cursor(..).unwrap();
            let mut gone = None;
            while let Some((at, _)) = cursor.scan_asc_next() {
                assert_ne!(Some(at), gone.as_deref(), "it was deleted before the step");
                let ours = at.ends_with(format!("/{thread}").as_bytes());
                if ours && random.bool() {
                    // The next of this thread's keys, which others' lie before.
                    let next = key(usize::from(at[0] - b'0') + 1);
                    table.delete(&next).unwrap();
                    gone = Some(next);
                }
            }
        }
    });
}

/// One thread after the other, at every place of a leaf and over the borders of leaves.
#[test]
fn a_cursor_sees_every_delete_between_two_steps() {
    let table = table(IndexKind::Sorted);
    let pairs = scaled(600, 12);
    let key = |number: usize| format!("{number:05}").into_bytes();
    for down in [false, true] {
        (0..pairs).for_each(|number| assert!(table.insert(key(number), "value").unwrap()));
        let mut cursor = table.cursor(..).unwrap();
        for step in 0..pairs / 2 {
            let place = |number: usize| key(if down { pairs - 1 - number } else { number });
            assert_eq!(step_of(&mut cursor, down), Some(place(2 * step)));
            delete_elsewhere(&table, &place(2 * step + 1));
        }
        assert_eq!(step_of(&mut cursor, down), None);
        table.clear().unwrap();
    }
}

fn step_of(cursor: &mut twindex::Cursor, down: bool) -> Option<Vec<u8>> {
    let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
    pair.map(|(key, _)| key.to_vec())
}

/// Deletes a key in another thread, which has ended when this returns.
fn delete_elsewhere(table: &Table, key: &[u8]) {
    thread::scope(|scope| drop(scope.spawn(|| assert!(table.delete(key).unwrap()))));
}
