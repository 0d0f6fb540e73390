//! Every export of the module, with its type.

use wasmtime::{AsContextMut, Instance, Result, TypedFunc};

macro_rules! exports {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The typed functions of one instance.
        #[expect(dead_code, reason = "each is checked for its type; the vectors of other hosts call those that no test here calls")]
        pub(crate) struct Exports {
            $(pub(crate) $field: TypedFunc<($($argument,)*), i32>,)*
        }

        impl Exports {
            /// Finds all of them, or fails with the first that is missing or of another type.
            pub(crate) fn new(instance: &Instance, mut store: impl AsContextMut) -> Result<Self> {
                Ok(Self { $($field: instance.get_typed_func(&mut store, $name)?,)* })
            }
        }

        /// Their names.
        pub(crate) const NAMES: &[&str] = &[$($name,)*];
    };
}

exports! {
    abi_version = "twindex_abi_version" ();
    seed = "twindex_seed" (u64);
    answer = "twindex_answer" ();
    last_error = "twindex_last_error" ();
    alloc = "twindex_alloc" (u32);
    free = "twindex_free" (u32);
    close = "twindex_close" (u32);
    store_new = "twindex_store_new" (u64);
    table = "twindex_table" (u32, u32, u32, u32, u32);
    table_with = "twindex_table_with" (u32, u32, u32, u32, u32, u32, u32, u32, u32, u32);
    codecs = "twindex_codecs" (u32);
    is_sorted = "twindex_is_sorted" (u32);
    tables = "twindex_tables" (u32);
    drop_table = "twindex_drop_table" (u32, u32, u32);
    memory = "twindex_memory" (u32);
    memory_limit = "twindex_memory_limit" (u32);
    set_memory_limit = "twindex_set_memory_limit" (u32, u64);
    dump = "twindex_dump" (u32);
    load = "twindex_load" (u32, u32, u64);
    insert = "twindex_insert" (u32, u32, u32, u32, u32);
    replace = "twindex_replace" (u32, u32, u32, u32, u32);
    upsert = "twindex_upsert" (u32, u32, u32, u32, u32);
    delete = "twindex_delete" (u32, u32, u32);
    select = "twindex_select" (u32, u32, u32);
    contains = "twindex_contains" (u32, u32, u32);
    increment = "twindex_increment" (u32, u32, u32, i64);
    compare_and_swap = "twindex_compare_and_swap" (u32, u32, u32, u32, u32, u32, u32);
    len = "twindex_len" (u32);
    clear = "twindex_clear" (u32);
    insert_many = "twindex_insert_many" (u32, u32, u32);
    replace_many = "twindex_replace_many" (u32, u32, u32);
    upsert_many = "twindex_upsert_many" (u32, u32, u32);
    delete_many = "twindex_delete_many" (u32, u32, u32);
    contains_many = "twindex_contains_many" (u32, u32, u32);
    select_many = "twindex_select_many" (u32, u32, u32);
    increment_many = "twindex_increment_many" (u32, u32, u32);
    compare_and_swap_many = "twindex_compare_and_swap_many" (u32, u32, u32);
    cursor = "twindex_cursor" (u32, u32, u32, u32, u32, u32, u32);
    scan_asc_next = "twindex_scan_asc_next" (u32);
    scan_desc_next = "twindex_scan_desc_next" (u32);
    scan_asc_next_many = "twindex_scan_asc_next_many" (u32, u32, u32);
    scan_desc_next_many = "twindex_scan_desc_next_many" (u32, u32, u32);
    scan = "twindex_scan" (u32, u32, u32, u32, u32, u32, u32, u32, u32, u32);
    iter = "twindex_iter" (u32);
    iter_next_many = "twindex_iter_next_many" (u32, u32, u32);
    take = "twindex_take" (u32, u32, u32);
    first = "twindex_first" (u32);
    last = "twindex_last" (u32);
    pop_first = "twindex_pop_first" (u32);
    pop_last = "twindex_pop_last" (u32);
    delete_range = "twindex_delete_range" (u32, u32, u32, u32, u32, u32, u32);
    seek = "twindex_seek" (u32, u32, u32);
    cursor_pair = "twindex_cursor_pair" (u32);
    snapshot = "twindex_snapshot" (u32);
    snapshot_stats = "twindex_snapshot_stats" (u32);
    begin = "twindex_begin" (u32);
    commit = "twindex_commit" (u32);
    set_time = "twindex_set_time" (f64);
    cache_new = "twindex_cache_new" (u64, u64, f64, f64, f64, u32, u32, u32);
    cache_save = "twindex_cache_save" (u32);
    cache_load = "twindex_cache_load" (u32, u32, u64, u64, f64, f64, f64, u32);
    cache_label = "twindex_cache_label" (u32);
    cache_stats = "twindex_cache_stats" (u32);
    cache_shrink = "twindex_cache_shrink" (u32, u64);
    cache_evicted = "twindex_cache_evicted" (u32);
    cache_write = "twindex_cache_write" (u32, u32, u32, u32, u32, u32, f64);
    cache_peek = "twindex_cache_peek" (u32, u32, u32, u32);
    expires = "twindex_expires" (u32);
    set_ttl = "twindex_set_ttl" (u32, f64);
    ttl = "twindex_ttl" (u32, u32, u32);
    touch = "twindex_touch" (u32, u32, u32, f64);
    remove_expired = "twindex_remove_expired" (u32, u32);
    watch = "twindex_watch" (u32);
    unwatch = "twindex_unwatch" (u32);
}

/// What the modules export that keep stores in files.
pub(crate) const OF_FILES: &[&str] = &[
    "twindex_apply",
    "twindex_check",
    "twindex_file",
    "twindex_file_failed",
    "twindex_open",
    "twindex_refuse",
    "twindex_salvage",
    "twindex_synced",
];
