// Snapshots: all tables of a store as they were at one moment.

import { makeError } from './errors.js'
import { checkInternal, DISPOSE, INSPECT } from './internal.js'
import { readOptions, readString } from './options.js'

/** The options of a table that has to be there. */
const THERE = ['index', 'keys', 'values', 'expires']

export const readThere = (name, options, what) => [
  readString(name, "a table's name"),
  readOptions(options, what, THERE),
]

/** The error of an option, or of a verb, that only tables have whose pairs expire, or stay. */
export const wrongExpiry = (name, expires) =>
  makeError(
    'TWINDEX_WRONG_EXPIRY',
    expires
      ? `the pairs of table "${name}" expire: open it as a table that expires`
      : `the pairs of table "${name}" do not expire: it was created without that`,
  )

const UNCLONEABLE = Symbol('a Twindex Snapshot stays in its thread')

/**
 * `access` is the host's: `open(snapshot, name, options)` gives a table, whose writes fail with `TWINDEX_READ_ONLY`, and whose reads
 * with `TWINDEX_ENDED` once `close()` was called; `tables()`; `position()`.
 */
export class Snapshot {
  #store
  #access
  #isClosed = false
  /** `structuredClone` and `postMessage` refuse a symbol, and name it. */
  uncloneable = UNCLONEABLE

  constructor(internal, store, access) {
    checkInternal(internal, 'Snapshot', 'store.snapshot()')
    this.#store = store
    this.#access = access
  }

  get store() {
    return this.#store
  }

  table(name, options) {
    const read = readThere(name, options, 'a table of a snapshot')
    return this.#open().open(this, ...read)
  }

  /** The names and indexes of its tables. */
  tables() {
    return this.#open().tables()
  }

  get position() {
    return this.#open().position()
  }

  #open() {
    if (this.closed) throw closedError(this)
    return this.#access
  }

  get closed() {
    return this.#isClosed || this.#store.closed
  }

  close() {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#access.close()
  }

  [DISPOSE]() {
    this.close()
  }

  get [Symbol.toStringTag]() {
    return 'Snapshot'
  }

  [INSPECT](_depth, options, inspect) {
    return `Snapshot ${inspect(this.closed ? { closed: true } : { tables: this.tables() }, options)}`
  }
}

/** Why a store or a snapshot cannot be used any more. */
export const closedError = ({ store }) =>
  store === undefined || store.closed
    ? makeError('TWINDEX_CLOSED', 'the store is closed')
    : makeError('TWINDEX_ENDED', 'the snapshot is closed')
