'use strict'
// Tables: the verbs, and the face of a Map.

const {
  clear: nativeClear,
  compareAndSwap: nativeCompareAndSwap,
  compareAndSwapMany: nativeCompareAndSwapMany,
  contains: nativeContains,
  containsMany: nativeContainsMany,
  delete: nativeDelete,
  deleteMany: nativeDeleteMany,
  freeTable: nativeFreeTable,
  increment: nativeIncrement,
  incrementMany: nativeIncrementMany,
  insert: nativeInsert,
  insertMany: nativeInsertMany,
  openCursor: nativeOpenCursor,
  select: nativeSelect,
  selectMany: nativeSelectMany,
  size: nativeSize,
  tableMemory: nativeTableMemory,
  replace: nativeReplace,
  replaceMany: nativeReplaceMany,
  upsert: nativeUpsert,
  upsertMany: nativeUpsertMany,
} = require('./native.cjs')
const { utf8 } = require('./codecs.cjs')
const { KEY, VALUE, EXPECTED } = require('./crossing.cjs')
const { takeAll } = require('./block.cjs')
const { openCursor } = require('./cursor.cjs')
const { typeError } = require('./errors.cjs')
const { INTERNAL, checkInternal, preventClone } = require('./internal.cjs')
const { stageKeys, stagePairs, stageAmounts, stageSwaps, booleans, takeSums } = require('./many.cjs')
const { readOptions, readBoolean, readCount, readFunction, readRange, RANGE } = require('./options.cjs')
const { Walk, KEYS, VALUES, PAIRS, ANY, UP, DOWN } = require('./walk.cjs')

const forgotten = new FinalizationRegistry(nativeFreeTable)

/** Every pair. */
const NO_RANGE = { from: 0, low: undefined, to: 0, high: undefined }

/** What the package's other classes may see of a table. */
let inside
let isTable

class Table {
  #handle
  #store
  #name
  #index
  #codecs
  #keys
  #values
  #areStrings

  static {
    inside = (table) => {
      if (!isTable(table)) throw typeError('a table is a Table', table)
      return { handle: table.#handle, keys: table.#keys, values: table.#values }
    }
    isTable = (value) => value !== null && typeof value === 'object' && #handle in value
  }

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
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
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
    return nativeSize(this.#handle)
  }

  get memory() {
    return nativeTableMemory(this.#handle)
  }

  // --- verbs
  //
  // Both halves are packed before one crosses: packing may run code of the user's, which may use the crossing buffer.

  insert(key, value) {
    if (this.#areStrings) return nativeInsert(this.#handle, key, value)
    const item = this.#values.pack(value, 'value')
    return nativeInsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  replace(key, value) {
    if (this.#areStrings) return nativeReplace(this.#handle, key, value)
    const item = this.#values.pack(value, 'value')
    return nativeReplace(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  upsert(key, value) {
    if (this.#areStrings) return nativeUpsert(this.#handle, key, value)
    const item = this.#values.pack(value, 'value')
    return nativeUpsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  delete(key) {
    return nativeDelete(this.#handle, this.#key(key))
  }

  select(key) {
    if (this.#areStrings) return nativeSelect(this.#handle, key)
    return this.#values.decode(nativeSelect(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    return nativeContains(this.#handle, this.#key(key))
  }

  increment(key, by = 1) {
    return nativeIncrement(this.#handle, this.#key(key), by)
  }

  compareAndSwap(key, expected, value) {
    const values = this.#values
    const pack = (wanted) => (values.isNone(wanted) ? undefined : values.own(values.pack(wanted, 'value')))
    const cross = (item, region) => (item === undefined ? undefined : values.cross(item, region))
    const [before, after] = [pack(expected), pack(value)]
    const crossed = this.#key(key)
    return nativeCompareAndSwap(this.#handle, crossed, cross(before, EXPECTED), cross(after, VALUE))
  }

  alter(key, change) {
    readFunction(change, 'a change')
    const keys = this.#keys
    const values = this.#values
    const item = keys.own(keys.pack(key, 'key'))
    const cross = (value, region) => (value === undefined ? undefined : values.cross(value, region))
    // The change runs outside of any lock, so it may do what it likes; where the value changed meanwhile, it runs again.
    for (;;) {
      const seen = values.keep(nativeSelect(this.#handle, keys.cross(item, KEY)), VALUE)
      const wanted = change(values.unpack(seen))
      const next = values.isNone(wanted) ? undefined : values.pack(wanted, 'value')
      if (seen === undefined && next === undefined) {
        // Nothing to write, and the engine is to say all the same whether the key and the table are good.
        nativeCompareAndSwap(this.#handle, keys.cross(item, KEY))
        return false
      }
      if (values.isEqual(next, seen)) return false
      const expected = cross(seen, EXPECTED)
      if (nativeCompareAndSwap(this.#handle, keys.cross(item, KEY), expected, cross(next, VALUE))) return true
    }
  }

  clear() {
    nativeClear(this.#handle)
  }

  // --- verbs on many

  insertMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(nativeInsertMany())
  }

  replaceMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(nativeReplaceMany())
  }

  upsertMany(pairs) {
    stagePairs(this.#handle, this.#codecs, pairs)
    return booleans(nativeUpsertMany())
  }

  deleteMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    return booleans(nativeDeleteMany())
  }

  containsMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    return booleans(nativeContainsMany())
  }

  selectMany(keys) {
    stageKeys(this.#handle, this.#codecs, keys)
    nativeSelectMany()
    return takeAll(this.#values)
  }

  incrementMany(amounts) {
    stageAmounts(this.#handle, this.#codecs, amounts)
    nativeIncrementMany()
    return takeSums()
  }

  compareAndSwapMany(swaps) {
    stageSwaps(this.#handle, this.#codecs, swaps)
    return booleans(nativeCompareAndSwapMany())
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

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.pack(key, 'key'), KEY)
  }

  #walk(halves) {
    const way = this.#index === 'sorted' ? UP : ANY
    return new Walk(this, this.#handle, this.#codecs, halves, way, undefined, NO_RANGE)
  }

  // --- order

  cursor(options) {
    const { from, low, to, high } = readRange(readOptions(options, 'a cursor', RANGE), this.#keys)
    return openCursor(this, this.#codecs, nativeOpenCursor(this.#handle, from, low, to, high))
  }

  scan(options) {
    const read = readOptions(options, 'a scan', SCAN)
    const { reverse = false, limit } = read
    readBoolean(reverse, 'reverse')
    if (limit !== undefined) readCount(limit, 'a limit')
    const range = readRange(read, this.#keys)
    return new Walk(this, this.#handle, this.#codecs, PAIRS, reverse ? DOWN : UP, limit, range)
  }
}

const SCAN = [...RANGE, 'reverse', 'limit']

module.exports = { Table, openTable: (...rest) => new Table(INTERNAL, ...rest), inside }
