// Tables: every verb that speaks to the servers is a promise.

import { at, wait } from './call.js'
import { Cursor, pairs } from './cursor.js'
import { decodeOptional, encode, encodeOptional, encodeRange, readLife } from './items.js'
import { checkDecimal, like, readAmount } from './shared/amounts.js'
import { makeError, typeError } from './shared/errors.js'
import { INSPECT } from './shared/internal.js'
import {
  RANGE,
  readFunction,
  readIterable,
  readOptions,
  readPrefixScan,
  readRange,
  readScan,
  readTuple,
} from './shared/options.js'
import { refuseOldVerbs } from './shared/renamed.js'
import { DELETE, KEEP } from './shared/table.js'

export const INSERT = 0
export const REPLACE = 1
export const UPSERT = 2

/** The native half of a table, and its codecs. */
export let partsOf

export class Table {
  #native
  #codecs

  constructor(native, codecs) {
    this.#native = native
    this.#codecs = codecs
  }

  static {
    partsOf = (table) => {
      if (typeof table !== 'object' || table === null || !(#native in table)) {
        throw typeError('a batch writes to tables in a cluster', table)
      }
      return { native: table.#native, codecs: table.#codecs }
    }
  }

  get name() {
    return this.#native.name
  }

  get index() {
    return this.#native.index
  }

  get codecs() {
    const [keys, values] = this.#native.codecs
    return { keys, values }
  }

  [INSPECT](_depth, options, inspect) {
    return `Table ${inspect({ name: this.name, index: this.index, ...this.codecs }, options)}`
  }

  #key(key) {
    return encode(this.#codecs.keys, key, 'key')
  }

  #keys(keys) {
    return Array.from(readIterable(keys, 'keys'), (key) => this.#key(key))
  }

  // --- writes

  async #put(verb, key, value, options) {
    const { ttl } = readOptions(options, 'a write', ['ttl'])
    const { keys, values } = this.#codecs
    const pair = [[encode(keys, key, 'key')], [encode(values, value, 'value')]]
    const [done] = await wait(() => this.#native.put(verb, ...pair, readLife(ttl)))
    return done
  }

  async #putMany(verb, items, options) {
    const { ttl } = readOptions(options, 'a write', ['ttl'])
    const [keys, values] = [[], []]
    for (const item of readIterable(items, 'pairs')) {
      const [key, value] = readTuple(item, 2, 'pairs')
      keys.push(this.#key(key))
      values.push(encode(this.#codecs.values, value, 'value'))
    }
    return wait(() => this.#native.put(verb, keys, values, readLife(ttl)))
  }

  insert(key, value, options) {
    return this.#put(INSERT, key, value, options)
  }

  replace(key, value, options) {
    return this.#put(REPLACE, key, value, options)
  }

  upsert(key, value, options) {
    return this.#put(UPSERT, key, value, options)
  }

  insertMany(items, options) {
    return this.#putMany(INSERT, items, options)
  }

  replaceMany(items, options) {
    return this.#putMany(REPLACE, items, options)
  }

  upsertMany(items, options) {
    return this.#putMany(UPSERT, items, options)
  }

  async delete(key) {
    const [done] = await this.deleteMany([key])
    return done
  }

  async deleteMany(keys) {
    const encoded = this.#keys(keys)
    return wait(() => this.#native.delete(encoded))
  }

  async increment(key, by = 1) {
    const [sum] = await this.incrementMany([[key, by]])
    return sum
  }

  async incrementMany(amounts) {
    checkDecimal(this.#codecs.values)
    const items = Array.from(readIterable(amounts, 'amounts'), (item) => readTuple(item, 2, 'amounts'))
    const keys = items.map(([key]) => this.#key(key))
    const sums = items.map(([, by]) => readAmount(by))
    const done = await wait(() => this.#native.increment(keys, sums))
    return done.map((sum, place) => like(items[place][1], sum))
  }

  async compareAndSwap(key, expected, value) {
    const [done] = await this.compareAndSwapMany([[key, expected, value]])
    return done
  }

  async compareAndSwapMany(swaps) {
    const { values } = this.#codecs
    const items = Array.from(readIterable(swaps, 'swaps'), (item) => readTuple(item, 3, 'swaps'))
    const keys = items.map(([key]) => this.#key(key))
    const expected = items.map(([, old]) => encodeOptional(values, old))
    const next = items.map(([, , value]) => encodeOptional(values, value))
    return wait(() => this.#native.swap(keys, expected, next))
  }

  async alter(key, change) {
    readFunction(change, 'a change')
    const { values } = this.#codecs
    const keys = [this.#key(key)]
    for (;;) {
      const [old] = await wait(() => this.#native.select(keys))
      const returned = await change(decodeOptional(values, old))
      at(() => this.#native.check(keys[0]))
      if (returned === KEEP || (returned === DELETE && (old ?? undefined) === undefined)) return false
      if (returned !== DELETE && values.isNone(returned)) {
        throw typeError('the function of alter returns the new value, DELETE or KEEP', returned)
      }
      const next = returned === DELETE ? undefined : encode(values, returned, 'value')
      const [done] = await wait(() => this.#native.swap(keys, [old ?? undefined], [next]))
      if (done) return true
    }
  }

  clear() {
    return wait(() => this.#native.clear())
  }

  watch() {
    throw makeError('TWINDEX_NOT_SUPPORTED', 'a table in a cluster has no watches')
  }

  // --- reads

  async select(key) {
    const [value] = await this.selectMany([key])
    return value
  }

  async selectMany(keys) {
    const encoded = this.#keys(keys)
    const values = await wait(() => this.#native.select(encoded))
    return values.map((value) => decodeOptional(this.#codecs.values, value))
  }

  async contains(key) {
    const [is] = await this.containsMany([key])
    return is
  }

  async containsMany(keys) {
    const encoded = this.#keys(keys)
    return wait(() => this.#native.contains(encoded))
  }

  /** A promise of how many pairs there are. */
  get size() {
    return wait(() => this.#native.len())
  }

  // --- expiry

  async ttl(key) {
    const left = await wait(() => this.#native.ttl(this.#key(key)))
    if (left === null || left === undefined) return undefined
    return left < 0 ? Infinity : left
  }

  async touch(key, ttl) {
    const time = readLife(ttl)
    return wait(() => this.#native.touch(this.#key(key), time))
  }

  // --- scans

  cursor(options) {
    const { keys } = this.#codecs
    const range = encodeRange(keys, readRange(readOptions(options, 'a cursor', RANGE), keys))
    return new Cursor(
      at(() => this.#native.cursor(...range)),
      this.#codecs,
    )
  }

  scan(options) {
    const { keys } = this.#codecs
    const { reverse, limit, range } = readScan(options, keys)
    const source = at(() => this.#native.scan(...encodeRange(keys, range), reverse, limit))
    return pairs(source, this.#codecs, limit)
  }

  prefix(prefix, options) {
    return this.scan(readPrefixScan(prefix, options))
  }

  [Symbol.asyncIterator]() {
    return pairs(this.#native.walk(), this.#codecs)
  }
}
refuseOldVerbs(Table)
