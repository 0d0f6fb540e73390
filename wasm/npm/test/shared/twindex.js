import { load } from 'twindex-wasm'

export const { Cache, Store, Table, Cursor, TwindexError, DELETE, KEEP } = await load()
