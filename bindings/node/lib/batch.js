// Batches: writes that are done all or not at all.

import { booleans } from './block.js'
import { preventClone } from './clone.js'
import { KEY, VALUE } from './crossing.js'
import { native } from './native.js'
import { checkDecimal } from './shared/amounts.js'
import { makeError, typeError } from './shared/errors.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { refuseOldVerbs } from './shared/renamed.js'
import { inside } from './table.js'

const forgotten = new FinalizationRegistry(native.freeBatch)

/** Fills a batch by a function, and commits it. */
export let fillBatch

export class Batch {
  #handle
  #store
  #isEnded = false
  #isFilling = false

  constructor(internal, store, handle) {
    checkInternal(internal, 'Batch', 'store.batch()')
    preventClone(this, 'Batch')
    this.#store = store
    this.#handle = handle
    forgotten.register(this, handle, this)
  }

  get store() {
    return this.#store
  }

  /** The number of writes in it. */
  get size() {
    return this.#isEnded ? 0 : native.batchLength(this.#handle)
  }

  insert(table, key, value) {
    return this.#add(native.batchInsert, table, key, value)
  }

  replace(table, key, value) {
    return this.#add(native.batchReplace, table, key, value)
  }

  upsert(table, key, value) {
    return this.#add(native.batchUpsert, table, key, value)
  }

  set(table, key, value) {
    return this.upsert(table, key, value)
  }

  delete(table, key) {
    const { handle, keys } = this.#into(table)
    native.batchDelete(this.#handle, handle, keys.cross(keys.toItem(key, 'key'), KEY))
    return this
  }

  increment(table, key, by = 1) {
    const { handle, keys, values } = this.#into(table)
    checkDecimal(values)
    native.batchIncrement(this.#handle, handle, keys.cross(keys.toItem(key, 'key'), KEY), by)
    return this
  }

  /** Nothing, as `select` answers where the key is absent, stands for absent. */
  expect(table, key, value) {
    const { handle, keys, values } = this.#into(table)
    if (!values.isNone(value)) return this.#add(native.batchExpect, table, key, value)
    native.batchExpect(this.#handle, handle, keys.cross(keys.toItem(key, 'key'), KEY), undefined)
    return this
  }

  static {
    fillBatch = (batch, fill) => batch.#fill(fill)
  }

  /** Commits it once it is filled. A promise would settle after that. */
  #fill(fill) {
    this.#isFilling = true
    let result
    try {
      result = fill(this)
    } finally {
      this.#isFilling = false
    }
    if (typeof result?.then !== 'function' && typeof result?.next !== 'function') return this.commit()
    this.#end()
    // The error that follows is the user's to see, and not what the ended batch says to the promise's function.
    Promise.resolve(result).catch(() => {})
    throw typeError('the function that fills a batch is no generator and returns nothing to wait for', result)
  }

  commit() {
    this.#check()
    if (this.#isFilling) {
      throw makeError('TWINDEX_RANGE', 'store.batch(fill) commits the batch itself, once fill has returned')
    }
    try {
      return booleans(native.commit(this.#handle))
    } finally {
      this.#end()
    }
  }

  /** Gives its number back at once: while a program only computes, nothing is collected. */
  #end() {
    this.#isEnded = true
    forgotten.unregister(this)
    native.freeBatch(this.#handle)
  }

  #check() {
    if (this.#isEnded) throw makeError('TWINDEX_CLOSED', 'the batch has ended: it was committed')
  }

  #into(table) {
    this.#check()
    const inner = inside(table)
    if (inner.expires)
      throw makeError(
        'TWINDEX_NOT_SUPPORTED',
        'a batch has no tables whose pairs expire: use store.transaction()',
      )
    return inner
  }

  #add(verb, table, key, value) {
    const { handle, keys, values } = this.#into(table)
    const item = values.toItem(value, 'value')
    const crossed = keys.cross(keys.toItem(key, 'key'), KEY)
    verb(this.#handle, handle, crossed, values.cross(item, VALUE))
    return this
  }
}

refuseOldVerbs(Batch)

export const openBatch = (...rest) => new Batch(INTERNAL, ...rest)
