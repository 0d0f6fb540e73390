'use strict'
// Tables: the verbs, and the face of a Map.

const native = require('./native.cjs')
const { KEY, VALUE, EXPECTED } = require('./codecs.cjs')
const { takeAll } = require('./block.cjs')
const { openCursor } = require('./cursor.cjs')
const { typeError } = require('./errors.cjs')
const { INTERNAL, checkInternal, preventClone } = require('./internal.cjs')
const { stageKeys, stagePairs, stageAmounts, stageSwaps, booleans, takeSums } = require('./many.cjs')
const { readOptions, readCount, readFunction, readRange, RANGE } = require('./options.cjs')
const { Walk, KEYS, VALUES, PAIRS, ANY, UP, DOWN } = require('./walk.cjs')

const forgotten = new FinalizationRegistry(native.freeTable)

/** Every pair. */
const NO_RANGE = [0, undefined, 0, undefined]

class Table {
  #handle
  #store
  #name
  #index
  #codecs
  #keys
  #values

  constructor(internal, store, name, index, codecs, handle) {
    checkInternal(internal, 'Table', 'store.table()')
    preventClone(this, 'Table')
    this.#handle = handle
    this.#store = store
    this.#name = name
    this.#index = index
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    forgotten.register(this, handle)
  }

  get store() {
    return this.#store
  }

  get name() {
    return this.#name
  }

  get index() {
    return this.#index
  }

  get size() {
    return native.size(this.#handle)
  }

  get memory() {
    return native.tableMemory(this.#handle)
  }

  // --- verbs
  //
  // Values are encoded before keys: JSON may run code of the user's, which may use the crossing buffer for keys.

  insert(key, value) {
    const item = this.#values.encode(value, VALUE, 'value')
    return native.insert(this.#handle, this.#keys.encode(key, KEY, 'key'), item)
  }

  update(key, value) {
    const item = this.#values.encode(value, VALUE, 'value')
    return native.update(this.#handle, this.#keys.encode(key, KEY, 'key'), item)
  }

  upsert(key, value) {
    const item = this.#values.encode(value, VALUE, 'value')
    return native.upsert(this.#handle, this.#keys.encode(key, KEY, 'key'), item)
  }

  delete(key) {
    return native.delete(this.#handle, this.#keys.encode(key, KEY, 'key'))
  }

  select(key) {
    return this.#values.decode(native.select(this.#handle, this.#keys.encode(key, KEY, 'key')), VALUE)
  }

  contains(key) {
    return native.contains(this.#handle, this.#keys.encode(key, KEY, 'key'))
  }

  increment(key, by = 1) {
    return native.increment(this.#handle, this.#keys.encode(key, KEY, 'key'), by)
  }

  compareAndSwap(key, expected, value) {
    const values = this.#values
    const encode = (item, region) => (values.isNone(item) ? undefined : values.encode(item, region, 'value'))
    const items = [encode(expected, EXPECTED), encode(value, VALUE)]
    return native.compareAndSwap(this.#handle, this.#keys.encode(key, KEY, 'key'), ...items)
  }

  alter(key, change) {
    readFunction(change, 'a change')
    const keys = this.#keys
    const values = this.#values
    const item = keys.own(keys.pack(key, 'key'))
    const cross = (value, region) => (value === undefined ? undefined : values.cross(value, region))
    // The change runs outside of any lock, so it may do what it likes; where the value changed meanwhile, it runs again.
    for (;;) {
      const seen = values.keep(native.select(this.#handle, keys.cross(item, KEY)), VALUE)
      const wanted = change(values.unpack(seen))
      const next = values.isNone(wanted) ? undefined : values.pack(wanted, 'value')
      if (seen === undefined && next === undefined) {
        // Nothing to write, and the engine is to say all the same whether the key and the table are good.
        native.compareAndSwap(this.#handle, keys.cross(item, KEY))
        return false
      }
      if (values.isEqual(next, seen)) return false
      const expected = cross(seen, EXPECTED)
      if (native.compareAndSwap(this.#handle, keys.cross(item, KEY), expected, cross(next, VALUE)))
        return true
    }
  }

  clear() {
    native.clear(this.#handle)
  }

  // --- verbs on many

  insertMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(native.insertMany())
  }

  updateMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(native.updateMany())
  }

  upsertMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(native.upsertMany())
  }

  deleteMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    return booleans(native.deleteMany())
  }

  containsMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    return booleans(native.containsMany())
  }

  selectMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    native.selectMany()
    return takeAll(this.#values)
  }

  incrementMany(amounts) {
    stageAmounts(this.#handle, this.#codecs, amounts)
    native.incrementMany()
    return takeSums()
  }

  compareAndSwapMany(swaps) {
    stageSwaps(this.#handle, this.#codecs, swaps)
    return booleans(native.compareAndSwapMany())
  }

  // --- the face of a Map

  get(key) {
    return this.select(key)
  }

  set(key, value) {
    this.upsert(key, value)
    return this
  }

  has(key) {
    return this.contains(key)
  }

  entries() {
    return this.#walk(PAIRS)
  }

  keys() {
    return this.#walk(KEYS)
  }

  values() {
    return this.#walk(VALUES)
  }

  forEach(visit, thisArgument) {
    readFunction(visit, 'a visit')
    for (const [key, value] of this.entries()) visit.call(thisArgument, value, key, this)
  }

  [Symbol.iterator]() {
    return this.entries()
  }

  get [Symbol.toStringTag]() {
    return 'Table'
  }

  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    return `Table ${inspect({ name: this.#name, index: this.#index }, options)}`
  }

  #walk(halves) {
    const way = this.#index === 'sorted' ? UP : ANY
    return new Walk(this, this.#handle, this.#codecs, halves, way, undefined, NO_RANGE)
  }

  // --- order

  cursor(options) {
    const range = readRange(readOptions(options, 'a cursor', RANGE), this.#keys)
    return openCursor(this, this.#codecs, native.openCursor(this.#handle, ...range))
  }

  scan(options) {
    const read = readOptions(options, 'a scan', SCAN)
    const { reverse = false, limit } = read
    if (typeof reverse !== 'boolean') throw typeError('reverse is a boolean', reverse)
    if (limit !== undefined) readCount(limit, 'a limit')
    const range = readRange(read, this.#keys)
    return new Walk(this, this.#handle, this.#codecs, PAIRS, reverse ? DOWN : UP, limit, range)
  }
}

const SCAN = [...RANGE, 'reverse', 'limit']

module.exports = { Table, openTable: (...rest) => new Table(INTERNAL, ...rest) }
