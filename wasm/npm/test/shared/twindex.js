import { load } from 'twindex-wasm'
import { load as loadWithCaches } from 'twindex-wasm/caches'

export const { Store, Table, Cursor, TwindexError, DELETE, KEEP } = await load()
export const { Cache } = await loadWithCaches()
