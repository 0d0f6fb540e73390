'use strict'
// Stores.

const { fileURLToPath } = require('node:url')
const native = require('./native.cjs')
const { takeAll } = require('./block.cjs')
const { keyCodecs, valueCodecs, ownBytes } = require('./codecs.cjs')
const { typeError, rangeError, describe } = require('./errors.cjs')
const { INTERNAL, preventClone } = require('./internal.cjs')
const { readOptions, readCount, readString } = require('./options.cjs')
const { openTable } = require('./table.cjs')

const forgotten = new FinalizationRegistry(native.freeStore)

const STORE = ['shared', 'memoryLimit']
const TABLE = ['index', 'keys', 'values']

function readLimit(limit) {
  return limit === undefined || limit === null ? undefined : readCount(limit, 'a memory limit')
}

function readPath(path) {
  return path instanceof URL ? fileURLToPath(path) : readString(path, 'a path')
}

function readCodec(codecs, name, what) {
  const codec = codecs[readString(name, `the encoding of ${what}`)]
  if (codec === undefined) {
    throw rangeError(`unknown encoding ${describe(name)} of ${what}, it is ${Object.keys(codecs).join(', ')}`)
  }
  return codec
}

class Store {
  #handle
  #closed = false

  constructor(options, handle) {
    preventClone(this, 'Store')
    this.#handle = options === INTERNAL ? handle : openStore(readOptions(options, 'a store', STORE))
    forgotten.register(this, this.#handle)
  }

  static load(source) {
    if (ArrayBuffer.isView(source)) {
      const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      return new Store(INTERNAL, native.loadBytes(ownBytes(bytes)))
    }
    if (typeof source !== 'string' && !(source instanceof URL)) {
      throw typeError('a store is loaded from bytes or a path', source)
    }
    return new Store(INTERNAL, native.loadFile(readPath(source)))
  }

  table(name, options) {
    readString(name, "a table's name")
    const { index = 'hash', keys = 'utf8', values = 'utf8' } = readOptions(options, 'a table', TABLE)
    readString(index, 'an index')
    const codecs = {
      keys: readCodec(keyCodecs, keys, 'keys'),
      values: readCodec(valueCodecs, values, 'values'),
    }
    const areBytes = [codecs.keys, codecs.values].map((codec) => Number(codec.isBytes))
    return openTable(this, name, index, codecs, native.openTable(this.#handle, name, index, ...areBytes))
  }

  tables() {
    native.tables(this.#handle)
    const names = takeAll(keyCodecs.utf8)
    return Array.from({ length: names.length / 2 }, (_, at) => names.slice(2 * at, 2 * at + 2))
  }

  dropTable(name) {
    return native.dropTable(this.#handle, readString(name, "a table's name"))
  }

  get memory() {
    return native.storeMemory(this.#handle)
  }

  get memoryLimit() {
    return native.memoryLimit(this.#handle)
  }

  set memoryLimit(limit) {
    native.setMemoryLimit(this.#handle, readLimit(limit))
  }

  dump() {
    return native.dump(this.#handle)
  }

  save(path) {
    native.save(this.#handle, readPath(path))
  }

  close() {
    native.closeStore(this.#handle)
    this.#closed = true
  }

  get closed() {
    return this.#closed
  }

  [Symbol.dispose]() {
    this.close()
  }

  get [Symbol.toStringTag]() {
    return 'Store'
  }

  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    return `Store ${inspect(this.#closed ? { closed: true } : { tables: this.tables(), memory: this.memory }, options)}`
  }
}

/** The number of a store with these options, which are checked before it is opened. */
function openStore({ shared, memoryLimit }) {
  const limit = readLimit(memoryLimit)
  if (shared === undefined) return withLimit(native.openStore(), limit)
  if (readString(shared, "a shared store's name") === '')
    throw rangeError("a shared store's name is not empty")
  return withLimit(native.openShared(shared), limit)
}

function withLimit(handle, limit) {
  if (limit !== undefined) native.setMemoryLimit(handle, limit)
  return handle
}

module.exports = { Store }
