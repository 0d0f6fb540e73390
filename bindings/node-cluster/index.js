// Twindex's tables in a Valkey or Redis Cluster, or in one server.

export { Batch } from './lib/batch.js'
export { Cursor } from './lib/cursor.js'
export { TwindexError } from './lib/shared/errors.js'
export { DELETE, KEEP } from './lib/shared/table.js'
export { connect, Store } from './lib/store.js'
export { Table } from './lib/table.js'
