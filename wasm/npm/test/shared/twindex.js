import { load } from 'twindex-wasm/caches'

export const { Cache, Store, Table, ExpiringTable, Cursor, Watch, TwindexError, DELETE, KEEP } = await load()
