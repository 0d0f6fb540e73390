//! Every verb by itself, at three sizes: in the caches, about their size, and far beyond.
//!
//! `cargo bench -p twindex-benches` takes about two minutes; a name narrows it, such as
//! `cargo bench -p twindex-benches -- hash/select_many/1000000`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastrand::Rng;
use twindex::{Index, Store, Table};
use twindex_benches::{KeyList, fill_value, random_hex};

const SIZES: [u32; 3] = [1_000, 100_000, 1_000_000];
const VALUE_BYTES: usize = 16;
/// The keys of one `select_many`.
const BATCH: usize = 32;

fn keys(count: u32) -> KeyList {
    random_hex(count, 16, &mut Rng::with_seed(1)).expect("sixteen digits are enough")
}

fn new_table(index: Index) -> Table {
    Store::new().table("pairs", index).expect("the name is valid")
}

fn insert_all(table: &Table, keys: &KeyList) {
    let mut value = [0; VALUE_BYTES];
    for (number, key) in keys.pairs(0..keys.len()) {
        fill_value(number, &mut value);
        table.insert(key, value).expect("there is no memory limit");
    }
}

/// The time of some inserts: into fresh tables, each filled whole, and not of making or dropping them.
fn time_inserts(index: Index, keys: &KeyList, tables: u64) -> Duration {
    (0..tables)
        .map(|_| {
            let table = new_table(index);
            let start = Instant::now();
            insert_all(&table, keys);
            start.elapsed()
        })
        .sum()
}

/// The time of some walks over the keys in another random order, as one `work` on a list of them does it.
fn time_reads(list: &KeyList, walks: u64, mut work: impl FnMut(&[&[u8]])) -> Duration {
    let keys: Vec<&[u8]> = list.pairs(0..list.len()).map(|(_, key)| key).collect();
    let start = Instant::now();
    for _ in 0..walks {
        work(&keys);
    }
    start.elapsed()
}

fn verbs(criterion: &mut Criterion) {
    for index in [Index::Hash, Index::Sorted] {
        let mut group = criterion.benchmark_group(index.name());
        for size in SIZES {
            group.throughput(Throughput::Elements(size.into()));
            let keys = keys(size);
            let read_list = keys.shuffled(&mut Rng::with_seed(2));
            group.bench_function(BenchmarkId::new("insert", size), |bench| {
                bench.iter_custom(|tables| time_inserts(index, &keys, tables));
            });
            let table = new_table(index);
            insert_all(&table, &keys);
            group.bench_function(BenchmarkId::new("select", size), |bench| {
                bench.iter_custom(|walks| {
                    time_reads(&read_list, walks, |keys| {
                        for key in keys {
                            black_box(table.select_with(key, |value| value[0]));
                        }
                    })
                });
            });
            group.bench_function(BenchmarkId::new("select_many", size), |bench| {
                bench.iter_custom(|walks| {
                    time_reads(&read_list, walks, |keys| {
                        for batch in keys.chunks(BATCH) {
                            table.select_many(batch, |_, value| {
                                black_box(value.map(|value| value[0]));
                            });
                        }
                    })
                });
            });
            if index == Index::Sorted {
                group.bench_function(BenchmarkId::new("scan", size), |bench| {
                    bench.iter(|| {
                        let mut cursor = table.cursor(..);
                        while let Some(pair) = cursor.scan_asc_next() {
                            black_box(pair);
                        }
                    });
                });
            }
        }
        group.finish();
    }
}

/// Quick by default; criterion's own options (`--sample-size`, `--measurement-time`) make it thorough.
fn quick() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! { name = benches; config = quick(); targets = verbs }
criterion_main!(benches);
