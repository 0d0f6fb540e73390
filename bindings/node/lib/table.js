// Tables: the verbs, and the face of a Map.

import { accessOf } from './access.js'
import { takeAll, takeItems } from './block.js'
import { preventClone } from './clone.js'
import { utf8 } from './codecs.js'
import { KEY, VALUE } from './crossing.js'
import { openCursor } from './cursor.js'
import { booleans, stageAmounts, stageKeys, stagePairs, stageSwaps, takeSums } from './many.js'
import { crossRange, describe } from './named.js'
import { native } from './native.js'
import { checkDecimal } from './shared/amounts.js'
import { typeError } from './shared/errors.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { NO_RANGE, RANGE, readOptions, readPrefix, readRange, readScan } from './shared/options.js'
import { PAIRS, TableLike } from './shared/table.js'
import { ANY, DOWN, UP, Walk } from './walk.js'
import { openWatch } from './watch.js'

const {
  compareAndSwap: nativeCompareAndSwap,
  contains: nativeContains,
  delete: nativeDelete,
  increment: nativeIncrement,
  insert: nativeInsert,
  replace: nativeReplace,
  select: nativeSelect,
  upsert: nativeUpsert,
} = native.table

const forgotten = new FinalizationRegistry(native.table.free)

const EVERYTHING = crossRange(NO_RANGE)

/** What the package's other classes may see of a table. */
export let inside
let isTable

export class Table extends TableLike {
  #handle
  /** Its store, or its snapshot. */
  #owner
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

  constructor(internal, store, described, handle) {
    checkInternal(internal, 'Table', 'store.table()')
    const { index, codecs } = described
    const verbs = { select: nativeSelect, swap: nativeCompareAndSwap }
    const access = accessOf(handle, codecs, verbs)
    super(store, described, {
      ...access,
      walk: (halves) => this.#walk(halves),
      end: (isLast) => this.#end(isLast ? native.last : native.first),
      find: (isLast) => this.#find(isLast ? native.last : native.first),
      remove: ({ item, seen }) => access.swap(item, seen),
      popBytes: (isLast) => this.#end(isLast ? native.popLast : native.popFirst),
      deleteAll: (range) => this.#deleteAll(range),
    })
    preventClone(this, 'Table')
    this.#handle = handle
    this.#owner = described.snapshot ?? store
    this.#index = index
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    forgotten.register(this, handle)
  }

  get size() {
    return native.table.size(this.#handle)
  }

  get memory() {
    return native.tableMemory(this.#handle)
  }

  // --- verbs
  //
  // Both halves are packed before one crosses: packing may run code of the user's, which may use the crossing buffer.

  insert(key, value) {
    if (this.#areStrings) return nativeInsert(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeInsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  replace(key, value) {
    if (this.#areStrings) return nativeReplace(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeReplace(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  upsert(key, value) {
    if (this.#areStrings) return nativeUpsert(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeUpsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  take(key) {
    if (this.#values.name !== 'bytes') return super.take(key)
    return this.#values.read(native.takePair(this.#handle, this.#key(key)), VALUE)
  }

  delete(key) {
    return nativeDelete(this.#handle, this.#key(key))
  }

  select(key) {
    if (this.#areStrings) return nativeSelect(this.#handle, key)
    return this.#values.read(nativeSelect(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    return nativeContains(this.#handle, this.#key(key))
  }

  increment(key, by = 1) {
    checkDecimal(this.#values)
    return nativeIncrement(this.#handle, this.#key(key), by)
  }

  clear() {
    native.table.clear(this.#handle)
  }

  // --- verbs on many

  insertMany(pairs) {
    stagePairs(native.table, this.#handle, this.#codecs, pairs)
    return booleans(native.table.insertMany())
  }

  replaceMany(pairs) {
    stagePairs(native.table, this.#handle, this.#codecs, pairs)
    return booleans(native.table.replaceMany())
  }

  upsertMany(pairs) {
    stagePairs(native.table, this.#handle, this.#codecs, pairs)
    return booleans(native.table.upsertMany())
  }

  deleteMany(keys) {
    stageKeys(native.table, this.#handle, this.#codecs, keys)
    return booleans(native.table.deleteMany())
  }

  containsMany(keys) {
    stageKeys(native.table, this.#handle, this.#codecs, keys)
    return booleans(native.containsMany())
  }

  selectMany(keys) {
    stageKeys(native.table, this.#handle, this.#codecs, keys)
    native.table.selectMany()
    return takeAll(this.#values)
  }

  incrementMany(amounts) {
    checkDecimal(this.#values)
    stageAmounts(this.#handle, this.#codecs, amounts)
    native.incrementMany()
    return takeSums()
  }

  compareAndSwapMany(swaps) {
    stageSwaps(this.#handle, this.#codecs, swaps)
    return booleans(native.compareAndSwapMany())
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }

  #walk(halves) {
    const way = this.#index === 'sorted' ? UP : ANY
    return new Walk(this.#owner, this.#handle, this.#codecs, halves, way, undefined, EVERYTHING)
  }

  // --- order

  #find(verb) {
    verb(this.#handle)
    const [row] = takeItems([this.#keys, this.#values])
    if (row === undefined) return undefined
    const [[item, key], [seen, value]] = row
    return { item, seen, show: () => [key(), value()] }
  }

  #end(verb) {
    return this.#find(verb)?.show()
  }

  #deleteAll(range) {
    const { from, low, to, high } = crossRange(range, this.#keys)
    return native.deleteRange(this.#handle, from, low, to, high)
  }

  // --- changes

  watch(prefix, options) {
    const item = prefix === undefined ? undefined : readPrefix({ prefix }, this.#keys).lower[1]
    return openWatch(this, this.#codecs, options, (maxChanges, capacity) => {
      const crossed = item === undefined ? undefined : this.#keys.cross(item, KEY)
      return native.openWatch(this.#handle, crossed, maxChanges, capacity)
    })
  }

  cursor(options) {
    const range = readRange(readOptions(options, 'a cursor', RANGE), this.#keys)
    const { from, low, to, high } = crossRange(range, this.#keys)
    return openCursor(this, this.#codecs, native.openCursor(this.#handle, from, low, to, high))
  }

  scan(options) {
    const { reverse, limit, range } = readScan(options, this.#keys)
    const crossed = crossRange(range, this.#keys)
    return new Walk(this.#owner, this.#handle, this.#codecs, PAIRS, reverse ? DOWN : UP, limit, crossed)
  }
}

/** The table that the native half has opened by this number, with the codecs that were named. */
export function openTable(store, name, named, handle, more) {
  try {
    const described = describe(name, named)
    const { keys, values } = described.codecs
    native.table.see(handle, Number(keys.isBytes), Number(values.isBytes))
    return new Table(INTERNAL, store, { ...described, ...more }, handle)
  } catch (error) {
    native.table.free(handle)
    throw error
  }
}
