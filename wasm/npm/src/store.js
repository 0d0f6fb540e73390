// Stores.

import { keyCodec, valueCodec } from './codecs.js'
import { typeError } from './errors.js'
import { INSPECT, INTERNAL } from './internal.js'
import { Block, PAIRS } from './many.js'
import { readLimit, readOptions, readString } from './options.js'
import { openTable } from './table.js'
import { writeText } from './text.js'
import { viewBytes } from './views.js'

const NO_LIMIT = 2n ** 64n - 1n

const limitBits = (limit) => (limit === undefined ? NO_LIMIT : BigInt(limit))

const names = { keys: keyCodec('utf8'), values: valueCodec('utf8') }

/** The handle of a store from the bytes of a dump or a whole file. */
export function loadStore(core, source) {
  if (!ArrayBuffer.isView(source)) throw typeError('a store is loaded from bytes', source)
  const bytes = viewBytes(source)
  core.room(0, bytes.length)
  core.bytes.set(bytes, core.input)
  return core.status(core.exports.twindex_load(core.input, bytes.length))
}

/** The class of the stores of one instance of the module. */
export function storeClass(core) {
  return class Store {
    #handle
    #limit
    #closed = false

    constructor(options, handle) {
      if (options === INTERNAL) this.#handle = handle
      else {
        this.#limit = readLimit(readOptions(options, 'a store', ['memoryLimit']).memoryLimit)
        this.#handle = core.status(core.exports.twindex_store_new(limitBits(this.#limit)))
      }
      core.forgotten.register(this, this.#handle)
    }

    static load(source) {
      return new Store(INTERNAL, loadStore(core, source))
    }

    table(name, options) {
      readString(name, "a table's name")
      const read = readOptions(options, 'a table', ['index', 'keys', 'values'])
      const { index = 'hash', keys = 'utf8', values = 'utf8' } = read
      readString(index, 'an index')
      const codecs = { keys: keyCodec(keys), values: valueCodec(values) }
      const n = writeText(core, 0, name, "table's name")
      const i = writeText(core, n, index, "index's name")
      const place = [core.input, n, core.input + n, i]
      const handle = core.status(core.exports.twindex_table(this.#handle, ...place))
      return openTable(core, this, name, index, codecs, handle)
    }

    tables() {
      core.status(core.exports.twindex_tables(this.#handle))
      const block = new Block(core)
      return Array.from({ length: core.answerCount }, () => block.pair(names, PAIRS))
    }

    dropTable(name) {
      const length = writeText(core, 0, readString(name, "a table's name"), "table's name")
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

    dump() {
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

    [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
      this.closeSync()
    }

    async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
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
