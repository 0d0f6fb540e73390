//! The component in wasmtime: by itself, and composed with a client that knows of `wasi:keyvalue` alone.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use wac_graph::{CompositionGraph, EncodeOptions, types::Package};
use wasmtime::component::{Component, Func, Instance, Linker, Val};
use wasmtime::{Engine, Store};

/// The version of the interfaces is that of the packages.
const STORES: &str = concat!("twindex:engine/stores@", env!("CARGO_PKG_VERSION"));
const CACHES: &str = concat!("twindex:engine/caches@", env!("CARGO_PKG_VERSION"));
const INTERFACES: [&str; 3] = [
    "wasi:keyvalue/store@0.2.0-draft2",
    "wasi:keyvalue/atomics@0.2.0-draft2",
    "wasi:keyvalue/batch@0.2.0-draft2",
];

fn bytes_of(name: &str) -> Vec<u8> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let path = target.join("wasm32-unknown-unknown/release").join(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}\nBuild it as docs/component.md says.", path.display()))
}

/// The component alone, called without any types of its own.
struct Host {
    store: Store<()>,
    instance: Instance,
}

/// A dump is loaded without one.
const NO_LIMIT: Val = Val::Option(None);

impl Host {
    /// Of the engine's component, which is compiled once for all tests.
    fn new() -> Self {
        static COMPONENT: OnceLock<Component> = OnceLock::new();
        let component = COMPONENT.get_or_init(|| {
            Component::new(&Engine::default(), bytes_of("twindex_component.wasm")).expect("it compiles")
        });
        Self::of(component)
    }

    fn of(component: &Component) -> Self {
        let engine = component.engine();
        assert_eq!(component.component_type().imports(engine).count(), 0, "it imports nothing");
        let mut store = Store::new(engine, ());
        let instance =
            Linker::new(engine).instantiate(&mut store, component).expect("it needs nothing of its host");
        Self { store, instance }
    }

    fn function(&mut self, interface: Option<&str>, name: &str) -> Func {
        let parent = interface.map(|interface| {
            self.instance.get_export_index(&mut self.store, None, interface).expect("the interface is there")
        });
        let index = self
            .instance
            .get_export_index(&mut self.store, parent.as_ref(), name)
            .unwrap_or_else(|| panic!("{name} is not exported"));
        self.instance.get_func(&mut self.store, index).expect("it is a function")
    }

    fn call(&mut self, name: &str, arguments: &[Val]) -> Val {
        let is_of_caches = name.contains("cache") || name == "set-time";
        let function = self.function(Some(if is_of_caches { CACHES } else { STORES }), name);
        let count = function.ty(&self.store).results().len();
        let mut results = [Val::Bool(false)];
        function.call(&mut self.store, arguments, &mut results[..count]).expect("no trap");
        let [result] = results;
        result
    }

    /// The value of a result that is no error.
    fn done(&mut self, name: &str, arguments: &[Val]) -> Val {
        match self.call(name, arguments) {
            Val::Result(Ok(Some(value))) => *value,
            Val::Result(Ok(None)) => Val::Bool(true),
            other => panic!("{name}: {other:?}"),
        }
    }

    fn error(&mut self, name: &str, arguments: &[Val]) -> String {
        let Val::Result(Err(Some(error))) = self.call(name, arguments) else { panic!("{name} is no error") };
        let Val::Record(fields) = *error else { panic!("an error is a record") };
        let Val::String(code) = &fields[0].1 else { panic!("a code is text") };
        code.clone()
    }
}

fn bytes(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().map(|byte| Val::U8(*byte)).collect())
}

fn pair(key: &[u8], value: &[u8]) -> Val {
    Val::Tuple(vec![bytes(key), bytes(value)])
}

fn text(text: &str) -> Val {
    Val::String(text.into())
}

fn index(name: &str) -> Val {
    Val::Enum(name.into())
}

fn some(value: Val) -> Val {
    Val::Option(Some(Box::new(value)))
}

#[test]
fn tables_of_both_indexes_are_read_and_written() {
    let mut host = Host::new();
    let store = host.call("[constructor]store", &[]);
    let users = host.done("[method]store.table", &[store.clone(), text("users"), index("hash")]);
    let insert = [users.clone(), bytes(b"ada"), bytes(b"1815")];
    assert_eq!(host.done("[method]table.insert", &insert), Val::Bool(true));
    assert_eq!(host.done("[method]table.insert", &insert), Val::Bool(false));
    assert_eq!(host.call("[method]table.select", &[users.clone(), bytes(b"ada")]), some(bytes(b"1815")));
    assert_eq!(host.call("[method]table.select", &[users.clone(), bytes(b"bob")]), Val::Option(None));
    assert_eq!(
        host.error("[method]table.insert", &[users.clone(), bytes(&vec![0; 65_536]), bytes(b"")]),
        "TWINDEX_KEY_TOO_LONG"
    );
    assert_eq!(
        host.error("[method]store.table", &[store.clone(), text("users"), index("sorted")]),
        "TWINDEX_WRONG_INDEX"
    );
    assert_eq!(host.error("[method]table.prefix", &[users, bytes(b"a")]), "TWINDEX_WRONG_INDEX");

    let log = host.done("[method]store.table", &[store, text("log"), index("sorted")]);
    let pairs = Val::List(vec![pair(b"2", b"b"), pair(b"1", b"a"), pair(b"3", b"c")]);
    assert_eq!(
        host.done("[method]table.insert-many", &[log.clone(), pairs]),
        Val::List(vec![Val::Bool(true); 3])
    );
    let after = Val::Variant("excluded".into(), Some(Box::new(bytes(b"1"))));
    let end = Val::Variant("unbounded".into(), None);
    let cursor = host.done("[method]table.cursor", &[log.clone(), after, end]);
    assert_eq!(
        host.call("[method]cursor.scan-asc-next", std::slice::from_ref(&cursor)),
        some(pair(b"2", b"b"))
    );
    assert_eq!(
        host.call("[method]cursor.scan-asc-next-many", &[cursor.clone(), Val::U32(9)]),
        Val::List(vec![pair(b"3", b"c")])
    );
    assert_eq!(host.call("[method]cursor.scan-asc-next", &[cursor]), Val::Option(None));
    let entries = host.call("[method]table.entries", &[log]);
    let Val::List(all) = host.call("[method]entries.next-many", &[entries, Val::U32(9)]) else {
        panic!("pairs are a list")
    };
    assert_eq!(all, [pair(b"1", b"a"), pair(b"2", b"b"), pair(b"3", b"c")]);
}

#[test]
fn a_table_is_opened_by_the_codecs_it_remembers() {
    let mut host = Host::new();
    let store = host.call("[constructor]store", &[]);
    let options = |keys: Option<&str>, create| {
        let text = |name: &str| Box::new(Val::String(name.into()));
        Val::Record(vec![
            ("index".into(), Val::Enum("hash".into())),
            ("keys".into(), Val::Option(keys.map(text))),
            ("values".into(), Val::Option(Some(text("json")))),
            ("create".into(), Val::Bool(create)),
        ])
    };
    let name = Val::String("t".into());
    let open = |keys, create| [store.clone(), name.clone(), options(keys, create)];
    let method = "[method]store.table-with";
    assert_eq!(host.error(method, &open(Some("int"), false)), "TWINDEX_NO_TABLE");
    let table = host.done(method, &open(Some("int"), true));
    let codecs = host.call("[method]table.codecs", &[table]);
    assert_eq!(codecs, Val::Tuple(vec![Val::String("int".into()), Val::String("json".into())]));
    host.done(method, &open(None, false));
    host.done(method, &open(Some("bytes"), false));
    assert_eq!(host.error(method, &open(Some("str"), true)), "TWINDEX_WRONG_CODEC");
}

#[test]
fn a_golden_file_loads_and_a_dump_goes_round() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/version-1-log.twx");
    let golden = std::fs::read(golden).expect("the golden file is there");
    let mut host = Host::new();
    let store = host.done("[static]store.load", &[bytes(&golden), NO_LIMIT]);
    let tables = host.call("[method]store.tables", std::slice::from_ref(&store));
    assert!(matches!(&tables, Val::List(tables) if !tables.is_empty()));
    let dump = host.done("[method]store.dump", &[store]);
    let again = host.done("[static]store.load", &[dump, NO_LIMIT]);
    assert_eq!(host.call("[method]store.tables", &[again]), tables);
    assert_eq!(
        host.error("[static]store.load", &[bytes(&golden[..golden.len() / 2]), NO_LIMIT]),
        "TWINDEX_CORRUPT"
    );
}

#[test]
fn snapshots_and_transactions_are_of_one_moment() {
    let mut host = Host::new();
    let store = host.call("[constructor]store", &[]);
    let table = host.done("[method]store.table", &[store.clone(), text("t"), index("sorted")]);
    let a = || bytes(b"a");
    host.done("[method]table.insert", &[table.clone(), a(), bytes(b"1")]);
    let snapshot = host.done("[method]store.snapshot", std::slice::from_ref(&store));
    let [one, two] = [(); 2].map(|()| host.call("[method]store.begin", std::slice::from_ref(&store)));
    for transaction in [&one, &two] {
        let by = [transaction.clone(), table.clone(), a(), Val::S64(5)];
        assert_eq!(host.done("[method]transaction.increment", &by), Val::S64(6));
    }
    let swap = [one.clone(), table.clone(), a(), some(bytes(b"6")), Val::Option(None)];
    assert_eq!(host.done("[method]transaction.compare-and-swap", &swap), Val::Bool(true));
    let put = [one.clone(), table.clone(), bytes(b"b"), bytes(b"2")];
    assert_eq!(host.done("[method]transaction.insert", &put), Val::Bool(true));
    let end = || Val::Variant("unbounded".into(), None);
    let scan = [one.clone(), table.clone(), end(), end(), Val::Bool(false), Val::U32(9)];
    let after = Val::List(vec![pair(b"b", b"2")]);
    assert_eq!(host.done("[method]transaction.scan", &scan), after);
    host.done("[method]transaction.commit", std::slice::from_ref(&one));
    assert_eq!(host.error("[method]transaction.commit", &[one]), "TWINDEX_ENDED");
    assert_eq!(host.error("[method]transaction.commit", &[two]), "TWINDEX_CONFLICT");
    let all = |table: &Val| [table.clone(), end(), end(), Val::Bool(true), Val::U32(9)];
    assert_eq!(host.done("[method]table.scan", &all(&table)), after);

    let then = host.done("[method]snapshot.table", &[snapshot.clone(), text("t")]);
    assert_eq!(host.done("[method]table.scan", &all(&then)), Val::List(vec![pair(b"a", b"1")]));
    assert_eq!(host.error("[method]table.pop-first", &[then]), "TWINDEX_READ_ONLY");
    let dump = host.done("[method]snapshot.dump", &[snapshot]);
    let loaded = host.done("[static]store.load", &[dump, NO_LIMIT]);
    let loaded = host.done("[method]store.table", &[loaded, text("t"), index("sorted")]);
    assert_eq!(host.done("[method]table.pop-last", &[loaded]), some(pair(b"a", b"1")));
    let prefix = [table.clone(), bytes(b"b")];
    assert_eq!(host.done("[method]table.delete-prefix", &prefix), Val::U64(1));
}

#[test]
fn damaged_file_is_checked_and_recovered() {
    let mut host = Host::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/version-1-log.twx");
    let mut file = std::fs::read(golden).expect("the golden file is there");
    let damage = |report: Val| {
        let Val::Record(fields) = report else { panic!("a report is a record") };
        let damage = fields.into_iter().find(|(name, _)| name == "damage").expect("damage").1;
        let Val::List(places) = damage else { panic!("damage is a list") };
        places.len()
    };
    let report = host.done("check", &[bytes(&file), NO_LIMIT]);
    assert_eq!(damage(report), 0);
    let middle = file.len() / 2;
    file[middle] ^= 1;
    assert_eq!(host.error("[static]store.load", &[bytes(&file), NO_LIMIT]), "TWINDEX_CORRUPT");
    let Val::Tuple(saved) = host.done("recover", &[bytes(&file), NO_LIMIT]) else { panic!("two") };
    assert_eq!(damage(saved[0].clone()), 1);
    let tables = host.call("[method]store.tables", &saved[1..]);
    assert!(matches!(tables, Val::List(tables) if !tables.is_empty()));
}

#[test]
fn cache_keeps_pairs_as_long_as_they_live() {
    let mut host = Host::new();
    let options = |capacity: Option<u64>| {
        let number = |number| Val::Option(Some(Box::new(Val::U64(number))));
        Val::Record(vec![
            ("capacity".into(), capacity.map_or(NO_LIMIT, number)),
            ("max-entries".into(), Val::Option(None)),
            ("ttl".into(), number(1000)),
        ])
    };
    assert_eq!(host.error("[static]cache.open", &[options(None)]), "TWINDEX_CAPACITY");
    host.call("set-time", &[Val::U64(10_000)]);
    let cache = host.done("[static]cache.open", &[options(Some(1 << 20))]);
    let put = |ttl| [cache.clone(), bytes(b"a"), bytes(b"1"), ttl];
    assert_eq!(host.done("[method]cache.insert", &put(Val::Option(None))), Val::Bool(true));
    assert_eq!(host.done("[method]cache.insert", &put(Val::Option(None))), Val::Bool(false));
    let key = [cache.clone(), bytes(b"a")];
    assert_eq!(host.call("[method]cache.ttl", &key), some(Val::U64(1000)));
    let saved = host.done("[method]cache.save", std::slice::from_ref(&cache));
    assert_eq!(host.done("[method]cache.upsert", &put(some(Val::U64(5)))), Val::Bool(true));
    host.call("set-time", &[Val::U64(10_500)]);
    assert_eq!(host.call("[method]cache.get", &key), Val::Option(None));
    let again = host.done("[static]cache.load", &[saved]);
    assert_eq!(host.call("[method]cache.peek", &[again, bytes(b"a")]), some(bytes(b"1")));
}

/// As the page says, by the tool whose path `TWINDEX_WAC` is.
fn composed_by(wac: &OsStr) -> Vec<u8> {
    let page = include_str!("../../../docs/component.md");
    let line = page.lines().find(|line| line.starts_with("wac plug ")).expect("the page has the command");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write =
        |name: &str, file| std::fs::write(folder.path().join(name), bytes_of(file)).expect("there is room");
    write("twindex.component.wasm", "twindex_component.wasm");
    write("client.wasm", "twindex_component_client.wasm");
    let ran = Command::new(wac).args(line.split(' ').skip(1)).current_dir(&folder).status();
    assert!(ran.expect("wac is there").success());
    std::fs::read(folder.path().join("composed.wasm")).expect("the command has made it")
}

fn composed() -> Vec<u8> {
    let mut graph = CompositionGraph::new();
    let mut add = |name: &str, file: &str| {
        let package =
            Package::from_bytes(name, None, bytes_of(file), graph.types_mut()).expect("a component");
        let package = graph.register_package(package).expect("two packages");
        graph.instantiate(package)
    };
    let engine = add("twindex:engine", "twindex_component.wasm");
    let client = add("twindex:client", "twindex_component_client.wasm");
    for interface in INTERFACES {
        let provided = graph.alias_instance_export(engine, interface).expect("it is exported");
        graph.set_instantiation_argument(client, interface, provided).expect("it is what the client imports");
    }
    let run = graph.alias_instance_export(client, "run").expect("the client exports it");
    graph.export(run, "run").expect("a new name");
    graph.encode(EncodeOptions::default()).expect("a component")
}

#[test]
fn a_component_that_imports_keyvalue_runs_on_it() {
    let composed = std::env::var_os("TWINDEX_WAC").map_or_else(composed, |wac| composed_by(&wac));
    let mut host = Host::of(&Component::new(&Engine::default(), composed).expect("it compiles"));
    let run = host.function(None, "run");
    let mut results = [Val::Bool(false)];
    run.call(&mut host.store, &[], &mut results).expect("no trap");
    assert_eq!(results, [Val::Result(Ok(None))]);
}
