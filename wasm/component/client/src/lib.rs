//! A component that keeps its pairs in any `wasi:keyvalue`.

use bindings::wasi::keyvalue::atomics::{Cas, CasError, increment, swap};
use bindings::wasi::keyvalue::batch::{delete_many, get_many, set_many};
use bindings::wasi::keyvalue::store::{self, Bucket, Error};

#[expect(clippy::pedantic, reason = "written by a generator")]
mod bindings {
    wit_bindgen::generate!({
        world: "twindex:client/client",
        path: ["../wit/deps/keyvalue", "wit"],
        generate_all,
    });
    export!(Client);

    use super::Client;
}

/// What exports `run`.
struct Client;

impl bindings::Guest for Client {
    fn run() -> Result<(), String> {
        let bucket = store::open("client").map_err(show)?;
        store(&bucket).map_err(show)?;
        batch(&bucket).map_err(show)?;
        atomics(&bucket)?;
        match store::open("") {
            Err(Error::NoSuchStore) => Ok(()),
            _ => Err("a bucket without a name was opened".into()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn show(error: Error) -> String {
    format!("{error:?}")
}

fn check(holds: bool, what: &str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Other(what.into())) }
}

fn store(bucket: &Bucket) -> Result<(), Error> {
    check(bucket.get("a")?.is_none(), "a new bucket has a pair")?;
    bucket.set("a", b"1")?;
    bucket.set("a", b"2")?;
    check(bucket.get("a")?.as_deref() == Some(b"2"), "set does not replace")?;
    check(bucket.exists("a")? && !bucket.exists("b")?, "exists is wrong")?;
    check(store::open("client")?.exists("a")?, "two buckets of one name differ")?;
    bucket.delete("a")?;
    bucket.delete("a")?;
    check(!bucket.exists("a")?, "delete leaves the pair")?;
    let too_long = bucket.set(&"k".repeat(65_536), b"");
    check(
        matches!(too_long, Err(Error::Other(text)) if text.contains("TWINDEX_KEY_TOO_LONG")),
        "a key that is too long was taken",
    )
}

fn batch(bucket: &Bucket) -> Result<(), Error> {
    let pairs: Vec<_> = (0..2500).map(|number| (format!("key {number:04}"), vec![7; number % 100])).collect();
    set_many(bucket, &pairs)?;
    let mut keys = Vec::new();
    let mut cursor = None;
    let mut pages = 0;
    loop {
        let page = bucket.list_keys(cursor.as_deref())?;
        keys.extend(page.keys);
        pages += 1;
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    check(pages > 1 && keys.iter().eq(pairs.iter().map(|(key, _)| key)), "the keys are not all there")?;
    let asked = ["key 0150".to_owned(), "none".to_owned()];
    let found = get_many(bucket, &asked)?;
    check(found == [Some((asked[0].clone(), vec![7; 50])), None], "get-many is wrong")?;
    delete_many(bucket, &keys)?;
    check(bucket.list_keys(None)?.keys.is_empty(), "delete-many leaves pairs")
}

fn atomics(bucket: &Bucket) -> Result<(), String> {
    let sum = increment(bucket, "n", 40).and_then(|_| increment(bucket, "n", 2)).map_err(show)?;
    check(sum == 42, "increment is wrong").map_err(show)?;
    let stale = Cas::new(bucket, "n").map_err(show)?;
    bucket.set("n", b"43").map_err(show)?;
    let Err(CasError::CasFailed(fresh)) = swap(stale, b"44") else {
        return Err("a swap of an old value took effect".into());
    };
    check(fresh.current().map_err(show)?.as_deref() == Some(b"43"), "the new handle is old").map_err(show)?;
    swap(fresh, b"44").map_err(|error| format!("{error:?}"))?;
    let now = bucket.get("n").map_err(show)?;
    check(now.as_deref() == Some(b"44"), "the swap did nothing").map_err(show)
}
