// Tables: the verbs, and the face of a Map.

import { takeAll } from './block.js'
import { preventClone } from './clone.js'
import { utf8 } from './codecs.js'
import { EXPECTED, KEY, VALUE } from './crossing.js'
import { openCursor } from './cursor.js'
import { booleans, stageAmounts, stageKeys, stagePairs, stageSwaps, takeSums } from './many.js'
import { native } from './native.js'
import { typeError } from './shared/errors.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { NO_RANGE, NONE, PREFIX, RANGE, readOptions, readRange, readScan } from './shared/options.js'
import { alter, MapLike } from './shared/table.js'
import { ANY, DOWN, KEYS, PAIRS, UP, VALUES, Walk } from './walk.js'

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
} = native

const forgotten = new FinalizationRegistry(nativeFreeTable)

/** A range as the native half takes it. */
function crossRange({ lower: [from, low], upper: [to, high] }, codec) {
  return {
    from,
    low: from === NONE ? undefined : codec.cross(low, KEY),
    to: to === PREFIX ? NONE : to,
    high: to === NONE || to === PREFIX ? undefined : codec.cross(high, VALUE),
  }
}

const EVERYTHING = crossRange(NO_RANGE)

/** What the package's other classes may see of a table. */
export let inside
let isTable

export class Table extends MapLike {
  #handle
  #store
  #name
  #index
  #names
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
    super()
    const { name, index, names, codecs } = described
    preventClone(this, 'Table')
    this.#handle = handle
    this.#store = store
    this.#name = name
    this.#index = index
    this.#names = names
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

  /** The names of the codecs that the table remembers. */
  get codecs() {
    const [keys, values] = this.#names
    return { keys, values }
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
    return nativeIncrement(this.#handle, this.#key(key), by)
  }

  compareAndSwap(key, expected, value) {
    const values = this.#values
    const pack = (wanted) => (values.isNone(wanted) ? undefined : values.own(values.toItem(wanted, 'value')))
    const cross = (item, region) => (item === undefined ? undefined : values.cross(item, region))
    const [before, after] = [pack(expected), pack(value)]
    const crossed = this.#key(key)
    return nativeCompareAndSwap(this.#handle, crossed, cross(before, EXPECTED), cross(after, VALUE))
  }

  alter(key, change) {
    const keys = this.#keys
    const values = this.#values
    const item = keys.own(keys.toItem(key, 'key'))
    const cross = (value, region) => (value === undefined ? undefined : values.cross(value, region))
    const keep = () => values.keep(nativeSelect(this.#handle, keys.cross(item, KEY)), VALUE)
    const swap = (seen, next) => {
      const expected = cross(seen, EXPECTED)
      return nativeCompareAndSwap(this.#handle, keys.cross(item, KEY), expected, cross(next, VALUE))
    }
    return alter(values, change, keep, swap)
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

  // --- the face of a Map, as far as it is not MapLike's

  entries() {
    return this.#walk(PAIRS)
  }

  keys() {
    return this.#walk(KEYS)
  }

  values() {
    return this.#walk(VALUES)
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }

  #walk(halves) {
    const way = this.#index === 'sorted' ? UP : ANY
    return new Walk(this, this.#handle, this.#codecs, halves, way, undefined, EVERYTHING)
  }

  // --- order

  cursor(options) {
    const range = readRange(readOptions(options, 'a cursor', RANGE), this.#keys)
    const { from, low, to, high } = crossRange(range, this.#keys)
    return openCursor(this, this.#codecs, nativeOpenCursor(this.#handle, from, low, to, high))
  }

  scan(options) {
    const { reverse, limit, range } = readScan(options, this.#keys)
    const crossed = crossRange(range, this.#keys)
    return new Walk(this, this.#handle, this.#codecs, PAIRS, reverse ? DOWN : UP, limit, crossed)
  }
}

export const openTable = (...rest) => new Table(INTERNAL, ...rest)
