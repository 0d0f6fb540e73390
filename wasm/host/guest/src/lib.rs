//! A component that uses its host's buckets, well and badly.

use std::collections::HashMap;

use bindings::twindex::engine::stores::{Bound, Index, Store, TableOptions};
use bindings::wasi::keyvalue0_2_0_draft::atomics::increment;
use bindings::wasi::keyvalue0_2_0_draft::batch::{delete_many, get_many, set_many};
use bindings::wasi::keyvalue0_2_0_draft::store::{self, Bucket, Error};

#[expect(clippy::pedantic, reason = "written by a generator")]
mod bindings {
    wit_bindgen::generate!({
        world: "twindex:guest/guest",
        path: ["draft", "../../component/wit", "wit"],
        generate_all,
    });
    export!(Component);

    use super::Component;
}

/// What exports the functions.
struct Component;

type Result<T> = std::result::Result<T, String>;

impl bindings::Guest for Component {
    fn draft() -> Result<()> {
        draft()
    }

    fn tables() -> Result<()> {
        tables()
    }

    fn set(bucket: String, key: String, length: u32) -> Result<()> {
        open(&bucket)?.set(&key, &vec![7; length as usize]).map_err(show)
    }

    fn get(bucket: String, key: String) -> Result<Option<Vec<u8>>> {
        open(&bucket)?.get(&key).map_err(show)
    }

    fn keys(bucket: String) -> Result<(Vec<String>, u32)> {
        all_keys(&open(&bucket)?).map_err(show)
    }

    fn hoard(bucket: String, times: u32) -> (u32, String) {
        let mut handles = Vec::new();
        for number in 0..times {
            match store::open(&bucket) {
                Ok(handle) => handles.push(handle),
                Err(error) => return (number, show(error)),
            }
        }
        (times, String::new())
    }

    fn flood(bucket: String, key: String, times: u32) -> Result<u32> {
        let values = get_many(&open(&bucket)?, &vec![key; times as usize]).map_err(show)?;
        Ok(values.iter().flatten().count() as u32)
    }

    fn fill(bucket: String) -> Result<()> {
        let bucket = open(&bucket)?;
        for number in 0_u64.. {
            let value = number.to_le_bytes().to_vec();
            let pairs: Vec<_> = (0..100).map(|key| (format!("{key}"), value.clone())).collect();
            set_many(&bucket, &pairs).map_err(show)?;
        }
        Ok(())
    }

    fn work(bucket: String, times: u32) -> Result<()> {
        let mut key = *b"key 000000";
        let mut next = |number: u32| {
            let mut rest = number % 1000;
            for at in (7..10).rev() {
                key[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            String::from_utf8_lossy(&key).into_owned()
        };
        if bucket.is_empty() {
            let mut map = HashMap::new();
            for number in 0..times {
                let key = next(number);
                map.insert(key.clone(), number.to_le_bytes().to_vec());
                expect(map.get(&key).is_some_and(|value| value == &number.to_le_bytes()), "own map")?;
            }
            return Ok(());
        }
        // The crate wasmtime-wasi-keyvalue knows one bucket, without a name.
        let bucket = store::open(if bucket == "-" { "" } else { &bucket }).map_err(show)?;
        for number in 0..times {
            let key = next(number);
            bucket.set(&key, &number.to_le_bytes()).map_err(show)?;
            let value = bucket.get(&key).map_err(show)?;
            expect(value.is_some_and(|value| value == number.to_le_bytes()), "the value")?;
        }
        Ok(())
    }
}

fn open(bucket: &str) -> Result<Bucket> {
    store::open(bucket).map_err(show)
}

fn show(error: Error) -> String {
    match error {
        Error::NoSuchStore => "no-such-store".into(),
        Error::AccessDenied => "access-denied".into(),
        Error::Other(text) => text,
    }
}

fn expect(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(format!("not as it should be: {what}")) }
}

fn all_keys(bucket: &Bucket) -> std::result::Result<(Vec<String>, u32), Error> {
    let (mut keys, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let page = bucket.list_keys(cursor)?;
        keys.extend(page.keys);
        pages += 1;
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok((keys, pages));
        }
    }
}

fn draft() -> Result<()> {
    let bucket = open("default")?;
    bucket.set("a", b"1").map_err(show)?;
    expect(bucket.get("a").map_err(show)?.as_deref() == Some(b"1"), "get")?;
    expect(bucket.exists("a").map_err(show)?, "exists")?;
    bucket.delete("a").map_err(show)?;
    expect(bucket.get("a").map_err(show)?.is_none(), "get of a deleted key")?;

    increment(&bucket, "n", u64::MAX - 1).map_err(show)?;
    expect(increment(&bucket, "n", 1).map_err(show)? == u64::MAX, "increment to the last number")?;
    let more = increment(&bucket, "n", 1).map_err(show);
    expect(more.is_err_and(|text| text.starts_with("TWINDEX_OVERFLOW")), "increment beyond it")?;
    bucket.set("n", b"-1").map_err(show)?;
    let negative = increment(&bucket, "n", 1).map_err(show);
    expect(negative.is_err_and(|text| text.starts_with("TWINDEX_NOT_AN_INTEGER")), "a value below 0")?;
    bucket.delete("n").map_err(show)?;

    let mut pairs: Vec<_> =
        (0..2500).map(|number| (format!("key {number:04}"), vec![7; number % 100])).collect();
    set_many(&bucket, &pairs).map_err(show)?;
    let asked = ["key 0150".to_owned(), "none".to_owned()];
    let found = get_many(&bucket, &asked).map_err(show)?;
    expect(found == [Some((asked[0].clone(), vec![7; 50])), None], "get-many")?;
    let (mut keys, pages) = all_keys(&bucket).map_err(show)?;
    keys.sort();
    pairs.sort();
    expect(pages > 1 && keys.iter().eq(pairs.iter().map(|(key, _)| key)), "list-keys")?;
    delete_many(&bucket, &keys).map_err(show)?;
    expect(all_keys(&bucket).map_err(show)?.0.is_empty(), "delete-many")
}

/// The value of a verb of `twindex:engine`.
macro_rules! done {
    ($call:expr) => {
        $call.map_err(|error| format!("{}: {}", error.code, error.message))?
    };
}

fn tables() -> Result<()> {
    let store = Store::buckets();
    let names = store.tables();
    expect(names.contains(&("log".into(), Index::Sorted)), "tables")?;
    expect(
        store.table("secret", Index::Hash).is_err_and(|error| error.code == "TWINDEX_NO_TABLE"),
        "a strange table",
    )?;
    expect(
        store.table("log", Index::Hash).is_err_and(|error| error.code == "TWINDEX_WRONG_INDEX"),
        "a wrong index",
    )?;
    let options = |keys: &str| TableOptions {
        index: Index::Sorted,
        keys: Some(keys.into()),
        values: None,
        create: true,
    };
    expect(
        store.table_with("log", &options("int")).is_err_and(|error| error.code == "TWINDEX_WRONG_CODEC"),
        "a codec",
    )?;
    done!(store.table_with("log", &options("bytes")));

    let log = done!(store.table("log", Index::Sorted));
    expect(
        log.name() == "log" && log.index() == Index::Sorted && log.codecs().0 == "bytes",
        "what a table says",
    )?;
    let pairs: Vec<(Vec<u8>, Vec<u8>)> =
        (0..10_u8).map(|number| (vec![b'a', number], vec![number])).collect();
    expect(done!(log.insert_many(&pairs)) == [true; 10], "insert-many")?;
    expect(
        !done!(log.insert(&pairs[0].0, b"x")) && done!(log.replace(&pairs[0].0, b"x")),
        "insert, replace",
    )?;
    expect(
        done!(log.replace_many(&pairs)) == [true; 10] && done!(log.upsert(b"z", b"9")),
        "replace-many, upsert",
    )?;
    expect(done!(log.upsert_many(&pairs)) == [true; 10], "upsert-many")?;
    expect(log.len() == 11 && log.contains(b"z") && log.select(b"z").as_deref() == Some(b"9"), "reads")?;
    let keys = [b"z".to_vec(), b"none".to_vec()];
    expect(log.select_many(&keys) == [Some(b"9".to_vec()), None], "select-many")?;
    expect(log.contains_many(&keys) == [true, false], "contains-many")?;
    let from = Bound::Excluded(pairs[7].0.clone());
    let scanned = done!(log.scan(&from, &Bound::Unbounded, true, 2));
    expect(scanned == [(b"z".to_vec(), b"9".to_vec()), pairs[9].clone()], "scan")?;
    expect(done!(log.first()) == Some(pairs[0].clone()) && done!(log.last()).is_some(), "first, last")?;
    expect(done!(log.increment(b"z", -10)) == -1, "increment")?;
    expect(done!(log.increment_many(&[(b"z".to_vec(), 1), (b"y".to_vec(), 2)])) == [0, 2], "increment-many")?;
    expect(done!(log.compare_and_swap(b"y", Some(b"2"), None)) && !log.contains(b"y"), "compare-and-swap")?;
    expect(done!(log.take(b"z")).as_deref() == Some(b"0") && !done!(log.delete(b"z")), "take, delete")?;
    expect(done!(log.pop_first()) == Some(pairs[0].clone()), "pop-first")?;
    expect(done!(log.pop_last()) == Some(pairs[9].clone()), "pop-last")?;
    let range = Bound::Included(pairs[7].0.clone());
    expect(done!(log.delete_range(&range, &Bound::Unbounded)) == 2, "delete-range")?;
    expect(done!(log.delete_many(&[pairs[1].0.clone()])) == [true], "delete-many")?;
    expect(done!(log.delete_prefix(b"a")) == 5 && log.len() == 0, "delete-prefix")?;

    let default = done!(store.table("default", Index::Hash));
    done!(default.upsert(b"k", b"v"));
    let scan = default.scan(&Bound::Unbounded, &Bound::Unbounded, false, 1);
    expect(scan.is_err_and(|error| error.code == "TWINDEX_WRONG_INDEX"), "a scan of a hash table")?;
    done!(default.clear());
    expect(default.len() == 0, "clear")
}
