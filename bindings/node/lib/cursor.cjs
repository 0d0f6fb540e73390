'use strict'
// Cursors: positions in a sorted table.

const native = require('./native.cjs')
const { Block, collect } = require('./block.cjs')
const { KEY, VALUE } = require('./codecs.cjs')
const { readCount } = require('./options.cjs')
const { INTERNAL, checkInternal, preventClone } = require('./internal.cjs')

const forgotten = new FinalizationRegistry(native.freeCursor)

class Cursor {
  #handle
  #table
  #codecs

  constructor(internal, table, codecs, handle) {
    checkInternal(internal, 'Cursor', 'table.cursor()')
    preventClone(this, 'Cursor')
    this.#table = table
    this.#codecs = codecs
    this.#handle = handle
    forgotten.register(this, handle)
  }

  get table() {
    return this.#table
  }

  scanAscNext() {
    const key = native.ascNext(this.#handle)
    return key === undefined ? undefined : this.#pair(key)
  }

  scanDescNext() {
    const key = native.descNext(this.#handle)
    return key === undefined ? undefined : this.#pair(key)
  }

  scanAscNextMany(limit) {
    return this.#many(native.ascNextMany, limit)
  }

  scanDescNextMany(limit) {
    return this.#many(native.descNextMany, limit)
  }

  #pair(key) {
    const { keys, values } = this.#codecs
    return [keys.decode(key, KEY), values.decode(native.pairValue(this.#handle), VALUE)]
  }

  #many(nextMany, limit) {
    const { keys, values } = this.#codecs
    const pairs = []
    for (let left = readCount(limit, 'a limit'), isMore = true; isMore; left = limit - pairs.length) {
      const block = new Block(nextMany(this.#handle, Math.min(left, MOST), collect))
      while (!block.isEmpty) pairs.push([block.next(keys), block.next(values)])
      isMore = block.isMore && pairs.length < limit
    }
    return pairs
  }
}

/** What the native half takes for a limit; it returns fewer at once anyway. */
const MOST = 2 ** 31

module.exports = { Cursor, openCursor: (...rest) => new Cursor(INTERNAL, ...rest) }
