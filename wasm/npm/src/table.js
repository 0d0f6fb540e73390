// Tables: the verbs, and the face of a Map.

import { Block, packAmounts, packKeys, packPairs, packSwaps, unpackValues } from './blocks.js'
import { ABSENT } from './core.js'
import { openCursor } from './cursor.js'
import { putRange, RangeBlocks, TableBlocks, Walk } from './iterators.js'
import { checkDecimal, like, readAmount } from './shared/amounts.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { NO_RANGE, RANGE, readOptions, readRange, readScan } from './shared/options.js'
import { closedError, wrongExpiry } from './shared/snapshot.js'
import { PAIRS, TableLike } from './shared/table.js'

/** Writes the items of a swap, of which those of values may be absent: the arguments by which the module takes them. */
export function putSwap(core, { keys, values }, key, expected, value) {
  const put = (item, offset) => (item === undefined ? 0 : values.write(core, offset, item, 'value'))
  const lengthOf = (item, length) => (item === undefined ? ABSENT : length)
  const k = keys.write(core, 0, key, 'key')
  const e = put(expected, k)
  const v = put(value, k + e)
  return [core.input, k, core.input + k, lengthOf(expected, e), core.input + k + e, lengthOf(value, v)]
}

/** What a table of another kind works with. */
export let inside

export class Table extends TableLike {
  #core
  #handle
  /** Its store, or its snapshot. */
  #owner
  #index
  #codecs
  #keys
  #values
  #expires

  static {
    inside = (table) => ({
      core: table.#core,
      handle: table.#handle,
      keys: table.#keys,
      status: (status) => table.#status(status),
    })
  }

  constructor(internal, core, store, described, handle) {
    checkInternal(internal, 'Table', 'store.table()')
    const { index, codecs } = described
    const { exports } = core
    super(store, described, {
      of: (key) => codecs.keys.own(codecs.keys.toItem(key, 'key')),
      keep: (item) => this.#keep(item),
      swap: (item, seen, next) => this.#swap(item, seen, next),
      walk: (halves) => this.#walk(halves),
      end: (isLast) => this.#end(isLast ? exports.twindex_last : exports.twindex_first),
      find: (isLast) => this.#find(isLast ? exports.twindex_last : exports.twindex_first),
      remove: ({ item, seen }) => this.#swap(item, seen),
      popBytes: (isLast) => this.#end(isLast ? exports.twindex_pop_last : exports.twindex_pop_first),
      deleteAll: (range) => this.#deleteAll(range),
    })
    this.#core = core
    this.#handle = handle
    this.#owner = described.snapshot ?? store
    this.#index = index
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#expires = described.expires
    core.forgotten.register(this, handle)
  }

  /** The status of a call, or the error that it stands for. */
  #status(status) {
    if (status < 0) this.#checkOpen()
    return this.#core.status(status)
  }

  get size() {
    this.#status(this.#core.exports.twindex_len(this.#handle))
    return this.#core.answerCount
  }

  get memory() {
    this.#status(this.#core.exports.twindex_memory(this.#handle))
    return this.#core.answerCount
  }

  // --- verbs

  insert(key, value, options) {
    if (options !== undefined) this.#refuse()
    return this.#write(this.#core.exports.twindex_insert, key, value)
  }

  replace(key, value, options) {
    if (options !== undefined) this.#refuse()
    return this.#write(this.#core.exports.twindex_replace, key, value)
  }

  upsert(key, value, options) {
    if (options !== undefined) this.#refuse()
    return this.#write(this.#core.exports.twindex_upsert, key, value)
  }

  /** Pairs that stay take no time to live. */
  #refuse() {
    throw wrongExpiry(this.name, false)
  }

  delete(key) {
    const core = this.#core
    const length = this.#putKey(key)
    return this.#status(core.exports.twindex_delete(this.#handle, core.input, length)) === 1
  }

  take(key) {
    if (this.#values.name !== 'bytes') return super.take(key)
    const core = this.#core
    const length = this.#putKey(key)
    if (this.#status(core.exports.twindex_take(this.#handle, core.input, length)) === 0) return undefined
    return this.#values.read(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  select(key) {
    const core = this.#core
    const length = this.#putKey(key)
    if (this.#status(core.exports.twindex_select(this.#handle, core.input, length)) === 0) return undefined
    return this.#values.read(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  contains(key) {
    const core = this.#core
    const length = this.#putKey(key)
    return this.#status(core.exports.twindex_contains(this.#handle, core.input, length)) === 1
  }

  increment(key, by = 1) {
    checkDecimal(this.#values)
    const core = this.#core
    const item = this.#keys.toItem(key, 'key')
    const amount = readAmount(by)
    const length = this.#keys.write(core, 0, item, 'key')
    this.#status(core.exports.twindex_increment(this.#handle, core.input, length, amount))
    return like(by, core.answerInteger)
  }

  clear() {
    this.#status(this.#core.exports.twindex_clear(this.#handle))
  }

  watch(prefix, options) {
    this.#checkOpen()
    const described = { codecs: this.#codecs, expires: this.#expires }
    return this.#core.openWatch(this.#core, this, this.#handle, described, prefix, options)
  }

  #putKey(key) {
    return this.#keys.write(this.#core, 0, this.#keys.toItem(key, 'key'), 'key')
  }

  #write(verb, key, value) {
    const core = this.#core
    const keyItem = this.#keys.toItem(key, 'key')
    const valueItem = this.#values.toItem(value, 'value')
    // The first is written fastest, and the value is the longer one.
    const v = this.#values.write(core, 0, valueItem, 'value')
    const k = this.#keys.write(core, v, keyItem, 'key')
    return this.#status(verb(this.#handle, core.input + v, k, core.input, v)) === 1
  }

  /** The key's value as an item, `undefined` where it is absent. */
  #keep(item) {
    const core = this.#core
    const length = this.#keys.write(core, 0, item, 'key')
    if (this.#status(core.exports.twindex_select(this.#handle, core.input, length)) === 0) return undefined
    return this.#values.keep(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  #swap(...items) {
    const core = this.#core
    const given = putSwap(core, this.#codecs, ...items)
    return this.#status(core.exports.twindex_compare_and_swap(this.#handle, ...given)) === 1
  }

  // --- verbs on many

  insertMany(pairs) {
    return this.#many(packPairs, pairs, this.#core.exports.twindex_insert_many)
  }

  replaceMany(pairs) {
    return this.#many(packPairs, pairs, this.#core.exports.twindex_replace_many)
  }

  upsertMany(pairs) {
    return this.#many(packPairs, pairs, this.#core.exports.twindex_upsert_many)
  }

  deleteMany(keys) {
    return this.#many(packKeys, keys, this.#core.exports.twindex_delete_many)
  }

  containsMany(keys) {
    return this.#many(packKeys, keys, this.#core.exports.twindex_contains_many)
  }

  selectMany(keys) {
    const core = this.#core
    this.#run(core.exports.twindex_select_many, packKeys(core, this.#codecs, keys))
    return unpackValues(core, this.#values)
  }

  incrementMany(amounts) {
    const core = this.#core
    checkDecimal(this.#values)
    const [length, given] = packAmounts(core, this.#codecs, amounts)
    this.#run(core.exports.twindex_increment_many, length)
    return given.map((by, at) => like(by, core.view.getBigInt64(core.answerAt + 8 * at, true)))
  }

  compareAndSwapMany(swaps) {
    return this.#many(packSwaps, swaps, this.#core.exports.twindex_compare_and_swap_many)
  }

  #many(pack, items, verb) {
    this.#run(verb, pack(this.#core, this.#codecs, items))
    return this.#core.answerOutcomes()
  }

  #run(verb, length) {
    this.#status(verb(this.#handle, this.#core.input, length))
  }

  #walk(want) {
    this.#checkOpen()
    const blocks =
      this.#index === 'sorted' ? this.#blocks(NO_RANGE, false) : new TableBlocks(this.#core, this.#handle)
    return new Walk(this.#owner, blocks, this.#codecs, want)
  }

  #checkOpen() {
    if (this.#owner.closed) throw closedError(this.#owner)
  }

  #blocks(range, reverse) {
    this.#checkOpen()
    const scan = (...rest) => this.#status(this.#core.exports.twindex_scan(this.#handle, ...rest))
    return new RangeBlocks(this.#core, scan, this.#keys, range, reverse)
  }

  // --- order

  #find(verb) {
    if (this.#status(verb(this.#handle)) === 0) return undefined
    const [item, key, value, keep] = new Block(this.#core).row(this.#codecs)
    return { item, seen: keep(), show: () => [key(), value()] }
  }

  #end(verb) {
    if (this.#status(verb(this.#handle)) === 0) return undefined
    return new Block(this.#core).pair(this.#codecs, PAIRS)
  }

  #deleteAll(range) {
    const core = this.#core
    this.#status(core.exports.twindex_delete_range(this.#handle, ...putRange(core, this.#keys, range)))
    return core.answerCount
  }

  cursor(options) {
    const core = this.#core
    const range = putRange(core, this.#keys, readRange(readOptions(options, 'a cursor', RANGE), this.#keys))
    const handle = this.#status(core.exports.twindex_cursor(this.#handle, ...range))
    return openCursor(core, this, this.#owner, this.#codecs, handle)
  }

  scan(options) {
    const { reverse, limit, range } = readScan(options, this.#keys)
    return new Walk(this.#owner, this.#blocks(range, reverse), this.#codecs, PAIRS, limit)
  }
}

export const openTable = (...given) => new Table(INTERNAL, ...given)
