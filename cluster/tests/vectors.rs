//! The vectors of all hosts, on one server and on a cluster.

use twindex_cluster::blocking::{Cursor, Store, Table};
use twindex_cluster::{Error, Options, Result, Write, prefix_range};
use twindex_conformance::{
    Answer, ENDS, Failure, Fallible, Host, Pair, Range, SCOPES, Verb, cases, change, slices,
};
use twindex_servers::{Cluster, Server};

/// A store in memory does these. A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
const VERBS_OF_MEMORY: [&str; 3] = ["memory_limit", "reload", "load"];

/// In the engine a batch is done one by one; here it is done by several servers at once.
const DONE_OTHERWISE: &str = "increment_many stops at the first that fails";

#[test]
fn every_vector_holds_on_one_server() {
    let server = Server::start(&[]).expect("a server");
    run_all(&server.url());
}

#[test]
fn every_vector_holds_in_a_cluster() {
    let cluster = Cluster::start(3, 1).expect("a cluster");
    run_all(&cluster.url());
}

/// Runs every case, each in a namespace of its own.
fn run_all(url: &str) {
    let mut left_out = Vec::new();
    for (number, case) in cases().into_iter().enumerate() {
        let is_lacking = case.does(&ENDS) || case.does(&SCOPES);
        if case.name == DONE_OTHERWISE
            || is_lacking
            || (case.does(&VERBS_OF_MEMORY) && !case.does(&["close"]))
        {
            left_out.push(case.name);
            continue;
        }
        let namespace = format!("case{number}");
        let store = Options::new().namespace(&namespace).connect_blocking(url).expect("a store");
        case.without(&VERBS_OF_MEMORY).run(&mut InCluster(store));
    }
    left_out.dedup();
    assert_eq!(left_out.len(), 45, "cases other than those that a cluster store cannot run: {left_out:?}");
}

struct InCluster(Store);

fn failure(error: impl Into<Error>) -> Failure {
    let error = error.into();
    Failure::new(error.code(), &error)
}

impl Host for InCluster {
    type Table = Table;
    type Cursor = Cursor;
    type Scope = ();

    fn table(&mut self, name: &str, index: &str) -> Fallible<Table> {
        self.0.table(name, index.parse().map_err(failure)?).map_err(failure)
    }

    fn tables(&mut self) -> Fallible<Vec<(String, String)>> {
        let tables = self.0.tables().map_err(failure)?;
        Ok(tables.iter().map(|table| (table.name().to_owned(), table.index().to_string())).collect())
    }

    fn drop_table(&mut self, name: &str) -> Fallible<bool> {
        self.0.drop_table(name).map_err(failure)
    }

    fn close(&mut self) -> Fallible<()> {
        self.0.close();
        Ok(())
    }

    fn run(&mut self, table: &mut Table, verb: Verb) -> Fallible<Answer> {
        run(table, verb).map_err(failure)
    }

    fn cursor(&mut self, table: &mut Table, range: Range) -> Fallible<Cursor> {
        table.cursor(slices(&range.bounds(prefix_range))).map_err(failure)
    }

    fn next(&mut self, cursor: &mut Cursor, down: bool) -> Fallible<Option<Pair>> {
        if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() }.map_err(failure)
    }

    fn next_many(&mut self, cursor: &mut Cursor, down: bool, limit: usize) -> Fallible<Vec<Pair>> {
        if down { cursor.scan_desc_next_many(limit) } else { cursor.scan_asc_next_many(limit) }
            .map_err(failure)
    }
}

fn run(table: &Table, verb: Verb) -> Result<Answer> {
    Ok(match verb {
        Verb::Insert(key, value) => table.insert(key, value)?.into(),
        Verb::Replace(key, value) => table.replace(key, value)?.into(),
        Verb::Upsert(key, value) => table.write(Write::Upsert, key, value)?.into(),
        Verb::Delete(key) => table.delete(key)?.into(),
        Verb::Select(key) => table.select(key)?.into(),
        Verb::Contains(key) => table.contains(key)?.into(),
        Verb::Len => (table.len()? as usize).into(),
        Verb::Clear => table.clear()?.into(),
        Verb::Increment(key, by) => table.increment(key, by)?.into(),
        Verb::CompareAndSwap(key, expected, new) => {
            table.compare_and_swap(key, expected.as_deref(), new.as_deref())?.into()
        }
        Verb::Alter(key, alter) => table.alter(key, |old| change(old, &alter))?.into(),
        Verb::InsertMany(pairs) => table.insert_many(&pairs)?.into(),
        Verb::ReplaceMany(pairs) => table.replace_many(&pairs)?.into(),
        Verb::UpsertMany(pairs) => table.write_many(Write::Upsert, &pairs)?.into(),
        Verb::DeleteMany(keys) => table.delete_many(&keys)?.into(),
        Verb::SelectMany(keys) => table.select_many(&keys)?.into(),
        Verb::ContainsMany(keys) => table.contains_many(&keys)?.into(),
        Verb::IncrementMany(amounts) => table.increment_many(&amounts)?.into(),
        Verb::CompareAndSwapMany(swaps) => {
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (&key[..], old.as_deref(), new.as_deref())).collect();
            table.compare_and_swap_many(&swaps)?.into()
        }
        Verb::Scan { range, reverse, limit } => {
            let scan = table.scan(slices(&range.bounds(prefix_range)))?.limit(limit.unwrap_or(usize::MAX));
            let scan = if reverse { scan.rev() } else { scan };
            scan.collect::<Result<Vec<_>>>()?.into()
        }
        Verb::Iter => table.iter().collect::<Result<Vec<_>>>()?.into(),
        other => unreachable!("a table in a cluster has no {other:?}"),
    })
}
