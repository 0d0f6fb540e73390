import { load } from 'twindex-wasm'

export const { Store, Table, Cursor, TwindexError, DELETE, KEEP } = await load()
