'use strict'
// Batches: writes that are done all or not at all.

const native = require('./native.cjs')
const { KEY, VALUE } = require('./crossing.cjs')
const { makeError, typeError } = require('./errors.cjs')
const { INTERNAL, checkInternal, preventClone } = require('./internal.cjs')
const { booleans } = require('./many.cjs')
const { inside } = require('./table.cjs')

const forgotten = new FinalizationRegistry(native.freeBatch)

let fillBatch

class Batch {
  #handle
  #store
  #isEnded = false

  constructor(internal, store, handle) {
    checkInternal(internal, 'Batch', 'store.batch()')
    preventClone(this, 'Batch')
    this.#store = store
    this.#handle = handle
    forgotten.register(this, handle)
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
    native.batchDelete(this.#handle, handle, keys.cross(keys.pack(key, 'key'), KEY))
    return this
  }

  static {
    fillBatch = (batch, fill) => batch.#fill(fill)
  }

  /** Commits it once it is filled. Who is to be waited for would write to it when it has ended. */
  #fill(fill) {
    const result = fill(this)
    if (typeof result?.then !== 'function') return this.commit()
    this.#isEnded = true
    // The error that follows is the user's to see, and not what the ended batch says to the promise's function.
    Promise.resolve(result).catch(() => {})
    throw typeError('what fills a batch is a function that returns nothing to wait for', result)
  }

  commit() {
    this.#check()
    this.#isEnded = true
    return booleans(native.commit(this.#handle))
  }

  #check() {
    if (this.#isEnded) throw makeError('TWINDEX_CLOSED', 'the batch has ended: it was committed')
  }

  #into(table) {
    this.#check()
    return inside(table)
  }

  #add(verb, table, key, value) {
    const { handle, keys, values } = this.#into(table)
    const item = values.pack(value, 'value')
    const crossed = keys.cross(keys.pack(key, 'key'), KEY)
    verb(this.#handle, handle, crossed, values.cross(item, VALUE))
    return this
  }
}

module.exports = { Batch, fillBatch, openBatch: (...rest) => new Batch(INTERNAL, ...rest) }
