//! Cursors beside writers: no step shows what was gone before it, and none looks at memory that was given back.

use std::thread;

use twindex::{IndexKind, Table};

use crate::scale::scaled;
use crate::table;

/// A cursor remembers the leaf that it is in, which the clear frees.
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
