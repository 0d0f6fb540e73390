'use strict'
// Stores.

const native = require('./native.cjs')
const { fillBatch, openBatch } = require('./batch.cjs')
const { takeAll } = require('./block.cjs')
const { checkOtherCopies } = require('./copies.cjs')
const { utf8, keyCodec, valueCodec } = require('./codecs.cjs')
const { typeError, rangeError } = require('./errors.cjs')
const { readPath, openFile, openFileLater } = require('./files.cjs')
const { INTERNAL, preventClone } = require('./internal.cjs')
const { LATER, later } = require('./later.cjs')
const { readOptions, readFunction, readLimit, readString } = require('./options.cjs')
const { openTable } = require('./table.cjs')
const { ownBytes, viewBytes } = require('./views.cjs')

const forgotten = new FinalizationRegistry(native.freeStore)

const STORE = ['shared', 'memoryLimit']
const TABLE = ['index', 'keys', 'values']

class Store {
  #handle
  #closing
  #file

  constructor(options, handle) {
    preventClone(this, 'Store')
    this.#handle = options === INTERNAL ? handle : openStore(readOptions(options, 'a store', STORE))
    this.#file = native.fileOf(this.#handle)
    forgotten.register(this, this.#handle)
  }

  static load(source) {
    if (ArrayBuffer.isView(source)) {
      return new Store(INTERNAL, native.loadBytes(ownBytes(viewBytes(source, 'dump'))))
    }
    if (typeof source !== 'string' && !(source instanceof URL)) {
      throw typeError('a store is loaded from bytes or a path', source)
    }
    return new Store(INTERNAL, native.loadFile(readPath(source)))
  }

  // --- tables

  table(name, options) {
    readString(name, "a table's name")
    const { index = 'hash', keys = 'utf8', values = 'utf8' } = readOptions(options, 'a table', TABLE)
    readString(index, 'an index')
    const codecs = { keys: keyCodec(keys), values: valueCodec(values) }
    const areBytes = [codecs.keys, codecs.values].map((codec) => Number(codec.isBytes))
    return openTable(this, name, index, codecs, native.openTable(this.#handle, name, index, ...areBytes))
  }

  tables() {
    native.tables(this.#handle)
    const names = takeAll(utf8)
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

  // --- batches

  batch(fill) {
    const batch = openBatch(this, native.openBatch(this.#handle))
    if (fill === undefined) return batch
    return fillBatch(batch, readFunction(fill, 'what fills a batch'))
  }

  // --- dumps and files

  dump() {
    return native.dump(this.#handle)
  }

  get path() {
    return this.#file?.path
  }

  get durability() {
    return this.#file?.durability ?? 'none'
  }

  get readOnly() {
    return this.#file?.readOnly ?? false
  }

  get torn() {
    return this.#file?.torn
  }

  stats() {
    const { lastSync, ...figures } = native.stats(this.#handle)
    return { ...figures, lastSync: lastSync === undefined ? undefined : new Date(lastSync) }
  }

  async flush(options) {
    const read = readOptions(options, 'a flush', ['signal'])
    return later(read, () => native.flush(this.#handle, 1))
  }

  flushSync() {
    native.flush(this.#handle, 0)
  }

  async save(path, options) {
    const read = readOptions(options, 'a save', LATER)
    if (path === undefined) return later(read, (gauge) => native.compact(this.#handle, gauge, 1))
    const file = readPath(path)
    return later(read, () => native.saveAs(this.#handle, file, 1))
  }

  saveSync(path) {
    if (path === undefined) native.compact(this.#handle, undefined, 0)
    else native.saveAs(this.#handle, readPath(path), 0)
  }

  async compact(options) {
    return this.save(undefined, options)
  }

  async close(options) {
    const read = readOptions(options, 'a close', ['signal'])
    return later(read, () => {
      this.#closing ??= native.closeStore(this.#handle, 1).catch((cause) => {
        // It stays open, so that it can be saved to another file.
        this.#closing = undefined
        throw cause
      })
      return this.#closing
    })
  }

  closeSync() {
    if (this.closed) return
    native.closeStore(this.#handle, 0)
    this.#closing = Promise.resolve()
  }

  get closed() {
    return this.#closing !== undefined
  }

  [Symbol.dispose]() {
    this.closeSync()
  }

  [Symbol.asyncDispose]() {
    return this.close()
  }

  get [Symbol.toStringTag]() {
    return 'Store'
  }

  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    return `Store ${inspect(this.closed ? { closed: true } : { tables: this.tables(), memory: this.memory }, options)}`
  }
}

/** The number of a store with these options, which are checked before it is opened. */
function openStore({ shared, memoryLimit }) {
  const limit = readLimit(memoryLimit)
  if (shared === undefined) return withLimit(native.openStore(), limit)
  if (readString(shared, "a shared store's name") === '')
    throw rangeError("a shared store's name is not empty")
  if (!native.hasShared(shared)) checkOtherCopies(shared)
  return withLimit(native.openShared(shared), limit)
}

function withLimit(handle, limit) {
  if (limit !== undefined) native.setMemoryLimit(handle, limit)
  return handle
}

/** Opens the store in a file. */
function open(path, options) {
  return new Store(INTERNAL, openFile(path, options))
}

/** The same, while other things go on. */
async function openAsync(path, options) {
  return new Store(INTERNAL, await openFileLater(path, options))
}

module.exports = { Store, open, openAsync }
