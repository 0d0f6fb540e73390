// The same classes as by `require`: there is one implementation, so both kinds of import share their stores.
import twindex from './index.cjs'

export const { open, openAsync, check, recover, Store, Table, Batch, Cursor, TwindexError } = twindex
