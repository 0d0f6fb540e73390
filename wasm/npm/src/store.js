// Stores.

import { Block } from './blocks.js'
import { placed } from './codecs.js'
import { DEFAULT_CODEC, readCodecs, rememberedCodecs, text } from './shared/codecs.js'
import { typeError } from './shared/errors.js'
import { ASYNC_DISPOSE, DISPOSE, INSPECT, INTERNAL } from './shared/internal.js'
import { readBoolean, readLimit, readOptions, readString, TABLE } from './shared/options.js'
import { PAIRS } from './shared/table.js'
import { viewBytes } from './shared/views.js'
import { openTable } from './table.js'
import { putBytes, putText, putTexts } from './text.js'

const NO_LIMIT = 2n ** 64n - 1n

export const limitBits = (limit) => (limit === undefined ? NO_LIMIT : BigInt(limit))

const names = { keys: placed(text), values: placed(text) }

/** The options of `twindex_table_with`. */
const CREATE = 1
const KEYS_IF_NEW = 2
const VALUES_IF_NEW = 4

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
export function storeClass(core) {
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
      readString(name, "a table's name")
      const read = readOptions(options, 'a table', TABLE)
      const { index = 'hash', create = true } = read
      readString(index, 'an index')
      readBoolean(create, 'create')
      const named = readCodecs(read)
      const known = this.#tables.get(name)
      if (known?.index === index && known.keys === named.keys && known.values === named.values) {
        const table = known.table.deref()
        if (table && core.exports.twindex_codecs(known.handle) === 0) return table
      }
      core.seed()
      const places = putTexts(core, {
        "table's name": name,
        "index's name": index,
        'codec of the keys': named.keys?.name ?? DEFAULT_CODEC,
        'codec of the values': named.values?.name ?? DEFAULT_CODEC,
      })
      const bits = (create ? CREATE : 0) | (named.keys ? 0 : KEYS_IF_NEW) | (named.values ? 0 : VALUES_IF_NEW)
      const { twindex_table_with, twindex_codecs, twindex_close } = core.exports
      const handle = core.status(twindex_table_with(this.#handle, ...places, bits))
      try {
        core.status(twindex_codecs(handle))
        const remembered = new Block(core).pair(names, PAIRS)
        const { keys, values } = rememberedCodecs(name, named, remembered)
        const codecs = { keys: placed(keys), values: placed(values) }
        const table = openTable(core, this, { name, index, names: remembered, codecs }, handle)
        this.#tables.set(name, { ...named, index, handle, table: new Weak(table) })
        return table
      } catch (error) {
        twindex_close(handle)
        throw error
      }
    }

    tables() {
      core.status(core.exports.twindex_tables(this.#handle))
      const block = new Block(core)
      return Array.from({ length: core.answerCount }, () => block.pair(names, PAIRS))
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
