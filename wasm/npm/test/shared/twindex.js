import { load } from 'twindex-wasm/caches'

export const { Cache, Store, Table, Cursor, TwindexError, DELETE, KEEP } = await load()
