// Stores.

import { openNamed, readNamed, tablesOf } from './named.js'
import { typeError } from './shared/errors.js'
import { ASYNC_DISPOSE, DISPOSE, INSPECT, INTERNAL } from './shared/internal.js'
import { readBoolean, readLimit, readOptions, readString, TABLE } from './shared/options.js'
import { viewBytes } from './shared/views.js'
import { openSnapshot } from './snapshot.js'
import { putBytes, putText } from './text.js'

const NO_LIMIT = 2n ** 64n - 1n
const OPEN = [...TABLE, 'expires']

export const limitBits = (limit) => (limit === undefined ? NO_LIMIT : BigInt(limit))

/** The handle of a store from the bytes of a dump or a whole file. */
export function loadStore(core, source, limit) {
  if (!ArrayBuffer.isView(source)) throw typeError('a store is loaded from bytes', source)
  core.seed()
  const length = putBytes(core, 0, viewBytes(source, 'dump'))
  return core.status(core.exports.twindex_load(core.input, length, limitBits(limit)))
}

/** Some runtimes have none: then a store keeps its tables. */
const Weak =
  globalThis.WeakRef ??
  class {
    #target
    constructor(target) {
      this.#target = target
    }
    deref() {
      return this.#target
    }
  }

/** The class of the stores of one instance of the module. */
export function storeClass(core, runTransaction) {
  return class Store {
    #handle
    #limit
    #closed = false
    /** The tables that were opened last, by their names: opening one again takes no other of the module's handles. */
    #tables = new Map()

    constructor(options, handle, limit) {
      if (options === INTERNAL) {
        this.#handle = handle
        this.#limit = limit
      } else {
        this.#limit = readLimit(readOptions(options, 'a store', ['memoryLimit']).memoryLimit)
        this.#handle = core.status(core.exports.twindex_store_new(limitBits(this.#limit)))
      }
      core.forgotten.register(this, this.#handle)
    }

    static async load(source, options) {
      return Store.loadSync(source, options)
    }

    static loadSync(source, options) {
      const limit = readLimit(readOptions(options, 'a load', ['memoryLimit']).memoryLimit)
      return new Store(INTERNAL, loadStore(core, source, limit), limit)
    }

    table(name, options) {
      const { create = true, ...read } = readOptions(options, 'a table', OPEN)
      const named = readNamed(name, read)
      readBoolean(create, 'create')
      const known = this.#tables.get(name)
      const isSame = (what) => known[what] === named[what]
      if (known !== undefined && ['index', 'keys', 'values', 'expires'].every(isSame)) {
        const table = known.table.deref()
        if (table && core.exports.twindex_codecs(known.handle) === 0) return table
      }
      const { handle, described } = openNamed(core, this.#handle, name, named, create)
      const table = core.openTable(core, this, described, handle)
      this.#tables.set(name, { ...named, handle, table: new Weak(table) })
      return table
    }

    tables() {
      return tablesOf(core, this.#handle)
    }

    snapshot() {
      return openSnapshot(core, this, this.#handle)
    }

    transaction(run) {
      return runTransaction(core, this, this.#handle, run)
    }

    /** What the store holds, and what snapshots and transactions keep. */
    stats() {
      core.status(core.exports.twindex_snapshot_stats(this.#handle))
      const [snapshots, keptBytes, transactions] = core.answerFigures()
      return { tables: this.tables().length, memory: this.memory, snapshots, keptBytes, transactions }
    }

    dropTable(name) {
      const length = putText(core, 0, readString(name, "a table's name"), "table's name")
      this.#tables.delete(name)
      return core.status(core.exports.twindex_drop_table(this.#handle, core.input, length)) === 1
    }

    get memory() {
      core.status(core.exports.twindex_memory(this.#handle))
      return core.answerCount
    }

    /** Kept here too, since the module takes one past what addresses reach for none. */
    get memoryLimit() {
      core.status(core.exports.twindex_memory_limit(this.#handle))
      return this.#limit
    }

    set memoryLimit(given) {
      const limit = readLimit(given)
      core.status(core.exports.twindex_set_memory_limit(this.#handle, limitBits(limit)))
      this.#limit = limit
    }

    async dump() {
      return this.dumpSync()
    }

    dumpSync() {
      core.status(core.exports.twindex_dump(this.#handle))
      return core.answerBytes()
    }

    async close() {
      this.closeSync()
    }

    closeSync() {
      if (!this.#closed) core.status(core.exports.twindex_close(this.#handle))
      this.#closed = true
      core.onClose?.(this.#handle)
    }

    get closed() {
      return this.#closed
    }

    [DISPOSE]() {
      this.closeSync()
    }

    async [ASYNC_DISPOSE]() {
      await this.close()
    }

    get [Symbol.toStringTag]() {
      return 'Store'
    }

    [INSPECT](_depth, options, inspect) {
      const shown = this.#closed ? { closed: true } : { tables: this.tables(), memory: this.memory }
      return `Store ${inspect(shown, options)}`
    }
  }
}
