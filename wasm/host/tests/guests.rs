//! Components in a host: what they share, what they are refused, and what is left of them.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use twindex::{IndexKind, Store};
use twindex_wasmtime::{GetMany, Guest, KeyValue, durable};
use wasmtime::component::{Component, ComponentNamedList, Instance, Lift, Linker, Lower};
use wasmtime::{Config, Engine};

/// A component that `cargo xtask test` has built.
fn component(name: &str) -> Component {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let path = target.join("wasm32-unknown-unknown/release").join(name);
    let built = "run `cargo xtask test wasm` once, which builds it";
    Component::from_file(&ENGINE, &path)
        .unwrap_or_else(|error| panic!("{}: {error}\n{built}", path.display()))
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.epoch_interruption(true);
    Engine::new(&config).expect("wasmtime runs here")
});
static GUEST: LazyLock<Component> = LazyLock::new(|| component("twindex_host_guest.wasm"));
static CLIENT: LazyLock<Component> = LazyLock::new(|| component("twindex_component_client.wasm"));

/// An instance, whose data is nothing but its guest.
struct Running {
    store: wasmtime::Store<Guest>,
    instance: Instance,
}

impl Running {
    fn of(component: &Component, keys: &KeyValue) -> Self {
        let mut linker = Linker::new(&ENGINE);
        let keys = keys.clone().get_many(GetMany::of(component));
        keys.add_to_linker(&mut linker, |guest| guest).expect("all buckets are there");
        let mut store = wasmtime::Store::new(&ENGINE, keys.guest());
        store.set_epoch_deadline(1 << 40);
        let instance = linker.instantiate(&mut store, component).expect("the host has what it imports");
        Self { store, instance }
    }

    fn new(keys: &KeyValue) -> Self {
        Self::of(&GUEST, keys)
    }

    fn try_call<P, R>(&mut self, name: &str, params: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower,
        R: wasmtime::component::ComponentType + Lift + 'static,
    {
        let function = self.instance.get_typed_func::<P, (R,)>(&mut self.store, name)?;
        function.call(&mut self.store, params).map(|(result,)| result)
    }

    fn call<P, R>(&mut self, name: &str, params: P) -> R
    where
        P: ComponentNamedList + Lower,
        R: wasmtime::component::ComponentType + Lift + 'static,
    {
        self.try_call(name, params).expect("no trap")
    }

    fn set(&mut self, bucket: &str, key: &str, length: u32) -> Result<(), String> {
        self.call("set", (bucket, key, length))
    }

    fn get(&mut self, bucket: &str, key: &str) -> Result<Option<Vec<u8>>, String> {
        self.call("get", (bucket, key))
    }
}

fn keys() -> KeyValue {
    KeyValue::new(Store::new()).bucket("default", "default")
}

/// That an error of the guest begins so.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, String>, code: &str) {
    let error = result.expect_err(code);
    assert!(error.starts_with(code), "{error}");
}

#[test]
fn every_function_of_both_drafts_and_of_tables_works_in_memory_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = durable::open(folder.path().join("store.twx")).unwrap();
    for store in [Store::new().into(), file] {
        for name in ["log", "client"] {
            store.table(name, IndexKind::Sorted).unwrap();
        }
        let keys =
            KeyValue::new(store).bucket("default", "default").bucket("log", "log").bucket("client", "client");
        // A quota changes how writes are done, not what they do.
        let limited =
            keys.clone().max_pairs("default", 9000).max_pairs("log", 9000).max_bytes("client", 1 << 20);
        for keys in [keys, limited] {
            keys.store().tables().unwrap().iter().for_each(|table| table.clear().unwrap());
            for (component, function) in [(&*GUEST, "draft"), (&GUEST, "tables"), (&CLIENT, "run")] {
                let done: Result<(), String> = Running::of(component, &keys).call(function, ());
                assert_eq!(done, Ok(()), "{function} over {keys:?}");
            }
        }
    }
}

#[test]
fn instances_see_each_others_writes_and_the_store_outlives_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.twx");
    let store = durable::open(&path).unwrap();
    let keys = KeyValue::new(store.clone()).bucket("default", "sessions");
    Running::new(&keys).set("default", "ada", 3).unwrap();
    assert_eq!(Running::new(&keys).get("default", "ada"), Ok(Some(vec![7; 3])));
    store.close().unwrap();
    refused(Running::new(&keys).get("default", "ada"), "TWINDEX_CLOSED");
    drop((store, keys));

    let keys = KeyValue::new(durable::open(&path).unwrap()).bucket("mine", "sessions");
    assert_eq!(Running::new(&keys).get("mine", "ada"), Ok(Some(vec![7; 3])));
}

#[test]
fn guest_reaches_no_bucket_that_it_was_not_given() {
    let store = Store::new();
    store.table("secret", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    let keys = KeyValue::new(store).bucket("default", "default");
    let mut guest = Running::new(&keys);
    for name in ["secret", "", "default ", "../default", &"x".repeat(1 << 20)] {
        refused(guest.get(name, "a"), "no-such-store");
    }
    assert_eq!(guest.call::<_, (u32, String)>("hoard", ("secret", 5000_u32)).0, 0);
}

#[test]
fn read_only_bucket_is_read_and_not_written() {
    let keys = keys();
    Running::new(&keys).set("default", "a", 1).unwrap();
    for keys in [keys.clone().read_only("default"), keys.max_pairs("default", 9).read_only("default")] {
        let mut guest = Running::new(&keys);
        assert_eq!(guest.get("default", "a"), Ok(Some(vec![7])));
        refused(guest.set("default", "b", 1), "access-denied");
        refused(guest.call::<_, Result<(), String>>("draft", ()), "access-denied");
        refused(guest.call::<_, Result<(), String>>("fill", ("default",)), "access-denied");
        assert_eq!(keys.store().table("default", IndexKind::Hash).unwrap().len(), 1);
    }

    // A file that the host itself only reads.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.twx");
    let store = durable::open(&path).unwrap();
    store.table("default", IndexKind::Hash).unwrap();
    store.close().unwrap();
    let store = durable::Options::new().read_only(true).open(&path).unwrap();
    refused(
        Running::new(&KeyValue::new(store).bucket("default", "default")).set("default", "a", 1),
        "access-denied",
    );
}

#[test]
fn quotas_hold_for_all_guests_and_are_given_back() {
    let keys = keys().max_pairs("default", 3).max_bytes("default", 1000);
    let other = keys.clone().bucket("other name", "default");
    let (mut one, mut two) = (Running::new(&keys), Running::new(&other));
    for key in ["a", "b"] {
        one.set("default", key, 100).unwrap();
    }
    two.set("other name", "c", 100).unwrap();
    refused(one.set("default", "d", 1), "TWINDEX_QUOTA");
    refused(two.set("other name", "a", 900), "TWINDEX_QUOTA");
    one.set("default", "a", 600).unwrap();
    one.set("default", "a", 10_u32).unwrap();
    let table = keys.store().table("default", IndexKind::Hash).unwrap();
    assert_eq!(table.len(), 3);

    // What was there before the quota counts.
    let fresh = KeyValue::new(keys.store().clone()).bucket("default", "default").max_pairs("default", 3);
    refused(Running::new(&fresh).set("default", "d", 1), "TWINDEX_QUOTA");
    Running::new(&fresh).set("default", "c", 1).unwrap();
}

#[test]
fn memory_limit_of_the_store_is_an_error_and_counts_against_no_quota() {
    for keys in [keys(), keys().max_bytes("default", 3 << 20)] {
        let mut guest = Running::new(&keys);
        guest.set("default", "a", 10).unwrap();
        keys.store().set_memory_limit(Some(1 << 20));
        refused(guest.set("default", "b", 2 << 20), "TWINDEX_MEMORY_LIMIT");
        assert_eq!(guest.get("default", "a"), Ok(Some(vec![7; 10])));
        keys.store().set_memory_limit(None);
        guest.set("default", "b", 2 << 20).unwrap();
    }
}

#[test]
fn keys_of_any_size_and_bytes_are_stored_refused_or_left_out() {
    let keys = keys();
    let mut guest = Running::new(&keys);
    guest.set("default", "", 1).unwrap();
    assert_eq!(guest.get("default", ""), Ok(Some(vec![7])));
    let longest = "k".repeat(65_535);
    guest.set("default", &longest, 1).unwrap();
    refused(guest.set("default", &format!("{longest}k"), 1), "TWINDEX_KEY_TOO_LONG");
    assert_eq!(guest.get("default", &format!("{longest}k")), Ok(None));

    let table = keys.store().table("default", IndexKind::Hash).unwrap();
    table.insert(b"\xff\xfe", b"1").unwrap();
    let (mut listed, _) = guest.call::<_, Result<(Vec<String>, u32), String>>("keys", ("default",)).unwrap();
    listed.sort();
    assert_eq!(listed, ["", &longest]);
}

#[test]
fn listing_is_complete_and_each_page_bounded_whatever_the_keys() {
    let store = Store::new();
    for (name, index) in [("hash", IndexKind::Hash), ("sorted", IndexKind::Sorted)] {
        let table = store.table(name, index).unwrap();
        for number in 0..400_u32 {
            table.insert(format!("{number:0>30000}"), b"").unwrap();
            // A page that has no key of text leads on, too.
            for more in 0..10 {
                let [a, b, ..] = number.to_le_bytes();
                table.insert([b'0', 0xff, more, a, b], b"").unwrap();
            }
        }
    }
    let keys = KeyValue::new(store).bucket("hash", "hash").bucket("sorted", "sorted");
    for name in ["hash", "sorted"] {
        let (mut listed, pages) =
            Running::new(&keys).call::<_, Result<(Vec<String>, u32), String>>("keys", (name,)).unwrap();
        listed.sort();
        assert!(listed.into_iter().eq((0..400).map(|number| format!("{number:0>30000}"))), "{name}");
        assert!(pages > 4, "{name}: {pages} pages");
    }
}

#[test]
fn handles_of_an_instance_are_bounded_and_given_back() {
    let keys = keys().max_handles(1500);
    let mut guest = Running::new(&keys);
    for _ in 0..3 {
        let (opened, error) = guest.call::<_, (u32, String)>("hoard", ("default", 1_000_000_u32));
        assert_eq!(opened, 1500);
        refused(Err::<(), _>(error), "TWINDEX_TOO_MANY_HANDLES");
    }
    guest.set("default", "a", 1).unwrap();
}

#[test]
fn huge_lists_are_an_error_of_the_call_or_of_wasmtime() {
    let keys = keys().max_answer(1 << 20);
    let mut guest = Running::new(&keys);
    guest.set("default", "a", 100_000).unwrap();
    assert_eq!(guest.call::<_, Result<u32, String>>("flood", ("default", "a", 10_u32)), Ok(10));
    refused(
        guest.call::<_, Result<u32, String>>("flood", ("default", "a", 11_u32)),
        "TWINDEX_ANSWER_TOO_LARGE",
    );
    refused(
        guest.call::<_, Result<u32, String>>("flood", ("default", "none", 1_u32 << 20)),
        "TWINDEX_ANSWER_TOO_LARGE",
    );
    guest.store.set_hostcall_fuel(100_000);
    let trap = guest.try_call::<_, Result<u32, String>>("flood", ("default", "none", 1_u32 << 20));
    let trap = format!("{:?}", trap.expect_err("wasmtime bounds what is passed"));
    assert!(trap.contains("fuel allocated for hostcalls"), "{trap}");
    assert_eq!(Running::new(&keys).get("default", "a"), Ok(Some(vec![7; 100_000])));
}

#[test]
fn killed_guest_leaves_every_call_done_or_not_begun() {
    let keys = keys();
    let table = keys.store().table("default", IndexKind::Hash).unwrap();
    for _ in 0..3 {
        let mut guest = Running::new(&keys);
        guest.store.set_epoch_deadline(1);
        // Each guest counts from 0.
        table.clear().unwrap();
        let killed = std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while table.is_empty() && begun.elapsed() < Duration::from_mins(1) {
                    std::thread::yield_now();
                }
                ENGINE.increment_epoch();
            });
            guest.try_call::<_, Result<(), String>>("fill", ("default",)).expect_err("it never ends")
        });
        assert_eq!(killed.downcast_ref(), Some(&wasmtime::Trap::Interrupt), "{killed:?}");
        let first = table.select("0").unwrap();
        assert!(first.is_some(), "some calls were done");
        for key in 0..100 {
            assert_eq!(table.select(key.to_string()).unwrap(), first, "one call is whole");
        }
    }
}

#[test]
fn many_instances_on_threads_lose_no_write() {
    let keys = keys().max_pairs("default", 1 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let keys = &keys;
            scope.spawn(move || {
                for number in 0..50 {
                    Running::new(keys).set("default", &format!("{thread}-{number}"), number).unwrap();
                }
            });
        }
    });
    assert_eq!(keys.store().table("default", IndexKind::Hash).unwrap().len(), 200);
}

#[tokio::test]
async fn asynchronous_instances_write_to_a_file_that_waits_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.twx");
    let store = durable::Options::new().durability(durable::Durability::Always).open(&path).unwrap();
    store.table("client", IndexKind::Sorted).unwrap();
    let keys = KeyValue::new(store.clone()).bucket("client", "client").get_many(GetMany::of(&CLIENT));
    let mut linker = Linker::new(&ENGINE);
    keys.add_to_linker_async(&mut linker, |guest| guest).unwrap();
    let mut instance_store = wasmtime::Store::new(&ENGINE, keys.guest());
    instance_store.set_epoch_deadline(1 << 40);
    let instance = linker.instantiate_async(&mut instance_store, &CLIENT).await.unwrap();
    let run = instance.get_typed_func::<(), (Result<(), String>,)>(&mut instance_store, "run").unwrap();
    assert_eq!(run.call_async(&mut instance_store, ()).await.unwrap(), (Ok(()),));
    store.close().unwrap();
    let again = durable::open(&path).unwrap();
    assert_eq!(
        again.table("client", IndexKind::Sorted).unwrap().select("n").unwrap().as_deref(),
        Some(&b"44"[..])
    );
}

#[test]
fn table_that_cannot_be_opened_is_named_by_the_host() {
    let mut linker = Linker::<Guest>::new(&ENGINE);
    let long = "t".repeat(256);
    for (keys, what) in [
        (keys().bucket("a", ""), "bucket(\"a\", \"\")"),
        (keys().bucket("a", &long), "bucket(\"a\""),
        (keys().max_pairs("a", 1), "there is no bucket \"a\""),
    ] {
        let error = keys.add_to_linker(&mut linker, |guest| guest).expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    }
}
