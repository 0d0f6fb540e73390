// Tables: the verbs, and the face of a Map.

import { accessOf } from './access.js'
import { takeAll, takeItems } from './block.js'
import { preventClone } from './clone.js'
import { utf8 } from './codecs.js'
import { KEY, VALUE } from './crossing.js'
import { openCursor } from './cursor.js'
import { booleans, stageAmounts, stageKeys, stagePairs, stageSwaps, takeSums } from './many.js'
import { crossRange } from './named.js'
import { native } from './native.js'
import { checkDecimal } from './shared/amounts.js'
import { typeError } from './shared/errors.js'
import { checkInternal } from './shared/internal.js'
import { NO_RANGE, RANGE, readOptions, readPrefix, readRange, readScan } from './shared/options.js'
import { wrongExpiry } from './shared/snapshot.js'
import { PAIRS, TableLike } from './shared/table.js'
import { readWrite } from './shared/times.js'
import { ANY, DOWN, UP, Walk } from './walk.js'
import { openWatch } from './watch.js'

const {
  contains: nativeContains,
  delete: nativeDelete,
  increment: nativeIncrement,
  insert: nativeInsert,
  replace: nativeReplace,
  select: nativeSelect,
  upsert: nativeUpsert,
} = native.table

const forgotten = new FinalizationRegistry(([verbs, handle]) => verbs.free(handle))

const EVERYTHING = crossRange(NO_RANGE)

/** What the package's other classes may see of a table. */
export let inside
let isTable

export class Table extends TableLike {
  #handle
  /** What the native half has for tables of its kind. */
  #verbs
  /** Its store, or its snapshot. */
  #owner
  #index
  #codecs
  #keys
  #values
  #areStrings

  static {
    inside = (table) => {
      if (!isTable(table)) throw typeError('a table is what store.table(name) returns', table)
      const expires = table.#verbs !== native.table
      return { handle: table.#handle, keys: table.#keys, values: table.#values, expires }
    }
    isTable = (value) => value !== null && typeof value === 'object' && #handle in value
  }

  constructor(internal, store, described, handle) {
    checkInternal(internal, 'Table', 'store.table()')
    const { index, codecs, kind } = described
    const verbs = native[kind]
    const access = accessOf(handle, codecs, { select: verbs.select, swap: verbs.compareAndSwap })
    super(store, described, {
      ...access,
      walk: (halves) => this.#walk(halves),
      end: (isLast) => this.#end(isLast ? verbs.last : verbs.first),
      find: (isLast) => this.#find(isLast ? verbs.last : verbs.first),
      remove: ({ item, seen }) => access.swap(item, seen),
      popBytes: (isLast) => this.#end(isLast ? verbs.popLast : verbs.popFirst),
      deleteAll: (range) => this.#deleteAll(range),
    })
    preventClone(this, 'Table')
    this.#handle = handle
    this.#verbs = verbs
    this.#owner = described.snapshot ?? store
    this.#index = index
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    forgotten.register(this, [this.#verbs, handle])
  }

  get size() {
    return this.#verbs.size(this.#handle)
  }

  get memory() {
    return this.#verbs.memory(this.#handle)
  }

  // --- verbs
  //
  // Both halves are packed before one crosses: packing may run code of the user's, which may use the crossing buffer.

  insert(key, value, options) {
    if (options !== undefined) this.#refuse(options)
    if (this.#areStrings) return nativeInsert(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeInsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  replace(key, value, options) {
    if (options !== undefined) this.#refuse(options)
    if (this.#areStrings) return nativeReplace(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeReplace(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  upsert(key, value, options) {
    if (options !== undefined) this.#refuse(options)
    if (this.#areStrings) return nativeUpsert(this.#handle, key, value)
    const item = this.#values.toItem(value, 'value')
    return nativeUpsert(this.#handle, this.#key(key), this.#values.cross(item, VALUE))
  }

  take(key) {
    if (this.#values.name !== 'bytes') return super.take(key)
    return this.#values.read(this.#verbs.takePair(this.#handle, this.#key(key)), VALUE)
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
    this.#verbs.clear(this.#handle)
  }

  // --- verbs on many

  insertMany(pairs) {
    stagePairs(this.#verbs, this.#handle, this.#codecs, pairs)
    return booleans(this.#verbs.insertMany())
  }

  replaceMany(pairs) {
    stagePairs(this.#verbs, this.#handle, this.#codecs, pairs)
    return booleans(this.#verbs.replaceMany())
  }

  upsertMany(pairs) {
    stagePairs(this.#verbs, this.#handle, this.#codecs, pairs)
    return booleans(this.#verbs.upsertMany())
  }

  deleteMany(keys) {
    stageKeys(this.#verbs, this.#handle, this.#codecs, keys)
    return booleans(this.#verbs.deleteMany())
  }

  containsMany(keys) {
    stageKeys(this.#verbs, this.#handle, this.#codecs, keys)
    return booleans(this.#verbs.containsMany())
  }

  selectMany(keys) {
    stageKeys(this.#verbs, this.#handle, this.#codecs, keys)
    this.#verbs.selectMany()
    return takeAll(this.#values)
  }

  incrementMany(amounts) {
    checkDecimal(this.#values)
    stageAmounts(this.#verbs, this.#handle, this.#codecs, amounts)
    this.#verbs.incrementMany()
    return takeSums()
  }

  compareAndSwapMany(swaps) {
    stageSwaps(this.#verbs, this.#handle, this.#codecs, swaps)
    return booleans(this.#verbs.compareAndSwapMany())
  }

  /** Pairs that stay take no time to live, and none is dropped unnoticed. */
  #refuse(options) {
    readWrite(options)
    throw wrongExpiry(this.name, false)
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }

  #walk(halves) {
    const way = this.#index === 'sorted' ? UP : ANY
    return new Walk(this.#verbs, this.#owner, this.#handle, this.#codecs, halves, way, undefined, EVERYTHING)
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
    return this.#verbs.deleteRange(this.#handle, from, low, to, high)
  }

  // --- changes

  watch(prefix, options) {
    const item = prefix === undefined ? undefined : readPrefix({ prefix }, this.#keys).lower[1]
    return openWatch(this, this.#codecs, options, (maxChanges, capacity) => {
      const crossed = item === undefined ? undefined : this.#keys.cross(item, KEY)
      return this.#verbs.openWatch(this.#handle, crossed, maxChanges, capacity)
    })
  }

  cursor(options) {
    const range = readRange(readOptions(options, 'a cursor', RANGE), this.#keys)
    const { from, low, to, high } = crossRange(range, this.#keys)
    return openCursor(this, this.#codecs, this.#verbs.openCursor(this.#handle, from, low, to, high))
  }

  scan(options) {
    const { reverse, limit, range } = readScan(options, this.#keys)
    const crossed = crossRange(range, this.#keys)
    return new Walk(
      this.#verbs,
      this.#owner,
      this.#handle,
      this.#codecs,
      PAIRS,
      reverse ? DOWN : UP,
      limit,
      crossed,
    )
  }
}
