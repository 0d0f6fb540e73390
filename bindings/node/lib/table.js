// Tables: the verbs, and the face of a Map.

import {
  booleans,
  stageAmounts,
  stageKeys,
  stagePairs,
  stageSwaps,
  takeAll,
  takeItems,
  takeSums,
} from './block.js'
import { preventClone } from './clone.js'
import { accessOf, utf8 } from './codecs.js'
import { KEY, VALUE } from './crossing.js'
import { crossRange } from './named.js'
import { native } from './native.js'
import { ANY, DOWN, openCursor, UP, Walk } from './scan.js'
import { checkDecimal } from './shared/amounts.js'
import { typeError } from './shared/errors.js'
import { checkInternal } from './shared/internal.js'
import { NO_RANGE, RANGE, readOptions, readPrefix, readRange, readScan } from './shared/options.js'
import { wrongExpiry } from './shared/snapshot.js'
import { PAIRS, TableLike } from './shared/table.js'
import { readWrite } from './shared/times.js'
import { openWatch } from './watch.js'

const {
  contains: nativeContains,
  delete: nativeDelete,
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
  #expires
  /** Whether strings cross as they are, of pairs that stay. */
  #areStrings

  static {
    inside = (table) => {
      if (!isTable(table)) throw typeError('a table is what store.table(name) returns', table)
      return { handle: table.#handle, keys: table.#keys, values: table.#values, expires: table.#expires }
    }
    isTable = (value) => value !== null && typeof value === 'object' && #handle in value
  }

  constructor(internal, store, described, handle) {
    checkInternal(internal, 'Table', 'store.table()')
    const { index, codecs, kind, expires } = described
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
    this.#expires = expires
    this.#areStrings = !expires && codecs.keys === utf8 && codecs.values === utf8
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
    if (this.#areStrings && options === undefined) return nativeInsert(this.#handle, key, value)
    return this.#write(this.#verbs.insert, key, value, options)
  }

  replace(key, value, options) {
    if (this.#areStrings && options === undefined) return nativeReplace(this.#handle, key, value)
    return this.#write(this.#verbs.replace, key, value, options)
  }

  upsert(key, value, options) {
    if (this.#areStrings && options === undefined) return nativeUpsert(this.#handle, key, value)
    return this.#write(this.#verbs.upsert, key, value, options)
  }

  #write(write, key, value, options) {
    const ttl = this.#ttl(options)
    const item = this.#values.toItem(value, 'value')
    return write(this.#handle, this.#key(key), this.#values.cross(item, VALUE), ttl)
  }

  /** The time to live of a write. Pairs that stay take none, and none is dropped unnoticed. */
  #ttl(options) {
    const ttl = readWrite(options)
    if (options !== undefined && !this.#expires) throw wrongExpiry(this.name, false)
    return ttl
  }

  take(key) {
    if (this.#values.name !== 'bytes') return super.take(key)
    return this.#values.read(this.#verbs.takePair(this.#handle, this.#key(key)), VALUE)
  }

  delete(key) {
    if (this.#areStrings) return nativeDelete(this.#handle, key)
    return this.#verbs.delete(this.#handle, this.#key(key))
  }

  select(key) {
    if (this.#areStrings) return nativeSelect(this.#handle, key)
    return this.#values.read(this.#verbs.select(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    if (this.#areStrings) return nativeContains(this.#handle, key)
    return this.#verbs.contains(this.#handle, this.#key(key))
  }

  increment(key, by = 1, options = undefined) {
    const ttl = this.#ttl(options)
    checkDecimal(this.#values)
    return this.#verbs.increment(this.#handle, this.#key(key), by, ttl)
  }

  clear() {
    this.#verbs.clear(this.#handle)
  }

  // --- verbs on many

  insertMany(pairs, options) {
    return this.#writeMany(this.#verbs.insertMany, pairs, options)
  }

  replaceMany(pairs, options) {
    return this.#writeMany(this.#verbs.replaceMany, pairs, options)
  }

  upsertMany(pairs, options) {
    return this.#writeMany(this.#verbs.upsertMany, pairs, options)
  }

  #writeMany(write, pairs, options) {
    const ttl = this.#ttl(options)
    stagePairs(this.#verbs, this.#handle, this.#codecs, pairs)
    return booleans(write(ttl))
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

  incrementMany(amounts, options) {
    const ttl = this.#ttl(options)
    checkDecimal(this.#values)
    stageAmounts(this.#verbs, this.#handle, this.#codecs, amounts)
    this.#verbs.incrementMany(ttl)
    return takeSums()
  }

  compareAndSwapMany(swaps) {
    stageSwaps(this.#verbs, this.#handle, this.#codecs, swaps)
    return booleans(this.#verbs.compareAndSwapMany())
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
